"""Trends: how runs of one kind (system version, nemesis, workload) changed over time, and what got worse.

What a *regression* is, and how often one is a false alarm: [Regressions](regressions.md).

*Flakiness* is the share of neighbouring runs with different verdicts.  Runs that ended in a harness failure say nothing
about the system: they are counted, but left out of everything else.

Faults after which the rate never came back count in the recovery quantiles (Kaplan-Meier): recovery from such a fault
took longer than the time until the next one.  A version is compared with the one before it (same nemesis and workload,
same mode) by the log-rank test, among runs of equal settings and machine.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from history.metrics.regressions import Baseline, Measured, find_regressions
from history.metrics.survival import Times, log_rank, quantile, two_sided
from history.records.plans import has_planted_bug
from history.records.settings import series_names
from history.tables.schemas import TRENDS

KIND: Final = ("system_version", "nemesis", "workload")
#: The lower bounds of the recovery histogram (ms).
_BUCKETS: Final = (0, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)

_Kind: TypeAlias = tuple[str, ...]
_Rows: TypeAlias = list[dict[str, Any]]


def trend_table(runs: pa.Table, baselines: Sequence[Baseline] = ()) -> pa.Table:
    """Return trends by kind, from rows of ``runs``."""
    kinds: dict[_Kind, _Rows] = {}
    rows = sorted(runs.to_pylist(), key=lambda row: (row["started"], row["run"]))
    for row, series in zip(rows, series_names((row["settings"], row["machine"]) for row in rows), strict=True):
        kinds.setdefault(tuple(row[name] for name in KIND), []).append(row | {"series": series})
    former = _former_versions(kinds)
    trends = [_trend(kind, kinds[kind], baselines) | _compared(kind, former.get(kind), kinds) for kind in sorted(kinds)]
    return pa.Table.from_pylist(trends, schema=TRENDS)


def _trend(kind: _Kind, rows: _Rows, baselines: Sequence[Baseline]) -> dict[str, Any]:
    judged = _judged(rows)
    changes = [before["verdict"] != after["verdict"] for before, after in pairwise(judged)]
    rate, gaps = (_values(judged, name) for name in ("rate", "unavailable_s"))
    recovery = _recovery(judged)
    times = sorted(recovery.seen)
    # Whatever a planted bug breaks or slows down says nothing about the system.
    planted = has_planted_bug(rows[0]["system_version"])
    regressions = [] if planted else find_regressions(map(_measured, judged), baselines)
    return {
        **dict(zip(KIND, kind, strict=True)),
        "runs": len(rows),
        "newest": rows[-1]["run"],
        "verdict_counts": dict(sorted(Counter(row["verdict"] for row in rows).items())),
        "violations": sum(row["violations"] for row in judged),
        "flakiness": sum(changes) / len(changes) if changes else None,
        "rate_median": _quantile(rate, 50),
        "unavailable_s_median": _quantile(gaps, 50),
        "unavailable_s_max": _quantile(gaps, 100),
        "recoveries": len(times),
        "never_recovered": len(recovery.censored),
        "recovery_ms_p50": quantile(recovery, 0.5),
        "recovery_ms_p95": quantile(recovery, 0.95),
        "recovery_ms_max": _quantile(times, 100),
        "recovery_buckets": _histogram(times),
        "regressions": json.dumps([regression.to_json() for regression in regressions]),
    }


def _judged(rows: _Rows) -> _Rows:
    return [row for row in rows if row["verdict"] != "harness failure" and not row.get("harness_failure")]


def _measured(row: Mapping[str, Any]) -> Measured:
    recovery = _recovery([row])
    median = quantile(recovery, 0.5)
    if median is None and recovery.censored:
        median = math.inf
    figures = {name: row[name] for name in ("rate", "unavailable_s", "p99_ms")} | {"recovery_ms": median}
    return Measured(row["run"], row["series"], row["verdict"], figures)


def _recovery(rows: Iterable[Mapping[str, Any]]) -> Times:
    """Return the times until the rate was back; old rows do not say how long it stayed away if it never came back."""
    times: list[float] = []
    censored: list[float] = []
    for row in rows:
        times += row["recovery_times_ms"] or []
        unknown = [math.inf] * row["never_recovered"]
        censored += unknown if row["censored_times_ms"] is None else row["censored_times_ms"]
    return Times(times, censored)


def _former_versions(kinds: Mapping[_Kind, _Rows]) -> dict[_Kind, _Kind]:
    """Map each kind to the one of the same nemesis, workload and mode whose first run came last before its own."""
    order: dict[_Kind, list[_Kind]] = {}
    for kind in sorted(kinds, key=lambda kind: (kinds[kind][0]["started"], kind)):
        version, *others = kind
        order.setdefault((version.partition(" ")[2], *others), []).append(kind)
    return {after: before for versions in order.values() for before, after in pairwise(versions)}


def _compared(kind: _Kind, former: _Kind | None, kinds: Mapping[_Kind, _Rows]) -> dict[str, Any]:
    """Compare the recovery of a version with that of the version before it."""
    if former is None:
        return {}
    before, after = _by_series(kinds[former]), _by_series(kinds[kind])
    strata = [(_recovery(before[name]), _recovery(after[name])) for name in before.keys() & after.keys()]
    z = log_rank(strata)
    if z is None:
        return {}
    return {"compared_with": former[0], "recovery_log_rank": z, "recovery_p": two_sided(z)}


def _by_series(rows: _Rows) -> dict[str, _Rows]:
    series: dict[str, _Rows] = {}
    for row in _judged(rows):
        series.setdefault(row["series"], []).append(row)
    return series


def _histogram(times: list[float]) -> list[tuple[int, int | None, int]]:
    """Return (more than, up to, how many) for each bucket, up to the last one that is not empty."""
    if not times:
        return []
    bounds = [*_BUCKETS, math.inf]
    counts = np.diff(np.searchsorted(times, bounds, side="right"))
    counts[0] += sum(time <= 0 for time in times)
    used = int(np.flatnonzero(counts)[-1]) + 1
    uppers = (*_BUCKETS[1:], None)
    return [(low, high, int(n)) for low, high, n in zip(_BUCKETS, uppers, counts, strict=True)][:used]


def _values(rows: _Rows, name: str) -> list[float]:
    return [row[name] for row in rows if row[name] is not None]


def _quantile(values: list[float], per_cent: int) -> float | None:
    """Return a quantile by nearest rank, as in the windows."""
    return sorted(values)[-(-per_cent * len(values) // 100) - 1] if values else None
