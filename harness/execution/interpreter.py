"""Issue a generator's operations through the workers of a load, in one event loop.

The generator is asked whenever its context changes: when a worker has its answer, or when the time comes that it was
waiting for.  It is asked until it has nothing more for now, and each operation goes straight to its worker.  No other
task runs between a completion and the next invocation, and no timer is set if an operation is already due.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from harness.execution.precise_timer import PreciseTimer
from harness.generators import Exhausted, Generator, Invocation, Message, Pending

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.execution.load import Load
    from history import Event

log = logging.getLogger("harness.execution.interpreter")

#: How often (s) to check whether the load is over, even if nothing happens.
LOOK_S: Final = 0.1
#: After this many operations in a row, a worker whose client never waits yields to the others.
_IN_A_ROW: Final = 8


async def follow(load: Load, generator: Generator, over: Callable[[], bool] = lambda: False) -> Generator:
    """Issue the generator's operations until it is exhausted, ``over()`` is true, or the load is stopped.

    Returns the rest of the generator, which can be issued later: open operations are awaited, and operations already
    taken from the generator are issued.  ``over`` is called before each operation is taken.  A load that is stopped
    issues nothing more.
    """
    interpreter = _Interpreter(load, generator, over)
    del generator  # it may hold a lazy sequence, and this reference would keep the whole sequence in memory
    return await interpreter.run()


class _Interpreter:
    """One pass of a load through one generator, started once by :meth:`run`."""

    def __init__(self, load: Load, generator: Generator, over: Callable[[], bool]) -> None:
        size = len(load.workers)
        self._load = load
        self._generator = generator
        self._is_over = over
        self._loop = asyncio.get_running_loop()
        self._free = tuple(range(size))
        self._given: list[Invocation | None] = [None] * size
        self._waiting: list[asyncio.Future[None] | None] = [None] * size
        self._over = self._loop.create_future()
        self._until: int | None = None
        self._timer = PreciseTimer(self._loop, self._due)
        self._look: asyncio.TimerHandle | None = None

    async def run(self) -> Generator:
        """Return what is left of the generator when it is exhausted or over and no operation is open."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(len(self._free)):
                    group.create_task(self._work(number))
                self._wake()
                await self._over
        finally:
            self._timer.close()
            if self._look is not None:
                self._look.cancel()
        return self._generator

    async def _work(self, number: int) -> None:
        load, given, over, in_a_row = self._load, self._given, self._over, 0
        worker = load.workers[number]
        worker.task = asyncio.current_task()
        while True:
            if (invocation := given[number]) is None:
                if over.done():
                    return
                self._waiting[number] = future = self._loop.create_future()
                await future
                continue
            if load.stopped():  # perhaps only after the operation was given
                self._finish()
                return
            given[number] = None
            event = await load.perform(worker, invocation)
            self._step(number, event)
            in_a_row += 1
            if in_a_row % _IN_A_ROW == 0:
                await asyncio.sleep(0)

    def _wake(self) -> None:
        """Ask the generator at regular intervals, even if nothing happens."""
        self._look = self._loop.call_later(LOOK_S, self._wake)
        self._load.end_overdue()
        self._ask()

    def _ask(self) -> None:
        """Ask the generator; if it raises, the run ends."""
        if self._over.done():
            return
        try:
            self._step()
        except Exception as error:  # noqa: BLE001 (a timer's exception would only be logged)
            self._finish(error)

    def _step(self, number: int = -1, event: Event | None = None) -> None:
        """Pass a completion by worker ``number`` to the generator, and issue every operation that is due."""
        load = self._load
        if event is not None:
            self._free = (*self._free, number)
        ctx = load.context(self._free)
        if event is not None:
            load.workers[number].free_since = ctx.time
            self._generator = self._generator.update(ctx, event)
        if self._over.done():
            return
        if load.stopped() or self._is_over():
            self._finish()
            return
        while True:
            op, after = self._generator.op(ctx)
            self._generator = after
            if type(op) is Invocation:
                ctx = ctx.after(op)
                self._free, load.issued = ctx.free, ctx.issued
                self._give(op)
            elif type(op) is Pending:
                self._wait(op.until, ctx.time)
                return
            elif type(op) is Message:
                log.info("%s", op.text)
            elif type(op) is Exhausted:
                self._finish()
                return

    def _give(self, invocation: Invocation) -> None:
        self._given[invocation.worker] = invocation
        self._rouse(invocation.worker)

    def _rouse(self, number: int) -> None:
        future, self._waiting[number] = self._waiting[number], None
        if future is not None and not future.done():
            future.set_result(None)

    def _wait(self, until: int | None, now: int) -> None:
        if until is not None and until != self._until:  # otherwise leave the timer: a needless ring does no harm
            self._until = until
            self._timer.set(until - now)

    def _due(self) -> None:
        self._until = None
        self._ask()

    def _finish(self, error: Exception | None = None) -> None:
        if not self._over.done():
            self._over.set_result(None) if error is None else self._over.set_exception(error)
        for number in range(len(self._waiting)):
            self._rouse(number)
