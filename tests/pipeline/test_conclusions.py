"""What was concluded from a run, as tables: the warehouse says why when the run's directory is gone."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from history import SECOND, Counterexample, FormatError, KeyVerdict, Operation, RunFiles
from history.metrics.recovery import LoadSpan
from history.records.events import PHASES
from history.records.verdicts import Linearization
from history.tables.schemas import CONCLUSIONS, COVERAGE
from history.tables.warehouse import read_runs
from pipeline import append_run, local_tables, read_all, read_table
from pipeline.tables.conclusions import counterexample_table, coverage_table
from pipeline.tables.judging import verdict_table

STALE = {"type": "Contradiction", "check": "linearizable", "kind": "stale-read", "count": 2}
CHECKS: list[dict[str, Any]] = [
    {"name": "linearizable", "kind": "check", "verdict": "invalid", "asked": "one order", "seen": "2 violations",
     "findings": [STALE]},
    {"name": "recovery", "kind": "check", "verdict": "invalid", "asked": "all apply", "seen": "n2 stuck",
     "findings": [{"type": "Finding", "check": "recovery", "kind": "no-recovery", "nodes": ["n2"]}]},
    {"name": "node-logs", "kind": "check", "verdict": "valid", "asked": "no alarm", "seen": "5 read", "findings": []},
    {"name": "under-fault", "kind": "gate", "verdict": "unknown", "asked": "operations", "seen": "too few",
     "findings": [{"type": "UnderFault", "faults": [{"id": 1, "fault": "kill", "ok": 7, "least": 9, "exempt": ""}]}]},
]  # fmt: skip
RESULTS = {
    "verdict": "invalid",
    "sentence": "linearizable: no",
    "checks": CHECKS,
    "keys": [{"counterexamples": [{"kind": "stale-read", "sentence": "", "operations": []}]}],
    "environment": {"java": "17 \ud800", "nodes": {"n1": "10.0.0.1"}, "cores": 2},
    "warnings": ["a clock ran away"],
    "harness_failure": None,
}
SUITE = {"cell": "a", "expected": {"verdicts": ["valid", "invalid"], "kinds": []}, "as_expected": True}


@pytest.fixture
def judged(recorder, tmp_path) -> RunFiles:
    recorder.event("invoke", 0, "write", value=1, key="k", phase="main").event("ok", 0, "write", value=1, key="k")
    recorder.at(1000).fault("invoke", 1, "inject", "kill", nodes=["n1"], leader="n1", family="process")
    recorder.at(1100).fault("ok", 1, "inject", "kill")
    recorder.at(2000).fault("invoke", 1, "heal", "kill").fault("ok", 1, "heal", "kill")
    recorder.at(3000).event("invoke", 0, "read", key="k", phase="main").event("ok", 0, "read", value=2, key="k")
    made = recorder.close()
    root = tmp_path / "store" / "t" / "20261122T193303.192Z-5"
    root.parent.mkdir(parents=True)
    shutil.move(made.root, root)
    run = RunFiles(root)
    run.results.write_text(json.dumps(RESULTS))
    run.suite.write_text(json.dumps(SUITE))
    local_tables(run, model="register", deadline_s=10)
    return run


def rows(warehouse: Any, name: str) -> list[dict[str, Any]]:
    return read_all(warehouse, name).to_pylist()


def test_the_warehouse_says_why_when_the_run_is_gone(judged: RunFiles, tmp_path) -> None:
    warehouse = tmp_path / "warehouse"
    append_run(warehouse, judged)
    shutil.rmtree(judged.root)
    (run,) = read_runs(warehouse).to_pylist()
    assert run["started_at"] == datetime.fromisoformat("2026-11-22T19:33:03.192")
    assert (run["sentence"], run["kinds"]) == ("linearizable: no", ["no-recovery", "stale-read"])
    assert (run["failed_gates"], run["warnings"]) == (["under-fault"], ["a clock ran away"])
    assert (run["expected"], run["as_expected"]) == (["valid", "invalid"], True)
    checks = {row["name"]: row for row in rows(warehouse, "checks")}
    assert {name: (row["kind"], row["verdict"], row["seen"]) for name, row in checks.items()} == {
        check["name"]: (check["kind"], check["verdict"], check["seen"]) for check in CHECKS
    }
    assert {name: (row["kinds"], row["nodes"]) for name, row in checks.items() if row["kinds"]} == {
        "linearizable": (["stale-read"], []),
        "recovery": (["no-recovery"], ["n2"]),
    }
    assert json.loads(checks["linearizable"]["findings"]) == [STALE]
    assert {row["key"]: row["value"] for row in rows(warehouse, "environment")} == {
        "java": "17 \\ud800", "nodes.n1": "10.0.0.1", "cores": "2",
    }  # fmt: skip
    (hit,) = rows(warehouse, "coverage")
    assert hit == {
        "run": run["run"], "fault": "kill", "family": "process", "phase": "main", "installed": 1, "skipped": 0,
        "indeterminate": 0, "stood_s": 1.0, "nodes": ["n1"], "on_leader": 1, "ok": 7,
    }  # fmt: skip
    (example,) = rows(warehouse, "counterexamples")
    assert (example["key"], example["place"], example["shown_at"]) == ('"k"', 0, 3 * SECOND)
    assert [(one["f"], one["value"], one["result"]) for one in example["core"]][-1] == ("read", "null", "2")
    events = [(row["time"], row["kind"], row["name"], row["nodes"]) for row in rows(warehouse, "events")]
    assert [event for event in events if event[1] != "gap"] == [
        (0, "violation", "stale-read", []),
        (SECOND, "fault", "kill", ["n1"]),
        (2 * SECOND, "heal", "kill", ["n1"]),
        (None, "violation", "no-recovery", ["n2"]),
    ]


def test_what_a_suite_expected_is_added_after_the_run_was(judged: RunFiles, tmp_path) -> None:
    """A run adds itself when it ends; its suite says what was expected of it only then."""
    suite = judged.suite.read_text()
    judged.suite.unlink()
    assert append_run(tmp_path / "warehouse", judged)
    assert read_runs(tmp_path / "warehouse")["expected"].to_pylist() == [None]
    judged.suite.write_text(suite)
    assert append_run(tmp_path / "warehouse", judged)
    assert read_runs(tmp_path / "warehouse")["expected"].to_pylist() == [["valid", "invalid"]]


def test_a_run_that_was_never_judged_has_no_reasons(judged: RunFiles, tmp_path) -> None:
    judged.results.unlink()
    append_run(tmp_path / "warehouse", judged)
    assert [len(rows(tmp_path / "warehouse", name)) for name in CONCLUSIONS] == [0, 1, 0, 1, 4]
    (run,) = read_runs(tmp_path / "warehouse").to_pylist()
    assert (run["sentence"], run["kinds"], run["failed_gates"]) == (None, None, None)


@pytest.mark.parametrize("checks", [7, [7], [{"name": "x"}]])
def test_results_of_another_shape_are_named(judged: RunFiles, tmp_path, checks: Any) -> None:
    judged.results.write_text(json.dumps({**RESULTS, "checks": checks}))
    with pytest.raises(FormatError, match=r"results\.json"):
        append_run(tmp_path / "warehouse", judged)


# -- coverage ---------------------------------------------------------------------------------------------------------

TIMES = st.integers(0, 12)
FAULTS = st.builds(
    lambda **fields: {"family": "x", "leader": "n1", **fields},
    fault=st.sampled_from(["kill", "pause"]),
    state=st.sampled_from(["installed", "skipped", "indeterminate"]),
    started=TIMES,
    healed=st.none() | TIMES,
    target_nodes=st.sampled_from([[], ["n1"], ["n2", "n1"], ["n3"]]),
)


def within(time: float, begin: int, end: int) -> str:
    if begin == end:
        return "main"
    return "warm-up" if time < begin else "final" if time > end else "main"


@given(st.lists(FAULTS, max_size=6), TIMES, TIMES, TIMES, st.sets(st.integers(0, 5)))
def test_coverage_by_brute_force(faults: list[dict], one: int, other: int, more: int, counted: set[int]) -> None:
    begin, end = sorted((one, other))
    last = max([end + more, *(fault[name] or 0 for fault in faults for name in ("started", "healed"))])
    for number, fault in enumerate(faults):
        fault |= {"id": number, "started": fault["started"] * SECOND}
        if fault["healed"] is not None:
            fault["healed"] = max(fault["healed"] * SECOND, fault["started"])
    load = LoadSpan(begin * SECOND, end * SECOND, last * SECOND)
    found = coverage_table(faults, load, {number: 10 + number for number in counted})
    assert found.schema.equals(COVERAGE)
    by_cell = {(row["fault"], row["phase"]): row for row in found.to_pylist()}
    assert len(by_cell) == found.num_rows
    for name in ("kill", "pause"):
        mine = [fault for fault in faults if fault["fault"] == name]
        for phase in PHASES:
            here = [fault for fault in mine if within(fault["started"] / SECOND, begin, end) == phase]
            stood = 0
            for fault in mine:
                until = last if fault["healed"] is None else fault["healed"] // SECOND
                for second, _ in pairwise(range(fault["started"] // SECOND, until + 1)):
                    stood += fault["state"] == "installed" and within(second + 0.5, begin, end) == phase
            ok = [10 + f["id"] for f in mine if f["id"] in counted and phase == "main"]
            row = by_cell.get((name, phase))
            if row is None:
                assert (here, stood, ok) == ([], 0, [])
                continue
            states = [fault["state"] for fault in here]
            assert [row[s] for s in ("installed", "skipped", "indeterminate")] == [
                states.count(s) for s in ("installed", "skipped", "indeterminate")
            ]
            hit = [fault["target_nodes"] for fault in here if fault["state"] == "installed"]
            assert row["nodes"] == sorted({node for nodes in hit for node in nodes})
            assert row["on_leader"] == sum("n1" in nodes for nodes in hit)
            assert (row["stood_s"], row["ok"]) == (stood, sum(ok) if ok else None)


# -- counterexamples --------------------------------------------------------------------------------------------------


def operation(index: int, value: Any) -> Operation:
    return Operation(1, "write", "k\ud800", value, value, "ok", index, index + 1, index, index + 1, "n1", None, "main")


@given(st.lists(st.lists(st.integers() | st.text(max_size=2) | st.none(), max_size=3), max_size=3))
def test_cores_are_the_operations_of_the_details(values: list[list[Any]]) -> None:
    examples = tuple(
        Counterexample("lost", f"s{n}", tuple(operation(4 * i, value) for i, value in enumerate(row)),
                       Linearization(None, (), (0,)) if row else None)
        for n, row in enumerate(values)
    )  # fmt: skip
    valid = KeyVerdict(7, "valid", "zones", 3, 0.1)
    table = counterexample_table(verdict_table([KeyVerdict("k", "invalid", "zones", 3, 0.1, 3, examples), valid]))
    found = table.to_pylist()
    assert [(row["key"], row["place"], row["sentence"]) for row in found] == [
        ('"k"', n, f"s{n}") for n in range(len(values))
    ]
    for row, cells in zip(found, values, strict=True):
        assert [json.loads(one["value"]) for one in row["core"]] == [
            json.loads(json.dumps(cell).encode("utf-8", "backslashreplace")) for cell in cells
        ]
        assert row["suspects"] == ([0] if cells else [])
        assert row["shown_at"] == 4 * max(len(cells) - 1, 0)


def test_a_table_that_lacks_a_column_has_nulls_there_and_one_of_another_type_is_refused(judged: RunFiles) -> None:
    part = judged.table("faults") / "part-00000.parquet"
    now = pq.ParquetFile(part).read()
    old = now.drop_columns(["family", "reason"])
    pq.write_table(old, part)
    (row,) = read_table(judged.table("faults"), "faults").to_pylist()
    assert (row["reason"], row["family"], row["started"]) == (None, None, SECOND)
    pq.write_table(old.set_column(0, "id", pa.array(["1"])).replace_schema_metadata(now.schema.metadata), part)
    with pytest.raises(FormatError, match="the column id of faults is string, but this release needs int64"):
        read_table(judged.table("faults"), "faults")
