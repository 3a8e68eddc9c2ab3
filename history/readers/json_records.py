"""Read JSON histories from other tools: an array of objects, one object per line, or objects one after another.

An object is an *event* (its ``type`` is an invocation or the outcome of an operation) or a whole *operation* (with a
``start``, and an ``end`` if it was answered).  ``history.readers.mapping`` maps its fields to our names.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from history.errors import FormatError
from history.json_object import MOST_LEVELS, is_deeper
from history.readers.intervals import events_of_operations, moment_of
from history.readers.mapping import FieldMap, Mapped, pasteable
from history.readers.records import Record, Records, Wrong
from history.records.events import JSON_DECODER, NEMESIS, TYPES
from history.records.text import quoted

_EVENT: Final = ("process", "type", "f")
_OPERATION: Final = ("start", "f")
#: Fields in which other tools record whether an operation succeeded.
_FLAGS: Final = ("ok", "success")
#: Number of objects from which the mapping is learned.
SAMPLE: Final = 100


def parse_json(text: str, source: str, chosen: FieldMap | None = None) -> Records:
    """Parse a JSON history into records.

    Raises FormatError with the line.  For unknown fields, the message has a mapping that can be pasted.
    """
    objects = JsonObjects(text, source)
    if not objects.items:
        raise FormatError(source, "line 1", "expected a history, found no object")
    return records_of(objects.items, chosen, objects.wrong)


def records_of(items: Sequence[Record], chosen: FieldMap | None, wrong: Wrong) -> Records:
    """Convert objects, or rows of a table, with their lines to records.  Raises FormatError like ``parse_json``."""
    sample = [record for _, record in items[:SAMPLE]]
    mapped, processes = Mapped(chosen or FieldMap(), sample), Processes()
    of_events = all(name in mapped.fields for name in _EVENT)
    of_events = of_events and any(mapped(row).get("type") == "invoke" for row in sample)
    if not of_events and not all(name in mapped.fields for name in _OPERATION):
        raise wrong(items[0][0], unknown_shape(sample, mapped))
    records = [(line, processes.numbered(mapped(item))) for line, item in items]
    if of_events:
        events = [_event(*entry, wrong) for entry in records]
        return Records(events, wrong, mapped.fields, (*processes.notes(), *_backwards(events)))
    if "type" not in mapped.fields:
        _refuse_flags(items, mapped.fields.values(), wrong)
    notes = (*processes.notes(), "each object is a whole operation: they are ordered by their times")
    return Records(events_of_operations(records, wrong), wrong, mapped.fields, notes)


def _backwards(events: Sequence[Record]) -> Iterator[str]:
    """Yield a note if times decrease from one event to the next, for example in joined logs of several clients."""
    timed = [(line, event["time"]) for line, event in events if isinstance(event.get("time"), int | float)]
    for (_, before), (line, time) in pairwise(timed):
        if time < before:
            yield f"line {line}: the times go back here, so the order of the lines is used; if that is wrong, sort them"
            return


def _refuse_flags(items: Sequence[Record], taken: Collection[str], wrong: Wrong) -> None:
    """Reject operations with an unmapped flag that says they did not succeed: without a type they would count as ok.

    Raises FormatError.
    """
    for line, item in items:
        for name in _FLAGS:
            if item.get(name) is False and name not in taken:
                raise wrong(
                    line,
                    f"{name!r} is false, which may mean that nothing happened or that nobody knows: say which, with "
                    f"--map 'type={name},type.true=ok,type.false=info' (or fail)",
                )


def shortened(text: str, most: int = 200) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def unknown_shape(objects: Sequence[Mapping[str, Any]], mapped: Mapped) -> str:
    """Say how the first object was understood, with a mapping that can be pasted."""
    fields = mapped.fields
    needed = _OPERATION if "start" in fields or "end" in fields else _EVENT
    missing = [name for name in needed if name not in fields]
    if not missing and not any(mapped(record).get("type") == "invoke" for record in objects):
        missing = ["an event of the type invoke"]
    understood = ", ".join(f"{ours} from {theirs!r}" for ours, theirs in fields.items()) or "nothing"
    first = shortened(json.dumps(objects[0], ensure_ascii=False, default=str))
    wanted = [*needed, *(["value"] if "value" not in fields else [])]
    return (
        f"expected events or operations, found {first}; understood: {understood}; "
        f"missing: {', '.join(missing) or 'nothing, but its fields have other names'}. Say which fields these are: "
        f"--map {quoted(pasteable(objects, mapped, wanted))}"
    )


class JsonObjects:
    """The JSON objects in a file's text, with the lines on which they begin."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self._starts = [0, *(place + 1 for place, sign in enumerate(text) if sign == "\n")] if text else [0]
        self.items: list[Record] = list(self._find(text))

    def wrong(self, line: int, message: str) -> FormatError:
        return FormatError(self.source, f"line {line}", message)

    def _line(self, place: int) -> int:
        return bisect_right(self._starts, place)

    def _object(self, text: str, place: int, line: int) -> tuple[dict[str, Any], int]:
        """Parse the object that begins at ``place``; return it and where it ends."""
        try:
            value, end = JSON_DECODER.raw_decode(text, place)
        except RecursionError:
            raise self.wrong(line, "expected a JSON object, found one that is nested too deeply") from None
        except json.JSONDecodeError as error:
            at = self._line(min(error.pos, len(text) - 1))
            raise self.wrong(at, f"expected a JSON object: {error.msg}") from None
        except ValueError as error:
            raise self.wrong(line, f"expected a JSON object: {error}") from None
        if not isinstance(value, dict):
            raise self.wrong(line, f"expected a JSON object, found {text[place : place + 40]!r}")
        if is_deeper(value, MOST_LEVELS):
            raise self.wrong(line, "expected a JSON object, found one that is nested too deeply")
        return value, end

    def _find(self, text: str) -> Iterator[Record]:
        place, inside, count = _skip(text, 0), False, 0
        if text.startswith("[", place):
            place, inside = _skip(text, place + 1), True
        while place < len(text):
            if inside and text[place] == "]":
                if _skip(text, place + 1) < len(text):
                    raise self.wrong(self._line(place), "expected the end of the file after the array")
                return
            line = self._line(place)
            value, end = self._object(text, place, line)
            place = _skip(text, end)
            if not inside and not count and place == len(text) and (listed := _list_in(value)) is not None:
                yield from ((line, item) for item in listed)
                return
            count += 1
            yield line, value
        if inside:
            raise self.wrong(self._line(len(text)), "expected ']', found the end of the file: it may have been cut")


