"""What the parts of one run share: plan and system, the files that it is recorded in, its clock, and its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from harness.execution.load import Tally

if TYPE_CHECKING:
    from harness.execution.probes import ProbeLog
    from harness.execution.standstills import Standstills
    from harness.plan import Plan
    from harness.runstate import RunState
    from harness.systems.api import Client, Prober
    from history import HistoryWriter


class Driven(Protocol):
    """The system under test, as load, probes and final phase need it; ``harness.systems.Deployment`` is one."""

    @property
    def serving(self) -> tuple[str, ...]:
        """The nodes on which something runs."""

    @property
    def members(self) -> tuple[str, ...]:
        """The nodes that store data or vote, which recovery asks."""

    def clients(self, number: int) -> Sequence[Client]:
        """Make this many clients, for the run's event loop."""

    def probers(self) -> Mapping[str, Prober]:
        """Make a prober for each of these nodes, for the run's event loop; none for a system without probes."""

    def kill(self, nodes: Iterable[str]) -> None: ...

    def start(self, nodes: Iterable[str]) -> None:
        """Start them.  Raises NotReadyError when one does not come up."""

    def await_leader(self) -> str:
        """Wait for a leader.  Raises NotReadyError when there is none in time."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """One run while it goes on.  ``started_ns`` is its origin on the monotonic clock, that of the history's times."""

    plan: Plan
    system: Driven
    history: HistoryWriter
    probes: ProbeLog
    state: RunState
    standstills: Standstills
    started_ns: int
    tally: Tally = field(default_factory=Tally)
    _stop: threading.Event = field(default_factory=threading.Event)

    def clock_ns(self) -> int:
        """Nanoseconds since the run's start."""
        return time.monotonic_ns() - self.started_ns

    def reach(self, moment: str) -> None:
        """Record that a moment is reached now."""
        self.state.reach(moment, self.clock_ns())

    def stop(self) -> None:
        """Let every part of the run come to its end; from any thread, also from a signal handler."""
        self._stop.set()

    def stopped(self) -> bool:
        return self._stop.is_set()
