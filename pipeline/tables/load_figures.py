"""Counts, rate, unavailability and p99 latency of a run, computed exactly from one batch at a time.

A run of any length is read in batches: what is held is one pair of numbers a second, and a histogram.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from history import SECOND
from history.metrics.recovery import Load
from pipeline.tables.recovery import Slice

GAP_S: Final = 1
"""A stretch without an ok counts as unavailability if it is longer than this (s)."""
COLUMNS: Final = ("outcome", "phase", "invoked", "returned")

_BATCH: Final = 1 << 18
_HELD: Final = 1 << 20
_BIN_NS: Final = 1 << 20
_BINS: Final = 1 << 16
Batches: TypeAlias = Callable[[], Iterator[pa.RecordBatch]]
_Numbers: TypeAlias = npt.NDArray[np.int64]


def batches_of(table: Path) -> Batches:
    """The batches of an operations table on disk, as often as they are asked for; a small table is read once."""
    parts = sorted(table.glob("*.parquet"))

    def read() -> Iterator[pa.RecordBatch]:
        for part in parts:
            with pq.ParquetFile(part) as file:
                yield from file.iter_batches(_BATCH, columns=list(COLUMNS))

    if sum(part.stat().st_size for part in parts) > _HELD:
        return read
    held = list(read())
    return lambda: iter(held)


def load_figures(batches: Batches, healed: int = 0) -> tuple[dict[str, Any], Load]:
    """``operations``, ``ok``, ``rate``, ``unavailable_s`` and ``p99_ms`` (see the table ``runs``), and the load.

    The last three figures are of the load (``history.metrics.recovery``).  ``healed`` is the last time of any fault
    (ns).
    """
    slices = [Slice.of(batch) for batch in batches()]
    load, phased, ok = Slice.load(slices, (), healed), any(piece.phased for piece in slices), 0
    seconds, latencies = _Seconds(), np.zeros(_BINS, np.int64)
    for batch in batches():
        ok += pc.equal(batch["outcome"], "ok").true_count
        returned, waits = _answered(batch, phased=phased)
        seconds.add(returned)
        latencies += np.bincount(np.minimum(waits // _BIN_NS, _BINS - 1), minlength=_BINS)
    answered = int(latencies.sum())
    figures: dict[str, Any] = {
        "operations": sum(piece.operations for piece in slices),
        "ok": ok,
        "rate": answered * SECOND / (load.end - load.begin) if load.end > load.begin else None,
        "unavailable_s": seconds.unavailable(load.begin, load.end) if Slice.asked_in(slices) else None,
        "p99_ms": _quantile(batches, latencies, phased=phased) if answered else None,
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


def _quantile(batches: Batches, latencies: _Numbers, *, phased: bool, per_cent: int = 99) -> float:
    """The latency (ms) by nearest rank: from the histogram its bin, from a second pass its place in the bin."""
    rank = -(-per_cent * int(latencies.sum()) // 100)
    before = np.cumsum(latencies)
    place = int(np.searchsorted(before, rank))
    found = []
    for batch in batches():
        waits = _answered(batch, phased=phased)[1]
        found.append(waits[np.minimum(waits // _BIN_NS, _BINS - 1) == place])
    within = np.sort(np.concatenate(found))
    return float(within[rank - 1 - (int(before[place - 1]) if place else 0)]) / 1e6


def _answered(batch: pa.RecordBatch, *, phased: bool) -> tuple[_Numbers, _Numbers]:
    """When the ok operations of the load returned, and how long they took (ns)."""
    ok = batch.filter(pc.equal(batch["outcome"], "ok"))
    ok = ok.filter(pc.equal(ok["phase"], "main")) if phased else ok
    returned = ok["returned"].to_numpy()
    return returned, returned - ok["invoked"].to_numpy()
