"""Replica progress: the nodes' indexes over time on one axis, and how far behind each node is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from history.columns.operations import Floats, Ints
from reports.analysis.node_timeline import ROUND_S, SILENT, STALE_S, NodeTimeline, logs


@dataclass(frozen=True, slots=True)
class Advance:
    """Replica progress at some times; each row is a node, and NaN means that it was silent."""

    time: Floats
    log_end: Floats
    applied: Floats
    committed: Floats
    lag: Floats


def progress_of(timelines: Sequence[NodeTimeline], end_s: float, points: int = 6000) -> Advance:
    """Return the progress at the times of the probes, reduced to ``points`` if there are more.

    The reduction keeps the lowest and highest value of every line in equal stretches of time.  So a log that lost
    entries for a single round of probes is visible in a run of any length.
    """
    moments = [np.array([0.0, end_s]), *(_moments(timeline) for timeline in timelines)]
    time = np.unique(np.ceil(np.concatenate(moments) * 1e4) / 1e4)
    time = time[time <= end_s + 1e-4]
    whole = progress_at(timelines, time)
    if len(time) <= points:
        return whole
    lines = np.concatenate((whole.log_end, whole.applied, whole.committed))
    kept = np.unique(np.concatenate([extremes(time, row, points // (4 * len(lines))) for row in lines]))
    return Advance(time[kept], *(getattr(whole, name)[:, kept] for name in ("log_end", "applied", "committed", "lag")))


def extremes(time: Floats, values: Floats, buckets: int) -> np.ndarray:
    """Return the places of the first, lowest, highest and last value in each of equally long stretches.

    A stretch with a gap (NaN) also keeps the first place of the gap.
    """
    places: list[int] = []
    edges = np.linspace(time[0], time[-1], max(buckets, 1) + 1)[1:-1]
    for part in np.split(np.arange(len(time)), np.searchsorted(time, edges)):
        known = part[np.isfinite(values[part])]
        places += [*part[:1], *part[-1:], *part[~np.isfinite(values[part])][:1]]
        if len(known):
            places += [known[np.argmin(values[known])], known[np.argmax(values[known])]]
    return np.unique(np.array(places, dtype=np.int64))


def _highest_committed(timelines: Sequence[NodeTimeline], node: NodeTimeline, time: Floats) -> Floats:
    """Return the highest commit index reported at least a round before the newest answer of ``node``; -1: none."""
    times, index = (np.concatenate([getattr(other, name) for other in timelines]) for name in ("time", "committed"))
    order = np.argsort(times, kind="stable")
    known = np.concatenate(([-1], np.maximum.accumulate(index[order])))
    own = np.concatenate(([-np.inf], node.time))[np.searchsorted(node.time, time, side="right")]
    return known[np.searchsorted(times[order], own - ROUND_S, side="right")].astype(np.float64)


def _moments(timeline: NodeTimeline) -> Floats:
    """Return the times of a node's probes, and the times when the probe before a long silence stops counting."""
    stale = np.diff(timeline.time, append=np.inf) > STALE_S
    return np.concatenate((timeline.time, timeline.time[stale] + STALE_S + 1e-4))


def progress_at(timelines: Sequence[NodeTimeline], time: Floats) -> Advance:
    """Sample the progress at some moments; ``lag`` is the highest commit index so far minus the node's applied index.

    ``lag`` is 0 if only entries committed since the previous round of probes are missing, because nodes are probed
    one after the other.  If a log ends before the applied index, that end is subtracted instead, as in
    :class:`LastStatus`. Across epochs ``lag`` is NaN.
    """

    def rows(name: str) -> Floats:
        if all(getattr(timeline, name).max(initial=-1) < 0 for timeline in timelines):  # the system does not report it
            return np.full((len(timelines), len(time)), np.nan)
        samples = [_resample(timeline, getattr(timeline, name), time) for timeline in timelines]
        return np.array(samples).reshape(len(timelines), len(time))

    log_end, applied, committed = rows("log_end"), rows("applied"), rows("committed")
    if not len(timelines):
        return Advance(time, log_end, applied, committed, applied)
    known = np.where(np.isnan(committed), -1.0, committed)
    highest = np.maximum.accumulate(known.max(axis=0))
    before = np.array([_highest_committed(timelines, node, time) for node in timelines])
    held = np.array([[np.inf] if not logs(node) else [0.0] for node in timelines]) + log_end
    own = np.fmin(applied, held)
    lag = np.where(np.isnan(applied) | (highest < 0), np.nan, np.where(own < before, highest - own, 0.0))
    if bits := timelines[0].epoch_bits:
        lag[np.floor(highest / 2.0**bits) != np.floor(own / 2.0**bits)] = np.nan
    return Advance(time, log_end, applied, committed, lag)


def _resample(timeline: NodeTimeline, column: Ints, time: Floats) -> Floats:
    if not len(timeline.time):
        return np.full(len(time), np.nan)
    place = np.searchsorted(timeline.time, time, side="right") - 1
    held = np.maximum(place, 0)
    values = np.maximum(column[held], 0).astype(np.float64)
    absent = (place < 0) | (time - timeline.time[held] > STALE_S) | (timeline.role[held] == SILENT)
    values[absent] = np.nan
    return values
