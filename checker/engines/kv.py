"""Decide strings with put, append and get, where each get shows how its string came about.

If no string that was put or appended is empty or a prefix of another one, every string that a get can return splits
into such pieces in only one way.  If also no string was put twice, every string exists at most once, and the answers
show which append found which string.  The object is then a cas register whose values are the strings, each identified
by its length in pieces and by the piece it began with:

* a put writes; an append that some get shows is a CAS of the string before it to the longer one; a get reads;
* an append that no get shows is equivalent to a put of something that is never read.  (In any order of the history no
  get stands between it and the next put, because that get would show it; so writing anything else there is equivalent.
  Conversely, no get comes between an unread write and the next write.  That write is a put or another such append,
  because an append that is shown comes right after the string that it found.)

The chains decide that register in O(n log n): from columns, or from calls if an order is requested.  If the same string
was appended more than once, the engine has to find out which append made which value.  Most choices are too early or
too late; the rest are all tried if they are few.

Gets that cannot agree on the pieces contradict each other in any order. They are found here, and the chains never see
them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, product
from math import prod
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from checker.core.calls import Call
from checker.core.engine import Engine
from checker.core.intervals import IntArray
from checker.core.model import CasRegister
from checker.core.result import EngineResult, Limits
from checker.engines.cas_chains import chain_zones, decide_by_chains
from checker.engines.kv_pieces import START, Pieces, pieces_of
from checker.engines.zones import crossing
from checker.models.objects import KeyValue
from history.codes import NEVER

ENGINE: Final = "kv chains"
#: The value of the initial string.  In a chain, the value of each string is one more than that of the one before.
INITIAL: Final = 0
_NOT_MADE: Final = -2
#: The value that each append made, by the append's source.
Assignment: TypeAlias = dict[int, int]
_MAX_ASSIGNMENTS: Final = 64


class AmbiguousError(Exception):
    """Raised when the gets do not show how the strings came about, so that this engine cannot decide."""


@dataclass(slots=True)
class ReadValue:
    """String that gets returned: the first get to return it, and the bounds of all gets that returned it.

    ``size`` is its number of pieces; ``chain`` is None until it is known.
    """

    first: Call
    last_return: int
    first_invocation: int
    last_invocation: int
    chain: StringChain | None = None
    size: int = 0

    @property
    def value(self) -> int | None:
        """Register value of this string; None if it belongs to no chain."""
        return None if self.chain is None else self.chain.base + self.size - 1


@dataclass(slots=True)
class StringChain:
    """Longest string that grew from one put, or from the empty string at the start (``root`` is None).

    ``shown`` are the strings that gets returned, by their length.  The string that ends with a given piece has the
    value ``base`` + the number of that piece.
    """

    root: Call | None
    string: str = START
    pieces: list[str] = field(default_factory=list)
    shown: list[ReadValue] = field(default_factory=list)
    base: int = -1

    def piece_at(self, place: int) -> tuple[int, Call]:
        """Return where the piece at this place of the string begins, and the first get that showed it."""
        begins = list(accumulate(map(len, self.pieces[:-1]), initial=0))
        number = bisect_right(begins, place) - 1
        return begins[number], self.by(number)

    def by(self, number: int) -> Call:
        """Return the first get that showed the piece with this number."""
        return next(read.first for read in self.shown if read.size > number)

    def bounds(self) -> Iterator[tuple[int, int]]:
        """Yield for each piece the last rank at which it was still missing, and the first by which it was there."""
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
                bound = min(bound, self.shown[place].first.ret)
                place -= 1
            high.append(bound)
        return zip(low, reversed(high), strict=True)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Calls that disagree about the pieces of a string; those with the same ``about`` are one violation."""

    kind: str
    about: str
    core: tuple[Call, ...]


