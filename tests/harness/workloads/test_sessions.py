"""Sessions: each sees its own writes and never goes back; what is not a peek is linearizable."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from harness.workloads import sessions_check
from history import Counterexample, Operation
from history.records.operations import NEW_SESSION
from tests.support.draws import draws


def operation(index: int, process: int, f: str, value: Any, result: Any = None, outcome: str = "ok") -> Operation:
    return Operation(
        process, f, "k0", value, result, outcome, index * 10, index * 10 + 5, index * 2, index * 2 + 1  # type: ignore[arg-type]
    )  # fmt: skip


def judged(*operations: Operation) -> Any:
    return sessions_check(operations)


WRITTEN = (operation(0, 0, "write", 7, 7), operation(1, 0, "write", 8, 8))


@pytest.mark.parametrize(
    ("peeks", "verdict"),
    [
        ([(1, [7, 0]), (1, [8, 1])], "valid"),
        ([(1, None), (1, [7, 0])], "valid"),
        ([(1, [8, 1]), (2, [7, 0])], "valid"),  # another session may be behind
        ([(1, [8, 1]), (1, [7, 0])], "invalid"),
        ([(1, [7, 0]), (1, None)], "invalid"),
        ([(1, [8, 1]), (0, [7, 0])], "invalid"),  # it wrote 8 itself
        ([(1, [9, 2])], "invalid"),  # nobody wrote 9
        ([], "unknown"),  # nothing was asked
    ],
)
def test_sessions_never_go_back_and_see_their_own_writes(peeks: list[tuple[int, Any]], verdict: str) -> None:
    seen = [operation(2 + n, process, "peek", None, result) for n, (process, result) in enumerate(peeks)]
    assert judged(*WRITTEN, *seen).verdict == verdict


def test_a_system_may_answer_a_write_by_what_was_written_or_by_nothing() -> None:
    peek = operation(2, 0, "peek", None, [8, 1])
    silent = [operation(place, 0, "write", one.value) for place, one in enumerate(WRITTEN)]
    assert judged(*WRITTEN, peek).verdict == judged(*silent, peek).verdict == "valid"
    back = operation(3, 0, "peek", None, [7, 0])
    assert judged(*WRITTEN, peek, back).verdict == judged(*silent, peek, back).verdict == "invalid"


@pytest.mark.parametrize(
    ("outcome", "error", "verdict"),
    [
        ("fail", NEW_SESSION, "valid"),
        ("fail", f"ConnectionError {NEW_SESSION}", "valid"),  # as it was recorded once
        ("info", "ConnectionLoss", "valid"),
        ("fail", "no session with n1", "invalid"),  # its connection came back, with the session that it had
        ("fail", None, "invalid"),
    ],
)
def test_a_session_ends_with_a_doubt_or_when_the_next_one_is_said_to_be_new(
    outcome: str, error: str | None, verdict: str
) -> None:
    between = replace(operation(3, 1, "peek", None, outcome=outcome), error=error)
    back = operation(4, 1, "peek", None, [7, 0])
    assert judged(*WRITTEN, operation(2, 1, "peek", None, [8, 1]), between, back).verdict == verdict


@pytest.mark.parametrize(("value", "verdict"), [(8, "valid"), (7, "invalid")])
def test_the_last_reads_see_what_was_acknowledged(value: int, verdict: str) -> None:
    peek = operation(3, 4, "peek", None, [8, 1])
    assert judged(*WRITTEN, operation(2, 3, "read", None, value), peek).verdict == verdict


def test_a_session_that_went_back_is_shown_by_what_it_had_seen() -> None:
    seen, back = operation(2, 0, "write", 9), operation(4, 0, "peek", None, [7, 0])
    found = judged(*WRITTEN, seen, operation(3, 1, "peek", None, [9, 2]), back)
    (shown,) = [Counterexample.from_json(record) for record in found.details["counterexamples"]]
    assert (shown.kind, shown.operations, shown.suspects) == ("session-went-back", (seen, back), (back,))
    assert [role.says for role in shown.roles] == ["version 2", "version 0"]


OTHERS = (operation(0, 0, "write", 7), operation(1, 3, "write", 8))


def kinds(*operations: Operation) -> list[str]:
    found = judged(*operations)
    return list(found.details["kinds"]) if found.verdict == "invalid" else [found.verdict]


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        # Its own write was seen by none, and is at least one version above what was known before it began.
        ([(3, "write", 9, None), (0, "peek", None, [8, 1])], ["valid"]),
        ([(0, "write", 9, None), (0, "peek", None, [8, 1])], ["session-went-back"]),
        ([(1, "peek", None, [8, 1]), (0, "write", 9, None), (0, "peek", None, [8, 1])], ["session-went-back"]),
        ([(1, "peek", None, [8, 1]), (0, "write", 9, None), (0, "peek", None, None)], ["session-went-back"]),
        ([(0, "peek", None, None)], ["session-went-back"]),
        ([(1, "peek", None, [8, 1]), (0, "write", 9, None), (1, "peek", None, [8, 1])], ["valid"]),
        # A version is that of one write, and a write has one.
        ([(1, "peek", None, [7, 0]), (2, "peek", None, [7, 2])], ["duplicate"]),
        ([(1, "peek", None, [8, 1]), (2, "peek", None, [7, 1])], ["version-twice", "version-order"]),
        # Writes take effect in the order of real time.
        ([(1, "peek", None, [8, 4]), (3, "write", 9, None), (2, "peek", None, [9, 3])], ["version-order"]),
        ([(1, "peek", None, [8, 0]), (2, "peek", None, [7, 1])], ["version-order"]),
    ],
)
def test_versions_say_in_which_order_writes_took_effect(
    later: list[tuple[int, str, Any, Any]], expected: list[str]
) -> None:
    seen = [operation(2 + n, process, f, value, result) for n, (process, f, value, result) in enumerate(later)]
    assert kinds(*OTHERS, *seen) == expected


def test_a_value_whose_write_failed_or_began_later_is_not_there_to_be_seen() -> None:
    failed = operation(0, 0, "write", 7, outcome="fail")
    assert kinds(failed, operation(1, 1, "peek", None, [7, 0])) == ["failed-write-read"]
    assert kinds(operation(0, 1, "peek", None, [7, 0]), operation(1, 0, "write", 7))[0] == "future-read"
    doubt = operation(0, 0, "write", 7, outcome="info")
    assert kinds(doubt, operation(1, 1, "peek", None, [7, 0])) == ["valid"]


def simulated(rng: random.Random) -> list[Operation]:
    """Sessions with a store that keeps its promises: each sees an old state of it, and never an older one.

    A write takes effect at a step between its ends, one in doubt at any later one, or never; its session sees at least
    that from its answer on.  In a step writes take effect first, then one is answered, then something is asked.
    """
    states: list[tuple[Any, int]] = [(None, -1)]
    view = dict.fromkeys(range(4), 0)
    effects: list[tuple[int, int]] = []  # (step, value)
    open_writes: dict[int, tuple[int, int]] = {}  # process -> (value, step of its answer)
    found = []

    def add(process: int, f: str, asked: int, answered: int | None, *, result: Any = None) -> None:
        value, outcome = (asked if f == "write" else None), "info" if answered is None else "ok"
        found.append(Operation(process, f, "k0", value, result, outcome, asked, answered, 8 * asked + 4, answered))  # type: ignore[arg-type]

    for step in range(rng.randint(10, 60)):
        for value in [value for at, value in effects if at == step]:
            states.append((value, len(states) - 1))
        effects = [one for one in effects if one[0] > step]
        for process, (value, answer) in list(open_writes.items()):
            if answer == step:
                del open_writes[process]
                view[process] = max(view[process], [value for value, _ in states].index(value))
                add(process, "write", value, 8 * step + process % 4)
        process, effect = rng.choice(list(view)), rng.randint(step + 1, step + 5)
        if process in open_writes:
            continue
        if rng.random() < 0.5:
            view[process] = rng.randint(view[process], len(states) - 1)
            value, version = states[view[process]]
            add(process, "peek", step, 8 * step + 5, result=None if version < 0 else [value, version])
        elif rng.random() < 0.7:
            effects.append((effect, step))
            open_writes[process] = step, rng.randint(effect, effect + 5)
        else:
            effects += [(effect + rng.randint(0, 9), step)] * (rng.random() < 0.7)
            add(process, "write", step, None)
            del view[process]
            view[process + 4] = 0
    for process, (value, _) in open_writes.items():
        add(process, "write", value, None)
    return found


@pytest.mark.parametrize("seed", range(draws(40, 2000)))
def test_a_store_that_keeps_its_promises_is_never_accused(seed: int) -> None:
    assert not judged(*simulated(random.Random(seed))).details
