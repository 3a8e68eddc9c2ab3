"""The recorded data of a run, as input of the judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.plan import Plan
from harness.runstate import RunState
from harness.systems.api import Alarm, Evidence, Machine
from history import Operation, Probe, Receipt
from history.metrics.awake_clock import AwakeClock


@dataclass(frozen=True, slots=True)
class Recorded:
    """The recorded data of a run.  ``log_hits`` maps a node to the counts of its alarms' patterns.

    A node without collected logs is missing in it.  ``early_hits`` has those of its lines that stand in the logs of a
    node before a fault of ours damaged its files.  ``members`` are the nodes where the system keeps its data: faults
    drew from them, and majorities are counted over them.  ``files`` is the directory of what was collected.
    """

    plan: Plan
    operations: Sequence[Operation]
    receipts: Sequence[Receipt]
    probes: Sequence[Probe]
    state: RunState
    nodes: tuple[str, ...]
    members: tuple[str, ...]
    log_hits: dict[str, dict[str, int]]
    files: Path | None = None
    early_hits: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """The alarms of the system under test."""
        return self.plan.under_test.alarms

    @property
    def clock(self) -> AwakeClock:
        """The run's clock without the times in which the harness itself stood still."""
        return AwakeClock(self.state.standstills)

    @property
    def serving(self) -> tuple[str, ...]:
        """The nodes on which some role ran: all, of a run that does not say."""
        roles = self.state.environment.get("roles")
        return tuple(node for node in self.nodes if not isinstance(roles, dict) or roles.get(node, True))

    @property
    def keepers(self) -> tuple[str, ...]:
        """The members on which some role ran: those that recovery asks.  A proxy or a metadata server is none."""
        return tuple(node for node in self.serving if node in self.members)

    def evidence(self, recovered: Iterable[str]) -> Evidence:
        """The evidence for a system's own checks; ``recovered`` are the nodes that caught up after the last heal."""
        addresses = self.state.environment.get("nodes")
        known = addresses if isinstance(addresses, dict) else {}
        return Evidence(
            setup=self.plan.setup(Machine(node, str(known.get(node, ""))) for node in self.nodes),
            nodes=self.nodes,
            operations=self.operations,
            probes=self.probes,
            receipts=self.receipts,
            moments=self.state.moments,
            recovered=tuple(recovered),
            files=self.files,
        )
