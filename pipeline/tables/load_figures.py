"""Counts, rate, unavailability and p99 latencies of a run, computed exactly from one batch at a time.

A run of any length is read in batches: what is held is one pair of numbers a second, and two histograms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from history import SECOND
from history.metrics.recovery import Load
from history.tables.metadata import read_pieces
from history.tables.schemas import OPERATIONS
from pipeline.tables.recovery import Slice

#: A stretch without an ok counts as unavailability if it is longer than this (s).
GAP_S: Final = 1
COLUMNS: Final = ("outcome", "phase", "invoked", "returned", "intended")

_BIN_NS: Final = 1 << 20
_BINS: Final = 1 << 16
_READ: Final = pa.schema([OPERATIONS.field(name) for name in COLUMNS])
_SINCE: Final = {"p99_ms": "invoked", "response_p99_ms": "intended"}
Batches: TypeAlias = Callable[[], Iterator[pa.Table | pa.RecordBatch]]
_Numbers: TypeAlias = npt.NDArray[np.int64]


def batches_of(table: Path) -> Batches:
    """The batches of an operations table on disk, read anew as often as they are asked for."""

    def read() -> Iterator[pa.Table]:
        for part in sorted(table.glob("*.parquet")):
            yield from read_pieces(part, "operations", _READ)

    return read


def load_figures(batches: Batches, healed: int = 0) -> tuple[dict[str, Any], Load]:
    """``operations``, ``ok``, ``rate``, ``unavailable_s`` and the latencies (see the table ``runs``), and the load.

    All but the first two are of the load (``history.metrics.recovery``).  ``healed`` is the last time of any fault
    (ns).
    """
    slices = [Slice.of(batch) for batch in batches()]
    load, phased, ok = Slice.load(slices, (), healed), any(piece.phased for piece in slices), 0
    seconds, latencies = _Seconds(), {name: np.zeros(_BINS, np.int64) for name in _SINCE}
    for batch in batches():
        ok += pc.sum(pc.equal(batch["outcome"], "ok")).as_py() or 0
        answered = _answered(batch, phased=phased)
        seconds.add(answered["returned"].to_numpy())
        for name, since in _SINCE.items():
            latencies[name] += np.bincount(_bins(_waits(answered, since)), minlength=_BINS)
    ok_in_load = int(latencies["p99_ms"].sum())
    figures: dict[str, Any] = {
        "operations": sum(piece.operations for piece in slices),
        "ok": ok,
        "rate": ok_in_load * SECOND / (load.end - load.begin) if load.end > load.begin else None,
        "unavailable_s": seconds.unavailable(load.begin, load.end) if Slice.asked_in(slices) else None,
        **{name: _p99(batches, latencies[name], since, phased=phased) for name, since in _SINCE.items()},
    }
    return figures, load


class _Seconds:
    """The first and the last ok of each second: a stretch of over a second without any lies between two of these."""

    def __init__(self) -> None:
        self._first: _Numbers = np.empty(0, np.int64)
        self._last: _Numbers = np.empty(0, np.int64)

    def add(self, times: _Numbers) -> None:
        if not len(times):
            return
        second = times // SECOND
        if (more := int(second.max()) + 1 - len(self._first)) > 0:
            self._first = np.append(self._first, np.full(more, np.iinfo(np.int64).max))
            self._last = np.append(self._last, np.full(more, -1))
        np.minimum.at(self._first, second, times)
        np.maximum.at(self._last, second, times)

    def unavailable(self, begin: int, end: int) -> float:
        """Seconds between ``begin`` and ``end`` (ns) that lie in stretches of over GAP_S s without an ok."""
        used = self._last >= 0
        seen = np.stack([self._first[used], self._last[used]], axis=1).ravel()
        gaps = np.diff(np.concatenate(([begin], np.clip(seen, begin, end), [end])))
        return float(gaps[gaps > GAP_S * SECOND].sum()) / SECOND


def _p99(batches: Batches, latencies: _Numbers, since: str, *, phased: bool) -> float | None:
    """The p99 latency (ms) by nearest rank: from the histogram its bin, from a second pass its place in the bin."""
    rank = -(-99 * int(latencies.sum()) // 100)
    if not rank:
        return None
    before = np.cumsum(latencies)
    place = int(np.searchsorted(before, rank))
    found = []
    for batch in batches():
        waits = _waits(_answered(batch, phased=phased), since)
        found.append(waits[_bins(waits) == place])
    within = np.sort(np.concatenate(found))
    return float(within[rank - 1 - (int(before[place - 1]) if place else 0)]) / 1e6


def _answered(batch: pa.Table | pa.RecordBatch, *, phased: bool) -> pa.Table | pa.RecordBatch:
    """The ok operations of the load."""
    ok = batch.filter(pc.equal(batch["outcome"], "ok"))
    return ok.filter(pc.equal(ok["phase"], "main")) if phased else ok


def _waits(answered: pa.Table | pa.RecordBatch, since: str) -> _Numbers:
    """The time that each of those with a time ``since`` took from it (ns)."""
    known = answered.filter(pc.is_valid(answered[since])) if answered[since].null_count else answered
    waits: _Numbers = known["returned"].to_numpy() - known[since].to_numpy()
    return waits


def _bins(waits: _Numbers) -> _Numbers:
    # No wait is negative, unless another writer says that an operation was due after its answer.
    return np.clip(waits // _BIN_NS, 0, _BINS - 1)
