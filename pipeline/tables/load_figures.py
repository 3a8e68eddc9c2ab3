"""Counts, rate, unavailability and p99 latencies of a run, computed exactly, reading one batch at a time.

A run of any length is read in batches: only one pair of numbers for each second, and the greatest hundredth of the
latencies, are held in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from history import SECOND
from history.metrics.awake_clock import AwakeClock
from history.metrics.recovery import LoadSpan
from history.tables.metadata import read_pieces
from history.tables.schemas import OPERATIONS
from pipeline.tables.recovery import Slice

#: A stretch without an ok operation counts as unavailability if it is longer than this (s).
GAP_S: Final = 1
COLUMNS: Final = ("outcome", "phase", "invoked", "returned", "intended")

_READ: Final = pa.schema([OPERATIONS.field(name) for name in COLUMNS])
_SINCE: Final = {"p99_ms": "invoked", "response_p99_ms": "intended"}
Batches: TypeAlias = Callable[[], Iterator[pa.Table | pa.RecordBatch]]
_Numbers: TypeAlias = npt.NDArray[np.int64]


def batches_of(table: Path) -> Batches:
    """Return a function that reads the batches of an operations table from disk, each time from the beginning."""

    def read() -> Iterator[pa.Table]:
        for part in sorted(table.glob("*.parquet")):
            yield from read_pieces(part, "operations", _READ)

    return read


class OfLoad(NamedTuple):
    """A run's load, its ``figures``, and its ``gaps``: (start in ns, length in s) of each time without an ok."""

    figures: dict[str, Any]
    load: LoadSpan
    gaps: list[tuple[int, float]]


def load_figures(batches: Batches, clock: AwakeClock, healed: int = 0) -> OfLoad:
    """Return the load and its figures: ``operations``, ``ok``, ``rate``, ``unavailable_s`` and the latencies.

    The table ``runs`` says what they mean.  All but the first two are figures of the load
    (``history.metrics.recovery``), on ``clock``, which leaves out standstills.  The returned load, and the starts of
    the gaps, have the times of the run.  ``healed`` is the last time of any fault (ns).
    """
    slices = [Slice.of(batch) for batch in batches()]
    load, phased, ok = Slice.load(slices, (), healed), any(piece.phased for piece in slices), 0
    seconds, counts = _by_second(np.empty(0, np.int64)), dict.fromkeys(_SINCE, 0)
    for batch in batches():
        ok += pc.sum(pc.equal(batch["outcome"], "ok")).as_py() or 0
        answered = _answered(batch, phased=phased)
        seconds = _by_second(answered["returned"].to_numpy(), seconds)
        for name, since in _SINCE.items():
            counts[name] += len(_waits(answered, since, clock))
    awake = load.awake(clock)
    sent = bool(Slice.asked_in(slices))
    gaps = _gaps(seconds, load, clock) if sent else []
    figures: dict[str, Any] = {
        "operations": sum(piece.operations for piece in slices),
        "ok": ok,
        "rate": counts["p99_ms"] * SECOND / (awake.end - awake.begin) if awake.end > awake.begin else None,
        "unavailable_s": sum(length for _, length in gaps) if sent else None,
        **{name: _p99(batches, counts[name], since, clock, phased=phased) for name, since in _SINCE.items()},
    }
    return OfLoad(figures, load, gaps)


def _by_second(times: _Numbers, *seconds: pa.Table) -> pa.Table:
    """Return the first and the last ok of each second.

    Every stretch of more than a second without an ok lies between two of them.
    """
    more = pa.table({"second": times // SECOND, "first": times, "last": times})
    groups = pa.concat_tables([*seconds, more]).group_by("second")
    return groups.aggregate([("first", "min"), ("last", "max")]).rename_columns(["second", "first", "last"])


def _gaps(seconds: pa.Table, load: LoadSpan, clock: AwakeClock) -> list[tuple[int, float]]:
    """Return (start in ns, length in s) of the stretches of the load of more than GAP_S without an ok."""
    times = np.sort(np.concatenate([seconds["first"].to_numpy(), seconds["last"].to_numpy()]))
    edges = np.concatenate(([load.begin], np.clip(times, load.begin, load.end), [load.end]))
    lengths = np.diff(clock.times(edges)) / SECOND
    return [(int(edges[place]), float(lengths[place])) for place in np.flatnonzero(lengths > GAP_S)]


def _p99(batches: Batches, count: int, since: str, clock: AwakeClock, *, phased: bool) -> float | None:
    """Return the p99 latency (ms) of ``count`` operations by nearest rank: the least of the greatest hundredth."""
    if not count:
        return None
    most = count + 1 + -99 * count // 100
    held = np.empty(0, np.int64)
    for batch in batches():
        held = np.append(held, _waits(_answered(batch, phased=phased), since, clock))
        if len(held) > 2 * most:
            held = np.partition(held, -most)[-most:]
    return float(np.partition(held, -most)[-most]) / 1e6


def _answered(batch: pa.Table | pa.RecordBatch, *, phased: bool) -> pa.Table | pa.RecordBatch:
    """Return the ok operations of the load."""
    ok = batch.filter(pc.equal(batch["outcome"], "ok"))
    return ok.filter(pc.equal(ok["phase"], "main")) if phased else ok


def _waits(answered: pa.Table | pa.RecordBatch, since: str, clock: AwakeClock) -> _Numbers:
    """Return how long each operation took from its time ``since`` (ns); operations without that time are left out."""
    known = answered.filter(pc.is_valid(answered[since])) if answered[since].null_count else answered
    waits: _Numbers = clock.times(known["returned"].to_numpy()) - clock.times(known[since].to_numpy())
    return waits
