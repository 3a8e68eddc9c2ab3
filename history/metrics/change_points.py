"""Find lasting changes in a series of figures with a known rate of false alarms.

The method is a CUSUM of sequential normal scores (McDonald, *A cusum procedure based on sequential ranks*, Naval
Research Logistics 37, 1990; Conover, Tercero-Gómez and Cordero-Franco, *The sequential normal scores transformation*,
Sequential Analysis 36, 2017).  Each figure is ranked among those before it, the rank becomes a score ``z`` of the
normal distribution, and the sum is updated to ``S = max(0, S + z - ALLOWANCE)``.  A change is found when ``S`` exceeds
``LIMIT``; it began with the first figure after ``S`` was last 0.  While ``S`` is positive, figures are ranked only
among those before this excursion, so that a change does not hide itself.  They join the others when ``S`` returns to 0.

Because only ranks matter, the rate of false alarms is the same for any distribution of exchangeable figures, including
skewed and heavy-tailed ones; ties only lower it.  ``LIMIT`` makes it one in 116 x 4 x 30: at most one false alarm a
month for 116 cells with four figures each and one run a night.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, median
from typing import Final

#: Half the size of the change that the method finds fastest, in standard deviations.
ALLOWANCE: Final = 1.0
LIMIT: Final = 4.1
#: A figure is judged only if at least this many figures precede it.
MIN_BEFORE: Final = 20
#: A change ends when this many figures in a row are back on the other side of the middle between both medians.
RECOVERED: Final = 5
#: Ignore a change of the median by less than this share of it.
SMALLEST: Final = 0.05

_score = NormalDist().inv_cdf


@dataclass(frozen=True, slots=True)
class Change:
    """A lasting rise in a series.

    ``onset``, ``found`` and ``closed`` are the positions of its first figure, of the figure that showed it, and of the
    one that ended it (None while it lasts).  ``before`` and ``since`` are the medians of the figures before ``onset``
    and from ``onset`` to ``found``.
    """

    onset: int
    found: int
    closed: int | None
    before: float
    since: float


class _Cusum:
    """The running sum that detects rises; ``pending`` are the figures since it was last 0."""

    __slots__ = ("before", "pending", "sum")

    def __init__(self, before: Iterable[float] = ()) -> None:
        self.before = sorted(before)
        self.pending: list[float] = []
        self.sum = 0.0

    def add(self, value: float) -> bool:
        """Add a figure and return whether the sum now exceeds the limit."""
        if len(self.before) >= MIN_BEFORE:
            # The score of the figure's rank among those before it; equal figures share their middle rank.
            low, high = bisect_left(self.before, value), bisect_right(self.before, value)
            self.sum = max(0.0, self.sum + _score((low + high + 1) / 2 / (len(self.before) + 1)) - ALLOWANCE)
        self.pending.append(value)
        if self.sum == 0.0:
            self.accept()
        return self.sum > LIMIT

    def accept(self) -> None:
        """Add the pending figures to the earlier ones, as part of the same level."""
        for value in self.pending:
            insort(self.before, value)
        self.pending, self.sum = [], 0.0

    def change(self, floor: float) -> tuple[float, float] | None:
        """Return the medians before and since the change if the rise is large enough to matter, else None."""
        before, since = median(self.before), median(self.pending)
        least = max(floor, SMALLEST * abs(before)) if math.isfinite(before) else floor
        return (before, since) if since - before > least else None


def rises(values: Sequence[float], floor: float) -> list[Change]:
    """Return the lasting rises in a series, oldest first; only the last can be open.

    A rise by less than ``floor`` or :data:`SMALLEST` counts as part of the level before it.  After a lasting fall,
    later figures are compared with the lower level.  Infinity is allowed as a figure, but NaN is not.
    """
    changes: list[Change] = []
    up, down = _Cusum(), _Cusum()
    back = 0
    for place, value in enumerate(values):
        if changes and changes[-1].closed is None:
            # While a rise is open, only look for its end.
            rise = changes[-1]
            back = back + 1 if value < (rise.before + rise.since) / 2 else 0
            if back == RECOVERED:
                changes[-1] = replace(rise, closed=place)
                up = _Cusum([*up.before, *values[place + 1 - back : place + 1]])
                down = _Cusum(-value for value in up.before)
            continue
        fell, rose = down.add(-value), up.add(value)
        if fell and down.change(floor):
            up, down = _Cusum(-value for value in down.pending), _Cusum(down.pending)
        elif fell:
            down.accept()
        elif rose and (medians := up.change(floor)):
            changes.append(Change(place + 1 - len(up.pending), place, None, *medians))
            back = 0
        elif rose:
            up.accept()
    return changes
