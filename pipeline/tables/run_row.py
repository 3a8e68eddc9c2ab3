"""One run as one row: what is kept of it to be compared with others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from history import RunFiles
from history.json_object import read_object
from history.metrics.recovery import never_recovered
from history.records.plans import nemesis_name, system_version
from pipeline.tables.columns import clean

_SETTINGS: Final = (
    "cluster", "nodes", "timers", "store", "read_mode", "client_follows", "concurrency", "rate", "keys", "time_limit",
    "interval", "client_timeout",
)  # fmt: skip
"""What of a plan moves the figures, besides system version, nemesis and workload."""


def run_row(
    run: RunFiles, name: str, load: dict[str, Any], tables: Mapping[str, pa.Table], fingerprint: str, written: int
) -> dict[str, Any]:
    """The row of a run; what plan and results do not tell is left empty.

    ``load`` is what ``pipeline.tables.load_figures`` says of its operations, ``tables`` holds its verdicts and faults.
    """
    plan, results = _object(run.plan), _object(run.results)
    test, _, started = name.rpartition("/")
    verdicts = tables["verdicts"]
    row = {
        "run": name,
        "test": test,
        "started": started,
        "system_version": system_version(plan),
        "nemesis": nemesis_name(plan),
        "workload": str(plan.get("workload", "")),
        "settings": _settings(plan),
        "verdict": _verdict(results, _object(run.state), verdicts, planned=bool(plan)),
        "violations": int(pc.sum(verdicts["violations"]).as_py() or 0),
        "written": written,
        "fingerprint": fingerprint,
        **load,
        **_fault_figures(tables["faults"]),
    }
    return {key: clean(cell) if isinstance(cell, str) else cell for key, cell in row.items()}


def _settings(plan: dict[str, Any]) -> str:
    """Only runs with equal settings are compared with each other."""
    told: dict[str, str] = {name: str(plan[name]) for name in _SETTINGS if name in plan}
    if "cluster" in told:
        told["cluster"] = told["cluster"].partition(":")[0]
    if plan.get("snapshot") and "snapshot_threshold" in plan:
        told["snapshot_threshold"] = str(plan["snapshot_threshold"])
    if plan.get("schedule"):
        told["schedule"] = hashlib.sha256(json.dumps(plan["schedule"]).encode()).hexdigest()[:12]
    return " ".join(f"{name}={value}" for name, value in told.items())


def _object(path: Path) -> dict[str, Any]:
    """A JSON object in a file, or an empty one: a run may have been killed before it was written."""
    try:
        return read_object(path)
    except ValueError:
        return {}


def _verdict(results: dict[str, Any], state: dict[str, Any], verdicts: pa.Table, *, planned: bool) -> str:
    """Of a history alone what its keys say; a run of ours that was never judged proves nothing good."""
    if results.get("harness_failure") or (not results and state.get("failures")):
        return "harness failure"
    if results.get("verdict") in ("valid", "invalid", "unknown"):
        return str(results["verdict"])
    found = {*verdicts["verdict"].to_pylist(), *(["unknown"] if planned else [])}
    return next((verdict for verdict in ("invalid", "unknown") if verdict in found), "valid")


def last_moment(faults: pa.Table) -> int:
    """The last moment that the table of faults tells of (ns), 0 without any."""
    told = (pc.max(faults[name]).as_py() for name in ("started", "stood", "heal_started", "healed"))
    return max((moment for moment in told if moment is not None), default=0)


def _fault_figures(faults: pa.Table) -> dict[str, Any]:
    installed = [row for row in faults.to_pylist() if row["state"] == "installed"]
    times = sorted(row["recovered_ms"] for row in installed if row["recovered_ms"] is not None)
    gaps = [row["longest_gap_ms"] for row in installed if row["longest_gap_ms"] is not None]
    return {
        "faults": len(installed),
        "never_recovered": sum(map(never_recovered, installed)),
        "recovery_ms": float(np.median(times)) if times else None,
        "recoveries_ms": json.dumps(times),
        "longest_gap_ms": max(gaps, default=None),
    }
