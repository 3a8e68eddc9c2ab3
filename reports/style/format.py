"""Write numbers, moments and hostile text the same in the page, the summary and JUnit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from history.records.indexes import index_text

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NOT_XML: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_DATE: Final = re.compile(r"^(?:\W{0,2}\d{4}-\d\d-\d\d[ T][\d:.,]+\s?(?:Z|[+-]\d\d:?\d\d)?\s*)|^Caused by: ")
#: Limit of a headline, in words.
HEADLINE: Final = 25
#: Where a sentence or a clause ends: also before a bracket, and before a moment that is named in another way.
_CLAUSE: Final = re.compile(r"[.:;](?= )| (?=\()|,(?= \d+\.\d s)")
#: Of these the best place is last.
_RANK: Final = ", :;."
_PAIRS: Final = (("“", "”"), ("(", ")"), ("[", "]"))
#: Limit of a text on a page, in characters.
LONGEST: Final = 240
#: Limit of a value in a label, in characters.
SHORT: Final = 24


def printable(text: object) -> str:
    """Replace control characters, direction marks and surrogates: a terminal can print the text, and only prints it."""
    return _CONTROL.sub("\ufffd", str(text).replace("\u2028", " ").replace("\u2029", " "))


def one_line(text: object, limit: int = 200) -> str:
    """Write a text on one line without control characters, cut to ``limit`` characters."""
    return short(" ".join(printable(text).split()), limit)


def sentence(text: object, limit: int = 200) -> str:
    """Write a text as :func:`one_line` does, with a full stop where it has none and is not cut."""
    line = one_line(text, limit)
    return line if line.endswith((".", "…")) else f"{line}."


def lead(text: str, words: int = HEADLINE) -> tuple[str, str]:
    """Split a text that has too many words into a headline and the rest, which says more about it.

    The headline ends where a sentence or a clause does, outside quotes and brackets, and is no mere title; without
    such a place it is left whole.
    """
    ends = [] if len(text.split()) <= words else [one.start() for one in _CLAUSE.finditer(text)]
    fitting = [
        end
        for end in ends
        if words // 3 <= len(text[:end].split()) <= words
        and all(text.count(a, 0, end) == text.count(b, 0, end) for a, b in _PAIRS)
    ]
    if not fitting:
        return text, ""
    end = max(fitting, key=lambda place: (_RANK.index(text[place]), place))
    rest = text[end:].lstrip(_RANK)
    named = any(map(str.isdigit, rest.partition(" ")[0]))  # a node's name stays as it is
    return text[:end] + ".", rest if named else rest[:1].upper() + rest[1:]


def short(text: str, limit: int = LONGEST) -> str:
    """Cut a text to ``limit`` characters: at the end of a word where one ends in the last fifth of them."""
    if len(text) <= limit:
        return text
    end = text.rfind(" ", limit - 1 - limit // 5, limit - 1)
    return (text[:end] + " …") if end > 0 else text[: limit - 1] + "…"


def text_of(value: Any, most: int = SHORT) -> str:
    """Write a value: ``absent`` for null, the fields of an object by their names, JSON otherwise.

    A list that is too long keeps its first and its last items: what is wrong with an answer is often at its end.
    """
    if isinstance(value, Mapping):
        return short(", ".join(f"{name} {text_of(item, most)}" for name, item in value.items()), max(most, 40))
    if value is None:
        return "absent"
    text = json.dumps(value, ensure_ascii=False)
    return (_ends(value, most) if isinstance(value, list) and len(text) > most else "") or short(text, most)


def _ends(items: Sequence[Any], most: int) -> str:
    """Write the first and the last items of a list, in turn, as many as there is room for; empty for less than two."""
    parts: tuple[list[str], list[str]] = [], []
    room = most - len("[…]")
    for place in range(len(items)):
        at = place // 2
        text = json.dumps(items[-1 - at] if place % 2 else items[at], ensure_ascii=False)
        room -= len(text) + 2
        if room < 0:
            break
        parts[place % 2].append(text)
    return f"[{', '.join([*parts[0], '…', *reversed(parts[1])])}]" if parts[1] else ""


def undated(line: str) -> str:
    """Take the date from the front of a log line."""
    return _DATE.sub("", line)


def compact(value: Any, limit: int = 160) -> str:
    """Write a JSON value in one short line, without the outermost braces."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str)
    return one_line(text[1:-1] if text[:1] == "{" else text, limit)


def leaves(record: Mapping[str, Any], between: str = ".", before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of what is in a record and the records in it; their names are joined."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from leaves(value, between, f"{before}{name}{between}")
        else:
            yield f"{before}{name}", value


def xml_text(text: object) -> str:
    """Replace what an XML 1.0 document may not hold; the writer escapes the rest."""
    return _NOT_XML.sub("\ufffd", str(text))


def number(value: Any, digits: int = 1) -> str:
    """Write a number with a comma between thousands, a dash for None."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return one_line(value)
    return f"{value:,.{digits}f}" if isinstance(value, float) else f"{value:,}"


def index(value: int, epoch_bits: int = 0) -> str:
    """Write the index of an entry: a number, or one with an epoch in hexadecimal, as its system writes it."""
    return index_text(value, epoch_bits) if epoch_bits else number(value)


def seconds(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def milliseconds(value: float | None) -> str:
    """Write milliseconds without decimals, below one as such."""
    if value is None:
        return "–"
    return "< 1" if 0 < value < 1 else number(round(value))
