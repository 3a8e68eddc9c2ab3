"""Schedules: lists of steps that inject and heal faults, drawn before a run.

A cycle consists of *turns*.  A turn is the name of a fault (``bridge``), a fault aimed by words
(``hammer-time@leader``, see ``targets``), or several faults at once (``kill-leader+packet-loss``).  ``all`` stands for
all faults.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from history.schema import convert
from nemesis.core.errors import ScheduleError
from nemesis.core.targets import check_words

Action: TypeAlias = Literal["inject", "heal"]

#: The shortest and longest calm, as shares of the interval.  Their difference keeps faults from locking into step with
#: the system's timers: it is 4 s at the default interval, twice the longest heartbeat interval in use.  Because the
#: longest is 0.9, three whole cycles fit into six intervals whatever is drawn.
CALM: Final = (0.5, 0.9)


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One action at ``at_s`` seconds after the schedule's start.

    ``id`` ties a heal to its injection.  ``targets`` are targets chosen beforehand: the recorded targets of a replay
    (``{"nodes": …, "grudge": …}``) or a choice by words (``{"choose": "leader"}``).

    An injection may wait for the condition ``when`` (see ``conditions``), from ``at_s`` on for ``within_s`` seconds. If
    the condition never holds, the fault is skipped.  Otherwise, it lasts ``for_s`` seconds, or until the run ends.
    """

    at_s: float
    action: Action
    fault: str
    id: int
    targets: Mapping[str, Any] | None = None
    when: str | None = None
    within_s: float = 0.0
    for_s: float | None = None


def steps_of(schedule: Iterable[Mapping[str, Any]], time_limit_s: float) -> list[Step]:
    """Convert and check the steps in a plan's JSON.  Raises ScheduleError that names the step."""
    try:
        steps = convert(list(schedule), list[Step])
    except ValueError as error:
        raise ScheduleError(f"schedule{error}") from None
    return checked(steps, time_limit_s)


def turn_parts(turn: str) -> list[tuple[str, str | None]]:
    """Split a turn into faults and the words they are aimed by: ``a@leader+b`` is ``[("a", "leader"), ("b", None)]``.

    Raises ScheduleError for an empty name or word.
    """
    parts = []
    for part in turn.split("+"):
        name, at, words = (text.strip() for text in part.partition("@"))
        if not name:
            raise ScheduleError(f"a fault's name is missing in {turn!r}")
        if at:
            check_words(words)
        parts.append((name, words if at else None))
    return parts


def fault_names(turns: Iterable[str]) -> tuple[str, ...]:
    """Return the faults in these turns, each once."""
    return tuple(dict.fromkeys(name for turn in turns for name, _ in turn_parts(turn)))


def turns_of(text: str, every: Iterable[str]) -> tuple[str, ...]:
    """Parse turns separated by commas, replacing ``all`` by ``every``.  An empty string has no turns.

    Raises ScheduleError if a turn is empty.
    """
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if not all(parts):
        raise ScheduleError(f"a fault's name is missing in {text!r}; for example: kill-leader,bridge")
    return tuple(dict.fromkeys(turn for part in parts for turn in (every if part == "all" else (part,))))


def cycle(
    faults: Sequence[str],
    interval_s: float,
    time_limit_s: float,
    rng: random.Random,
    *,
    weights: Mapping[str, float] | None = None,
    tracks: int = 1,
    shortest_s: float | None = None,
) -> list[Step]:
    """Draw a schedule that alternates calm and faults, and heals the last fault before the time limit.

    ``faults`` are the turns.  Each round is a new random order of all turns.  With ``weights``, every turn comes once,
    and from then on turns are drawn by weight (default 1).  A fault lasts ``interval_s``, or with ``shortest_s`` for a
    time between both, drawn from a log-uniform distribution.  The calm before each fault is drawn as well, which
    jitters its start.  With several ``tracks``, the turns are dealt out to that many cycles, which run side by side and
    may overlap.  Raises ScheduleError if not even one cycle fits.
    """
    if not faults or interval_s <= 0:
        raise ScheduleError("a schedule needs a fault and an interval above 0")
    dealt = [hand for track in range(tracks) if (hand := list(faults)[track::tracks])]
    steps: list[Step] = []
    for hand in dealt:
        turns = _weighted(hand, weights, rng) if weights else _rounds(hand, rng)
        lengths, first_id = _lengths(shortest_s, interval_s, rng), sum(step.action == "inject" for step in steps)
        steps += _one_track(turns, lengths, interval_s, time_limit_s, rng, first_id)
    if not steps:
        raise ScheduleError(
            f"no whole cycle of {interval_s:g} s calm and {interval_s:g} s fault fits into {time_limit_s:g} s"
        )
    return sorted(steps, key=lambda step: step.at_s)


def _one_track(
    turns: Iterator[str],
    lengths: Iterator[float],
    interval_s: float,
    time_limit_s: float,
    rng: random.Random,
    first_id: int,
) -> list[Step]:
    steps, now, number = list[Step](), 0.0, first_id
    # A calm up to ``start``, then a fault up to ``end``, as long as both fit.
    while (end := (start := now + rng.uniform(*CALM) * interval_s) + next(lengths)) < time_limit_s:
        now, parts = end, list(enumerate(turn_parts(next(turns)), start=number))
        targets = {place: {"choose": words} if words else None for place, (_, words) in parts}
        steps += [Step(round(start, 3), "inject", name, place, targets[place]) for place, (name, _) in parts]
        steps += [Step(round(now, 3), "heal", name, place) for place, (name, _) in parts]
        number += len(parts)
    return steps


def _lengths(shortest_s: float | None, longest_s: float, rng: random.Random) -> Iterator[float]:
    while True:
        yield longest_s if shortest_s is None else shortest_s * (longest_s / shortest_s) ** rng.random()


def _rounds(faults: Sequence[str], rng: random.Random) -> Iterator[str]:
    while True:
        yield from rng.sample(list(faults), len(faults))


def _weighted(faults: Sequence[str], weights: Mapping[str, float], rng: random.Random) -> Iterator[str]:
    """Yield every turn once in random order, so that none is left out by chance; then draw turns by weight."""
    shares = [weights.get(fault, 1.0) for fault in faults]
    if min(shares) <= 0:
        raise ScheduleError(f"weights must be above 0: {dict(weights)}; leave out the faults that you do not want")
    yield from rng.sample(list(faults), len(faults))
    while True:
        yield rng.choices(list(faults), shares)[0]


def checked(steps: Iterable[Step], time_limit_s: float) -> list[Step]:
    """Return the steps ordered by time.

    Raises ScheduleError for a time outside the time limit, an id injected twice, or a heal before its injection.
    """
    ordered = sorted(steps, key=lambda step: step.at_s)
    injected: dict[int, str] = {}
    for step in ordered:
        last_s = step.at_s + step.within_s + (step.for_s or 0.0)
        if not 0 <= step.at_s <= last_s <= time_limit_s:
            until = f", which may last until {last_s:g} s," if last_s > step.at_s else ""
            raise ScheduleError(
                f"{step.fault} at {step.at_s:g} s{until} is outside the time limit of {time_limit_s:g} s"
            )
        if step.action == "inject":
            if step.id in injected:
                raise ScheduleError(f"the id {step.id} is injected twice")
            injected[step.id] = step.fault
        elif injected.get(step.id) != step.fault:
            raise ScheduleError(f"{step.fault} (id {step.id}) is healed at {step.at_s:g} s but was not injected before")
    return ordered
