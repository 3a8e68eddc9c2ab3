"""The nemesis of a run: the faults of its plan, their context, and the sweep for leftovers."""

from __future__ import annotations

import math
import random
import threading
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import asdict

from harness.clusters import is_netns, netns_names, open_cluster
from harness.errors import HarnessError, NotReadyError, UsageError
from harness.plan import Plan
from harness.systems.api import Machine, Role, Setup, Surface
from harness.systems.deployment import members_of
from history import Probe, Receipt
from nemesis.core.errors import FaultError, OptionError, ScheduleError, UnknownFaultError
from nemesis.core.facts import Facts, survey
from nemesis.core.fault import HOME, Context, Settings
from nemesis.core.options import check_options
from nemesis.core.ports import Nodes, StartError
from nemesis.core.targets import check_words
from nemesis.deadman import DeadMansTimer
from nemesis.faults import clocks
from nemesis.faults.leadership import NO_TRANSFER, LeaderTransfer
from nemesis.faults.registry import FAULTS, aim_refusal, find, prechecks
from nemesis.faults.targeted_partitions import NO_SNAPSHOTS, IsolateUntilSnapshot
from nemesis.schedule.conditions import AFTER_HEARTBEAT
from nemesis.schedule.runner import Runner
from nemesis.schedule.script import read_script, replay
from nemesis.schedule.steps import Step, cycle, fault_names, steps_of, turn_parts, turns_of
from nemesis.sweep import heal_everything, sweep_commands

if TYPE_CHECKING:
    from harness.execution.conductor import RecordFault
    from harness.execution.probes import ProbeLog


class Machines(Nodes, Protocol):
    """Nodes with their data directories; ``harness.remote.nodes.Remote`` is one."""

    @property
    def data_dirs(self) -> Mapping[str, str]: ...


class RunClock:
    """The run's own clock, for the nemesis."""

    def __init__(self, clock_ns: Callable[[], int]) -> None:
        self._clock_ns = clock_ns

    def now(self) -> int:
        return self._clock_ns()

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        return stop.wait(max(seconds, 0.0))


class Target(Protocol):
    """The system under test, as faults need it; ``harness.systems.Deployment`` is one."""

    @property
    def surface(self) -> Surface: ...

    @property
    def members(self) -> tuple[str, ...]: ...

    @property
    def hit(self) -> Mapping[str, Role]:
        """The role that faults hit, by node."""
        ...

    def pids(self, nodes: Iterable[str]) -> dict[str, int | None]: ...

    def start(self, nodes: Iterable[str]) -> None: ...

    def set_environments(self, environments: Mapping[str, Mapping[str, str]]) -> None: ...


class SystemView:
    """The system as faults see it.  A process that does not start again is a finding about the system."""

    def __init__(self, system: Target, probes: Callable[[], Mapping[str, Probe]]) -> None:
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


class TransferringView(SystemView):
    """The view of a system that takes requests to transfer leadership."""

    def __init__(
        self, system: Target, probes: Callable[[], Mapping[str, Probe]], transfer: Callable[[str, str], None]
    ) -> None:
        super().__init__(system, probes)
        self._transfer = transfer

    def transfer_leader(self, leader: str, to: str) -> None:
        """Request a transfer from the leader."""
        try:
            self._transfer(leader, to)
        except (OSError, ValueError, KeyError) as error:
            raise FaultError(f"{leader} did not take the request: {error}") from None


def view_of(system: Target, probes: Callable[[], Mapping[str, Probe]]) -> SystemView:
    """The system as faults see it, with what only some systems have."""
    transfer = system.surface.transfer_leader
    return SystemView(system, probes) if transfer is None else TransferringView(system, probes, transfer)


