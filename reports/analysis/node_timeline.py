"""What the probes say over time: who led, in which term, and how far each replica had come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from history import Probe
from history.records.probes import leader_among
from reports.load.columns import Floats, Ints

ROLES: Final = ("leader", "follower", "candidate", "unknown", "silent")
SILENT: Final = 4
STALE_S: Final = 1.5
"""A probe speaks for its node until the next one, but no longer than this (six probes at four a second)."""


@dataclass(frozen=True, slots=True)
class Track:
    """One node's probes: equally long arrays, times in seconds, ``role`` places in :data:`ROLES`, indexes -1 = none."""

    node: str
    time: Floats
    role: Ints
    term: Ints
    log_end: Ints
    committed: Ints
    applied: Ints
    saved: Ints
    loaded: Ints


@dataclass(frozen=True, slots=True)
class Stretch:
    """A node kept one role in one term from ``start`` to ``end`` (seconds)."""

    node: str
    role: str
    term: int
    start: float
    end: float


def tracks_of(probes: Sequence[Probe], nodes: Sequence[str]) -> list[Track]:
    """One track a node, in the order of ``nodes``; a node that was never probed has an empty one."""
    by_node: dict[str, list[Probe]] = {node: [] for node in nodes}
    for probe in probes:
        by_node.setdefault(probe.node, []).append(probe)
    return [_track(node, rows) for node, rows in by_node.items()]


def _track(node: str, rows: list[Probe]) -> Track:
    def column(name: str) -> Ints:
        return np.array([getattr(row, name) for row in rows], dtype=np.int64)

    return Track(
        node=node,
        time=column("time") / 1e9,
        role=np.array([_role(row) for row in rows], dtype=np.int64),
        term=column("term"),
        log_end=column("ledger_end"),
        committed=column("committed"),
        applied=column("applied"),
        saved=column("snapshots_saved"),
        loaded=column("snapshots_loaded"),
    )


def _role(probe: Probe) -> int:
    return ROLES.index(probe.role) if probe.answered and probe.role in ROLES else SILENT


def stretches(track: Track) -> list[Stretch]:
    """Runs of the same role and term; a gap longer than :data:`STALE_S` ends a stretch."""
    found: list[Stretch] = []
    for place in range(len(track.time)):
        start = float(track.time[place])
        following = float(track.time[place + 1]) if place + 1 < len(track.time) else start + 0.25
        end = min(following, start + STALE_S)
        role, term = ROLES[int(track.role[place])], int(track.term[place])
        last = found[-1] if found else None
        if last and (last.role, last.term) == (role, term) and abs(last.end - start) < 1e-9:
            found[-1] = Stretch(track.node, role, term, last.start, end)
        else:
            found.append(Stretch(track.node, role, term, start, end))
    return found


def leader_at(tracks: Sequence[Track], seconds: float) -> str | None:
    """Who called itself leader with the highest term in its newest probe before a moment."""
    return leader_among((track.node, int(track.term[place])) for track, place in _leading(tracks, seconds))


def _leading(tracks: Sequence[Track], seconds: float) -> Iterator[tuple[Track, int]]:
    """The tracks of all that called themselves leader then, with the place of the probe in which they did."""
    for track in tracks:
        place = int(np.searchsorted(track.time, seconds, side="right")) - 1
        if place >= 0 and seconds - float(track.time[place]) <= STALE_S and track.role[place] == 0:
            yield track, place


def role_at(tracks: Sequence[Track], node: str | None, seconds: float) -> str | None:
    """What a node said that it was, in its newest probe before a moment; None if it was silent or never asked."""
    track = next((track for track in tracks if track.node == node), None)
    place = int(np.searchsorted(track.time, seconds, side="right")) - 1 if track else -1
    if track is None or place < 0 or seconds - float(track.time[place]) > STALE_S or track.role[place] == SILENT:
        return None
    return ROLES[int(track.role[place])]


def term_at(tracks: Sequence[Track], seconds: float) -> int:
    """The term of who led at a moment; if nobody did, the highest that any node had reported by then, -1 if none."""
    if led := [int(track.term[place]) for track, place in _leading(tracks, seconds)]:
        return max(led)
    terms = [
        int(track.term[: int(np.searchsorted(track.time, seconds, side="right"))].max(initial=-1)) for track in tracks
    ]
    return max(terms, default=-1)


@dataclass(frozen=True, slots=True)
class Elections:
    """Counts over the whole run: leaders (each term's leader once), and terms.

    ``again`` holds (node, term, from when, in seconds) where a node led once more in a term that it had led in: it had
    been something else meanwhile, as a process is that was restarted and elected with the votes that it had on disk.
    """

    leader_changes: int
    first_term: int
    last_term: int
    again: tuple[tuple[str, int, float], ...] = ()


