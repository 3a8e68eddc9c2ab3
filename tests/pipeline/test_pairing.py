"""Pairing by columns, block by block: the operations and the complaints of ``history.pair``."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from history import Event, FormatError, Operation, pair
from history.columns.events import EVENTS, events_table
from history.columns.lines import CODED, COLUMNS
from history.columns.pairing import Problem, Seams, pair_events
from history.records.events import line_of_event
from history.tables.operations import operations_table
from history.tables.schemas import OPERATIONS

PLAIN = pa.schema([(field.name, field.type) for field in OPERATIONS])


def columns(events: list[Event]) -> pa.Table:
    table = events_table(events)
    cells = [table[name].dictionary_encode() if name in CODED else table[name] for name in EVENTS.names]
    return pa.table(cells, schema=COLUMNS).combine_chunks()


def in_blocks(events: list[Event], cuts: list[int], *, knows_the_end: bool) -> tuple[pa.Table, Problem | None]:
    bounds = [0, *sorted(cut % (len(events) + 1) for cut in cuts), len(events)]
    seams, parts, problems = Seams(), [], []
    for begin, end in pairwise(bounds):
        paired = pair_events(columns(events[begin:end]), last=knows_the_end and end == len(events))
        assert (np.diff(paired.operations["invoke_index"].to_numpy()) > 0).all()
        parts.append(paired.operations.cast(PLAIN))
        problems.append(paired.problem)
        seams.add(paired.seam, paired.entering)
    parts.append(seams.operations().cast(PLAIN))
    problem = min((one for one in (*problems, seams.problem) if one is not None), default=None)
    return pa.concat_tables(parts).sort_by("invoke_index"), problem


VALUES = st.sampled_from([None, 1, 2, 1.0, "a", [1, 2], [1, 3], [1, 2, 3], [1, 2, None], [1, [2], 3], True, {"a": [1]}])
EVENT = st.builds(
    lambda kind, process, f, key, value, node, due: Event(0, 0, kind, process, f, value, key, node, None, "main", due),
    st.sampled_from(["invoke", "ok", "ok", "fail", "info"]), st.sampled_from([0, 0, 1, 70_000]),
    st.sampled_from(["read", "write", "cas", "append"]), st.sampled_from([None, "k", 3]), VALUES,
    st.sampled_from([None, "", "n1"]), st.sampled_from([None, -7, 5]),
)  # fmt: skip


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Mostly well-formed: a completion repeats what was invoked, unless chance has it otherwise."""
    events: list[Event] = []
    waiting: dict[Any, Event] = {}
    for drawn in draw(st.lists(st.tuples(EVENT, st.integers(0, 11)), max_size=30)):
        event, chance = drawn
        invocation = waiting.get(event.process)
        if chance and (invocation is None) != (event.type == "invoke"):
            event = msgspec.structs.replace(event, type="invoke" if invocation is None else "ok")
        if invocation is not None and chance > 1:
            value = invocation.value if event.f != "read" and chance > 3 else event.value
            event = msgspec.structs.replace(event, f=invocation.f, key=invocation.key, value=value)
        event = msgspec.structs.replace(event, index=len(events), time=len(events) * 3)
        waiting[event.process] = event
        if event.type != "invoke":
            del waiting[event.process]
        events.append(event)
    return events


@given(histories(), st.lists(st.integers(0, 30), max_size=4), st.booleans())
def test_wherever_the_history_is_cut(events: list[Event], cuts: list[int], knows_the_end: bool) -> None:
    found, problem = in_blocks(events, cuts, knows_the_end=knows_the_end)
    expected = paired_or_refused(events)
    if isinstance(expected, tuple):
        assert problem is not None
        assert (line_of_event(problem[0]), problem[1]) == expected
    else:
        assert problem is None
        assert found.to_pylist() == operations_table(expected).to_pylist()


def paired_or_refused(events: list[Event]) -> list[Operation] | tuple[str, str]:
    try:
        return pair(events, "", line_of_event)
    except FormatError as error:
        return error.place, error.message


@pytest.mark.parametrize(
    ("f", "asked", "answered", "fits"),
    [
        ("write", 1, 2, False), ("write", 1, None, True), ("add", "a", "b", False), ("append", "a", "b", False),
        ("append", 1, 0, True), ("enqueue", 1, 2, True), ("cas", [1, 2], [1, 2], True), ("cas", [1, 2], [1, 3], False),
        ("cas", [1, 2], [1, 2, None], True), ("cas", [1, 2], [1, 3, 5], False), ("cas", [1, 2], [1, 2, 3, 4], False),
        ("cas", ["%", "\\"], ["%", "\\", 1], True), ("cas", [1, 2], True, False), ("cas", [1, 2], [1, 2, [3, 4]], True),
        ("cas", [1, 2], [1, [2, 3]], False), ("cas", [1, [2], 3], [1, [2], 3], False),
        ("cas", [1, [2, 3]], [1, [2, 3]], True),
    ],
)  # fmt: skip
def test_what_changed_its_value(f: str, asked: object, answered: object, fits: bool) -> None:
    events = [Event(0, 0, "invoke", 0, f, asked), Event(1, 1, "ok", 0, f, answered)]
    problem = in_blocks(events, [], knows_the_end=False)[1]
    if fits:
        assert problem is None
        pair(events)
    else:
        assert problem is not None
        assert "was invoked, but was completed as" in problem[1]
