"""Queues whose items are enqueued once each: the sweep against the definition, and what its counterexamples say."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from random import Random
from typing import Any

import pytest

from checker import ModelError, check_operations
from checker.core.calls import Call, calls_of
from checker.core.definition import is_linearization, linearizable
from checker.core.result import EngineResult, Limits
from checker.dispatch import decide
from checker.engines.queue_columns import QueueColumns, columns_of, columns_of_operations
from checker.engines.queues import ENGINE, decide_by_queue_sweep
from checker.models.objects import FifoQueue
from history import Counterexample, Operation
from history.codes import NEVER
from tests.support.checker.counterexamples import SPAN, as_counted
from tests.support.checker.deadlines import Clock, queue_operation
from tests.support.checker.oracle_queues import operation, random_queue, served
from tests.support.draws import draws

NO_LIMITS = Limits(lambda: 0.0)
QUEUE = FifoQueue()


def wrong(calls: Sequence[Call]) -> bool:
    return not linearizable(calls, QUEUE)


def judge_random(random: Random) -> list[str]:
    """One history by the sweep and by the definition; answers what it was."""
    history = random_queue(random)
    calls = calls_of(history, QUEUE)
    answer = decide_by_queue_sweep(calls, NO_LIMITS)
    assert answer is not None
    assert answer.verdict == ("invalid" if wrong(calls) else "valid"), history
    for found in (columns(calls), columns_of_operations(history)):
        assert found is not None
        assert (found.size, found.nothing_wrong()) == (len(calls), answer.verdict == "valid"), history
    assert decide(calls, QUEUE, NO_LIMITS, proof=False).verdict == answer.verdict, history
    if answer.verdict == "valid":
        assert answer.order is not None
        assert is_linearization(answer.order, calls, QUEUE), history
        return ["valid"]
    assert len(answer.cores) == answer.violations, history
    for core in answer.cores:
        assert wrong(core), (history, core)
        assert wrong(with_what_may_explain(core, calls)), (history, core)
    assert not wrong(without_items_of(answer, calls)), history
    return tell(history, random)


def columns(calls: Sequence[Call]) -> QueueColumns:
    found = columns_of(*([call for call in calls if call.f == f] for f in ("enqueue", "dequeue")))
    assert found is not None
    return found


def with_what_may_explain(core: Sequence[Call], calls: Sequence[Call]) -> list[Call]:
    """The core, everything else that was done with its items, and all dequeues that may have taken them."""
    known = {call.source: call for call in core}
    items = {call.value for call in core if call.f == "enqueue"}
    beside = (call for call in calls if call.pending or call.value in items or call.result in items)
    known.update({call.source: call for call in beside if call.source not in known})
    return sorted(known.values(), key=lambda call: call.invoke)


def without_items_of(answer: EngineResult, calls: Sequence[Call]) -> list[Call]:
    """What is left when the items of all violations go; whose answer cannot be true may have taken anything."""
    involved = [call for core in answer.cores for call in core]
    items = {call.value for call in involved if call.f == "enqueue"} | {call.result for call in involved}
    items -= {None}
    empty = {call.source for call in involved if call.f == "dequeue" and call.result is None}
    taken: set[Any] = set()
    left = []
    for call in sorted(calls, key=lambda call: call.ret):
        if call.f == "dequeue" and call.result in items:
            begun = [other.invoke for other in calls if other.f == "enqueue" and other.value == call.result]
            if call.result not in taken and begun and begun[0] < call.ret:
                taken.add(call.result)
            else:
                left.append(call.made_pending())
        elif call.source not in empty and call.value not in items:
            left.append(call)
    return left


def tell(history: list[Operation], random: Random) -> list[str]:
    verdict = check_operations(history, "queue")
    assert (verdict.verdict, verdict.engine, verdict.reason) == ("invalid", ENGINE, None)
    assert verdict.violations == len(verdict.counterexamples) > 0
    ends = [max(one.return_index or 0 for one in example.operations) for example in verdict.counterexamples]
    assert ends == sorted(ends)
    for example in verdict.counterexamples:
        assert_true(example, history)
        if len(example.operations) <= 5 or random.random() < 0.2:
            assert not smaller(calls_of(as_counted(example).operations, QUEUE)), example
    return [example.kind for example in verdict.counterexamples]


def smaller(core: Sequence[Call]) -> list[Call]:
    """A part that is contradiction enough: any part of the core whose rest within it is wrong must be so itself.

    An enqueue stays as long as its item is dequeued: without it the item would be out of nowhere.
    """
    parts = [frozenset(part) for size in range(len(core) + 1) for part in combinations(core, size)]
    bad = {part: wrong(sorted(part, key=lambda call: call.invoke)) for part in parts}
    for part in parts[:-1]:
        gone = {call.value for call in core if call not in part and call.f == "enqueue"}
        starved = any(call.f == "dequeue" and call.result in gone for call in part)
        if bad[part] and not starved and all(bad[other] for other in parts if bad[other & part]):
            return list(part)
    return []


NEVER_DEQUEUED = re.compile(r"and (\S+) was never dequeued")
BEFORE_ANYBODY = re.compile(r"–(\S+) s\) before any process began to dequeue (\S+):")
IN_IT = re.compile(
    r"enqueued (\S+) \([^()]*\), which no process is known to have begun to dequeue before ([\d.]+|that)"
)


def assert_true(example: Counterexample, history: Sequence[Operation]) -> None:
    assert all(one in history for one in example.operations), example
    moments = {moment for one in example.operations for moment in (one.invoked, one.returned)}
    moments |= {one.invoked for one in history if example.kind == "failed-write-read"}
    reported = re.findall(r"(\d+\.\d{3,})", example.sentence)
    assert all(nanoseconds(text) in moments for text in reported), example
    for process, node, begun, ended in SPAN.findall(example.sentence):
        assert any(
            (str(one.process), one.node, one.invoked, one.returned)
            == (process, node, nanoseconds(begun), nanoseconds(ended))
            for one in example.operations
        ), example
    begun_at = {str(one.result): one.invoked for one in reversed(history) if (one.f, one.outcome) == ("dequeue", "ok")}
    for item in NEVER_DEQUEUED.findall(example.sentence):
        assert item not in begun_at, example
    for moment, item in BEFORE_ANYBODY.findall(example.sentence):
        assert begun_at[item] > nanoseconds(moment), example
    answered = [one for one in example.operations if (one.f, one.outcome) == ("dequeue", "ok")]
    end = max((one.returned or 0 for one in answered if one.result is None), default=0)
    for item, moment in IN_IT.findall(example.sentence):
        assert begun_at.get(item, end) >= (end if moment == "that" else nanoseconds(moment)), example
    if example.kind in ("never-written", "failed-write-read"):
        tried = {one.outcome for one in history if one.f == "enqueue" and one.value == answered[0].result}
        assert tried == ({"fail"} if example.kind == "failed-write-read" else set()), example
    if example.kind == "duplicate":
        assert len({one.result for one in answered}) < len(answered), example


def nanoseconds(text: str) -> int:
    return round(float(text) * 1e9)


@pytest.mark.slow
def test_random_histories() -> None:
    random, seen, samples = Random(1), Counter[str](), draws(3_000, 10_000)
    for _ in range(samples):
        seen.update(judge_random(random))
    least = {"valid": 6000, "lost-element": 600, "future-read": 400, "duplicate": 400, "stale-read": 300,
             "never-written": 200, "queue-order": 100, "failed-write-read": 5}  # fmt: skip
    assert all(seen[kind] > count * samples // 10_000 for kind, count in least.items()), seen
    assert seen.keys() == least.keys()


@pytest.mark.nightly
def test_a_million_random_histories() -> None:
    random = Random(2)
    for _ in range(1_000_000):
        judge_random(random)


@pytest.mark.slow
def test_mid_sized_histories_are_judged_as_by_the_search() -> None:
    random, seen = Random(3), Counter[str]()
    for _ in range(100):
        history = served(random, random.randint(15, 50), 3, truth=random.choice([0.9, 1.0]), doubt=0.03)
        calls = calls_of(history, QUEUE)
        searched = decide(calls, QUEUE, replace(NO_LIMITS, memory=1 << 22), engine="python-search", proof=False)
        swept = decide(calls, QUEUE, NO_LIMITS)
        assert searched.verdict in ("unknown", swept.verdict), history
        assert swept.order is None or is_linearization(swept.order, calls, QUEUE)
        seen[searched.verdict] += 1
    assert min(seen["valid"], seen["invalid"]) > 15, seen


History = list[Operation]


def dequeues(history: History) -> list[int]:
    """The places of dequeues that found something."""
    return [place for place, one in enumerate(history) if one.f == "dequeue" and one.result is not None]


def later_by_far(history: History, place: int) -> int:
    """A dequeue of what was enqueued after this one's item, and unknown when this one returned."""
    enqueued = {one.value: one for one in history if one.f == "enqueue"}
    early = history[place]
    return next(
        other
        for other in dequeues(history)
        if enqueued[history[other].result].invoke_index > (early.return_index or 0)
        and history[other].invoke_index > (enqueued[early.result].return_index or 0)
    )


