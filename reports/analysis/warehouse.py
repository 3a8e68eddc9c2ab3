"""The trends that the pipeline computed over all runs of a store, converted to what the site draws."""

from __future__ import annotations

from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, Final

from history.errors import FormatError
from history.metrics.regressions import read_regressions
from history.records.layout import WAREHOUSE
from history.records.text import counted
from history.tables.warehouse import read_runs, read_trends
from reports.analysis.trend_rows import DrawnRegression, Group, Sample, Trends, drawn, open_first
from reports.load.run import HARNESS_FAILURE

_KIND: Final = ("nemesis", "system_version", "workload")


def trends_in(store: Path, present: Set[str]) -> Trends | str:
    """Return the warehouse's trends, or why they cannot be used; ``present`` are the runs in the store."""
    try:
        runs, trends = read_runs(store / WAREHOUSE).to_pylist(), read_trends(store / WAREHOUSE).to_pylist()
        groups, regressions = _groups(runs, trends), _regressions(trends)
    except FileNotFoundError:
        return "From the runs' results.json: no run has been added to the warehouse (harness ingest does that)."
    except (FormatError, OSError, ValueError, KeyError, TypeError) as error:
        return f"From the runs' results.json: the warehouse cannot be read: {error}"
    missing = len(present - {row["run"] for row in runs})
    note = f"From the warehouse: {counted(len(runs), 'run')}."
    if missing:
        lacks = "1 of the store's runs is" if missing == 1 else f"{missing} of the store's runs are"
        note += f" {lacks} not in it; harness ingest adds them."
    return Trends(groups, regressions, note)


def _groups(runs: list[dict[str, Any]], trends: list[dict[str, Any]]) -> tuple[Group, ...]:
    members: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in sorted(runs, key=lambda row: (row["started"], row["run"])):
        members.setdefault(tuple(row[name] for name in _KIND), []).append(row)
    groups = [_group(trend, members.get(tuple(trend[name] for name in _KIND), [])) for trend in trends]
    return tuple(sorted(groups, key=lambda group: (group.nemesis, group.version, group.workload)))


def _group(trend: Mapping[str, Any], rows: list[dict[str, Any]]) -> Group:
    verdicts = dict(trend["verdict_counts"])
    flakiness = trend["flakiness"]
    return Group(
        nemesis=trend["nemesis"],
        version=trend["system_version"],
        workload=trend["workload"],
        samples=tuple(Sample(row["run"], row["verdict"], _seconds(row["recovery_ms"])) for row in rows),
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
            (low / 1000, None if high is None else high / 1000, count) for low, high, count in trend["recovery_buckets"]
        ),
        compared=_compared(trend),
    )


def _regressions(trends: list[dict[str, Any]]) -> tuple[DrawnRegression, ...]:
    return open_first(
        [
            drawn(trend["nemesis"], trend["system_version"], trend["workload"], regression)
            for trend in trends
            for regression in read_regressions(trend["regressions"])
        ]
    )


def _compared(trend: Mapping[str, Any]) -> str:
    """Describe the log-rank test against the version before."""
    if trend["recovery_p"] is None:
        return ""
    word = "slower" if trend["recovery_log_rank"] > 0 else "faster"
    return f"{word} than {trend['compared_with']}, p {trend['recovery_p']:.2g}"


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
