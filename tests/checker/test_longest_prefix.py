"""The earliest counterexample is complete where the longest linearizable prefix ends; the oracle is the definition."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from checker import Register, check_operations
from checker.core.calls import calls_of
from checker.core.definition import linearizable
from history import Operation
from history.records.operations import Outcome
from tests.support.checker.spans import spans

OUTCOMES: Final[tuple[Outcome, ...]] = ("ok", "ok", "ok", "info", "fail")


@st.composite
def histories(draw: st.DrawFn) -> list[Operation]:
    """Up to seven reads and writes of values written once, at moments that all differ, with any answers."""
    moments, found = draw(spans()), []
    for place, (start, stop) in enumerate(moments):
        write = draw(st.booleans())
        outcome = draw(st.sampled_from(OUTCOMES))
        result = None if write else draw(st.sampled_from([None, *range(len(moments))]))
        value = place if write else None
        kind = "write" if write else "read"
        answered = None if outcome == "info" else stop
        found.append(Operation(place, kind, "k", value, result, outcome, start, answered, start, stop, "n1"))
    return sorted(found, key=lambda operation: operation.invoked)


def holds(operations: list[Operation]) -> bool:
    return linearizable(calls_of(operations, Register()), Register())


def until(operations: list[Operation], moment: int) -> list[Operation]:
    """What had happened by a moment: an operation that had not completed is open, one that failed had no effect."""
    begun = [operation for operation in operations if operation.invoked <= moment and operation.outcome != "fail"]
    return [
        replace(o, outcome="info", returned=None) if o.returned is None or o.returned > moment else o for o in begun
    ]


@given(histories())
def test_the_earliest_counterexample_ends_the_longest_linearizable_prefix(operations: list[Operation]) -> None:
    ends = sorted(o.returned for o in operations if o.returned is not None and o.outcome == "ok")
    broken = [end for end in ends if not holds(until(operations, end))]
    verdict = check_operations(operations, "register")
    assert [example.completed_at for example in verdict.counterexamples][:1] == broken[:1]
