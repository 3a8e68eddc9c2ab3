"""Trends over many runs: verdicts, recovery, unavailability and rate for each kind of run, and what got worse.

They come from the warehouse's tables ``runs`` and ``trends`` if the store has them (:func:`trends_of`), otherwise from
the runs' ``results.json`` with the same rule for regressions (``history.metrics.regressions``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Final

from history.metrics.regressions import Measured, find_regressions
from history.metrics.survival import Times, quantile
from history.records.settings import series_names
from history.records.violations import AS_INTENDED, MISSED, MORE_FOUND
from reports.analysis import warehouse
from reports.analysis.trend_rows import DrawnRegression, Group, Sample, Trends, drawn, open_first
from reports.load.run import HARNESS_FAILURE
from reports.load.run_row import RunRow

VERDICTS: Final = ("valid", "invalid", "unknown", HARNESS_FAILURE)
LAST: Final = 20
POINTS: Final = 60
WIDTH: Final = 360.0
HEIGHT: Final = 44.0
#: Words for a run, by its verdict and the outcome of a planted bug.
_SAID: Final = {
    (AS_INTENDED, "found"): f"planted bug found, {AS_INTENDED}",
    ("invalid", "found"): f"planted bug found, {MORE_FOUND}",
    ("invalid", "missed"): "invalid, planted bug not found",
    (MISSED, "missed"): "planted bug not found",
}


def trends_of(store: Path, rows: Sequence[RunRow]) -> Trends:
    """Return the warehouse's trends, or else those of ``rows``; ``note`` says which and what is missing."""
    stored = warehouse.trends_in(store, {row.place for row in rows})
    if isinstance(stored, Trends):
        least = {kind for kind, members in _kinds(rows).items() if any(row.least for row in members)}
        groups = [replace(group, least=_kind(group) in least) for group in stored.groups]
        return replace(stored, groups=tuple(_with_planted_bugs(group, rows) for group in groups))
    return Trends(tuple(groups_of(rows)), regressions_of(rows), stored)


def _with_planted_bugs(group: Group, rows: Sequence[RunRow]) -> Group:
    """Add the outcomes of planted bugs, which the warehouse does not hold.

    For runs that are no longer in the store, the verdict decides.
    """
    if not group.has_planted_bug:
        return group
    known = {row.place: (row.planted_bug, row.beside) for row in rows}
    by_verdict = {"valid": "missed", "invalid": "found"}
    outcomes = (known.get(run.place, (by_verdict.get(run.verdict, ""), "")) for run in group.samples)
    samples = zip(group.samples, outcomes, strict=True)
    return replace(group, samples=tuple(replace(run, planted_bug=bug, beside=more) for run, (bug, more) in samples))


def groups_of(rows: Sequence[RunRow]) -> list[Group]:
    """Return the groups in the order of their names.

    A group is ``flaky`` if its last twenty runs include both valid and invalid ones.
    """
    return [_group(*kind, members) for kind, members in sorted(_kinds(rows).items())]


def _kind(source: RunRow | Group) -> tuple[str, str, str]:
    return source.nemesis, source.version, source.workload


def _kinds(rows: Sequence[RunRow]) -> dict[tuple[str, str, str], list[RunRow]]:
    """Group runs by nemesis, version and workload, oldest first."""
    groups: dict[tuple[str, str, str], list[RunRow]] = {}
    for row in sorted(rows, key=lambda row: row.started):
        groups.setdefault(_kind(row), []).append(row)
    return groups


def _group(nemesis: str, version: str, workload: str, rows: list[RunRow]) -> Group:
    recoveries = [row.recovery_s for row in rows if row.recovery_s is not None]
    recovered = [row.recovery_s for row in rows if row.recovery_s is not None and not row.never]
    back = Times(recovered, [math.inf for row in rows if row.never])
    recent = {row.verdict for row in rows[-LAST:]} & {"valid", "invalid"}
    return Group(
        nemesis=nemesis,
        version=version,
        workload=workload,
        samples=tuple(Sample(row.place, row.verdict, row.recovery_s, row.planted_bug, row.beside) for row in rows),
        verdicts={verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS},
        flaky="flaky" if len(recent) > 1 else "",
        recovery_s=quantile(back, 0.5),
        late_recovery_s=None,
        worst_recovery_s=max(recoveries, default=None),
        away_s=_median([row.gap_s for row in rows if row.gap_s is not None]),
        rate=_median([row.rate for row in rows if row.rate is not None]),
        violations=sum(row.violations for row in rows),
        never=sum(row.never for row in rows),
        histogram=(),
        least=any(row.least for row in rows),
    )


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def regressions_of(rows: Sequence[RunRow]) -> tuple[DrawnRegression, ...]:
    """Return the regressions of each nemesis, version and workload, open ones first, in the figures that a row holds.

    Failed runs are left out, and so are regressions of versions with a planted bug.
    """
    ordered = sorted(rows, key=lambda row: row.started)
    names = series_names((row.settings, row.machine) for row in ordered)
    series = {row.place: name for row, name in zip(ordered, names, strict=True)}
    return open_first(
        [
            drawn(nemesis, version, workload, regression)
            for (nemesis, version, workload), members in _kinds(rows).items()
            for regression in find_regressions(_measured(row, series[row.place]) for row in members if not row.failure)
        ]
    )


def _measured(row: RunRow, series: str) -> Measured:
    recovery_ms = math.inf if row.never else None if row.recovery_s is None else 1000 * row.recovery_s
    return Measured(row.place, series, row.verdict, {"rate": row.rate, "recovery_ms": recovery_ms})


@dataclass(frozen=True, slots=True)
class Dot:
    """One run in a strip, at ``x`` and ``y`` of the strip's picture; ``y`` is None if the run lacks the figure."""

    x: float
    y: float | None
    verdict: str
    place: str
    text: str


def strip(group: Group) -> tuple[list[Dot], float]:
    """Return the last sixty runs as dots, higher for slower recovery, and the value at the top in seconds."""
    samples = group.samples[-POINTS:]
    top = max([sample.recovery_s for sample in samples if sample.recovery_s is not None] + [1.0])
    step = min(12.0, (WIDTH - 12) / max(len(samples), 1))
    dots = []
    for number, sample in enumerate(samples):
        y = None if sample.recovery_s is None else HEIGHT - 6 - (HEIGHT - 12) * sample.recovery_s / top
        back = "no recovery time" if y is None else f"rate back after {sample.recovery_s:.2f} s"
        text = f"{sample.place}: {_SAID.get((sample.shown, sample.planted_bug), sample.verdict)}, {back}"
        dots.append(Dot(6 + step * number, y, sample.shown, sample.place, text))
    return dots, top


def evidence(regression: DrawnRegression, verdicts: Mapping[str, str]) -> list[Dot]:
    """Return the runs before and since as dots whose height is the figure (*never* at the top); none for a verdict.

    ``verdicts`` maps places of runs to verdicts as they are shown.
    """
    values = [*regression.before, *regression.since]
    top = max((value for _, value in values if value is not None), default=0.0) or 1.0
    step = min(16.0, (WIDTH - 12) / max(len(values), 1))
    return [
        Dot(
            6 + step * number,
            HEIGHT - 6 - (HEIGHT - 12) * (1.0 if value is None else max(value, 0.0) / top),
            verdicts.get(place, "unknown"),
            place,
            f"{place}: " + ("never" if value is None else f"{value:.4g} {regression.unit}"),
        )
        for number, (place, value) in enumerate(values)
    ]
