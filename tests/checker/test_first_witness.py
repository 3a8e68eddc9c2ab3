"""The earliest counterexample of a register is complete with the answer at which no order is left any more."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from checker import Register, check_operations
from checker.core.calls import calls_of
from checker.core.definition import linearizable
from checker.counterexamples.violation_times import sightings
from history import Operation
from tests.support.draws import draws


def history_of(random: Random) -> list[Operation]:
    """Up to eight reads and writes of values written once, at moments that all differ, with any answers."""
    count = random.randint(2, 8)
    moments = random.sample(range(2 * count), 2 * count)
    found = []
    for place in range(count):
        start, end = sorted(moments[2 * place : 2 * place + 2])
        write, answered = random.random() < 0.45, random.random() < 0.75
        read = random.choice([None, *range(count)]) if answered and not write else None
        found.append(
            Operation(
                place,
                "write" if write else "read",
                None,
                place if write else None,
                read,
                "ok" if answered else "info",
                start,
                end if answered else None,
                start,
                end,
            )
        )
    return sorted(found, key=lambda one: one.invoked)


def holds(operations: list[Operation]) -> bool:
    return linearizable(calls_of(operations, Register()), Register())


def until(operations: list[Operation], moment: int) -> list[Operation]:
    """What had happened by a moment: what had not completed is open."""
    begun = [one for one in operations if one.invoked <= moment]
    return [one if (one.returned or 0) <= moment else replace(one, outcome="info", returned=None) for one in begun]


def test_it_is_the_first_wrong_answer_by_the_definition() -> None:
    broken = 0
    for seed in range(samples := draws(500, 1500)):
        history = history_of(Random(seed))
        verdict = check_operations(history, "register")
        assert (verdict.verdict == "valid") == holds(history)
        if verdict.verdict == "invalid":
            broken += 1
            ends = sorted(one.returned for one in history if one.returned is not None)
            first = next(end for end in ends if not holds(until(history, end)))
            assert min(one.completed_at for one in verdict.counterexamples) == first
    assert broken > samples / 3


def op(f: str, value: object, start: int, end: int | None) -> Operation:
    written = value if f == "write" else None
    read = value if f == "read" else None
    return Operation(
        start,
        f,
        "k",
        written,
        read,
        "info" if end is None else "ok",
        start,
        end,
        start,
        start + 1 if end is None else end,
    )


STUCK = [op("write", 1, 0, 1), op("write", 2, 10, 12), *(op("read", 1, 20 + 10 * n, 25 + 10 * n) for n in range(9))]


def test_of_many_stale_reads_the_earliest_is_shown_and_dated() -> None:
    verdict = check_operations(STUCK, "register")
    (example,) = verdict.counterexamples
    assert (example.operations, example.completed_at) == (tuple(STUCK[:3]), 25)
    (sighting,) = sightings(STUCK, verdict)
    assert (sighting.newer, sighting.by) == (STUCK[1], STUCK[2])


@pytest.mark.parametrize("read_ends", [14, 16])
def test_an_acknowledged_write_is_shown_before_one_in_doubt(read_ends: int) -> None:
    doubt = [op("write", 3, 2, None), op("read", 3, 5, read_ends - 5)]
    history = sorted([*STUCK, *doubt], key=lambda one: one.invoked)
    example = check_operations(history, "register").counterexamples[0]
    assert example.operations == tuple(STUCK[:3])
