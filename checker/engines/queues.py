"""Decide FIFO queues whose items are enqueued once each: one sweep over the dequeues, O(n log n).

Let an item v be put in between the ranks E(v) and E'(v), the invocation and the return of its enqueue, and taken out
between D(v) and D'(v); an item that stays is taken out after everything else.  A history without pending calls is
linearizable iff

1. every dequeued item was enqueued, is dequeued once, and E(v) < D'(v);
2. no item is overtaken: there are no v and w with E'(v) < E(w) and D'(w) < D(v);
3. every dequeue that found nothing has a moment at which the queue may be empty, outside all (E'(v), D(v)).

(Henzinger, Sezgin and Vafeiadis, Aspect-oriented linearizability proofs, CONCUR 2013.) Each condition is necessary.
Together they are sufficient: let E' be at most D' and D at least E, which changes none of the three, and treat a
dequeue that found nothing as an item that is put in and taken out at its moment.  Then "v before w" if E'(v) < E(w) or
D'(v) < D(w) is the union of two interval orders.  Suppose v is before w by one order, w before x by the other, x before
y by the first again, and so on in a circle.  Then by the first order also v is before y or x before w.  Either way
there is a shorter circle, and in the end a circle of two items, which 2 and 3 exclude.  So the items can be put in an
order.  Put in each item when its enqueue and the enqueues of all items ahead of it have been invoked.  Take out each
item when, moreover, its dequeue and the dequeues of all items ahead of it have been invoked.  None of these calls has
returned by then, or it would have been before one of those ahead of it.

*Pending.* An enqueue whose item was never dequeued is left out, because no order needs it.  A pending dequeue may have
taken any item that no other dequeue took.  By when an item must be gone follows from 2 and 3, and what follows for one
item holds for all whose enqueues returned before its own.  So if any assignment works, this one does: the dequeue that
was invoked k-th takes the item whose enqueue returned k-th among those that stay.  After that nothing is pending any
more.

Each violation has its own item, or its own dequeue that found nothing.  That item or dequeue is left out of the rest of
the analysis, which keeps a linearizable history linearizable.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, chain, zip_longest
from operator import attrgetter
from typing import Any, Final

from checker.core.calls import Call
from checker.core.engine import ByColumns, Engine
from checker.core.model import Model
from checker.core.result import LATE, EngineResult, Limits, OutOfTimeError, not_begun
from checker.engines.queue_columns import columns_of, columns_of_operations
from checker.engines.queue_orders import Pair, linearization
from checker.engines.sentences import explain_queue
from checker.models.objects import FifoQueue
from history import Operation
from history.codes import NEVER
from history.records.verdicts import MAX_COUNTEREXAMPLES, WITHOUT_KIND

ENGINE: Final = "queue sweep"
_BY_INVOCATION: Final = attrgetter("invoke")
_BY_RETURN: Final = attrgetter("ret")


@dataclass(slots=True)
class _Queue:
    """History of a queue, sorted by role, and the violations found in it.

    ``taken`` has each item's first dequeue.  ``answers`` are these and the dequeues that found nothing, by their
    returns.  ``takers`` are the dequeues that may have taken any item, by their invocations: pending ones, and
    those with an answer that cannot be true.  ``reported`` are the items of violations, and ``reported_empty`` the
    sources of dequeues that found nothing but must have found something.
    """

    enqueues: dict[Any, Call]
    taken: dict[Any, Call] = field(default_factory=dict)
    answers: list[Call] = field(default_factory=list)
    takers: list[Call] = field(default_factory=list)
    reported: set[Any] = field(default_factory=set)
    reported_empty: set[int] = field(default_factory=set)
    cores: list[tuple[Call, ...]] = field(default_factory=list)
    kinds: dict[int, tuple[str, int]] = field(default_factory=dict)
    violations: int = 0

    def report(self, due: Call, others: Iterable[Call], kind: str = WITHOUT_KIND) -> None:
        """Report a violation that was complete when ``due`` returned; only the cores of the earliest are kept.

        The others are counted by ``kind``, which is known if that one call is enough to know it.
        """
        self.violations += 1
        self.kinds[due.source] = kind, due.source
        if len(self.cores) < MAX_COUNTEREXAMPLES or due.ret < self.cores[-1][0].ret:
            insort(self.cores, (due, *others), key=lambda core: core[0].ret)
            del self.cores[MAX_COUNTEREXAMPLES:]
        if due.result is None:
            self.reported_empty.add(due.source)
        else:
            self.reported.add(due.result)

    def counts(self, answer: Call) -> bool:
        """Return whether the answer is not in any violation so far."""
        return answer.source not in self.reported_empty and answer.result not in self.reported

    def asked(self, answer: Call) -> list[Call]:
        """Return the enqueue of the item that was answered, if any."""
        return [] if answer.result is None else [self.enqueues[answer.result]]

    def dequeued(self) -> list[Call]:
        """Return the enqueues of items known to be taken and in no violation, ordered by return."""
        return sorted((self.enqueues[item] for item in self.taken if item not in self.reported), key=_BY_RETURN)

    def staying(self) -> list[Call]:
        """Return the completed enqueues of items not known to be taken and in no violation, ordered by return."""
        left = (call for item, call in self.enqueues.items() if item not in self.taken and item not in self.reported)
        return sorted((call for call in left if call.ret != NEVER), key=_BY_RETURN)

    def pairs(self) -> list[Pair]:
        """Return the enqueues that are in no violation, each with its dequeue (perhaps a pending one) or None."""
        staying = self.staying()
        return [
            *((call, self.taken[call.value]) for call in self.dequeued()),
            *zip_longest(staying, self.takers[: len(staying)]),
        ]


def decide_by_queue_sweep(calls: Sequence[Call], limits: Limits, *, proof: bool = True) -> EngineResult | None:
    """Decide whether one FIFO queue is linearizable; None if an item was enqueued twice or equals null."""
    enqueues = [call for call in limits.paced(calls, ENGINE) if call.f == "enqueue"]
    dequeues = [call for call in calls if call.f == "dequeue"]
    columns = columns_of(enqueues, dequeues) if len(enqueues) + len(dequeues) == len(calls) else None
    if columns is None:
        return None
    if not proof and columns.nothing_wrong():
        return EngineResult("valid", ENGINE)
    queue = _Queue({call.value: call for call in enqueues})
    reason, moments = None, list[tuple[float, Call]]()
    try:
        _sort_out(queue, dequeues, limits)
        _overtaken(queue, limits)
        moments = _empty_at(queue, limits)
    except OutOfTimeError:
        if not queue.cores:
            raise
        reason = f"{LATE}: there may be more violations"
    if queue.cores:
        cores = tuple(tuple(sorted(core, key=_BY_INVOCATION)) for core in queue.cores)
        last = queue.cores[0][0].ret
        beyond = tuple(queue.kinds[due] for due in queue.kinds.keys() - {due.source for due, *_ in queue.cores})
        return EngineResult(
            "invalid", ENGINE, cores=cores, violations=queue.violations, last=last, reason=reason, beyond=beyond,
            more=reason is not None,
        )  # fmt: skip
    return EngineResult("valid", ENGINE, order=linearization(queue.pairs(), moments))


def _by_columns(operations: Sequence[Operation], _model: Model, limits: Limits, proof: bool) -> ByColumns | None:
    """Decide without making calls; None if they are needed."""
    columns = None if proof else columns_of_operations(operations)
    if columns is None:
        return None
    if limits.over():
        return ByColumns(not_begun(ENGINE, columns.size), columns.size)
    return ByColumns(EngineResult("valid" if columns.nothing_wrong() else "invalid", ENGINE), columns.size)


def _sort_out(queue: _Queue, dequeues: Sequence[Call], limits: Limits) -> None:
    for call in limits.paced(sorted(dequeues, key=_BY_RETURN), ENGINE):
        if call.ret != NEVER and (call.result is None or _was_there(call, queue)):
            queue.answers.append(call)
        else:
            queue.takers.append(call.made_pending())
    queue.takers.sort(key=_BY_INVOCATION)


def _was_there(call: Call, queue: _Queue) -> bool:
    """Return whether the item was there to be taken; report a violation, once for each item, if it was not."""
    enqueue = queue.enqueues.get(call.result)
    begun = enqueue is not None and enqueue.invoke < call.ret
    first = queue.taken.setdefault(call.result, call) if begun else None
    if first is not call and call.result not in queue.reported:
        kind = "never-written" if enqueue is None else "duplicate" if begun else "future-read"
        queue.report(call, [other for other in (enqueue, first) if other is not None], kind)
    return first is call


def _overtaken(queue: _Queue, limits: Limits) -> None:
    """Report answers that overtook an item: one that had to leave first and whose dequeue had not begun.

    Items that were taken later are examined separately from items that stay, because pending dequeues may have
    taken the first of those.  An item that had been taken when one answer returned is taken for all later answers,
    so neither list is ever searched again from the start.
    """
    later, staying = queue.dequeued(), queue.staying()
    place = takers = lost = 0
    for answer in limits.paced(queue.answers, ENGINE):
        if not queue.counts(answer):
            continue
        enqueued = queue.asked(answer)
        begun = (enqueued or [answer])[0].invoke
        while place < len(later) and not _waits(later[place], answer, queue):
            place += 1
        while takers < len(queue.takers) and queue.takers[takers].invoke < answer.ret:
            takers += 1
        overtaken = place < len(later) and later[place].ret < begun
        missing = takers + lost < len(staying) and staying[takers + lost].ret < begun
        # A lost item is a violation anyway, but with pending calls it takes many operations to show it.
        if missing and not (overtaken and takers):
            ahead = staying[: takers + lost + 1]
            others = (call for call in ahead if call.value not in queue.reported)
            queue.report(answer, chain(others, queue.takers[:takers], enqueued))
            queue.reported.add(ahead[-1].value)
            lost += 1
        elif overtaken:
            queue.report(answer, [later[place], *enqueued], "queue-order" if enqueued else "stale-read")
            queue.reported.add(later[place].value)


def _waits(enqueue: Call, answer: Call, queue: _Queue) -> bool:
    """Return whether no dequeue of this item had begun when that answer returned."""
    return queue.taken[enqueue.value].invoke > answer.ret and enqueue.value not in queue.reported


class _Cover:
    """Intervals in which the queue cannot have been empty."""

    def __init__(self, queue: _Queue) -> None:
        pairs = sorted(queue.pairs(), key=lambda pair: pair[0].ret)
        self.since = [enqueue.ret for enqueue, _ in pairs]
        self.longest = list(accumulate(pairs, partial(max, key=_until)))

    def over(self, answer: Call) -> tuple[list[Pair], int]:
        """Cover the answer's interval with the stays of as few items as possible.

        Returns the items and the time up to which they cover it.
        """
        pairs, moment = [], answer.invoke
        while moment < answer.ret:
            place = bisect_left(self.since, moment) - 1
            if place < 0 or _until(self.longest[place]) <= moment:
                break
            pairs.append(self.longest[place])
            moment = _until(pairs[-1])
        return pairs, moment


def _until(pair: Pair) -> int:
    return NEVER if pair[1] is None else pair[1].invoke


def _empty_at(queue: _Queue, limits: Limits) -> list[tuple[float, Call]]:
    """Find for each dequeue that found nothing a moment at which the queue may be empty; report those without.

    If a violation removes an item on which another violation may rest, that other one is examined again without the
    item.
    """
    moments = []
    empty = [answer for answer in queue.answers if answer.result is None and queue.counts(answer)]
    while empty:
        cover, again, lost = _Cover(queue), list[Call](), False
        for answer in limits.paced(empty, ENGINE):
            pairs, moment = cover.over(answer)
            stays = any(enqueue.value not in queue.taken for enqueue, _ in pairs)
            if moment < answer.ret:
                moments.append((moment + 0.5, answer))
            elif (stays and lost) or any(enqueue.value in queue.reported for enqueue, _ in pairs):
                again.append(answer)
            else:
                queue.report(answer, _chain(answer, pairs, queue, limits))
                queue.reported.update(enqueue.value for enqueue, _ in pairs)
                # A dequeue that may have taken an item that is now left out may have taken the next one instead.
                lost = lost or stays
        empty = again
    return moments


def _chain(answer: Call, pairs: Sequence[Pair], queue: _Queue, limits: Limits) -> Iterator[Call]:
    """Yield the calls that show that the queue was not empty, including pending ones that may have taken items."""
    taken = [pair for pair in pairs if pair[0].value in queue.taken]
    involved = [call for pair in taken for call in pair if call is not None and call.invoke < answer.ret]
    if len(taken) < len(pairs):
        staying = queue.staying()
        takers = bisect_left(queue.takers, answer.ret, key=_BY_INVOCATION)
        number = min(max(staying.index(enqueue) for enqueue, _ in pairs if enqueue.value not in queue.taken), takers)
        involved += [*staying[: number + 1], *queue.takers[: min(number + 1, takers)]]
        # The added items that stayed may cover more of the answer than they had to.
        involved = _needed(answer, involved, limits)
    yield from involved


def _needed(answer: Call, involved: list[Call], limits: Limits) -> list[Call]:
    """Leave out, as long as there is time, the items that the contradiction does not need."""
    for enqueue in [call for call in involved if call.f == "enqueue"]:
        rest = [call for call in involved if enqueue.value not in (call.value, call.result)]
        result = None if limits.over() else decide_by_queue_sweep([*rest, answer], replace(limits, deadline=None))
        if result is not None and result.verdict == "invalid":
            involved = rest
    return involved


QUEUE: Final = Engine(
    "queue", ENGINE, "FIFO queues whose items are enqueued once each", "O(n log n)",
    lambda model, _calls: type(model) is FifoQueue,
    lambda calls, _model, limits, proof: decide_by_queue_sweep(calls, limits, proof=proof),
    explain_queue, _by_columns,
    finds_all=True,
)  # fmt: skip
