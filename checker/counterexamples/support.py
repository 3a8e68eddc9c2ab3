"""Add the operations that produced a core's values, so that the core is a history of its own.

A CAS is added as a *write* of its new value, whatever value it found.  This keeps a linearizable history linearizable,
because a write may take any place of a CAS of the same value. It also makes the past unnecessary: if every value of a
register replaced the one before it, the core would otherwise need all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from checker.core.calls import Call, asked_by, made_by
from checker.core.model import ANY, UNKNOWN, Model


def as_write(call: Call) -> Call:
    """Turn a CAS into a write of its new value; a write stays as it is."""
    return replace(call, f="write", value=call.value[1]) if call.f == "cas" else call


def calls_as_recorded(some: Iterable[Call], calls: Iterable[Call]) -> list[Call]:
    """Replace each call by the one recorded in ``calls``, sorted by invocation, without duplicates.

    A call that was turned into a write stays a write.
    """
    writes = {call.source: call.f == "write" for call in some}
    kept = ((as_write(call) if writes[call.source] else call) for call in calls if call.source in writes)
    return sorted(kept, key=lambda call: call.invoke)


def with_makers_before(part: Sequence[Call], calls: Iterable[Call], start: int, model: Model) -> list[Call]:
    """Add, for each value that the part lacks, the last call that made it and returned before ``start``.

    The last CAS that replaced the value is added as well, because it is the plainest reason why the value is gone.
    Nothing is added for models whose state is not one value.
    """
    if not model.one_value:
        return list(part)
    makers, takers = newest_before(calls, start)
    beside = {call.source: call for call in part}
    for value in _unexplained(part, model):
        for call in (takers.get(value), makers.get(value)):
            if call is not None and value in makers:
                beside.setdefault(call.source, call)
    return sorted(beside.values(), key=lambda call: call.invoke)


def newest_before(calls: Iterable[Call], start: int) -> tuple[dict[Any, Call], dict[Any, Call]]:
    """Find for each value the last write, and the last CAS that replaced it, that returned before ``start``."""
    early = sorted((call for call in calls if call.ret < start), key=lambda call: call.ret)
    makers = {made_by(call): as_write(call) for call in early if call.f in ("write", "cas")}
    return makers, {asked_by(call): call for call in early if call.f == "cas"}


def with_later(part: Sequence[Call], calls: Iterable[Call], end: int, model: Model) -> list[Call]:
    """Add, for each value that the part lacks, the first call after ``end`` that made it.

    Such a call began too late to explain the value, but it shows that some operation did make it.
    """
    values = set(_unexplained(part, model)) if model.one_value and model.initial is not ANY else ()
    later = (call for call in calls if values and call.invoke > end and call.f in ("write", "cas"))
    first: dict[Any, Call] = {}
    for call in sorted(later, key=lambda call: call.invoke):
        if made_by(call) in values:
            first.setdefault(made_by(call), as_write(call))
    return [*part, *first.values()]


def _unexplained(calls: Sequence[Call], model: Model) -> list[Any]:
    """Return the values that are read or replaced but are neither initial nor made by any of the calls."""
    made = {made_by(call) for call in calls if call.f in ("write", "cas")}
    needed = (asked_by(call) for call in calls if not call.pending)
    return [value for value in dict.fromkeys(needed) if value not in made and value not in (model.initial, UNKNOWN)]
