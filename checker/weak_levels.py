"""Check registers at levels below linearizability; only bounded staleness involves real time.

``monotonic-reads``    There is an order of each key's values in which no session's reads go back.
``read-your-writes``   There is an order in which no session reads a value before the one that it wrote last.
``sequential``         All operations fit into one order that keeps the order of each session.
``bounded-staleness``  A read may return what was there at most a given time before it began.

A session is a process.  The first two, and ``sequential`` of a single key, are decided in linear time where each value
is written once: the values are nodes of a graph, an edge says that one was there before the other, and the level holds
if and only if there is no cycle.  For a sequential register that is enough, because the write and the reads of a value
are adjacent in any order of one register; the values in the graph's order are then an order of all. For several keys,
and where values repeat, a search over the sessions' positions decides ``sequential``, because sequential consistency is
NP-complete (Gibbons and Korach 1997).  Bounded staleness is linearizability of a history whose reads began earlier
(Golab, Li and Shah 2011: delta-atomicity).

An operation in doubt may have happened at any time after the earlier operations of its session, or never.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final

from checker.core.calls import freeze
from checker.core.model import ModelError, Register
from checker.core.options import CheckOptions
from checker.core.result import LATE, Limits
from checker.models.weak_register import MONOTONIC_READS, READ_YOUR_WRITES, SEQUENTIAL, WeakRegister
from history import Counterexample, KeyVerdict, Operation, Verdict
from history.records.verdicts import count_kinds

_GRAPH: Final = "value graph"
_SEARCH: Final = "session search"
#: These keep no order.
ENGINES: Final = (_GRAPH, _SEARCH)
#: The most states of the search, some 300 bytes each.
_MOST_STATES: Final = 1_000_000
_NEVER: Final = "never-written"
_START: Final = object()

Edges = dict[tuple[Any, Any], tuple[Operation, Operation] | None]


@dataclass(frozen=True, slots=True)
class _Found:
    """A decision; ``core`` is the contradiction, if there is one."""

    verdict: Verdict
    engine: str
    core: Counterexample | None = None
    reason: str | None = None


def check_weak(operations: Sequence[Operation], model: WeakRegister, options: CheckOptions) -> KeyVerdict:
    """Decide whether sessions satisfy the level.  For ``sequential`` the operations may be on several keys."""
    if options.engine is not None:
        raise ModelError(f"only one engine decides {model.name}; leave out the engine {options.engine}")
    limits = options.limits()
    judged = sorted(
        (op for op in operations if op.outcome == "ok" or (op.outcome == "info" and op.f == "write")),
        key=attrgetter("invoke_index"),
    )
    for op in operations:
        if op.f not in ("write", "read"):
            raise ModelError(f"a register has no operation {op.f!r}")
    result = _decide(judged, model, limits)
    examples = () if result.core is None else (result.core,)
    keys = {op.key for op in operations}
    key, seconds = next(iter(keys)) if len(keys) == 1 else None, limits.clock() - limits.started
    return KeyVerdict(
        key, result.verdict, result.engine, len(judged), seconds, len(examples), examples, result.reason,
        certificate=len(examples[0].operations) if examples else None,
        kinds=count_kinds([(core.kind, core.completed_at) for core in examples], len(examples)), more=bool(examples),
    )  # fmt: skip


def _decide(operations: Sequence[Operation], model: WeakRegister, limits: Limits) -> _Found:
    initial = freeze(model.initial)
    by_key: dict[Any, list[Operation]] = {}
    for operation in operations:
        by_key.setdefault(operation.key, []).append(operation)
    once = True
    for mine in by_key.values():
        if (stray := _never_written(mine, initial)) is not None:
            return _Found("invalid", _GRAPH, stray)
        written = [freeze(operation.value) for operation in mine if operation.f == "write"]
        if len(set(written)) < len(written) or initial in written:
            once = False
        elif (core := _cycle_in(mine, initial, model.level)) is not None:
            return _Found("invalid", _GRAPH, core)
    if once and (model.level != SEQUENTIAL or len(by_key) < 2):
        return _Found("valid", _GRAPH)
    if model.level != SEQUENTIAL:
        return _Found("unknown", _GRAPH, reason="a value was written twice, so it is unknown which write a read saw")
    return _search(operations, initial, limits)


def _never_written(operations: Sequence[Operation], initial: Any) -> Counterexample | None:
    written = {freeze(operation.value) for operation in operations if operation.f == "write"} | {initial}
    stray = next((read for read in operations if read.f == "read" and freeze(read.result) not in written), None)
    if stray is None:
        return None
    return Counterexample.of_promise(_NEVER, f"{_did(stray)}, which nobody wrote", (stray, "read what nobody wrote"))


# -- values as a graph -------------------------------------------------------------------------------------------------


def _cycle_in(operations: Sequence[Operation], initial: Any, level: str) -> Counterexample | None:
    """Return operations of one key that require contradictory orders of its values; each value is written once."""
    edges: Edges = {}
    for mine in _sessions(operations):
        for before, after in _PAIRS[level](mine):
            pair = (_node(before, initial), _node(after, initial))
            if pair[0] != pair[1]:
                edges.setdefault(pair, (before, after))
            elif before.f == "read" and after.f == "write" and level == SEQUENTIAL:
                return _contradiction(level, [(before, after)])
    for operation in operations:
        if (node := _node(operation, initial)) is not _START:
            edges.setdefault((_START, node), None)
    cycle = _shortest_cycle(edges)
    return None if cycle is None else _contradiction(level, [edges[pair] for pair in cycle])


def _node(operation: Operation, initial: Any) -> Any:
    value = freeze(operation.value if operation.f == "write" else operation.result)
    return _START if value == initial else value


def _sessions(operations: Iterable[Operation]) -> list[list[Operation]]:
    sessions: dict[int, list[Operation]] = {}
    for operation in operations:
        sessions.setdefault(operation.process, []).append(operation)
    return list(sessions.values())


def _successive(session: Sequence[Operation]) -> Iterator[tuple[Operation, Operation]]:
    """Pair each operation with the next one; nothing follows an operation in doubt, which may still be in progress."""
    last: Operation | None = None
    for operation in session:
        if last is not None:
            yield last, operation
        last = last if operation.outcome == "info" else operation


def _reads(session: Sequence[Operation]) -> Iterator[tuple[Operation, Operation]]:
    return _successive([operation for operation in session if operation.f == "read"])


def _own_writes(session: Sequence[Operation]) -> Iterator[tuple[Operation, Operation]]:
    """Pair each read with the last acknowledged write of its session before it."""
    last: Operation | None = None
    for operation in session:
        if operation.f == "write":
            last = operation if operation.outcome == "ok" else last
        elif last is not None:
            yield last, operation


_PAIRS: Final[Mapping[str, Callable[[Sequence[Operation]], Iterator[tuple[Operation, Operation]]]]] = {
    SEQUENTIAL: _successive, MONOTONIC_READS: _reads, READ_YOUR_WRITES: _own_writes,
}  # fmt: skip


def _shortest_cycle(edges: Edges) -> list[tuple[Any, Any]] | None:
    """Return the pairs along a short cycle; None if there is none."""
    following: dict[Any, list[Any]] = {}
    preceding: dict[Any, list[Any]] = {}
    for before, after in edges:
        following.setdefault(before, []).append(after)
        preceding.setdefault(after, []).append(before)
    missing = {node: len(preceding.get(node, ())) for node in {**following, **preceding}}
    free = [node for node, count in missing.items() if not count]
    while free:
        node = free.pop()
        del missing[node]
        for after in following.get(node, ()):
            missing[after] -= 1
            if not missing[after]:
                free.append(after)
    if not missing:
        return None
    # Each node that is left comes after another one that is: going back leads into a cycle.
    node, way = next(iter(missing)), dict[Any, None]()
    while node not in way:
        way[node] = None
        node = next(before for before in preceding[node] if before in missing)
    nodes = list(way)
    around = nodes[nodes.index(node) :]
    shortest = min((_way_back(start, following, missing) for start in around[:_TRIED]), key=len)
    return list(pairwise(shortest))


#: The most nodes of a cycle from which to search for a shorter one.
_TRIED: Final = 200


def _way_back(start: Any, following: Mapping[Any, Sequence[Any]], among: Mapping[Any, int]) -> list[Any]:
    """Return the shortest way from a node on a cycle back to it."""
    came: dict[Any, Any] = {}
    waiting = deque([start])
    while start not in came:
        node = waiting.popleft()
        for after in following.get(node, ()):
            if after in among and after not in came:
                came[after] = node
                waiting.append(after)
    way = [start, came[start]]
    while way[-1] != start:
        way.append(came[way[-1]])
    return way[::-1]


def _contradiction(level: str, pairs: Sequence[tuple[Operation, Operation] | None]) -> Counterexample:
    known = [pair for pair in pairs if pair is not None]
    clauses = [
        f"process {before.process} {_did(before, named=False)} and then {_did(after, named=False)}"
        for before, after in known
    ]
    if len(known) < len(pairs):
        clauses.append("at the start none of these had been written")
    words = [(operation, _what(operation)) for pair in known for operation in pair]
    return Counterexample.of_promise(level, f"{'; '.join(clauses)}: no order of the writes explains that", *words)


def _did(operation: Operation, *, named: bool = True) -> str:
    phrase = f"wrote {_shown(operation.value)}" if operation.f == "write" else f"read {_shown(operation.result)}"
    return f"process {operation.process} {phrase}" if named else phrase


def _what(operation: Operation) -> str:
    """Return the value that was written or read, and its key."""
    return _shown(operation.value if operation.f == "write" else operation.result) + _of(operation)


def _shown(value: Any) -> str:
    return "nothing" if value is None else str(value) or "an empty string"


# -- all orders --------------------------------------------------------------------------------------------------------


def _search(operations: Sequence[Operation], initial: Any, limits: Limits) -> _Found:
    """Look for one order of all operations; without one, reduce the history to what rules it out."""
    fits = _has_order(operations, initial, limits)
    if fits is None:
        reason = LATE if limits.over() else f"no order was found in {_MOST_STATES:,} states"
        return _Found("unknown", _SEARCH, reason=reason)
    if fits:
        return _Found("valid", _SEARCH)
    kept = list(operations)
    for op in operations:
        # Leaving out a read, or a write that nobody read, keeps every order.
        less = [other for other in kept if other is not op]
        read = any(o.f == "read" and o.key == op.key and freeze(o.result) == freeze(op.value) for o in less)
        if (op.f == "read" or not read) and _has_order(less, initial, limits, most=_MOST_STATES // 100) is False:
            kept = less
    text = "; ".join(
        f"process {mine[0].process} {', then '.join(_did(op, named=False) + _of(op) for op in mine)}"
        for mine in _sessions(kept)
    )
    words = [(op, _what(op)) for op in kept]
    return _Found(
        "invalid", _SEARCH, Counterexample.of_promise(SEQUENTIAL, f"{text}: no single order explains that", *words)
    )


def _of(operation: Operation) -> str:
    return "" if operation.key is None else f" in {operation.key}"


def _has_order(operations: Sequence[Operation], initial: Any, limits: Limits, most: int = _MOST_STATES) -> bool | None:
    """Return whether an order exists that keeps each session's order; None if the limits do not suffice.

    A state is the position in each session, the writes in doubt that were used, and the contents of each
    register.  A read that fits is taken at once, because it changes nothing.
    """
    sessions = [[operation for operation in mine if operation.outcome == "ok"] for mine in _sessions(operations)]
    number = {mine[0].process: place for place, mine in enumerate(sessions) if mine}
    doubtful = [(operation, _before(operation, operations)) for operation in operations if operation.outcome == "info"]
    ends = tuple(map(len, sessions))
    start = _forward((0,) * len(sessions), {}, sessions, initial)
    visited = {(start, frozenset[int](), frozenset[tuple[Any, Any]]())}
    stack = list(visited)
    while stack:
        places, used, held = stack.pop()
        if places == ends:
            return True
        if len(visited) > most or (not len(visited) % 1024 and limits.over()):
            return None
        writes: list[tuple[Operation, int | None, int | None]] = [
            (mine[place], number[mine[0].process], None)
            for mine, place in zip(sessions, places, strict=True)
            if place < len(mine) and mine[place].f == "write"
        ]
        writes += [
            (operation, None, which)
            for which, (operation, before) in enumerate(doubtful)
            if which not in used and (operation.process not in number or places[number[operation.process]] >= before)
        ]
        # The last one pushed is taken first, so this tries writes in the order of real time, in which most systems
        # apply them, and those in doubt last.
        for write, session, which in sorted(writes, key=_latest_first):
            after = {**dict(held), write.key: freeze(write.value)}
            moved = places if session is None else (*places[:session], places[session] + 1, *places[session + 1 :])
            state = (
                _forward(moved, after, sessions, initial), used if which is None else used | {which},
                frozenset(after.items()),
            )  # fmt: skip
            if state not in visited:
                visited.add(state)
                stack.append(state)
    return False


def _latest_first(write: tuple[Operation, int | None, int | None]) -> tuple[bool, int]:
    return write[1] is not None, -write[0].invoke_index


def _before(operation: Operation, operations: Iterable[Operation]) -> int:
    """Return how many acknowledged operations its session had before it."""
    mine = (other for other in operations if other.process == operation.process and other.outcome == "ok")
    return sum(other.invoke_index < operation.invoke_index for other in mine)


def _forward(
    places: tuple[int, ...], held: Mapping[Any, Any], sessions: Sequence[Sequence[Operation]], initial: Any
) -> tuple[int, ...]:
    """Take all reads that fit."""
    reached = list(places)
    for session, mine in enumerate(sessions):
        while reached[session] < len(mine):
            operation = mine[reached[session]]
            if operation.f != "read" or freeze(operation.result) != held.get(operation.key, initial):
                break
            reached[session] += 1
    return tuple(reached)


# -- staleness ---------------------------------------------------------------------------------------------------------


def begun_earlier(operations: Sequence[Operation], bound: int) -> list[Operation]:
    """Reorder the operations as if each read began ``bound`` ns earlier; their times stay the same.

    They are linearizable if and only if each read answered what was there at some time in its longer
    interval.  Raises ModelError for operations that have places but no times.
    """
    if all((op.invoked, op.returned) == (op.invoke_index, op.return_index) for op in operations):
        raise ModelError("the history has no times, and bounded staleness needs them")
    moments = sorted((op.invoke_index, op.invoked) for op in operations)
    moments += [(op.return_index, op.ended) for op in operations if op.return_index is not None]
    moments.sort()
    latest, times = 0, []
    for _, time in moments:
        latest = max(latest, time)
        times.append(latest)
    places: list[tuple[int, int, int, int]] = []
    for number, op in enumerate(operations):
        begin = (op.invoke_index, 1)
        if op.f == "read":
            # Before all events of that moment: an invocation comes first.
            place = bisect_left(times, op.invoked - bound)
            begin = min(begin, (moments[place][0], 0)) if place < len(moments) else begin
        places.append((*begin, number, 0))
        if op.return_index is not None:
            places.append((op.return_index, 1, number, 1))
    places.sort()
    begun: dict[int, int] = {}
    ended: dict[int, int] = {}
    for index, (_, _, number, is_end) in enumerate(places):
        (ended if is_end else begun)[number] = index
    return [
        replace(op, invoke_index=begun[number], return_index=ended.get(number)) for number, op in enumerate(operations)
    ]


def as_stale(
    verdict: KeyVerdict, model: WeakRegister, shifted: Sequence[Operation], recorded: Sequence[Operation]
) -> KeyVerdict:
    """Translate a verdict on operations with earlier reads back to the recorded operations."""
    original = {operation.invoke_index: other for operation, other in zip(shifted, recorded, strict=True)}
    examples = tuple(
        replace(
            example, operations=tuple(original[operation.invoke_index] for operation in example.operations),
            sentence=f"even if reads may be {model.bound / 1e9:g} s behind: {example.sentence}", linearization=None,
        )
        for example in verdict.counterexamples
    )  # fmt: skip
    return replace(verdict, counterexamples=examples)


def plain_register(model: WeakRegister) -> Register:
    """Return the register whose linearizability decides bounded staleness."""
    return Register(model.initial)
