"""The explanation of a counterexample against brute force over all orders."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from history import Counterexample, Operation
from reports.analysis.counterexample import LEFT, RIGHT, TICK, WIDTH, label_of, picture_of
from reports.analysis.linearize import IMPOSSIBLE, explain, step
from reports.analysis.responder import missed_write


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


def test_the_stale_read_is_the_culprit_and_what_it_could_have_read_is_told() -> None:
    found = explain(STALE)
    assert found is not None
    assert found.culprit is STALE[3]
    assert found.legal == (2,)
    assert [point.state for point in found.points] == [1, 2, 2]


def test_of_two_reads_that_contradict_each_other_both_are_suspects_and_neither_has_a_point() -> None:
    overlap = (operation("write", 41, 0, 20), operation("write", 44, 10, 30, process=1))
    found = explain((*overlap, operation("read", 41, 40, 50, process=2), operation("read", 44, 60, 70, process=3)))
    assert found is not None
    assert [suspect.result for suspect in found.suspects] == [41, 44]
    assert [point.operation.f for point in found.points] == ["write", "write"]
    assert found.legal == ()
    one = explain(STALE)
    assert one is not None
    assert one.suspects == (STALE[3],)


def test_a_phantom_value_may_be_the_initial_one_but_not_twice() -> None:
    one = (operation("read", 7, 0, 10), operation("write", 1, 20, 30))
    found = explain(one)
    assert found is not None
    assert (found.initial, found.culprit) == (7, None)
    again = explain((*one, operation("read", 7, 40, 50)))
    assert again is not None
    assert again.culprit is not None


def refused(old: int, new: int, seen: int | None, invoked: int, returned: int) -> Operation:
    asked, told = [old, new], [old, new, seen]
    return Operation(4, "cas", "k", asked, told, "ok", invoked, returned, invoked, returned, "n1")


def test_a_refused_cas_has_seen_a_value_and_changed_nothing() -> None:
    found = explain((*STALE[:3], refused(3, 4, 1, 60, 70)))
    assert found is not None
    assert found.culprit is not None
    assert (found.culprit.f, label_of(found.culprit)) == ("cas", "cas 3 → 4 refused by 1")
    assert (step(refused(3, 4, 1, 0, 1), 1), step(refused(3, 4, 1, 0, 1), 2)) == (1, IMPOSSIBLE)
    assert step(refused(3, 4, 3, 0, 1), 3) is IMPOSSIBLE
    assert missed_write((*STALE[:3], found.culprit), found.culprit) == STALE[1]
    assert missed_write((*STALE[:3], refused(3, 4, 1, 60, 70), STALE[3]), STALE[3]) == STALE[1]


def test_too_many_or_unknown_operations_are_not_explained() -> None:
    assert explain([operation("write", n, n, n + 1) for n in range(10)]) is None
    assert explain([operation("append", 1, 0, 1)]) is None


drawn = st.builds(
    lambda f, value, start, length, outcome: operation(f, value, start, start + length, outcome),
    st.sampled_from(["read", "write"]),
    st.integers(1, 3),
    st.integers(0, 12),
    st.integers(1, 8),
    st.sampled_from(["ok", "ok", "ok", "info"]),
)


@settings(max_examples=150)
@given(st.lists(drawn, min_size=1, max_size=5))
def test_agrees_with_brute_force(operations: list[Operation]) -> None:
    found = explain(operations)
    possible = any(fits(list(order), initial) for initial in (None, 1, 2, 3) for order in orders(operations))
    if possible != (found is not None and found.culprit is None):
        seen = {o.result for o in operations if o.f == "read" and o.outcome == "ok"}
        written = {o.value for o in operations if o.f == "write"}
        assert possible
        assert seen & written, "only an initial value that is also written may be passed over"
    if found is not None:
        times = [point.time for point in found.points]
        assert times == sorted(times)
        for point in found.points:
            assert point.operation.invoked <= point.time
            assert point.operation.outcome == "info" or point.time <= (point.operation.returned or 0)


def orders(operations: list[Operation]) -> list[tuple[Operation, ...]]:
    """Every order of every subset that leaves out nothing but info operations."""
    sure = [o for o in operations if o.outcome == "ok"]
    maybe = [o for o in operations if o.outcome != "ok"]
    subsets = [[m for place, m in enumerate(maybe) if bits >> place & 1] for bits in range(1 << len(maybe))]
    return [order for subset in subsets for order in permutations([*sure, *subset])]


def fits(order: list[Operation], state: Any) -> bool:
    for place, current in enumerate(order):
        if any(later.outcome == "ok" and (later.returned or 0) <= current.invoked for later in order[place + 1 :]):
            return False
        state = step(current, state)
        if state is IMPOSSIBLE:
            return False
    return True


@settings(max_examples=60)
@given(st.lists(drawn, min_size=1, max_size=8))
def test_every_counterexample_can_be_drawn(operations: list[Operation]) -> None:
    picture = picture_of(Counterexample("kind", "sentence", tuple(operations)))
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
