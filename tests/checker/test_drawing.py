"""The drawing shows what overlaps and what comes later, and nothing else."""

from __future__ import annotations

from random import Random

from checker import check_operations
from checker.drawing import draw
from history import Counterexample, Operation
from tests.checker.oracle import Sampler


def op(process: int, f: str, value: object, start: int, end: int, outcome: str = "ok") -> Operation:
    asked, result = (None, value) if f == "read" else (value, None)
    return Operation(process, f, "k0", asked, result, outcome, start * 10**6, end * 10**6, start, end, "n1")  # type: ignore[arg-type]


def test_a_stale_read() -> None:
    example = Counterexample(
        "stale-read", "", (op(1, "write", 7, 1, 2), op(3, "write", 9, 3, 4, "info"), op(5, "read", 7, 5, 6))
    )
    assert draw(example).splitlines() == [
        "process 1 n1 ├─write 7─┤",
        "process 3 n1             ├─write 9┄┄ ?",
        "process 5 n1               ├─read → 7─┤",
        "             0.001 s            0.006 s",
    ]


def test_order_of_events_is_order_of_columns() -> None:
    random = Random(3)
    drawn = 0
    while drawn < 100:
        history = Sampler(random, values=None).history(8, 3)
        for example in check_operations(history, "register").counterexamples:
            drawn += 1
            lines = draw(example, width=60).splitlines()
            begins = sorted(place for line in lines for place, sign in enumerate(line) if sign == "├")
            assert len(begins) == len(example.operations)
            assert len(set(begins)) == len(begins)
