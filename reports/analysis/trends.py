"""Trends over many runs: verdicts, recovery, unavailability and rate by kind of run, and what got worse.

Drawn from the warehouse's tables ``runs`` and ``trends`` where the store has them (:func:`trends_of`); otherwise from
the runs' ``results.json``, with the rule of this module: a regression is a change larger than the spread of the runs
before it, further from their median than three scaled median absolute deviations (Hampel's rule) and than a tenth of
the median, in the bad direction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from reports.analysis import warehouse
from reports.analysis.trend_rows import Group, Regression, Sample, Trends
from reports.load.run import HARNESS_FAILURE
from reports.load.store_index import RunRow

VERDICTS: Final = ("valid", "invalid", "unknown", HARNESS_FAILURE)
LAST: Final = 20
LEAST: Final = 5
"""So many runs must come before one, for a change to be called a regression."""
POINTS: Final = 60
WIDTH: Final = 360.0
HEIGHT: Final = 44.0
_METRICS: Final = (
    ("recovery_s", "time until the rate was back", "s", 1),
    ("gap_s", "longest gap", "s", 1),
    ("rate", "rate", "ok/s", -1),
)


def trends_of(store: Path, rows: Sequence[RunRow]) -> Trends:
    """The warehouse's trends, else those of ``rows``; ``note`` says which, and what is missing."""
    found = warehouse.trends_in(store, {row.place for row in rows})
    if isinstance(found, Trends):
        return found
    groups = groups_of(rows)
    return Trends(tuple(groups), tuple(regressions_of(groups)), found)


def groups_of(rows: Sequence[RunRow]) -> list[Group]:
    """Groups in the order of their names; ``flaky`` if the last twenty runs were neither all valid nor all invalid."""
    found: dict[tuple[str, str], list[RunRow]] = {}
    for row in sorted(rows, key=lambda row: row.started):
        found.setdefault((row.nemesis, row.version), []).append(row)
    return [_group(nemesis, version, members) for (nemesis, version), members in sorted(found.items())]


def _group(nemesis: str, version: str, rows: list[RunRow]) -> Group:
    recoveries = [row.recovery_s for row in rows if row.recovery_s is not None]
    recent = {row.verdict for row in rows[-LAST:]} & {"valid", "invalid"}
    samples = [
        Sample(row.place, row.verdict, row.recovery_s, {name: getattr(row, name) for name, *_ in _METRICS})
        for row in rows
    ]
    return Group(
        nemesis=nemesis,
        version=version,
        workload="",
        samples=tuple(samples),
        verdicts={verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS},
        flaky="flaky" if len(recent) > 1 else "",
        recovery_s=_median(recoveries),
        late_recovery_s=None,
        worst_recovery_s=max(recoveries, default=None),
        away_s=_median([row.gap_s for row in rows if row.gap_s is not None]),
        rate=_median([row.rate for row in rows if row.rate is not None]),
        violations=sum(row.violations for row in rows),
        never=sum(row.never for row in rows),
        histogram=(),
    )


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def regressions_of(groups: Sequence[Group]) -> list[Regression]:
    """What the newest run of each group does worse than the runs before it."""
    found = [_regression(group, *metric) for group in groups for metric in _METRICS]
    return [regression for regression in found if regression is not None]


def _regression(group: Group, name: str, title: str, unit: str, worse: int) -> Regression | None:
    told = [(sample, value) for sample in group.samples if (value := sample.figures[name]) is not None]
    if len(told) <= LEAST or told[-1][0] is not group.samples[-1]:
        return None
    newest, seen = told[-1]
    before = [(sample.place, value) for sample, value in told[:-1][-LAST:]]
    middle = median(value for _, value in before)
    spread = 1.4826 * median(abs(value - middle) for _, value in before)
    if (seen - middle) * worse <= max(3 * spread, 0.1 * abs(middle)):
        return None
    return Regression(group.nemesis, group.version, "", newest.place, title, unit, seen, middle, tuple(before))


@dataclass(frozen=True, slots=True)
class Dot:
    """One run in a strip, ``x`` and ``y`` in the strip's picture; ``y`` None: the run does not tell."""

    x: float
    y: float | None
    verdict: str
    place: str
    text: str


def strip(group: Group) -> tuple[list[Dot], float]:
    """The last sixty runs as dots, their recovery time upwards; and the value at the top, in seconds."""
    samples = group.samples[-POINTS:]
    top = max([sample.recovery_s for sample in samples if sample.recovery_s is not None] + [1.0])
    step = min(12.0, (WIDTH - 12) / max(len(samples), 1))
    dots = []
    for number, sample in enumerate(samples):
        y = None if sample.recovery_s is None else HEIGHT - 6 - (HEIGHT - 12) * sample.recovery_s / top
        told = (
            "no time until the rate was back"
            if sample.recovery_s is None
            else f"rate back after {sample.recovery_s:.2f} s"
        )
        dots.append(
            Dot(6 + step * number, y, sample.verdict, sample.place, f"{sample.place}: {sample.verdict}, {told}")
        )
    return dots, top


def evidence(regression: Regression, verdicts: Mapping[str, str]) -> list[Dot]:
    """The runs before and the new one, the last, as dots whose height is the figure; none for a verdict.

    ``verdicts`` are those of the runs, by place.
    """
    if regression.seen is None:
        return []
    values = [*regression.before, (regression.place, regression.seen)]
    top = max(value for _, value in values) or 1.0
    step = min(16.0, (WIDTH - 12) / len(values))
    return [
        Dot(
            6 + step * number,
            HEIGHT - 6 - (HEIGHT - 12) * max(value, 0.0) / top,
            verdicts.get(place, "unknown"),
            place,
            f"{place}: {value:.4g} {regression.unit}",
        )
        for number, (place, value) in enumerate(values)
    ]