def answering(history: History, place: int, item: object) -> History:
    return [*history[:place], replace(history[place], result=item), *history[place + 1 :]]


def lost(history: History, place: int) -> History:
    return [one for one in history if one is not history[place]]


def missed(history: History, place: int) -> History:
    return answering(history, place, None)


def again(history: History, place: int) -> History:
    return answering(history, later_by_far(history, place), history[place].result)


def too_early(history: History, place: int) -> History:
    return answering(history, place, history[later_by_far(history, place)].result)


def exchanged(history: History, _place: int) -> History:
    """Two dequeues in turn answer the items the other way round, both of which were in the queue."""
    ends = {one.value: (one.invoke_index, one.return_index or 0) for one in history if one.f == "enqueue"}
    for one, two in combinations(dequeues(history), 2):
        first, second = history[one], history[two]
        apart = ends[first.result][1] < ends[second.result][0] and (first.return_index or 0) < second.invoke_index
        if apart and ends[second.result][1] < first.invoke_index:
            return answering(answering(history, one, second.result), two, first.result)
    raise AssertionError("the queue was never long")


def out_of_nowhere(history: History, place: int) -> History:
    return answering(history, place, 10**6)


@pytest.mark.parametrize(
    ("spoil", "kinds"),
    [
        (lost, {"lost-element"}),
        (missed, {"lost-element"}),
        (again, {"duplicate"}),
        (too_early, {"future-read"}),
        (exchanged, {"queue-order"}),
        (out_of_nowhere, {"never-written"}),
    ],
)
def test_one_spoilt_answer_is_found(spoil: Callable[[History, int], History], kinds: set[str]) -> None:
    random, tried = Random(spoil.__name__), 0
    while tried < 12:
        history = served(random, 150, 5, enqueues=0.55)
        history.sort(key=lambda one: one.invoke_index)
        assert check_operations(history, "queue").verdict == "valid"
        place = dequeues(history)[10]
        enqueue = next(one for one in history if one.f == "enqueue" and one.value == history[place].result)
        if (enqueue.return_index or 0) > history[place].invoke_index:
            continue
        tried += 1
        verdict = check_operations(spoil(history, place), "queue")
        assert verdict.verdict == "invalid"
        assert verdict.counterexamples[0].kind in kinds
        assert len(verdict.counterexamples[0].operations) <= 3


