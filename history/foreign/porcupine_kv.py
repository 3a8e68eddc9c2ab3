"""Porcupine's key-value test format, one map a line: ``{:process 0, :type :invoke, :f :get, :key "3", :value nil}``."""

from __future__ import annotations

from history.errors import FormatError
from history.events import Event
from history.foreign.edn import read_edn

FUNCTIONS = frozenset({"get", "put", "append"})


def read_porcupine_kv(text: str, source: str) -> list[Event]:
    """The events; the functions are ``get``, ``put`` and ``append`` of strings.  Check them with the model ``kv``."""
    events = read_edn(text, source)
    for number, event in enumerate(events, start=1):
        if event.f not in FUNCTIONS or event.key is None:
            raise FormatError(source, f"line {number}", f"expected get, put or append of a key, found {event.f!r}")
    return events
