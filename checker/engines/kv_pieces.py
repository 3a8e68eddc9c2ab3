"""Pieces that strings are made of: the strings put or appended, if every string splits into them in one way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from checker.core.calls import Call

START: Final = ""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Calls by the string that they put or appended; no such string is a prefix of another."""

    puts: dict[str, Call]
    appends: dict[str, list[Call]]
    lengths: tuple[int, ...]

    def at(self, string: str, start: int) -> str | None:
        """Return the piece that begins at ``start``, or None if no piece does."""
        for length in self.lengths:
            piece = string[start : start + length]
            # Return the object that was written instead of a copy, to save memory.
            if piece in self.appends:
                return self.appends[piece][0].value  # type: ignore[no-any-return]
            if piece in self.puts:
                return self.puts[piece].value  # type: ignore[no-any-return]
        return None

    def split(self, string: str, start: int = 0) -> list[str] | None:
        """Return all pieces from ``start`` to the end; None if that does not split into pieces."""
        pieces = []
        while start < len(string):
            piece = self.at(string, start)
            if piece is None:
                return None
            pieces.append(piece)
            start += len(piece)
        return pieces

    def makers(self, piece: str) -> int:
        """Return how many operations may have made this piece."""
        return len(self.appends.get(piece, ())) + (piece in self.puts)


def pieces_of(calls: Iterable[Call]) -> Pieces | None:
    """Return the pieces of a history of strings, or None if a string may have come about in several ways."""
    puts: dict[str, Call] = {}
    appends: dict[str, list[Call]] = {}
    for call in calls:
        if call.f in ("put", "append") and not call.value:
            return None
        if call.f == "append":
            if call.value in appends:
                appends[call.value].append(call)
            else:
                appends[call.value] = [call]
        elif call.f == "put" and puts.setdefault(call.value, call) is not call:
            return None
    strings = sorted(puts.keys() | appends.keys())
    if any(longer.startswith(shorter) for shorter, longer in pairwise(strings)):
        return None
    # No string begins with another, so only one length can fit; the most common one is tried first.
    return Pieces(puts, appends, tuple(length for length, _ in Counter(map(len, strings)).most_common()))
