"""The pieces that texts are made of, what was put and what was appended, if every text falls into them in one way."""

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
    """Which calls put or appended which text; no text is the beginning of another."""

    puts: dict[str, Call]
    appends: dict[str, list[Call]]
    lengths: tuple[int, ...]

    def at(self, text: str, start: int) -> str | None:
        """The piece that begins there, if one does."""
        for length in self.lengths:
            piece = text[start : start + length]
            # The same object that was written, and no copy of it.
            if piece in self.appends:
                return self.appends[piece][0].value  # type: ignore[no-any-return]
            if piece in self.puts:
                return self.puts[piece].value  # type: ignore[no-any-return]
        return None

    def split(self, text: str, start: int = 0) -> list[str] | None:
        """All pieces from there on; None if the text is not made of pieces."""
        pieces = []
        while start < len(text):
            piece = self.at(text, start)
            if piece is None:
                return None
            pieces.append(piece)
            start += len(piece)
        return pieces

    def makers(self, piece: str) -> int:
        """How many operations may have made such a piece."""
        return len(self.appends.get(piece, ())) + (piece in self.puts)


def pieces_of(calls: Iterable[Call]) -> Pieces | None:
    """The pieces of a history of texts, or None if a text may have come about in several ways."""
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
    texts = sorted(puts.keys() | appends.keys())
    if any(longer.startswith(shorter) for shorter, longer in pairwise(texts)):
        return None
    # No text begins with another, so only one length can fit; the commonest is tried first.
    return Pieces(puts, appends, tuple(length for length, _ in Counter(map(len, texts)).most_common()))
