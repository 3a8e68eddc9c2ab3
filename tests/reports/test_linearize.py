"""The linearization points of a counterexample against brute force over all orders, and their picture."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, permutations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from checker import ANY, CasRegister, Log
from history import Counterexample, Operation
from history.records.verdicts import Linearization, Point
from reports.analysis.counterexample import LEFT, RIGHT, TICK, WIDTH, Picture, label_of, picture_of
from reports.analysis.responder import missed_write
from reports.analysis.rows import LAST, MAX_ROWS
from reports.text import text_diagram
from tests.support.checker.counterexamples import placed
from tests.support.draws import draws

MODEL = CasRegister()


def operation(f: str, value: Any, invoked: int, returned: int, outcome: str = "ok", process: int = 0) -> Operation:
    asked = None if f == "read" else value
    result = value if f == "read" and outcome == "ok" else None
    return Operation(process, f, "k", asked, result, outcome, invoked, returned, invoked, returned, "n1")  # type: ignore[arg-type]


STALE = (
    operation("write", 1, 0, 10),
    operation("write", 2, 20, 30, process=1),
    operation("read", 2, 40, 50, process=2),
    operation("read", 1, 60, 70, process=3),
)


def explained(operations: Sequence[Operation]) -> Counterexample:
    """The operations as a counterexample of a register with linearization points; they get distinct places."""
    moments = sorted(
        {(o.invoked, 1, place) for place, o in enumerate(operations)}
        | {(o.returned or 0, 0 if (o.returned or 0) > o.invoked else 2, place) for place, o in enumerate(operations)}
    )
    ranks = {(place, what == 1): rank for rank, (_, what, place) in enumerate(moments)}
    ranked = (
        replace(o, invoke_index=ranks[place, True], return_index=ranks[place, False])
        for place, o in enumerate(operations)
    )
    return placed(Counterexample("kind", "sentence", tuple(ranked)), MODEL)


def test_the_stale_read_is_the_culprit_and_what_it_could_have_read_is_reported() -> None:
    example = explained(STALE)
    found = example.linearization
    assert found is not None
    assert found.suspects == (3,)
    assert example.suspects == (example.operations[3],)
    assert found.legal == (2,)
    assert [point.state for point in found.points] == [1, 2, 2]
    assert Counterexample.from_json(json.loads(json.dumps(example.to_json()))) == example


def test_of_two_reads_that_contradict_each_other_both_are_suspects_and_neither_has_a_point() -> None:
    overlap = (operation("write", 41, 0, 20), operation("write", 44, 10, 30, process=1))
    example = explained((*overlap, operation("read", 41, 40, 50, process=2), operation("read", 44, 60, 70, process=3)))
    found = example.linearization
    assert found is not None
    assert [suspect.result for suspect in example.suspects] == [41, 44]
    assert [example.operations[point.operation].f for point in found.points] == ["write", "write"]
    assert found.legal == ()


def test_the_read_of_a_value_that_was_not_written_is_the_culprit() -> None:
    """Unless the register may have held anything at the start; but then not twice."""
    one = (operation("read", 7, 0, 10), operation("write", 1, 20, 30))
    assert explained(one).suspects[0].result == 7
    anywhere = placed(Counterexample("kind", "sentence", one), CasRegister(ANY)).linearization
    assert anywhere is not None
    assert (anywhere.initial, anywhere.suspects) == (7, ())
    again = placed(Counterexample("kind", "sentence", (*one, operation("read", 7, 40, 50))), CasRegister(ANY))
    assert again.suspects == (operation("read", 7, 40, 50),)


def refused(old: int, new: int, seen: int | None, invoked: int, returned: int) -> Operation:
    asked, answered = [old, new], [old, new, seen]
    return Operation(4, "cas", "k", asked, answered, "ok", invoked, returned, invoked, returned, "n1")


def test_a_refused_cas_has_seen_a_value_and_changed_nothing() -> None:
    (culprit,) = explained((*STALE[:3], refused(3, 4, 1, 60, 70))).suspects
    assert (culprit.f, label_of(culprit)) == ("cas", "cas 3 → 4 refused by 1")
    fitting = explained((*STALE[:3], refused(3, 4, 2, 60, 70))).linearization
    assert fitting is not None
    assert (fitting.suspects, [point.state for point in fitting.points]) == ((), [1, 2, 2, 2])
    assert explained((operation("write", 3, 0, 1), refused(3, 4, 3, 2, 3))).suspects[0].f == "cas"
    assert missed_write((*STALE[:3], culprit), culprit) == STALE[1]
    assert missed_write((*STALE[:3], refused(3, 4, 1, 60, 70), STALE[3]), STALE[3]) == STALE[1]


def test_too_many_operations_and_other_objects_are_not_explained() -> None:
    assert explained([operation("write", n, n, n + 1) for n in range(10)]).linearization is None
    log = Counterexample("kind", "sentence", (replace(operation("append", 1, 0, 1), result=0),))
    assert placed(log, Log()) == log


drawn = st.builds(
    lambda f, value, start, length, outcome: operation(f, value, start, start + length, outcome),
    st.sampled_from(["read", "write"]),
    st.integers(1, 3),
    st.integers(0, 12),
    st.integers(1, 8),
    st.sampled_from(["ok", "ok", "ok", "info"]),
)


@settings(max_examples=draws(60, 500))
@given(st.lists(drawn, min_size=1, max_size=5))
def test_agrees_with_brute_force(operations: list[Operation]) -> None:
    example = explained(operations)
    found = example.linearization
    possible = any(fits(list(order), None) for order in orders(example.operations))
    assert possible == (found is not None and not found.suspects)
    if found is not None:
        times = [point.at for point in found.points]
        assert times == sorted(times)
        assert fits([example.operations[point.operation] for point in found.points], None)
        for point in found.points:
            placed = example.operations[point.operation]
            assert placed.invoked <= point.at
            assert placed.outcome == "info" or point.at <= (placed.returned or 0)


def orders(operations: Sequence[Operation]) -> list[tuple[Operation, ...]]:
    """Every order of every subset that leaves out nothing but info operations."""
    sure = [o for o in operations if o.outcome == "ok"]
    maybe = [o for o in operations if o.outcome != "ok"]
    subsets = [[m for place, m in enumerate(maybe) if bits >> place & 1] for bits in range(1 << len(maybe))]
    return [order for subset in subsets for order in permutations([*sure, *subset])]


def fits(order: list[Operation], state: Any) -> bool:
    for place, current in enumerate(order):
        rank = current.invoke_index
        if any(later.outcome == "ok" and (later.return_index or 0) < rank for later in order[place + 1 :]):
            return False
        if current.f == "read" and current.outcome == "ok" and current.result != state:
            return False
        state = current.value if current.f == "write" else state
    return True


@settings(max_examples=draws(25, 300))
@given(st.lists(drawn, min_size=1, max_size=8))
def test_every_counterexample_can_be_drawn(operations: list[Operation]) -> None:
    picture = picture_of(explained(operations))
    assert picture is not None
    assert len(picture.boxes) == len(operations)
    for box in picture.boxes:
        assert LEFT - 1 <= box.x <= WIDTH - RIGHT + 1
        assert box.x + box.width <= WIDTH - RIGHT + 5
    starts = [box.x for box in picture.boxes]
    assert starts == sorted(starts)
    places = [tick.x for tick in picture.ticks]
    assert all(b - a > TICK for a, b in pairwise(places))
    assert round(places[-1]) == round(WIDTH - RIGHT)


def test_a_long_pause_is_folded_and_says_how_long_it_was() -> None:
    second = 10**9
    example = Counterexample(
        "k", "s", (operation("write", 1, 0, 10**6), operation("read", 2, 5 * second, 5 * second + 10**6))
    )
    picture = picture_of(example)
    assert picture is not None
    (fold,) = picture.folds
    assert fold.text == "5 s"
    assert picture_of(Counterexample("k", "s", ())) is None


def test_the_axis_has_round_times_between_its_ends_wherever_there_is_room() -> None:
    """A picture of four seconds without a fold had a time at either end and none between."""
    ms = 10**6
    rows = [operation("read", n, (24_962 + 1000 * n) * ms, (25_500 + 1000 * n) * ms) for n in range(4)]
    rows.append(operation("write", 9, 24_970 * ms, 29_175 * ms, process=9))
    picture = picture_of(Counterexample("k", "s", tuple(sorted(rows, key=lambda one: one.invoked))))
    assert picture is not None
    assert not picture.folds
    assert [tick.text for tick in picture.ticks] == ["24.962", "26.000", "27.000", "28.000", "29.175"]
    middle = LEFT + (WIDTH - LEFT - RIGHT) * (27_000 - 24_962) / (29_175 - 24_962)
    assert abs(picture.ticks[2].x - middle) < 1


def long_one(many: int) -> Counterexample:
    """Writes one after the other, and a read of the first that began with them and ended after all."""
    writes = [operation("write", n, 100 * n, 100 * n + 50, process=n % 5) for n in range(many - 1)]
    stale = operation("read", 0, 100 * (many - 2) + 60, 100 * many, process=9)
    points = tuple(Point(place, one.invoked + 10, one.value) for place, one in enumerate(writes))
    return Counterexample("stale-read", "s", (*writes, stale), linearization=Linearization(None, points, (many - 1,)))


def drawn_with_calls(example: Counterexample) -> tuple[Picture, int]:
    """The picture, and how many functions were entered to draw it."""
    calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        picture = picture_of(example)
    finally:
        sys.setprofile(before)
    assert picture is not None
    return picture, calls


def test_of_many_operations_the_last_are_drawn_in_time_that_grows_as_they_do() -> None:
    small, few = drawn_with_calls(long_one(400))
    large, many = drawn_with_calls(long_one(1600))
    assert len(small.boxes) == len(large.boxes) == LAST
    assert many < 5 * few
    assert large.left_out_text == "1,584 earlier operations not drawn"
    assert [box.culprit for box in large.boxes] == [False] * (LAST - 1) + [True]
    assert [box.label for box in large.boxes[:2]] == ["write 1584", "write 1585"]
    assert large.states[0].text == "1583"
    assert large.states[0].x == LEFT
    assert len(large.states) == LAST
    assert text_diagram.draw(long_one(1600)).startswith("1,584 earlier operations not drawn\n")


def test_as_many_as_fit_are_all_drawn_and_none_is_said_to_be_left_out() -> None:
    picture, _ = drawn_with_calls(long_one(MAX_ROWS))
    assert len(picture.boxes) == MAX_ROWS
    assert picture.left_out_text == ""


def test_a_suspect_is_drawn_however_early_it_was() -> None:
    example = long_one(100)
    assert example.linearization is not None
    early = replace(example, linearization=replace(example.linearization, suspects=(3,)))
    picture = picture_of(early)
    assert picture is not None
    assert [box.label for box in picture.boxes if box.culprit] == ["write 3"]
    assert len(picture.boxes) == LAST
