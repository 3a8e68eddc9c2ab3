"""Texts that are put, appended to and got: what a get answers tells how its text came about.

If no text that was put or appended is empty or the beginning of another one, every text that a get can answer falls
into such pieces in one way only.  If moreover nothing was put twice, every text is there at most once, the answers tell
which append found which text, and the object is a cas register whose values are the texts, each named by its length in
pieces and by what it began with:

* a put writes; an append that some get shows swaps the text before it for the longer one; a get reads;
* an append that no get shows is as good as a put of something that nobody reads.  (In an order of the history no get
  stands between it and the next put, for it would show it; so writing anything else there is as good.  The other way:
  where an unread write stands, no get follows before the next write, which is a put or another such append, for an
  append that is shown comes right after the text that it found.)

The chains decide that register in O(n log n).  Where the same text was appended more than once, it has to be found out
who did which: most are too early or too late, and of what is left all ways are tried, if they are few.

Gets that cannot agree on the pieces contradict each other whatever the order; they are told apart here, and left out of
what the chains see.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise, product
from math import prod
from operator import attrgetter
from typing import Any, Final

from checker.answer import Answer, Limits
from checker.calls import NEVER, Call
from checker.chains import decide_by_chains
from checker.models import CasRegister

ENGINE: Final = "text chains"
START: Final = ""
_WAYS: Final = 64


class UnclearError(Exception):
    """The gets do not tell how the texts came about: this engine cannot decide."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Who put and who appended which text; no text is the beginning of another."""

    puts: dict[str, Call]
    appends: dict[str, list[Call]]
    lengths: tuple[int, ...]

    def at(self, text: str, start: int) -> str | None:
        """The piece that begins there, if one does."""
        for length in self.lengths:
            piece = text[start : start + length]
            if piece in self.appends or piece in self.puts:
                return piece
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
            appends.setdefault(call.value, []).append(call)
        elif call.f == "put" and puts.setdefault(call.value, call) is not call:
            return None
    texts = sorted(puts.keys() | appends.keys())
    if any(longer.startswith(shorter) for shorter, longer in pairwise(texts)):
        return None
    return Pieces(puts, appends, tuple(sorted({len(text) for text in texts})))


@dataclass(frozen=True, slots=True)
class Shown:
    """One text that was got: of how many pieces it is, and the bounds of the gets that answered it."""

    size: int
    first_return: int
    last_invocation: int


@dataclass(slots=True)
class Chain:
    """The longest text that one put (or the empty text at the start: ``root`` is None) grew to.

    ``shown`` are the texts that were got, by their length; ``by`` has for each piece the first of them with it.
    """

    root: Call | None
    text: str = START
    pieces: list[str] = field(default_factory=list)
    by: list[Call] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)

    def piece_at(self, place: int) -> tuple[int, Call]:
        """Where the piece begins that stands at this place of the text, and the get that showed it first."""
        begins = list(accumulate(map(len, self.pieces[:-1]), initial=0))
        number = bisect_right(begins, place) - 1
        return begins[number], self.by[number]

    def bounds(self) -> Iterator[tuple[int, int]]:
        """For each piece: after which rank it was not yet there, and by which it was."""
        reach, place = (self.root.invoke if self.root else -1), 0
        low, high = [], []
        for number in range(len(self.pieces)):
            while place < len(self.shown) and self.shown[place].size <= number:
                reach = max(reach, self.shown[place].last_invocation)
                place += 1
            low.append(reach)
        bound, place = NEVER, len(self.shown) - 1
        for number in reversed(range(len(self.pieces))):
            while place >= 0 and self.shown[place].size > number:
                bound = min(bound, self.shown[place].first_return)
                place -= 1
            high.append(bound)
        return zip(low, reversed(high), strict=True)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Calls that cannot agree on what the text is made of; those with the same ``about`` are one violation."""

    kind: str
    about: str
    core: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an append stands: the piece of this number in that chain."""

    chain: Chain
    number: int

    @property
    def witness(self) -> Call:
        return self.chain.by[self.number]

    @property
    def before(self) -> Any:
        """The name of the text that the append found."""
        root = self.chain.root.value if self.chain.root else START
        return (root, self.number) if self.number else START

    @property
    def after(self) -> Any:
        return (self.chain.root.value if self.chain.root else START, self.number + 1)


