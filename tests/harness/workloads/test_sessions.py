"""Sessions: each sees its own writes and never goes back; what is not a peek is linearizable."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, permutations
from typing import Any

import pytest

from harness.workloads import sessions_check
from history import Operation
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
        ([(1, [9, 2])], "invalid"),  # 9 was never written
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
    (shown,) = found.counterexamples
    assert (shown.kind, shown.operations, shown.suspects) == ("session-went-back", (seen, back), (back,))
    assert [role.says for role in shown.roles] == ["version 2", "version 0"]


OTHERS = (operation(0, 0, "write", 7), operation(1, 3, "write", 8))


def kinds(*operations: Operation) -> list[str]:
    found = judged(*operations)
    return (
        list(dict.fromkeys(one.kind for one in found.counterexamples))
        if found.verdict == "invalid"
        else [found.verdict]
    )


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


DOUBTED = operation(0, 3, "write", 7, outcome="info")


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        # A read at the end is no older than a peek before it, though the writes alone would allow it.
        ([(0, "write", 8, None), (1, "peek", None, [8, 0]), (1, "peek", None, [7, 1]), (2, "read", None, 8)],
         ["read-inversion"]),
        ([(1, "peek", None, [7, 0]), (2, "read", None, None)], ["read-inversion", "lost-write"]),
        ([(0, "write", 8, None), (2, "read", None, 8), (1, "peek", None, [7, 1])], ["valid"]),
        # The version of another write is not that of its own.
        ([(0, "write", 8, None), (0, "peek", None, [7, 0])], ["session-went-back"]),
        ([(0, "write", 8, None), (0, "peek", None, [7, 1])], ["valid"]),
        # What is read after a write has a greater version than that, also where no peek saw it.
        ([(1, "write", 8, None), (2, "read", None, 7), (2, "write", 9, None), (1, "peek", None, [9, 1]),
          (2, "peek", None, [8, 0])], ["version-order", "session-went-back"]),
    ],
)  # fmt: skip
def test_reads_and_writes_have_versions_too(others: list[tuple[int, str, Any, Any]], expected: list[str]) -> None:
    later = [operation(1 + n, process, f, value, result) for n, (process, f, value, result) in enumerate(others)]
    assert kinds(DOUBTED, *later) == expected


@pytest.mark.parametrize(("value", "expected"), [(7, "valid"), (8, "lost-write")])
def test_what_a_peek_saw_has_taken_effect_though_its_write_is_in_doubt(value: int, expected: str) -> None:
    before, doubted = operation(0, 0, "write", 8), operation(1, 3, "write", 7, outcome="info")
    peek, read = operation(2, 1, "peek", None, [7, 1]), operation(3, 2, "read", None, value)
    assert kinds(before, doubted, peek, read) == [expected]


@pytest.mark.parametrize(("version", "expected"), [(1, "version-order"), (2, "valid")])
def test_after_two_acknowledged_writes_there_were_two_versions(version: int, expected: str) -> None:
    first = replace(operation(0, 0, "write", 7), return_index=4)
    third = operation(3, 0, "write", 9), operation(4, 1, "peek", None, [9, version])
    assert kinds(first, operation(1, 1, "write", 8), *third) == [expected]


def explained(operations: list[Operation]) -> bool:
    """Is there an order of writes, with versions, in which every answer is right?  By trying all."""
    writes = [op for op in operations if op.f == "write"]
    peeks = [op for op in operations if op.f == "peek" and op.result is not None]
    chosen = chain.from_iterable(permutations(writes, size) for size in range(len(writes) + 1))
    return any(
        all(op in order for op in writes if op.outcome == "ok") and _fits(order, peeks, operations) for order in chosen
    )


def _fits(order: Sequence[Operation], peeks: list[Operation], operations: list[Operation]) -> bool:
    place: dict[Any, int] = {None: -1} | {op.value: number for number, op in enumerate(order)}
    shown = [op for op in operations if op.f != "write"]
    values = {op.invoke_index: op.result[0] if op.f == "peek" and op.result else op.result for op in shown}
    if not {*values.values()} <= place.keys():
        return False
    versions = {value: {op.result[1] for op in peeks if op.result[0] == value} for value in place}
    least = -1
    for op in order:
        known = versions[op.value]
        if len(known) > 1 or max(known, default=least + 1) <= least:
            return False
        least = max(known, default=least + 1)
    # In the order of effects, and from when to when each can have been; peeks show what was, reads what is.
    seen = {value: [_end(op) for op in peeks if op.result[0] == value] for value in place}
    spans = [(place[op.value], 0, op.invoke_index, min([_end(op), *seen[op.value]])) for op in order]
    reads = [op for op in shown if op.f == "read"]
    spans += [(place[values[op.invoke_index]], 1, op.invoke_index, _end(op)) for op in reads]
    if any(one[:2] < other[:2] and other[3] < one[2] for one in spans for other in spans):
        return False
    newest: dict[int, int] = {}
    for op in operations:
        at = place[op.value] if op.f == "write" and op.outcome == "ok" else place.get(values.get(op.invoke_index), -1)
        if op.f == "peek" and at < newest.get(op.process, -1):
            return False
        if op.f != "read":
            newest[op.process] = max(at, newest.get(op.process, -1))
    return not any(spans[place[op.result[0]]][2] > _end(op) for op in peeks)


def _end(op: Operation) -> int:
    return 1 << 30 if op.outcome != "ok" or op.return_index is None else op.return_index


def small(rng: random.Random) -> list[Operation]:
    """Up to four writes, and peeks and reads of nearly anything, with random ends; a write in doubt ends a process."""
    found: list[Operation] = []
    free, at = dict.fromkeys(range(3), 0), 0
    for number in range(rng.randint(3, 8)):
        process, at = rng.choice(list(free)), at + rng.randint(1, 3)
        begin = max(at, free[process])
        end = begin + rng.choice([1, 1, 2, 5, 9])
        f = "write" if number < 2 else rng.choice(["write", "peek", "peek", "read"])
        written = [op.value for op in found if op.f == "write"]
        f = "peek" if f == "write" and len(written) == 4 else f
        value = rng.choice([None, *written[-3:]])
        result = None if f == "write" or value is None else value
        if f == "peek" and value is not None:
            result = [value, max(0, written.index(value) + rng.choice([0, 0, 0, 0, 1, -1]))]
        doubted = f == "write" and rng.random() < 0.3
        asked = 10 * begin + process, None if doubted else 10 * end + process
        found.append(
            Operation(process, f, "k0", number if f == "write" else None, result, "info" if doubted else "ok",
                      asked[0], asked[1], asked[0], asked[1])
        )  # fmt: skip
        free[process] = end + 1
        if doubted:
            del free[process]
            free[max(op.process for op in found) + 3] = 0
    return sorted(found, key=lambda op: op.invoke_index)


def test_small_histories_are_judged_as_by_trying_all_orders() -> None:
    """No right one is accused, and nearly every wrong one is: some are so by a count of what fits between versions."""
    found = missed = 0
    for seed in range(draws(600, 20_000)):
        operations = small(random.Random(seed))
        right, accused = explained(operations), judged(*operations).verdict == "invalid"
        assert not (right and accused), operations
        found += accused
        missed += not right and not accused
    assert missed < found / 100


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
    assert not judged(*simulated(random.Random(seed))).findings