E, D = "enqueue", "dequeue"


def reported(*rows: tuple[Any, ...]) -> list[tuple[str, str]]:
    """Kinds and sentences; a row is (process, function, item, invocation, return, outcome)."""
    history = [operation(*row) for row in rows]
    verdict = check_operations(history, "queue")
    for example in verdict.counterexamples:
        assert_true(example, history)
    return [(example.kind, example.sentence) for example in verdict.counterexamples]


def test_an_item_out_of_nowhere_and_one_that_was_refused() -> None:
    ((kind, sentence),) = reported((0, D, 9, 0, 1))
    assert kind == "never-written"
    assert sentence.endswith(", but no process ever enqueued 9 to the queue: an item out of nowhere.")
    ((kind, sentence),) = reported((0, E, 9, 0, 1, "fail"), (0, D, 9, 2, 3))
    assert kind == "failed-write-read"
    assert "the enqueue of 9 (process 0 on n0, at 0.000 s) was reported as failed" in sentence
    assert "the client's mapping of outcomes may be wrong" in sentence
    assert reported((0, E, 9, 0, None, "info"), (0, D, 9, 2, 3)) == []


def test_an_item_from_the_future() -> None:
    ((kind, sentence),) = reported((0, D, 9, 0, 1), (1, E, 9, 2, 3))
    assert kind == "future-read"
    assert sentence.endswith(
        "the only enqueue of 9 began later, by process 1 on n1 at 0.002 s: an item from the future."
    )
    assert reported((0, D, 9, 0, 2), (1, E, 9, 1, 3)) == []


