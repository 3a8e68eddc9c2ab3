"""Convert the operations of another tool's nemesis to faults as in our own histories.

Other tools record single operations: one that begins a fault, and perhaps one that ends it.  Jepsen records each
operation twice as ``:info``, when it begins and when it is done.  The faults are indeterminate, because no such file
has witnesses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from history.records.events import Event

#: Maps the first word of operations that end faults to the first words of those faults.
_ENDS: Final = {
    "stop": ("start",), "start": ("stop", "kill", "crash"), "restart": ("kill", "crash", "stop"),
    "resume": ("pause", "stop"), "unpause": ("pause",), "reset": ("bump", "strobe", "skew"),
    "heal": ("start", "partition", "isolate", "split"), "recover": ("kill", "crash", "partition", "start"),
}  # fmt: skip
#: Maps families to words in the name or the value of an operation.
_FAMILIES: Final = {
    "partition": "partition|isolat|majorit|halves|bridge|split|cut off", "kill": "kill|crash", "pause": "pause",
    "clock": "clock|bump|strobe|skew", "packet": "packet|delay|slow|flaky", "disk": "disk|file|bitflip|truncate",
}  # fmt: skip


@dataclass(slots=True)
class _Fault:
    name: str
    value: Any
    began: int
    stood: int
    ending: int | None = None
    ended: int | None = None


def fault_events(events: Sequence[Event]) -> list[Event]:
    """Convert nemesis events to events with receipts (``history.records.receipts``), ordered by time.

    A fault is active until an operation ends it, or until the next operation with its name.  A fault that no operation
    ends, such as a clock jump, is over at once.  Events that already have receipts are returned unchanged.
    """
    if any(isinstance(event.value, dict) and "action" in event.value for event in events):
        return list(events)
    faults: list[_Fault] = []
    standing: list[_Fault] = []
    for begun, done in _operations(events):
        over = [active for active in standing if active.name == begun.f or _ends(begun.f, active.name)]
        for fault in over:
            fault.ending, fault.ended = begun.time, done.time
            standing.remove(fault)
        if over and over[0].name != begun.f:
            continue
        fault = _Fault(begun.f, done.value, begun.time, done.time)
        faults.append(fault)
        if _word(begun.f) in _STANDING:
            standing.append(fault)
        else:
            fault.ending = fault.ended = done.time
    made = [event for number, fault in enumerate(faults) for event in _receipt(number, fault)]
    return sorted(made, key=lambda event: event.time)


_STANDING: Final = frozenset(word for words in _ENDS.values() for word in words)


def _operations(events: Sequence[Event]) -> Iterable[tuple[Event, Event]]:
    """Yield the events at which each operation began and was done.

    These are two successive events with the same name, or a single event for both.
    """
    place = 0
    while place < len(events):
        twice = place + 1 < len(events) and events[place + 1].f == events[place].f
        yield events[place], events[place + twice]
        place += 1 + twice


def _word(name: str) -> str:
    return re.split("[-_]", name)[0]


def _ends(name: str, fault: str) -> bool:
    """Return whether an operation ends a fault: ``stop-x`` ends ``start-x``, and ``heal-x`` ends ``x``."""
    word, of = _word(name), name[len(_word(name)) :]
    return word in _ENDS and (of[1:] == fault or (_word(fault) in _ENDS[word] and fault[len(_word(fault)) :] == of))


def _receipt(number: int, fault: _Fault) -> Iterable[Event]:
    detail = "" if fault.value is None else json.dumps(fault.value, ensure_ascii=False, default=str)
    text = f"{fault.name} {detail}".lower()
    family = next((name for name, words in _FAMILIES.items() if re.search(words, text)), "")
    request = {"id": number, "action": "inject", "family": family, "summary": detail[:200]}
    reason = "the file says that it was done, but has no witness"
    moments: list[tuple[int, Any, dict[str, Any]]] = [
        (fault.began, "invoke", request), (fault.stood, "info", {**request, "reason": reason}),
    ]  # fmt: skip
    if fault.ending is not None:
        heal = {"id": number, "action": "heal"}
        moments += [(fault.ending, "invoke", heal), (fault.ended or fault.ending, "ok", heal)]
    return [Event(0, time, type_, "nemesis", fault.name, value) for time, type_, value in moments]
