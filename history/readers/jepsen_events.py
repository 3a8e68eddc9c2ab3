"""Events from Jepsen's operation maps: the rules that ``history.edn`` and the console log share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from history.errors import FormatError
from history.records.events import NEMESIS, TYPES, UNANSWERED, Event, answers_nothing

#: Where the map starts (a place that ``wrong`` understands) and the map.
Record: TypeAlias = tuple[int, dict[str, Any]]
Wrong: TypeAlias = Callable[[int, str], FormatError]


@dataclass(frozen=True, slots=True)
class TextHistory:
    """The events of a text file; ``line(index)`` says where an event stands, for errors that are found later."""

    events: list[Event]
    line: Callable[[int], str]


def events_of(records: Sequence[Record], wrong: Wrong) -> TextHistory:
    """The events, numbered by their order; ``wrong(place, message)`` makes the errors.

    ``:index`` may have gaps but must grow.  Values that are all pairs are jepsen.independent's ``[k v]``.
    Raises FormatError.
    """
    last = -1
    for place, record in records:
        if is_transaction(record):
            record.setdefault("f", "txn")
        check_record(place, record, wrong)
        index = record.get("index")
        if index is not None:
            if type(index) is not int or index <= last:
                raise wrong(place, f"the events are out of order: expected :index above {last}, found {index!r}")
            last = index
    keyed = _all_keyed([record for _, record in records])
    for place, record in () if keyed else records:
        if names_key(record):
            raise wrong(place, HALF_KEYED)
    events = [event_of(number, place, record, keyed, wrong) for number, (place, record) in enumerate(records)]
    return TextHistory(events, lambda index: wrong(records[index][0], "").place)


def is_transaction(record: dict[str, Any]) -> bool:
    """Is the value a list of steps ``[f, key, value]``?  Elle's histories may leave out that it is a transaction."""
    steps = record.get("value")
    return isinstance(steps, list) and all(isinstance(step, list) and len(step) == 3 for step in steps)


def check_record(place: int, record: dict[str, Any], wrong: Wrong) -> None:
    """Check that an event has all fields, with values of the right types.  Raises FormatError."""
    for name in ("process", "type", "f"):
        if name not in record:
            raise wrong(place, f"the field :{name} is missing")
    if record["type"] not in TYPES:
        raise wrong(place, f":type must be one of {', '.join(TYPES)}, found {record['type']!r}")
    process = record["process"]
    if type(process) is not int and process != NEMESIS:
        raise wrong(place, f":process must be an integer or :{NEMESIS}, found {process!r}")
    if not isinstance(record["f"], str):
        raise wrong(place, f":f must be a name, found {record['f']!r}")
    if answers_nothing(record):
        raise wrong(place, UNANSWERED.format(":value"))


def _all_keyed(records: Sequence[dict[str, Any]]) -> bool:
    """Are all values ``[k v]`` tuples of jepsen.independent?  A cas' own pair must then be inside."""
    clients = [record for record in records if record["process"] != NEMESIS]
    return bool(clients) and all(map(may_be_keyed, clients))


def may_be_keyed(record: dict[str, Any]) -> bool:
    """Does the value look like ``[k v]``?"""
    value = record.get("value")
    if "key" in record or not isinstance(value, list) or len(value) != 2:
        return False
    inside = value[1]
    if inside is None or record["f"] not in ("cas", "txn"):
        return True
    # Two steps of a transaction are no pair of a key and a transaction: that would be a list of lists.
    return isinstance(inside, list) and (record["f"] == "cas" or all(isinstance(step, list) for step in inside))


#: Taken for values of one register, those of several keys would contradict each other.
HALF_KEYED: Final = "a read of [key nil], as of jepsen.independent, but not all values of the history are [key value]"


def names_key(record: dict[str, Any]) -> bool:
    """Whether it begins a read of jepsen.independent's ``[k nil]``, which is no value that a read could ask for."""
    asked = record["type"] == "invoke" and record["f"] == "read" and record["process"] != NEMESIS
    return asked and may_be_keyed(record) and record["value"][0] is not None and record["value"][1] is None


def event_of(number: int, place: int, record: dict[str, Any], keyed: bool, wrong: Wrong) -> Event:
    """One event, ``number`` being its place among all; ``keyed``: its value is ``[k v]``.  Raises FormatError."""
    moment, value, key = record.get("time", number), record.get("value"), record.get("key")
    if type(moment) is not int:
        if not isinstance(moment, float) or not math.isfinite(moment):
            raise wrong(place, f":time must be a number, found {moment!r}")
        moment = int(moment)
    if record["process"] == NEMESIS:
        return Event(number, moment, record["type"], NEMESIS, record["f"], value if _finite(value) else str(value))
    if keyed and isinstance(value, list):
        key, value = value
    if key is not None and type(key) not in (str, int):
        key = str(key)
    if not _finite(value):
        raise wrong(place, f":value must be comparable, found {value!r}")
    error = record.get("error")
    return Event(
        number, moment, record["type"], record["process"], record["f"], value, key,
        str(record["node"]) if record.get("node") else None, None if error is None else str(error),
    )  # fmt: skip


def _finite(value: Any) -> bool:
    """Is there no NaN in it, which equals nothing, and no infinity?"""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return all(map(_finite, value))
    return all(map(_finite, value.values())) if isinstance(value, dict) else True
