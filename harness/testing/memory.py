"""In-memory objects, correct or broken, and histories of them, for testing workloads and checkers."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias, get_args

from checker import ANY, ILLEGAL, UNKNOWN, CasRegister, Model, model_named
from checker.core.calls import freeze, thaw
from harness.generators import Completion, Invocation, Stream, simulate
from harness.generators.simulate import Answers
from harness.systems.api import Scale, Setup, Workload
from history import Event
from history.records.events import Type
from history.records.operations import ECHOED

#: How objects can misbehave.  ``lost-answers`` is not a bug: the operation takes effect, but ends as ``info``.
Quirk: TypeAlias = Literal[
    "", "lost-answers", "stale-reads", "lost-writes", "doubled-writes", "blind-cas", "done-and-called-failed"
]
QUIRKS: Final[tuple[Quirk, ...]] = get_args(Quirk)
BUGS: Final = QUIRKS[2:]
_LONGEST_NS: Final = 10_000_000


class Objects:
    """Objects of one of the checker's models, by key.  They perform operations instantly and are linearizable.

    ``model`` is a name, or your own model, which must define ``answers`` or ``respond`` to say what its reads return.
    A ``quirk`` breaks linearizability: it strikes every ``every``-th operation that it applies to.  A stale read is
    answered from the state before the last change.  A lost write is acknowledged but forgotten.  A doubled write is
    done again after the next one.  A blind cas does not compare.  An operation that is done but reported as failed
    simulates a client's mistake.

    When the objects are the ``answers`` of a simulation, operations take a few milliseconds.
    """

    def __init__(self, model: str | Model = "cas-register", quirk: Quirk = "", *, every: int = 5) -> None:
        self._model = model_named(model)
        self._quirk = quirk
        self._every = every
        self._initial = None if self._model.initial is ANY else self._model.initial
        self._states: dict[Any, Any] = {}
        self._before: dict[Any, Any] = {}
        self._struck = 0
        self._again: dict[Any, tuple[str, Any]] = {}

    def __call__(self, invocation: Invocation, stream: Stream) -> tuple[Completion, Stream]:
        type_, value = self.perform(invocation.f, invocation.key, invocation.value)
        seconds, stream = stream.draw()
        return Completion(0.001 + seconds / 100, type_, value), stream

    def perform(self, f: str, key: Any, value: Any = None) -> tuple[Type, Any]:
        """Perform an operation, and return how it ends, with its value as in a history.

        An operation that the state does not allow ends as ``fail``, but a cas on a cas-register that does not match
        ends as ``ok`` and shows the value that it found.  Raises ValueError for an ``f`` that the model lacks or cannot
        answer.
        """
        frozen, now = freeze(value), self._states.get(key, self._initial)
        result, after = self._done(now, f, frozen)
        if after is ILLEGAL:
            if not isinstance(self._model, CasRegister):
                return "fail", value
            if not self._strikes("blind-cas"):
                return "ok", [*value, thaw(now)]
            after = frozen[1]
        if after == now:
            before = self._before.get(key, self._initial)
            old, unchanged = self._done(before, f, frozen) if self._strikes("stale-reads") else (result, before)
            return "ok", _shown(old if unchanged == before else result, f, value)
        self._change(f, key, frozen, after)
        if self._strikes("lost-answers"):
            return "info", value
        if self._strikes("done-and-called-failed"):
            return "fail", value
        return "ok", _shown(result, f, value)

    def _done(self, state: Any, f: str, value: Any) -> tuple[Any, Any]:
        """Return the answer to an operation and the state after it.

        The answer is ``UNKNOWN`` if there is only an acknowledgement, and the state ``ILLEGAL`` if the operation does
        not fit.
        """
        model = self._model
        result = model.respond(state, f, value)
        if result is UNKNOWN and f in model.reads:
            raise ValueError(f"`answers` of a {model.name} lists nothing for {f!r}, so it cannot run in memory")
        if result is not UNKNOWN:
            model.admit(f, value, result)
        after = model.step(state, f, value, result)
        if after is ILLEGAL and model.step(state, f, value, UNKNOWN) is not ILLEGAL:
            return result, state  # the answer reveals what a bug did to the state
        return result, after

    def _change(self, f: str, key: Any, value: Any, after: Any) -> None:
        if not self._strikes("lost-writes"):
            self._set(key, after)
        if key in self._again:
            _, twice = self._done(self._states.get(key, self._initial), *self._again.pop(key))
            if twice is not ILLEGAL:
                self._set(key, twice)
        elif self._strikes("doubled-writes"):
            self._again[key] = f, value

    def _set(self, key: Any, state: Any) -> None:
        self._before[key] = self._states.get(key, self._initial)
        self._states[key] = state

    def _strikes(self, quirk: Quirk) -> bool:
        if self._quirk != quirk:
            return False
        self._struck += 1
        return self._struck % self._every == 0


def _shown(result: Any, f: str, value: Any) -> Any:
    """Return the value of an ``ok`` end.  For an acknowledgement, it is the request's value if clients repeat it."""
    if result is not UNKNOWN:
        return thaw(result)
    return value if f in ECHOED else None


