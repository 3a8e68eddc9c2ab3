"""Run a schedule and write the receipts.

An injection is recorded before its first command is sent, so that healing after a crash knows which faults may be
active. If a fault is in doubt (:class:`FaultError`), that is recorded and the run goes on.  Any other exception is a
failure of the harness: it is recorded, everything is healed, and then it is raised.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Protocol

from history.records.probes import leader_now
from nemesis.core.errors import FaultError, NotYetError, SkippedError, UnknownFaultError
from nemesis.core.fault import LINK_FAMILIES, Context, Fault, Targets
from nemesis.core.guard import locked, objection
from nemesis.core.healing import UnhealedError, heal
from nemesis.core.ports import StartError
from nemesis.core.targets import claimants, resolve
from nemesis.faults.registry import FAULTS
from nemesis.schedule.conditions import parse
from nemesis.schedule.heartbeats import await_heartbeat
from nemesis.schedule.queue import StepQueue
from nemesis.schedule.steps import Step

log = logging.getLogger("nemesis.schedule.runner")

#: How long a fault waits for a target, for example during an election, before it is skipped.
PATIENCE_S: Final = 5.0
PATIENCE_EVERY_S: Final = 0.05


class RecordEvent(Protocol):
    """Function that appends a nemesis event to the history; see :mod:`history.records.receipts` for the value."""

    def __call__(self, kind: Literal["invoke", "ok", "fail", "info"], f: str, value: dict[str, Any], /) -> Any: ...


@dataclass(frozen=True, slots=True)
class Unhealed:
    """A fault that is, or may be, still in place after an attempt to heal it.

    ``by_system`` means that the fault itself was undone, but the system did not start again, which is a finding
    about the system.
    """

    fault: str
    id: int
    nodes: tuple[str, ...]
    reason: str
    by_system: bool

    def __str__(self) -> str:
        return f"{self.fault} on {', '.join(self.nodes)}: {self.reason}"


def summary_of(fault: Fault, step: Step) -> str:
    """Return a fault's summary, preceded by the targets if the step sets them.

    The fault's own summary describes its own choice of targets.
    """
    if step.targets is None:
        return fault.summary
    choice = step.targets.get("choose")
    aimed = f"aimed at {choice}" if choice else "at its recorded targets"
    return f"here {aimed}; by default: {fault.summary}"


class Runner:
    """Runs one schedule once.  Call ``run`` in one thread; ``heal_all`` may be called from any thread at any time."""

    def __init__(
        self,
        ctx: Context,
        schedule: Sequence[Step],
        record: RecordEvent,
        rng: random.Random,
        *,
        faults: Mapping[str, Fault] = FAULTS,
    ) -> None:
        """Prepare to run a schedule.  Raises UnknownFaultError for a step with an unknown fault."""
        for step in schedule:
            if step.fault not in faults:
                raise UnknownFaultError(step.fault, faults)
        self._ctx = ctx
        self._schedule = tuple(schedule)
        self._record = record
        self._rng = rng
        self._faults = faults
        self._active: dict[int, tuple[Fault, Targets]] = {}
        self._damaged: frozenset[str] = frozenset()
        self._lock = threading.RLock()
        self._failures: list[Exception] = []
        self._closed = False
        #: Names of the faults whose injection was begun.
        self.tried: set[str] = set()

    @property
    def active(self) -> dict[int, tuple[str, tuple[str, ...]]]:
        """The faults that are, or may be, active right now: id -> (fault, nodes)."""
        return {number: (fault.name, targets.nodes) for number, (fault, targets) in tuple(self._active.items())}

    def run(self, stop: threading.Event) -> None:
        """Run the schedule until it ends or ``stop`` is set, then heal all active faults.

        Raises the first harness failure, if any, after healing.
        """
        queue = StepQueue(self._schedule, self._ctx.clock.now())
        try:
            while (due := queue.next_due()) is not None and not self._failures:
                if self._ctx.clock.wait((due - self._ctx.clock.now()) / 1e9, stop):
                    break
                steps = queue.take(self._ctx.clock.now())
                # A step may take long (a rolling restart, a wait for an election).  If the heal of a fault is due
                # together with its injection, the fault would be undone at once and prove nothing, so it is skipped.
                over = {step.id: step.at_s for step in steps if step.action == "heal"}
                for step in steps:
                    if step.action == "inject" and over.get(step.id, step.at_s) > step.at_s:
                        self._skip(step, "earlier faults lasted beyond its scheduled time")
                    elif not stop.is_set():
                        self._take(step, stop)
                self._watch(queue, stop)
        finally:
            self.heal_all()
        if self._failures:
            raise self._failures[0]

    def _watch(self, queue: StepQueue, stop: threading.Event) -> None:
        """Inject the faults whose condition holds now, and skip those that waited too long."""
        if not queue.watched:
            return
        now, probes = self._ctx.clock.now(), self._ctx.system.probes()
        for step in queue.came_true(now, probes, self._ctx.nodes.names, self._ctx.members):
            try:
                if parse(step.when or "", self._ctx.nodes.names).after_heartbeat:
                    await_heartbeat(self._ctx)
            except SkippedError as error:
                self._skip(step, str(error))
                continue
            except Exception as error:  # noqa: BLE001 (kept, and raised after healing)
                self._failures.append(error)
                return
            self._take(step, stop)
            queue.heal_later(step, self._ctx.clock.now())
        for step in queue.expired(now):
            self._skip(step, f"condition not met within {step.within_s:g} s: {step.when}")

    def heal_all(self, *, final: bool = False) -> tuple[Unhealed, ...]:
        """Heal all faults that may be active; return those that could not be healed.  Another call tries them again.

        With ``final``, no fault can be injected from now on, not even by a ``run`` that is still going on.
        """
        with self._lock:
            self._closed |= final
            # Heal links first, so that processes that are started again find their peers.
            order = sorted(self._active, key=lambda number: self._active[number][0].family not in LINK_FAMILIES)
            unhealed = [self._heal(number) for number in order]
            return tuple(left for left in unhealed if left)

    def _take(self, step: Step, stop: threading.Event) -> None:
        with self._lock:
            if step.action == "inject":
                if not self._closed:
                    self._inject(step, stop)
            elif step.id in self._active:
                self._heal(step.id)

    def _inject(self, step: Step, stop: threading.Event) -> None:
        fault = self._faults[step.fault]
        ctx = replace(self._ctx, stop=stop, busy=locked(self._active.values()), damaged=self._damaged)
        probes = ctx.system.probes()
        leader = leader_now(probes, ctx.members)
        try:
            targets = self._plan(fault, step, ctx)
        except SkippedError as error:
            self._skip(step, str(error))
            return
        except Exception as error:  # noqa: BLE001 (kept, and raised after healing)
            self._failures.append(error)
            return
        intent: dict[str, Any] = {"nodes": list(targets.nodes), "targets": targets.to_json(), "leader": leader}
        intent["summary"] = summary_of(fault, step)
        if len(rivals := claimants(probes)) > 1:
            intent["claimants"] = rivals
        began = ctx.clock.now()  # before recording: if that is slow, the fault must not seem to begin earlier
        # First the record, then the command.  If this process dies in between, whoever heals knows what may be active;
        # if the record cannot be written, nothing is sent.
        if self._note("invoke", fault, step.id, "inject", **intent):
            self._active[step.id] = fault, targets
            self.tried.add(fault.name)
            if getattr(fault, "destroys", False):  # even if the fault fails, nodes that may be damaged count
                self._damaged |= {*targets.nodes}
            self._do(fault, targets, step.id, ctx, began)

    def _skip(self, step: Step, reason: str) -> None:
        fault, leader = self._faults[step.fault], leader_now(self._ctx.system.probes(), self._ctx.members)
        intent: dict[str, Any] = {"nodes": [], "targets": {}, "leader": leader, "summary": summary_of(fault, step)}
        self._note("invoke", fault, step.id, "inject", **intent)
        self._note("fail", fault, step.id, "inject", reason=reason)

    def _plan(self, fault: Fault, step: Step, ctx: Context) -> Targets:
        """Choose the targets, retrying for a while if there are none yet.  Raises SkippedError."""
        last: list[SkippedError] = []

        def look() -> Targets | None:
            try:
                return fault.plan(replace(ctx, wanted=resolve(step.targets, ctx, self._rng)), self._rng)
            except NotYetError as error:
                last.append(error)
                return None

        if (targets := ctx.until(look, PATIENCE_S, PATIENCE_EVERY_S)) is None:
            raise last[-1]
        if reason := objection(ctx, self._active, fault, targets):
            raise SkippedError(reason)
        return targets

    def _do(self, fault: Fault, targets: Targets, number: int, ctx: Context, began: int) -> None:
        stood = False
        try:
            fault.inject(ctx, targets)
            stood, took_ms = True, round((ctx.clock.now() - began) / 1e6, 1)
            witness = {"stood_ms": took_ms, **fault.witness(ctx, targets)}
            if getattr(fault, "passes", False):
                witness["lasted_ms"] = took_ms
        except (FaultError, SkippedError, StartError) as error:
            self._note("info", fault, number, "inject", reason=str(error))
            # A fault that failed halfway is undone at once.  One without a witness lasts for its time, because it may
            # have an effect all the same.
            if not stood:
                self._heal(number)
        except Exception as error:  # noqa: BLE001 (kept, and raised after healing)
            self._failures.append(error)
            self._note("info", fault, number, "inject", reason=f"{type(error).__name__}: {error}")
            self._heal(number)
        else:
            self._note("ok", fault, number, "inject", witness=witness)

    def _heal(self, number: int) -> Unhealed | None:
        """Heal one fault.  A fault that cannot be healed stays active for the next attempt, and is returned."""
        fault, targets = self._active[number]
        # Healing gets a stop signal of its own, because the end of the run must not cut it short.
        ctx = replace(self._ctx, stop=threading.Event())
        self._note("invoke", fault, number, "heal")
        began = ctx.clock.now()
        by_system = False
        try:
            proof = heal(fault, ctx, targets)
            witness = {"healed_ms": round((ctx.clock.now() - began) / 1e6, 1), **proof}
        except UnhealedError as error:
            reason, by_system = str(error), error.by_system
            if error.ours is not None:  # kept, and raised after everything else is healed
                log.error("%s could not be healed", fault.name, exc_info=error.ours)
                self._failures.append(error.ours)
        else:
            del self._active[number]
            self._note("ok", fault, number, "heal", witness=witness)
            return None
        self._note("info", fault, number, "heal", reason=reason)
        return Unhealed(fault.name, number, targets.nodes, reason, by_system)

    def _note(
        self,
        kind: Literal["invoke", "ok", "fail", "info"],
        fault: Fault,
        number: int,
        action: Literal["inject", "heal"],
        **more: Any,
    ) -> bool:
        """Record an event and return whether that worked; a failure to write must not prevent healing."""
        if (kind, action) == ("invoke", "inject"):
            more = {"family": fault.family, **more}
        try:
            self._record(kind, fault.name, {"action": action, "id": number, **more})
        except Exception as error:  # noqa: BLE001 (kept, and raised after healing)
            self._failures.append(error)
            return False
        return True
