"""Pairing: every invocation meets its own completion, and what does not pair is refused by its index."""

from __future__ import annotations

from typing import Any

import pytest

from history import Event, FormatError, Operation, pair
from history.records.events import Type


def invoke(index: int, process: int, f: str = "write", key: str = "k0", value: object = 1) -> Event:
    return Event(index, index * 10, "invoke", process, f, value, key, "n1", None, "main")


def complete(index: int, process: int, type_: Type, f: str = "write", key: str = "k0", **more: Any) -> Event:
    return Event(index, index * 10, type_, process, f, key=key, **{"value": None, "phase": "final", **more})


def test_an_operation_holds_both_ends() -> None:
    events = [invoke(0, 4, "read", value=None), complete(1, 4, "ok", "read", value=9, node="n2")]
    assert pair(events) == [
        Operation(4, "read", "k0", None, 9, "ok", 0, 10, 0, 1, node="n2", error=None, phase="main"),
    ]


def test_the_value_is_what_was_asked_and_the_result_only_of_an_ok() -> None:
    outcomes: dict[Type, int | None] = {"ok": 1, "fail": None, "info": None}
    for outcome, result in outcomes.items():
        (operation,) = pair([invoke(0, 0), complete(1, 0, outcome, value=1, error="E" if result is None else None)])
        assert (operation.outcome, operation.value, operation.result) == (outcome, 1, result)


def test_what_never_completed_is_info_without_a_return() -> None:
    (operation,) = pair([invoke(0, 0)])
    assert (operation.outcome, operation.returned, operation.return_index, operation.node) == ("info", None, None, "n1")
    assert operation.end_index == float("inf")


def test_operations_stand_in_the_order_of_their_invocations() -> None:
    events = [invoke(0, 0), invoke(1, 1), invoke(2, 2), complete(3, 2, "ok"), complete(4, 0, "ok")]
    assert [operation.process for operation in pair(events)] == [0, 1, 2]


def test_the_nemesis_is_passed_over() -> None:
    kinds: list[Type] = ["invoke", "invoke", "ok"]
    nemesis = [Event(n, 0, kind, "nemesis", "kill", {"id": 0}) for n, kind in enumerate(kinds)]
    assert pair(nemesis) == []


@pytest.mark.parametrize(
    ("events", "place", "complaint"),
    [
        ([complete(0, 3, "ok")], "index 0", "process 3 completes an operation that it never invoked"),
        ([invoke(0, 3), complete(1, 3, "ok"), complete(2, 3, "ok")], "index 2", "never invoked"),
        ([invoke(0, 3), invoke(1, 3)], "index 1", "process 3 has an open operation, invoked at index 0"),
        ([invoke(0, 3), complete(1, 3, "ok", f="read")], "index 1", "completes read of 'k0', but write of 'k0'"),
        ([invoke(0, 3), complete(1, 3, "ok", key="k1")], "index 1", "completes write of 'k1', but write of 'k0'"),
        (
            [invoke(0, 3), complete(1, 3, "ok", value=2)],
            "index 1",
            "a write of 1 was invoked, but was completed as 2",
        ),
    ],
)
def test_what_does_not_pair_is_refused(events: list[Event], place: str, complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        pair(events, "some file")
    assert (caught.value.source, caught.value.place) == ("some file", place)
    assert complaint in caught.value.message


def test_a_process_goes_on_after_ok_and_fail() -> None:
    events = [invoke(0, 0), complete(1, 0, "ok"), invoke(2, 0), complete(3, 0, "fail"), invoke(4, 0)]
    assert [operation.outcome for operation in pair(events)] == ["ok", "fail", "info"]


def test_json_round_trip() -> None:
    operation = Operation(1, "cas", "k0", [None, 2], [None, 2], "ok", 1, 2, 0, 1, "n1", None, "main")
    assert Operation.from_json(operation.to_json()) == operation


@pytest.mark.parametrize(
    ("f", "asked", "answered", "fits"),
    [
        ("write", 1, 1, True), ("write", 1, None, True), ("write", 1, True, False), ("write", 1, 1.0, False),
        ("write", [1, 2], [1, 2], True), ("write", [1, 2], [1, 2, 3], False), ("write", None, 1, False),
        ("cas", [1, 2], [1, 2], True), ("cas", [1, 2], None, True), ("cas", [1, 2], [1, 2, 7], True),
        ("cas", [1, 2], [1, 2, None], True), ("cas", [1, 2], [1, 3], False), ("cas", [1, 2], [1, 3, 7], False),
        ("cas", [1, 2], [1, 2, 3, 4], False), ("cas", [1, 2], True, False), ("cas", [1, 2], 2, False),
        ("add", 1, 2, False), ("add", 1, 1, True), ("put", "x", "y", False), ("append", "x", "y", False),
        # An index, and what was not known when it was asked.
        ("append", 5, 0, True), ("append", "x", 0, True), ("read", None, 3, True), ("get", 0, 5, True),
        ("enqueue", 1, 2, True), ("dequeue", None, 2, True), ("acquire", None, 7, True),
        ("txn", [["r", 1, None]], [["r", 1, 5]], True),
    ],
)  # fmt: skip
def test_a_completion_repeats_what_was_asked(f: str, asked: object, answered: object, fits: bool) -> None:
    for type_ in ("ok", "fail", "info"):
        events = [invoke(0, 3, f, value=asked), complete(1, 3, type_, f, value=answered)]
        if fits or type_ != "ok":
            assert pair(events)[0].outcome == type_
        else:
            with pytest.raises(FormatError, match=f"a {f} of .* was invoked, but was completed as"):
                pair(events)


@pytest.mark.parametrize("intended", [None, -7])
def test_an_operation_comes_back_from_json(intended: int | None) -> None:
    operation = Operation(0, "read", "k", None, 1, "ok", 0, 1, 0, 1, "n1", None, "main", intended)
    assert ("intended" in operation.to_json()) == (intended is not None)
    assert Operation.from_json(operation.to_json()) == operation


def test_a_refusal_is_three_values_of_an_ok_cas() -> None:
    (refused,) = pair([invoke(0, 3, "cas", value=[1, 2]), complete(1, 3, "ok", "cas", value=[1, 2, None])])
    assert (refused.refused, refused.seen, refused.outcome) == (True, None, "ok")
    (swapped,) = pair([invoke(0, 3, "cas", value=[1, 2]), complete(1, 3, "ok", "cas", value=[1, 2])])
    (failed,) = pair([invoke(0, 3, "cas", value=[1, 2]), complete(1, 3, "fail", "cas", value=[1, 2, 5])])
    (read,) = pair([invoke(0, 3, "read", value=None), complete(1, 3, "ok", "read", value=[1, 2, 3])])
    assert not any(operation.refused for operation in (swapped, failed, read))
