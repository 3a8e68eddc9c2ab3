"""Spoilt files of every format: a history, or our own named error, and never anything else."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checker import ModelError, check
from history import FormatError, pair, read_history
from history.codes import ABSENT, CAS, OK, READ
from history.readers import read_any
from history.readers.edn import EdnReader
from history.readers.jsonl_columns import read_columns
from history.readers.scanned import NotColumnarError
from tests.support.draws import draws
from tests.support.history.foreign_files import TEXTS, operations, parquet
from tests.support.history.spoilt import spoilt

FUZZ = settings(max_examples=draws(25, 500), suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("name", TEXTS)
@given(data=st.data())
@FUZZ
def test_spoilt_texts(name: str, data: Any, tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(data.draw(spoilt(name)))
    with contextlib.suppress(FormatError, ModelError):
        assert check(path).verdict in ("valid", "invalid")


@given(data=spoilt("jsonl"))
@FUZZ
def test_both_readers_of_jsonl_read_the_same_or_both_refuse(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(data)
    try:
        slow = pair(read_history(path).events)
    except FormatError:
        slow = None
    try:
        columns = read_columns(path).columns
    except NotColumnarError:
        return
    except FormatError:
        assert slow is None
        return
    assert slow is not None
    assert [columns.operation(row) for row in range(columns.invoke.size)] == slow
    for row, operation in enumerate(slow):
        reported = operation.result if columns.kind[row] == READ else operation.value
        if operation.refused:
            reported = operation.seen
        if columns.kind[row] == READ and columns.outcome[row] != OK:
            continue
        new = reported[1] if columns.kind[row] == CAS else reported
        assert columns.value[row] == (ABSENT if new is None else new)
        assert columns.keys[columns.key[row]] == operation.key


class Patient(EdnReader):
    """Reads every map token by token."""

    def _flat(self) -> None:
        return None


def forms(reader: EdnReader) -> list[Any] | None:
    try:
        return [(repr(form.value), form.place) for form in reader.forms()]
    except FormatError:
        return None


@given(data=spoilt("edn"))
@FUZZ
def test_maps_read_in_one_go_are_read_as_token_by_token(data: bytes) -> None:
    text = data.decode(errors="replace")
    assert forms(EdnReader(text, "x")) == forms(Patient(text, "x"))


@given(data=st.binary(max_size=200))
@FUZZ
def test_noise(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(data)
    with contextlib.suppress(FormatError):
        read_any(path)


CELLS = st.one_of(
    st.none(), st.integers(-3, 5), st.floats(), st.booleans(), st.text(max_size=2),
    st.sampled_from(["ok", "info", "fail", "read", "write", "cas", "7", "null", "[1, 2]", "[null, 7]", "{", '"k"']),
)  # fmt: skip


@given(name=st.sampled_from(sorted(operations())), cells=st.lists(CELLS, min_size=2, max_size=2), rest=st.booleans())
@FUZZ
def test_spoilt_tables(name: str, cells: list[Any], rest: bool, tmp_path: Path) -> None:
    columns = operations()
    try:
        columns[name] = pa.array(cells if rest else [columns[name][0], cells[1]])
    except (pa.ArrowException, TypeError):
        return
    with contextlib.suppress(FormatError, ModelError):
        assert check(parquet(columns, tmp_path), "cas-register").verdict in ("valid", "invalid")


@given(start=st.integers(0, 2000), piece=st.binary(min_size=1, max_size=6))
@FUZZ
def test_spoilt_parquet_files(start: int, piece: bytes, tmp_path: Path) -> None:
    path = parquet(operations(), tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[:start] + piece + data[start + len(piece) :])
    with contextlib.suppress(FormatError, ModelError):
        check(path)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.just(2**63) | st.floats(allow_nan=False) | st.text(max_size=1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=1), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
FUNCTIONS = {
    "register": ["read", "write"],
    "cas-register": ["read", "write", "cas"],
    "cas-register-strict": ["read", "cas"],
    "cas-register-unknown": ["read", "write", "cas"],
    "mutex": ["acquire", "release"],
    "multi-register": ["txn"],
    "log": ["append", "get", "list"],
    "set": ["add", "read"],
    "counter": ["add", "read"],
    "queue": ["enqueue", "dequeue"],
    "kv": ["put", "append", "get"],
}


@pytest.mark.parametrize("model", FUNCTIONS)
@given(data=st.data())
@FUZZ
def test_values_that_no_model_expects(model: str, data: Any) -> None:
    records = []
    for process in range(data.draw(st.integers(1, 4))):
        f = data.draw(st.sampled_from([*FUNCTIONS[model], *FUNCTIONS[model], "pop"]))
        records.append({"process": process, "type": "invoke", "f": f, "value": data.draw(VALUES)})
        type_ = data.draw(st.sampled_from(["ok", "ok", "ok", "info", "fail"]))
        records.append({"process": process, "type": type_, "f": f, "value": data.draw(VALUES)})
    with contextlib.suppress(FormatError, ModelError):
        assert check(records, model).verdict in ("valid", "invalid")
