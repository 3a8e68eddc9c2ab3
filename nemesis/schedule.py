"""When which fault is injected and healed: lists of steps, drawn before a run and without looking at the world."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from nemesis.errors import ScheduleError

Action: TypeAlias = Literal["inject", "heal"]

# The shortest and the longest calm, as shares of the interval.  Their distance is what un-locks the faults from the
# system's timers: 4 s at the default interval, twice the longest heartbeat in use.  With 0.9 at most, three whole
# cycles fit into six intervals whatever is drawn.
CALM: Final = (0.5, 0.9)


@dataclass(frozen=True, slots=True)
class Step:
    """One action at ``at_s`` seconds after the schedule's start.

    ``id`` ties a heal to its injection.  ``targets`` is set where they were chosen beforehand: the recorded targets
    of a replay (``{"nodes": …, "grudge": …}``) or a choice by words (``{"choose": "leader"}``).
    """

    at_s: float
    action: Action
    fault: str
    id: int
    targets: Mapping[str, Any] | None = None


def cycle(faults: Sequence[str], interval_s: float, time_limit_s: float, rng: random.Random) -> list[Step]:
    """Calm, fault, calm, fault … until the time limit, healed before it.

    ``faults`` are what takes turns: each round is a new order of all of them.  A name like ``a+b`` is two faults at
    once.  A fault stands for ``interval_s``; the calm before it is drawn anew each time, and its length is what
    jitters every start.  Raises ScheduleError when not one cycle fits.
    """
    if not faults or interval_s <= 0:
        raise ScheduleError("a schedule needs a fault and an interval above 0")
    turns, steps, now, number = _turns(faults, rng), list[Step](), 0.0, 0
    while (start := now + rng.uniform(*CALM) * interval_s) + interval_s < time_limit_s:
        names = next(turns).split("+")
        now = start + interval_s
        steps += [Step(round(start, 3), "inject", name, number + place) for place, name in enumerate(names)]
        steps += [Step(round(now, 3), "heal", name, number + place) for place, name in enumerate(names)]
        number += len(names)
    if not steps:
        raise ScheduleError(
            f"no whole cycle of {interval_s:g} s calm and {interval_s:g} s fault fits into {time_limit_s:g} s"
        )
    return steps


def _turns(faults: Sequence[str], rng: random.Random) -> Iterator[str]:
    while True:
        yield from rng.sample(list(faults), len(faults))


def checked(steps: Iterable[Step], time_limit_s: float) -> list[Step]:
    """The steps in the order of their moments.

    Raises ScheduleError for a moment outside the time limit, an id injected twice, and a heal before its injection.
    """
    ordered = sorted(steps, key=lambda step: step.at_s)
    injected: dict[int, str] = {}
    for step in ordered:
        if not 0 <= step.at_s <= time_limit_s:
            raise ScheduleError(f"{step.fault} at {step.at_s:g} s is outside the time limit of {time_limit_s:g} s")
        if step.action == "inject":
            if step.id in injected:
                raise ScheduleError(f"the id {step.id} is injected twice")
            injected[step.id] = step.fault
        elif injected.get(step.id) != step.fault:
            raise ScheduleError(f"{step.fault} (id {step.id}) is healed at {step.at_s:g} s but was not injected before")
    return ordered
