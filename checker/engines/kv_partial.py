"""Model of strings of which only some operations are known, to verify counterexamples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from checker.core.calls import Call
from checker.core.model import ILLEGAL, Model, State
from checker.engines.kv_pieces import START, Pieces


class PartOfKv(Model):
    """Key-value store of which only some operations are known.

    The unknown operations may have put or appended their pieces at any moment, each as often as the history
    contains it.  So every part of a linearizable history is a linearizable history of this object.  If a piece was
    appended or put more than once, its appends are treated as unknown, because it is not clear which one made which
    string.

    The state is the string (None if it may have pieces that no get shows), and how often the unknown operations
    made each piece.
    """

    name = "part of strings"
    initial: State = (START, frozenset())
    reads = frozenset({"get"})

    def __init__(self, part: Iterable[Call], pieces: Pieces) -> None:
        part = list(part)
        self._pieces = pieces
        self._mine = Counter(call.value for call in part if call.f == "put" or self._is_clear(call.value))
        self._before: dict[str, tuple[str, ...]] = {}
        for call in part:
            if call.f == "get":
                parts = pieces.split(call.result or START) or []
                for place, piece in enumerate(parts):
                    self._before.setdefault(piece, tuple(parts[:place]))

    def _is_clear(self, piece: str | None) -> bool:
        return piece is not None and self._pieces.makers(piece) == 1

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        if f == "get":
            parts = self._pieces.split(result or START)
            return ILLEGAL if parts is None else self._grown(state, parts)
        if f == "append" and not self._is_clear(value):
            return state
        string, made = state
        if f == "append" and value in self._before:
            grown = self._grown(state, self._before[value])
            if grown is ILLEGAL:
                return ILLEGAL
            string, made = grown
            return string + value, made
        return (value if f == "put" else None), made

    def about(self, f: str, value: Any, result: Any) -> frozenset[Any]:  # noqa: ARG002
        return frozenset() if f == "get" else frozenset({value})

    def _grown(self, state: State, parts: Sequence[str]) -> State:
        """Return the state in which unknown operations have made the string consist of these pieces."""
        string, made = state
        whole = START.join(parts)
        if string is not None and whole.startswith(string):
            # Strings split in only one way, so these are the pieces after the present ones.
            parts = self._pieces.split(whole, len(string)) or []
            begins = not string
        else:
            begins = True
            if not parts or parts[0] not in self._pieces.puts:
                return ILLEGAL
        first = parts[:1] if begins else []
        if any(piece not in self._pieces.appends for piece in parts[len(first) :]):
            return ILLEGAL
        made = _with(made, parts)
        if any(count + self._mine[piece] > self._pieces.makers(piece) for piece, count in made if piece in parts):
            return ILLEGAL
        return whole, made


def _with(made: frozenset[tuple[str, int]], pieces: Iterable[str]) -> frozenset[tuple[str, int]]:
    counts = Counter(dict(made))
    counts.update(pieces)
    return frozenset(counts.items())