def test_an_item_that_was_dequeued_twice() -> None:
    ((kind, sentence),) = reported((0, E, 9, 0, 1), (0, D, 9, 2, 3), (1, D, 9, 4, 5), (2, D, 9, 6, 7))
    assert kind == "duplicate"
    assert sentence == (
        "process 0 on n0 enqueued 9 once (0.000–0.001 s) on the queue, but it was dequeued more than once: process 0 "
        "on n0 dequeued 9 (0.002–0.003 s) and process 1 on n1 dequeued 9 (0.004–0.005 s)."
    )


OVERTAKEN = ((0, E, 1, 0, 1), (0, E, 2, 2, 3), (1, D, 2, 4, 6))


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ((2, D, 1, 5, 7), None),
        ((2, D, None, 5, None, "info"), None),
        ((2, D, None, 7, None, "info"), "lost-element"),
        ((2, D, 1, 7, 8), "queue-order"),
        ((2, E, 3, 7, 8), "lost-element"),
    ],
)
def test_an_item_that_is_overtaken(more: tuple[Any, ...], expected: str | None) -> None:
    assert [kind for kind, _ in reported(*OVERTAKEN, more)] == ([expected] if expected else [])


def test_an_overtaken_item_is_explained_by_what_became_of_it() -> None:
    start = (
        "On the queue, process 0 on n0 enqueued 1 (0.000–0.001 s), and process 0 on n0 enqueued 2 only after that "
        "(0.002–0.003 s), so 1 had to leave before 2. But process 1 on n1 dequeued 2 (0.004–0.006 s)"
    )
    assert reported(*OVERTAKEN)[0][1] == f"{start}, and 1 was never dequeued: it is lost, or was overtaken."
    ((_, sentence),) = reported(*OVERTAKEN, (2, D, 1, 7, 8))
    assert sentence == f"{start} before any process began to dequeue 1: 2 overtook 1."


def test_a_queue_that_was_found_empty_and_was_not() -> None:
    rows = ((0, E, 1, 0, 1), (1, D, None, 2, 4))
    assert [kind for kind, _ in reported(*rows)] == ["lost-element"]
    assert [kind for kind, _ in reported(*rows, (2, D, 1, 5, 6))] == ["stale-read"]
    assert reported(*rows, (2, D, 1, 3, 6)) == []
    assert reported(*rows, (2, D, None, 3, None, "info")) == []


def test_a_queue_in_which_there_was_always_one_item_or_another() -> None:
    rows = [(0, E, 1, 0, 1), (1, D, None, 2, 9), (2, E, 2, 3, 4), (3, D, 1, 5, 6), (3, D, 2, 10, 11)]
    ((kind, sentence),) = reported(*rows)
    assert kind == "stale-read"
    assert sentence == (
        "process 1 on n1 found the queue empty (0.002–0.009 s), but it was not empty at any moment of that time: "
        "process 0 on n0 enqueued 1 (0.000–0.001 s), and no process is known to have begun to dequeue it before 0.005 "
        "s; process 2 on n2 enqueued 2 (0.003–0.004 s), and no process is known to have begun to dequeue it before "
        "that answer."
    )
    assert reported(*rows[:-1], (3, D, 2, 8, 11)) == []
    assert reported(*rows[:2], (2, E, 2, 5, 6), (3, D, 1, 3, 4), (3, D, 2, 10, 11)) == []


def test_of_more_items_than_pending_dequeues_one_is_lost() -> None:
    rows = ((0, E, 1, 0, 1), (0, E, 2, 2, 3), (0, E, 3, 4, 5), (1, D, 3, 8, 9), (2, D, None, 3, None, "info"))
    ((kind, sentence),) = reported(*rows)
    assert kind == "lost-element"
    assert sentence.endswith(
        "so they had to leave before 3. But process 1 on n1 dequeued 3 (0.008–0.009 s). No process is known to have "
        "taken them. Only 1 dequeue without a reliable answer had begun by then, which may have taken one item: "
        "process 2 on n2 began to dequeue (from 0.003 s, never answered). One is missing."
    )
    assert reported(*rows, (3, D, None, 7, None, "info")) == []
    assert [kind for kind, _ in reported(*rows[:2], (1, D, None, 6, 7), rows[-1])] == ["stale-read"]


