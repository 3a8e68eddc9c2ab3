"""Put values of other types and odd contents into every place of a JSON document."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

#: What stands in place of a value: every type of JSON, and texts that are legal and odd.
ODD: list[Any] = [
    None, True, -1, 1e308, 10**40, "", "\ud800", "\x1b[2J", "../../etc/passwd", "x" * 5000, [], [None], {}, {"": None},
    [[[]]], {"a": {"b": []}},
]  # fmt: skip


def mutations(whole: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the document without each field, and with other values in it, taken in turn so that each gets several."""
    turn = 0
    for name in whole:
        without = copy.deepcopy(whole)
        del without[name]
        yield f"without {name}", without
        for _ in range(3):
            changed = copy.deepcopy(whole)
            changed[name] = ODD[turn % len(ODD)]
            yield f"{name}={str(ODD[turn % len(ODD)])[:12]!r}", changed
            turn += 1
    for odd in ODD:
        yield f"all {str(odd)[:12]!r}", odd
    yield "more", {**whole, "\ud800": "\ud800", "new": {"deep": [1]}}


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the places in a JSON value, from the outside in."""
    yield place
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in inside:
        yield from places(inner, (*place, name))


def changed_at(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    if not place:
        return odd
    changed = copy.copy(value)
    changed[place[0]] = changed_at(value[place[0]], place[1:], odd)
    return changed