@dataclass(slots=True)
class Reading:
    """History as the gets show it: chains of appends, and conflicts."""

    pieces: Pieces
    gets: dict[str, ReadValue] = field(default_factory=dict)
    chains: dict[str, StringChain] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    gone: int = NEVER
    conflicts: dict[str, Conflict] = field(default_factory=dict)

    def take(self, string: str, read: ReadValue) -> None:
        """Add a string that is at least as long as all strings added before."""
        piece = self.pieces.at(string, 0)
        if piece is None:
            self._conflict("never-written", string, read.first)
            return
        root = self._root(piece, read)
        name = START if root is None else piece
        chain = self.chains.get(name) or StringChain(root)
        if not string.startswith(chain.string):
            pairs = enumerate(zip(string, chain.string, strict=False))
            fork, witness = chain.piece_at(next(place for place, (letter, other) in pairs if letter != other))
            about = string[:fork] + (self.pieces.at(string, fork) or START)
            self._conflict("log-overwrite", about, witness, read.first)
            return
        more = self.pieces.split(string, len(chain.string))
        if more is None:
            self._conflict("never-written", string, read.first)
        elif self._may_follow(chain, more, read.first):
            self.chains[name] = chain
            chain.pieces += more
            chain.string = string
            for each in more:
                self.used[each] = self.used.get(each, 0) + 1
            chain.shown.append(read)
            read.chain, read.size = chain, len(chain.pieces)

    def _root(self, piece: str, read: ReadValue) -> Call | None:
        """Return the put that a string began with, or None if it began with the empty string at the start.

        The empty string is gone for good once the first put has returned.  Raises AmbiguousError if both are
        possible.
        """
        put, last = self.pieces.puts.get(piece), read.last_return
        if put is None:
            return None
        begun = any(append.invoke < last for append in self.pieces.appends.get(piece, ()))
        if not begun or read.first_invocation > self.gone:
            return put
        if put.invoke > last:
            return None
        raise AmbiguousError

    def _may_follow(self, chain: StringChain, more: Sequence[str], get: Call) -> bool:
        """Return whether these pieces may extend that chain; if not, record a conflict."""
        for number, piece in enumerate(more):
            at_start = not (chain.pieces or number)
            if at_start and chain.root is not None:
                continue
            if piece not in self.pieces.appends:
                return self._conflict("log-overwrite", piece, self.pieces.puts[piece], get)
            if self.used.get(piece, 0) + more[: number + 1].count(piece) > self.pieces.makers(piece):
                others = [other for chain in self.chains.values() for other in self._showing(chain, piece)]
                return self._conflict("duplicate", piece, *others, get)
        return True

    @staticmethod
    def _showing(chain: StringChain, piece: str) -> list[Call]:
        return [chain.by(number) for number, other in enumerate(chain.pieces) if other == piece]

    def _conflict(self, kind: str, about: str, *core: Call) -> bool:
        ordered = sorted({call.source: call for call in core}.values(), key=lambda call: call.invoke)
        self.conflicts.setdefault(about, Conflict(kind, about, tuple(ordered)))
        return False

    def number(self) -> None:
        """Give every string of the chains its value; the initial empty string is ``INITIAL``."""
        base = INITIAL + 1
        for chain in sorted(self.chains.values(), key=lambda chain: chain.root is not None):
            chain.base = base
            base += len(chain.pieces)

    def witness(self, value: int) -> Call:
        """Return the first get that showed this string."""
        chain = next(chain for chain in self.chains.values() if 0 <= value - chain.base < len(chain.pieces))
        return chain.by(value - chain.base)

    def assignments(self) -> list[Assignment]:
        """List all assignments of appends to values that the bounds of each append allow.

        Raises AmbiguousError if there are too many.
        """
        certain: Assignment = {}
        doubtful: list[tuple[int, list[Call]]] = []
        for chain in self.chains.values():
            bounds: list[tuple[int, int]] = []
            for number, piece in enumerate(chain.pieces):
                if number == 0 and chain.root is not None:
                    continue
                appends = self.pieces.appends[piece]
                if len(appends) == 1:
                    certain[appends[0].source] = chain.base + number
                    continue
                bounds = bounds or list(chain.bounds())
                low, high = bounds[number]
                fitting = [append for append in appends if append.invoke < high and append.ret > low]
                doubtful.append((chain.base + number, fitting or appends[:1]))
        return _assigned(certain, doubtful)


def _assigned(certain: Assignment, doubtful: list[tuple[int, list[Call]]]) -> list[Assignment]:
    """List all assignments, after settling the values that have one choice.  Raises AmbiguousError."""
    before = None
    while before != len(doubtful):
        before = len(doubtful)
        for place, appends in [pair for pair in doubtful if len(pair[1]) == 1]:
            certain.setdefault(appends[0].source, place)
        doubtful = [
            (place, [append for append in appends if append.source not in certain] or appends[:1])
            for place, appends in doubtful
            if len(appends) > 1
        ]
    if prod(len(appends) for _, appends in doubtful) > _MAX_ASSIGNMENTS:
        raise AmbiguousError
    assignments = []
    for choice in product(*(appends for _, appends in doubtful)):
        if len({append.source for append in choice}) == len(choice):
            chosen = {append.source: place for append, (place, _) in zip(choice, doubtful, strict=True)}
            assignments.append({**certain, **chosen})
    return assignments or [certain]


def register_calls(calls: Iterable[Call], reading: Reading, assignment: Assignment) -> list[Call]:
    """Convert the history to that of the register of strings, without gets that contradict others."""
    converted = []
    value: int | tuple[int, int] | None
    for call in calls:
        f, value, result = "read", None, None
        if call.f == "get":
            result = reading.gets[call.result].value if call.result else INITIAL
            if result is None:
                continue
        elif call.f == "put":
            chain = reading.chains.get(call.value)
            # A string that is never read has a value of its own.
            f, value = "write", -1 - call.source if chain is None else chain.base
        elif (made := assignment.get(call.source)) is not None:
            f, value = "cas", (made - 1, made)
        else:
            f, value = "write", -1 - call.source
        converted.append(Call(f, value, result, call.invoke, call.ret, call.source))
    return converted


