"""Transactions as columns: what the compiled reader makes of bytes is what the row-wise one makes of operations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from checker import check, check_transactions
from checker.transactions import anomalies
from history import Header, Operation
from history.readers import read_any
from history.readers.scanned import NotColumnarError
from history.readers.transactions import TransactionColumns, columns_of_operations
from history.readers.transactions.jsonl import read_transactions
from history.records.events import line_of_event
from history.records.operations import Outcome
from tests.support.checker.transaction_histories import Shape, history_of


def write(path: Path, operations: Sequence[Operation], holds: str, *, spaced: bool = False, end: str = "\n") -> Path:
    """The operations as a history file: their events in the order of their places, with nemesis events between."""
    events: list[tuple[float, str, Operation]] = []
    for o in operations:
        events.append((o.invoke_index, "invoke", o))
        if o.return_index is not None or o.process % 2:
            events.append((o.return_index or o.invoke_index + 0.5, o.outcome, o))
    records: list[dict[str, Any]] = []
    for number, (_, kind, o) in enumerate(sorted(events, key=lambda event: event[0])):
        if number % 7 == 3:
            records.append({"process": "nemesis", "type": "info", "f": "kill", "value": {"n1": [1.5, 'a"]']}})
        value = o.result if kind == "ok" else o.value
        records.append({"process": o.process, "f": "txn", "type": kind, "value": value, "error": 'a "quoted" {text'})
    lines = [json.dumps({"index": at, "time": at * 10, **record},
                        separators=None if spaced else (",", ":")) for at, record in enumerate(records)]  # fmt: skip
    header = json.dumps(Header(model=holds).to_json())
    path.write_text("\n".join([header, *lines]) + end)
    return path


def same(one: Any, other: Any) -> bool:
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else list(one) == list(other)


@pytest.mark.slow
@pytest.mark.parametrize("holds", ["list-append", "rw-register"])
def test_the_compiled_reader_reads_what_the_other_one_does(
    holds: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed, kind in enumerate(["serial", "dirty", "committed", "snapshot"]):
        random = Random(seed)
        operations = history_of(random, kind, holds, Shape(200, 5, 6, 4))
        path = write(tmp_path / f"{seed}.jsonl", operations, holds, spaced=seed % 2 == 0)
        columns = read_any(path, large=0).columns
        by_rows = read_any(path, large=1 << 40).operations
        assert isinstance(columns, TransactionColumns)
        assert by_rows is not None
        expected = columns_of_operations(by_rows, holds, place=line_of_event)
        for field in fields(TransactionColumns):
            if field.name not in ("holds", "operation", "place"):
                assert same(getattr(columns, field.name), getattr(expected, field.name)), field.name
        assert [columns.operation(row) for row in range(len(columns))] == by_rows
        assert [columns.place(row) for row in range(9)] == [expected.place(row) for row in range(9)]
        # Compiled, the loops decide as they do in plain Python.
        plain = check_transactions(columns, holds)
        with monkeypatch.context() as patch:
            patch.setattr(anomalies, "PLAIN_STEPS", 0)
            assert check_transactions(columns, holds) == plain


@pytest.mark.slow
def test_a_file_reads_the_same_wherever_it_is_cut(tmp_path: Path) -> None:
    steps = [[["append", key, p]] if p % 3 else [["r", "y", None], ["r", key, None]] for p, key in enumerate("xyyxzyx")]
    answers = [[[f, key, list(range(p)) if f == "r" else value] for f, key, value in s] for p, s in enumerate(steps)]
    outcomes: list[Outcome] = ["ok", "ok", "fail", "ok", "info", "ok", "ok"]
    operations = [
        Operation(p, "txn", None, s, a if o == "ok" else s, o, p, p, 2 * p, 2 * p + 3)
        for p, (s, a, o) in enumerate(zip(steps, answers, outcomes, strict=True))
    ]
    path = write(tmp_path / "history.jsonl", operations, "list-append", end='\n{"index":')
    whole, *others = (
        read_transactions(path, "list-append", pieces) for pieces in (1, *range(2, 40), path.stat().st_size)
    )
    assert whole[1].elements.size
    for found in others:
        assert found[::2] == whole[::2]
        for field in fields(TransactionColumns):
            if field.name not in ("holds", "operation", "place"):
                assert same(getattr(found[1], field.name), getattr(whole[1], field.name)), field.name


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 500])
@pytest.mark.parametrize(
    ("line", "old", "new", "told"),
    [
        (5, '"index": 3', '"index": 4', "line 5"), (9, '"txn"', '"txm"', "line 9"), (7, '[[', '[["', "line 7"),
        (8, '"time": 106', '"time": 104', "a time before"), (2, '"index": 0', '"index": -0', "line 2"),
        (8, '"process": 6', '"process": 3', "do not pair"), (11, "9]", "9.0]", "line 11"),
    ],
)  # fmt: skip
def test_the_first_line_that_is_not_plain_is_named_wherever_the_file_is_cut(
    pieces: int, line: int, old: str, new: str, told: str, tmp_path: Path
) -> None:
    record = (
        '{{"index": {0}, "time": 1{0:02}, "type": "ok", "process": {1}, "f": "txn", "value": [["append", "k", {0}]]}}'
    )
    events = [record.format(at, at // 2 * 2) for at in range(12)]
    events[::2] = [event.replace('"ok"', '"invoke"') for event in events[::2]]
    text = [json.dumps(Header(model="list-append").to_json()), *events]
    path = tmp_path / "history.jsonl"
    path.write_text("\n".join([*text, ""]))
    assert len(read_transactions(path, "list-append", pieces)[1]) == 6
    changed = text[line - 1].replace(old, new)
    assert changed != text[line - 1]
    text[line - 1] = changed
    path.write_text("\n".join([*text, ""]))
    with pytest.raises(NotColumnarError, match=told):
        read_transactions(path, "list-append", pieces)


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    [
        '[["append",1,"a"]]', '[["append",1,1.5]]', '[["append",1,null]]', '[["append",1]]', '[["append",1,2],]',
        '[["r",1,[1,]]]', '[["r",1,5]]', '[["add",1,2]]', '[["append","a\\u0062",2]]', '[["append",1,2]', '"txn"',
        "[[]]", "null",
    ],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_the_other_reader(value: str, tmp_path: Path) -> None:
    header = json.dumps(Header(model="list-append").to_json())
    line = '{{"index":{},"time":{},"type":"{}","process":0,"f":"txn","value":{}}}'
    path = tmp_path / "history.jsonl"
    path.write_text("\n".join([header, line.format(0, 0, "invoke", value), line.format(1, 1, "ok", value), ""]))
    try:
        expected: Any = read_any(path, large=1 << 40)
    except ValueError as error:
        with pytest.raises(type(error), match="line 2"):
            read_any(path, large=0)
    else:
        assert read_any(path, large=0) == expected
        assert expected.columns is None


@pytest.mark.slow
def test_a_torn_line_is_left_out_and_keys_may_be_names(tmp_path: Path) -> None:
    steps = [
        [["append", "x", 1], ["append", -1, 1]],
        [["append", "y", 1]],
        [["r", "x", [1]], ["r", "y", []], ["r", -1, [1]]],
    ]
    operations = [Operation(p, "txn", None, s, s, "ok", p, p, 2 * p, 2 * p + 1) for p, s in enumerate(steps)]
    path = write(tmp_path / "history.jsonl", operations, "list-append", end='\n{"index":')
    found = read_any(path, large=0)
    assert found.torn
    assert isinstance(found.columns, TransactionColumns)
    assert list(found.columns.keys) == ["x", -1, "y"]
    verdict = check(path, "list-append:strict-serializable").keys[0]
    assert verdict.verdict == "invalid"
    assert verdict.counterexamples[0].dependencies[-1].key == "y"


#: Jepsen's shapes, with and without the function, of processes as numbers and of the nemesis.
EDN = {
    "history.edn": """
{:type :invoke, :f :txn, :value [[:append 5 1] [:r 6 nil]], :process 0, :time 10, :index 0}
{:type :invoke, :f :txn, :value [[:r 5 nil] [:append 6 2]], :process 1, :time 11, :index 1}
{:type :info, :f :start, :process :nemesis, :value [:kill ["n1"]], :time 12, :index 2}
{:type :ok, :f :txn, :value [[:append 5 1] [:r 6 nil]], :process 0, :time 13, :index 3}
{:type :ok, :f :txn, :value [[:r 5 nil] [:append 6 2]], :process 1, :time 14, :index 4}
""",
    "a vector of operations without a function": """
[{:type :invoke, :value [[:append :x 1] [:r :y nil]], :process 0, :index 0}
 {:type :invoke, :value [[:r :x nil] [:append :y 2]], :process 1, :index 1}
 {:type :ok, :value [[:append :x 1] [:r :y []]], :process 0, :index 2}
 {:type :ok, :value [[:r :x nil] [:append :y 2]], :process 1, :index 3}]
""",
}


@pytest.mark.parametrize("name", EDN)
def test_histories_of_elle_are_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(EDN[name])
    assert check_transactions(path).counts == {"G2-item": 1}
    path.write_text(EDN[name].replace(":append", ":w").replace("[]", "nil"))
    assert check_transactions(path, "rw-register").counts == {"G2-item": 1}
