"""An axis for indexes.  If indexes have epochs, the epochs are placed next to each other without the gaps.

An index with an epoch in its upper bits rises by billions from one epoch to the next, and by hundreds within one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from reports.style.format import number

Floats: TypeAlias = npt.NDArray[np.float64]

#: How many labels fit on an axis, one below the other.
ROOM: Final = 11


@dataclass(frozen=True, slots=True)
class IndexAxis:
    """Axis for indexes; ``begins`` are (place on the axis, index) of each epoch's first entry.

    ``begins`` is empty if indexes have no epochs.
    """

    begins: tuple[tuple[float, int], ...] = ()
    bits: int = 0

    @classmethod
    def of(cls, rows: Sequence[Floats], bits: int) -> IndexAxis:
        """Create the axis for all indexes in some arrays (NaN: none)."""
        if not bits:
            return cls()
        known = np.concatenate([np.empty(0), *(row[np.isfinite(row)].ravel() for row in rows)])
        epochs = np.floor(known / 2.0**bits)
        begins, place = [], 0.0
        for epoch in np.unique(epochs).tolist():
            begins.append((place, int(epoch) << bits))
            place += float(known[epochs == epoch].max()) - epoch * 2.0**bits + 1
        return cls(tuple(begins), bits)

    def places(self, rows: Floats) -> Floats:
        """Return the places of indexes on the axis."""
        if not self.begins:
            return rows
        starts = np.array([index for _, index in self.begins], dtype=np.float64)
        shift = np.array([place for place, _ in self.begins]) - starts
        at = np.clip(np.searchsorted(starts, np.nan_to_num(rows), side="right") - 1, 0, len(starts) - 1)
        return rows + shift[at]

    def levels(self, top: float, most: int = 4) -> list[tuple[float, str]]:
        """Return labelled levels: zero and up to ``most`` round indexes, or epochs and round counters within them."""
        if not self.begins:
            return [(level, number(int(level))) for level in _levels(top, most)]
        step = next(size for power in range(16) for part in (1, 2, 4, 8) if top / (size := part * 16**power) <= most)
        labelled: list[tuple[float, str]] = []

        def add(place: float, text: str) -> None:
            if all(abs(place - other) >= top / ROOM for other, _ in labelled):
                labelled.append((place, text))

        for place, index in self.begins:
            add(place, f"epoch {index >> self.bits}")
        ends = [*(place for place, _ in self.begins[1:]), top + 1]
        for (begin, _), end in zip(self.begins, ends, strict=True):
            for counter in range(step, math.ceil(end - begin), step):
                if end > top or end - begin - counter >= top / ROOM:
                    add(begin + counter, f"+{counter:#x}")
        return sorted(labelled)


def _levels(top: float, most: int) -> list[float]:
    """Return zero and round numbers above it."""
    power = 10.0 ** math.floor(math.log10(top))
    step = next((power * part for part in (0.25, 0.5, 1.0) if top / (power * part) <= most), power * 2.5)
    step = max(1.0, float(math.ceil(step)))
    return [step * place for place in range(int(top / step) + 1)]
