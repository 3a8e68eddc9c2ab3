"""Faults that set nodes' clocks, from which nodes take the dates in their logs."""

from __future__ import annotations

from functools import cache

from nemesis.core.errors import UnknownFaultError
from nemesis.faults.registry import find


@cache
def sets_clock(fault: str) -> bool:
    """Return whether a fault sets the clocks of its nodes; False for an unknown fault."""
    try:
        return find(fault).family == "clock"
    except UnknownFaultError:
        return False
