"""Contradictions that need many operations: none of them can be left out."""

from __future__ import annotations

import pytest

from checker import Register, check_operations
from checker.answer import Limits
from checker.calls import calls_of
from checker.deciding import decide
from history import Operation
from tests.checker.oracle import history_of


def one_write_short(reads: int) -> list[Operation]:
    """Two values are read in turn, once more often than they were written, while all of the writes are open.

    Then come operations that have nothing to do with it.
    """
    writes = [("write", 1 + place % 2, place, 1000 + place) for place in range(reads - 1)]
    turns = [("read", 1 + place % 2, 100 + 2 * place, 101 + 2 * place) for place in range(reads)]
    return history_of([*writes, *turns, ("write", 3, 2000, 2001), ("read", 3, 2002, 2003), ("read", 3, 2004, 2005)])


def verdict_of(operations: list[Operation]) -> str:
    calls = calls_of(operations, Register())
    return decide(calls, Register(), Limits(lambda: 0.0), engine="automaton", proof=False).verdict


@pytest.mark.parametrize("reads", [4, 10, 12])
def test_a_contradiction_of_many_operations_can_do_without_none_of_them(reads: int) -> None:
    verdict = check_operations(one_write_short(reads), "register")
    assert (verdict.verdict, verdict.violations) == ("invalid", 1)
    (example,) = verdict.counterexamples
    core = list(example.operations)
    assert len(core) > reads
    assert verdict_of(core) == "invalid"
    for left_out in core:
        fewer = [operation for operation in core if operation is not left_out]
        # Without the last write of a value that is read, the rest would be another contradiction.
        asked = left_out.f == "write" and any(o.result == left_out.value for o in fewer)
        assert asked or verdict_of(fewer) == "valid", left_out
