"""The remaining steps of a schedule, and those that wait for a condition."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from history import Probe
from nemesis.schedule.conditions import Condition, parse
from nemesis.schedule.steps import Step

#: How often conditions are checked; probes are renewed about four times a second.
WATCH_EVERY_NS = 50_000_000


@dataclass(slots=True)
class _Watched:
    step: Step
    deadline_ns: int
    condition: Condition | None = None
    since: Mapping[str, Probe] | None = None


class StepQueue:
    """The steps of one run, ordered by time.  ``start_ns`` is time 0 of the schedule.  The queue reads no clock."""

    def __init__(self, steps: Iterable[Step], start_ns: int) -> None:
        self._heap = [(start_ns + round(step.at_s * 1e9), place, step) for place, step in enumerate(steps)]
        heapq.heapify(self._heap)
        self._place = len(self._heap)
        self._last_look = start_ns
        self.watched: list[_Watched] = []

    def next_due(self) -> int | None:
        """Return when to call the queue next: at the next step or check of conditions; None if nothing is left."""
        soon = [self._last_look + WATCH_EVERY_NS] if self.watched else []
        return min([*soon, *(due for due, _, _ in self._heap[:1])], default=None)

    def take(self, now: int) -> list[Step]:
        """Remove and return the steps that are due, except that those with a condition are watched from now on."""
        steps = []
        while self._heap and self._heap[0][0] <= now:
            due, _, step = heapq.heappop(self._heap)
            if step.when is None:
                steps.append(step)
            else:
                self.watched.append(_Watched(step, due + round(step.within_s * 1e9)))
        return steps

    def came_true(
        self, now: int, probes: Mapping[str, Probe], names: Sequence[str], members: Sequence[str]
    ) -> list[Step]:
        """Remove and return the watched steps whose condition holds for these probes."""
        self._last_look = now
        true = []
        for watched in self.watched:
            if watched.condition is None or watched.since is None:
                watched.condition, watched.since = parse(watched.step.when or "", names, members), dict(probes)
            if watched.condition.holds(probes, watched.since):
                true.append(watched)
        self.watched = [watched for watched in self.watched if watched not in true]
        return [watched.step for watched in true]

    def expired(self, now: int) -> list[Step]:
        """Remove and return the watched steps that have waited too long."""
        late = [watched for watched in self.watched if watched.deadline_ns <= now]
        self.watched = [watched for watched in self.watched if watched.deadline_ns > now]
        return [watched.step for watched in late]

    def heal_later(self, step: Step, now: int) -> None:
        """Queue the healing of a conditional step if it says how long its fault lasts."""
        if step.for_s is not None:
            heal = replace(step, action="heal", when=None)
            heapq.heappush(self._heap, (now + round(step.for_s * 1e9), self._place, heal))
            self._place += 1
