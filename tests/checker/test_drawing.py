"""The drawing shows what overlaps and what comes later, which operation fits nowhere, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from checker import Register, check, check_operations
from checker.explain.report import render
from history import Counterexample, Operation
from reports.text.text_diagram import draw
from tests.support.checker.counterexamples import placed
from tests.support.checker.oracle import Sampler


def op(process: int, f: str, value: object, start: int, end: int, outcome: str = "ok") -> Operation:
    asked, result = (None, value) if f == "read" else (value, None)
    return Operation(process, f, "k0", asked, result, outcome, start * 10**6, end * 10**6, start, end, "n1")  # type: ignore[arg-type]


def test_a_stale_read() -> None:
    operations = (op(1, "write", 7, 1, 2), op(3, "write", 9, 3, 4), op(5, "read", 7, 5, 6))
    example = placed(Counterexample("stale-read", "", operations), Register())
    assert [line.rstrip() for line in draw(example, 80).splitlines()] == [
        "                 write 7 0.001 – 0.002 s",
        "process 1 · n1   ├─────●─────┤",
        "                                          write 9 0.003 – 0.004 s",
        "process 3 · n1                            ├─────●─────┤",
        "                                                          read 7 0.005 – 0.006 s",
        "process 5 · n1                                                     ├─────✕─────┤",
        "it holds         │earl…│           7            │              9",
        "seconds          0.001     0.002        0.003       0.004        0.005     0.006",
    ]


def test_signs_that_move_the_cursor_are_replaced_and_long_values_are_cut() -> None:
    operations = (op(1, "write", "\x1b[2J\x9b\ud800", 1, 2), op(2, "read", "x" * 99, 3, 4))
    drawn = draw(Counterexample("stale-read", "", operations), 80)
    assert 'write "\\u001b[2J\ufffd\ufffd"' in drawn
    assert f'read "{"x" * 22}…' in drawn


def test_of_too_many_operations_the_last_are_drawn() -> None:
    operations = tuple(op(1, "write", place, place, place + 1) for place in range(1, 20_000, 2))
    drawn = draw(Counterexample("stale-read", "", operations)).splitlines()
    assert drawn[0] == "9,984 earlier operations not drawn"
    assert sum("write" in line for line in drawn) == 16
    assert "write 19999 19.999 – 20.000 s" in drawn[-3]


@pytest.mark.parametrize(
    ("f", "value", "result", "label"),
    [("dequeue", None, 3, "dequeue → 3"), ("append", 5, 0, "append 5 → 0"), ("enqueue", 5, 5, "enqueue 5")],
)
def test_other_objects_are_drawn_with_what_they_answered(f: str, value: object, result: object, label: str) -> None:
    example = Counterexample("queue", "", (Operation(0, f, None, value, result, "ok", 0, 10**6, 0, 1),))
    assert f"{label} 0.000 – 0.001 s" in draw(example)


def test_a_key_cannot_write_to_the_terminal() -> None:
    history = [replace(op(0, "read", 7, 1, 2), key="a\x1b[2J\nb")]
    assert r"a\x1b[2J\nb: invalid" in render(check(history))


def test_a_refused_cas_was_answered() -> None:
    history = [op(0, "write", 3, 1, 2), op(0, "cas", [3, 5], 3, 4, "fail")]
    example = check(history, "cas-register-strict").counterexamples[0]
    assert "process 0 on n1 had its cas of 3 to 5 refused (0.003–0.004 s), but" in example.sentence
    assert "cas 3 → 5 refused 0.003 – 0.004 s" in draw(example)
    assert example.suspects == (history[1],)


def test_order_of_invocations_is_order_of_bars() -> None:
    random = Random(3)
    drawn = 0
    while drawn < 100:
        history = Sampler(random, values=None).history(8, 3)
        for example in check_operations(history, "register").counterexamples:
            drawn += 1
            begins = [line.index("├") for line in draw(example, width=100).splitlines() if "├" in line]
            assert len(begins) == len(example.operations)
            assert begins == sorted(begins)
            assert draw(example).count("✕") == len(example.suspects) > 0
