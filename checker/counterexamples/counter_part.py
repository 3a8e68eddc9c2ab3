"""Find the core of an invalid counter whose answers are all within their bounds.

A read's answer sums up everything before it, so a history may start at a read: with the answer and the adds that had
not returned when the read began.  Adds that were under way may be part of that answer, or may take effect later or
never.  This keeps a linearizable history linearizable, and so does leaving out other reads.  Adds must stay, because
without one of them the sums change and the contradiction would be a different one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from checker.core.calls import Call
from checker.core.definition import MAX_DEFINITION_CALLS, linearizable
from checker.core.model import Model
from checker.core.result import Limits
from checker.counterexamples.minimize import MinimalCore
from checker.dispatch import decide
from checker.engines.counter_sums import PartOfCounter
from checker.models.objects import Counter

#: Least number of reads to try on either side, memory for each trial in bytes, and the number of calls up to which a
#: trial runs in plain Python.
_MIN_READS: Final = 4
_TRIAL_BYTES: Final = 4 << 20
_MAX_PLAIN: Final = 40


@dataclass(frozen=True, slots=True)
class Part:
    """Calls that contradict each other under ``model``: a counter from its start, or a part of its history.

    ``note`` says what is unknown about them.
    """

    model: Model
    core: tuple[Call, ...]
    note: str | None = None


def since(calls: Sequence[Call], start: Call | None, until: int) -> list[Call]:
    """Return the history of a counter that starts from a read's answer and ends at the return at ``until``."""
    kept = [call for call in calls if call.invoke < until]
    kept = [call if call.ret <= until else call.made_pending() for call in kept if call.f == "add" or call.ret <= until]
    if start is None:
        return kept
    kept = [call for call in kept if call.ret > start.invoke and (call.f == "add" or call.invoke > start.ret)]
    first = min([start.invoke, *(call.invoke for call in kept)])
    # An add of the read's answer before everything else stands for the history up to the read.
    known = Call("add", start.result, None, first - 2, first - 1, start.source)
    return [known, *(call if call.invoke > start.ret else call.made_pending() for call in kept)]


class _Parts:
    """Search for the smallest invalid window of a history, from one read to another in the order of their returns."""

    def __init__(self, calls: Sequence[Call], limits: Limits) -> None:
        self.calls, self.limits = calls, replace(limits, memory=_TRIAL_BYTES)
        self.reads = sorted((call for call in calls if call.f != "add"), key=lambda call: call.ret)

    def wrong(self, part: Sequence[Call]) -> bool | None:
        """Return whether this part is invalid, or None if that could not be decided."""
        if self.limits.over():
            return None
        engine = "search" if len(part) > _MAX_PLAIN else None
        verdict = decide(part, Counter(), self.limits, engine=engine, proof=False).verdict
        return None if verdict == "unknown" else verdict == "invalid"

    def window(self, start: int, end: int) -> bool:
        """Return whether the history is invalid from one read to another (the whole history always is)."""
        whole = start < 0 and end == len(self.reads) - 1
        return whole or bool(self.wrong(since(self.calls, self._start(start), self.reads[end].ret)))

    def _start(self, place: int) -> Call | None:
        return self.reads[place] if place >= 0 else None

    def least_window(self, last: int | None) -> tuple[int, int]:
        """Return an invalid window around the return at ``last``: the earliest end, and its latest start."""
        newest = len(self.reads) - 1
        about = next((place for place, read in enumerate(self.reads) if last is not None and read.ret >= last), newest)
        width = _MIN_READS
        while not self.window(start := max(-1, about - width), end := min(newest, about + width)):
            width *= 4
        low = start
        while low + 1 < end:
            middle = (low + end) // 2
            low, end = (low, middle) if self.window(start, middle) else (middle, end)
        high = end
        while start + 1 < high:
            middle = (start + high) // 2
            start, high = (middle, high) if self.window(middle, end) else (start, middle)
        return start, end

    def least(self, last: int | None) -> Part:
        """Return the smallest window without the reads that it does not need."""
        start, end = self.least_window(last)
        first, read = self._start(start), self.reads[end]
        part = since(self.calls, first, read.ret)
        between = [call for call in part if call.f != "add" and call is not read]
        needed, width, undecided = between, len(between), 0
        while width:
            undecided = 0
            for place in reversed(range(0, len(needed), width)):
                gone = {call.source for call in needed[place : place + width]}
                wrong = self.wrong(fewer := [call for call in part if call.f == "add" or call.source not in gone])
                undecided += wrong is None
                if wrong:
                    part, needed = fewer, needed[:place] + needed[place + width :]
            width = (width + 1) // 2 if width > 1 else 0
        return self._describe(part, read, undecided)

    def _describe(self, part: Sequence[Call], read: Call, undecided: int) -> Part:
        """Return the part with its calls as recorded, reduced further by the definition if it is small."""
        sources = {call.source for call in part}
        core = [call for call in self.calls if call.source in sources]
        core = [call if call.ret <= read.ret else call.made_pending() for call in core if call.f != "add" or call.value]
        others = (call for call in self.calls if call.f == "add" and call.invoke < read.ret)
        start = 0 if all(call.source in sources for call in others) else None
        model = PartOfCounter(start)
        small = len(core) <= MAX_DEFINITION_CALLS
        for call in reversed(core) if small else ():
            if call.f != "add" and not linearizable(fewer := [other for other in core if other is not call], model):
                core = fewer
        reads = [call for call in core if call.f != "add"]
        begun = min(call.invoke for call in reads) if start is None else -1
        ended = max(call.ret for call in reads)
        core = [call for call in core if call.ret > begun and call.invoke < ended]
        return Part(model, tuple(core), MinimalCore(core, 0 if small else undecided).note)


def part_of(calls: Sequence[Call], last: int | None, limits: Limits) -> Part:
    """Return a minimal invalid part of an invalid history around the return at ``last`` (None: anywhere)."""
    return _Parts(calls, limits).least(last)
