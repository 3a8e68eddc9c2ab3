"""Formatting of numbers, moments and untrusted text, shared by the page, the summary and JUnit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from history.records.indexes import index_text

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NOT_XML: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_DATE: Final = re.compile(r"^(?:\W{0,2}\d{4}-\d\d-\d\d[ T][\d:.,]+\s?(?:Z|[+-]\d\d:?\d\d)?\s*)|^Caused by: ")
#: Limit of a headline, in words.
HEADLINE: Final = 25
#: Ends of sentences and clauses, including those before a bracket and before a time such as ", 3.0 s".
_CLAUSE: Final = re.compile(r"[.:;](?= )| (?=\()|,(?= \d+\.\d s)")
#: Characters at which a headline may end, best last.
_RANK: Final = ", :;."
_PAIRS: Final = (("“", "”"), ("(", ")"), ("[", "]"))
#: Longest string on a page, in characters.
LONGEST: Final = 240
#: Limit of a value in a label, in characters.
SHORT: Final = 24


def printable(text: object) -> str:
    """Replace control characters, direction marks and surrogates, so that text cannot control a terminal."""
    return _CONTROL.sub("\ufffd", str(text).replace("\u2028", " ").replace("\u2029", " "))


def one_line(text: object, limit: int = 200) -> str:
    """Put text on one line, without control characters, and cut it to ``limit`` characters."""
    return short(" ".join(printable(text).split()), limit)


def sentence(text: object, limit: int = 200) -> str:
    """Format text as :func:`one_line` does, and add a full stop unless it has one or was cut."""
    line = one_line(text, limit)
    return line if line.endswith((".", "…")) else f"{line}."


def lead(text: str, words: int = HEADLINE) -> tuple[str, str]:
    """Split text of more than ``words`` words into a headline and the remaining details.

    The headline ends at the end of a sentence or clause, outside quotes and brackets, and must be more than a short
    title.  If there is no such place, its last words are cut, and the details begin with all of the text.
    """
    if len(text.split()) <= words:
        return text, ""
    ends = [match.start() for match in _CLAUSE.finditer(text)]
    fitting = [
        end
        for end in ends
        if words // 3 <= len(text[:end].split()) <= words
        and all(text.count(a, 0, end) == text.count(b, 0, end) for a, b in _PAIRS)
    ]
    if not fitting:
        return " ".join(text.split()[:words]) + "…", text
    end = max(fitting, key=lambda place: (_RANK.index(text[place]), place))
    return text[:end] + ".", capitalized(text[end:].lstrip(_RANK))


def capitalized(text: str) -> str:
    """Begin text with a capital letter, unless it begins with a node's name."""
    named = any(map(str.isdigit, text.partition(" ")[0]))
    return text if named else text[:1].upper() + text[1:]


def short(text: str, limit: int = LONGEST) -> str:
    """Cut text to ``limit`` characters, at the end of a word if one ends in the last fifth."""
    if len(text) <= limit:
        return text
    end = text.rfind(" ", limit - 1 - limit // 5, limit - 1)
    return (text[:end] + " …") if end > 0 else text[: limit - 1] + "…"


def text_of(value: Any, most: int = SHORT) -> str:
    """Format a value: ``absent`` for null, named fields for an object, otherwise JSON.

    A list that is too long keeps its first and last items, because errors in an answer are often at its end.
    """
    if isinstance(value, Mapping):
        return short(", ".join(f"{name} {text_of(item, most)}" for name, item in value.items()), max(most, 40))
    if value is None:
        return "absent"
    text = json.dumps(value, ensure_ascii=False)
    return (_ends(value, most) if isinstance(value, list) and len(text) > most else "") or short(text, most)


def _ends(items: Sequence[Any], most: int) -> str:
    """Format as many of a list's first and last items as fit; empty if fewer than two do."""
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
    """Remove the date from the start of a log line."""
    return _DATE.sub("", line)


def compact(value: Any, limit: int = 160) -> str:
    """Format a JSON value in one short line, without the outermost braces."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str)
    return one_line(text[1:-1] if text[:1] == "{" else text, limit)


def leaves(record: Mapping[str, Any], between: str = ".", before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (name, value) for the values in a record and its nested records; nested names are joined."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from leaves(value, between, f"{before}{name}{between}")
        else:
            yield f"{before}{name}", value


def xml_text(text: object) -> str:
    """Replace characters that XML 1.0 does not allow; the XML writer escapes the rest."""
    return _NOT_XML.sub("\ufffd", str(text))


def number(value: Any, digits: int = 1) -> str:
    """Format a number with commas between thousands; a dash for None, NaN and infinity."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return one_line(value)
    return f"{value:,.{digits}f}" if isinstance(value, float) else f"{value:,}"


def index(value: int, epoch_bits: int = 0) -> str:
    """Format the index of an entry: a number, or one with an epoch in hexadecimal, as its system writes it."""
    return index_text(value, epoch_bits) if epoch_bits else number(value)


def seconds(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def milliseconds(value: float | None) -> str:
    """Format milliseconds without decimals; less than one is shown as such."""
    if value is None:
        return "–"
    return "< 1" if 0 < value < 1 else number(round(value))
