"""Decide unordered queues, and unique identifiers: one pass over each value's operations.

A bag is the product of one object for each value, so it is linearizable if and only if each of these is (Herlihy and
Wing 1990).  All copies of one value are alike.  Put every enqueue at its invocation and every dequeue at its return,
their earliest and latest possible moments; if a dequeue finds nothing then, no other choice helps.  So the k-th dequeue
to return needs k enqueues invoked before its return.  A dequeue with an unknown answer may have taken nothing, and is
left out here.

A drain takes out its items one after the other, anywhere between its start and its end, and then finds the queue empty.
So every item that was acknowledged before the drain began was taken by something that began before the drain ended: by
an answer with that value, or by a dequeue or drain in doubt.  A drain in doubt may have taken anything, a dequeue in
doubt one item.  If the same holds for all items that were acknowledged before the drain ended, the queue may have been
empty at its very end, whatever the values.

Otherwise the moment at which the queue was empty ties the values together, as a dequeue that finds it empty does.  Then
the search decides.  It treats drains as single steps, and assumes that calls in doubt took nothing.  Any order that it
finds is valid.  If it finds none, that proves something only in a history without drains and without calls in doubt.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from checker.core.calls import Call, thaw
from checker.core.engine import Engine
from checker.core.model import Model
from checker.core.result import EngineResult, Limits
from checker.core.scene import CoreWords, Scene
from checker.core.wording import shown
from checker.models.multisets import TotalQueue, UniqueIds, UnorderedQueue
from checker.search.compiled import compiled_search
from checker.search.jit import search
from history import Counterexample
from history.records.verdicts import MAX_COUNTEREXAMPLES

BAG: Final = "bag sweep"
IDS: Final = "identifiers"
_TIED: Final = "no order was found, but drains and calls in doubt may take items at moments that were not tried"


_ByItem: TypeAlias = Mapping[Any, list[Call]]


def decide_bag(calls: Sequence[Call], model: Model, limits: Limits) -> EngineResult:
    """Decide whether one unordered queue is linearizable; a ``TotalQueue`` may deliver a value again."""
    enqueues: defaultdict[Any, list[Call]] = defaultdict(list)
    taken: defaultdict[Any, list[Call]] = defaultdict(list)
    for call in limits.paced(calls, BAG):
        if call.f == "enqueue":
            enqueues[call.value].append(call)
        for item in _items(call):
            taken[item].append(call)
    again = isinstance(model, TotalQueue)
    wrong = [*_too_many(enqueues, taken, again=again), *_lost(calls, enqueues, taken)]
    if not wrong:
        if _finds_empty(model, calls) or not all(
            _ends_empty(calls, drain, enqueues, taken, again=again) for drain in _drains(calls)
        ):
            result = compiled_search(calls, model, limits) or search(calls, model, limits)
            return result if result.verdict == "valid" else EngineResult("unknown", BAG, reason=result.reason or _TIED)
        # The items of a drain leave at different moments, so no order of whole calls can show it.
        ordered = all(call.f == "enqueue" or call.pending or _is_plain(call) for call in calls)
        moments = [(call.invoke if call.f == "enqueue" else call.ret, call) for call in calls if not _is_idle(call)]
        order = [call for _, call in sorted(moments, key=lambda moment: moment[0])]
        return EngineResult("valid", BAG, order=order if ordered else None)
    wrong.sort(key=lambda core: max(call.ret for call in core if not call.pending))
    cores = tuple(tuple(sorted(core, key=lambda call: call.invoke)) for core in wrong[:MAX_COUNTEREXAMPLES])
    last = max(call.ret for call in cores[0] if not call.pending)
    more = _finds_empty(model, calls)
    return EngineResult("invalid", BAG, cores=cores, violations=len(wrong), last=last, more=more)


def is_bag(model: Model) -> bool:
    """Return whether the model is one of our unordered queues; a derived class, which may do anything, is not."""
    return type(model) in (UnorderedQueue, TotalQueue)


def takes_over_time(calls: Sequence[Call]) -> bool:
    """Return whether items may leave at moments that the model's steps do not show: in drains or in doubt."""
    return any(call.f == "drain" or _is_idle(call) for call in calls)


