"""Rows of the trends page, independent of their source: groups of runs, and regressions with their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from history.metrics import regressions
from history.records.plans import has_planted_bug
from history.records.violations import listed_verdict

#: Title, unit, and the factor that converts to it.
FIGURES: Final = {
    "rate": ("rate", "ok/s", 1.0),
    "unavailable_s": ("time without an ok", "s", 1.0),
    "recovery_ms": ("time until the rate was back", "s", 1e-3),
    "p99_ms": ("p99 latency", "ms", 1.0),
}
INVALID: Final = "verdict became invalid"


@dataclass(frozen=True, slots=True)
class Sample:
    """One run in a trend; ``place`` is its directory below the store.

    ``planted_bug`` says whether a planted bug was found, if known, and ``beside`` is the worst other finding.
    """

    place: str
    verdict: str
    recovery_s: float | None
    planted_bug: str = ""
    beside: str = ""

    @property
    def shown(self) -> str:
        """Verdict as lists show it."""
        return listed_verdict(self.verdict, self.planted_bug, self.beside)


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of one nemesis, version and workload, oldest first; in seconds and ok operations per second.

    ``flaky`` says how much verdicts change from run to run; empty if they do not.  ``late_recovery_s`` is the 95th
    percentile, ``away_s`` the median unavailability of a run.  ``histogram``: (more than s, up to s, faults).
    ``least``: some run may have more ``violations`` than were counted.  ``compared`` says how the recovery differs
    from that of the version before; empty if unknown.  Figures that no run has are None.
    """

    nemesis: str
    version: str
    workload: str
    samples: tuple[Sample, ...]
    verdicts: dict[str, int]
    flaky: str
    recovery_s: float | None
    late_recovery_s: float | None
    worst_recovery_s: float | None
    away_s: float | None
    rate: float | None
    violations: int
    never: int
    histogram: tuple[tuple[float, float | None, int], ...]
    compared: str = ""
    least: bool = False

    @property
    def has_planted_bug(self) -> bool:
        """Whether a bug was planted in the server, so that findings are not failures of the system."""
        return has_planted_bug(self.version)


@dataclass(frozen=True, slots=True)
class DrawnRegression:
    """A regression ready to be drawn: ``history.metrics.regressions.Regression`` of one kind of run, in its unit.

    Medians are None for a verdict and for *never*. ``before`` and ``since`` hold (place, value), where the value is
    None for never; both are empty for a verdict.
    """

    nemesis: str
    version: str
    workload: str
    metric: str
    unit: str
    onset: str
    found: str
    closed: str | None
    median_before: float | None
    median_since: float | None
    before: tuple[tuple[str, float | None], ...]
    since: tuple[tuple[str, float | None], ...]


def drawn(nemesis: str, version: str, workload: str, regression: regressions.Regression) -> DrawnRegression:
    """Convert a regression of a kind of run to the figure's unit.  Raises KeyError for an unknown figure."""
    runs = (regression.onset, regression.found, regression.closed)
    if regression.figure == regressions.VERDICT:
        return DrawnRegression(nemesis, version, workload, INVALID, "", *runs, None, None, (), ())
    title, unit, factor = FIGURES[regression.figure]
    medians = (_scaled(regression.median_before, factor), _scaled(regression.median_since, factor))
    before, since = (
        tuple((place, _scaled(value, factor)) for place, value in side)
        for side in (regression.before, regression.since)
    )
    return DrawnRegression(nemesis, version, workload, title, unit, *runs, *medians, before, since)


def open_first(unsorted: Sequence[DrawnRegression]) -> tuple[DrawnRegression, ...]:
    """Return open regressions before closed ones, newest first, without those of runs with a planted bug."""
    real = [regression for regression in unsorted if not has_planted_bug(regression.version)]
    newest = sorted(real, key=lambda regression: regression.found.rpartition("/")[2], reverse=True)
    return tuple(sorted(newest, key=lambda regression: regression.closed is not None))


def _scaled(value: float | str | None, factor: float) -> float | None:
    return None if value is None else float(value) * factor


@dataclass(frozen=True, slots=True)
class Trends:
    """Groups and regressions; ``note`` says where the figures come from and what is missing."""

    groups: tuple[Group, ...]
    regressions: tuple[DrawnRegression, ...]
    note: str
