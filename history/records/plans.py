"""Facts about a run from its ``plan.json``, as text for listing, grouping and comparing runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def system_version(plan: Mapping[str, Any]) -> str:
    """Return the version of the system under test: ``0.4.0``, ``0.4.0 snapshot``, or with the name of a planted bug."""
    return str(plan.get("label") or plan.get("version") or "")


def has_planted_bug(version: str) -> bool:
    """Return whether a version, as named by :func:`system_version`, has a planted bug."""
    return " planted-bug " in f" {version} "


def nemesis_name(plan: Mapping[str, Any]) -> str:
    """Return the plan's nemesis turns joined by ``+``; empty without a nemesis."""
    nemesis = plan.get("nemesis")
    return "+".join(map(str, nemesis)) if isinstance(nemesis, list | tuple) else str(nemesis or "")


def faults_of(nemesis: str) -> set[str]:
    """Return the faults in a nemesis name, without their aims."""
    return {turn.partition("@")[0] for turn in re.split("[,+]", nemesis)} - {""}
