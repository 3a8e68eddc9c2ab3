"""What a run left behind, as the judge is given it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.plan import Plan
from harness.runstate import RunState
from history import Operation, Probe, Receipt


@dataclass(frozen=True, slots=True)
class Recorded:
    """As read from the run's directory.  ``log_hits`` maps a node to its alarms' patterns and how often each was met.

    A node is missing in it when nothing of its logs was collected.
    """

    plan: Plan
    operations: Sequence[Operation]
    receipts: Sequence[Receipt]
    probes: Sequence[Probe]
    state: RunState
    nodes: tuple[str, ...]
    log_hits: dict[str, dict[str, int]]
