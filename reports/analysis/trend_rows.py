"""What the trends page draws, wherever it was computed: groups of runs, and regressions with their evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """One run; ``place`` is its directory below the store, ``figures`` what regressions are looked for in."""

    place: str
    verdict: str
    recovery_s: float | None
    figures: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of one nemesis, version and workload, oldest first; seconds, ok operations a second.

    ``flaky`` says how far verdicts change from run to run, empty if they do not.  ``late_recovery_s`` is the 95th
    percentile; ``away_s`` the median unavailability of a run.  ``histogram``: (more than s, up to s, faults).  None
    where no run tells.
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


@dataclass(frozen=True, slots=True)
class Regression:
    """``seen`` in the newest run of a group against ``middle``, the median of the runs ``before`` (place, value).

    A verdict that became invalid has no ``seen``.
    """

    nemesis: str
    version: str
    workload: str
    place: str
    metric: str
    unit: str
    seen: float | None
    middle: float | None
    before: tuple[tuple[str, float], ...]

    @property
    def low(self) -> float | None:
        return min((value for _, value in self.before), default=None)

    @property
    def high(self) -> float | None:
        return max((value for _, value in self.before), default=None)


@dataclass(frozen=True, slots=True)
class Trends:
    """``note`` says where the figures come from and what is missing."""

    groups: tuple[Group, ...]
    regressions: tuple[Regression, ...]
    note: str
