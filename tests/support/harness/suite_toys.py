"""Cells and attempts for tests of suites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.plan import Plan
from harness.suite.cell_process import Attempt
from harness.suite.cells import Cell
from harness.suite.expectation import Expectation, Outcome
from harness.suite.journal import Begun

EXAMPLE = {
    "kind": "stale-read",
    "sentence": "process 2 read 1 although 2 had replaced it",
    "operations": [
        {"process": process, "f": f, "value": value, "result": result, "outcome": "ok", "invoked": 10 * n,
         "returned": 10 * n + 5, "invoke_index": 2 * n, "return_index": 2 * n + 1, "key": "k0", "node": "n1",
         "error": None, "phase": "main"}
        for n, (process, f, value, result) in enumerate([(0, "write", 1, 1), (1, "write", 2, 2), (2, "read", None, 1)])
    ],
}  # fmt: skip


def cell(name: str, seed: int = 1, expected: Expectation | None = None, skip: str = "", **options: Any) -> Cell:
    plan = Plan(seed=seed, warm_up=1.0, time_limit=9.0, **options)
    return Cell(name, plan, expected or Expectation(), skip)


def attempt(of: str, outcome: Outcome = "passed", **more: Any) -> Attempt:
    usual: dict[Outcome, dict[str, Any]] = {
        "passed": {"code": 0, "verdict": "valid"},
        "violation": {"code": 1, "verdict": "invalid", "kinds": ("stale-read",)},
        "missing-violation": {"code": 0, "verdict": "valid"},
        "unknown": {"code": 2, "verdict": "unknown"},
        "harness-failure": {"code": 255, "retryable": True},
    }
    return Attempt(of, outcome, **{"sentence": f"{of} {outcome}", "seconds": 20.0, **usual[outcome], **more})


def begun(*cells: Cell, retries: int = 1) -> Begun:
    return Begun("toy", "suites/toy.toml", 3, "1/1", retries, "netns", cells)


def leave_run(store: Path, plan: Plan, *, name: str = "", **results: Any) -> Path:
    """Make a run directory with plan and results, as a run leaves it."""
    root = store / plan.test / (name or f"20260101T000000.000Z-{plan.seed}")
    root.mkdir(parents=True)
    (root / "plan.json").write_text(json.dumps(plan.to_json()))
    if results:
        (root / "results.json").write_text(json.dumps(results))
    return root
