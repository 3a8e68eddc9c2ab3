"""Conduct one run: load, faults and probes in parallel, in three phases, recording everything as it happens.

warm-up
    the load runs, without faults
main
    the load runs for the plan's time limit while the nemesis follows its schedule
final
    all faults are healed; then see ``final_phase``

Clients and probes are tasks of one event loop.  The nemesis is a thread, because its commands block.  Syncs to disk
also block and run in threads, so the loop waits for nothing but the network.  Whatever fails, the run ends the same
way: stop new operations, heal, close the files.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Set
from typing import TYPE_CHECKING, Any, Final, Protocol

from harness.errors import StoreError
from harness.execution.final_phase import FinalPhase
from harness.execution.histogram import Histogram
from harness.execution.interpreter import LOOK_S, follow
from harness.execution.load import Load, Tally
from harness.execution.monitor import Watch
from harness.execution.probes import ProbeLog, probe_forever
from harness.execution.standstills import STANDSTILL_NS
from harness.generators import Generator, Stream, on, stagger
from harness.generators.pacing import Paced
from harness.generators.workers import On
from history import Event
from history.records.events import NEMESIS, Type

if TYPE_CHECKING:
    from harness.execution.context import RunContext
    from nemesis.schedule.runner import Unhealed

log = logging.getLogger("harness.execution.conductor")

SYNC_S: Final = 0.1
LAG_EVERY_S: Final = 0.05
SHOW_EVERY_S: Final = 0.5
WARM_UP_LIMIT_S: Final = 30.0
#: How long (s) a schedule may continue after the main phase and the interval of its last fault, since restarts take
#: time.
OVERTIME_S: Final = 30.0
#: Healing is retried after a pause, because a filesystem that is in use cannot be unmounted yet.
HEAL_TRIES: Final = 5
HEAL_AGAIN_S: Final = 1.0


class Nemesis(Protocol):
    """The runner of faults, as the conductor uses it; ``tried`` names the faults that it attempted to inject."""

    @property
    def tried(self) -> Set[str]: ...

    def run(self, stop: threading.Event) -> None:
        """Follow the schedule until it ends or ``stop`` is set."""

    def heal_all(self, *, final: bool = False) -> Sequence[Unhealed]:
        """Heal whatever may still be installed, idempotently; return what could not be healed.

        After a call with ``final``, nothing more is injected.
        """


RecordFault = Callable[[Type, str, dict[str, Any]], None]
MakeNemesis = Callable[[RecordFault], Nemesis]


class Conductor:
    """The conductor of one run.  Call :meth:`run` once, from the main thread."""

    def __init__(
        self,
        run: RunContext,
        make_nemesis: MakeNemesis,
        show: Callable[[Tally, ProbeLog, float], None] = lambda _tally, _probes, _seconds: None,
    ) -> None:
        self._run = run
        self._plan = run.plan
        self._watch = Watch(run.state, self._violated) if run.plan.stop_on_violation else None
        self._show = show
        self._no_more_faults = threading.Event()
        self._faults = threading.Thread(target=self._follow_schedule, name="nemesis", daemon=True)
        self.nemesis = make_nemesis(self._record_fault)
        self._unhealed_at_first: dict[int, str] = {}
        self._last_heal: int | None = None
        self._lags = Histogram()

    def stop(self) -> None:
        """End the run in an orderly way.  May be called from any thread and from a signal handler."""
        self._run.stop()
        self._no_more_faults.set()

    def run(self) -> None:
        """Conduct all phases.  Harness failures are recorded in the run's state and never raised."""
        try:
            asyncio.run(self._conduct())
        except* Exception as group:  # even a bug in the harness must end the run in an orderly way
            for error in _leaves(group):
                self._run.state.fail(f"{type(error).__name__}: {error}")
                log.error("the run failed", exc_info=error)
        finally:
            self.stop()
            self._join_faults(OVERTIME_S)
            self._heal(1 if "healed" in self._run.state.moments else HEAL_TRIES)
            for record in (self._run.history.sync, self._save_state):
                try:
                    record()
                except OSError as error:
                    if not any(str(error) in failure for failure in self._run.state.failures):
                        self._run.state.fail(f"recording failed: {error}")

    @property
    def _workers(self) -> int:
        """The number of clients: at least one for each node, for the final reads, even if the load needs fewer."""
        return max(self._plan.concurrency, len(self._run.system.serving))

    @property
    def _spares_workers(self) -> bool:
        """Whether some clients take no part in the load of warm-up and main phase."""
        return self._plan.concurrency < self._workers

    # -- phases ----------------------------------------------------------------------------------------------------

    async def _conduct(self) -> None:
        load = Load(
            self._plan, self._run.system.clients(self._workers), history=self._run.history, tally=self._run.tally,
            stopped=self._run.stopped, standstills=self._run.standstills,
            see=None if self._watch is None else self._watch.see,
        )  # fmt: skip
        final = FinalPhase(self._run, load)
        helpers = [
            asyncio.create_task(probe_forever(self._run.system.probers(), self._run.probes, self._run.clock_ns)),
            asyncio.create_task(self._sync_forever()),
            asyncio.create_task(self._show_forever()),
            asyncio.create_task(self._feel_lag_forever()),
        ]
        phases = asyncio.create_task(self._phases(load, final))
        try:
            done, _ = await asyncio.wait([phases, *helpers], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self.stop()
            for task in (phases, *helpers):
                task.cancel()
            await asyncio.gather(phases, *helpers, return_exceptions=True)
            await load.close()

    async def _phases(self, load: Load, final: FinalPhase) -> None:
        self._run.reach("warm-up")
        await load.open()
        over = asyncio.Event()
        driving = asyncio.create_task(follow(load, self._arrivals(), over.is_set))
        try:
            if await self._warm(load, driving):
                await self._main(load, driving)
        finally:
            over.set()
            try:
                left = await driving
            finally:
                self._run.tally.phase = "final"
        healed = await asyncio.to_thread(self._end_faults)
        if not self._run.stopped() and not self._run.state.failures:
            await final.run({healed, min(healed, self._last_heal or healed)}, self._without_pace(left))

    def _arrivals(self) -> Generator:
        """Return the operations of warm-up and main phase, at the plan's rate."""
        plan = self._plan
        operations = plan.load.generator(plan.scale())
        if self._spares_workers:
            operations = on(range(plan.concurrency), operations)
        return stagger(plan.rate, Stream(plan.rng(f"pace {plan.rate}")), operations, open=plan.loop == "open")

    def _without_pace(self, arrivals: Generator) -> Generator:
        """Return the workload's own operations, from what is left of :meth:`_arrivals`.

        A generator cannot record elsewhere what is left of it, because a caller such as ``soonest`` may ask it and then
        discard the answer.  Only the outer generator holds the rest.  This class built that generator, so it knows
        where to look.
        """
        assert isinstance(arrivals, Paced)
        return arrivals.child.child if isinstance(arrivals.child, On) and self._spares_workers else arrivals.child

    async def _warm(self, load: Load, driving: asyncio.Task[Generator]) -> bool:
        began = self._clock_s()

        def warm() -> bool:
            enough = bool(load.served) and self._clock_s() - began >= self._plan.warm_up
            return enough or self._run.stopped() or driving.done()

        await self._until(warm, max(WARM_UP_LIMIT_S, self._plan.warm_up))
        return not self._run.stopped()

    async def _main(self, load: Load, driving: asyncio.Task[Generator]) -> None:
        began = self._run.standstills.active_s()
        self._run.tally.phase = "main"
        self._run.reach("main")
        self._faults.start()
        await self._until(lambda: self._run.stopped() or driving.done(), self._plan.time_limit)
        self._run.reach("main-end")
        self._run.state.pace = load.pace(self._run.standstills.active_s() - began, self._lags)

    # -- what is recorded ------------------------------------------------------------------------------------------

    def _violated(self, text: str) -> None:
        self._run.tally.invalid = text
        self._show(self._run.tally, self._run.probes, self._clock_s())
        self.stop()

    # -- faults ----------------------------------------------------------------------------------------------------

    def _follow_schedule(self) -> None:
        try:
            self.nemesis.run(self._no_more_faults)
        except Exception as error:  # noqa: BLE001 (top of the thread: any failure here is the harness's)
            self._fail_from_thread(error)

    def _end_faults(self) -> int:
        """Heal everything; return when that was done (nanoseconds since the run's start)."""
        self._join_faults(self._plan.interval + OVERTIME_S)
        self._no_more_faults.set()
        self._heal(HEAL_TRIES)
        healed = self._run.clock_ns()
        self._run.state.reach("healed", healed)
        return healed

    def _join_faults(self, patience: float) -> None:
        if self._faults.ident is not None:
            self._faults.join(patience)

    def _heal(self, tries: int) -> None:
        """Heal every active fault.

        A fault that we cannot undo is our failure; a server that does not start is a finding.
        """
        try:
            left = self.nemesis.heal_all(final=True)
            for _ in range(tries - 1):
                if all(unhealed.by_system for unhealed in left):
                    break
                time.sleep(HEAL_AGAIN_S)
                left = self.nemesis.heal_all(final=True)
        except Exception as error:  # noqa: BLE001 (nothing may keep the run from ending)
            self._fail_from_thread(error)
            return
        for unhealed in left:
            if unhealed.by_system:
                self._run.state.warn(f"not healed: {unhealed}")
            elif str(unhealed) not in self._run.state.unhealed:
                self._run.state.unhealed.append(str(unhealed))
                self._run.state.fail(f"a fault could not be healed: {unhealed}")

    def _fail_from_thread(self, error: Exception) -> None:
        log.error("the nemesis failed", exc_info=error)
        self._run.state.fail(f"nemesis: {type(error).__name__}: {error}")
        self.stop()

    def _record_fault(self, type_: Type, f: str, value: dict[str, Any]) -> None:
        try:
            event = self._run.history.append(type_, NEMESIS, f, value=value, phase=self._run.tally.phase)
        except OSError as error:
            self._run.state.fail(f"{type(error).__name__}: {error}")
            self.stop()
            raise
        if value.get("action") == "inject":
            self._run.tally.fault = f if type_ in ("invoke", "ok") else ""
        elif type_ != "invoke":
            self._run.tally.fault = ""
            self._healing_ended(event, f, value)

    def _healing_ended(self, event: Event, f: str, value: dict[str, Any]) -> None:
        number = value["id"]
        if event.type != "ok":
            self._unhealed_at_first.setdefault(number, str(value.get("reason")))
            return
        self._last_heal = event.time
        if (reason := self._unhealed_at_first.pop(number, None)) is not None:
            self._run.state.warn(f"{f} was healed, but not on the first try: {reason}")

    # -- housekeeping ----------------------------------------------------------------------------------------------

    async def _sync_forever(self) -> None:
        while True:
            await asyncio.sleep(SYNC_S)
            try:
                await asyncio.to_thread(self._sync)
            except OSError as error:
                raise StoreError(f"recording failed: {error}") from None

    def _sync(self) -> None:
        self._run.history.sync()
        self._run.probes.sync()
        self._save_state()

    def _save_state(self) -> None:
        self._run.state.standstills = self._run.standstills.spans(self._run.started_ns)
        self._run.state.save()

    async def _show_forever(self) -> None:
        while True:
            self._show(self._run.tally, self._run.probes, self._clock_s())
            await asyncio.sleep(SHOW_EVERY_S)

    async def _feel_lag_forever(self) -> None:
        """Measure how late the loop wakes a task; a long delay is a standstill of all clients and probes."""
        due = time.monotonic_ns()
        while True:
            due += round(LAG_EVERY_S * 1e9)
            await asyncio.sleep(LAG_EVERY_S)
            now = time.monotonic_ns()
            self._run.state.note_lag(due - self._run.started_ns, now - self._run.started_ns)
            if now - due >= STANDSTILL_NS:
                self._run.standstills.note(due, now)
            elif self._run.tally.phase == "main":
                self._lags.add(now - due)
            due = now

    async def _until(self, predicate: Callable[[], bool], limit: float) -> None:
        late = self._run.standstills.deadline(limit)
        while not predicate() and not late():
            await asyncio.sleep(LOOK_S)

    def _clock_s(self) -> float:
        return self._run.clock_ns() / 1e9


def _leaves(group: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
