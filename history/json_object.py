"""Read JSON objects, the one shape that our own files, lines and messages have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from history.safe_open import read_below

#: Levels of lists and objects that everything of ours can go through; the parsers of some Pythons allow far more.
MOST_LEVELS: Final = 500


def load_object(text: str | bytes, load: Callable[[str | bytes], Any] = json.loads) -> dict[str, Any]:
    """The JSON object in a text.  Raises ValueError that says what it is instead."""
    try:
        found = load(text)
    except RecursionError:
        raise ValueError("expected a JSON object, found one that is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"expected a JSON object: {error}") from None
    if nests_deeper(text, found, MOST_LEVELS):
        raise ValueError("expected a JSON object, found one that is nested too deeply")
    if not isinstance(found, dict):
        raise ValueError(f"expected a JSON object, found {type(found).__name__}")
    return found


def nests_deeper(text: str | bytes, value: Any, levels: int) -> bool:
    """Whether a text's JSON value is nested in more than so many levels; most texts have too few brackets for that."""
    brackets = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    return brackets > levels and is_deeper(value, levels)


def is_deeper(value: Any, levels: int) -> bool:
    """Whether lists and objects in a JSON value are nested in more than so many levels."""
    inside = [value]
    for _ in range(levels + 1):
        nested = [one for one in inside if isinstance(one, (dict, list))]
        if not nested:
            return False
        inside = [inner for one in nested for inner in (one.values() if isinstance(one, dict) else one)]
    return True


def read_object(path: Path, *, lenient: bool = False) -> dict[str, Any]:
    """The JSON object in a file, no link; an empty one if there is no such file.  Raises OSError and ValueError.

    ``lenient``: a byte that is not UTF-8 costs a character and not the file.
    """
    try:
        content = read_below(path.parent, path)
    except FileNotFoundError:
        return {}
    return load_object(content.decode("utf-8-sig", "replace") if lenient else content)
