"""Trends over many runs: verdicts, recovery time, rate and unavailability by nemesis and version, and regressions.

A regression is a change larger than the spread of the runs before it: further from their median than three scaled
median absolute deviations (Hampel's rule) and than a tenth of the median, in the bad direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from reports.run import HARNESS_FAILURE
from reports.store_index import RunRow

VERDICTS: Final = ("valid", "invalid", "unknown", HARNESS_FAILURE)
LAST: Final = 20
LEAST: Final = 5
"""So many runs must come before one, for a change to be called a regression."""
POINTS: Final = 60
_METRICS: Final = (
    ("recovery_s", "recovery time", "s", 1),
    ("gap_s", "longest gap", "s", 1),
    ("rate", "rate", "ok/s", -1),
)


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of one nemesis on one version, oldest first.  Medians are None where no run tells."""

    nemesis: str
    version: str
    rows: tuple[RunRow, ...]
    verdicts: dict[str, int]
    flaky: bool
    recovery_s: float | None
    worst_recovery_s: float | None
    gap_s: float | None
    rate: float | None
    violations: int
    never: int


@dataclass(frozen=True, slots=True)
class Regression:
    """``seen`` in the newest run of a group against the ``before`` runs' low, median and high."""

    nemesis: str
    version: str
    run: RunRow
    metric: str
    unit: str
    seen: float
    low: float
    middle: float
    high: float
    before: int


def groups_of(rows: Sequence[RunRow]) -> list[Group]:
    """Groups in the order of their names; ``flaky`` if the last twenty runs were neither all valid nor all invalid."""
    found: dict[tuple[str, str], list[RunRow]] = {}
    for row in sorted(rows, key=lambda row: row.started):
        found.setdefault((row.nemesis, row.version), []).append(row)
    return [_group(nemesis, version, members) for (nemesis, version), members in sorted(found.items())]


def _group(nemesis: str, version: str, rows: list[RunRow]) -> Group:
    recoveries = [row.recovery_s for row in rows if row.recovery_s is not None]
    recent = {row.verdict for row in rows[-LAST:]} & {"valid", "invalid"}
    return Group(
        nemesis=nemesis,
        version=version,
        rows=tuple(rows),
        verdicts={verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS},
        flaky=len(recent) > 1,
        recovery_s=_median(recoveries),
        worst_recovery_s=max(recoveries, default=None),
        gap_s=_median([row.gap_s for row in rows if row.gap_s is not None]),
        rate=_median([row.rate for row in rows if row.rate is not None]),
        violations=sum(row.violations for row in rows),
        never=sum(row.never for row in rows),
    )


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def regressions_of(groups: Sequence[Group]) -> list[Regression]:
    """What the newest run of each group does worse than the runs before it."""
    found = [_regression(group, *metric) for group in groups for metric in _METRICS]
    return [regression for regression in found if regression is not None]


def _regression(group: Group, name: str, title: str, unit: str, worse: int) -> Regression | None:
    told = [(row, float(getattr(row, name))) for row in group.rows if getattr(row, name) is not None]
    if len(told) <= LEAST or told[-1][0] is not group.rows[-1]:
        return None
    newest, seen = told[-1]
    before = [value for _, value in told[:-1][-LAST:]]
    middle = median(before)
    spread = 1.4826 * median(abs(value - middle) for value in before)
    if (seen - middle) * worse <= max(3 * spread, 0.1 * abs(middle)):
        return None
    return Regression(
        group.nemesis, group.version, newest, title, unit, seen, min(before), middle, max(before), len(before)
    )


@dataclass(frozen=True, slots=True)
class Dot:
    """One run in a strip, ``x`` and ``y`` in the strip's picture; ``y`` None: the run does not tell.

    ``place`` is the page that it leads to, below ``runs/``.
    """

    x: float
    y: float | None
    verdict: str
    place: str
    text: str


def strip(group: Group, width: float = 360.0, height: float = 44.0) -> tuple[list[Dot], float]:
    """The last sixty runs as dots, their recovery time upwards; and the value at the top, in seconds."""
    rows = group.rows[-POINTS:]
    top = max([row.recovery_s for row in rows if row.recovery_s is not None] + [1.0])
    step = min(12.0, (width - 12) / max(len(rows), 1))
    dots = []
    for place, row in enumerate(rows):
        y = None if row.recovery_s is None else height - 6 - (height - 12) * row.recovery_s / top
        told = "no recovery time" if row.recovery_s is None else f"recovery {row.recovery_s:.2f} s"
        leads_to = f"{row.place}/{'report' if 'report.html' in row.files else 'index'}.html"
        dots.append(Dot(6 + step * place, y, row.verdict, leads_to, f"{row.run}: {row.verdict}, {told}"))
    return dots, top
