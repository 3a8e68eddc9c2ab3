"""Quantiles of many times in little memory, from counts in 128 buckets for each power of two."""

from __future__ import annotations

import math
from typing import Final

_BITS: Final = 7
_BUCKETS: Final = 64 << _BITS


class Histogram:
    """Counts of times in nanoseconds.  Quantiles are at most one per cent too high; the maximum is exact."""

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self.count = 0
        self.most = 0

    def add(self, time: int) -> None:
        """Count one time; a negative time counts as 0."""
        if time <= 0:
            time = 0
        elif time > self.most:
            self.most = time
        # The bucket is given by the power of two and the _BITS bits after the leading one.
        shift = time.bit_length() - _BITS - 1
        self._counts[(shift << _BITS) + (time >> shift) if shift > 0 else time] += 1
        self.count += 1

    def quantile_ms(self, share: float) -> float:
        """Return the smallest time (ms) that at least this share of all times does not exceed; 0 without any times."""
        left = max(1, math.ceil(share * self.count))
        for bucket, count in enumerate(self._counts):
            left -= count
            if left <= 0:
                return round(min(_highest(bucket), self.most) / 1e6, 3)
        return 0.0

    @property
    def most_ms(self) -> float:
        return round(self.most / 1e6, 3)


def _highest(bucket: int) -> int:
    """Return the highest time in a bucket."""
    shift = max(0, (bucket >> _BITS) - 1)
    return ((bucket - (shift << _BITS) + 1) << shift) - 1