@dataclass(slots=True)
class Reading:
    """What the gets say: the chains, the names of the texts, and the contradictions."""

    pieces: Pieces
    chains: dict[str, Chain] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=lambda: {START: START})
    used: Counter[str] = field(default_factory=Counter)
    gone: int = NEVER
    conflicts: dict[str, Conflict] = field(default_factory=dict)

    def take(self, text: str, gets: Sequence[Call]) -> None:
        """Learn from a text that is at least as long as all before it, and was answered by ``gets`` (by returns)."""
        piece = self.pieces.at(text, 0)
        if piece is None:
            self._conflict("never-written", text, gets[0])
            return
        root = self._root(piece, gets)
        chain = self.chains.setdefault(START if root is None else piece, Chain(root))
        if not text.startswith(chain.text):
            differ = next(place for place, pair in enumerate(zip(text, chain.text, strict=False)) if pair[0] != pair[1])
            fork, witness = chain.piece_at(differ)
            self._conflict("log-overwrite", text[:fork] + (self.pieces.at(text, fork) or START), witness, gets[0])
            return
        more = self.pieces.split(text, len(chain.text))
        if more is None:
            self._conflict("never-written", text, gets[0])
        elif self._may_follow(chain, more, gets[0]):
            chain.pieces += more
            chain.by += [gets[0]] * len(more)
            chain.text = text
            self.used.update(more)
            chain.shown.append(Shown(len(chain.pieces), gets[0].ret, max(get.invoke for get in gets)))
            self.names[text] = Place(chain, len(chain.pieces) - 1).after

    def _root(self, piece: str, gets: Sequence[Call]) -> Call | None:
        """The put that a text began with, or None if it began with the empty text at the start.

        That one is gone for good when the first put has returned.  Raises UnclearError if both may be.
        """
        put, last = self.pieces.puts.get(piece), gets[-1].ret
        begun = any(append.invoke < last for append in self.pieces.appends.get(piece, ()))
        if put is None or not begun or all(get.invoke > self.gone for get in gets):
            return put
        if put.invoke > last:
            return None
        raise UnclearError

    def _may_follow(self, chain: Chain, more: Sequence[str], get: Call) -> bool:
        """May these pieces stand at the end of that chain?"""
        for number, piece in enumerate(more):
            at_start = not (chain.pieces or number)
            if at_start and chain.root is not None:
                continue
            if piece not in self.pieces.appends:
                return self._conflict("log-overwrite", piece, self.pieces.puts[piece], get)
            if self.used[piece] + list(more[: number + 1]).count(piece) > self.pieces.makers(piece):
                others = [other for chain in self.chains.values() for other in self._showing(chain, piece)]
                return self._conflict("duplicate", piece, *others, get)
        return True

    @staticmethod
    def _showing(chain: Chain, piece: str) -> list[Call]:
        return [by for other, by in zip(chain.pieces, chain.by, strict=True) if other == piece]

    def _conflict(self, kind: str, about: str, *core: Call) -> bool:
        ordered = sorted({call.source: call for call in core}.values(), key=lambda call: call.invoke)
        self.conflicts.setdefault(about, Conflict(kind, about, tuple(ordered)))
        return False

    def ways(self) -> list[dict[int, Place]]:
        """By the source of an append, where it stands: all ways that are not impossible for a single one.

        Raises UnclearError if they are too many.
        """
        certain: dict[int, Place] = {}
        doubtful: list[tuple[Place, list[Call]]] = []
        for chain in self.chains.values():
            for number, (piece, (low, high)) in enumerate(zip(chain.pieces, chain.bounds(), strict=True)):
                place = Place(chain, number)
                appends = self.pieces.appends.get(piece, [])
                if number == 0 and chain.root is not None:
                    continue
                if len(appends) > 1:
                    fitting = [append for append in appends if append.invoke < high and append.ret > low]
                    doubtful.append((place, fitting or appends[:1]))
                else:
                    certain[appends[0].source] = place
        return _assigned(certain, doubtful)


def _assigned(certain: dict[int, Place], doubtful: list[tuple[Place, list[Call]]]) -> list[dict[int, Place]]:
    """First what has one way only, then all ways for the rest.  Raises UnclearError."""
    before = None
    while before != len(doubtful):
        before = len(doubtful)
        for place, appends in [one for one in doubtful if len(one[1]) == 1]:
            certain.setdefault(appends[0].source, place)
        doubtful = [
            (place, [append for append in appends if append.source not in certain] or appends[:1])
            for place, appends in doubtful
            if len(appends) > 1
        ]
    if prod(len(appends) for _, appends in doubtful) > _WAYS:
        raise UnclearError
    ways = []
    for choice in product(*(appends for _, appends in doubtful)):
        if len({append.source for append in choice}) == len(choice):
            chosen = {append.source: place for append, (place, _) in zip(choice, doubtful, strict=True)}
            ways.append({**certain, **chosen})
    return ways or [certain]


def swaps_of(calls: Iterable[Call], reading: Reading, way: dict[int, Place]) -> list[Call]:
    """The history of the register whose values are the texts; gets that contradict others are left out."""
    swaps = []
    for call in calls:
        f, value, result = "read", None, None
        if call.f == "get":
            result = reading.names.get(call.result or START)
            if result is None:
                continue
        elif call.f == "put":
            f, value = "write", (call.value, 1)
        elif place := way.get(call.source):
            f, value = "cas", (place.before, place.after)
        else:
            f, value = "write", (call.source, 0)
        swaps.append(Call(f, value, result, call.invoke, call.ret, call.source))
    return swaps


def read_texts(calls: Sequence[Call], pieces: Pieces, limits: Limits) -> tuple[Reading, list[dict[int, Place]]]:
    """What the gets say, and in which ways the appends may stand in it.  Raises UnclearError."""
    gets: dict[str, list[Call]] = {}
    for call in limits.paced(sorted(calls, key=attrgetter("ret")), ENGINE):
        if call.f == "get" and call.result:
            gets.setdefault(call.result, []).append(call)
    reading = Reading(pieces, gone=min((put.ret for put in pieces.puts.values()), default=NEVER))
    for text in sorted(gets, key=len):
        reading.take(text, gets[text])
    return reading, reading.ways()


def decide_by_texts(calls: Sequence[Call], limits: Limits, *, proof: bool = True) -> Answer | None:
    """Decide one object of texts, or None if what was got does not tell how the texts came about."""
    pieces = pieces_of(calls)
    if pieces is None:
        return None
    try:
        reading, ways = read_texts(calls, pieces, limits)
    except UnclearError:
        return None
    if reading.conflicts:
        return Answer("invalid", ENGINE, violations=len(reading.conflicts))
    for way in ways:
        answer = decide_by_chains(swaps_of(calls, reading, way), CasRegister(START), limits, proof=proof)
        if answer.verdict == "valid":
            break
    if answer.order is None:
        return replace(answer, engine=ENGINE)
    whole = {call.source: call for call in calls}
    return replace(answer, engine=ENGINE, order=[whole[swap.source] for swap in answer.order])
