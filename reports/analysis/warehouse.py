"""The trends that the pipeline computed over all runs of a store, as the site draws them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, Final

from history.errors import FormatError
from history.records.layout import WAREHOUSE
from history.tables.warehouse import read_runs, read_trends
from reports.analysis.trend_rows import Group, Regression, Sample, Trends
from reports.load.run import HARNESS_FAILURE

_FIGURES: Final = {
    "rate": ("rate", "ok/s", 1.0),
    "unavailable_s": ("time without an ok", "s", 1.0),
    "recovery_ms": ("time until the rate was back", "s", 1e-3),
    "p99_ms": ("p99 latency", "ms", 1.0),
}
"""Title, unit, and the factor to it."""
_KIND: Final = ("nemesis", "system_version", "workload")


def trends_in(store: Path, present: Set[str]) -> Trends | str:
    """The warehouse's trends, or why they cannot be used.  ``present``: the runs that the store holds."""
    try:
        runs, trends = read_runs(store / WAREHOUSE).to_pylist(), read_trends(store / WAREHOUSE).to_pylist()
        groups, regressions = _groups(runs, trends), _regressions(trends)
    except FileNotFoundError:
        return "From the runs' results.json: no run has been brought into the warehouse (harness ingest does it)."
    except (FormatError, OSError, ValueError, KeyError, TypeError) as error:
        return f"From the runs' results.json: the warehouse cannot be read: {error}"
    missing = len(present - {row["run"] for row in runs})
    note = f"From the warehouse: {len(runs)} run{'' if len(runs) == 1 else 's'}."
    if missing:
        lacks = "1 of the store's runs is" if missing == 1 else f"{missing} of the store's runs are"
        note += f" {lacks} not in it; harness ingest brings what was recorded."
    return Trends(groups, regressions, note)


def _groups(runs: list[dict[str, Any]], trends: list[dict[str, Any]]) -> tuple[Group, ...]:
    members: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in sorted(runs, key=lambda row: (row["started"], row["run"])):
        members.setdefault(tuple(row[name] for name in _KIND), []).append(row)
    found = [_group(trend, members.get(tuple(trend[name] for name in _KIND), [])) for trend in trends]
    return tuple(sorted(found, key=lambda group: (group.nemesis, group.version, group.workload)))


def _group(trend: Mapping[str, Any], rows: list[dict[str, Any]]) -> Group:
    verdicts = json.loads(trend["verdicts"])
    flakiness = trend["flakiness"]
    return Group(
        nemesis=trend["nemesis"],
        version=trend["system_version"],
        workload=trend["workload"],
        samples=tuple(Sample(row["run"], row["verdict"], _seconds(row["recovery_ms"]), {}) for row in rows),
        verdicts={verdict: verdicts.get(verdict, 0) for verdict in ("valid", "invalid", "unknown", HARNESS_FAILURE)},
        flaky=f"changes {flakiness:.0%}" if flakiness else "",
        recovery_s=_seconds(trend["recovery_ms_p50"]),
        late_recovery_s=_seconds(trend["recovery_ms_p95"]),
        worst_recovery_s=_seconds(trend["recovery_ms_max"]),
        away_s=trend["unavailable_s_median"],
        rate=trend["rate_median"],
        violations=trend["violations"],
        never=trend["never_recovered"],
        histogram=tuple(
            (low / 1000, None if high is None else high / 1000, count)
            for low, high, count in json.loads(trend["recovery_histogram"])
        ),
    )


def _regressions(trends: list[dict[str, Any]]) -> tuple[Regression, ...]:
    return tuple(_regression(trend, told) for trend in trends for told in json.loads(trend["regressions"]))


def _regression(trend: Mapping[str, Any], told: Mapping[str, Any]) -> Regression:
    kind = (trend["nemesis"], trend["system_version"], trend["workload"])
    if told["figure"] not in _FIGURES:
        before = tuple((place, 0.0) for place, _ in told["before"])
        return Regression(*kind, told["run"], f"{told['figure']} became {told['new']}", "", None, None, before)
    title, unit, factor = _FIGURES[told["figure"]]
    before = tuple((place, value * factor) for place, value in told["before"])
    return Regression(*kind, told["run"], title, unit, told["new"] * factor, told["median_before"] * factor, before)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
