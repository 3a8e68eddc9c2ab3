"""Trends: how runs of one kind (system version, nemesis, workload) went over time, and what got worse.

A figure is a *regression* if the newest run is worse than the median of the last :data:`LAST` runs before it by more
than their spread (greatest less least), with at least :data:`LEAST` of them; a verdict is one if it is invalid and none
of those was.  So a noisy figure needs a large change to be flagged, and a steady one a small change.  Only runs with
the same settings are compared: a lower rate that was asked for is no regression.  Each comes with its evidence: the
figure, its median and spread before, and the runs that these rest on with their values.
*Flakiness* is the share of neighbouring runs with different verdicts.  Runs that ended in a harness failure say nothing
about the system: they are counted, and left out of everything else.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from history.tables.schemas import TRENDS
from pipeline.spark.actions import ddl, run_action

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LAST: Final = 10
LEAST: Final = 5
KIND: Final = ("system_version", "nemesis", "workload")
_WORSE_IS: Final = {"rate": -1, "unavailable_s": 1, "recovery_ms": 1, "p99_ms": 1}
_FLOOR: Final = {"rate": 1.0, "unavailable_s": 0.5, "recovery_ms": 100.0, "p99_ms": 1.0}
"""Changes below these are never flagged, however steady the runs before were."""

_BUCKETS: Final = (0, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
"""Lower bounds of the recovery histogram, ms."""


def trend_table(runs: pa.Table) -> pa.Table:
    """Trends by kind from rows of ``runs``; kinds are independent, so any split by kind gives the same rows."""
    kinds: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in sorted(runs.to_pylist(), key=lambda row: (row["started"], row["run"])):
        kinds.setdefault(tuple(row[name] for name in KIND), []).append(row)
    return pa.Table.from_pylist([_trend(kind, kinds[kind]) for kind in sorted(kinds)], schema=TRENDS)


def spark_trends(spark: SparkSession, runs: pa.Table) -> pa.Table:
    """The same on Spark, kind by kind.  Raises JobError."""
    if not runs.num_rows:
        return TRENDS.empty_table()
    frame = spark.createDataFrame(runs).groupBy(*KIND).applyInArrow(trend_table, ddl(TRENDS))
    return run_action(frame.toArrow).cast(TRENDS).sort_by([(name, "ascending") for name in KIND])


def _trend(kind: tuple[str, ...], rows: list[dict[str, Any]]) -> dict[str, Any]:
    judged = [row for row in rows if row["verdict"] != "harness failure"]
    changes = [before["verdict"] != after["verdict"] for before, after in pairwise(judged)]
    rate, gaps = (_values(judged, name) for name in ("rate", "unavailable_s"))
    recovery = sorted(time for row in judged for time in json.loads(row["recoveries_ms"]))
    return {
        **dict(zip(KIND, kind, strict=True)),
        "runs": len(rows),
        "newest": rows[-1]["run"],
        "verdicts": json.dumps(Counter(row["verdict"] for row in rows), sort_keys=True),
        "violations": sum(row["violations"] for row in judged),
        "flakiness": sum(changes) / len(changes) if changes else None,
        "rate_median": _quantile(rate, 50),
        "unavailable_s_median": _quantile(gaps, 50),
        "unavailable_s_max": _quantile(gaps, 100),
        "recoveries": len(recovery),
        "never_recovered": sum(row["never_recovered"] for row in judged),
        "recovery_ms_p50": _quantile(recovery, 50),
        "recovery_ms_p95": _quantile(recovery, 95),
        "recovery_ms_max": _quantile(recovery, 100),
        "recovery_histogram": json.dumps(_histogram(recovery)),
        "regressions": json.dumps(regressions(judged)),
    }


def _histogram(times: list[float]) -> list[tuple[int, int | None, int]]:
    """(more than, up to, how many) for each bucket; those above the last that holds something are left out."""
    if not times:
        return []
    bounds = [*_BUCKETS, math.inf]
    counts = np.diff(np.searchsorted(times, bounds, side="right"))
    counts[0] += sum(time <= 0 for time in times)
    used = int(np.flatnonzero(counts)[-1]) + 1
    uppers = (*_BUCKETS[1:], None)
    return [(low, high, int(n)) for low, high, n in zip(_BUCKETS, uppers, counts, strict=True)][:used]


def regressions(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What got worse in the last of ``rows`` (of one kind, in the order of time), each with its evidence."""
    if not rows:
        return []
    newest = rows[-1]
    before = [row for row in rows[:-1] if row["settings"] == newest["settings"]][-LAST:]
    if len(before) < LEAST:
        return []
    found = [worse for name in _WORSE_IS if (worse := _worse(name, newest, before)) is not None]
    if newest["verdict"] == "invalid" and all(row["verdict"] != "invalid" for row in before):
        verdicts = [[row["run"], row["verdict"]] for row in before]
        found.append({"figure": "verdict", "run": newest["run"], "new": "invalid", "before": verdicts})
    return found


def _worse(name: str, newest: dict[str, Any], before: list[dict[str, Any]]) -> dict[str, Any] | None:
    values = _values(before, name)
    if newest[name] is None or len(values) < LEAST:
        return None
    median, spread = float(np.median(values)), float(max(values) - min(values))
    change = _WORSE_IS[name] * (newest[name] - median)
    if change <= max(spread, _FLOOR[name]):
        return None
    evidence = [[row["run"], row[name]] for row in before if row[name] is not None]
    return {"figure": name, "run": newest["run"], "new": newest[name], "median_before": median,
            "spread_before": spread, "before": evidence}  # fmt: skip


def _values(rows: list[dict[str, Any]], name: str) -> list[float]:
    return [row[name] for row in rows if row[name] is not None]


def _quantile(values: list[float], per_cent: int) -> float | None:
    """By nearest rank, as in the windows."""
    return sorted(values)[-(-per_cent * len(values) // 100) - 1] if values else None