def test_of_many_items_only_some_are_reported() -> None:
    rows = [(0, E, item, 2 * item, 2 * item + 1) for item in range(7)]
    taking = [(1, D, None, 20 + item, None, "info") for item in range(6)]
    ((kind, sentence),) = reported(*rows, *taking, (0, E, 8, 40, 41), (2, D, 8, 42, 43))
    assert kind == "lost-element"
    assert (
        "process 0 on n0 enqueued 5 (0.010–0.011 s) and 1 more, and process 0 on n0 enqueued 8 only after" in sentence
    )
    assert "enqueued 6" not in sentence
    assert "Only 6 dequeues without a reliable answer had begun by then" in sentence
    assert "0 more" not in sentence
    assert reported(*rows, *taking, (1, D, None, 30, None, "info"), (0, E, 8, 40, 41), (2, D, 8, 42, 43)) == []


def test_an_enqueue_that_answers_its_item_takes_nothing_out() -> None:
    *enqueues, dequeue = [operation(*row) for row in OVERTAKEN]
    history = [*(replace(one, result=one.value) for one in enqueues), dequeue]
    (example,) = check_operations(history, "queue").counterexamples
    assert example.kind == "lost-element"


def test_a_lost_item_is_one_violation_whatever_is_dequeued_afterwards() -> None:
    pairs = [(0, f, n, 20 * n + place, 20 * n + place + 5) for n in range(2, 60) for place, f in ((0, E), (10, D))]
    assert [kind for kind, _ in reported((0, E, 1, 0, 1), *pairs)] == ["lost-element"]
    empty = [(0, D, None, 10 * n, 10 * n + 5) for n in range(1, 60)]
    assert [kind for kind, _ in reported((0, E, 1, 0, 1), *empty)] == ["lost-element"]


def test_all_violations_are_counted_and_the_earliest_are_reported() -> None:
    stories = [[(E, 1), (D, 1), (D, 1)], [(E, 1), (E, 2), (D, 2), (D, 1)], [(D, 3)]]
    rows = [(0, f, item + 10 * n, 100 * n + 2 * place, 100 * n + 2 * place + 1) for n in range(300)
            for place, (f, item) in enumerate(stories[n % 3])]  # fmt: skip
    verdict = check_operations([operation(*row) for row in rows], "queue")
    assert (verdict.violations, len(verdict.counterexamples), verdict.reason) == (300, 8, None)
    kinds = [example.kind for example in verdict.counterexamples]
    assert kinds == ["duplicate", "queue-order", "never-written"] * 2 + ["duplicate", "queue-order"]


#: Where one violation might be reported twice, or with more than it takes; P: a dequeue that was never answered.
TIGHT: dict[str, list[tuple[str, int | None, int, int]]] = {
    "two items were there": [("E", 1, 0, 1), ("E", 2, 2, 3), ("D", None, 4, 5)],
    "two answers rest on the same items": [
        ("E", 1, 0, 1), ("D", None, 2, 7), ("E", 2, 3, 5), ("D", None, 4, 8), ("D", 1, 6, 11), ("D", 2, 9, 10),
    ],
    "without the first item another one may have been taken sooner": [
        ("E", 1, 0, 1), ("E", 2, 2, 4), ("D", None, 3, 11), ("D", None, 5, 15), ("P", None, 6, 0), ("E", 3, 7, 8),
        ("D", None, 9, 17), ("E", 4, 10, 12), ("D", 2, 13, 14), ("P", None, 16, 0),
    ],
    "what stayed is enough": [
        ("E", 1, 0, 1), ("E", 2, 2, 3), ("D", None, 4, 9), ("E", 3, 5, 6), ("P", None, 7, 0), ("D", 2, 8, 10),
    ],
    "one of two pending dequeues is enough": [
        ("E", 1, 0, 1), ("E", 2, 2, 4), ("D", None, 3, 7), ("P", None, 5, 0), ("P", None, 6, 0), ("D", 2, 8, 9),
    ],
}  # fmt: skip


