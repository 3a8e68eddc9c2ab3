"""Read JSON objects, the form of all our JSON files, lines and messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from history.safe_open import read_below

#: Deepest nesting of lists and objects that all of our code can handle.  The parsers of some Pythons allow far more.
MOST_LEVELS: Final = 500


def load_object(text: str | bytes, load: Callable[[str | bytes], Any] = json.loads) -> dict[str, Any]:
    """Parse a JSON object. Raises ValueError that says what the text is instead."""
    try:
        parsed = load(text)
    except RecursionError:
        raise ValueError("expected a JSON object, found one that is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"expected a JSON object: {error}") from None
    if nests_deeper(text, parsed, MOST_LEVELS):
        raise ValueError("expected a JSON object, found one that is nested too deeply")
    if not isinstance(parsed, dict):
        raise ValueError(f"expected a JSON object, found {type(parsed).__name__}")
    return parsed


def nests_deeper(text: str | bytes, value: Any, levels: int) -> bool:
    """Return whether ``value``, parsed from ``text``, nests more than ``levels`` lists and objects.

    Counting brackets in the text settles most cases without a walk through the value.
    """
    brackets = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    return brackets > levels and is_deeper(value, levels)


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether a JSON value nests more than ``levels`` lists and objects."""
    inside = [value]
    for _ in range(levels + 1):
        nested = [member for member in inside if isinstance(member, (dict, list))]
        if not nested:
            return False
        inside = [inner for outer in nested for inner in (outer.values() if isinstance(outer, dict) else outer)]
    return True


def read_object(path: Path, *, lenient: bool = False) -> dict[str, Any]:
    """Read the JSON object in a regular file that is no link; empty if there is no file. Raises OSError and ValueError.

    With ``lenient``, bytes that are not UTF-8 are replaced instead of raising.
    """
    try:
        content = read_below(path.parent, path)
    except FileNotFoundError:
        return {}
    return load_object(content.decode("utf-8-sig", "replace") if lenient else content)