def settings_of(system: Target, data_dirs: Mapping[str, str]) -> Settings:
    """The settings of the system that faults need."""
    surface = system.surface
    return Settings(
        members=system.members,
        roles={node: role.name for node, role in system.hit.items()},
        programs={node: role.command[0] for node, role in system.hit.items()},
        peer_ports=surface.peer_ports,
        data_dirs=data_dirs,
        store=f"{HOME}/{surface.store}",
        store_files=surface.store_files,
        snapshots=surface.snapshot_entries > 0,
        snapshot_threshold=surface.snapshot_entries,
        heartbeat=surface.heartbeat,
    )


class LeasedRunner(Runner):
    """A runner for machines that outlive us: if we die, they lift the faults themselves."""

    def __init__(
        self, ctx: Context, schedule: Sequence[Step], record: RecordFault, rng: random.Random, timer: DeadMansTimer
    ) -> None:
        super().__init__(ctx, schedule, record, rng)
        self._timer = timer

    def run(self, stop: threading.Event) -> None:
        """Inject the schedule's faults under the dead man's timer.  Raises HarnessError when that healed early."""
        if not self._schedule:
            return
        with self._timer as timer:
            try:
                super().run(stop)
            finally:
                if self.active:
                    timer.leave()
        if timer.lost:
            raise HarnessError(f"dead man's timers ended, and may have lifted faults: {'; '.join(timer.lost.values())}")


