"""Runs one plan: load, faults and probes side by side, in three phases, and everything on disk as it happens.

warm-up
    the load runs, nothing is broken yet
main
    the load runs for the plan's time limit while the nemesis follows its schedule
final
    all faults are healed; light reads go on until every node has caught up (or the recovery time is over), then each
    register is read once more

Clients and probes are tasks of one event loop, the nemesis is a thread: its commands block.  Whatever fails, the order
at the end is the same: no new operations, heal, close the files.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final, Protocol

from harness.clients import RegisterClient
from harness.errors import StoreError
from harness.generators import Pace
from harness.probes import ProbeLog, probe_forever
from harness.recovery import assess
from harness.watching import Watch
from harness.workloads import Invocation, workload_named
from history import Event, HistoryWriter
from history.events import NEMESIS, Phase, Type

if TYPE_CHECKING:
    from harness.plan import Plan
    from harness.runstate import RunState

log = logging.getLogger("harness.conductor")

SYNC_S: Final = 0.1
LOOK_S: Final = 0.1
RECOVERY_RATE: Final = 20.0
FINAL_READS_S: Final = 10.0
WARM_UP_LIMIT_S: Final = 30.0
#: How long a schedule may go on beyond the main phase, and its last fault's interval: restarts take their time.
OVERTIME_S: Final = 30.0


class Nemesis(Protocol):
    """The runner of faults, as the conductor needs it."""

    def run(self, stop: threading.Event) -> None:
        """Follow the schedule until its end or until ``stop`` is set."""

    def heal_all(self) -> tuple[str, ...]:
        """Heal whatever may still be installed, idempotently; a sentence for each fault that could not be healed."""


RecordFault = Callable[[Type, str, dict[str, Any]], None]
MakeNemesis = Callable[[RecordFault], Nemesis]


@dataclass(slots=True)
class Worker:
    """One client and the process number under which it issues operations."""

    process: int
    client: RegisterClient
    home: str


@dataclass(slots=True)
class Tally:
    """What progress is shown from."""

    completions: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # (phase, f, type)
    fault: str = ""
    phase: Phase = "warm-up"
    note: str = ""
    invalid: str = ""

    def of_type(self, type_: str) -> int:
        return sum(count for (_, _, kind), count in self.completions.items() if kind == type_)


class Conductor:
    """One run.  :meth:`run` is called once, from the main thread."""

    def __init__(
        self,
        plan: Plan,
        endpoints: dict[str, tuple[str, int]],
        *,
        history: HistoryWriter,
        probes: ProbeLog,
        state: RunState,
        make_nemesis: MakeNemesis,
        clock_ns: Callable[[], int],
        on_main: Callable[[], None] = lambda: None,
        show: Callable[[Tally, ProbeLog, float], None] = lambda _tally, _probes, _seconds: None,
    ) -> None:
        """``clock_ns`` reads nanoseconds since the run's start; ``on_main`` is called when the main phase begins."""
        self._plan = plan
        self._watch = Watch(state, self._violated) if plan.stop_on_violation else None
        self._endpoints = endpoints
        self._history = history
        self._probes = probes
        self._state = state
        self._clock_ns = clock_ns
        self._on_main = on_main
        self._show = show
        self.tally = Tally()
        self._stop = threading.Event()
        self._no_more_faults = threading.Event()
        self._faults = threading.Thread(target=self._follow_schedule, name="nemesis", daemon=True)
        self._nemesis = make_nemesis(self._record_fault)
        self._workload = workload_named(plan.workload, plan.keys, plan.read_mode)
        self._mix = self._workload.invocations(plan.rng("operations"))
        self._committed_again: int | None = None
        self._healed_at: int | None = None
        self._last_heal: int | None = None
        self._assessed = (0, False)  # how many probes were looked at, and what they said

    def stop(self) -> None:
        """Ask the run to wind down in order; from any thread, also from a signal handler."""
        self._stop.set()
        self._no_more_faults.set()

    def run(self) -> None:
        """Conduct all phases.  Failures of the harness end up in the run's state, never as exceptions."""
        try:
            asyncio.run(self._conduct())
        except* Exception as group:  # a bug of ours, too, ends the run in order
            for error in _leaves(group):
                self._state.fail(f"{type(error).__name__}: {error}")
                log.error("the run failed", exc_info=error)
        finally:
            self.stop()
            self._join_faults(OVERTIME_S)
            self._heal()

    # -- phases ----------------------------------------------------------------------------------------------------

    async def _conduct(self) -> None:
        workers = self._workers()
        helpers = [
            asyncio.create_task(probe_forever(self._endpoints, self._probes, self._clock_ns)),
            asyncio.create_task(self._sync_forever()),
            asyncio.create_task(self._show_forever()),
        ]
        phases = asyncio.create_task(self._phases(workers))
        try:
            done, _ = await asyncio.wait([phases, *helpers], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self.stop()
            for task in (phases, *helpers):
                task.cancel()
            await asyncio.gather(phases, *helpers, return_exceptions=True)
            for worker in workers:
                worker.client.close()

    async def _phases(self, workers: list[Worker]) -> None:
        self._state.reach("warm-up", self._clock_ns())
        load = asyncio.create_task(
            self._drive(workers, self._mix, self._plan.rate, lambda: self.tally.phase == "final")
        )
        try:
            if await self._warm(load):
                self._begin_main()
                await self._until(lambda: self._stop.is_set() or load.done(), self._plan.time_limit)
                self._state.reach("main-end", self._clock_ns())
        finally:
            self.tally.phase = "final"
            await load
        await asyncio.to_thread(self._end_faults)
        if not self._stop.is_set() and not self._state.failures:
            await self._final(workers)

    async def _warm(self, load: asyncio.Task[None]) -> bool:
        def warm() -> bool:
            enough = self.tally.of_type("ok") > 0 and self._clock_s() - began >= self._plan.warm_up
            return enough or self._stop.is_set() or load.done()

        began = self._clock_s()
        await self._until(warm, max(WARM_UP_LIMIT_S, self._plan.warm_up))
        return not self._stop.is_set()

    def _begin_main(self) -> None:
        self.tally.phase = "main"
        self._state.reach("main", self._clock_ns())
        self._on_main()
        self._faults.start()

    async def _final(self, workers: list[Worker]) -> None:
        for worker in workers:
            worker.client.follow_leader()
        reads = cycle(self._workload.final_reads())
        self.tally.note = "waiting for every node to catch up"
        await self._drive(workers, reads, RECOVERY_RATE, self._recovered, self._plan.recovery_time)
        if self._recovered():
            self._state.reach("recovered", self._clock_ns())
        self.tally.note = "final reads"
        self._state.reach("final-reads", self._clock_ns())
        # One worker of each node: their homes go round.
        await asyncio.gather(*map(self._read_all, workers[: len(self._endpoints)]))

    def _recovered(self) -> bool:
        if self._stop.is_set():
            return True
        healed = self._healed_at
        if healed is None or self._committed_again is None:
            return False
        probes = self._probes.all
        if len(probes) != self._assessed[0]:  # asked by every worker before every operation, so only for news
            since = {healed, min(healed, self._last_heal or healed)}
            complete = (assess(probes, self._endpoints, at, self._committed_again).complete for at in since)
            self._assessed = len(probes), all(complete)
        return self._assessed[1]

    async def _read_all(self, worker: Worker) -> None:
        """Each register is read once by this worker; a read that fails is asked again until the deadline."""
        deadline = self._clock_s() + FINAL_READS_S
        for invocation in self._workload.final_reads():
            while not self._stop.is_set() and self._clock_s() < deadline:
                if await self._perform(worker, invocation) == "ok":
                    break
                await asyncio.sleep(0.1)

    # -- load ------------------------------------------------------------------------------------------------------

    def _workers(self) -> list[Worker]:
        homes = cycle(self._endpoints)
        return [self._worker(number, next(homes)) for number in range(self._plan.concurrency)]

    def _worker(self, number: int, home: str) -> Worker:
        plan = self._plan
        client = RegisterClient(
            self._endpoints, home, follows=plan.client_follows, timeout=plan.client_timeout, clock=self._clock_s
        )
        return Worker(number, client, home)

    async def _drive(
        self,
        workers: list[Worker],
        invocations: Iterator[Invocation],
        rate: float,
        until: Callable[[], bool],
        limit: float = float("inf"),
    ) -> None:
        """Issue operations at ``rate`` a second until ``until()`` or for ``limit`` seconds; open ones are awaited."""
        pace = Pace(rate, self._plan.rng(f"pace {rate}"), self._clock_s())
        deadline = self._clock_s() + limit

        def over() -> bool:
            return self._stop.is_set() or self._clock_s() >= deadline or until()

        async with asyncio.TaskGroup() as group:
            for worker in workers:
                group.create_task(self._work(worker, invocations, pace, over))

    async def _work(
        self, worker: Worker, invocations: Iterator[Invocation], pace: Pace, over: Callable[[], bool]
    ) -> None:
        while not over():
            due = pace.take(self._clock_s())
            while (wait := due - self._clock_s()) > 0 and not over():
                await asyncio.sleep(min(wait, LOOK_S))
            if not over():
                await self._perform(worker, next(invocations))

    async def _perform(self, worker: Worker, invocation: Invocation) -> Type:
        phase = self.tally.phase
        after_heal = self._healed_at is not None
        self._append(
            "invoke", worker.process, invocation.f,
            value=invocation.value, key=invocation.key, node=worker.home, phase=phase,
        )  # fmt: skip
        outcome = await worker.client.perform(invocation)
        event = self._append(
            outcome.type, worker.process, invocation.f,
            value=outcome.value, key=invocation.key, node=outcome.node, error=outcome.error, phase=phase,
        )  # fmt: skip
        self.tally.completions[phase, invocation.f, outcome.type] += 1
        if outcome.type == "info":
            worker.process += self._plan.concurrency
        if after_heal and outcome.type == "ok" and self._committed_again is None:
            self._committed_again = event.time
        return outcome.type

    def _append(self, type_: Type, process: int, f: str, **rest: Any) -> Event:
        event = self._history.append(type_, process, f, **rest)
        if self._watch is not None:
            self._watch.see(event)
        return event

    def _violated(self, text: str) -> None:
        self.tally.invalid = text
        self._show(self.tally, self._probes, self._clock_s())
        self.stop()

    # -- faults ----------------------------------------------------------------------------------------------------

    def _follow_schedule(self) -> None:
        try:
            self._nemesis.run(self._no_more_faults)
        except Exception as error:  # noqa: BLE001 (a thread's last stand: whatever it is, it is ours)
            self._fail_from_thread(error)

    def _end_faults(self) -> None:
        self._join_faults(self._plan.interval + OVERTIME_S)
        self._no_more_faults.set()
        self._heal()
        self._healed_at = self._clock_ns()
        self._state.reach("healed", self._healed_at)

    def _join_faults(self, patience: float) -> None:
        if self._faults.ident is not None:
            self._faults.join(patience)

    def _heal(self) -> None:
        try:
            for reason in self._nemesis.heal_all():
                self._state.warn(f"not healed: {reason}")
        except Exception as error:  # noqa: BLE001 (nothing may keep the run from winding down)
            self._fail_from_thread(error)

    def _fail_from_thread(self, error: Exception) -> None:
        log.error("the nemesis failed", exc_info=error)
        self._state.fail(f"nemesis: {type(error).__name__}: {error}")
        self.stop()

    def _record_fault(self, type_: Type, f: str, value: dict[str, Any]) -> None:
        event = self._history.append(type_, NEMESIS, f, value=value, phase=self.tally.phase)
        if value.get("action") == "inject":
            self.tally.fault = f if type_ in ("invoke", "ok") else ""
        elif type_ != "invoke":
            self.tally.fault = ""
            self._last_heal = event.time if type_ == "ok" else self._last_heal

    # -- housekeeping ----------------------------------------------------------------------------------------------

    async def _sync_forever(self) -> None:
        while True:
            await asyncio.sleep(SYNC_S)
            try:
                await asyncio.to_thread(self._sync)
            except OSError as error:
                raise StoreError(f"recording failed: {error}") from None

    def _sync(self) -> None:
        self._history.sync()
        self._probes.sync()

    async def _show_forever(self) -> None:
        while True:
            self._show(self.tally, self._probes, self._clock_s())
            await asyncio.sleep(0.5)

    async def _until(self, predicate: Callable[[], bool], limit: float) -> None:
        deadline = self._clock_s() + limit
        while not predicate() and self._clock_s() < deadline:
            await asyncio.sleep(LOOK_S)

    def _clock_s(self) -> float:
        return self._clock_ns() / 1e9


def _leaves(group: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
