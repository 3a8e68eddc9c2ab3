"""Read the parts of EDN that histories use: Jepsen's ``history.edn``, and single forms in other files.

Maps become dicts, vectors and lists become lists, sets become sorted lists, and keywords and symbols become their
names.  A tagged literal, such as the record ``#jepsen.history.Op{…}``, becomes its value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from history.errors import FormatError
from history.readers.records import Records

_TOKEN: Final = re.compile(
    r"""(?P<skip>[\s,]+|;[^\n]*)|(?P<open>\#\{|[\[({])|(?P<close>[\])}])|(?P<discard>\#_)|(?P<symbolic>\#\#\w+)"""
    r"""|(?P<tag>\#[A-Za-z][^\s,()\[\]{}"]*)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<char>\\(?:\w+|.))"""
    r"""|(?P<atom>[^\s,()\[\]{}";#\\][^\s,()\[\]{}";]*)"""
)
_CLOSING: Final = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_ATOMS: Final = {"nil": None, "true": True, "false": False}
_INTEGER: Final = re.compile(r"[+-]?(0|[1-9]\d*)N?", re.ASCII)
_HEXADECIMAL: Final = re.compile(r"[+-]?0[xX][0-9A-Fa-f]+N?")
_NUMBER: Final = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d+)?M?", re.ASCII)
_RATIO: Final = re.compile(r"[+-]?\d+/\d+", re.ASCII)
#: Names never begin like this.  A malformed number must not become a text, which would differ from the number it means.
_LIKE_A_NUMBER: Final = re.compile(r"[+-]?\.?\d")
#: A map of names, numbers, plain strings and vectors is read in one step.  Nearly all maps of a history are like this.
_FLAT_MAP: Final = re.compile(r"""[\s,]*+\{((?>[^{}()"#;\\]+|"[^"\\]*")*+)\}""")
_FLAT_ITEM: Final = re.compile(r"""[^\s,\[\]"]+|"[^"]*"|\[[^\[\]"]*\]""")
_ESCAPE: Final = re.compile(r"((?:\\u[0-9A-Fa-f]{4})+)|\\(.)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\"}
_SYMBOLIC: Final = {"##NaN": math.nan, "##Inf": math.inf, "##-Inf": -math.inf}
_DEEPEST: Final = 100
_LONGEST_NUMBER: Final = 400


@dataclass(frozen=True, slots=True)
class Form:
    """One form, and the position in characters at which it starts in the text."""

    value: Any
    place: int


class EdnReader:
    """Reads EDN forms one after another.  Raises FormatError that names the line."""

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source, self.place = text, source, 0
        #: Where the items of the outermost collection start.
        self.places: list[int] = []
        self._depth = 0

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
        """Return the next form; None at the end of the text or at the bracket ``closing``."""
        if (flat := self._flat()) is not None:
            return flat
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
        if kind in ("open", "tag"):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise self.wrong(start, f"expected a history, found forms in forms more than {_DEEPEST} deep")
            value = self._collection(text, start) if kind == "open" else self._needed(start)
            self._depth -= 1
            return value
        if kind == "string":
            try:
                return _ESCAPE.sub(_unescaped, text[1:-1])
            except KeyError as error:
                raise self.wrong(start, f"expected an escape of EDN, found \\{error.args[0]}") from None
        if kind == "symbolic" and text not in _SYMBOLIC:
            raise self.wrong(start, f"expected one of {', '.join(_SYMBOLIC)}; found {text!r}")
        return _SYMBOLIC[text] if kind == "symbolic" else self._atom(text, start)

    def _atom(self, text: str, start: int) -> Any:
        if len(text) > _LONGEST_NUMBER and _NUMBER.fullmatch(text.rstrip("N")):
            raise self.wrong(start, f"expected a number of at most {_LONGEST_NUMBER} digits, found {len(text)}")
        try:
            return _atom(text)
        except ValueError:
            raise self.wrong(start, f"expected a number, found {text[:40]!r}") from None

    def _collection(self, opening: str, start: int) -> Any:
        items, places = [], []
        while (form := self._form(_CLOSING[opening])) is not None:
            items.append(form.value)
            places.append(form.place)
        if self._depth == 1:
            self.places = places
        if opening == "{":
            return self._map(items, start)
        return sorted(items, key=repr) if opening == "#{" else items

    def _flat(self) -> Form | None:
        """Return the next form if it is a map without escapes, tags, comments and nested maps; None otherwise."""
        match = _FLAT_MAP.match(self.text, self.place)
        if match is None or len(body := match[1]) > _LONGEST_NUMBER:
            return None
        try:
            items = list(map(_flat_item, _FLAT_ITEM.findall(body)))
        except ValueError:
            return None
        brackets = body.count("[") + body.count("]")
        if brackets and brackets != 2 * sum(type(item) is list for item in items):
            return None
        self.place = match.end()
        place = match.start(1) - 1
        return Form(self._map(items, place), place)

    def _map(self, items: list[Any], start: int) -> dict[Any, Any]:
        if len(items) % 2:
            raise self.wrong(start, "a map has a key without a value")
        keys = [key if type(key) is str else name_of_key(key) for key in items[::2]]
        mapped = dict(zip(keys, items[1::2], strict=True))
        if len(mapped) < len(keys):
            twice = next(key for place, key in enumerate(keys) if key in keys[:place])
            raise self.wrong(start, f"the field :{twice} is given twice")
        return mapped


def _unescaped(match: re.Match[str]) -> str:
    """Decode one match of ``_ESCAPE``.  Raises KeyError for an unknown escape."""
    if match[1] is None:
        return _ESCAPES[match[2]]
    units = b"".join(bytes.fromhex(unit) for unit in match[1].split("\\u")[1:])
    return units.decode("utf-16-be", "surrogatepass")  # a character may take two units


def _flat_item(text: str) -> Any:
    if text[0] == "[":
        return [_atom(word) for word in text[1:-1].replace(",", " ").split()]
    return text[1:-1] if text[0] == '"' else _atom(text)


def name_of_key(key: Any) -> Any:
    """Return a map's key unchanged, or as text if it is a list or a map."""
    return repr(key) if isinstance(key, (list, dict)) else key


@lru_cache(maxsize=1 << 16)
def _atom(text: str) -> Any:
    """Return the value of a word.  Raises ValueError if it begins like a number but is not one."""
    if text in _ATOMS:
        return _ATOMS[text]
    if _INTEGER.fullmatch(text):
        return int(text.rstrip("N"))
    if _NUMBER.fullmatch(text):
        return float(text.rstrip("M"))
    if _HEXADECIMAL.fullmatch(text):
        return int(text.rstrip("N"), 16)
    if _LIKE_A_NUMBER.match(text) and not _RATIO.fullmatch(text):
        raise ValueError(text)
    return text.lstrip(":")


def parse_edn(text: str, source: str) -> Records:
    """Parse a ``history.edn``, which is one list or vector of maps, or maps one after another.  Raises FormatError."""
    reader = EdnReader(text, source)
    forms = list(reader.forms())
    if len(forms) == 1 and isinstance(forms[0].value, list):
        forms = [Form(value, place) for value, place in zip(forms[0].value, reader.places, strict=True)]
    if not forms:
        raise FormatError(source, "line 1", "expected a history, found nothing")
    for form in forms:
        if not isinstance(form.value, dict):
            raise reader.wrong(form.place, f"expected a map, found {str(form.value)[:40]!r}")
    return Records([(form.place, form.value) for form in forms], reader.wrong)
