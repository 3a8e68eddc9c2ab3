"""A second judge that shares nothing with the checker, and a sampler of small random histories.

The judge tries every order of the operations that respects real time, straight from the definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from history import Operation


def register_step(state: Any, operation: Operation) -> Any:
    """Return the state after the operation as a tuple of length 1, or None if the operation is illegal."""
    if operation.f == "write":
        return (operation.value,)
    if operation.f == "cas":
        old, new = operation.value
        if isinstance(operation.result, list) and len(operation.result) == 3:
            return (state,) if state == operation.result[2] and state != old else None
        return (new,) if state == old else None
    return (state,) if operation.result == state else None


def is_linearizable(operations: Sequence[Operation], step: Any = register_step, initial: Any = None) -> bool:
    """Decide by recursion over all orders, remembering (operations left, state)."""
    kept = [op for op in operations if op.outcome == "ok" or (op.outcome == "info" and op.f != "read")]
    seen: set[tuple[frozenset[int], str]] = set()

    def orders(left: frozenset[int], state: Any) -> bool:
        if all(kept[place].outcome == "info" for place in left):
            return True
        if (left, repr(state)) in seen:
            return False
        seen.add((left, repr(state)))
        for place in left:
            operation = kept[place]
            before = (
                other
                for other in left
                if kept[other].outcome == "ok" and kept[other].return_index < operation.invoke_index  # type: ignore[operator]
            )
            if next(before, None) is not None:
                continue
            after = step(state, operation)
            if after is not None and orders(left - {place}, after[0]):
                return True
        return False

    return orders(frozenset(range(len(kept))), initial)


@dataclass
class _Work:
    """An operation under way: its request, when it began, whether it took effect and what it saw."""

    f: str
    value: Any
    began: int
    took: bool = False
    refused: bool = False
    result: Any = None


class Sampler:
    """Makes small histories of one register, in which some answers are wrong.

    With probability ``truth``, a read answers what a real register would have answered at a random moment within its
    interval, otherwise any value.  If ``values`` is None, each value is written once.  Without ``doubt``, every
    operation is answered.  With ``refusals``, a refused cas usually shows what it saw, which is true as often as the
    answer of a read.
    """

    def __init__(
        self, random: Random, *, values: int | None, cas: bool = False, truth: float = 0.6, doubt: bool = True,
        refusals: bool = False, initial: int | None = None,
    ) -> None:  # fmt: skip
        self.doubt, self.refusals, self.initial = doubt, refusals, initial
        self.random, self.values, self.truth = random, values, truth
        self.functions = ["read", "write", "cas"] if cas else ["read", "write"]

    def history(self, size: int, processes: int) -> list[Operation]:
        self.clock, self.fresh, self.state = 0, self.initial or 0, self.initial
        self.busy: dict[int, _Work] = {}
        done: list[Operation] = []
        while size or self.busy:
            self.clock += 1
            idle = [process for process in range(processes) if process not in self.busy]
            if size and idle and (not self.busy or self.random.random() < 0.5):
                self.busy[self.random.choice(idle)] = self._begin()
                size -= 1
            else:
                process = self.random.choice(list(self.busy))
                work = self.busy[process]
                if not work.took and (not self.doubt or self.random.random() < 0.7):
                    self._take(work)
                else:
                    done.append(self._end(process, self.busy.pop(process)))
        return sorted(done, key=lambda operation: operation.invoke_index)

    def _begin(self) -> _Work:
        f = self.random.choice(self.functions)
        self.fresh += 1
        new = self.random.randrange(self.values) if self.values else self.fresh
        if f == "cas":
            some = self.random.randrange(self.values or self.fresh + 1)
            return _Work(f, [self.random.choice([self.state, some]), new], self.clock)
        return _Work(f, new if f == "write" else None, self.clock)

    def _take(self, work: _Work) -> None:
        work.took = True
        if work.f == "read":
            work.result = self.state
        elif work.f == "write":
            self.state = work.value
        elif self.state == work.value[0]:
            self.state = work.value[1]
        else:
            work.refused, work.result = True, self.state

    def _end(self, process: int, work: _Work) -> Operation:
        outcome = "ok" if work.took else self.random.choice(["info", "info", "fail"])
        if work.refused and not self.refusals:
            work.result = None
            outcome = "fail" if self.random.random() < 0.9 or self.truth >= 1 else "ok"
        elif work.refused:
            saw = work.result
            if self.random.random() > self.truth:
                saw = self.random.choice([None, work.value[0], self.random.randrange(self.values or self.fresh + 2)])
            work.result, outcome = [*work.value, saw], self.random.choice(["ok", "ok", "ok", "fail", "info"])
        if self.doubt and outcome == "ok" and self.random.random() > 0.9:
            outcome = "info"
        if work.f == "read" and self.random.random() > self.truth:
            work.result = self.random.choice([None, self.random.randrange(self.values or self.fresh + 2)])
        return Operation(
            process=process,
            f=work.f,
            key=None,
            value=work.value,
            result=work.result if outcome == "ok" else None,
            outcome=outcome,  # type: ignore[arg-type]
            invoked=work.began * 10**6,
            returned=self.clock * 10**6,
            invoke_index=work.began,
            return_index=self.clock,
            node=f"n{process + 1}",
        )


def dense_history(
    random: Random, count: int, *, values: int | None, lies: float = 0.5, doubt: float = 0.2, cas: bool = False
) -> list[Operation]:
    """Make reads and writes that overlap in every degree, which exercises every corner of the engines for registers.

    Invocation, effect and return are three random moments of each operation, close together or far apart.  A share
    ``doubt`` of the writes is ``info``, and half of those never take effect; with probability ``lies``, one read
    answers any value.  If ``values`` is None, each value is written once.
    """
    width = random.choice([0.5, 2, count])
    drawn = [
        [start + random.random() * width for _ in range(3)] for start in (random.random() * count for _ in range(count))
    ]
    rank = {moment: place for place, moment in enumerate(sorted(moment for span in drawn for moment in span))}
    spans = sorted((sorted(rank[moment] for moment in span) for span in drawn), key=lambda span: span[1])
    operations, state = [], None
    for process, (begun, _, ended) in enumerate(spans):
        new, outcome = random.randrange(values) if values else process + 1, "ok"
        f = random.choice(["read", "write", "cas"] if cas else ["read", "write"])
        old = random.choice([state, state, random.randrange(values or count)]) if f == "cas" else state
        if f != "read":
            outcome = "info" if random.random() < doubt else "ok" if old == state else "fail"
            state = new if old == state and (outcome == "ok" or random.random() < 0.5) else state
        asked = {"read": None, "write": new, "cas": [old, new]}[f]
        operations.append(
            Operation(process, f, None, asked, state if f == "read" else None, outcome, begun, ended, begun, ended)  # type: ignore[arg-type]
        )
    reads = [place for place, operation in enumerate(operations) if operation.f == "read"]
    if reads and random.random() < lies:
        place = random.choice(reads)
        operations[place] = replace(operations[place], result=random.choice([None, *range(values or count)]))
    return sorted(operations, key=lambda operation: operation.invoke_index)


def either_pending_write(first: int, *, both: bool) -> list[Operation]:
    """Make a history in which a pending write is spent, but nothing says which one.

    1 and 2 are each written once ok and once pending, and read once.  Then 3 is written and ``first`` is read, which is
    1 or 2 and can be explained.  The other value is read at the end.  That cannot be explained if it also comes from a
    pending write (``both``) and not from an ok one.
    """
    other = 3 - first
    spans: list[tuple[str, int, int, int | None]] = [
        ("write", 1, 0, None), ("write", 2, 1, None), ("write", 1, 2, 4), ("write", 2, 3, 5), ("read", 1, 6, 8),
        ("read", 2, 7, 9), ("write", 3, 10, 11), ("read", first, 12, 13), ("read", other, 16, 17),
    ]  # fmt: skip
    if not both:
        spans.insert(-1, ("write", other, 14, 15))
    return history_of(spans)


#: After 1 was read once, it is read again: after a change, as an instant before another, after a write that hid.
READ_TWICE: dict[str, list[tuple[str, int, int, int | None]]] = {
    "change": [("read", 1, 3, 4), ("write", 2, 5, 6), ("read", 1, 7, 8)],
    "instant": [
        ("read", 1, 3, 4), ("write", 3, 5, 6), ("read", 1, 7, 12), ("write", 2, 8, 9), ("read", 2, 10, 11),
        ("read", 2, 13, 14),
    ],
    "hidden while 3 is read": [
        ("write", 3, 3, 4), ("read", 3, 5, 60), ("read", 1, 6, 11), ("write", 2, 7, 8), ("read", 2, 9, 10),
        ("read", 2, 12, 13), ("read", 1, 14, 15),
    ],
    "seen on": [
        ("write", 3, 3, 4), ("read", 1, 6, 11), ("write", 2, 7, 8), ("read", 1, 12, 13), ("write", 3, 14, 15),
        ("read", 1, 16, 17),
    ],
    "hidden": [("read", 1, 3, 4), ("write", 2, 5, 8), ("write", 3, 6, 7), ("read", 3, 9, 10), ("read", 1, 11, 12)],
}  # fmt: skip


def early_swap(*, valid: bool) -> list[Operation]:
    """Make a history in which a swap returns long before the write whose value it took.

    The swap's own value is read after 3 was written.  If ``valid``, 3 may have been written first.
    """
    spans = [("write", 1, 0, 100), ("cas", [1, 2], 10, 20), ("write", 3, 5 if valid else 30, 40), ("read", 2, 90, 95)]
    return [
        Operation(
            place, f, None, None if f == "read" else value, value if f == "read" else None, "ok", start, end, start, end
        )
        for place, (f, value, start, end) in enumerate(spans)
    ]


def later_change(*, first: bool, flash: bool = True) -> list[Operation]:
    """Make a history with two ways to have 1 at the end.

    It was written early, with a read of 2 answered on the way, or late, with more hidden.  The late way is better only
    in what was open at its last change: 4, which was read for an instant before it (or, without ``flash``, could not
    be).  ``first`` says which of the two comes first among the configurations.
    """
    begin: list[tuple[str, int, int, int | None]] = [("write", 2, 6, 8)]
    if not first:
        begin = [("write", 2, 0, 8), ("write", 5, 1, 2)]
    return history_of([
        *begin, ("write", 1, 4, 12), ("read", 1, 10, 20), ("read", 2, 13, 100), ("write", 1, 14, 40 if flash else 21),
        ("write", 3, 16, 18), ("write", 4, 22, 80), ("read", 4, 24, 60), ("read", 1, 62, 64), ("write", 2, 66, 68),
    ])  # fmt: skip


def after_another(writes: int = 2, again: int | None = None) -> list[Operation]:
    """Make a history in which pending writes of 2 and 6 come when those of 1 become pending, as 1 is not read any more.

    2 is read twice, and so is 6, of which two writes are pending; 5 is read once.  With ``again``, that value is read
    once more.
    """
    more = [] if again is None else [("write", 3, 27, 28), ("read", again, 29, 30)]
    return history_of([
        ("write", 1, 0, None), ("write", 1, 1, None), ("write", 5, 2, None), ("read", 1, 3, 4),
        *(("write", 2, 10 + number, None) for number in range(writes)), ("write", 6, 12, None), ("write", 6, 13, None),
        ("read", 2, 15, 16), ("write", 3, 17, 18), ("read", 2, 19, 20), ("read", 6, 21, 22), ("read", 5, 23, 24),
        ("read", 6, 25, 26), *more,
    ])  # fmt: skip


def first_return_first(*, both: bool) -> list[tuple[str, int, int, int | None]]:
    """Make a history in which 1 is read, overwritten and read again during a long write of 1.

    With ``both``, there is a short write of 1 as well.
    """
    short: list[tuple[str, int, int, int | None]] = [("write", 1, 6, 10)] if both else []
    return [("write", 1, 0, 40), *short, ("read", 1, 7, 8), ("write", 2, 11, 12), ("read", 1, 13, 14)]


def write_or_swap(*, valid: bool) -> list[Operation]:
    """Make a history in which 5 is read twice: written by a pending swap, and then by a pending write if ``valid``."""
    spans = [("write", 5, 0, 20), ("cas", [None, 5], 1, 21), ("read", 5, 2, 3), ("write", 3, 4, 5), ("read", 5, 6, 7)]
    return [
        Operation(place, f, None, None if f == "read" else value, value if f == "read" else None,
                  "info" if end > 10 else "ok", start, end, start, end)
        for place, (f, value, start, end) in enumerate(spans if valid else spans[1:])
    ]  # fmt: skip


def late_pending(begun: int) -> list[Operation]:
    """Make a history that is linearizable only if the second pending write of 1 has ``begun`` before time 7."""
    return history_of([
        ("write", 1, 0, None), ("read", 1, 1, 2), ("write", 3, 3, 4), ("read", 1, 5, 20), ("write", 2, 6, 7),
        ("write", 1, begun, None), ("read", 2, 22, 23),
    ])  # fmt: skip


#: Made for kernels with one thing wrong, which say something else of them, or of a twin; all of them are valid.
DISTINGUISHED: dict[str, list[tuple[str, int | None, int, int | None]]] = {
    "more spent does not make another needless": [
        ("write", 1, 0, 2), ("write", 2, 1, 4), ("write", 1, 3, 6), ("read", 1, 5, 8), ("write", 1, 7, 11),
        ("write", 4, 9, 10), ("read", 1, 12, 13),
    ],
    "nor does less that was open at the last change": [
        ("write", 4, 0, 2), ("write", 6, 1, 3), ("read", 6, 4, 7), ("write", 2, 5, 11), ("write", 6, 6, 9),
        ("read", 2, 8, 10), ("read", 6, 12, 13),
    ],
    "less spent alone replaces no other": [
        ("write", 2, 0, 2), ("write", 1, 1, 4), ("write", 2, 3, 11), ("read", 2, 5, 7), ("write", 1, 6, 10),
        ("write", 1, 8, 9), ("read", 2, 12, 13),
    ],
    "nor does more that was open at the last change": [
        ("write", 2, 0, 2), ("write", 1, 1, 3), ("read", 2, 4, 7), ("write", 2, 5, 9), ("read", 1, 6, 10),
        ("write", 1, 8, 11), ("read", 2, 12, 13),
    ],
    "what was spent moves along": [
        ("write", 4, 0, 3), ("write", 1, 1, 2), ("read", 4, 4, 8), ("write", 2, 5, 10), ("write", 3, 6, 9),
        ("write", 4, 7, 14), ("read", 3, 11, 13), ("read", 4, 12, 15),
    ],
    "what is satisfied moves along": [
        ("write", 2, 0, 4), ("write", 1, 1, 8), ("write", 3, 2, 7), ("write", 2, 3, 9), ("read", 3, 5, 13),
        ("read", 1, 6, 12), ("read", 3, 10, 11),
    ],
    "pending writes that were spent move along": [
        ("write", 1, 0, 6), ("write", 2, 1, 2), ("write", 1, 3, None), ("read", 1, 4, 7), ("write", 2, 5, 9),
        ("write", 1, 8, 10), ("read", 2, 11, 14), ("read", 1, 12, 13),
    ],
    # Its twin, of which the first read answers 4, needs that 4 was current before the last change, or that 2 came back.
    "when it was changed last moves along": [
        ("read", 2, 0, 11), ("write", 1, 1, 4), ("write", 2, 2, 6), ("write", 3, 3, 8), ("read", 2, 5, 14),
        ("write", 4, 7, None), ("read", 2, 9, 10), ("read", 2, 12, 13),
    ],
    # The first one is a read, and is what a wrong place in the table of slots leads to.
    "eight are open at once": [
        ("read", None, 0, 30), *(("write", number, number, 40 + number) for number in range(1, 8)), ("read", 7, 60, 61),
    ],
}  # fmt: skip


def one_answer_changed(spans: Sequence[tuple[str, int | None, int, int | None]]) -> list[list[Operation]]:
    """Yield the history, and every variant in which one read answers another written value, or none."""
    values = {None, *(value for f, value, *_ in spans if f == "write")}
    changed = [
        [*spans[:place], (f, value, begun, ended), *spans[place + 1 :]]
        for place, (f, answer, begun, ended) in enumerate(spans)
        for value in values
        if f == "read" and value != answer
    ]
    return [history_of(some) for some in (spans, *changed)]


def history_of(spans: Sequence[tuple[str, int | None, int, int | None]]) -> list[Operation]:
    """Return reads and writes, each given as (function, value, invocation, return or None)."""
    return [
        Operation(process, f, None, value if f == "write" else None, value if f == "read" else None,
                  "info" if end is None else "ok", start, end, start, end)
        for process, (f, value, start, end) in enumerate(spans)
    ]  # fmt: skip
