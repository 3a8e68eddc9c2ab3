"""Times until something happened, where it may not have happened while it was watched for.

A fault after which the rate never came back was watched for some time and is *censored* there.  Leaving such faults
out makes a system look the faster the more often it never recovers, so they count: in the estimate of the distribution
(Kaplan and Meier, *Nonparametric estimation from incomplete observations*, JASA 53, 1958), and in the comparison of two
(the log-rank test: Mantel, *Evaluation of survival data and two new rank order statistics*, Cancer Chemotherapy Reports
50, 1966).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Times:
    """``seen``: how long each took; ``censored``: how long others were watched without it (infinity: not known)."""

    seen: Sequence[float] = ()
    censored: Sequence[float] = ()

    def __add__(self, other: Times) -> Times:
        return Times([*self.seen, *other.seen], [*self.censored, *other.censored])


def quantile(times: Times, share: float) -> float | None:
    """The time by which ``share`` of all have happened, by Kaplan and Meier; None if so many never were."""
    times_seen, events, at_risk = _life_table(times)
    survival = np.cumprod(1 - events / at_risk)
    reached = np.flatnonzero(survival <= 1 - share + 1e-12)
    return float(times_seen[reached[0]]) if len(reached) else None


def log_rank(strata: Iterable[tuple[Times, Times]]) -> float | None:
    """The log-rank test's ``z``, positive if the second of each pair takes longer; None if nothing can be compared.

    Pairs are compared each in itself (settings, machines), and their differences added up.
    """
    difference, variance = 0.0, 0.0
    for first, second in strata:
        times_seen, events, at_risk = _life_table(first + second)
        of_first, first_at_risk = _count(first.seen, times_seen), _at_risk(first, times_seen)
        difference += float(np.sum(of_first - events * first_at_risk / at_risk))
        several = at_risk > 1
        n, d, m = at_risk[several], events[several], first_at_risk[several]
        variance += float(np.sum(d * (m / n) * (1 - m / n) * (n - d) / (n - 1)))
    return difference / math.sqrt(variance) if variance > 0 else None


def two_sided(z: float) -> float:
    """The probability of a normal score as far from 0 as ``z`` or further."""
    return math.erfc(abs(z) / math.sqrt(2))


def _life_table(times: Times) -> tuple[_Numbers, _Numbers, _Numbers]:
    """The distinct times, how many happened then, and how many were still being watched."""
    times_seen, events = np.unique(np.asarray(times.seen, np.float64), return_counts=True)
    return times_seen, events.astype(np.float64), _at_risk(times, times_seen)


def _count(seen: Sequence[float], times_seen: _Numbers) -> _Numbers:
    found = np.sort(np.asarray(seen, np.float64))
    return (np.searchsorted(found, times_seen, side="right") - np.searchsorted(found, times_seen)).astype(np.float64)


def _at_risk(times: Times, times_seen: _Numbers) -> _Numbers:
    all_times = np.sort(np.asarray([*times.seen, *times.censored], np.float64))
    return (len(all_times) - np.searchsorted(all_times, times_seen)).astype(np.float64)
