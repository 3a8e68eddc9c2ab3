"""Operations as events."""

from __future__ import annotations

from history import Event, Operation


def events_of(operations: list[Operation]) -> list[Event]:
    events = []
    for o in operations:
        events.append(Event(o.invoke_index, o.invoked, "invoke", o.process, o.f, o.value, o.key, o.node))
        assert o.return_index is not None
        assert o.returned is not None
        value = o.result if o.f == "read" else o.value
        events.append(Event(o.return_index, o.returned, o.outcome, o.process, o.f, value, o.key, o.node))
    return sorted(events, key=lambda event: event.index)
