"""The row of one run in the table ``runs``, by which runs are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from history import Receipt
from history.metrics.awake_clock import AwakeClock
from history.metrics.recovery import LoadSpan, never_recovered, surroundings
from history.recording import Recording
from history.records.layout import start_of
from history.records.plans import nemesis_name, system_version
from history.records.settings import machine_of, settings_of
from history.records.verdicts import verdict_of
from pipeline.tables.load_figures import OfLoad


def run_row(
    run: Recording,
    name: str,
    of_load: OfLoad,
    tables: Mapping[str, pa.Table],
    fingerprint: str,
    written: int,
) -> dict[str, Any]:
    """Return the row of a run; fields that plan and results do not give are empty.

    ``of_load`` is the result of ``pipeline.tables.load_figures``; ``tables`` holds verdicts, faults and checks.
    """
    figures, load, _ = of_load
    plan, results, suite = map(run.lenient, ("plan", "results", "suite"))
    test, _, started = name.rpartition("/")
    verdicts = tables["verdicts"]
    return {
        "run": name,
        "test": test,
        "started": started,
        "started_at": start_of(started),
        "system_version": system_version(plan),
        "nemesis": nemesis_name(plan),
        "workload": str(plan.get("workload", "")),
        "settings": settings_of(plan),
        "machine": machine_of(results),
        "verdict": _verdict(results, run.lenient("state"), verdicts, planned=bool(plan)),
        **_reasons(results, tables["checks"]),
        "expected": (suite.get("expected") or {}).get("verdicts"),
        "as_expected": suite.get("as_expected"),
        "violations": int(pc.sum(verdicts["violations"]).as_py() or 0),
        "written": written,
        "fingerprint": fingerprint,
        **figures,
        **_fault_figures(tables["faults"].to_pylist(), load, run.clock),
    }


def _reasons(results: dict[str, Any], checks: pa.Table) -> dict[str, Any]:
    """Return the reasons for the verdict; none without results."""
    if "checks" not in results:
        return {}
    gates = checks.filter((pc.field("kind") == "gate") & (pc.field("verdict") != "valid"))
    return {
        "sentence": results.get("sentence"),
        "kinds": sorted(set(pc.list_flatten(checks["kinds"]).to_pylist())),
        "failed_gates": gates["name"].to_pylist(),
        "warnings": list(results.get("warnings") or ()),
        "harness_failure": results.get("harness_failure"),
    }


def _verdict(results: dict[str, Any], state: dict[str, Any], verdicts: pa.Table, *, planned: bool) -> str:
    """Return the verdict in the results, or else that of the keys.

    One of our runs that was never judged is at best unknown, and so is a run of which no key was judged.
    """
    failure = results.get("harness_failure") or (not results and state.get("failures"))
    if failure or results.get("verdict") in ("valid", "invalid", "unknown"):
        return verdict_of(results, failure)
    judged = {*verdicts["verdict"].to_pylist(), *(["unknown"] if planned or not len(verdicts) else [])}
    return next((verdict for verdict in ("invalid", "unknown") if verdict in judged), "valid")


def last_moment(faults: pa.Table) -> int:
    """Return the last time in the table of faults (ns), or 0 if it is empty."""
    times = (pc.max(faults[name]).as_py() for name in ("started", "stood", "heal_started", "healed"))
    return max((time for time in times if time is not None), default=0)


def _fault_figures(faults: list[dict[str, Any]], load: LoadSpan, clock: AwakeClock) -> dict[str, Any]:
    installed = [row for row in faults if row["state"] == "installed"]
    times = sorted(row["recovered_ms"] for row in installed if row["recovered_ms"] is not None)
    gaps = [row["longest_gap_ms"] for row in installed if row["longest_gap_ms"] is not None]
    never = [row for row in installed if never_recovered(row)]
    standing = [_standing(row) for row in faults if row["state"] != "skipped"]
    around = surroundings(clock.receipts(standing), load.awake(clock))
    return {
        "faults": len(installed),
        "never_recovered": len(never),
        "recovery_ms": float(np.median(times)) if times else None,
        "recovery_times_ms": times,
        "censored_times_ms": sorted((around[row["id"]].next - clock.at(row["healed"])) / 1e6 for row in never),
        "longest_gap_ms": max(gaps, default=None),
    }


def _standing(row: dict[str, Any]) -> Receipt:
    """Return a receipt for the time in which a fault was, or may have been, in effect."""
    return Receipt(row["id"], row["fault"], "indeterminate", row["started"], healed=row["healed"])
