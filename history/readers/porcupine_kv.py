"""Check porcupine's key-value logs, with lines like ``{:process 0, :type :invoke, :f :get, :key "3", :value nil}``."""

from __future__ import annotations

from history.readers.jepsen_events import TextHistory
from history.readers.records import Records
from history.records.events import Event

FUNCTIONS = ("get", "put", "append")


def check_kv(parsed: Records, history: TextHistory) -> None:
    """Check that all events are ``get``, ``put`` and ``append`` of strings.  Raises FormatError."""
    for (place, _), event in zip(parsed.records, history.events, strict=True):
        if (complaint := misfit(event)) is not None:
            raise parsed.wrong(place, complaint)


def misfit(event: Event) -> str | None:
    """Explain why an event cannot be part of a key-value history; None if it can."""
    if event.f not in FUNCTIONS or event.key is None:
        return f"expected get, put or append of a key, found {event.f!r}"
    unread = event.value is None and event.f == "get" and event.type != "ok"
    if not unread and not isinstance(event.value, str):
        return f"expected a string, found :value {event.value!r}"
    return None
