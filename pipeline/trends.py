"""Trends: how runs of one kind (system version, nemesis, workload) went over time, and what got worse.

A figure is a *regression* if the newest run is worse than the median of the last :data:`LAST` runs before it by more
than their spread (greatest less least), with at least :data:`LEAST` of them; a verdict is one if it is invalid and none
of those was.  So a noisy figure needs a large change to be flagged, and a steady one a small change.
*Flakiness* is the share of neighbouring runs with different verdicts.  Runs that ended in a harness failure say nothing
about the system: they are counted, and left out of everything else.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.run_row import field

LAST: Final = 10
LEAST: Final = 5
KIND: Final = ("system_version", "nemesis", "workload")
_WORSE_IS: Final = {"rate": -1, "unavailable_s": 1, "recovery_ms": 1, "p99_ms": 1}
_FLOOR: Final = {"rate": 1.0, "unavailable_s": 0.5, "recovery_ms": 100.0, "p99_ms": 1.0}
"""Changes below these are never flagged, however steady the runs before were."""

TRENDS: Final = pa.schema(
    [
        field("system_version", pa.string(), "as in runs"),
        field("nemesis", pa.string(), "as in runs"),
        field("workload", pa.string(), "as in runs"),
        field("runs", pa.int64(), "how many"),
        field("verdicts", pa.string(), "how many of each, as a JSON object"),
        field("violations", pa.int64(), "over all runs"),
        field("flakiness", pa.float64(), "share of neighbouring runs with different verdicts", nullable=True),
        field("rate_median", pa.float64(), "ok operations a second", nullable=True),
        field("unavailable_s_median", pa.float64(), "s", nullable=True),
        field("unavailable_s_max", pa.float64(), "s", nullable=True),
        field("recovery_ms_p50", pa.float64(), "ms, over the runs' medians", nullable=True),
        field("recovery_ms_p95", pa.float64(), "ms", nullable=True),
        field("recovery_ms_max", pa.float64(), "ms", nullable=True),
        field("never_recovered", pa.int64(), "faults, over all runs"),
        field("regressions", pa.string(), "of the newest run, as a JSON list of objects: figure and evidence"),
    ]
)
"""One row a kind."""


def trend_table(runs: pa.Table) -> pa.Table:
    """Trends by kind from rows of ``runs``; kinds are independent, so any split by kind gives the same rows."""
    kinds: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in sorted(runs.to_pylist(), key=lambda row: (row["started"], row["run"])):
        kinds.setdefault(tuple(row[name] for name in KIND), []).append(row)
    return pa.Table.from_pylist([_trend(kind, kinds[kind]) for kind in sorted(kinds)], schema=TRENDS)


def _trend(kind: tuple[str, ...], rows: list[dict[str, Any]]) -> dict[str, Any]:
    judged = [row for row in rows if row["verdict"] != "harness failure"]
    changes = [before["verdict"] != after["verdict"] for before, after in pairwise(judged)]
    rate, gaps, recovery = (_values(judged, name) for name in ("rate", "unavailable_s", "recovery_ms"))
    return {
        **dict(zip(KIND, kind, strict=True)),
        "runs": len(rows),
        "verdicts": json.dumps(Counter(row["verdict"] for row in rows), sort_keys=True),
        "violations": sum(row["violations"] for row in judged),
        "flakiness": sum(changes) / len(changes) if changes else None,
        "rate_median": _quantile(rate, 50),
        "unavailable_s_median": _quantile(gaps, 50),
        "unavailable_s_max": _quantile(gaps, 100),
        "recovery_ms_p50": _quantile(recovery, 50),
        "recovery_ms_p95": _quantile(recovery, 95),
        "recovery_ms_max": _quantile(recovery, 100),
        "never_recovered": sum(row["never_recovered"] for row in judged),
        "regressions": json.dumps(regressions(judged)),
    }


def regressions(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What got worse in the last of ``rows`` (of one kind, in the order of time), each with its evidence."""
    if len(rows) <= LEAST:
        return []
    newest, before = rows[-1], rows[-1 - LAST : -1]
    found = [worse for name in _WORSE_IS if (worse := _worse(name, newest, before)) is not None]
    if newest["verdict"] == "invalid" and all(row["verdict"] != "invalid" for row in before):
        found.append({"figure": "verdict", "run": newest["run"], "new": "invalid", "runs_before": len(before)})
    return found


def _worse(name: str, newest: dict[str, Any], before: list[dict[str, Any]]) -> dict[str, Any] | None:
    values = _values(before, name)
    if newest[name] is None or len(values) < LEAST:
        return None
    median, spread = float(np.median(values)), float(max(values) - min(values))
    change = _WORSE_IS[name] * (newest[name] - median)
    if change <= max(spread, _FLOOR[name]):
        return None
    evidence = {"figure": name, "run": newest["run"], "new": newest[name], "median_before": median}
    return {**evidence, "spread_before": spread, "runs_before": len(values)}


def _values(rows: list[dict[str, Any]], name: str) -> list[float]:
    return [row[name] for row in rows if row[name] is not None]


def _quantile(values: list[float], per_cent: int) -> float | None:
    """By nearest rank, as in the windows."""
    return sorted(values)[-(-per_cent * len(values) // 100) - 1] if values else None
