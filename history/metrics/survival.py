"""Statistics of the time until an event, such as recovery, that may not have happened while we watched.

A fault from which the system never recovered was watched for some time and is *censored* at its end.  Without such
faults, a system that often fails to recover would look fast.  So they count in the estimate of the distribution (Kaplan
and Meier, *Nonparametric estimation from incomplete observations*, JASA 53, 1958) and in the comparison of two
distributions (the log-rank test: Mantel, *Evaluation of survival data and two new rank order statistics*, Cancer
Chemotherapy Reports 50, 1966).
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
    """A sample of times until an event.

    ``seen`` are the times of events that happened.  ``censored`` are the times for which others were watched without an
    event (infinity if unknown).
    """

    seen: Sequence[float] = ()
    censored: Sequence[float] = ()

    def __add__(self, other: Times) -> Times:
        return Times([*self.seen, *other.seen], [*self.censored, *other.censored])


def quantile(times: Times, share: float) -> float | None:
    """Return the Kaplan-Meier estimate of the time by which ``share`` of all events happen; None if they never do."""
    times_seen, events, at_risk = _life_table(times)
    survival = np.cumprod(1 - events / at_risk)
    reached = np.flatnonzero(survival <= 1 - share + 1e-12)
    return float(times_seen[reached[0]]) if len(reached) else None


def log_rank(strata: Iterable[tuple[Times, Times]]) -> float | None:
    """Return ``z`` of the log-rank test; None if nothing can be compared.

    It is positive if the second sample of each pair takes longer.  Each pair is compared separately, for example per
    machine, and the differences are added up.
    """
    difference, variance = 0.0, 0.0
    for first, second in strata:
        times_seen, events, at_risk = _life_table(first + second)
        of_first, first_at_risk = _count(first.seen, times_seen), _at_risk(first, times_seen)
        difference += float(np.sum(of_first - events * first_at_risk / at_risk))
        # The variance of a hypergeometric distribution, which is 0 where only one is left.
        several = at_risk > 1
        n, d, m = at_risk[several], events[several], first_at_risk[several]
        variance += float(np.sum(d * (m / n) * (1 - m / n) * (n - d) / (n - 1)))
    return difference / math.sqrt(variance) if variance > 0 else None


def two_sided(z: float) -> float:
    """Return the two-sided p-value: the probability of a normal score at least as far from 0 as ``z``."""
    return math.erfc(abs(z) / math.sqrt(2))


def _life_table(times: Times) -> tuple[_Numbers, _Numbers, _Numbers]:
    """Return the distinct event times, the number of events at each, and how many were still watched then."""
    times_seen, events = np.unique(np.asarray(times.seen, np.float64), return_counts=True)
    return times_seen, events.astype(np.float64), _at_risk(times, times_seen)


def _count(moments: Sequence[float], times_seen: _Numbers) -> _Numbers:
    times = np.sort(np.asarray(moments, np.float64))
    return (np.searchsorted(times, times_seen, side="right") - np.searchsorted(times, times_seen)).astype(np.float64)


def _at_risk(times: Times, times_seen: _Numbers) -> _Numbers:
    all_times = np.sort(np.asarray([*times.seen, *times.censored], np.float64))
    return (len(all_times) - np.searchsorted(all_times, times_seen)).astype(np.float64)
