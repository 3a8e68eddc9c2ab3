"""The clients' load: workers that issue and record a generator's operations, and how punctual they were."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from harness.errors import HarnessError
from harness.execution.histogram import Histogram
from harness.execution.standstills import Standstills
from harness.generators import GeneratorContext, Invocation
from harness.judge.service import Call, KeyWant, on_key, was_granted
from harness.systems.law import LOST, Outcome
from history import Event, HistoryWriter
from history.records.events import Phase
from history.records.operations import TXN, called, was_served
from history.records.writer import UnwritableError

if TYPE_CHECKING:
    from harness.plan import Plan
    from harness.systems.api import Client

#: How long (s) after its timeout a client may take to return from an operation before it is given up.
OVERDUE_S: Final = 10.0
#: How long (s) the clients may take to open or to close.
OPENING_S: Final = 60.0


@dataclass(slots=True)
class Worker:
    """One client, the process number under which it issues operations, and the time since which it has been free (ns).

    ``asked`` is when its open operation was issued (ns; None if there is none), by ``task``.  ``given_up`` says that
    this operation was cancelled.
    """

    process: int
    client: Client
    free_since: int = 0
    asked: int | None = None
    task: asyncio.Task[Any] | None = None
    given_up: bool = False

    def goes_on(self) -> bool:
        """Reset ``given_up``; return whether it, and not the end of the run, cancelled the operation."""
        given_up, self.given_up = self.given_up, False
        return given_up and self.task is not None and self.task.uncancel() == 0


@dataclass(slots=True)
class Tally:
    """The figures on the progress display."""

    completions: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # (phase, f, type)
    fault: str = ""
    phase: Phase = "warm-up"
    note: str = ""
    invalid: str = ""

    def of_type(self, type_: str) -> int:
        return sum(count for (_, _, kind), count in self.completions.items() if kind == type_)


class Load:
    """The workers of one run, all in one event loop."""

    def __init__(
        self,
        plan: Plan,
        clients: Sequence[Client],
        *,
        history: HistoryWriter,
        tally: Tally,
        stopped: Callable[[], bool],
        standstills: Standstills,
        see: Callable[[Event], None] | None = None,
    ) -> None:
        """Create a worker for each client.

        Generators see a clock that leaves out the ``standstills`` of this process.  ``stopped`` ends every load at
        once; ``see`` is called with each recorded event.
        """
        self._plan = plan
        self._history = history
        self._tally = tally
        self.stopped = stopped
        self._standstills = standstills
        self._see = see
        self._processes = self._numbers = tuple(range(len(clients)))
        #: The number of operations that generators have given during the whole run.
        self.issued = 0
        self.workers = [Worker(number, client) for number, client in enumerate(clients)]
        #: The keys that had operations, in order of their first operation.
        self.keys: dict[str | int, None] = {}
        #: The calls (kind of operation and node) that completed, and those that the system served.
        self.asked, self.served = set[Call](), set[Call]()
        #: The reads and changes of registers that the system served, and those that it did not serve when they were
        #: requested last, with the time (ns) of that request.
        self.served_keys, self.vain_keys = set[KeyWant](), dict[KeyWant, int]()
        #: How late each operation of the main phase was issued although its worker was free.
        self.late = Histogram()
        #: Latency of the ok operations of the main phase, from their invocation and from their intended time.
        self.service, self.response = Histogram(), Histogram()
        #: How long during the main phase an operation was due while every worker was busy.
        self.waited_ns = 0
        self._waited_until = 0

    async def open(self) -> None:
        await self._all("open", [worker.client.open() for worker in self.workers])

    async def close(self) -> None:
        await self._all("close", [worker.client.close() for worker in self.workers])

    async def _all(self, action: str, calls: Sequence[Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(OPENING_S) as limit:
                await asyncio.gather(*calls)
        except TimeoutError:
            if not limit.expired():  # a client raised this TimeoutError itself
                raise
            raise HarnessError(f"a client did not {action} within {OPENING_S:g} s") from None

    def context(self, free: tuple[int, ...]) -> GeneratorContext:
        """Return the current context for generators."""
        now = self._standstills.active_ns()
        return GeneratorContext(now, free, self._numbers, self._processes, self._plan.seed, self.issued)

    async def perform(self, worker: Worker, invocation: Invocation) -> Event:
        """Issue and record one operation; return its completion."""
        tally, history, client = self._tally, self._history, worker.client
        phase = tally.phase
        now, due = self._standstills.active_ns(), self._standstills.on_clock(invocation.time)
        if phase == "main":
            self._count_wait(worker, invocation.time, now)
        f, key, process = invocation.f, invocation.key, worker.process
        self.keys.update(dict.fromkeys(_keys_of(invocation)))
        invoked = history.append(
            "invoke", process, f, value=invocation.value, key=key, node=client.home, phase=phase, due=due
        )
        if self._see is not None:
            self._see(invoked)
        worker.asked = now
        try:
            outcome = await client.perform(invocation)
        except asyncio.CancelledError:
            if not worker.goes_on():
                raise
            why = f"the client had not returned {OVERDUE_S:g} s after its timeout"
            outcome = self._plan.under_test.law.outcome(LOST, invocation, client.home, why)
        worker.asked = None
        if worker.given_up:
            worker.goes_on()
        event = self._record(invocation, outcome, process, phase, client.home)
        type_ = event.type
        if self._see is not None:
            self._see(event)
        tally.completions[phase, f, type_] += 1
        call = called(f, invocation.value), event.node or client.home
        self.asked.add(call)
        self._note_key(event, invoked.time)
        if type_ == "info":
            worker.process += len(self.workers)
            self._processes = tuple([worker.process for worker in self.workers])
        elif type_ == "ok":
            self._count_ok(invoked, event, call)
        return event

    def _record(self, invocation: Invocation, outcome: Outcome, process: int, phase: Phase, home: str) -> Event:
        """Record a completion.  An answer that cannot be written becomes its operation's error."""

        def record(outcome: Outcome) -> Event:
            return self._history.append(
                outcome.type, process, invocation.f, value=outcome.value, key=invocation.key, node=outcome.node,
                error=outcome.error, phase=phase,
            )  # fmt: skip

        try:
            return record(outcome)
        except UnwritableError as error:
            why = f"the client's answer cannot be written to a history: {error}"
            return record(self._plan.under_test.law.outcome(LOST, invocation, home, why))

    def _note_key(self, event: Event, invoked: int) -> None:
        if (want := on_key(self._plan.load, event.f, event.value, event.key)) is None:
            return
        if was_served(event.type, event.error):
            self.served_keys.add(want)
            self.vain_keys.pop(want, None)
        else:
            self.vain_keys[want] = invoked

    def _count_ok(self, invoked: Event, event: Event, call: Call) -> None:
        if was_granted(event.f, event.type, event.error, event.value):
            self.served.add(call)
        if event.phase == "main":
            self.service.add(event.time - invoked.time)
            self.response.add(event.time - (invoked.time if invoked.intended is None else invoked.intended))

    def end_overdue(self) -> None:
        """Cancel operations whose clients should have returned long ago, so that no run waits for them forever."""
        since = self._standstills.active_ns() - round((self._plan.client_timeout + OVERDUE_S) * 1e9)
        for worker in self.workers:
            if worker.asked is not None and worker.asked < since and worker.task is not None and not worker.given_up:
                worker.given_up = True
                worker.task.cancel()

    def _count_wait(self, worker: Worker, due: int, now: int) -> None:
        """Separate the wait for a worker, which the system causes, from the harness's own lateness."""
        # From ``able`` on, the operation was due and its worker was free.
        able = max(due, worker.free_since)
        self.late.add(now - able)
        self.waited_ns += max(0, able - max(due, self._waited_until))
        self._waited_until = max(self._waited_until, able)

    def pace(self, main_s: float, lags: Histogram) -> dict[str, float]:
        """Return how punctual the load was in a main phase of ``main_s`` seconds.

        ``lags`` are those of the event loop.
        """
        return {
            "asked_per_s": self._plan.rate,
            "invoked_per_s": round(self.late.count / main_s, 3) if main_s > 0 else 0.0,
            "late_p50_ms": self.late.quantile_ms(0.5),
            "late_p99_ms": self.late.quantile_ms(0.99),
            "late_max_ms": self.late.most_ms,
            "waited_share": round(min(1.0, self.waited_ns / 1e9 / main_s), 4) if main_s > 0 else 0.0,
            "service_p50_ms": self.service.quantile_ms(0.5),
            "service_p99_ms": self.service.quantile_ms(0.99),
            "response_p50_ms": self.response.quantile_ms(0.5),
            "response_p99_ms": self.response.quantile_ms(0.99),
            "lag_p99_ms": lags.quantile_ms(0.99),
            "lag_max_ms": lags.most_ms,
        }


def _keys_of(invocation: Invocation) -> Iterable[str | int]:
    """Return the keys of an operation; a transaction may have several."""
    if invocation.key is None and invocation.f == TXN:
        return [step[1] for step in invocation.value]
    return () if invocation.key is None else (invocation.key,)
