"""Lasting changes in a series of figures, found with a stated rate of false alarms.

The method is a CUSUM of sequential normal scores (McDonald, *A cusum procedure based on sequential ranks*, Naval
Research Logistics 37, 1990; Conover, Tercero-Gómez and Cordero-Franco, *The sequential normal scores transformation*,
Sequential Analysis 36, 2017).  Each figure is ranked among those before it, the rank is turned into a score ``z`` of
the normal distribution, and ``S = max(0, S + z - ALLOWANCE)`` is summed up; the change is found when ``S`` exceeds
``LIMIT``, and began with the first figure after ``S`` was last 0.  Figures of such an excursion are ranked among those
before it only, so that a change does not hide itself; they join the others when ``S`` is 0 again.

Only ranks are used.  So as long as figures are exchangeable, the rate of false alarms is the same whatever their
distribution (outliers, skew and heavy tails included), and ties only lower it.  ``LIMIT`` makes it one in
116 x 4 x 30: at most one a month over 116 cells of four figures with one run a night.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, median
from typing import Final

#: Half of the change that is to be found soonest, in standard deviations.
ALLOWANCE: Final = 1.0
LIMIT: Final = 4.1
#: At least this many figures must come before one that is judged.
MIN_BEFORE: Final = 20
#: A change ends when this many figures in a row are back beyond its middle.
RECOVERED: Final = 5
#: A change of the median by less than this share of it is no finding.
SMALLEST: Final = 0.05

_score = NormalDist().inv_cdf


@dataclass(frozen=True, slots=True)
class Change:
    """A lasting rise: the places of its first figure, of the one that showed it, and of the one that closed it.

    ``before`` and ``since`` are the medians of the figures before ``onset`` and from there to ``found``; ``closed`` is
    None while it lasts.
    """

    onset: int
    found: int
    closed: int | None
    before: float
    since: float


class _Cusum:
    """The sum for rises; ``pending`` are the figures since it was last 0."""

    __slots__ = ("before", "pending", "sum")

    def __init__(self, before: Iterable[float] = ()) -> None:
        self.before = sorted(before)
        self.pending: list[float] = []
        self.sum = 0.0

    def add(self, value: float) -> bool:
        """Is the sum beyond the limit with this figure?"""
        if len(self.before) >= MIN_BEFORE:
            low, high = bisect_left(self.before, value), bisect_right(self.before, value)
            self.sum = max(0.0, self.sum + _score((low + high + 1) / 2 / (len(self.before) + 1)) - ALLOWANCE)
        self.pending.append(value)
        if self.sum == 0.0:
            self.accept()
        return self.sum > LIMIT

    def accept(self) -> None:
        """Take the pending figures for more of what was before."""
        for value in self.pending:
            insort(self.before, value)
        self.pending, self.sum = [], 0.0

    def change(self, floor: float) -> tuple[float, float] | None:
        """The medians before and since if they differ by enough to matter."""
        before, since = median(self.before), median(self.pending)
        least = max(floor, SMALLEST * abs(before)) if math.isfinite(before) else floor
        return (before, since) if since - before > least else None


def rises(values: Sequence[float], floor: float) -> list[Change]:
    """The lasting rises of a series, oldest first; only the last may be open.

    A rise by less than ``floor`` or :data:`SMALLEST` joins what was before.  A lasting fall is what later figures are
    compared with.  Infinity is a figure like others; NaN is none.
    """
    found: list[Change] = []
    up, down = _Cusum(), _Cusum()
    back = 0
    for place, value in enumerate(values):
        if found and found[-1].closed is None:
            rise = found[-1]
            back = back + 1 if value < (rise.before + rise.since) / 2 else 0
            if back == RECOVERED:
                found[-1] = replace(rise, closed=place)
                up = _Cusum([*up.before, *values[place + 1 - back : place + 1]])
                down = _Cusum(-value for value in up.before)
            continue
        fell, rose = down.add(-value), up.add(value)
        if fell and down.change(floor):
            up, down = _Cusum(-value for value in down.pending), _Cusum(down.pending)
        elif fell:
            down.accept()
        elif rose and (medians := up.change(floor)):
            found.append(Change(place + 1 - len(up.pending), place, None, *medians))
            back = 0
        elif rose:
            up.accept()
    return found
