"""Facts of a run from its ``plan.json``, in the words by which runs are listed, grouped and compared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def system_version(plan: Mapping[str, Any]) -> str:
    """The system under test as ``0.4.0``, ``0.4.0 snapshot``, or with the name of the bug that was planted in it."""
    return str(plan.get("label") or plan.get("version") or "")


def has_planted_bug(version: str) -> bool:
    """Whether runs of a version, as :func:`system_version` names it, had a bug planted."""
    return " planted-bug " in f" {version} "


def nemesis_name(plan: Mapping[str, Any]) -> str:
    """The turns of the nemesis with ``+`` between them; empty if there is none."""
    nemesis = plan.get("nemesis")
    return "+".join(map(str, nemesis)) if isinstance(nemesis, list | tuple) else str(nemesis or "")


def faults_of(nemesis: str) -> set[str]:
    """List the faults in the name of a nemesis, without their aims; none in an empty one."""
    return {turn.partition("@")[0] for turn in re.split("[,+]", nemesis)} - {""}
