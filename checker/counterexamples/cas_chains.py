"""Find a minimal core of an invalid CAS register whose new values are unique.

Making a call *pending* forgets everything about it except that it may have happened: at any moment, or never.  A read
that is made pending is simply dropped.  This keeps a linearizable history linearizable, whichever calls are made
pending. So a core is a set of calls that contradict each other even though all other calls are pending, and none of
which can be made pending without losing the contradiction.  The core needs no earlier calls, because pending calls
still show that a value was written at some time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from checker.core.calls import Call, asked_by, made_by
from checker.core.model import UNKNOWN, Model
from checker.core.result import Limits, OutOfTimeError
from checker.dispatch import decide
from checker.engines.cas_chains import suspects
from history.codes import NEVER

_START: Final = -2
_SIZES: Final = (2, 4, 8, 16, 32)
Contradict: TypeAlias = Callable[[Sequence[Call]], bool]


def made_pending(call: Call) -> Call:
    """Return a write or CAS as a write that is pending from before everything else."""
    return Call(call.f, call.value, UNKNOWN, _START - call.source, NEVER, call.source)


def known_of(kept: Sequence[Call], makers: dict[Any, Call]) -> list[Call]:
    """Return these calls and those that made the values they need.

    All other calls are pending and write values that no call needs, so no read would miss them.
    """
    known = {call.source: call for call in kept}
    asking = list(kept)
    while asking:
        call = asking.pop()
        maker = makers.get(asked_by(call))
        if maker is not None and maker.source not in known:
            known[maker.source] = made_pending(maker)
            asking.append(maker)
    return sorted(known.values(), key=lambda call: call.invoke)


def chain_core(calls: Sequence[Call], model: Model, limits: Limits) -> list[Call]:
    """Return the core of an invalid history's earliest violation; it may be too large if the deadline passes.

    The search starts with the calls that contradict each other according to the chains, or with a few calls that
    returned shortly before if those contradict each other as well.  If the chains show no such calls, it takes the
    shortest prefix, by returns, that contradicts itself, and of that the last two, four, … calls.

    Then it makes halves, quarters, … of the rest pending.  A call that cannot be made pending now cannot be made
    pending later either, so each call is tried only once on its own.
    """
    makers = {made_by(call): call for call in calls if call.f != "read"}

    def contradict(kept: Sequence[Call]) -> bool:
        if limits.over():
            return False
        return decide(known_of(kept, makers), model, limits, engine="chains", proof=False).verdict == "invalid"

    try:
        kept = suspects(calls, model, limits)
    except OutOfTimeError:
        kept = []
    kept = _nearest(calls, kept, contradict) if contradict(kept) else _first_to_contradict(calls, contradict, limits)
    width = len(kept)
    while width > 1 and not limits.over():
        width = (width + 1) // 2
        for start in reversed(range(0, len(kept), width)):
            if contradict(rest := kept[:start] + kept[start + width :]):
                kept = rest
    return sorted(kept, key=lambda call: call.invoke)


def _nearest(calls: Sequence[Call], suspects: list[Call], contradict: Contradict) -> list[Call]:
    """Return the last few calls before the contradiction was complete, or ``suspects`` if those do not contradict."""
    last = max(call.ret for call in suspects)
    until = sorted((call for call in calls if call.ret <= last), key=lambda call: (call.ret, call.invoke))
    near = (until[-size:] for size in _SIZES)
    return next((some for some in near if contradict(some)), suspects)


def _first_to_contradict(calls: Sequence[Call], contradict: Contradict, limits: Limits) -> list[Call]:
    kept = sorted(calls, key=lambda call: (call.ret, call.invoke))
    low, high = 0, len(kept)
    while low + 1 < high and not limits.over():
        middle = (low + high) // 2
        low, high = (low, middle) if contradict(kept[:middle]) else (middle, high)
    size = 2
    while size < high and not contradict(kept[high - size : high]):
        size *= 2
    return kept[max(0, high - size) : high]