def elections_of(tracks: Sequence[Track]) -> Elections:
    leaders: set[tuple[int, str]] = set()
    terms: list[int] = []
    for track in tracks:
        leaders.update((int(term), track.node) for term in np.unique(track.term[track.role == 0]))
        terms.extend(int(term) for term in track.term[track.term >= 0])
    return Elections(
        leader_changes=max(len(leaders) - 1, 0),
        first_term=min(terms, default=-1),
        last_term=max(terms, default=-1),
        again=tuple(sorted((found for track in tracks for found in _led_again(track)), key=lambda found: found[2])),
    )


def _led_again(track: Track) -> list[tuple[str, int, float]]:
    """Silence alone does not end a leadership: a paused process never gave it up."""
    found: list[tuple[str, int, float]] = []
    led: set[int] = set()
    leading = -1
    for time, role, term in zip(track.time.tolist(), track.role.tolist(), track.term.tolist(), strict=True):
        if role == SILENT:
            continue
        if role != 0:
            leading = -1
        elif leading != term:
            if term in led:
                found.append((track.node, term, time))
            led.add(term)
            leading = term
    return found


@dataclass(frozen=True, slots=True)
class Progress:
    """Replica progress on one time grid: rows are nodes; NaN: the node was silent."""

    time: Floats
    log_end: Floats
    applied: Floats
    committed: Floats
    lag: Floats


def progress_of(tracks: Sequence[Track], end_s: float, points: int = 3000) -> Progress:
    """Resample to about ``points`` moments.  ``lag``: the highest commit index of any node minus the node's applied."""
    step = max(0.25, end_s / points)
    time = np.arange(0.0, end_s + step, step)

    def rows(name: str) -> Floats:
        found = [_resample(track, getattr(track, name), time) for track in tracks]
        return np.array(found).reshape(len(tracks), len(time))

    log_end, applied, committed = rows("log_end"), rows("applied"), rows("committed")
    if not len(tracks):
        return Progress(time, log_end, applied, committed, applied)
    known = np.where(np.isnan(committed), -1.0, committed)
    highest = np.maximum.accumulate(known.max(axis=0))
    lag = np.where(np.isnan(applied), np.nan, np.maximum(highest - applied, 0.0))
    return Progress(time, log_end, applied, committed, lag)


@dataclass(frozen=True, slots=True)
class LastWord:
    """What a node said last.  ``behind``: entries between the cluster's highest commit index and its own applied one.

    ``late`` tells that this is more than the cluster committed in its last second, so not just the age of the answer.
    ``silent_s`` is the time between this answer, which was asked for at ``at`` s, and the last probe of any node.
    """

    node: str
    role: str
    term: int
    applied: int
    committed: int
    behind: int
    late: bool
    silent_s: float
    at: float


def last_words(tracks: Sequence[Track]) -> list[LastWord]:
    """One for every node that ever answered, in the order of the tracks."""
    lasts = [(track, rows[-1]) for track in tracks if len(rows := np.nonzero(track.role != SILENT)[0])]
    front = max((int(track.committed[last]) for track, last in lasts), default=-1)
    allowed = max((_recently_committed(track, int(last)) for track, last in lasts), default=0) + 1
    end = max((float(track.time[-1]) for track, _ in lasts), default=0.0)
    found = []
    for track, last in lasts:
        behind = max(front - max(int(track.applied[last]), 0), 0)
        found.append(
            LastWord(
                node=track.node,
                role=ROLES[int(track.role[last])],
                term=int(track.term[last]),
                applied=int(track.applied[last]),
                committed=int(track.committed[last]),
                behind=behind,
                late=behind > allowed,
                silent_s=end - float(track.time[last]),
                at=float(track.time[last]),
            )
        )
    return found


def _recently_committed(track: Track, last: int) -> int:
    before = int(np.searchsorted(track.time, track.time[last] - 1.0))
    return int(track.committed[last] - track.committed[before])


def _resample(track: Track, column: Ints, time: Floats) -> Floats:
    if not len(track.time):
        return np.full(len(time), np.nan)
    place = np.searchsorted(track.time, time, side="right") - 1
    held = np.maximum(place, 0)
    values = np.maximum(column[held], 0).astype(np.float64)
    absent = (place < 0) | (time - track.time[held] > STALE_S) | (track.role[held] == SILENT)
    values[absent] = np.nan
    return values
