"""Counterexamples of counters: small, contradictions with whatever else was added, and their numbers are true."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from random import Random

import pytest

from checker import Counter, check_operations
from checker.core.calls import calls_of
from checker.core.definition import linearizable
from checker.core.result import EngineResult, Limits
from checker.counterexamples import counters
from checker.counterexamples.counters import find_in_counter
from checker.engines.counter_sums import PartOfCounter, out_of_bounds, refute
from checker.search.compiled import compiled_search
from checker.search.jit import ENGINE
from history import Counterexample, Operation
from tests.support.checker.oracle_counters import Claims, counted, counter_history, ended, possible
from tests.support.draws import draws

NO_LIMITS = Limits(lambda: 0.0)
MAPPING = "the client's mapping of outcomes may be wrong"


def judged(samples: int, seed: int, most: int) -> Tally[str]:
    random, seen = Random(seed), Tally[str]()
    for _ in range(samples):
        history = counter_history(random, random.randint(1, most), lies=random.choice([0.1, 0.4]))
        verdict = check_operations(history, "counter")
        assert verdict.verdict == ("valid" if possible(history) else "invalid"), history
        seen[verdict.verdict] += 1
        completing = [Claims(example, history) for example in verdict.counterexamples]
        for claims in completing:
            seen[claims.example.kind] += 1
            claims.assert_sound()
            claims.assert_true()
        ends = [ended(claims.read) for claims in completing]
        assert ends == sorted(ends)
        assert (verdict.violations, verdict.reason) == (len(ends), None)
        answers = {claims.read.result for claims in completing}
        assert possible([o for o in history if o.f == "add" or o.result not in answers])
    return seen


def test_every_small_history_is_judged_and_reported_as_by_the_definition() -> None:
    seen = judged(samples := draws(1200, 2500), 1, 8)
    assert min(seen.values()) > samples / 250, seen
    assert len(seen) == 9


@pytest.mark.nightly
def test_a_hundred_thousand_small_histories() -> None:
    judged(100_000, 2, 9)


def only(history: Sequence[Operation]) -> Counterexample:
    """The one counterexample, which is sound and true."""
    verdict = check_operations(history, "counter")
    assert (verdict.verdict, verdict.violations, verdict.reason) == ("invalid", 1, None)
    (example,) = verdict.counterexamples
    Claims(example, history).assert_sound()
    Claims(example, history).assert_true()
    return example


def reported(history: Sequence[Operation], right: int) -> tuple[str, str, int]:
    """The kind, the sentence from "but" on, and the size; with another answer of the last read it is valid."""
    last = max((o for o in history if o.f == "read"), key=ended)
    good = [replace(last, result=right) if o is last else o for o in history]
    assert check_operations(good, "counter").verdict == "valid"
    example = only(history)
    return example.kind, example.sentence.split(", but ", 1)[1], len(example.operations)


def add(number: int, begun: int, end: int, outcome: str = "ok") -> Operation:
    return counted(begun, "add", number, begun, end, outcome)


def read(number: int, begun: int, end: int) -> Operation:
    return counted(begun, "read", number, begun, end)


def test_an_answer_that_misses_adds_is_shown_with_as_few_of_them_as_are_too_many() -> None:
    adds = [add(1, 2 * place, 2 * place + 1) for place in range(10)]
    history = [*adds, add(5, 20, 21), add(4, 22, 23), read(8, 24, 25)]
    why = "19 had been added to the counter before it began (9 by the 2 operations beside it)"
    assert reported(history, 19) == ("lost-write", f"{why}, and no read ever returned 19 or more: a lost add.", 3)
    seen = only([*history, read(19, 26, 27)])
    assert (seen.kind, len(seen.operations)) == ("stale-read", 3)
    turned = [replace(o, **{"value": -o.value} if o.f == "add" else {"result": -o.result}) for o in history]
    why = why.replace("added to", "subtracted from")
    assert reported(turned, -19) == ("lost-write", f"{why}, and no read ever returned -19 or less: a lost add.", 3)


def test_a_sum_that_went_back_is_shown_by_two_reads() -> None:
    adds = [add(1, place, 1000 + place) for place in range(12)]
    seen = "process 20 on n3 had read 12 (0.020–0.021 s) before that"
    why = f"{seen}, and nothing can have been subtracted from the counter since"
    history = [*adds, read(12, 20, 21), read(11, 22, 23)]
    assert reported(history, 12) == ("read-inversion", f"{why}: a read inversion.", 2)
    falling = [*history[:-1], add(-1, 13, 14), add(-1, 19, 1100), read(9, 22, 23)]
    falling[12] = read(11, 20, 21)
    why = why.replace("12 (", "11 (").replace("nothing", "at most 1")
    assert reported(falling, 10) == ("read-inversion", f"{why}: a read inversion.", 2)


def test_an_answer_that_misses_what_was_added_since_another_is_shown_with_both() -> None:
    slow = [add(7, 0, 100), add(8, 1, 101), add(3, 2, 3)]
    history = [*slow, read(10, 5, 6), add(2, 7, 8), add(4, 9, 10), read(12, 11, 12)]
    kind, why, size = reported(history, 16)
    assert (kind, size) == ("stale-read", 3)
    assert why == (
        "the counter was at least 16 then, because process 5 on n3 had read 10 (0.005–0.006 s), and 6 was added "
        "between the two (4 by the one operation beside it): a stale read."
    )


def test_where_the_counter_may_fall_what_can_have_been_taken_away_is_reported() -> None:
    history = [add(9, 0, 1), add(5, 2, 3), add(-4, 4, 20), add(-3, 5, 6), read(6, 7, 8)]
    kind, why, size = reported(history, 7)
    assert (kind, size) == ("stale-read", 3)
    assert why == (
        "the counter was at least 7 then, because 14 had been added before it began, and at most 7 can have been "
        "subtracted by its end: a stale read."
    )


@pytest.mark.parametrize(
    ("beside", "kind", "end"),
    [
        ([], "overcount", ", and no process ever requested that much."),
        ([add(1, 30, 31)], "overcount", ", and any more only later."),
        (
            [add(2, 4, 5, "fail")],
            "failed-write-read",
            f". Together with what was reported as failed it can be 9: an add took effect twice, or {MAPPING}.",
        ),
    ],
)
def test_an_answer_that_is_too_high_is_reported_by_what_there_can_be(
    beside: list[Operation], kind: str, end: str
) -> None:
    history = [add(5, 0, 1), add(2, 2, 40, "info"), *beside, read(8, 10, 11)]
    made_of = " (1 acknowledged add of 5 and 1 add of unknown outcome of 2)"
    assert reported(history, 7) == (kind, f"at most 7 can have been added to the counter by then{made_of}{end}", 1)
    nothing = only([read(-1, 10, 11)]).sentence
    assert "but nothing can have been subtracted from the counter by then" in nothing


def test_an_answer_that_no_part_of_the_adds_makes_is_shown_from_the_last_read_that_shows() -> None:
    early = [add(3, 4 * place, 4 * place + 1) for place in range(50)]
    early += [read(3 + 3 * place, 4 * place + 2, 4 * place + 3) for place in range(50)]
    history = [*early, add(5, 300, 330), add(4, 302, 332), read(150, 304, 305), read(157, 306, 307)]
    kind, why, size = reported(history, 155)
    assert (kind, size) == ("not-linearizable", 4)
    assert why == (
        "the counter can only have been 150 or 154 or 155 or 159 in that time, given the 3 operations beside it: no"
        " order of these operations explains that answer."
    )


@pytest.mark.parametrize("numbers", [(0.1, 0.2, 0.3), (1 << 70, 2 << 70, 4 << 70)])
def test_fractions_and_numbers_of_any_size(numbers: tuple[float, float, float]) -> None:
    one, two, wrong = numbers
    history = [add(one, 0, 1), read(one, 2, 3), add(two, 4, 5), read(wrong, 6, 7)]  # type: ignore[arg-type]
    verdict = check_operations(history, "counter")
    assert verdict.verdict == "invalid"
    (example,) = verdict.counterexamples
    assert set(example.operations) <= set(history)
    good = [*history[:-1], read(one + two, 6, 7)]  # type: ignore[arg-type]
    assert check_operations(good, "counter").verdict == "valid"


@pytest.mark.parametrize("answered", [1 << 31, 1 << 62, 1 << 70, -(1 << 31), -(1 << 62), -(1 << 70)])
def test_answers_that_no_column_holds_are_reported(answered: int) -> None:
    example = only([add(1, 0, 1), add(-2, 2, 3), read(-1, 4, 5), read(answered, 6, 7)])
    assert (example.kind, len(example.operations)) == ("overcount" if answered > 0 else "undercount", 1)


def test_a_stuck_replica_is_one_violation() -> None:
    history = [add(1, 0, 1), add(1, 2, 3)]
    stuck = [read(1, 4 + 2 * place, 5 + 2 * place) for place in range(1000)]
    verdict = check_operations([*history, *stuck], "counter")
    assert (verdict.violations, len(verdict.counterexamples), verdict.reason) == (1, 1, None)
    assert len(verdict.counterexamples[0].operations) == 3


def odd_answers(times: int) -> list[Operation]:
    """Adds of 10, and while each is open a read that saw half of it."""
    tens = [add(10, 10 * place, 10 * place + 9) for place in range(times)]
    return [*tens, *(read(10 * place + 5, 10 * place + 3, 10 * place + 4) for place in range(times))]


def test_of_very_many_violations_the_first_ones_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = check_operations(odd_answers(8), "counter")
    assert (verdict.violations, len(verdict.counterexamples), verdict.reason) == (8, 8, None)
    verdict = check_operations(odd_answers(12), "counter")
    assert (verdict.violations, len(verdict.counterexamples), verdict.reason) == (12, 8, None)
    monkeypatch.setattr(counters, "MAX_EXPLAINED", 8)
    verdict = check_operations(odd_answers(12), "counter")
    assert (verdict.violations, len(verdict.counterexamples), verdict.more) == (8, 8, True)
    assert verdict.reason == "there may be more than the first 8 violations: the rest was not searched"
    beyond = check_operations([read(100 + place, 2 * place, 2 * place + 1) for place in range(12)], "counter")
    assert (beyond.violations, len(beyond.counterexamples), beyond.reason) == (12, 8, None)


def test_where_time_runs_out_a_counterexample_may_not_be_minimal() -> None:
    reads = [read(10 * place, 100 + 2 * place, 101 + 2 * place) for place in range(30)]
    history = [*(add(10, place, 1000 + place) for place in range(30)), *reads[:-1], read(285, 300, 301)]
    calls, looks = calls_of(history, Counter()), count()
    answer = EngineResult("invalid", ENGINE, last=301)
    found = find_in_counter(answer, calls, Limits(lambda: next(looks) / 10, deadline=0.5))
    assert found.count == 1
    assert "may not be minimal" in str(found.note)
    assert find_in_counter(answer, calls, NO_LIMITS).note is None


def test_bounds_are_the_same_by_calls_and_by_columns() -> None:
    """And they are what the definition says of each read, and the reads before it that are not out of bounds."""
    random, seen = Random(4), Tally[bool]()
    for _ in range(samples := draws(500, 1500)):
        history = counter_history(random, random.randint(1, 14), lies=random.choice([0.0, 0.1, 0.4]))
        calls = calls_of(history, Counter())
        wrong = {call.source for call, _ in out_of_bounds(calls)}
        first, columns = refute(calls), compiled_search(calls, Counter(), NO_LIMITS)
        assert (first is not None) == bool(wrong)
        assert columns is not None
        if first is not None and max(abs(o.value or 0) for o in history) < 1 << 30:
            assert (columns.verdict, columns.last, len(columns.states)) == ("invalid", first.last, 1)
        seen[bool(wrong)] += 1
    assert min(seen.values()) > samples / 15


def test_a_part_of_a_counter_may_have_moved_by_others() -> None:
    some = calls_of([read(5, 0, 1), add(2, 2, 3), read(6, 4, 5), read(9, 6, 7)], Counter())
    assert not linearizable(some, PartOfCounter())
    assert not linearizable(some, PartOfCounter(None, 3, 0))
    assert not linearizable(some, PartOfCounter(None, 2, 1))
    assert linearizable(some, PartOfCounter(None, 3, 1))
    assert not linearizable(some, PartOfCounter(0, 3, 1))
    assert linearizable(some, PartOfCounter(0, 8, 1))


@pytest.mark.parametrize("clients", [3, 30])
@pytest.mark.parametrize("amounts", [(1, 2, 3), pytest.param((-2, -1), marks=pytest.mark.slow), (5, -3, 2)])
def test_one_lie_in_a_long_history_is_shown_by_few_operations(clients: int, amounts: tuple[int, ...]) -> None:
    history = counter_history(Random(1), 600, lies=0, amounts=amounts, width=clients / 2, doubt=0)
    place = next(place for place in range(400, 600) if history[place].f == "read")
    for lie in (-400, 400):
        wrong = [*history]
        wrong[place] = replace(wrong[place], result=wrong[place].result + lie)
        example = only(wrong)
        assert Claims(example, wrong).read is wrong[place]
        assert len(example.operations) <= 2


def test_of_many_operations_too_the_possible_answers_are_reported_as_ranges() -> None:
    doubt = [add(number, 2 * place, 1000 + place, "info") for place, number in enumerate((1, 1, 3, 10, 10, 10, 30, 50))]
    history = [*doubt, add(100, 40, 41), read(102, 50, 51), read(108, 60, 61)]
    verdict = check_operations(history, "counter")
    (example,) = verdict.counterexamples
    assert (example.kind, len(example.operations) > 8) == ("not-linearizable", True)
    assert "can only have been 102 to 107 or 112 to 117 or 122 to 127" in example.sentence
    assert " or others in that time" in example.sentence
    assert example.suspects == (history[-1],)
    assert example.linearization is not None
    assert 108 not in example.linearization.legal
    steps = [add(1, 2 * place, 1000 + place, "info") for place in range(9)]
    (example,) = check_operations([*steps, add(20, 40, 41), read(31, 50, 51)], "counter").counterexamples
    assert "an add took effect twice" not in example.sentence
    known = [read(20, 42, 43), add(100, 44, 2000, "info"), read(31, 50, 51)]
    (example,) = check_operations([*steps, add(20, 40, 41), *known], "counter").counterexamples
    assert "can only have been 20 to 29 or 120 to 129 in that time" in example.sentence


def test_a_difference_that_is_rounded_to_none_is_one() -> None:
    """Once no verdict came of it: 2^53 + 1 is not 2^53, though as fractions they cannot be distinguished."""
    big = 1 << 53
    history = [
        Operation(1, "add", "c", 1, None, "ok", 0, 1, 0, 1), Operation(2, "read", "c", None, 1, "ok", 2, 3, 2, 3),
        Operation(3, "add", "c", big, None, "ok", 4, 5, 4, 5),
        Operation(4, "read", "c", None, float(big), "ok", 6, 7, 6, 7),
    ]  # fmt: skip
    assert check_operations(history, "counter").verdict == "invalid"


def test_sums_that_are_equal_are_the_same_sum() -> None:
    """Once a valid history was invalid: 2^53 + 2 as a fraction and as an integer were one state, and behaved as two."""
    big = 1 << 53

    def add(value: float, begun: int, ended: int | None) -> Operation:
        outcome = "info" if ended is None else "ok"
        return Operation(begun, "add", "c", value, None, outcome, begun, ended, begun, ended)  # type: ignore[arg-type]

    def read(result: float, begun: int, ended: int) -> Operation:
        return Operation(begun, "read", "c", None, result, "ok", begun, ended, begun, ended)

    def judged(history: list[Operation]) -> set[str]:
        engines = (None, "search", "python-search", "wgl")
        return {check_operations(history, "counter", engine=engine).verdict for engine in engines}

    adds = [add(1, 0, 3), add(1.5, 1, 9), add(big, 2, 5), add(1, 6, None)]
    assert judged([*adds, read(float(big + 2), 10, 12), read(float(big + 2), 13, 14)]) == {"valid"}
    assert judged([*adds, read(float(big + 2), 10, 12), read(big + 3, 13, 14)]) == {"valid"}
    assert judged([*adds, read(float(big + 2), 10, 12), read(big + 4, 13, 14)]) == {"invalid"}


@pytest.mark.parametrize("engine", [None, "search", "python-search", "wgl"])
def test_numbers_that_are_equal_add_the_same(engine: str | None) -> None:
    """Once a valid history was invalid: 1 and 1.0 were adds that are alike, and beyond 2^53 one of them was lost."""
    big = 1 << 53
    history = [
        Operation(0, "add", "c", big, None, "ok", 0, 4, 0, 4), Operation(1, "add", "c", 1, None, "ok", 1, 6, 1, 6),
        Operation(2, "add", "c", 1.0, None, "ok", 2, 5, 2, 5), Operation(3, "read", "c", None, big, "ok", 3, 7, 3, 7),
    ]  # fmt: skip
    for seen, verdict in ((big, "invalid"), (big + 2, "valid")):
        last = Operation(4, "read", "c", None, seen, "ok", 8, 9, 8, 9)
        assert check_operations([*history, last], "counter", engine=engine).verdict == verdict
