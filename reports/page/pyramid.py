"""Select the operations that a page holds in full if there are very many; all are counted in time buckets.

A page with ten million operations would be 120 MB and take ten seconds to open.  So beyond :data:`HELD` a page holds
the operations of violations, those that did not end as ok (as many as fit), the slowest, and an even sample of the
others.  For each row of the timeline and each bucket of time, it also holds the worst outcome of all operations.  The
page merges buckets that fall into the same pixel.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from history.codes import FAIL, INFO, OK
from history.columns.operations import NONE, Coded, Flags, Ints, Operations

#: How many operations a page holds in full.
HELD: Final = 1_000_000
BUCKETS: Final = 16_384
#: Limit of buckets in all rows together.
CELLS: Final = 4_000_000
#: How bad an outcome is, like ``BADNESS`` in the page's scripts; 0 means no operation.
WORST: Final = {OK: 1, FAIL: 2, INFO: 3}


@dataclass(frozen=True, slots=True)
class Pyramid:
    """Operations that the page holds (``held``, in order).

    ``worst`` is the worst outcome among all operations for each timeline row and bucket.
    """

    held: Ints
    worst: Any
    errors: int
    errors_held: int

    def data(self, total: int) -> dict[str, Any]:
        """Return the numbers that the page's scripts need in addition to the ``worst`` column."""
        held = {"total": total, "held": len(self.held), "errors": self.errors, "errorsHeld": self.errors_held}
        return {"pyramid": {"buckets": self.worst.shape[1], **held}}


def pyramid_of(
    operations: Operations, lanes: Ints, lane_count: int, end_ns: int, marked: Collection[int], most: int = HELD
) -> Pyramid | None:
    """Select the operations that the page holds; None if it can hold all.

    ``marked`` are the invocations of violations.
    """
    if len(operations) <= most:
        return None
    errors = ~operations.which(OK)
    held = _held(operations, errors, marked, most)
    worst = _worst(operations, lanes, lane_count, end_ns)
    return Pyramid(np.flatnonzero(held), worst, int(errors.sum()), int((errors & held).sum()))


def _held(operations: Operations, errors: Flags, marked: Collection[int], most: int) -> Flags:
    held = np.isin(operations.invoke_index, np.fromiter(marked, np.int64, len(marked)))
    room = most // 2 - int(held.sum())
    _add(held, _thinned(np.flatnonzero(errors & ~held), room))
    took = np.where(operations.returned == NONE, 0, operations.returned - operations.invoked)
    rest = np.flatnonzero(~errors & ~held)
    slow = min((most - int(held.sum())) // 2, len(rest))
    if slow:
        _add(held, rest[np.argpartition(-took[rest], slow - 1)[:slow]])
    _add(held, _thinned(np.flatnonzero(~errors & ~held), most - int(held.sum())))
    return held


def _add(held: Flags, rows: Ints) -> None:
    held[rows] = True


def _thinned(rows: Ints, room: int) -> Ints:
    """Return an even sample of at most ``room`` rows."""
    return rows if len(rows) <= room else rows[np.arange(max(room, 0)) * len(rows) // max(room, 1)]


def _worst(operations: Operations, lanes: Ints, lane_count: int, end_ns: int) -> Any:
    buckets = max(min(BUCKETS, CELLS // max(lane_count, 1)), 1)
    place = np.minimum(operations.invoked * buckets // max(end_ns, 1), buckets - 1) + lanes * buckets
    worst = np.zeros(lane_count * buckets, dtype=np.int64)
    for outcome, bad in sorted(WORST.items(), key=lambda pair: pair[1]):
        worst[place[operations.which(outcome)]] = bad
    return worst.reshape(lane_count, buckets)


def taken(operations: Operations, rows: Ints) -> Operations:
    """Return the operations in these rows."""

    def of(column: Any) -> Any:
        if isinstance(column, Coded):
            return replace(column, codes=column.codes[rows])
        return column[rows] if isinstance(column, np.ndarray) else column.take(pa.array(rows))

    return Operations(**{field.name: of(getattr(operations, field.name)) for field in fields(Operations)})