class Faults:
    """The faults of one plan.

    Raises UsageError for an unknown fault, an impossible target, an option out of its bounds, or an impossible
    schedule.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._facts: Facts | None = None
        self.left_out: dict[str, str] = {}
        #: What a user should know of these nodes before the run, by subject.
        self.notes: dict[str, str] = {}
        try:
            self.turns = turns_of(",".join(plan.nemesis), FAULTS)
            for name in self.names:
                find(name)
            check_options(plan.fault_options)
            if is_netns(plan.cluster):
                self._check_aims(netns_names(plan.nodes))
            self.schedule = self._schedule()
            self._require_aimable()
            self._require_taken(self._refused(plan.under_test.surface(plan.setup())))
        except UnknownFaultError as error:
            option = "--schedule" if plan.schedule else "--nemesis"
            raise UsageError(f"{option}: {error}; `harness list faults` names them all") from None
        except OptionError as error:
            raise UsageError(f"--fault-options: {error}") from None
        except ScheduleError as error:
            option = "--schedule" if plan.schedule else "--nemesis, --interval, --time-limit"
            raise UsageError(f"{option}: {error}") from None

    @property
    def names(self) -> tuple[str, ...]:
        return fault_names(self.turns)

    @property
    def faketime(self) -> bool:
        """Whether the system must be started under libfaketime: only when a clock fault is planned."""
        return any(isinstance(find(name), clocks.ClockFault) for name in self.names)

    def _schedule(self) -> list[Step]:
        plan = self._plan
        if plan.schedule:
            return steps_of(plan.schedule, plan.time_limit)
        if not self.turns:
            return []
        return cycle(
            self.turns, plan.interval, plan.time_limit, plan.rng("schedule"),
            weights=plan.weights or None, tracks=plan.tracks, shortest_s=plan.shortest_fault or None,
        )  # fmt: skip

    def _check_aims(self, nodes: Sequence[str]) -> None:
        aims = [words for turn in self.turns for _, words in turn_parts(turn) if words is not None]
        try:
            for words in aims:
                check_words(words, nodes)
        except ScheduleError as error:
            raise UsageError(f"--nemesis: {error}") from None

    def _require_aimable(self) -> None:
        aimed = [name for turn in self.turns for name, words in turn_parts(turn) if words is not None]
        aimed += [step.fault for step in self.schedule if "choose" in (step.targets or {})]
        if refused := {name: why for name in aimed if (why := aim_refusal(name))}:
            raise ScheduleError("; ".join(f"{name} cannot be aimed: {why}" for name, why in refused.items()))

    def _require_taken(self, refused: Mapping[str, str]) -> None:
        """Refuse a plan that names a refused fault, not only among ``all``, by a UsageError."""
        named = fault_names(turn for turn in self._plan.nemesis if turn != "all")
        if reasons := [f"{name} cannot work on this cluster: {why}" for name, why in refused.items() if name in named]:
            raise UsageError(f"{'--schedule' if self._plan.schedule else '--nemesis'}: {'; '.join(reasons)}")

    def clean(self, nodes: Machines) -> None:
        """Sweep what an earlier, killed run may have left on these nodes.  Raises HarnessError."""
        heal_leftovers(nodes).check()

    def precheck(self, nodes: Machines, system: Target) -> None:
        """Refuse a fault that cannot work on this cluster, before the run.

        Faults that only ``all`` names are left out instead (see ``left_out``).  Raises UsageError with the reasons.
        """
        if not system.surface.heartbeat and any(AFTER_HEARTBEAT in (step.when or "") for step in self.schedule):
            why = "this system's heartbeats cannot be distinguished from its other packets"
            raise UsageError(f"--schedule: {AFTER_HEARTBEAT!r}: {why}")
        context = self._context(nodes, system, dict, lambda: 0)
        reasons = {name: why for name, why in prechecks(context, self.names).items() if why}
        reasons |= self._refused(system.surface)
        self._require_taken(reasons)
        self.left_out = reasons
        if without := context.facts.lacking("can:groups"):
            self.notes["processes"] = (
                f"no control groups can be written on {', '.join(without)}: processes are found by their environment, "
                "parents and sessions, which misses one that rewrote its title and outlived its parent"
            )
        self.turns = tuple(turn for turn in self.turns if turn not in reasons)
        try:
            self._check_aims(nodes.names)
            self.schedule = self._schedule()
        except ScheduleError as error:
            raise UsageError(f"--nemesis: {error}") from None

    def prepare(self, nodes: Nodes, system: Target) -> None:
        """Prepare the start of the system: for wrong clocks it is started under libfaketime."""
        if not self.faketime:
            return
        facts, file = self._survey(nodes), Settings().clock_file
        nodes.run(dict.fromkeys(nodes.names, clocks.prepare(file)))
        system.set_environments({node: clocks.environment(facts, node, file) for node in nodes.names})

    def describe(self) -> dict[str, Any]:
        """The facts about the faults that the results record beyond the plan."""
        record: dict[str, Any] = dict(self.notes)
        if self.faketime:
            record["clocks"] = "the servers run under libfaketime, because a clock fault is among the faults"
        if self.left_out:
            record["faults_left_out"] = dict(self.left_out)
        return record

    def runner(
        self,
        nodes: Machines,
        system: Target,
        probes: ProbeLog,
        record: RecordFault,
        clock_ns: Callable[[], int],
    ) -> Runner:
        """The runner of this plan's schedule."""
        context = self._context(nodes, system, lambda: probes.latest, clock_ns)
        rng = self._plan.rng("targets")
        if is_netns(self._plan.cluster):
            return Runner(context, self.schedule, record, rng)
        timer = DeadMansTimer(nodes, sweep_commands(nodes, nodes.data_dirs))
        return LeasedRunner(context, self.schedule, record, rng, timer)

    def _refused(self, surface: Surface) -> dict[str, str]:
        """The faults that this system cannot take, whatever its nodes are, with the reasons."""
        lacking: dict[type, str] = {}
        if not surface.clock:
            lacking[clocks.ClockFault] = "this system reports no clock of its own: a wrong one could not be seen"
        if surface.transfer_leader is None:
            lacking[LeaderTransfer] = NO_TRANSFER
        if not surface.snapshot_entries:
            lacking[IsolateUntilSnapshot] = NO_SNAPSHOTS
        found = {name: why for name in self.names for kind, why in lacking.items() if isinstance(find(name), kind)}
        return found | {name: why for name, why in surface.refused.items() if name in self.names}

    def _context(
        self, nodes: Machines, system: Target, probes: Callable[[], Mapping[str, Probe]], clock_ns: Callable[[], int]
    ) -> Context:
        settings = replace(
            settings_of(system, nodes.data_dirs),
            faketime=self.faketime,
            beyond_quorum=self._plan.beyond_quorum,
            options=self._plan.fault_options,
        )
        return Context(nodes, view_of(system, probes), RunClock(clock_ns), self._survey(nodes), settings)

    def _survey(self, nodes: Nodes) -> Facts:
        if self._facts is None:
            self._facts = survey(nodes)
        return self._facts


