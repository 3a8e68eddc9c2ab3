"""EDN, as far as histories need it: Jepsen's ``history.edn``, and single forms in other files.

Maps become dicts, vectors and lists become lists, sets become sorted lists, keywords and symbols become their names;
a tagged literal (a record such as ``#jepsen.history.Op{…}``) becomes its value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from history.errors import FormatError
from history.events import NEMESIS, TYPES, Event

_TOKEN: Final = re.compile(
    r"""(?P<skip>[\s,]+|;[^\n]*)|(?P<open>\#\{|[\[({])|(?P<close>[\])}])|(?P<discard>\#_)|(?P<symbolic>\#\#\w+)"""
    r"""|(?P<tag>\#[A-Za-z][^\s,()\[\]{}"]*)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<char>\\(?:\w+|.))"""
    r"""|(?P<atom>[^\s,()\[\]{}";#\\][^\s,()\[\]{}";]*)"""
)
_CLOSING: Final = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_ATOMS: Final = {"nil": None, "true": True, "false": False}
_INTEGER: Final = re.compile(r"[+-]?\d+N?")
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?M?")
_NOTHING: Final = object()


@dataclass(frozen=True, slots=True)
class Form:
    """One form with the byte at which it starts (in the text, counted in characters)."""

    value: Any
    place: int


class EdnReader:
    """Reads forms one after the other.  Raises FormatError naming the line."""

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source, self.place = text, source, 0

    def wrong(self, place: int, message: str) -> FormatError:
        return FormatError(self.source, f"line {self.text.count(chr(10), 0, place) + 1}", message)

    def forms(self) -> Iterator[Form]:
        while (form := self._form()) is not None:
            yield form

    def _token(self) -> tuple[str, str, int] | None:
        while self.place < len(self.text):
            start = self.place
            match = _TOKEN.match(self.text, start)
            if match is None:
                raise self.wrong(start, f"expected EDN, found {self.text[start : start + 20]!r}")
            self.place = match.end()
            if match.lastgroup != "skip":
                return str(match.lastgroup), match.group(), start
        return None

    def _form(self, closing: str | None = None) -> Form | None:
        """The next form; None at the end (or at the closing bracket that is awaited)."""
        token = self._token()
        if token is None:
            if closing is not None:
                raise self.wrong(len(self.text), f"expected {closing!r}, found the end of the file")
            return None
        kind, text, start = token
        if kind == "close":
            if text != closing:
                raise self.wrong(start, f"found {text!r}, expected {closing or 'a form'!r}")
            return None
        if kind == "discard":
            self._needed(start)
            return self._form(closing)
        return Form(self._value(kind, text, start), start)

    def _needed(self, start: int) -> Any:
        form = self._form()
        if form is None:
            raise self.wrong(start, "expected a form, found the end of the file")
        return form.value

    def _value(self, kind: str, text: str, start: int) -> Any:
        if kind == "open":
            return self._collection(text, start)
        if kind == "tag":
            return self._needed(start)
        if kind == "string":
            return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t", "r": "\r"}.get(match[1], match[1]), text[1:-1])
        if kind == "symbolic":
            return {"##NaN": math.nan, "##Inf": math.inf, "##-Inf": -math.inf}.get(text)
        return _atom(text)

    def _collection(self, opening: str, start: int) -> Any:
        items = []
        while (form := self._form(_CLOSING[opening])) is not None:
            items.append(form.value)
        if opening == "{":
            if len(items) % 2:
                raise self.wrong(start, "a map has a key without a value")
            keys = [tuple(key) if isinstance(key, list) else key for key in items[::2]]
            return dict(zip(keys, items[1::2], strict=True))
        return sorted(items, key=repr) if opening == "#{" else items


def _atom(text: str) -> Any:
    if text in _ATOMS:
        return _ATOMS[text]
    if _INTEGER.fullmatch(text):
        return int(text.rstrip("N"))
    if _NUMBER.fullmatch(text):
        return float(text.rstrip("M"))
    return text.lstrip(":")


def read_edn(text: str, source: str) -> list[Event]:
    """The events of a ``history.edn``: one list or vector of maps, or maps one after the other."""
    reader = EdnReader(text, source)
    forms = list(reader.forms())
    if len(forms) == 1 and isinstance(forms[0].value, list):
        forms = [Form(value, forms[0].place) for value in forms[0].value]
    if not forms:
        raise FormatError(source, "line 1", "expected a history, found nothing")
    records = [_record(form, reader) for form in forms]
    keyed = _all_keyed(records)
    return [
        _event(number, record, form, keyed, reader)
        for number, (record, form) in enumerate(zip(records, forms, strict=True))
    ]


def _record(form: Form, reader: EdnReader) -> dict[str, Any]:
    if not isinstance(form.value, dict):
        raise reader.wrong(form.place, f"expected a map, found {str(form.value)[:40]!r}")
    for name in ("process", "type", "f"):
        if name not in form.value:
            raise reader.wrong(form.place, f"the field :{name} is missing")
    if form.value["type"] not in TYPES:
        raise reader.wrong(form.place, f":type must be one of {', '.join(TYPES)}, found {form.value['type']!r}")
    return form.value


def _is_client(record: dict[str, Any]) -> bool:
    return type(record["process"]) is int


def _all_keyed(records: list[dict[str, Any]]) -> bool:
    """Are all values ``[k v]`` tuples of jepsen.independent?  A cas' own pair must then be inside."""
    clients = [record for record in records if _is_client(record)]

    def keyed(record: dict[str, Any]) -> bool:
        value = record.get("value")
        if "key" in record or not isinstance(value, list) or len(value) != 2:
            return False
        return record["f"] not in ("cas", "txn") or value[1] is None or isinstance(value[1], list)

    return bool(clients) and all(map(keyed, clients))


def _event(number: int, record: dict[str, Any], form: Form, keyed: bool, reader: EdnReader) -> Event:
    time, value, key = record.get("time", number), record.get("value"), record.get("key")
    if isinstance(time, float) and not math.isfinite(time):
        raise reader.wrong(form.place, f":time must be a number, found {time}")
    if not isinstance(time, (int, float)) or isinstance(time, bool):
        raise reader.wrong(form.place, f":time must be a number, found {time!r}")
    index = record.get("index", number)
    if type(index) is not int or index < number:
        raise reader.wrong(form.place, f"the events are out of order: :index {index} is in place {number}")
    if not _is_client(record):
        return Event(number, int(time), record["type"], NEMESIS, str(record["f"]), value)
    if keyed and isinstance(value, list):
        key, value = value
    if key is not None and not isinstance(key, (str, int)):
        key = str(key)
    error = record.get("error")
    return Event(
        number, int(time), record["type"], record["process"], str(record["f"]), value, key,
        str(record["node"]) if record.get("node") else None, None if error is None else str(error),
    )  # fmt: skip
