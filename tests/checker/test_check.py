"""Whole histories, whatever they come as; bad ones are refused with the place and what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checker import ILLEGAL, UNKNOWN, Model, Register, as_events, check
from checker import columnar as by_columns
from checker.columnar import check_columns
from checker.explain.report import render
from history import Event, FormatError, pair
from history.readers import OperationColumns, read_any
from history.readers.jsonl_columns import read_columns
from history.readers.scanned import NotColumnarError
from history.tables.schemas import OPERATIONS
from reports.text.text_diagram import draw
from tests.support.checker.events import events_of
from tests.support.checker.oracle import Sampler, is_linearizable
from tests.support.checker.written import written
from tests.support.draws import draws

STALE: list[dict[str, Any]] = [
    {"process": 0, "type": "invoke", "f": "write", "value": 7},
    {"process": 0, "type": "ok", "f": "write", "value": 7},
    {"process": 1, "type": "invoke", "f": "read", "value": None},
    {"process": 1, "type": "ok", "f": "read", "value": None},
]


def test_tables() -> None:
    assert check(pd.DataFrame(STALE), Register()).verdict == "invalid"
    assert check(pa.Table.from_pylist(STALE)).verdict == "invalid"
    assert check(pa.Table.from_pylist(STALE[:2])).verdict == "valid"
    assert check([]).verdict == "valid"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "done"}, "row 1: type must be one of invoke, ok, fail, info; found 'done'"),
        ({"process": 1}, "process 1 completes an operation that it never invoked"),
        ({"process": "x"}, "row 1: process must be an integer"),
        ({"key": True}, "row 1: key must be a string or an integer, found True"),
        ({"index": "1"}, "row 1: index must be an integer, found '1'"),
        ({"time": float("nan")}, "row 1: time must be a number, found nan"),
        ({"type": "invoke"}, "process 0 has an open operation"),
        ({"f": "read"}, "completes read of None, but write of None was invoked"),
    ],
)
def test_bad_tables(change: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        check([STALE[0], {**STALE[1], **change}])


def test_missing_columns_and_events_out_of_order() -> None:
    with pytest.raises(FormatError, match="row 0: the column 'f' is missing"):
        check([{"process": 0, "type": "invoke", "value": 1}])
    with pytest.raises(FormatError, match="out of order"):
        check([Event(1, 0, "invoke", 0, "read", None), Event(0, 1, "ok", 0, "read", 1)])
    rows = [{**row, "index": index} for index, row in enumerate(STALE)]
    assert check(pd.DataFrame(rows)).verdict == "invalid"
    for shuffled in ([*rows[2:], *rows[:2]], pd.DataFrame([*rows[2:], *rows[:2]])):
        with pytest.raises(FormatError, match="index 0: events out of order: it comes after index 3"):
            check(shuffled)


@pytest.mark.parametrize("history", [["a"], {"process": [0]}, [Event(0, 0, "invoke", 0, "read", None), 5]])
def test_what_is_no_event_is_named(history: Any) -> None:
    with pytest.raises(FormatError, match=r"item \d: expected an event, found ['5]"):
        check(history)


@pytest.mark.parametrize("value", [2**63, -(2**64), "seven", 1.5, True, [1, 2, 3], {"a": 1}])
def test_values_of_any_kind_are_compared_as_they_are(value: Any, tmp_path: Path) -> None:
    events = [Event(0, 0, "invoke", 0, "write", value), Event(1, 1, "ok", 0, "write", value),
              Event(2, 2, "invoke", 1, "read", None), Event(3, 3, "ok", 1, "read", value)]  # fmt: skip
    assert check(events).verdict == "valid"
    assert check([*events[:3], Event(3, 3, "ok", 1, "read", 1)]).verdict == "invalid"
    path = written(tmp_path / "history.jsonl", events)
    assert check(path).verdict == "valid"
    with pytest.raises(NotColumnarError):
        read_columns(path)


def columns_like_events(samples: int, directory: Path, *, keys: int) -> None:
    random, seen = Random(keys), {"valid": 0, "invalid": 0}
    for number in range(samples):
        doubt, cas = random.random() < 0.6, random.random() < 0.4
        sampler = Sampler(random, values=random.choice([None, None, 3]), cas=cas, truth=0.85, doubt=doubt)
        events = events_of(sampler.history(random.randint(1, 9), 4))
        path = written(directory / f"{number}.jsonl", events, keys)
        slow = check(path, "cas-register")
        fast = check(read_columns(path).columns, "cas-register")
        assert {key.key: key.verdict for key in fast.keys} == {key.key: key.verdict for key in slow.keys}
        assert slow.verdict == fast.verdict
        kinds = [[example.kind for example in key.counterexamples] for report in (fast, slow) for key in report.keys]
        assert sorted(kinds[: len(fast.keys)]) == sorted(kinds[len(fast.keys) :])
        seen[fast.verdict] += 1
    assert min(seen.values()) > samples / 20


@pytest.mark.parametrize("keys", [1, 4])
@pytest.mark.parametrize("small", [0, 400])
def test_columns_say_what_events_say(keys: int, small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_columns, "PLAIN_SEARCH_CALLS", small)
    columns_like_events(draws(150, 400), tmp_path, keys=keys)


@pytest.mark.parametrize(("value", "engine"), [(77, "values"), (2, "value-timeline automaton")])
def test_large_histories_by_columns_give_small_true_counterexamples(value: int, engine: str, tmp_path: Path) -> None:
    events = events_of(Sampler(Random(3), values=4, truth=1.0, doubt=False).history(5000, 6))
    last: dict[Any, int] = {}
    for middle in events:
        # Long after the value was last seen or written, a client reads it.
        if (
            middle.type == "ok"
            and middle.index > 6000
            and middle.f == "read"
            and last.get(value, 0) < middle.index - 60
        ):
            break
        last[middle.value] = middle.index
    lie = Event(middle.index, middle.time, "ok", middle.process, "read", value)
    path = written(tmp_path / "history.jsonl", [lie if e is middle else e for e in events])
    report = check_columns(read_columns(path).columns)
    assert report.verdict == "invalid"
    assert report.keys[0].engine == engine
    (example,) = report.counterexamples
    assert len(example.operations) <= 4
    assert not is_linearizable(example.operations)


def test_a_value_out_of_nowhere_does_not_hide_a_stale_read(tmp_path: Path) -> None:
    events = events_of(Sampler(Random(3), values=4, truth=1.0, doubt=False).history(2000, 6))
    end = events[-1].index
    reported = [("write", 1), ("write", 2), ("read", 1), ("read", 77), ("read", 77)]
    for number, (f, value) in enumerate(reported):
        moment = end + 1 + 2 * number
        events.append(Event(moment, moment * 10**6, "invoke", 90, f, value if f == "write" else None))
        events.append(Event(moment + 1, (moment + 1) * 10**6, "ok", 90, f, value))
    report = check_columns(read_columns(written(tmp_path / "history.jsonl", events)).columns)
    kinds = [example.kind for example in report.counterexamples]
    assert (report.keys[0].violations, len(kinds), kinds[1]) == (2, 2, "never-written")
    assert not is_linearizable(report.counterexamples[0].operations)


def test_a_counterexample_is_a_history_of_its_own(tmp_path: Path) -> None:
    report = check(STALE)
    (example,) = report.counterexamples
    path = written(tmp_path / "small.jsonl", as_events(example))
    again = check(path)
    assert again.verdict == "invalid"
    assert again.counterexamples[0].kind == example.kind
    text = render(report, draw=draw)
    assert text.startswith("invalid: 2 operations, 1 key, by zones")
    assert "lost-write in 2 operations: the register was absent at the start" in text
    assert "write 7 0.00" in text
    assert "├" in text
    assert "├" not in render(report)


def test_parquet(tmp_path: Path) -> None:
    records = []
    for operation in pair([Event(i, i, r["type"], r["process"], "read" if r["f"] == "read" else "write", r["value"])
                           for i, r in enumerate(STALE)]):  # fmt: skip
        record = operation.to_json()
        records.append({**record, **{name: json.dumps(record[name]) for name in ("value", "result")}})
    table = pa.Table.from_pylist(records, schema=OPERATIONS)
    pq.write_table(table, tmp_path / "operations.parquet")
    assert check(tmp_path / "operations.parquet").verdict == "invalid"
    pq.write_table(table.drop_columns(["outcome"]), tmp_path / "thin.parquet")
    with pytest.raises(FormatError, match="the column 'outcome' is missing"):
        read_any(tmp_path / "thin.parquet")
    (tmp_path / "torn.parquet").write_bytes((tmp_path / "thin.parquet").read_bytes()[:100])
    with pytest.raises(FormatError, match="expected Parquet"):
        read_any(tmp_path / "torn.parquet")


BAD_LINES = {
    '{"index":2,"time":3,"type":"ok","process":0,"value":1}': "line 4: the field 'f' is missing",
    '{"index":2,"time":3,"type":"okay","process":0,"f":"write","value":1}': "line 4: type must be one of",
    '{"index":3,"time":3,"type":"ok","process":0,"f":"write","value":1}': "line 4: expected index 2, found 3",
    '{"index":2,"time":0,"type":"ok","process":0,"f":"write","value":1}': "line 4: time 0 is before",
    '{"index":2,"time":NaN,"type":"ok","process":0,"f":"write","value":1}': "line 4: expected a JSON object: NaN is no",
    '{"index":2,"time":3,"type":"ok","process":7,"f":"write","value":1}': "process 7 completes an operation that it "
    "never invoked",
    '{"index":2,"time":3,"type":"invoke","process":0,"f":"write","value":1}': "process 0 has an open operation",
    '{"index":2,"time":3,"type":"ok","process":0,"f":"read","value":1}': "completes read of None",
    '{"index":2,"time":3,"type":"ok","process":0.5,"f":"write","value":1}': "line 4: process must be an integer",
    '{"index":2,"time":3,"ty': "line 4: expected a JSON object",
    "[1]": "line 4: expected a JSON object, found list",
    "": "line 4: expected a JSON object",
}


@pytest.mark.parametrize(("line", "message"), BAD_LINES.items())
def test_both_readers_of_jsonl_refuse_the_same_lines(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    head = ['{"format":"harness-history","version":1}',
            '{"index":0,"time":1,"type":"invoke","process":0,"f":"write","value":1}',
            '{"index":1,"time":2,"type":"invoke","process":"nemesis","f":"kill","value":{"id":1}}']  # fmt: skip
    path.write_text("\n".join([*head, line]) + "\n")
    with pytest.raises(FormatError, match=message):
        read_any(path)
    with pytest.raises(FormatError, match=message):
        read_columns(path)


def test_files_that_hold_nothing(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="line 1: expected a history, found an empty file"):
        read_any(path)
    with pytest.raises(FormatError, match="line 1"):
        read_columns(path)
    path.write_text('{"format":"other"}\n')
    with pytest.raises(FormatError, match="line 1"):
        read_columns(path)


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "history.jsonl", events_of(Sampler(Random(1), values=None).history(9, 3)))
    whole = read_columns(path)
    data = path.read_bytes()
    path.write_bytes(data[:-5])
    torn = read_columns(path)
    assert (whole.torn, torn.torn) == (False, True)
    assert isinstance(torn.columns, OperationColumns)
    assert read_any(path, large=0).torn


class Switch(Model):
    """A user's model whose state is a truth value."""

    name = "switch"
    initial = False

    def step(self, state: Any, f: str, value: Any, result: Any) -> Any:
        return value if f == "set" else (state if result in (state, UNKNOWN) else ILLEGAL)


@pytest.mark.parametrize(("seen", "verdict"), [(True, "valid"), (False, "invalid"), (1, "invalid")])
def test_truth_values_are_what_a_users_model_compares_them_with(seen: Any, verdict: str) -> None:
    reported = [
        (0, "invoke", "set", True),
        (0, "ok", "set", True),
        (1, "invoke", "read", None),
        (1, "ok", "read", seen),
    ]
    events = [{"process": process, "type": type_, "f": f, "value": value} for process, type_, f, value in reported]
    assert check(events, Switch()).verdict == verdict
