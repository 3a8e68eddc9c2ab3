"""The recorded data of a run, as input of the judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.plan import Plan
from harness.runstate import RunState
from harness.systems.api import Alarm
from history import Operation, Probe, Receipt


@dataclass(frozen=True, slots=True)
class Recorded:
    """The recorded data of a run.  ``log_hits`` maps a node to the counts of its alarms' patterns.

    A node without collected logs is missing in it.
    """

    plan: Plan
    operations: Sequence[Operation]
    receipts: Sequence[Receipt]
    probes: Sequence[Probe]
    state: RunState
    nodes: tuple[str, ...]
    log_hits: dict[str, dict[str, int]]

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """The alarms of the system under test."""
        return self.plan.under_test.alarms
