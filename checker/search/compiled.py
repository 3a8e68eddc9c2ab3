"""The just-in-time search on compiled code, for registers of any kind and for tables of other models.

It returns None where it does not apply (too many open or pending calls); then the search in plain Python decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from checker.core.calls import Call, asked_by, made_by
from checker.core.intervals import IntArray
from checker.core.model import Model, ModelError, is_register
from checker.core.result import LATE, EngineResult, Limits
from checker.search.balances import Balances
from checker.search.encoding import Numbers, numbers_of
from checker.search.jit import ENGINE, shapes_of
from checker.search.lookahead import SLOTS, LookAhead, MissingTransition
from checker.search.monotone_bounds import NO_CEILING, ceilings, refuted, rises
from checker.search.multi_register import RegisterRows
from checker.search.transition_table import NO_TABLE, TransitionTable
from history.codes import NEVER

NODE_BYTES: Final = 40
_STEP_BYTES: Final = 8
BUDGET: Final = 20_000
#: Up to this many questions a model has few states, and looking ahead would cost more room than it saves time.
MAX_QUESTIONS: Final = 8
ROOM: Final = 1 << 10
#: A search that hardly errs remembers at most this many configurations per call; it need not grow then.
AHEAD: Final = 2
#: Steps by call for a first search, and for one in which pending calls take effect soon.
_AT_FIRST: Final = 20
_SOON: Final = 200
#: As many steps take as long as a question to the model.
_QUESTION: Final = 20


class _Run:
    """One search: the kernel's arrays, grown as needed, and the source of its answers."""

    def __init__(self, numbers: Numbers, invoke: IntArray, ret: IntArray, memory: int) -> None:
        from checker.kernels import search, search_state
        from checker.kernels.multi_register import NO_ROWS

        kernel: Any = search_state
        self.kernel, self.search, self.no_rows = kernel, search, NO_ROWS
        self.numbers, self._invoke, self.ret = numbers, invoke, ret
        self.events, self.enough = kernel.arrange(invoke, ret)
        self.asked = 0
        self.window = NEVER
        self._live = np.full(self.events.returns.size + 1, -1)
        self.ahead: LookAhead | None = None
        self.ceiling = ceilings(numbers, invoke, self.events.returns) if rises(numbers) else NO_CEILING
        self.slot_op = np.zeros(64, np.int64)
        self._progress = np.zeros(1, kernel.PROGRESS)
        self.progress: Any = self._progress[0]
        self.progress["deepest"], self.progress["states"] = -1, 1
        room = ROOM
        while room < AHEAD * ret.size and 2 * room * (NODE_BYTES + _STEP_BYTES) <= memory:
            room *= 2
        self.nodes = self._room(room, room)

    @property
    def held(self) -> int:
        """Bytes that the model's part of the search takes."""
        if isinstance(self.numbers, RegisterRows):
            return self.numbers.held
        return 0 if self.ahead is None else self.ahead.held

    def restart(self, window: int) -> None:
        """Start over with another window for pending calls; known states of the object are kept."""
        states = self.progress["states"]
        self._progress[:] = 0
        self.progress["deepest"], self.progress["states"] = -1, states
        self.nodes.hashes.fill(-1)
        self.window, self.ahead, self.asked = window, None, 0
        self._live.fill(-1)
        if not self.fits():
            self._live.fill(0)
            begun = self.events.waiting_at
            spans = np.searchsorted(self.events.returns, [begun, begun + window], "right").T.tolist()
            for number, (begin, end) in enumerate(spans):
                self._live[begin:end] |= 1 << number % SLOTS

    def windows(self) -> list[int]:
        """Return the windows for pending calls to try before a search without a window.

        An operation that was never answered but took effect usually did so about as fast as operations are answered.
        """
        if not self.events.waiting.size or not self.events.returns.size:
            return []
        longest = int((self.ret[self.ret != NEVER] - self._invoke[self.ret != NEVER]).max())
        begun = self.events.waiting_at
        apart = int((begun[SLOTS:] - begun[:-SLOTS]).min(initial=NEVER))
        return [
            window for window in (longest // 4, longest, 4 * longest) if window < min(apart, self.events.owner.size)
        ]

    def fits(self) -> bool:
        return bool(self.events.waiting.size <= SLOTS)

    def _room(self, size: int, steps: int) -> Any:
        columns = {name: np.empty(size, np.int32) for name in ("event", "state", "parent")}
        wide = {name: np.empty(size, np.int64) for name in ("done", "pending")}
        todo = {name: np.empty(steps, np.int32) for name in ("stack", "steps")}
        return self.kernel.ConfigurationTable(**columns, **wide, **todo, hashes=np.full(size * 2, -1, np.int32))

    def grow(self, memory: int) -> bool:
        """Double the size of full buffers; return False if that exceeds the memory cap."""
        before, made = self.nodes, int(self.progress["nodes"])
        size, steps, states = before.event.size, before.stack.size, int(self.progress["states"])
        if isinstance(self.numbers, RegisterRows) and states == len(self.numbers.rows.cells):
            self.numbers.grow(states)
            return True
        if steps < self.progress["stack"] + self.kernel.MAX_PUSHED:
            steps *= 2
        else:
            size *= 2
        if self.held + size * NODE_BYTES + steps * _STEP_BYTES > memory:
            return False
        self.nodes = self._room(size, steps)
        for name in ("event", "state", "done", "pending", "parent"):
            getattr(self.nodes, name)[:made] = getattr(before, name)[:made]
        for name in ("stack", "steps"):
            kept = getattr(before, name)
            getattr(self.nodes, name)[: kept.size] = kept
        self.kernel.rehash(made, self.nodes)
        return True

    def answer(self, limits: Limits) -> bool:
        """Learn the requested transition and likely next ones; return True if that explains the whole history.

        Raises whatever the model's step raises.
        """
        assert isinstance(self.numbers, TransitionTable)
        self.asked += 1
        # The look-ahead knows of no window, and must know of every pending call whether it was taken.
        if self.ahead is None and self.asked > MAX_QUESTIONS and self.window == NEVER:
            self.ahead = LookAhead(self.numbers.transitions, self.events, self.ret, self.numbers.is_read)
        _, slots, *_, event, done, pending, state, kind, taken = self.progress.item()
        opened = self.slot_op[[slot for slot in range(SLOTS) if slots >> slot & 1]].tolist()
        question = MissingTransition(event, state, kind, taken, done | pending << SLOTS, opened)
        return self.numbers.learn(question, self.ahead, limits)

    def explore(self, budget: int) -> int:
        numbers = self.numbers
        table = numbers.table if isinstance(numbers, TransitionTable) else NO_TABLE
        rows = numbers.rows if isinstance(numbers, RegisterRows) else self.no_rows
        calls = self.kernel.Calls(numbers.kind, numbers.value, numbers.old, self.ret, table, self.ceiling)
        search = self.kernel.Search(
            self.events, calls, self.nodes, rows, self.slot_op, self._progress, np.int64(self.window), self._live
        )
        self.search.explore(search, numbers.initial, budget)
        return int(self.progress["status"])

    def order(self) -> list[int]:
        """Return the calls on the way to the goal, in order."""
        reads = np.isin(self.numbers.kind, self.kernel.READS)
        path: list[int] = self.kernel.order_of(
            self.progress["goal"], self.events, self.nodes, self._live, reads, self.ret
        ).tolist()
        return path


def useful(calls: Sequence[Call], model: Model) -> list[Call]:
    """Leave out pending calls whose effect no call depends on: they need not have happened.

    This is exact for a model with ``only_values``. Take a linearization that contains such a call, and delete the
    call.  What follows differs only in the places that it wrote, until each is written again.  An answer that
    showed such a place in between would have shown the pair (place, value) that the call wrote last, and no answer
    contains it.  So every answer stays legal, and the order of the other calls has not changed.  What a pending
    call itself would have read is unknown and constrains nothing.
    """
    if is_register(model):
        needed = {asked_by(call) for call in calls}
        return [call for call in calls if not call.pending or made_by(call) in needed]
    if not model.only_values or not any(call.pending for call in calls):
        return list(calls)
    known = {item for call in calls if not call.pending for item in model.asked(call.f, call.value, call.result)}
    return [
        call for call in calls if not call.pending or not known.isdisjoint(model.made(call.f, call.value, call.result))
    ]


def compiled_search(calls: Sequence[Call], model: Model, limits: Limits, *, proof: bool = True) -> EngineResult | None:
    """Decide with the compiled search; None if it does not apply.

    Raises ModelError if two events have the same place, because it would confuse them.
    """
    kept = sorted(useful(list(limits.paced(calls, ENGINE)), model), key=lambda call: call.invoke)
    invoke, ret = (np.array([getattr(call, name) for call in kept], np.int64) for name in ("invoke", "ret"))
    moments = _moments(invoke, ret)
    if moments is None:
        raise ModelError("two events have the same place in the history")
    shapes, (invoke, ret) = shapes_of(kept), _ranked(moments, invoke, ret)
    numbers = numbers_of(shapes, model)
    result = refuted(numbers, invoke, ret) if rises(numbers) else None
    if result is None:
        run = _Run(numbers, invoke, ret, limits.memory)
        result = _explored(run, limits, proof=proof)
        if result is not None and result.verdict == "valid" and not _is_confirmed(run):
            run = _Run(TransitionTable(shapes, model), invoke, ret, limits.memory)
            result = _explored(run, limits, proof=proof)
        if proof and result is not None and result.verdict == "valid" and run.progress["status"] == run.kernel.FOUND:
            return replace(result, order=[kept[op] for op in run.order()])
    if result is None or result.last is None:
        return result
    return replace(result, last=int(moments[result.last]))


def decide_columns(numbers: Numbers, invoke: IntArray, ret: IntArray, limits: Limits) -> EngineResult | None:
    """Return the verdict alone, from columns in the order of distinct invocations; None if calls must decide."""
    moments = _moments(invoke, ret)
    if moments is None:
        return None
    invoke, ret = _ranked(moments, invoke, ret)
    # The search needs room.
    del moments
    result = refuted(numbers, invoke, ret) if rises(numbers) else None
    if result is not None:
        return result
    run = _Run(numbers, invoke, ret, limits.memory)
    result = _explored(run, limits)
    return None if result is not None and result.verdict == "valid" and not _is_confirmed(run) else result


def _is_confirmed(run: _Run) -> bool:
    """Return whether the order that was found is one of the object itself, not only of the numbers of its states."""
    return not isinstance(run.numbers, Balances) or run.numbers.confirms(run.order())


def _moments(invoke: IntArray, ret: IntArray) -> IntArray | None:
    """Return the places of all events in order; None if two are the same."""
    moments = np.sort(np.concatenate([invoke, ret[ret != NEVER]]))
    return None if (moments[1:] == moments[:-1]).any() else moments


def _ranked(moments: IntArray, invoke: IntArray, ret: IntArray) -> tuple[IntArray, IntArray]:
    """Replace places with dense ranks."""
    if not moments.size or moments[-1] - moments[0] == moments.size - 1:
        first = moments[:1].sum()
        return invoke - first, np.where(ret == NEVER, NEVER, ret - first)
    return np.searchsorted(moments, invoke), np.where(ret == NEVER, NEVER, np.searchsorted(moments, ret))


class Words(Protocol):
    """The values of an object in words, by their ids."""

    def __getitem__(self, number: int, /) -> str: ...
    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class RegisterColumns:
    """Calls on one register with initial value id ``initial``, in the order of the invocations, one row each.

    ``kind`` is a code of ``history.codes``; ``value`` and ``old`` are ids, named by ``names`` (``old`` matters only
    for a CAS); ``invoke`` and ``ret`` are dense ranks, ``NEVER`` for pending calls.
    """

    kind: NDArray[np.int8]
    value: IntArray
    old: IntArray
    invoke: IntArray
    ret: IntArray
    names: Words
    initial: int = 0

    def describe(self, state: int) -> str:
        return self.names[state]


def search_numbers(calls: RegisterColumns, limits: Limits) -> EngineResult | None:
    """Decide a register with the compiled search; None if it does not apply.  ``last`` is a dense rank."""
    return _explored(_Run(calls, calls.invoke, calls.ret, limits.memory), limits)


def _explored(run: _Run, limits: Limits, *, proof: bool = False) -> EngineResult | None:
    """Search until there is an answer; None if the search does not apply.

    A pending call may take effect at any time, so each multiplies the orders.  If that is too much, the search looks
    for an order in which pending calls take effect soon, for a while; such an order is one of the history.
    """
    if not run.enough:
        return None
    size, attempts = run.ret.size, [(window, _SOON * run.ret.size) for window in run.windows()]
    if attempts and run.fits():
        attempts.insert(0, (NEVER, max(BUDGET, _AT_FIRST * size)))
    for window, steps in attempts:
        run.restart(window)
        # Looking ahead takes few steps and much time.
        result = _attempt(run, limits.extended(), proof=proof, steps=steps)
        if result.verdict == "valid" or (result.verdict == "invalid" and window == NEVER):
            return result
    if not run.fits():
        return None
    if attempts:
        run.restart(NEVER)
    return _attempt(run, limits, proof=proof)


def _attempt(run: _Run, limits: Limits, *, proof: bool, steps: int = NEVER) -> EngineResult:
    """Search until there is an answer or about that many ``steps`` were taken.

    The look-ahead may know that an order exists before the search has found it.  For a ``proof`` the search then
    continues for as long again as it has taken; the verdict stands without it.
    """
    status, valid = run.kernel.RUNNING, False

    def give_up(why: str) -> EngineResult:
        return EngineResult("valid", ENGINE) if valid else _gave_up(run, why)

    while status not in (run.kernel.FOUND, run.kernel.EXHAUSTED):
        if limits.over():
            return give_up(LATE)
        if steps <= 0:
            return give_up("no order was found among those in which pending calls take effect soon")
        status = run.explore(BUDGET)
        if status == run.kernel.ASKING and run.answer(limits) and not valid:
            if not proof:
                return EngineResult("valid", ENGINE)
            valid, limits = True, limits.extended()
        steps -= BUDGET if status == run.kernel.RUNNING else _QUESTION
        if run.held > limits.memory or (status == run.kernel.FULL and not run.grow(limits.memory)):
            return give_up(f"the memory cap of {limits.memory >> 20} MB was reached")
    return EngineResult("valid", ENGINE) if status == run.kernel.FOUND else _invalid(run)


def _gave_up(run: _Run, why: str) -> EngineResult:
    deepest, made = run.progress["deepest"], run.progress["nodes"]
    if run.ahead is not None:
        deepest, made = max(deepest, run.ahead.deepest), max(made, run.ahead.made)
    far = f"{deepest} of {run.events.returns.size} completions explained, {made} configurations"
    return EngineResult("unknown", ENGINE, reason=f"{why}: {far}")


def _invalid(run: _Run) -> EngineResult:
    deepest = int(run.progress["deepest"])
    nodes = int(run.progress["nodes"])
    states = np.unique(run.nodes.state[:nodes][run.nodes.event[:nodes] == deepest])
    # If ceilings ended the search, the history becomes wrong somewhat later, at an unknown state of the object.
    named = () if run.ceiling.size else tuple(sorted(run.numbers.describe(int(state)) for state in states))
    return EngineResult("invalid", ENGINE, violations=1, last=int(run.events.returns[deepest]), states=named)
