"""The clients' load: workers that issue and record operations at a rate, and how well the rate was kept."""

from __future__ import annotations

import asyncio
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from harness.generators import Pace
from history import Event, HistoryWriter
from history.records.events import Phase, Type
from history.records.operations import was_applied

if TYPE_CHECKING:
    from harness.plan import Plan
    from harness.systems.api import Client
    from harness.workloads import Invocation

LOOK_S: Final = 0.1


@dataclass(slots=True)
class Worker:
    """One client and the process number under which it issues operations."""

    process: int
    client: Client


@dataclass(slots=True)
class Tally:
    """The figures that progress shows."""

    completions: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # (phase, f, type)
    fault: str = ""
    phase: Phase = "warm-up"
    note: str = ""
    invalid: str = ""

    def of_type(self, type_: str) -> int:
        return sum(count for (_, _, kind), count in self.completions.items() if kind == type_)


class Load:
    """The workers of one run; belongs to one event loop."""

    def __init__(
        self,
        plan: Plan,
        clients: Sequence[Client],
        *,
        history: HistoryWriter,
        tally: Tally,
        stopped: Callable[[], bool],
        active_s: Callable[[], float],
        see: Callable[[Event], None] = lambda _event: None,
    ) -> None:
        """``active_s`` reads the clock without standstills of this process; it sets the pace.

        ``stopped`` ends every load at once; ``see`` is called with each recorded event.
        """
        self._plan = plan
        self._history = history
        self._tally = tally
        self._stopped = stopped
        self._active_s = active_s
        self._see = see
        self.workers = [Worker(number, client) for number, client in enumerate(clients)]
        self.served = False
        """Whether an operation was acknowledged by a node that had applied it."""
        self.late_s = array("f")
        """How late each operation of the main phase was issued although its worker was free, in seconds."""
        self.waited_s = 0.0
        """For how long of the main phase an operation was due and every worker was busy."""

    async def open(self) -> None:
        await asyncio.gather(*(worker.client.open() for worker in self.workers))

    async def close(self) -> None:
        await asyncio.gather(*(worker.client.close() for worker in self.workers))

    async def drive(self, invocations: Iterator[Invocation], rate: float, over: Callable[[], bool]) -> None:
        """Issue operations at ``rate`` a second until ``over()``; open ones are awaited."""
        pace = Pace(rate, self._plan.rng(f"pace {rate}"), self._active_s())

        def ended() -> bool:
            return self._stopped() or over()

        async with asyncio.TaskGroup() as group:
            for worker in self.workers:
                group.create_task(self._work(worker, invocations, pace, ended))

    async def _work(
        self, worker: Worker, invocations: Iterator[Invocation], pace: Pace, ended: Callable[[], bool]
    ) -> None:
        while not ended():
            now = self._active_s()
            overdue = pace.overdue(now)
            due = pace.take(now)
            while (wait := due - self._active_s()) > 0 and not ended():
                await asyncio.sleep(min(wait, LOOK_S))
            if not ended():
                if self._tally.phase == "main":
                    self.waited_s += overdue
                    self.late_s.append(self._active_s() - due)
                await self.perform(worker, next(invocations))

    async def perform(self, worker: Worker, invocation: Invocation) -> bool:
        """Issue and record one operation; return whether a node acknowledged it after applying it."""
        phase = self._tally.phase
        self._append(
            "invoke", worker.process, invocation.f,
            value=invocation.value, key=invocation.key, node=worker.client.home, phase=phase,
        )  # fmt: skip
        outcome = await worker.client.perform(invocation)
        self._append(
            outcome.type, worker.process, invocation.f,
            value=outcome.value, key=invocation.key, node=outcome.node, error=outcome.error, phase=phase,
        )  # fmt: skip
        self._tally.completions[phase, invocation.f, outcome.type] += 1
        if outcome.type == "info":
            worker.process += self._plan.concurrency
        applied = was_applied(outcome.type, outcome.error)
        self.served |= applied
        return applied

    def _append(self, type_: Type, process: int, f: str, **rest: Any) -> None:
        self._see(self._history.append(type_, process, f, **rest))

    def pace(self, main_s: float, lags_s: Sequence[float]) -> dict[str, float]:
        """How well the rate was kept in a main phase of so many seconds; ``lags_s`` are those of the event loop."""
        return {
            "asked_per_s": self._plan.rate,
            "invoked_per_s": round(len(self.late_s) / main_s, 3) if main_s > 0 else 0.0,
            "late_p50_ms": _ms(self.late_s, 0.5),
            "late_p99_ms": _ms(self.late_s, 0.99),
            "late_max_ms": _ms(self.late_s, 1.0),
            "waited_share": round(min(1.0, self.waited_s / main_s), 4) if main_s > 0 else 0.0,
            "lag_p99_ms": _ms(lags_s, 0.99),
            "lag_max_ms": _ms(lags_s, 1.0),
        }


def _ms(seconds: Sequence[float], share: float) -> float:
    """The quantile of this share in milliseconds; 0 without values."""
    if not seconds:
        return 0.0
    return round(sorted(seconds)[max(0, math.ceil(share * len(seconds)) - 1)] * 1e3, 3)
