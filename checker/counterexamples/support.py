"""Add to a core the operations that its values come from, so that it is a history of its own.

A CAS counts there as a *write* of its new value, whatever it found.  That keeps linearizable histories linearizable,
for wherever a CAS may stand a write of the same value may stand, too; and it needs no past: else a register of which
every value replaced the one before it would need all of them.
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
    """Replace some calls by those in ``calls``, each once, by their invocations; what is a write stays one."""
    writes = {call.source: call.f == "write" for call in some}
    kept = ((as_write(call) if writes[call.source] else call) for call in calls if call.source in writes)
    return sorted(kept, key=lambda call: call.invoke)


def with_makers_before(part: Sequence[Call], calls: Iterable[Call], start: int, model: Model) -> list[Call]:
    """Add to the part, for each value that it lacks, the call that made it last before ``start``.

    So is the CAS that replaced it last, for that is the plainest reason why it cannot be there.
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
    """Find for each value the write of it, and the CAS that replaced it, that returned last before ``start``."""
    early = sorted((call for call in calls if call.ret < start), key=lambda call: call.ret)
    makers = {made_by(call): as_write(call) for call in early if call.f in ("write", "cas")}
    return makers, {asked_by(call): call for call in early if call.f == "cas"}


def with_later(part: Sequence[Call], calls: Iterable[Call], end: int, model: Model) -> list[Call]:
    """Add to the part, for each value that it lacks, the call that began to make it first after ``end``.

    That is too late to explain anything; but the value did not come out of nowhere.
    """
    values = set(_unexplained(part, model)) if model.one_value and model.initial is not ANY else ()
    later = (call for call in calls if values and call.invoke > end and call.f in ("write", "cas"))
    first: dict[Any, Call] = {}
    for call in sorted(later, key=lambda call: call.invoke):
        if made_by(call) in values:
            first.setdefault(made_by(call), as_write(call))
    return [*part, *first.values()]


def _unexplained(calls: Sequence[Call], model: Model) -> list[Any]:
    """Values that are read or replaced, and neither initial nor made by any of the calls."""
    made = {made_by(call) for call in calls if call.f in ("write", "cas")}
    asked = (asked_by(call) for call in calls if not call.pending)
    return [value for value in dict.fromkeys(asked) if value not in made and value not in (model.initial, UNKNOWN)]
