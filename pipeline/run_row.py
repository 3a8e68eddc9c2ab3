"""One run as one row: what is kept of it to be compared with others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from history import RunFiles
from pipeline.columns import clean
from pipeline.recovery import SECOND, Times

RUNS_VERSION: Final = 1
GAP_S: Final = 1
"""A stretch without an ok counts as unavailability if it is longer than this (s)."""


def field(name: str, kind: pa.DataType, meaning: str, *, nullable: bool = False) -> pa.Field:
    """A column with its meaning, as in ``history.tables``."""
    return pa.field(name, kind, nullable=nullable, metadata={"meaning": meaning})


RUNS: Final = pa.schema(
    [
        field("run", pa.string(), "the test's name, a slash, UTC start and seed"),
        field("test", pa.string(), "the test's name"),
        field("started", pa.string(), "UTC start and seed, as the run's directory is named: sorts by time"),
        field("system_version", pa.string(), "of the system under test; empty if unknown"),
        field("nemesis", pa.string(), "faults, joined by +; empty if there were none"),
        field("workload", pa.string(), "as in the plan; empty if unknown"),
        field("verdict", pa.string(), "valid, invalid, unknown or harness failure; of the keys alone if never judged"),
        field("operations", pa.int64(), "how many"),
        field("ok", pa.int64(), "how many"),
        field("violations", pa.int64(), "over all keys"),
        field("rate", pa.float64(), "ok operations a second in the main phase", nullable=True),
        field(
            "unavailable_s", pa.float64(), "s of the main phase in stretches of over 1 s without an ok", nullable=True
        ),
        field("p99_ms", pa.float64(), "ms, latency of ok operations of the main phase", nullable=True),
        field("faults", pa.int64(), "how many were installed"),
        field("never_recovered", pa.int64(), "how many of them had no way back to 95 % of the rate"),
        field("recovery_ms", pa.float64(), "ms, median over the faults that had one", nullable=True),
        field("fingerprint", pa.string(), "of the recorded files; another one means another row"),
    ]
)


def run_row(run: RunFiles, name: str, tables: dict[str, pa.Table], fingerprint: str) -> dict[str, Any]:
    """The row of a run whose tables are ``tables``; what plan and results do not tell is left empty."""
    plan, results = _object(run.plan), _object(run.results)
    test, _, started = name.rpartition("/")
    operations, verdicts = tables["operations"], tables["verdicts"]
    row = {
        "run": name,
        "test": test,
        "started": started,
        "system_version": str(plan.get("version", "")),
        "nemesis": "+".join(map(str, plan.get("nemesis") or ())),
        "workload": str(plan.get("workload", "")),
        "verdict": _verdict(results, verdicts),
        "operations": operations.num_rows,
        "ok": int(pc.sum(pc.equal(operations["outcome"], "ok")).as_py() or 0),
        "violations": int(pc.sum(verdicts["violations"]).as_py() or 0),
        "fingerprint": fingerprint,
        **_load_figures(operations),
        **_fault_figures(tables["faults"]),
    }
    return {key: clean(cell) if isinstance(cell, str) else cell for key, cell in row.items()}


def unavailable(ok: Times, begin: int, end: int) -> float:
    """Seconds between ``begin`` and ``end`` (ns) that lie in stretches of over GAP_S s without an ok."""
    inside = ok[np.searchsorted(ok, begin) : np.searchsorted(ok, end)]
    gaps = np.diff(np.concatenate(([begin], inside, [end])))
    return float(gaps[gaps > GAP_S * SECOND].sum()) / SECOND


def _object(path: Path) -> dict[str, Any]:
    """A JSON object in a file, or an empty one: a run may have been killed before it was written."""
    try:
        record = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _verdict(results: dict[str, Any], verdicts: pa.Table) -> str:
    if results.get("harness_failure"):
        return "harness failure"
    if results.get("verdict") in ("valid", "invalid", "unknown"):
        return str(results["verdict"])
    found = set(verdicts["verdict"].to_pylist())
    return next((verdict for verdict in ("invalid", "unknown") if verdict in found), "valid")


def _load_figures(operations: pa.Table) -> dict[str, float | None]:
    phases = set(operations["phase"].unique().to_pylist())
    main = operations.filter(pc.equal(operations["phase"], "main")) if phases - {None} else operations
    if not main.num_rows:
        return {"rate": None, "unavailable_s": None, "p99_ms": None}
    begin, end = (limit.as_py() for limit in pc.min_max(main["invoked"]).values())
    ok = main.filter(pc.equal(main["outcome"], "ok"))
    times = np.sort(ok["returned"].to_numpy())
    waits = np.sort(times if not len(times) else ok["returned"].to_numpy() - ok["invoked"].to_numpy())
    return {
        "rate": len(times) * SECOND / (end - begin) if end > begin else None,
        "unavailable_s": unavailable(times, begin, end),
        "p99_ms": float(waits[-(-99 * len(waits) // 100) - 1]) / 1e6 if len(waits) else None,
    }


def _fault_figures(faults: pa.Table) -> dict[str, Any]:
    installed = [row for row in faults.to_pylist() if row["state"] == "installed"]
    compared = [row for row in installed if row["rate_before"] is not None and row["rate_after"] is not None]
    times = [row["recovered_ms"] for row in compared if row["recovered_ms"] is not None]
    return {
        "faults": len(installed),
        "never_recovered": len(compared) - len(times),
        "recovery_ms": float(np.median(times)) if times else None,
    }
