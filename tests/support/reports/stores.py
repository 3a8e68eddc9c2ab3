"""A store of many small runs, for tests of the list."""

from __future__ import annotations

import json
from pathlib import Path


def many_runs(store: Path, count: int) -> None:
    """Make small run directories with plan, state and results."""
    for number in range(count):
        root = (
            store
            / f"test-{number % 20}"
            / f"20260301T{number // 3600 % 24:02d}{number // 60 % 60:02d}{number % 60:02d}.000Z-{number}"
        )
        root.mkdir(parents=True)
        verdict = ("valid", "valid", "invalid", "unknown")[number % 4]
        plan = {"nemesis": [f"nemesis-{number % 20}"], "version": ("0.4.0", "0.3.2")[number % 2], "seed": number}
        fault = {
            "fault": "x",
            "state": "installed",
            "healed": 1,
            "rate_before": 9.0,
            "rate_after": 8.0,
            "recovered_ms": 100.0 + number % 50,
        }
        checks = [{"name": name, "kind": "check", "verdict": verdict, "asked": "", "seen": ""} for name in "abcdef"]
        results = {"verdict": verdict, "sentence": f"sentence {number}", "checks": checks, "windows": [fault] * 6}
        (root / "plan.json").write_text(json.dumps(plan))
        (root / "run.json").write_text(json.dumps({"moments": {"main": 0, "main-end": 60 * 10**9}}))
        (root / "results.json").write_text(json.dumps(results))
