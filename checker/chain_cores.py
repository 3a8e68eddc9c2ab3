"""The few swaps that contradict each other, of a cas register whose new values are unique.

A call is *forgotten* if nothing is known of it but that it may have happened: at any moment, or never; a forgotten read
is no call at all.  That keeps linearizable histories linearizable, whatever is forgotten.  So a core is a set of calls
that contradict each other although all others are forgotten, and from which none can be forgotten, too.  It needs no
past: that a value was swapped in at some time is known of those that are forgotten as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from checker.answer import Limits
from checker.calls import NEVER, Call
from checker.deciding import decide
from checker.models import UNKNOWN, Model

_START: Final = -2


def forgotten(call: Call) -> Call:
    """What is left of a write or swap: it began before everything else, and nobody saw it return."""
    return Call(call.f, call.value, UNKNOWN, _START - call.source, NEVER, call.source)


def forgetting(calls: Sequence[Call], kept: set[int]) -> list[Call]:
    """The history in which only these sources are known."""
    left = (
        call if call.source in kept else forgotten(call) for call in calls if call.source in kept or call.f != "read"
    )
    return list(left)


def chain_core(calls: Sequence[Call], model: Model, limits: Limits) -> list[Call]:
    """The core of an invalid history's earliest violation; more than needs be if the deadline passes.

    Only what returned first is known, as little as contradicts itself; then halves, quarters, … of that are forgotten.
    What cannot be forgotten cannot be forgotten later either, so each call is tried once alone.  O(n log n) each time.
    """

    def contradict(kept: Sequence[Call]) -> bool:
        known = forgetting(calls, {call.source for call in kept})
        return decide(known, model, limits, engine="chains", proof=False).verdict == "invalid"

    kept = sorted(calls, key=lambda call: (call.ret, call.invoke))
    low, high = 0, len(kept)
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if contradict(kept[:middle]) else (middle, high)
    kept, width = kept[:high], high
    while width > 1:
        width = (width + 1) // 2
        for start in reversed(range(0, len(kept), width)):
            rest = kept[:start] + kept[start + width :]
            if contradict(rest):
                kept = rest
    return sorted(kept, key=lambda call: call.invoke)