@pytest.mark.parametrize("where", TIGHT)
def test_violations_have_items_of_their_own_and_no_more_than_needed(where: str) -> None:
    history = [
        operation(place, E if f == "E" else D, item, begin, *((None, "info") if f == "P" else (end, "ok")))
        for place, (f, item, begin, end) in enumerate(TIGHT[where])
    ]
    verdict = check_operations(history, "queue")
    (example,) = verdict.counterexamples
    assert verdict.violations == 1
    assert not smaller(calls_of(example.operations, QUEUE))


@pytest.mark.parametrize("pending", [0, 1, 2, 3, 4])
def test_pending_dequeues_take_what_is_first(pending: int) -> None:
    for ends in permutations((3, 4, 5)):
        rows: list[tuple[Any, ...]] = [(place, E, place, place, end) for place, end in enumerate(ends)]
        rows += [(10 + place, D, None, 6 + place, None, "info") for place in range(pending)]
        verdict = check_operations([operation(*row) for row in rows], "queue")
        assert (verdict.verdict, verdict.certificate) == ("valid", 3 + min(pending, 3))


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([(0, E, 1, 0, 1), (0, D, 1, 2, 3), (0, E, 1, 4, 5), (0, D, 1, 6, 7)], id="enqueued twice"),
        pytest.param([(0, E, None, 0, 1), (0, D, None, 2, 3)], id="nothing is enqueued"),
    ],
)
def test_what_it_cannot_tell_goes_to_the_search(rows: list[tuple[Any, ...]]) -> None:
    history = [operation(*row) for row in rows]
    verdict = check_operations(history, "queue")
    assert (verdict.verdict, verdict.engine == ENGINE) == ("valid", False)
    with pytest.raises(ModelError, match="the engine queue cannot decide this history of a queue"):
        check_operations(history, "queue", engine="queue")


def test_what_is_not_equal_to_itself_is_never_what_was_enqueued() -> None:
    nan = math.nan
    history = [operation(0, E, nan, 0, 1), operation(0, D, nan, 2, 3)]  # type: ignore[arg-type]
    assert check_operations(history, "queue").verdict == "invalid"


LONG = [queue_operation(number) for number in range(100)]


@pytest.mark.parametrize("spoilt", [None, 99, 31])
def test_a_verdict_alone_needs_no_calls(spoilt: int | None) -> None:
    history = LONG if spoilt is None else answering(LONG, spoilt, 10**6)
    verdict = check_operations(history, "queue", proofs=False)
    proven = check_operations(history, "queue")
    assert verdict.verdict == proven.verdict == ("valid" if spoilt is None else "invalid")
    assert (verdict.engine, verdict.operations, verdict.violations) == (ENGINE, 100, int(spoilt is not None))
    assert check_operations(history, "queue", engine="queue").verdict == verdict.verdict
    late = check_operations(history, "queue", proofs=False, deadline_s=1.0, clock=Clock(1))
    assert (late.verdict, late.reason) == ("unknown", "the deadline passed: 0 of 100 operations examined")


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"value": 1.5}, id="equal to something of another type"),
        pytest.param({"value": True}, id="a truth"),
        pytest.param({"value": [1]}, id="a list"),
        pytest.param({"value": None}, id="nothing"),
        pytest.param({"value": 2}, id="enqueued twice"),
        pytest.param({"f": "peek"}, id="no operation of a queue"),
        pytest.param({"return_index": None}, id="answered without a place"),
        pytest.param({"return_index": 0}, id="answered before it was asked"),
        pytest.param({"return_index": 1 << 63}, id="a place beyond all"),
    ],
)
def test_what_is_odd_is_made_calls_of(odd: dict[str, Any]) -> None:
    assert columns_of_operations(LONG[:2]) is not None
    assert columns_of_operations([replace(LONG[0], **odd), *LONG[1:]]) is None


def test_what_was_found_before_the_deadline_is_reported() -> None:
    calls = calls_of([queue_operation(number) for number in range(9000)], QUEUE)
    stray = Call(D, None, -1, 100_000, 100_001, len(calls))
    for looks, verdict in ((3, "unknown"), (5, "invalid")):
        answer = decide([*calls, stray], QUEUE, Limits(Clock(looks), 1.0))
        assert answer.verdict == verdict, looks
        assert "the deadline passed" in str(answer.reason)
    assert answer.cores == ((stray,),)
    assert answer.reason == "the deadline passed: there may be more violations"
    assert decide([*calls, stray], QUEUE, NO_LIMITS).reason is None
    assert NEVER not in {call.ret for call in calls}
