"""Values survive the way into columns and back."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from history import Event, Operation
from history.columns.events import EVENTS, events_table, key_of
from history.columns.lines import Block, read_block
from history.columns.operations import from_table
from history.tables.operations import json_text, operations_table

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
KEY = st.none() | st.integers() | st.text(st.characters(codec=None), max_size=5)


@given(JSON)
def test_any_json_comes_back(value) -> None:
    text = json_text(value)
    text.encode()
    assert json.loads(text) == value


@given(st.lists(st.tuples(KEY, JSON, JSON, st.sampled_from(["ok", "fail", "info"])), max_size=5))
def test_operations_come_back(rows) -> None:
    operations = [
        Operation(
            0, "f", key, value, result if outcome == "ok" else None, outcome, 5, None, place, None, None, "e", "main"
        )
        for place, (key, value, result, outcome) in enumerate(rows)
    ]
    assert list(from_table(operations_table(operations))) == operations


def test_types_are_not_confused() -> None:
    values = [1, True, 1.0, "1", "true", None, "null", [1], "[1]"]
    operations = [Operation(0, "write", "k", value, value, "ok", 0, 0, 0, 0) for value in values]
    found = list(from_table(operations_table(operations)))
    assert [(repr(item.value), repr(item.result)) for item in found] == [(repr(value), repr(value)) for value in values]


def test_events_of_the_nemesis_have_no_process() -> None:
    table = events_table([Event(0, 1, "invoke", "nemesis", "kill", {"id": 1}), Event(1, 2, "invoke", 4, "read", None)])
    assert table.schema.equals(EVENTS)
    assert table["process"].to_pylist() == [None, 4]
    assert table["value"].to_pylist() == ['{"id":1}', "null"]


@pytest.mark.parametrize(
    ("field", "value"), [("process", 2**70), ("time", 2**64), ("intended", 2**70), ("node", 5), ("error", ["x"])]
)
def test_what_fits_no_column_names_its_line(field: str, value) -> None:
    fields = {"index": 0, "time": 0, "type": "invoke", "process": 1, "f": "read", field: value}
    lines = f"{json.dumps({'format': 'harness-history'})}\n{json.dumps(fields)}\n".encode()
    read_block(np.frombuffer(lines, np.uint8), block := Block(0))
    assert block.wrong is not None
    assert block.wrong[0] == 1
    assert block.wrong[1].startswith(f"'{field}'")


def test_keys() -> None:
    assert [key_of(text) for text in (None, "7", '"7"')] == [None, 7, "7"]