def _skip(text: str, place: int) -> int:
    """Return the place of the next character that is neither white space nor a comma."""
    while place < len(text) and text[place] in " \t\r\n,":
        place += 1
    return place


def _list_in(value: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the history in a single object that wraps it: the object's only list of objects, else None."""
    lists = [item for item in value.values() if isinstance(item, list) and item]
    lists = [items for items in lists if all(isinstance(item, dict) for item in items)]
    return lists[0] if len(lists) == 1 else None


def _event(line: int, record: dict[str, Any], wrong: Wrong) -> Record:
    """Normalize an event; the result of an ok event becomes its value.  Raises FormatError if it is ambiguous."""
    if record.get("type") not in TYPES and "type" in record:
        word = record["type"]
        raise wrong(
            line,
            f"type must be one of {', '.join(TYPES)}; found {word!r}: say what it means, with "
            f"--map {quoted(f'type.{word}=info')} (or ok, fail, invoke)",
        )
    if record.get("type") == "ok" and record.get("error") is not None:
        raise wrong(line, f"an event that is ok and has the error {str(record['error'])[:60]!r}: decide which it is")
    if "result" in record:
        result = record.pop("result")
        if record.get("type") == "ok":
            record["value"] = result
    if isinstance(record.get("time"), str):
        record["time"] = moment_of(record["time"])
        if record["time"] is None:
            del record["time"]
    return line, record


class Processes:
    """Assigns numbers to processes that have names."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def numbered(self, record: dict[str, Any]) -> dict[str, Any]:
        """Replace the record's process, if it has one, by a number, and return the record."""
        if "process" in record:
            record["process"] = self._number(record["process"])
        return record

    def _number(self, name: Any) -> Any:
        """Return a number unchanged, also from a string; give any other name the next free number from a million on."""
        if not isinstance(name, str):
            return name
        text = name.lstrip(":")
        if text == NEMESIS:
            return NEMESIS
        if text.isascii() and text.isdigit() and len(text) < 19:
            return int(text)
        return self._numbers.setdefault(text, 1_000_000 + len(self._numbers))

    def notes(self) -> tuple[str, ...]:
        if not self._numbers:
            return ()
        named = ", ".join(f"{number} is {name}" for name, number in list(self._numbers.items())[:8])
        return (f"processes were given numbers: {named}{', …' if len(self._numbers) > 8 else ''}",)
