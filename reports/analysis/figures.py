"""Figures over time, computed only from the operations: rate, latency quantiles, availability, counts."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from history import SECOND
from history.codes import FAIL, INFO, OK, OUTCOMES
from history.columns.operations import NONE, Floats, Ints, Operations

#: Width of one cell of the availability strip.
STRIP_NS = 250_000_000
#: Limit of distinct errors that are listed one by one.
MAX_ERRORS = 8
#: Limit of distinct errors that are read.
MAX_READ = 5000
_DURATION = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?= ?m?s\b)")


@dataclass(frozen=True, slots=True)
class Rates:
    """Completions per second in bins of equal width; ``time`` holds their middles (s), ``rows`` ok, info and fail."""

    time: Floats
    width: float
    rows: Floats


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Latency of ok operations by second, in ms; NaN if there were none.  Rows: p50, p95, p99, max."""

    time: Floats
    rows: Floats


QUANTILES = (0.5, 0.95, 0.99, 1.0)
QUANTILE_NAMES = ("p50", "p95", "p99", "max")
P99 = 2
RESPONSE_NAME = "p99 since due"
LAG_NAME = "event loop late"
#: A second latency is drawn only if it exceeds the first by a tenth and a millisecond.
DIFFERS, DIFFERS_MS = 1.1, 1.0


