"""Porcupine's key-value test format, one map a line: ``{:process 0, :type :invoke, :f :get, :key "3", :value nil}``."""

from __future__ import annotations

from history.foreign.edn import read_maps
from history.foreign.jepsen_events import TextHistory, events_of

FUNCTIONS = ("get", "put", "append")


def parse_porcupine_kv(text: str, source: str) -> TextHistory:
    """The events; the functions are ``get``, ``put`` and ``append`` of strings.  Check them with the model ``kv``.

    Raises FormatError.
    """
    reader, records = read_maps(text, source)
    history = events_of(records, reader.wrong)
    for (place, _), event in zip(records, history.events, strict=True):
        if event.f not in FUNCTIONS or event.key is None:
            raise reader.wrong(place, f"expected get, put or append of a key, found {event.f!r}")
        unread = event.value is None and event.f == "get" and event.type != "ok"
        if not unread and not isinstance(event.value, str):
            raise reader.wrong(place, f"expected a text, found :value {event.value!r}")
    return history
