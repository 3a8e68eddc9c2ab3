"""What a run's ``plan.json`` says of it, in the words by which many runs are listed, grouped and compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

#: Each bug that a server can be told to have, and the checks by which it is found out; the first must name it wherever
#: it bites.
PLANTED_BUGS: Final[Mapping[str, tuple[str, ...]]] = {
    "stale-reads": ("linearizable",),
    "ack-before-commit": ("linearizable",),
    "apply-twice": ("linearizable", "elements"),
    "skip-entry": ("replicas-agree", "linearizable"),
    "lose-write": ("linearizable",),
    "forget-in-snapshot": ("replicas-agree", "linearizable"),
    "snapshot-wrong-index": ("replicas-agree", "linearizable"),
    "vote-twice": ("election-safety",),
    "deposed-reads": ("linearizable",),
}


def system_version(plan: Mapping[str, Any]) -> str:
    """The system under test as ``0.4.0``, ``0.4.0 snapshot``, or with the name of the bug that was planted in it."""
    if plan.get("label"):  # earlier releases left it to the reader
        return str(plan["label"])
    version = str(plan.get("version") or "")
    mode = f"{version} snapshot" if plan.get("snapshot") else version
    return f"{mode} canary {plan['canary']}" if plan.get("canary") else mode


def nemesis_name(plan: Mapping[str, Any]) -> str:
    """The turns of the nemesis with ``+`` between them; empty if there is none."""
    nemesis = plan.get("nemesis")
    return "+".join(map(str, nemesis)) if isinstance(nemesis, list | tuple) else str(nemesis or "")
