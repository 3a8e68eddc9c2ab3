"""Run a generator in virtual time: no threads, no sockets, no waiting."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from itertools import count

from msgspec import Struct

from harness.generators.base import Exhausted, Generator, GeneratorContext, Invocation, Message, Pending
from harness.generators.streams import Stream
from history import Event
from history.records.events import Type


class Completion(Struct, frozen=True):
    """The end of a simulated operation: after ``after`` seconds, with this type and value."""

    after: float
    type: Type = "ok"
    value: object = None
    error: str | None = None


#: A function that answers an invocation; the simulated system draws from its own random numbers.
Answers = Callable[[Invocation, Stream], tuple[Completion, Stream]]


class Simulated(Struct, frozen=True):
    """The record of a simulation: events in order of time, invocations and messages.

    ``exhausted`` says whether the generator ended.  Otherwise it was cut off, or waits for something that never
    happens.
    """

    events: list[Event]
    issued: list[Invocation]
    messages: list[str]
    exhausted: bool

    @property
    def intended(self) -> list[int]:
        """The intended time of each invocation, in ns."""
        return [invocation.time for invocation in self.issued]


def after(seconds: float) -> Answers:
    """Return answers that complete every operation as ok after ``seconds``."""
    return lambda invocation, stream: (Completion(seconds, value=invocation.value), stream)


def simulate(
    generator: Generator,
    *,
    workers: int = 3,
    answers: Answers | None = None,
    stream: Stream | None = None,
    seed: int = 0,
    most: int = 10_000,
) -> Simulated:
    """Ask a generator until it is exhausted, waits forever, or has issued ``most`` operations.

    Raises ValueError if it breaks the protocol: an operation for a busy worker, or one that is due in the future.
    """
    return _Simulation(workers, answers or after(0.01), stream, seed).run(generator, most)


class _Simulation:
    def __init__(self, workers: int, answers: Answers, stream: Stream | None, seed: int) -> None:
        self._answers = answers
        self._stream = stream or Stream(random.Random(f"{seed}:answers"))
        self._seed = seed
        self._time = 0
        self._workers = tuple(range(workers))
        self._free = self._workers
        self._processes = self._workers
        self._open: list[tuple[int, int, Invocation, Completion]] = []
        self._number = count()
        self._events: list[Event] = []
        self._issued: list[Invocation] = []
        self._messages: list[str] = []

    def run(self, generator: Generator, most: int) -> Simulated:
        while True:
            ctx = self._context()
            op, after = generator.op(ctx)
            if isinstance(op, Invocation) and len(self._issued) < most:
                self._issue(op)
                generator = after
                continue
            if isinstance(op, Message):
                self._messages.append(op.text)
                generator = after
                continue
            until = None
            if isinstance(op, Pending):
                generator, until = after, op.until
                if until is not None and until <= self._time:
                    raise ValueError(f"asked to wait until {until}, but the time is already {self._time}")
            if self._open and (until is None or self._open[0][0] <= until):
                generator = self._complete(generator)
            elif until is not None:
                self._time = until
            else:
                return Simulated(self._events, self._issued, self._messages, isinstance(op, Exhausted))

    def _context(self) -> GeneratorContext:
        return GeneratorContext(self._time, self._free, self._workers, self._processes, self._seed, len(self._issued))

    def _issue(self, op: Invocation) -> None:
        if op.time > self._time:
            raise ValueError(f"{op} is due in the future: the time is {self._time}")
        self._free = self._context().after(op).free
        answer, self._stream = self._answers(op, self._stream)
        done = self._time + max(0, round(answer.after * 1e9))
        heapq.heappush(self._open, (done, next(self._number), op, answer))
        self._issued.append(op)
        self._record("invoke", op, op.value, None)

    def _complete(self, generator: Generator) -> Generator:
        self._time, _, op, answer = heapq.heappop(self._open)
        event = self._record(answer.type, op, answer.value, answer.error)
        if answer.type == "info":
            size = len(self._workers)
            self._processes = tuple(p + size if w == op.worker else p for w, p in enumerate(self._processes))
        self._free = (*self._free, op.worker)
        return generator.update(self._context(), event)

    def _record(self, type_: Type, op: Invocation, value: object, error: str | None) -> Event:
        process = self._processes[op.worker]
        event = Event(len(self._events), self._time, type_, process, op.f, value, op.key, error=error)
        self._events.append(event)
        return event
