"""Classic WGL, the reference engine: Wing and Gong's search (1993) with Lowe's cache (2017).

The history is a doubly linked list of calls and returns.  A call that is minimal (no return ahead of it in the list)
and legal is lifted out together with its return; when a return comes first, the search backs up.  The cache remembers
(set of calls lifted, state).  Memory grows with the square of the history: use it to check the other engines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from checker.core.calls import Call
from checker.core.model import ILLEGAL, Model
from checker.core.result import EngineResult, Limits

ENGINE: Final = "wgl"
_LOOK_EVERY: Final = 256
_WIDE: Final = 50_000


class _Entry:
    """A node of the list: a call (``match`` is its return) or a return (``match`` is None)."""

    __slots__ = ("ahead", "behind", "match", "place")

    def __init__(self, place: int, match: _Entry | None) -> None:
        self.place, self.match = place, match
        self.ahead: _Entry | None = None
        self.behind: _Entry | None = None


def _unlink(entry: _Entry) -> None:
    assert entry.ahead is not None
    entry.ahead.behind = entry.behind
    if entry.behind is not None:
        entry.behind.ahead = entry.ahead


def _relink(entry: _Entry) -> None:
    assert entry.ahead is not None
    entry.ahead.behind = entry
    if entry.behind is not None:
        entry.behind.ahead = entry


def _linked(calls: Sequence[Call], limits: Limits) -> _Entry:
    """Link calls and returns in order behind a dummy head; pending calls return at the very end."""
    events: list[tuple[int, int, _Entry]] = []
    for place, call in enumerate(limits.paced(calls, ENGINE)):
        returned = _Entry(place, None)
        events.append((call.invoke, place, _Entry(place, returned)))
        events.append((call.ret, place, returned))
    head = last = _Entry(-1, None)
    for _, _, entry in sorted(events, key=lambda event: event[:2]):
        last.behind, entry.ahead = entry, last
        last = entry
    return head


def wgl(calls: Sequence[Call], model: Model, limits: Limits) -> EngineResult:
    """Decide with classic WGL.  Valid answers contain a linearization."""
    head = _linked(calls, limits)
    # A pending call may never have taken effect, so only the others have to be lifted.
    left = sum(1 for call in calls if not call.pending)
    state: Any = model.initial
    lifted, longest, steps = 0, 0, 0
    cache: set[tuple[int, Any]] = set()
    trail: list[tuple[_Entry, Any]] = []
    entry = head.behind
    # A step costs time in proportion to the history, whose calls are bits of a number.
    look_every = max(1, _LOOK_EVERY // (1 + len(calls) // _WIDE))
    while left:
        steps += 1
        if steps % look_every == 0 and (why := _spent(limits, len(cache), len(calls))):
            return EngineResult("unknown", ENGINE, reason=f"{why}: {longest} of {len(calls)} operations explained")
        if entry is not None and entry.match is not None:
            call = calls[entry.place]
            after = model.step(state, call.f, call.value, call.result)
            node = (lifted | 1 << entry.place, after)
            # Lowe's cache: the same calls lifted in another order, with the same state, lead nowhere new.
            if after is not ILLEGAL and node not in cache:
                cache.add(node)
                trail.append((entry, state))
                lifted, state = node
                left -= not call.pending
                longest = max(longest, len(trail))
                _unlink(entry)
                _unlink(entry.match)
                entry = head.behind
            else:
                entry = entry.behind
            continue
        # A return comes first, or only pending calls are left that do not fit: the last choice was wrong.
        if not trail:
            return EngineResult(
                "invalid", ENGINE, violations=1, reason=f"{longest} of {len(calls)} operations explained"
            )
        wrong, state = trail.pop()
        lifted &= ~(1 << wrong.place)
        left += not calls[wrong.place].pending
        assert wrong.match is not None
        _relink(wrong.match)
        _relink(wrong)
        entry = wrong.behind
    return EngineResult("valid", ENGINE, order=[calls[taken.place] for taken, _ in trail])


def _spent(limits: Limits, entries: int, calls: int) -> str | None:
    if limits.over():
        return "the deadline passed"
    # An integer with one bit per call, a tuple, and a place in the set.
    if entries * (calls // 8 + 180) > limits.memory:
        return f"the memory cap of {limits.memory >> 20} MB was reached"
    return None
