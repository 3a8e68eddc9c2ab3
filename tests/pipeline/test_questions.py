"""The questions of docs/questions.md, each with the answer that plain Python computes from the same rows."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from bench.pipeline.generated_runs import made_tables, write_by_month
from bench.pipeline.questions import NOTEBOOK, PAGE, notebook, opened, questions
from history import RunFiles
from history.metrics.recovery import never_recovered
from history.tables.schemas import ALL_TABLES
from history.tables.warehouse import read_runs
from pipeline import append_run, local_tables, read_all

Rows: TypeAlias = dict[str, list[dict[str, Any]]]
TEXT = PAGE.read_text()
RUNS = 1000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Rows]:
    root = tmp_path_factory.mktemp("questions")
    tables = made_tables(RUNS)
    write_by_month(root / "store" / "warehouse" / "tables", tables)
    rows = {name: table.to_pylist() for name, table in tables.items()}
    by_run = {row["run"]: row for row in rows["runs"]}
    for name, members in rows.items():
        if name != "runs":
            for member in members:
                member["of"] = by_run[member["run"]]
    return root, rows


@pytest.fixture(scope="module")
def db(store: tuple[Path, Rows]) -> Iterator[Any]:
    with opened(TEXT, store[0]) as connection:
        yield connection


def grouped(rows: list[dict[str, Any]], key: Callable[[dict[str, Any]], Any]) -> dict[Any, list[dict[str, Any]]]:
    found: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return dict(found)


def judged(rows: Rows) -> list[dict[str, Any]]:
    return [run for run in rows["runs"] if run["verdict"] != "harness failure"]


def nearest_rank(values: list[float], share: float) -> float:
    return sorted(values)[math.ceil(share * len(values)) - 1]


def recovery(rows: Rows) -> list[tuple[Any, ...]]:
    compared = [f for f in rows["faults"] if f["of"]["verdict"] != "harness failure" and f["rate_before"] is not None]
    groups = grouped(compared, lambda f: (f["fault"], f["of"]["system_version"], f"{f['of']['started_at']:%Y-%m}"))
    return sorted(
        (*key, len(group), sum(map(never_recovered, group)),
         nearest_rank([math.inf if f["recovered_ms"] is None else f["recovered_ms"] for f in group], 0.5))
        for key, group in groups.items()
    )  # fmt: skip


def flakiness(rows: Rows) -> list[tuple[Any, ...]]:
    found = []
    for key, group in grouped(judged(rows), lambda r: (r["system_version"], r["nemesis"], r["workload"])).items():
        verdicts = [run["verdict"] for run in sorted(group, key=lambda run: run["started"])]
        changes = sum(before != after for before, after in pairwise(verdicts))
        if changes:
            found.append((*key, len(group), changes, changes / (len(group) - 1)))
    return sorted(found, key=lambda row: (-row[-1], *row[:3]))


def coverage(rows: Rows) -> list[tuple[Any, ...]]:
    main = [c for c in rows["coverage"] if c["phase"] == "main"]
    groups = grouped(main, lambda c: (c["fault"], c["of"]["system_version"], c["of"]["workload"]))
    found = [
        (*key, *(sum(c[name] for c in group) for name in ("installed", "on_leader")),
         round(sum(c["stood_s"] for c in group) / 3600, 2), sum(c["ok"] for c in group))
        for key, group in groups.items()
    ]  # fmt: skip
    return sorted(found, key=lambda row: (row[3], *row[:3]))


def versions(rows: Rows) -> list[tuple[Any, ...]]:
    found = []
    names = ("nemesis", "workload", "settings", "machine")
    for key, group in grouped(judged(rows), lambda run: tuple(run[name] for name in names)).items():
        medians: list[Any] = []
        for figure in ("rate", "p99_ms"):
            for version in ("0.3.2", "0.4.0"):
                values = [run[figure] for run in group if run["system_version"] == version]
                medians.append(statistics.median(values) if values else None)
        if None not in medians:
            before, since, slow_before, slow_since = medians
            found.append((*key, *medians, since / before - 1, slow_since / slow_before - 1))
    return sorted(found, key=lambda row: (row[-2], *row[:4]))


def findings(rows: Rows) -> list[tuple[Any, ...]]:
    found = []
    for kind in {kind for run in rows["runs"] for kind in run["kinds"]}:
        seen = sorted((run for run in rows["runs"] if kind in run["kinds"]), key=lambda run: run["started"])
        nights = [run["started_at"].date() for run in seen]
        found.append(
            (kind, len(seen), nights[0], nights[-1], seen[0]["run"], sorted({r["system_version"] for r in seen}))
        )
    return sorted(found, key=lambda row: (row[2], row[0]))


def slow(rows: Rows) -> list[tuple[Any, ...]]:
    found = []
    for key, group in grouped(rows["verdicts"], lambda v: (v["engine"], v["of"]["workload"])).items():
        longest = max(group, key=lambda verdict: verdict["seconds"])
        p99 = nearest_rank([verdict["seconds"] for verdict in group], 0.99)
        found.append((*key, len(group), sum(v["operations"] for v in group), p99, longest["seconds"], longest["run"]))
    return sorted(found, key=lambda row: -row[5])


def gates(rows: Rows) -> list[tuple[Any, ...]]:
    failed = [c for c in rows["checks"] if c["kind"] == "gate" and c["verdict"] != "valid"]
    found = []
    for gate, group in grouped(failed, lambda check: check["name"]).items():
        newest = max(group, key=lambda check: check["of"]["started"])
        found.append((gate, len(group), len(group) / RUNS, newest["of"]["started_at"].date(), newest["seen"]))
    return sorted(found, key=lambda row: (-row[1], row[0]))


def unexpected(rows: Rows) -> list[tuple[Any, ...]]:
    since = max(run["started_at"] for run in rows["runs"]) - timedelta(days=7)
    strange = [run for run in rows["runs"] if run["as_expected"] is False and run["started_at"] > since]
    return [
        (run["started_at"].date(), run["run"], " or ".join(run["expected"]), run["verdict"], run["kinds"],
         run["failed_gates"], run["harness_failure"] or run["sentence"])
        for run in sorted(strange, key=lambda run: run["started"], reverse=True)
    ]  # fmt: skip


def smallest(rows: Rows) -> list[tuple[Any, ...]]:
    found = []
    for kind, group in grouped(rows["counterexamples"], lambda example: example["kind"]).items():
        least = min(group, key=lambda example: (len(example["core"]), example["run"], example["place"]))
        core = [f"{op['f']} {op['value'] if op['result'] is None else op['result']}" for op in least["core"]]
        found.append((kind, len(group), len(core), least["sentence"], core))
    return sorted(found, key=lambda row: (-row[1], row[0]))


def machines(rows: Rows) -> list[tuple[Any, ...]]:
    java = [e for e in rows["environment"] if e["key"] == "java" and e["of"]["verdict"] != "harness failure"]
    groups = grouped(java, lambda e: (e["value"], e["of"]["system_version"]))
    return sorted(
        (*key, len(group), *(statistics.median(e["of"][name] for e in group) for name in ("rate", "p99_ms")))
        for key, group in groups.items()
    )


ANSWERS: dict[str, Callable[[Rows], list[tuple[Any, ...]]]] = {
    "How did recovery go, by fault and version, over the months?": recovery,
    "Which kinds of runs are flaky?": flakiness,
    "What was really hit?": coverage,
    "What changed from one version to the next?": versions,
    "In which night was each finding seen first?": findings,
    "Which checks are slow?": slow,
    "Which gates do runs fail, and why?": gates,
    "What ended otherwise than its suite expected, in the last week?": unexpected,
    "What is the smallest counterexample of each kind?": smallest,
    "Does the machine explain a change?": machines,
}


def test_there_is_an_answer_to_each_question() -> None:
    assert [question.title for question in questions(TEXT)] == list(ANSWERS)


@pytest.mark.parametrize("question", questions(TEXT), ids=lambda question: question.title)
def test_the_answer_is_that_of_plain_python(question: Any, db: Any, store: tuple[Path, Rows]) -> None:
    found = db.sql(question.sql).fetchall()
    expected = ANSWERS[question.title](store[1])
    assert expected
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected, strict=True):
        assert [cell if not isinstance(cell, float) else pytest.approx(cell) for cell in wanted] == list(row)


def test_a_recorded_run_can_be_asked(recorder: Any, tmp_path: Path) -> None:
    """What is really written has the columns that the questions need."""
    recorder.event("invoke", 0, "write", value=1, phase="main").event("ok", 0, "write", value=1)
    recorder.at(3000).fault("invoke", 1, "inject", "kill", nodes=["n1"]).fault("ok", 1, "inject", "kill")
    recorder.at(6000).fault("invoke", 1, "heal", "kill").fault("ok", 1, "heal", "kill")
    recorder.at(9000).event("invoke", 0, "read", phase="main").event("ok", 0, "read", value=2)
    run = RunFiles(tmp_path / "store" / "t" / "20260301T020000.000Z-1")
    run.root.parent.mkdir(parents=True)
    recorder.close().root.rename(run.root)
    gate = {"name": "whole", "kind": "gate", "verdict": "unknown", "asked": "to the end", "seen": "killed"}
    run.results.write_text(json.dumps({"verdict": "invalid", "checks": [gate], "environment": {"java": "17"}}))
    run.suite.write_text(json.dumps({"expected": {"verdicts": ["valid"]}, "as_expected": False}))
    local_tables(run, model="register", deadline_s=10)
    append_run(tmp_path / "warehouse", run)
    tables = {name: read_all(tmp_path / "warehouse", name) for name in ALL_TABLES}
    write_by_month(tmp_path / "store/warehouse/tables", {**tables, "runs": read_runs(tmp_path / "warehouse")})
    with opened(TEXT, tmp_path) as connection:
        rows = {question.title: connection.sql(question.sql).fetchall() for question in questions(TEXT)}
    assert rows["How did recovery go, by fault and version, over the months?"][0][:5] == ("kill", "", "2026-03", 1, 0)
    assert rows["Which gates do runs fail, and why?"][0][4] == "killed"
    assert rows["What was really hit?"][0][:4] == ("kill", "", "", 1)
    assert rows["What is the smallest counterexample of each kind?"][0][4] == ["read 2"]
    assert len(rows["What ended otherwise than its suite expected, in the last week?"]) == 1


def test_the_notebook_is_the_page() -> None:
    assert NOTEBOOK.read_text() == notebook(TEXT), (
        "run: python -m bench.pipeline.questions --notebook > docs/questions.ipynb"
    )


def test_the_notebook_asks_every_question() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) == 1 + len(ANSWERS)
    assert [f'db.sql("""\n{question.sql}""")' for question in questions(TEXT)] == code[1:]
    assert len({cell["id"] for cell in cells}) == len(cells)


@pytest.mark.nightly
def test_the_notebook_runs(store: tuple[Path, Rows]) -> None:
    """As Jupyter runs it: one cell after the other in one namespace, each showing its last value."""
    program = """
import ast, json, sys
names = {}
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        tree = ast.parse("".join(cell["source"]))
        last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            print(repr(eval(compile(last, "cell", "eval"), names)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(NOTEBOOK)], cwd=store[0], text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("─┐\n") == len(ANSWERS)
    assert "stale-read" in done.stdout
