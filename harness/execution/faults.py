"""The nemesis of a run: the plan's faults, checked against system and nodes, and the runner that injects them."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.clusters import is_netns, netns_names
from harness.errors import HarnessError, UsageError
from harness.execution.fault_view import NodesWithData, RunClock, Target, settings_of, view_of
from harness.execution.leftovers import heal_leftovers
from harness.plan import Plan
from harness.systems.api import Surface
from history import Probe
from nemesis.core.errors import OptionError, ScheduleError, UnknownFaultError
from nemesis.core.facts import Facts, survey
from nemesis.core.fault import Context, Settings
from nemesis.core.options import check_options
from nemesis.core.ports import Nodes
from nemesis.core.targets import check_words
from nemesis.deadman import DeadMansTimer
from nemesis.faults import clocks
from nemesis.faults.leadership import NO_PROMOTION, NO_TRANSFER, LeaderTransfer, PromoteFollower
from nemesis.faults.registry import FAULTS, aim_refusal, find, prechecks
from nemesis.faults.targeted_partitions import NO_SNAPSHOTS, IsolateUntilSnapshot
from nemesis.schedule.conditions import AFTER_HEARTBEAT
from nemesis.schedule.runner import Runner
from nemesis.schedule.steps import Step, cycle, fault_names, steps_of, turn_parts, turns_of
from nemesis.sweep import sweep_commands

if TYPE_CHECKING:
    from harness.execution.conductor import RecordFault
    from harness.execution.probes import ProbeLog


class LeasedRunner(Runner):
    """A runner for machines that outlive the harness: if it dies, the machines lift the faults themselves."""

    def __init__(
        self, ctx: Context, schedule: Sequence[Step], record: RecordFault, rng: random.Random, timer: DeadMansTimer
    ) -> None:
        super().__init__(ctx, schedule, record, rng)
        self._timer = timer

    def run(self, stop: threading.Event) -> None:
        """Inject the schedule's faults under a dead man's timer.  Raises HarnessError if the timer healed early."""
        if not self._schedule:
            return
        with self._timer as timer:
            try:
                super().run(stop)
            finally:
                if self.active:
                    timer.leave()
        if timer.lost:
            raise HarnessError(
                f"dead man's timers expired and may have lifted faults: {'; '.join(timer.lost.values())}"
            )


class Faults:
    """The faults of one plan.

    Raises UsageError for an unknown fault, an impossible target, an option that is out of bounds, or an impossible
    schedule.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._facts: Facts | None = None
        self.left_out: dict[str, str] = {}
        #: Facts about these nodes that a user should know before the run, by subject.
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
        """Whether the system must run under libfaketime, which only clock faults need."""
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
            raise ScheduleError("; ".join(f"{name} cannot be given targets: {why}" for name, why in refused.items()))

    def _require_taken(self, refused: Mapping[str, str]) -> None:
        """Raise UsageError if the plan names a refused fault itself, rather than only through ``all``."""
        named = fault_names(turn for turn in self._plan.nemesis if turn != "all")
        if reasons := [f"{name} cannot work on this cluster: {why}" for name, why in refused.items() if name in named]:
            raise UsageError(f"{'--schedule' if self._plan.schedule else '--nemesis'}: {'; '.join(reasons)}")

    def clean(self, nodes: NodesWithData) -> None:
        """Remove what an earlier, killed run may have left on these nodes.  Raises HarnessError."""
        heal_leftovers(nodes).check()

    def precheck(self, nodes: NodesWithData, system: Target) -> None:
        """Refuse faults that cannot work on this cluster, before the run.

        Faults that are named only by ``all`` are left out instead (see ``left_out``).  Raises UsageError with the
        reasons.
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
                f"control groups cannot be written on {', '.join(without)}, so processes are found by their "
                f"environment, parents and sessions; this misses a process that rewrote its title and outlived "
                f"its parent"
            )
        self.turns = tuple(turn for turn in self.turns if turn not in reasons)
        try:
            self._check_aims(nodes.names)
            self.schedule = self._schedule()
        except ScheduleError as error:
            raise UsageError(f"--nemesis: {error}") from None

    def prepare(self, nodes: Nodes, system: Target) -> None:
        """Prepare the nodes for a system that starts under libfaketime, if there are clock faults."""
        if not self.faketime:
            return
        facts, file = self._survey(nodes), Settings().clock_file
        nodes.run(dict.fromkeys(nodes.names, clocks.prepare(file)))
        system.set_environments({node: clocks.environment(facts, node, file) for node in nodes.names})

    def describe(self) -> dict[str, Any]:
        """Return facts about the faults that are not in the plan, for the results."""
        record: dict[str, Any] = dict(self.notes)
        if self.faketime:
            record["clocks"] = "the servers run under libfaketime, because the plan has a clock fault"
        if self.left_out:
            record["faults_left_out"] = dict(self.left_out)
        return record

    def runner(
        self,
        nodes: NodesWithData,
        system: Target,
        probes: ProbeLog,
        record: RecordFault,
        clock_ns: Callable[[], int],
    ) -> Runner:
        """Return the runner of this plan's schedule."""
        context = self._context(nodes, system, lambda: probes.latest, clock_ns)
        rng = self._plan.rng("targets")
        if is_netns(self._plan.cluster):
            return Runner(context, self.schedule, record, rng)
        timer = DeadMansTimer(nodes, sweep_commands(nodes, nodes.data_dirs))
        return LeasedRunner(context, self.schedule, record, rng, timer)

    def _refused(self, surface: Surface) -> dict[str, str]:
        """Return the faults that cannot be used with this system, whatever its nodes, with the reasons."""
        lacking: dict[type, str] = {}
        if not surface.clock:
            lacking[clocks.ClockFault] = (
                "this system does not declare that its probes report its clock (clock in [faults] of a file), so a "
                "wrong one would go unnoticed"
            )
        if surface.transfer_leader is None:
            lacking[LeaderTransfer] = NO_TRANSFER
        if surface.promote is None:
            lacking[PromoteFollower] = NO_PROMOTION
        if not surface.snapshot_entries:
            lacking[IsolateUntilSnapshot] = NO_SNAPSHOTS
        reasons = {name: why for name in self.names for kind, why in lacking.items() if isinstance(find(name), kind)}
        return reasons | {name: why for name, why in surface.refused.items() if name in self.names}

    def _context(
        self,
        nodes: NodesWithData,
        system: Target,
        probes: Callable[[], Mapping[str, Probe]],
        clock_ns: Callable[[], int],
    ) -> Context:
        settings = replace(
            settings_of(system, nodes.data_dirs),
            ready_s=self._plan.ready_timeout,
            faketime=self.faketime,
            beyond_quorum=self._plan.beyond_quorum,
            options=self._plan.fault_options,
        )
        return Context(nodes, view_of(system, probes), RunClock(clock_ns), self._survey(nodes), settings)

    def _survey(self, nodes: Nodes) -> Facts:
        if self._facts is None:
            self._facts = survey(nodes)
        return self._facts
