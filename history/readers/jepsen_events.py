"""Convert records to events by Jepsen's conventions, which all foreign formats share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from history.readers.records import Record, Records, Wrong
from history.records.events import NEMESIS, TYPES, UNANSWERED, Event, answers_nothing


@dataclass(frozen=True, slots=True)
class TextHistory:
    """The events of a foreign file; ``line(index)`` names the place of an event, for later errors."""

    events: list[Event]
    line: Callable[[int], str]


def events_of(parsed: Records) -> TextHistory:
    """Convert records to events, numbered in their order.

    ``:index`` may have gaps but must increase.  If all values are pairs, they are jepsen.independent's ``[k v]``.
    Raises FormatError.
    """
    records, wrong, last = parsed.records, parsed.wrong, -1
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
            raise wrong(place, HALF_KEYED + _first_without_key(records, wrong))
    events = [event_of(number, place, record, keyed, wrong) for number, (place, record) in enumerate(records)]
    return TextHistory(events, lambda index: wrong(records[index][0], "").place)


def is_transaction(record: dict[str, Any]) -> bool:
    """Return whether the value is a list of steps ``[f, key, value]``; Elle's histories may omit ``:f``."""
    steps = record.get("value")
    return isinstance(steps, list) and all(isinstance(step, list) and len(step) == 3 for step in steps)


def keyed_events(events: list[Event], wrong: Wrong) -> list[Event]:
    """Split ``[k v]`` values in our own format into key and value, as for Jepsen's.  Raises FormatError.

    Such a history was converted from Jepsen's.  Runs of the harness have keys in their own field, and their reads have
    the value null.
    """
    if any(event.key is not None for event in events) or not any(isinstance(event.value, list) for event in events):
        return events
    records = [{"process": e.process, "type": e.type, "f": e.f, "value": e.value} for e in events]
    # A cas to null is ``[old, null]``, not a key with a null value.
    whole = any(event.f == "cas" and isinstance(event.value, list) and event.value[1:] == [None] for event in events)
    if not whole and _all_keyed(records):
        return [event if event.process == NEMESIS else _with_key(event) for event in events]
    for event, record in zip(events, records, strict=True):
        if names_key(record):
            raise wrong(event.index, HALF_KEYED + _first_without_key(list(enumerate(records)), wrong))
    return events


def _with_key(event: Event) -> Event:
    key, value = split_key(event.value)
    return msgspec.structs.replace(event, key=as_key(key), value=value)


def check_record(place: int, record: dict[str, Any], wrong: Wrong) -> None:
    """Check that an event has all fields, with values of the right types.  Raises FormatError."""
    for name in ("process", "type", "f"):
        if name not in record:
            raise wrong(place, f"the field :{name} is missing")
    if record["type"] not in TYPES:
        raise wrong(place, f":type must be one of {', '.join(TYPES)}; found {record['type']!r}")
    process = record["process"]
    if type(process) is not int and process != NEMESIS:
        raise wrong(place, f":process must be an integer or :{NEMESIS}, found {process!r}")
    if not isinstance(record["f"], str):
        raise wrong(place, f":f must be a name, found {record['f']!r}")
    if answers_nothing(record):
        raise wrong(place, UNANSWERED.format(":value"))


def _all_keyed(records: Sequence[dict[str, Any]]) -> bool:
    """Return whether all values are ``[k v]`` tuples of jepsen.independent; for a cas, ``v`` must be a pair."""
    clients = [record for record in records if record["process"] != NEMESIS]
    return bool(clients) and all(map(may_be_keyed, clients))


def may_be_keyed(record: dict[str, Any]) -> bool:
    """Return whether the value looks like ``[k v]``."""
    value = record.get("value")
    if "key" in record or not isinstance(value, list):
        return False
    if record["f"] == "cas" and len(value) == 3:
        return True
    if len(value) != 2:
        return False
    inside = value[1]
    if inside is None or record["f"] not in ("cas", "txn"):
        return True
    # A transaction of two steps is not a pair of a key and a transaction, whose second item is a list of lists.
    return isinstance(inside, list) and (record["f"] == "cas" or all(isinstance(step, list) for step in inside))


#: Read as values of one register, the values of several keys would contradict each other.
HALF_KEYED: Final = "a read of [key nil], as in jepsen.independent, but not all values of the history are [key value]"


def _first_without_key(records: Sequence[Record], wrong: Wrong) -> str:
    others = ((place, other) for place, other in records if other["process"] != NEMESIS and not may_be_keyed(other))
    place, record = next(others)
    return f": that of the {record['f']} in {wrong(place, '').place} is not, nor [key, old, new] as a cas may have it"


def names_key(record: dict[str, Any]) -> bool:
    """Return whether a record invokes a read of jepsen.independent's ``[k nil]``.

    Only a read with a key has such a value.
    """
    is_read = record["type"] == "invoke" and record["f"] == "read" and record["process"] != NEMESIS
    return is_read and may_be_keyed(record) and record["value"][0] is not None and record["value"][1] is None


def event_of(number: int, place: int, record: dict[str, Any], keyed: bool, wrong: Wrong) -> Event:
    """Convert a record to the event with the index ``number``.  With ``keyed``, its value is ``[k v]``.

    Raises FormatError.
    """
    moment, value, key = record.get("time", number), record.get("value"), record.get("key")
    if type(moment) is not int:
        if not isinstance(moment, float) or not math.isfinite(moment):
            raise wrong(place, f":time must be a number, found {moment!r}")
        moment = int(moment)
    if record["process"] == NEMESIS:
        return Event(number, moment, record["type"], NEMESIS, record["f"], value if _finite(value) else str(value))
    if keyed and isinstance(value, list):
        key, value = split_key(value)
    key = as_key(key)
    if not _finite(value):
        raise wrong(place, f":value must be comparable, found {value!r}")
    error = record.get("error")
    return Event(
        number, moment, record["type"], record["process"], record["f"], value, key,
        str(record["node"]) if record.get("node") else None, None if error is None else str(error),
    )  # fmt: skip


def split_key(value: list[Any]) -> tuple[Any, Any]:
    """Split ``[k v]`` into key and value; a cas may also be ``[k old new]``."""
    return value[0], value[1] if len(value) == 2 else value[1:]


def as_key(key: Any) -> str | int | None:
    """Convert a key to one that our own format allows."""
    return key if key is None or type(key) in (str, int) else str(key)


def _finite(value: Any) -> bool:
    """Return whether a value contains no infinity and no NaN, which equals nothing."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return all(map(_finite, value))
    return all(map(_finite, value.values())) if isinstance(value, dict) else True
