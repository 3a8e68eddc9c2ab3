"""Decide registers whose values are written once each by zones, in linear time, all keys in one pass.

Source: Gibbons and Korach (1997); Golab, Li and Shah (2011).  The *cluster* of a value is its write and its ok reads.
Let ``f`` be the least return and ``s`` the greatest invocation in a cluster.  If f < s, the value must be current at f
and at s (a *forward* zone [f, s]); otherwise it needs one moment in its *backward* zone [s, f].  A history is
linearizable iff

1. no cluster has f before the invocation of its write,
2. no two forward zones intersect,
3. no backward zone lies inside a forward zone.

Necessity: a value occupies one contiguous stretch of time, which contains a moment at or before f and one at or after
s.  Sufficiency: put each forward cluster exactly on its zone; every backward zone then has a moment outside all of
them.  A pending write never returns: it is left out if it was not read, and otherwise its f is its first reader's
return.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from checker.core.intervals import IntArray
from history.codes import NEVER

ENGINE: Final = "zones"


@dataclass(frozen=True, slots=True)
class ClusterColumns:
    """Calls of one or many registers, one row per call; all arrays have the same length n.

    This is not ``RegisterColumns``: all keys are one history here, and a cluster, which is a value of one key,
    takes the place of the value.

    Ranks are distinct integers from 0 to ``events`` - 1, the keys one after the other.  Clusters 0 to K-1 are the
    initial values of the K keys.  They are "written" at the ranks ``starts``, each before all calls on its key.
    ``write`` marks writes; ``ret`` is ``NEVER`` for a pending write.  A cluster has at most one write, and an
    initial one has none.
    """

    cluster: IntArray
    write: NDArray[np.bool_]
    invoke: IntArray
    ret: IntArray
    clusters: int
    starts: IntArray
    events: int


@dataclass(frozen=True, slots=True)
class Zones:
    """Contradictions: clusters that contradict themselves, and pairs that contradict each other.

    ``phantom``: read but never written; ``future``: read before the write began.  ``outer`` and ``inner``: the
    value ``outer[i]`` had to be current over a stretch in which ``inner[i]`` was current as well.  ``first`` (f)
    and ``last`` (s) show that, and the pairs are in the order of the inner one's f.
    """

    first: IntArray
    last: IntArray
    written: IntArray
    phantom: IntArray
    future: IntArray
    outer: IntArray
    inner: IntArray

    @property
    def valid(self) -> bool:
        return not (self.phantom.size or self.future.size or self.inner.size)


def zones(columns: ClusterColumns) -> Zones:
    """Find the contradictions of all registers at once.  O(n + events), no sort."""
    written = np.full(columns.clusters, -1, np.int64)
    written[columns.cluster[columns.write]] = columns.invoke[columns.write]
    keys = columns.starts.size
    written[:keys] = columns.starts
    first, last = _bounds(columns)
    phantom = np.flatnonzero((written < 0) & (last >= 0))
    future = np.flatnonzero((first < written) & (written >= 0) & (last >= 0))
    outer, inner = _conflicts(first, last, written, columns)
    return Zones(first, last, written, phantom, future, outer, inner)


def _bounds(columns: ClusterColumns) -> tuple[IntArray, IntArray]:
    # f is the least return in a cluster, s the greatest invocation.
    first = np.full(columns.clusters, NEVER, np.int64)
    last = np.full(columns.clusters, -1, np.int64)
    np.minimum.at(first, columns.cluster, columns.ret)
    np.maximum.at(last, columns.cluster, columns.invoke)
    initial = slice(0, columns.starts.size)
    first[initial] = np.minimum(first[initial], columns.starts)
    return first, last


def _sound(first: IntArray, last: IntArray, written: IntArray) -> NDArray[np.bool_]:
    """Return which clusters have a zone: they were written and observed, and not before they were written."""
    sound: NDArray[np.bool_] = (written >= 0) & (first != NEVER) & (last >= 0) & (first >= written)
    return sound


def _conflicts(
    first: IntArray, last: IntArray, written: IntArray, columns: ClusterColumns
) -> tuple[IntArray, IntArray]:
    """Return pairs of clusters, by a running maximum of s over forward zones in the order of f."""
    sound = _sound(first, last, written)
    forward = np.flatnonzero(sound & (first < last))
    backward = np.flatnonzero(sound & (first > last))
    reach = _reach(first[forward], last[forward], columns.events)
    # Ranks grow from key to key, so the reach of one key never extends to the next.
    forward = forward[forward >= columns.starts.size]
    # Rule 2: of the forward zones that begin before this one, some zone still lasts when this one begins.
    clash = forward[reach[first[forward]] > first[forward]]
    # Rule 3: of those that begin before this backward zone, some zone lasts beyond its end.
    nested = backward[reach[last[backward]] > first[backward]]
    inner = np.concatenate([clash, nested])
    at = np.concatenate([first[clash], last[nested]])
    outer = _cluster_at(reach[at], columns)
    order = np.argsort(first[inner], kind="stable")
    return outer[order], inner[order]


def stale(zones: Zones) -> tuple[IntArray, IntArray]:
    """Return every value that was current on both sides of another one, and the first such other value.

    ``zones`` pairs each inner value with one outer value, so a stale value whose stretch lies within that of another
    stale value need not be among them.  Without the answers that returned a value after its other one had been seen, no
    pairs are left.  O(n log n).
    """
    first, last = zones.first, zones.last
    sound = _sound(first, last, zones.written)
    forward = np.flatnonzero(sound & (first < last))
    forward = forward[np.argsort(first[forward], kind="stable")]
    backward = np.flatnonzero(sound & (first > last))
    backward = backward[np.argsort(last[backward], kind="stable")]
    # The earliest inner value is the next forward zone, or the backward zone that ends first of those that begin later.
    least = np.minimum.accumulate(first[backward][::-1])[::-1]
    ends = np.append(least, NEVER)[np.searchsorted(last[backward], first[forward], side="right")]
    begins = np.append(first[forward][1:], NEVER)
    inner_first = np.minimum(begins, ends)
    outer = inner_first < last[forward]
    by_first = np.argsort(first, kind="stable")
    inner: IntArray = by_first[np.searchsorted(first[by_first], inner_first[outer])]
    return forward[outer], inner


def _reach(first: IntArray, last: IntArray, events: int) -> IntArray:
    """Return for each rank t the greatest s of all zones with f < t, or -1."""
    reach = np.full(events + 2, -1, np.int64)
    reach[first + 1] = last
    np.maximum.accumulate(reach, out=reach)
    return reach


def crossing(first: IntArray, last: IntArray) -> tuple[IntArray, IntArray]:
    """Return the pairs of zones that break rule 2 or 3, as two columns: outer zones, inner zones.

    ``first`` and ``last`` may be any integers; a zone with f = ``NEVER`` is left out.  O(n log n).
    """
    order = np.flatnonzero((first < last) & (first != NEVER))
    order = order[np.argsort(first[order], kind="stable")]
    if not order.size:
        return order, order
    reach = np.maximum.accumulate(last[order])
    owner = np.maximum.accumulate(np.where(last[order] == reach, np.arange(order.size), 0))
    # For each zone: the number of forward zones that begin before it.
    ahead = np.searchsorted(first[order], np.minimum(first, last), side="left")
    inner = np.flatnonzero((ahead > 0) & (first != NEVER))
    inner = inner[reach[ahead[inner] - 1] > first[inner]]
    return order[owner[ahead[inner] - 1]], inner


def _cluster_at(ranks: IntArray, columns: ClusterColumns) -> IntArray:
    if not ranks.size:
        return np.empty(0, np.int64)
    owner = np.full(columns.events, -1, np.int64)
    owner[columns.invoke] = columns.cluster
    return owner[ranks]


def linearization(columns: ClusterColumns, zones: Zones) -> IntArray:
    """Return the rows of a valid history in the order of a linearization, as the proof of sufficiency builds it.

    The write of a forward cluster takes effect at f, a read at the later of f and its own invocation.  A backward
    cluster takes effect at the first moment of its zone that no forward zone covers.  Pending writes that were not
    read are left out.  O(n log n).
    """
    first, last = zones.first, zones.last
    moment = np.where(first < last, first, _free_moment(first, last, columns))
    point = np.where(
        (first < last)[columns.cluster] & ~columns.write,
        np.maximum(first[columns.cluster], columns.invoke),
        moment[columns.cluster],
    )
    rows = np.flatnonzero(first[columns.cluster] != NEVER)
    cluster = columns.cluster[rows]
    keys: Any = (columns.invoke[rows], ~columns.write[rows], last[cluster], (first > last)[cluster], point[rows])
    order: IntArray = rows[np.lexsort(keys)]
    return order


def _free_moment(first: IntArray, last: IntArray, columns: ClusterColumns) -> IntArray:
    """Return a free moment for each backward cluster: s, or the end of the forward zone that covers s."""
    forward = (first < last) & (first != NEVER)
    reach = _reach(first[forward], last[forward], columns.events)
    inside = np.clip(last, 0, columns.events + 1)
    moment: IntArray = np.maximum(last, reach[inside])
    return moment
