"""Which operations belong to a fault's window, and when any was under way: as if each were looked at."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.judge.fault_windows import Window
from harness.judge.gates import under_way_in, within
from history import Operation
from history.columns.operations import from_operations
from tests.support.draws import draws
from tests.support.harness.good_run import operation, replace


def an_operation(begin: int, length: int | None) -> Operation:
    return replace(operation(0, "read"), invoked=begin, returned=None if length is None else begin + length)


OPERATIONS = st.lists(st.builds(an_operation, st.integers(0, 20), st.one_of(st.none(), st.integers(0, 8))), max_size=12)
SPAN = st.tuples(st.integers(0, 22), st.integers(0, 10))


@settings(max_examples=draws(100, 2000))
@given(OPERATIONS, st.lists(SPAN, max_size=3))
def test_a_window_holds_what_began_and_ended_in_it(operations: list[Operation], spans: list[tuple[int, int]]) -> None:
    windows = [Window(number, "kill-one", begin, begin + length) for number, (begin, length) in enumerate(spans)]
    for window in windows:
        wanted = [
            op
            for op in operations
            if op.returned is not None and window.begin <= op.invoked and op.returned <= window.end
        ]
        columns = from_operations(operations)
        rows = within(windows, columns, np.ones(len(columns), dtype=np.bool_))[window.id]
        assert [columns[row] for row in rows] == [op for op in columns if op in wanted]


@settings(max_examples=draws(100, 2000))
@given(OPERATIONS, SPAN)
def test_under_way_is_what_began_before_the_end_and_ended_after_the_begin(
    operations: list[Operation], span: tuple[int, int]
) -> None:
    begin, end = span[0], span[0] + span[1]
    wanted = any(op.invoked < end and (math.inf if op.returned is None else op.returned) > begin for op in operations)
    assert under_way_in(from_operations(operations))(begin, end) is wanted