def _finds_empty(model: Model, calls: Sequence[Call]) -> bool:
    """Return whether a dequeue found the queue empty; a queue that may deliver again does not promise that."""
    return type(model) is UnorderedQueue and any(call.f == "dequeue" and call.result is None for call in calls)


def _is_plain(call: Call) -> bool:
    return call.f == "dequeue" and call.result is not None


def _is_idle(call: Call) -> bool:
    return call.pending and call.f != "enqueue"


def _too_many(enqueues: _ByItem, taken: _ByItem, *, again: bool) -> Iterator[list[Call]]:
    """Yield the first dequeue of each value that finds nothing, with the calls that prove it."""
    for item, takers in taken.items():
        begun = sorted(enqueues.get(item, ()), key=lambda call: call.invoke)
        takers.sort(key=lambda call: call.ret)
        for number, call in enumerate(takers):
            needed = 1 if again else number + 1
            if len(begun) < needed or begun[needed - 1].invoke > call.ret:
                others = [call] if again else takers[:needed]
                yield [*{witness.source: witness for witness in (*begun[:needed], *others)}.values()]
                break


def _lost(calls: Sequence[Call], enqueues: _ByItem, taken: _ByItem) -> Iterator[list[Call]]:
    """Yield, for the earliest drain that misses something, each item acknowledged before it and never taken."""
    for drain in _drains(calls):
        missed = _missed(drain, drain.invoke, enqueues, taken)
        if not _fits(calls, drain, missed):
            for lost in missed[len(_doubts(calls, drain)) :]:
                yield [lost, drain]
            return


def _ends_empty(calls: Sequence[Call], drain: Call, enqueues: _ByItem, taken: _ByItem, *, again: bool) -> bool:
    """Return whether the queue may be empty at the end of a drain; False if that is unknown."""
    if again and any(len(begun) > 1 for begun in enqueues.values()):
        return False  # the same copy may have been delivered twice
    missed = _missed(drain, drain.ret, enqueues, taken)
    # An item that a call in doubt took is not there for a later dequeue.
    spare = {item: len(begun) - len(taken.get(item, ())) for item, begun in enqueues.items()}
    needed = Counter(call.value for call in missed)
    return _fits(calls, drain, missed) and all(number <= spare[item] for item, number in needed.items())


def _drains(calls: Sequence[Call]) -> list[Call]:
    return sorted((call for call in calls if call.f == "drain" and not call.pending), key=lambda call: call.ret)


def _missed(drain: Call, moment: int, enqueues: _ByItem, taken: _ByItem) -> list[Call]:
    """Return the enqueues acknowledged before ``moment`` whose items no known call begun by the drain's end took."""
    missed: list[Call] = []
    for item, begun in enqueues.items():
        done = sorted((call for call in begun if call.ret < moment), key=lambda call: call.ret)
        out = sum(call.invoke < drain.ret for call in taken.get(item, ()))
        missed += done[: max(0, len(done) - out)]
    return missed


def _doubts(calls: Sequence[Call], drain: Call) -> list[Call]:
    return [call for call in calls if _is_idle(call) and call.invoke < drain.ret]


def _fits(calls: Sequence[Call], drain: Call, missed: Sequence[Call]) -> bool:
    """Return whether dequeues and drains in doubt may have taken what the drain missed."""
    if not missed:
        return True
    doubts = _doubts(calls, drain)
    return len(missed) <= len(doubts) or any(call.f == "drain" for call in doubts)