def bin_width(end_ns: int, bins: int = 3600) -> int:
    """Return the width of bins in ns: one second, or more so that there are at most ``bins``."""
    return SECOND * max(1, -(-end_ns // (bins * SECOND)))


def rates_of(operations: Operations, end_ns: int) -> Rates:
    """Compute the rate by outcome; an operation without a completion counts as info at its invocation."""
    width = bin_width(end_ns)
    count = int(end_ns // width) + 1
    when = np.where(operations.returned == NONE, operations.invoked, operations.returned) // width
    rows = np.array([np.bincount(when[operations.outcome == code], minlength=count) for code in (OK, INFO, FAIL)])
    seconds = width / SECOND
    time = np.asarray((np.arange(count) + 0.5) * seconds, dtype=np.float64)
    return Rates(time, seconds, np.asarray(rows[:, :count] / seconds, dtype=np.float64))


def quantiles_of(operations: Operations, end_ns: int, since: Ints | None = None) -> Quantiles:
    """Compute exact latency quantiles (nearest rank) by completion time, from the invocation or ``since``."""
    since = operations.invoked if since is None else since
    width = bin_width(end_ns)
    count = int(end_ns // width) + 1
    chosen = operations.which(OK) & (operations.returned != NONE)
    bins = np.minimum(operations.returned[chosen] // width, count)
    latency = (operations.returned[chosen] - since[chosen]) / 1e6
    # 16-bit integers sort in linear time, and there are far fewer bins.
    latency = latency[np.argsort(bins.astype(np.uint16), kind="stable")]
    size = np.bincount(bins, minlength=count)[:count]
    first = np.cumsum(size) - size
    for begin, end in zip(first.tolist(), (first + size).tolist(), strict=True):
        latency[begin:end].sort()
    rows = np.full((len(QUANTILES), count), np.nan)
    some = size > 0
    for row, quantile in enumerate(QUANTILES):
        place = first[some] + np.ceil(quantile * size[some]).astype(np.int64) - 1
        rows[row, some] = latency[place]
    return Quantiles((np.arange(count) + 0.5) * width / SECOND, rows)


def response_of(operations: Operations, end_ns: int) -> Floats | None:
    """Compute the p99 of the latency since operations were due.

    Returns None if it is never well above the p99 of :func:`quantiles_of`.
    """
    response = quantiles_of(operations, end_ns, operations.due).rows[P99]
    service = quantiles_of(operations, end_ns).rows[P99]
    return response if (response > service * DIFFERS + DIFFERS_MS).any() else None


def lag_of(lag_ms: object, end_ns: int) -> Floats | None:
    """Return the longest delay of the harness's event loop (ms) in each bin of :func:`quantiles_of`.

    None if it was not recorded or there was no delay; NaN in bins without one, because the axis is logarithmic.
    """
    if not isinstance(lag_ms, list) or not all(isinstance(delay, int | float) for delay in lag_ms):
        return None
    width = bin_width(end_ns)
    most = np.zeros(int(end_ns // width) + 1)
    bins = np.arange(len(lag_ms)) * SECOND // width
    within = bins < len(most)
    np.maximum.at(most, bins[within].astype(np.int64), np.array(lag_ms, dtype=np.float64)[within])
    return np.where(most > 0, most, np.nan) if (most > 0).any() else None


def availability_of(operations: Operations, end_ns: int) -> tuple[float, Ints]:
    """Compute the strip's cells: (width in seconds, 0 nothing completed / 1 some ok / 2 completions but none ok).

    An operation that was acknowledged but never applied is a completion but not an ok.
    """
    width = max(STRIP_NS, bin_width(end_ns, 14400) // 4)
    count = int(end_ns // width) + 1
    done = operations.returned != NONE
    when = operations.returned[done] // width
    served = operations.applied[done]
    ok = np.bincount(when[served], minlength=count)[:count]
    other = np.bincount(when[~served], minlength=count)[:count]
    return width / SECOND, np.where(ok > 0, 1, np.where(other > 0, 2, 0)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class CountRow:
    """Operations of one kind in one phase, by outcome."""

    phase: str
    f: str
    ok: int
    info: int
    fail: int

    @property
    def total(self) -> int:
        return self.ok + self.info + self.fail


def counts_of(operations: Operations) -> list[CountRow]:
    """Count operations by phase and kind, in order of first appearance; a missing phase is the empty string."""
    rows = []
    for phase_code, phase in [*enumerate(operations.phase.names), (-1, "")]:
        for f_code, f in enumerate(operations.f.names):
            chosen = (operations.phase.codes == phase_code) & (operations.f.codes == f_code)
            numbers = np.bincount(operations.outcome[chosen], minlength=len(OUTCOMES))
            if numbers.sum():
                rows.append(CountRow(phase, f, int(numbers[OK]), int(numbers[INFO]), int(numbers[FAIL])))
    return rows


def errors_of(operations: Operations, limit: int = MAX_ERRORS) -> list[tuple[str, str, int]]:
    """Count errors, merging those that differ only in a duration: (outcome, error, number), most frequent first.

    Beyond ``limit``, the errors of one outcome are counted together.  Operations that failed or ended unknown
    without a recorded error get a row too, so that the rows of each such outcome add up to its operations.
    """
    merged: dict[tuple[str, str], list[tuple[str, int]]] = {}
    counted = _counted(operations)
    for outcome, text, times in counted[:MAX_READ]:
        merged.setdefault((outcome, _DURATION.sub("#", text)), []).append((text, times))
    rows = [
        (outcome, _range(shape, [text for text, _ in variants]), sum(times for _, times in variants))
        for (outcome, shape), variants in merged.items()
    ]
    rows.sort(key=lambda row: -row[2])
    rows, others = rows[:limit], [*rows[limit:], *counted[MAX_READ:]]
    for code, outcome in enumerate(OUTCOMES):
        mine = [row for row in others if row[0] == outcome]
        rows += mine if len(mine) == 1 else []
        if len(mine) > 1:
            rows.append((outcome, f"{len(mine):,} other errors", sum(times for *_, times in mine)))
        if code != OK and (bare := int(np.count_nonzero(operations.which(code) & (operations.error.codes < 0)))):
            rows.append((outcome, "no error on record", bare))
    return rows


def _range(shape: str, texts: list[str]) -> str:
    """Merge messages that differ only in one duration into one message with the shortest and the longest duration.

    If these are equal once rounded, the message has one.
    """
    durations = sorted((match.group() for text in texts for match in _DURATION.finditer(text)), key=float)
    if len(texts) == 1 or shape.count("#") != 1 or not durations:
        return texts[0]
    ends = dict.fromkeys((_brief(durations[0]), _brief(durations[-1])))
    return shape.replace("#", " – ".join(ends))


def _brief(duration: str) -> str:
    """Round a fractional duration to three significant digits; more would be noise in a range over many errors."""
    return f"{float(duration):.3g}" if "." in duration and float(duration) < 1000 else duration


def _counted(operations: Operations) -> list[tuple[str, str, int]]:
    """Count errors as recorded: (outcome, error, number), most frequent first."""
    chosen = operations.error.codes >= 0
    combined = operations.error.codes[chosen] * len(OUTCOMES) + operations.outcome[chosen]
    numbers = np.bincount(combined)
    order = np.argsort(-numbers, kind="stable")[: np.count_nonzero(numbers)]
    return [
        (OUTCOMES[int(place) % len(OUTCOMES)], operations.error.names[int(place) // len(OUTCOMES)], int(numbers[place]))
        for place in order
    ]


def lanes_of(operations: Operations, end_ns: int) -> tuple[Ints, int]:
    """Assign every process a row of the timeline: (row of each operation, number of rows).

    A retired process frees its row for its successor, so there are about as many rows as simultaneous clients, not
    processes.
    """
    if not len(operations):
        return np.empty(0, dtype=np.int64), 0
    processes, inverse = np.unique(operations.process, return_inverse=True)
    last = np.where(operations.returned == NONE, end_ns, operations.returned)
    first_seen = np.full(len(processes), np.iinfo(np.int64).max)
    last_seen = np.zeros(len(processes), dtype=np.int64)
    np.minimum.at(first_seen, inverse, operations.invoked)
    np.maximum.at(last_seen, inverse, last)
    lane = np.zeros(len(processes), dtype=np.int64)
    free_at: list[int] = []
    for place in np.lexsort((processes, first_seen)):
        begin = int(first_seen[place])
        row = next((r for r, free in enumerate(free_at) if free <= begin), len(free_at))
        if row == len(free_at):
            free_at.append(0)
        free_at[row] = int(last_seen[place])
        lane[place] = row
    lowest = np.full(len(free_at), np.iinfo(np.int64).max)
    np.minimum.at(lowest, lane, processes)
    order = np.empty(len(free_at), dtype=np.int64)
    order[np.argsort(lowest)] = np.arange(len(free_at))
    return order[lane[inverse]], len(free_at)