def history_of(
    objects: Objects, operations: Iterable[tuple[str, Any, Any]], *, workers: int = 3, seed: int = 0
) -> list[Event]:
    """Return the history of some workers that perform operations (``f``, key, value), each when it is free.

    Operations overlap, and each takes effect at some moment between its invocation and its completion.
    """
    rng = random.Random(seed)
    free = [(0, worker) for worker in range(workers)]
    steps: list[tuple[int, int, int, int, int, str, Any, Any]] = []
    for f, key, value in operations:
        begun, worker = heapq.heappop(free)
        done, ended = sorted(begun + rng.randrange(1, _LONGEST_NS) for _ in range(2))
        steps.append((done, len(steps), begun, ended, worker, f, key, value))
        heapq.heappush(free, (ended + rng.randrange(1, _LONGEST_NS), worker))
    process = list(range(workers))
    moments: list[tuple[int, int, Type, int, str, Any, Any]] = []
    for _, number, begun, ended, worker, f, key, value in sorted(steps):
        type_, answered = objects.perform(f, key, value)
        moments.append((begun, number, "invoke", process[worker], f, key, value))
        moments.append((ended, number, type_, process[worker], f, key, answered))
        process[worker] += workers if type_ == "info" else 0
    moments.sort(key=lambda moment: moment[:2])
    return [
        Event(index, time, type_, by, f, value, key)
        for index, (time, _, type_, by, f, key, value) in enumerate(moments)
    ]


def history_of_workload(
    workload: Workload,
    answers: Answers,
    *,
    keys: int = 2,
    workers: int = 5,
    seed: int = 0,
    most: int = 1000,
    setup: Setup | None = None,
) -> list[Event]:
    """Return the history of a workload in virtual time.

    It has at most ``most`` operations, then the workload's final reads one after the other.  ``answers`` are
    :class:`Objects`, or a client's answers from an in-memory server.
    """
    scale = Scale(keys=keys, workers=workers, setup=setup or Setup(version=""))
    events = simulate(workload.generator(scale), workers=workers, answers=answers, seed=seed, most=most).events
    used = tuple(dict.fromkeys(event.key for event in events if event.key is not None))
    stream = Stream(random.Random(f"{seed}:final"))
    last = max((event.process for event in events if isinstance(event.process, int)), default=0)
    time = events[-1].time if events else 0
    for number, read in enumerate(workload.final(Scale(keys=keys, workers=workers, setup=scale.setup, used=used))):
        answer, stream = answers(read, stream)
        process, ended = last + 1 + number, time + round(answer.after * 1e9)
        for at, type_, value in ((time, "invoke", read.value), (ended, answer.type, answer.value)):
            events.append(Event(len(events), at, type_, process, read.f, value, read.key, phase="final"))  # type: ignore[arg-type]  # (types by name)
        time = ended
    return events
