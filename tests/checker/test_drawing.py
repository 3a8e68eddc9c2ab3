"""The drawing shows what overlaps and what comes later, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from checker import check, check_operations
from checker.explain.drawing import draw
from checker.explain.report import render
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


def test_wide_signs_take_two_columns_and_others_that_move_the_cursor_are_escaped() -> None:
    operations = (op(1, "write", "日本", 1, 2), op(1, "write", "\x1b[2J\x9b", 3, 4), op(2, "read", "x" * 99, 5, 6))
    assert draw(Counterexample("stale-read", "", operations)).splitlines()[:2] == [
        'process 1 n1 ├─write "日本"─┤ ├─write "\\u001b[2J\\x9b"─┤',
        f'process 2 n1 {" " * 43}├─read → "{"x" * 22}…─┤',
    ]


def test_too_many_operations_are_not_drawn() -> None:
    operations = tuple(op(1, "write", place, place, place + 1) for place in range(1, 20_000, 2))
    assert draw(Counterexample("stale-read", "", operations)) == "10000 operations are too many to draw"


def test_a_key_cannot_write_to_the_terminal() -> None:
    history = [replace(op(0, "read", 7, 1, 2), key="a\x1b[2J\nb")]
    assert r"a\x1b[2J\nb: invalid" in render(check(history))


def test_a_refused_swap_was_answered() -> None:
    history = [op(0, "write", 3, 1, 2), op(0, "cas", [3, 5], 3, 4, "fail")]
    example = check(history, "cas-register-strict").counterexamples[0]
    assert "process 0 on n1 had its swap of 3 for 5 refused (0.003–0.004 s), but" in example.sentence
    assert "├─cas 3→5 refused─┤" in draw(example)


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
