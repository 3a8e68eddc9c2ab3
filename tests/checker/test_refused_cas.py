"""A cas that was refused by what it saw is a read of that: every engine and every reader against the definition."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker import CasRegister, Report, as_events, check, check_operations
from checker.core.calls import calls_of
from checker.engines.cas_chains import new_values_unique
from history import Operation, read_history
from history.codes import ABSENT, READ
from history.readers import OperationColumns, read_any
from history.tables.operations import operations_table
from reports.text.text_diagram import draw
from tests.support.checker.jsonl import jsonl
from tests.support.checker.oracle import Sampler, is_linearizable
from tests.support.draws import draws
from tests.support.history.foreign_files import edn

Spans = list[tuple[str, Any, Any, int, int]]


def operations_of(spans: Spans) -> list[Operation]:
    """Operations by (function, asked, answered, invocation, return), each of a process of its own."""
    return [
        Operation(process, f, None, asked, answered, "ok", begun, ended, begun, ended)
        for process, (f, asked, answered, begun, ended) in enumerate(spans)
    ]


def judged(spans: Spans, model: Any = "cas-register") -> Any:
    return check_operations(operations_of(spans), model)


def drawn(seed: int) -> tuple[list[Operation], int | None]:
    random = Random(seed)
    initial = random.choice([None, None, 0, 1])
    sampler = Sampler(
        random, values=random.choice([None, None, 2, 3]), cas=True, truth=random.choice([0.5, 0.8, 0.95]),
        doubt=random.random() < 0.6, refusals=True, initial=initial,
    )  # fmt: skip
    return sampler.history(random.randint(1, 8), 3), initial


@given(seed=st.integers(0, 2**32))
@settings(max_examples=draws(150, 1000))
def test_every_engine_agrees_with_the_definition(seed: int) -> None:
    history, initial = drawn(seed)
    expected = "valid" if is_linearizable(history, initial=initial) else "invalid"
    model = CasRegister(initial)
    verdict = check_operations(history, model)
    assert verdict.verdict == expected
    for example in verdict.counterexamples:
        assert not is_linearizable(example.operations, initial=initial)
        assert draw(example)
    engines = ["search", "python-search", "wgl"]
    if new_values_unique(calls_of(history, model), initial):
        engines.append("chains")
    for engine in engines:
        assert check_operations(history, model, engine=engine, proofs=False).verdict == expected, engine


def every_way(path: Path, model: Any) -> list[Report]:
    """The reports on one history by every reader."""
    history = read_history(path)
    text = path.with_suffix(".edn")
    text.write_bytes(edn([event.to_json() for event in history.events]))
    rows = read_any(path).operations
    assert rows is not None
    table = path.with_suffix(".parquet")
    pq.write_table(operations_table(rows), table)
    found = [read_any(path, large=0), read_any(text), read_any(text, large=0), read_any(table)]
    for one in found:
        operations = one.operations
        if one.columns is not None:
            operations = [one.columns.operation(row) for row in range(one.columns.invoke.size)]
        assert [(o.f, o.value, o.result, o.outcome) for o in operations or ()] == [
            (o.f, o.value, o.result, o.outcome) for o in rows
        ]
    return [check(one, model) for one in (path, *found)]


@given(seed=st.integers(0, 2**32), keyed=st.booleans())
@settings(max_examples=draws(20, 200))
def test_every_reader_reads_the_same(seed: int, keyed: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    parts = [drawn(seed + key) for key in range(2 if keyed else 1)]
    initial = parts[0][1]
    operations, offset = [], 0
    for key, (history, _) in enumerate(parts):
        for o in history:
            record = o.to_json() | {"key": f"k{key}" if keyed else None, "process": o.process + 10 * key}
            record |= {"invoke_index": o.invoke_index + offset, "return_index": (o.return_index or 0) + offset}
            operations.append(Operation.from_json(record))
        offset += 100
    path = jsonl(tmp_path_factory.mktemp("refusals") / "history.jsonl", operations)
    expected = [is_linearizable(history, initial=initial) for history, _ in parts]
    for report in every_way(path, CasRegister(initial)):
        assert [key.verdict == "valid" for key in report.keys] == expected


STALE: Spans = [
    ("write", 1, None, 0, 1), ("write", 2, None, 2, 3), ("read", None, 2, 4, 5), ("cas", [3, 4], [3, 4, 1], 6, 7),
]  # fmt: skip


def test_an_old_value_is_a_stale_read_and_a_new_one_is_none() -> None:
    verdict = judged(STALE)
    assert (verdict.verdict, verdict.counterexamples[0].kind) == ("invalid", "stale-read")
    assert "process 3 began a cas of 3 to 4 that was refused by 1" in verdict.counterexamples[0].sentence
    assert "cas 3 → 4 refused by 1" in draw(verdict.counterexamples[0])
    assert judged([*STALE[:3], ("cas", [3, 4], [3, 4, 2], 6, 7)]).verdict == "valid"


def test_a_stale_refusal_among_very_many_is_reported_alike(tmp_path: Path) -> None:
    spans: Spans = []
    for number in range(1, 400):
        spans += [("write", number, None, 0, 0), ("cas", [0, -number], [0, -number, number], 0, 0)]
    spans.append(("cas", [0, 7], [0, 7, 100], 0, 0))
    operations = operations_of([(*span[:3], 2 * place, 2 * place + 1) for place, span in enumerate(spans)])
    path = jsonl(tmp_path / "history.jsonl", operations)
    for report in every_way(path, "cas-register"):
        assert report.verdict == "invalid"
        assert [example.kind for example in report.counterexamples] == ["stale-read"]
        assert "a cas of 0 to 7 that was refused by 100" in report.counterexamples[0].sentence


@pytest.mark.parametrize("model", ["cas-register", "cas-register-unknown", "cas-register-strict"])
def test_what_holds_the_old_value_must_swap(model: str) -> None:
    verdict = judged([("write", 3, None, 0, 1), ("cas", [3, 4], [3, 4, 3], 2, 3)], model)
    assert (verdict.verdict, verdict.counterexamples[0].kind) == ("invalid", "wrong-refusal")
    assert "saw its cas of 3 to 4 refused by 3" in verdict.counterexamples[0].sentence
    assert judged([("write", 3, None, 0, 1), ("cas", [5, 4], [5, 4, 3], 2, 3)], model).verdict == "valid"


def test_absent_is_a_value_too() -> None:
    assert judged([("cas", [1, 2], [1, 2, None], 0, 1)]).verdict == "valid"
    assert judged([("write", 3, None, 0, 1), ("cas", [1, 2], [1, 2, None], 2, 3)]).verdict == "invalid"
    assert judged([("cas", [None, 2], [None, 2, None], 0, 1)]).verdict == "invalid"


def test_true_is_not_one() -> None:
    assert judged([("write", True, None, 0, 1), ("cas", [1, 2], [1, 2, True], 2, 3)]).verdict == "valid"
    assert judged([("write", 1, None, 0, 1), ("cas", [2, 3], [2, 3, True], 2, 3)]).verdict == "invalid"


def test_it_had_no_effect() -> None:
    refused: Spans = [("write", 1, None, 0, 1), ("cas", [3, 4], [3, 4, 1], 2, 3), ("read", None, 4, 4, 5)]
    verdict = judged(refused)
    assert (verdict.verdict, verdict.counterexamples[0].kind) == ("invalid", "failed-write-read")
    assert "the only cas to 4 (process 1, at" in verdict.counterexamples[0].sentence
    assert judged([*refused[:2], ("read", None, 1, 4, 5)]).verdict == "valid"


def test_a_swap_is_still_a_pair_and_needs_its_old_value() -> None:
    assert judged([("write", 1, None, 0, 1), ("cas", [3, 4], [3, 4], 2, 3)]).verdict == "invalid"
    assert judged([("write", 3, None, 0, 1), ("cas", [3, 4], [3, 4], 2, 3)]).verdict == "valid"


def test_a_refusal_between_two_reads_is_kept_and_shrunk_to_a_history_of_its_own(tmp_path: Path) -> None:
    spans: Spans = []
    for number in range(600):
        spans += [("write", number % 5, None, 0, 0), ("cas", [9, 8], [9, 8, number % 5], 0, 0)]
    spans += [("write", 4, None, 0, 0), ("cas", [9, 8], [9, 8, 2], 0, 0)]
    verdict = judged([(*span[:3], 2 * place, 2 * place + 1) for place, span in enumerate(spans)])
    assert verdict.verdict == "invalid"
    example = verdict.counterexamples[0]
    assert len(example.operations) <= 3
    events = as_events(example)
    assert check(events, "cas-register").verdict == "invalid"
    assert [9, 8, 2] in [event.value for event in events if event.type == "ok"]


def test_columns_hold_it_as_a_read(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "history.jsonl", operations_of(STALE))
    columns = read_any(path, large=0).columns
    assert isinstance(columns, OperationColumns)
    assert (columns.kind[3], columns.value[3], columns.old[3]) == (READ, 1, 4)
    assert columns.old[2] == ABSENT
    contradicting = jsonl(tmp_path / "other.jsonl", operations_of([("cas", [3, 4], [3, 4, 3], 0, 1)]))
    assert read_any(contradicting, large=0).columns is None
    assert check(contradicting).verdict == "invalid"


def test_other_models_keep_their_cas() -> None:
    """Three elements mean nothing to an object that is no register."""
    with pytest.raises(ValueError, match="no operation 'cas'"):
        judged([("cas", [1, 2], [1, 2, 3], 0, 1)], "mutex")


def test_the_tables_keep_it(tmp_path: Path) -> None:
    table = operations_table(operations_of(STALE))
    assert json.loads(table["result"][3].as_py()) == [3, 4, 1]