def node_names(plan: Plan) -> tuple[str, ...]:
    """The names of the plan's nodes.  Raises UsageError; ClusterError where the cluster must be up for that."""
    if is_netns(plan.cluster):
        return netns_names(plan.nodes)
    return tuple(node.name for node in open_cluster(plan.cluster).nodes)


def planned_setup(plan: Plan) -> Setup:
    """The setup of the plan's nodes, at made-up addresses; without nodes where only the cluster shows them."""
    try:
        names = node_names(plan)
    except HarnessError:
        names = ()
    return plan.setup([Machine(name, f"192.0.2.{number}") for number, name in enumerate(names, 1)])


def member_names(plan: Plan) -> tuple[str, ...]:
    """The members of the plan's system by its roles; none where only the cluster itself shows them."""
    try:
        return members_of(plan.under_test, planned_setup(plan))
    except HarnessError:
        return ()


def scripted(plan: Plan, path: Path) -> Plan:
    """The plan with the schedule of a script, or of the ``plan.json`` of a scripted run.

    Raises UsageError that names file and fault.
    """
    names = node_names(plan)
    try:
        steps = _written_steps(path, plan.time_limit) or read_script(path, plan.time_limit, names)
        return _with_schedule(plan, steps)
    except ScheduleError as error:
        raise UsageError(f"--schedule: {error}") from None
    except OSError as error:
        raise UsageError(f"--schedule {path}: {error.strerror}") from None


def _written_steps(path: Path, time_limit: float) -> list[Step]:
    """The schedule in a ``plan.json``; empty for another file.  Raises UsageError, ScheduleError, OSError."""
    if not path.read_bytes().removeprefix(BOM_UTF8).lstrip().startswith(b"{"):
        return []
    schedule = Plan.read(path).schedule
    if not schedule:
        raise UsageError(f"--schedule {path}: that plan has no schedule of its own; give it as --plan")
    return steps_of(schedule, time_limit)


def replayed(plan: Plan, receipts: Sequence[Receipt], main_ns: int) -> Plan:
    """The plan of a recorded run with its faults at their recorded moments.  Raises UsageError when it had none.

    A fault may have been recorded after the time limit, by a harness that stood still: the replay lasts until then.
    """
    steps = replay(receipts, main_ns)
    if not steps:
        raise UsageError("that run installed no fault: there is nothing to replay; `harness run` repeats it")
    last_s = max(step.at_s + step.within_s + (step.for_s or 0.0) for step in steps)
    return _with_schedule(replace(plan, time_limit=max(plan.time_limit, float(math.ceil(last_s)))), steps)


def _with_schedule(plan: Plan, steps: Sequence[Step]) -> Plan:
    names = tuple(dict.fromkeys(step.fault for step in steps))
    return replace(plan, nemesis=names, schedule=tuple(asdict(step) for step in steps))


@dataclass(frozen=True, slots=True)
class Healed:
    """The result of a sweep: a line for each thing undone, and for each node where it failed."""

    undone: list[str]
    failed: list[str]

    def check(self) -> None:
        """Check that nothing of an earlier run still stands.  Raises HarnessError."""
        if self.failed:
            raise HarnessError(f"the faults of an earlier run could not be removed: {'; '.join(self.failed)}")


def heal_leftovers(nodes: Machines) -> Healed:
    """Undo every fault with our tag on every node that can be reached."""
    swept = heal_everything(nodes, nodes.data_dirs)
    failed = [why if why.startswith(f"{node}:") else f"{node}: {why}" for node, why in swept.failed.items()]
    return Healed(swept.lines(), failed)
