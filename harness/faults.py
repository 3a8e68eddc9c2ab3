"""The nemesis in a run: which faults a plan names, what they are given, and the sweep for leftovers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.errors import HarnessError, NotReadyError, UsageError
from harness.systems.dledger import CLIENT_PORT, RAFT_PORT
from history import Probe, Receipt
from nemesis.catalogue import find, prechecks
from nemesis.errors import FaultError, ScheduleError, UnknownFaultError
from nemesis.facts import Facts, survey
from nemesis.fault import Context, Settings
from nemesis.runner import Runner
from nemesis.schedule import Step, checked, cycle, fault_names
from nemesis.script import read_script, replay
from nemesis.sweep import heal_everything
from nemesis.view import Nodes, StartError

if TYPE_CHECKING:
    from harness.conductor import RecordFault
    from harness.plan import Plan
    from harness.probes import ProbeLog
    from harness.systems import DLedgerRegister

#: How the system's processes are recognised on a node, also by a later run that knows nothing of this one.
PROCESS_PATTERN: Final = r"-Dharness\.node="


class RunClock:
    """The run's own clock, for the nemesis."""

    def __init__(self, clock_ns: Callable[[], int]) -> None:
        self._clock_ns = clock_ns

    def now(self) -> int:
        return self._clock_ns()

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        return stop.wait(max(seconds, 0.0))


class SystemView:
    """The system as a nemesis may see it.  A process that does not come up again is the system's finding, not ours."""

    def __init__(self, system: DLedgerRegister, probes: Callable[[], Mapping[str, Probe]]) -> None:
        self._system = system
        self._probes = probes

    def pids(self, nodes: Iterable[str]) -> dict[str, int | None]:
        return self._system.pids(nodes)

    def start(self, nodes: Iterable[str]) -> None:
        names = list(nodes)
        try:
            self._system.start(names)
        except NotReadyError as error:
            raise StartError(dict.fromkeys(names, str(error))) from None

    def probes(self) -> Mapping[str, Probe]:
        return self._probes()


class Faults:
    """The faults of one plan.  Raises UsageError when it names one that nobody knows or a schedule that cannot be."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._facts: Facts | None = None
        try:
            for name in self.names:
                find(name)
            self.schedule = self._schedule()
        except UnknownFaultError as error:
            raise UsageError(f"--nemesis: {error}; `harness list-nemeses` names them all") from None
        except ScheduleError as error:
            raise UsageError(f"--nemesis, --interval, --time-limit: {error}") from None

    @property
    def names(self) -> tuple[str, ...]:
        return fault_names(self._plan.nemesis)

    def _schedule(self) -> list[Step]:
        if self._plan.schedule:
            return checked((Step(**step) for step in self._plan.schedule), self._plan.time_limit)
        if not self._plan.nemesis:
            return []
        return cycle(self._plan.nemesis, self._plan.interval, self._plan.time_limit, self._plan.rng("schedule"))

    def clean(self, nodes: Nodes) -> None:
        """Sweep what an earlier, killed run may have left on these nodes.  Raises HarnessError."""
        heal_leftovers(nodes)

    def precheck(self, nodes: Nodes, system: DLedgerRegister) -> None:
        """Refuse a fault that cannot work on this cluster, before the run.  Raises UsageError with the reasons."""
        context = self._context(nodes, SystemView(system, dict), lambda: 0)
        reasons = {name: why for name, why in prechecks(context, self.names).items() if why}
        if reasons:
            text = "; ".join(f"{name} cannot work on this cluster: {why}" for name, why in reasons.items())
            raise UsageError(f"--nemesis: {text}")

    def runner(
        self,
        nodes: Nodes,
        system: DLedgerRegister,
        probes: ProbeLog,
        record: RecordFault,
        clock_ns: Callable[[], int],
    ) -> Runner:
        """Carries out this plan's schedule."""
        context = self._context(nodes, SystemView(system, lambda: probes.latest), clock_ns)
        return Runner(context, self.schedule, record, self._plan.rng("targets"))

    def _context(self, nodes: Nodes, view: SystemView, clock_ns: Callable[[], int]) -> Context:
        settings = Settings(
            peer_port=RAFT_PORT,
            client_port=CLIENT_PORT,
            snapshots=self._plan.snapshot,
            snapshot_threshold=self._plan.snapshot_threshold,
        )
        if self._facts is None:
            self._facts = survey(nodes)
        return Context(nodes, view, RunClock(clock_ns), self._facts, settings)


def scripted(plan: Plan, path: Path, nodes: Sequence[str]) -> Plan:
    """The plan with the faults of a script (see ``nemesis.script``).  Raises UsageError that names file and fault."""
    try:
        return _with_schedule(plan, read_script(path, plan.time_limit, nodes))
    except ScheduleError as error:
        raise UsageError(f"--schedule: {error}") from None
    except OSError as error:
        raise UsageError(f"--schedule {path}: {error.strerror}") from None


def replayed(plan: Plan, receipts: Sequence[Receipt], main_ns: int) -> Plan:
    """The plan of a recorded run with its faults at their recorded moments.  Raises UsageError when it had none."""
    steps = replay(receipts, main_ns)
    if not steps:
        raise UsageError("that run installed no fault: there is nothing to replay; `harness run` repeats it")
    return _with_schedule(plan, steps)


def _with_schedule(plan: Plan, steps: Sequence[Step]) -> Plan:
    names = tuple(dict.fromkeys(step.fault for step in steps))
    return replace(plan, nemesis=names, schedule=tuple(asdict(step) for step in steps))


def heal_leftovers(nodes: Nodes) -> list[str]:
    """Undo every fault that carries our tag; a line for each thing that was undone.  Raises HarnessError."""
    try:
        undone = heal_everything(nodes, PROCESS_PATTERN)
    except FaultError as error:
        raise HarnessError(f"the faults of an earlier run could not be removed: {error}") from None
    lines = [f"{node}: {line}" for node, things in undone.items() for line in things]
    return lines or ["nothing to heal"]