def explain_bag(core: Sequence[Call], scene: Scene, result: EngineResult) -> Counterexample:  # noqa: ARG001
    """Explain a violation of an unordered queue, given as a minimal core."""
    words = CoreWords(core, scene)
    enqueues = [call for call in words.core if call.f == "enqueue"]
    takers = [call for call in words.core if call.f != "enqueue"]
    counts = Counter(item for call in takers for item in _items(call))
    if len(enqueues) == 1 and len(takers) == 1 and takers[0].f == "drain" and not counts[enqueues[0].value]:
        add, drain = enqueues[0], takers[0]
        text = f"{words.by(add, f'enqueued {_item(add.value)}')} to {words.name}, acknowledged. But"
        return words.example(
            "lost-element",
            f"{text} {words.by(drain, f'drained {words.name} until it was empty')}, and no operation that began before "
            "that ended returned it.",
            drain,
        )
    item = next(item for item, count in counts.most_common() if all(item in _items(call) for call in takers))
    out = ", and ".join(words.by(call, f"took out {_item(item)}") for call in takers)
    late = max(takers, key=lambda call: call.ret)
    if not enqueues:
        return words.example("never-written", f"{out} from {words.name}, but no process ever enqueued it there.", late)
    into = ", and ".join(words.by(call, f"enqueued {_item(item)}") for call in enqueues)
    if counts[item] > len(enqueues):
        return words.example("duplicate", f"{into} to {words.name}, but it was taken out more often: {out}.", late)
    return words.example("future-read", f"{out} from {words.name} before it was enqueued: {into}.", late)


def _items(call: Call) -> Sequence[Any]:
    """Return the items that the call took out."""
    if call.pending or call.f == "enqueue" or call.result is None:
        return ()
    return call.result if call.f == "drain" else (call.result,)


def _item(value: Any) -> str:
    return shown(thaw(value))


def decide_ids(calls: Sequence[Call], limits: Limits) -> EngineResult:
    """Decide whether all identifiers are unique.

    A violation is an identifier that was returned more than once, shown by the first two operations that did.
    """
    given: defaultdict[Any, list[Call]] = defaultdict(list)
    for call in limits.paced(calls, IDS):
        if not call.pending:
            given[call.result].append(call)
    twice = [sorted(calls, key=lambda call: call.ret)[:2] for calls in given.values() if len(calls) > 1]
    if not twice:
        done = (call for call in calls if not call.pending)
        return EngineResult("valid", IDS, order=sorted(done, key=lambda call: call.invoke))
    twice.sort(key=lambda pair: pair[1].ret)
    cores = tuple(tuple(sorted(pair, key=lambda call: call.invoke)) for pair in twice[:MAX_COUNTEREXAMPLES])
    return EngineResult("invalid", IDS, cores=cores, violations=len(twice), last=twice[0][1].ret, kind="duplicate")


def explain_ids(core: Sequence[Call], scene: Scene, result: EngineResult) -> Counterexample:  # noqa: ARG001
    """Explain that an identifier was returned twice."""
    words = CoreWords(core, scene)
    text = ", and ".join(words.by(call, f"was given {_item(call.result)}") for call in words.core)
    return words.example("duplicate", f"{text}: an identifier that was returned before is not unique.", words.core[-1])


QUEUES_WITHOUT_ORDER: Final = Engine(
    "bag", BAG, "queues without an order; if one was found empty, only with drains or calls in doubt",
    "O(n log n)",
    lambda model, calls: is_bag(model) and (not _finds_empty(model, calls) or takes_over_time(calls)),
    lambda calls, model, limits, _proof: decide_bag(calls, model, limits),
    explain_bag, finds_all=True,
)  # fmt: skip
UNIQUE_IDS: Final = Engine(
    "ids", IDS, "identifiers that must be unique", "O(n)",
    lambda model, _calls: type(model) is UniqueIds, lambda calls, _model, limits, _proof: decide_ids(calls, limits),
    explain_ids, finds_all=True,
)  # fmt: skip
