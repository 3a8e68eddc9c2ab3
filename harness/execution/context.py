"""The state shared by the parts of one run: plan, system, files, clock, and the signal to stop."""

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
    """The system under test, as the load, the probes and the final phase see it.

    ``harness.systems.Deployment`` implements it.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """All nodes."""

    @property
    def serving(self) -> tuple[str, ...]:
        """The nodes on which a program of the system runs."""

    @property
    def members(self) -> tuple[str, ...]:
        """The nodes that store data or vote, which recovery checks look at."""

    def clients(self, number: int) -> Sequence[Client]:
        """Make ``number`` clients for the run's event loop."""

    def probers(self) -> Mapping[str, Prober]:
        """Make a prober for each node to probe, for the run's event loop.  A system without probes has none."""

    def kill(self, nodes: Iterable[str]) -> None: ...

    def start(self, nodes: Iterable[str]) -> None:
        """Start the system on these nodes.  Raises NotReadyError if a node does not come up."""

    def await_leader(self) -> str:
        """Wait for a leader and return it. Raises NotReadyError after the timeout."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """One run while it is under way.

    ``started_ns`` is the run's start on the monotonic clock, from which the history's times are counted.
    """

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
        """Return the nanoseconds since the run's start."""
        return time.monotonic_ns() - self.started_ns

    def reach(self, moment: str) -> None:
        """Record that the run has just reached this moment."""
        self.state.reach(moment, self.clock_ns())

    def stop(self) -> None:
        """Ask every part of the run to end.  May be called from any thread and from a signal handler."""
        self._stop.set()

    def stopped(self) -> bool:
        return self._stop.is_set()