def read_values(calls: Sequence[Call], pieces: Pieces, limits: Limits) -> tuple[Reading, list[Assignment]]:
    """Return what the gets show, and the possible assignments of the appends.  Raises AmbiguousError."""
    reading = Reading(pieces, gone=min((put.ret for put in pieces.puts.values()), default=NEVER))
    gets = reading.gets
    for call in limits.paced(sorted(calls, key=attrgetter("ret")), ENGINE):
        if call.f != "get":
            continue
        string, invoke = call.result or START, call.invoke
        read = gets.get(string)
        if read is None:
            gets[string] = ReadValue(call, call.ret, invoke, invoke)
            continue
        read.last_return = call.ret
        if invoke < read.first_invocation:
            read.first_invocation = invoke
        elif invoke > read.last_invocation:
            read.last_invocation = invoke
    for string in sorted(gets, key=len):
        if string:
            reading.take(string, gets[string])
    # No more strings are added.
    reading.used.clear()
    reading.number()
    return reading, reading.assignments()


def decide_by_kv_chains(calls: Sequence[Call], limits: Limits, *, proof: bool = True) -> EngineResult | None:
    """Decide whether one object of strings is linearizable.

    Returns None if the gets do not show how the strings came about.
    """
    pieces = pieces_of(calls)
    if pieces is None:
        return None
    try:
        reading, assignments = read_values(calls, pieces, limits)
    except AmbiguousError:
        return None
    if reading.conflicts:
        return EngineResult("invalid", ENGINE, violations=len(reading.conflicts))
    if not proof and len(assignments) == 1:
        ends = ends_of(reading, assignments[0])
        # These take most of the memory; together with the zones they would set the peak.
        del pieces, reading, assignments
        return EngineResult("valid", ENGINE) if chains_fit(ends) else EngineResult("invalid", ENGINE, violations=1)
    assignment = next((candidate for candidate in assignments if chains_fit(ends_of(reading, candidate))), None)
    if assignment is None:
        return EngineResult("invalid", ENGINE, violations=1)
    if not proof:
        return EngineResult("valid", ENGINE)
    result = decide_by_chains(register_calls(calls, reading, assignment), CasRegister(INITIAL), limits)
    whole = {call.source: call for call in calls}
    return replace(result, engine=ENGINE, order=[whole[call.source] for call in result.order or ()])


class Ends(NamedTuple):
    """Ranks between which values became current and stopped being current, as far as they are known.

    For each value: the invocation and return of the call that made it, and the first return and the last invocation
    of its gets.  ``starts`` are the values that chains start with.  ``unread`` has the returns and the invocations
    of the calls whose values were never read, one row each.
    """

    starts: IntArray
    begun: IntArray
    ended: IntArray
    first: IntArray
    last: IntArray
    unread: IntArray


def ends_of(reading: Reading, assignment: Assignment) -> Ends | None:
    """Find the ends of all values under one assignment; None if a value has no maker.

    Pending calls whose values were never read are skipped.
    """
    chains = sorted(reading.chains.values(), key=lambda chain: chain.base)
    values = 1 + sum(len(chain.pieces) for chain in chains)
    begun, ended, first, last = (array("q", [rank]) * values for rank in (_NOT_MADE, -1, NEVER, -1))
    begun[INITIAL] = -1
    unread = [put for string, put in reading.pieces.puts.items() if string not in reading.chains and not put.pending]
    for chain in chains:
        if chain.root is not None:
            begun[chain.base], ended[chain.base] = chain.root.invoke, chain.root.ret
    for appends in reading.pieces.appends.values():
        for append in appends:
            made = assignment.get(append.source)
            if made is not None:
                begun[made], ended[made] = append.invoke, append.ret
            elif not append.pending:
                unread.append(append)
    for read in reading.gets.values():
        value = read.value or INITIAL
        first[value], last[value] = read.first.ret, read.last_invocation
    if _NOT_MADE in begun:
        return None
    # The initial value starts a chain even if nothing was appended to it.
    starts = np.array([INITIAL, *(chain.base for chain in chains if chain.root is not None)], np.int64)
    alone = np.array([(call.ret, call.invoke) for call in unread], np.int64).reshape(-1, 2).T
    return Ends(starts, _ranks(begun), _ranks(ended), _ranks(first), _ranks(last), alone)


def _ranks(column: array[int]) -> IntArray:
    return np.frombuffer(column, np.int64)


def chains_fit(ends: Ends | None) -> bool:
    """Return whether the register of strings is linearizable, decided from columns as ``cas_chains`` does.

    A value that was never read is a chain of its own.
    """
    if ends is None or (zones := chain_zones(*ends[:-1])) is None:
        return False
    outer, _ = crossing(*(np.concatenate(pair) for pair in zip(zones, ends.unread, strict=True)))
    return not outer.size


KV: Final = Engine(
    "kv", ENGINE, "strings with put, append and get, if the gets show how each string was built", "O(n log n)",
    lambda model, _calls: type(model) is KeyValue,
    lambda calls, _model, limits, proof: decide_by_kv_chains(calls, limits, proof=proof),
)  # fmt: skip
