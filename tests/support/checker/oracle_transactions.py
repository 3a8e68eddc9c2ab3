"""Isolation levels by definition, for a handful of transactions: every order and every choice of what is in doubt.

The serializable levels try serial orders, snapshot isolation tries orders of commits with earlier snapshots, and the
others try all version orders.  The initial contents are the initial state of the first two; in a version order, they
were written by a transaction that precedes all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, pairwise, permutations, product
from typing import Any

from history import Operation
from history.records.operations import BEFORE

Txn = Any


State = dict[Any, Any]


def levels_that_hold(operations: Sequence[Operation], holds: str, start: State | None = None) -> dict[str, bool]:
    """Return for each level whether some execution explains the answers; ``start`` has the initial tuples or values."""
    start = start or {}
    found = dict.fromkeys(LEVELS, False)
    sure = [o for o in operations if o.outcome == "ok"]
    doubtful = [o for o in operations if o.outcome == "info"]
    for chosen in chain.from_iterable(combinations(doubtful, size) for size in range(len(doubtful) + 1)):
        committed = [*sure, *chosen]
        for name, decide in LEVELS.items():
            if not found[name]:
                found[name] = decide(committed, operations, holds, start)
    return found


def _before(one: Operation, other: Operation, order: str) -> bool:
    """Return whether one must come before the other, by the order of sessions or by real time."""
    if one.outcome != "ok" or order == "":
        return False
    if one.process == other.process:
        return one.invoke_index < other.invoke_index
    return order == "real time" and one.return_index is not None and one.return_index < other.invoke_index


def _steps(o: Operation) -> list[list[Any]]:
    return o.result if o.outcome == "ok" else o.value


def _run(o: Operation, state: dict[Any, Any], holds: str) -> dict[Any, Any] | None:
    """Return the state after a transaction that sees ``state``; None if its answers contradict that."""
    state = dict(state)
    for f, key, value in _steps(o):
        if f != "r":
            state[key] = (*state.get(key, ()), value) if holds == "list-append" else value
        elif o.outcome == "ok":
            seen = state.get(key)
            if (tuple(value or ()) if holds == "list-append" else value) != (
                (seen or ()) if holds == "list-append" else seen
            ):
                return None
    return state


# -- serial orders ----------------------------------------------------------------------------------------------------


def _serial(committed: list[Operation], holds: str, order: str, start: State) -> bool:
    def search(left: list[Operation], state: dict[Any, Any]) -> bool:
        for o in left:
            if any(_before(other, o, order) for other in left if other is not o):
                continue
            after = _run(o, state, holds)
            if after is not None and search([other for other in left if other is not o], after):
                return True
        return not left

    return search(committed, start)


# -- snapshots --------------------------------------------------------------------------------------------------------


def _snapshot(committed: list[Operation], holds: str, order: str, start: State) -> bool:
    """Return whether some order of commits explains all answers.

    Each transaction reads an earlier snapshot, and the first committer wins.
    """

    def search(left: list[Operation], states: list[dict[Any, Any]], done: list[Operation]) -> bool:
        for o in left:
            if any(_before(other, o, order) for other in left if other is not o):
                continue
            keys = {key for f, key, _ in _steps(o) if f != "r"}
            for begin in range(len(states)):
                if any(_before(other, o, order) for other in done[begin:]):
                    continue
                if any(key in keys for other in done[begin:] for f, key, _ in _steps(other) if f != "r"):
                    continue
                after = _run(o, states[begin], holds)
                if after is None:
                    continue
                state = {**states[-1], **{key: after[key] for key in keys}}
                if search([other for other in left if other is not o], [*states, state], [*done, o]):
                    return True
        return not left

    return search(committed, [start], [])


# -- version orders ---------------------------------------------------------------------------------------------------


def _loaded(committed: list[Operation]) -> bool:
    """Return whether the first of them is what was there at the start."""
    return bool(committed) and committed[0].process == BEFORE


def _version_orders(committed: list[Operation]) -> Iterator[dict[Any, tuple[int, ...]]]:
    """Yield each key's committed writers (by their places), in every order that begins with the start."""
    writers: dict[Any, list[int]] = {}
    for place, o in enumerate(committed):
        for f, key, _ in _steps(o):
            if f != "r" and place not in writers.setdefault(key, []):
                writers[key].append(place)
    keys = list(writers)
    for orders in product(*(permutations(writers[key]) for key in keys)):
        if not _loaded(committed) or all(order[0] == 0 for order in orders if 0 in order):
            yield dict(zip(keys, orders, strict=True))


def _by_versions(
    committed: list[Operation], everything: Sequence[Operation], holds: str, level: str, start: State
) -> bool:
    if start:
        lists = holds == "list-append"
        steps = [["w", key, value] for key, held in start.items() for value in (held if lists else [held])]
        first = Operation(BEFORE, "txn", None, steps, steps, "ok", -2, -2, -2, -1)
        committed, everything = [first, *committed], [first, *everything]
    return any(_fits(committed, everything, holds, level, orders) for orders in _version_orders(committed))


def _fits(
    committed: list[Operation], everything: Sequence[Operation], holds: str, level: str, orders: dict[Any, Any]
) -> bool:
    edges: dict[str, set[tuple[int, int]]] = {"ww": set(), "wr": set(), "rw": set()}
    for order in orders.values():
        edges["ww"] |= set(pairwise(order))
    if level == "read-uncommitted":
        return _reads_something(committed, everything, holds, orders) and _acyclic(edges["ww"])
    if _loaded(committed):
        edges["wr"] |= {(0, place) for place in range(1, len(committed))}
    for place, o in enumerate(committed):
        if o.outcome == "ok" and not _add_reads(place, committed, holds, orders, edges):
            return False
    if not _acyclic(edges["ww"] | edges["wr"]):
        return False
    if level == "repeatable-read":
        return _acyclic(edges["ww"] | edges["wr"] | edges["rw"])
    reach = _closure(edges["ww"] | edges["wr"], len(committed))
    return level == "read-committed" or not any((w, u) in reach for u, w in edges["rw"])


def _add_reads(
    place: int, committed: list[Operation], holds: str, orders: dict[Any, Any], edges: dict[str, set[tuple[int, int]]]
) -> bool:
    """Find the version that each read saw; False if there is none."""
    own: dict[Any, list[Any]] = {}
    for f, key, value in _steps(committed[place]):
        if f != "r":
            own.setdefault(key, []).append(value)
            continue
        order = orders.get(key, ())
        blocks = [[v for g, k, v in _steps(committed[writer]) if g != "r" and k == key] for writer in order]
        seen = _version(value, own.get(key, []), blocks, holds)
        if seen == "own":
            continue
        if seen is None or place in order[:seen]:
            return False
        if seen:
            edges["wr"].add((order[seen - 1], place))
        later = [writer for writer in order[seen : seen + 1] if writer != place]
        edges["rw"] |= {(place, writer) for writer in later}
    return True


def _version(value: Any, own: list[Any], blocks: list[list[Any]], holds: str) -> Any:
    """Return the number of blocks that a read saw; ``own``: only what the transaction wrote itself."""
    if holds == "list-append":
        for seen in range(len(blocks) + 1):
            if list(value or ()) == [*chain(*blocks[:seen]), *own]:
                return seen
        return None
    if own:
        return "own" if value == own[-1] else None
    lasts = [None, *(block[-1] for block in blocks)]
    return lasts.index(value) if value in lasts else None


def _reads_something(
    committed: list[Operation], everything: Sequence[Operation], holds: str, orders: dict[Any, Any]
) -> bool:
    """Return whether all reads are allowed at read uncommitted, where a read may show anything that was written.

    A list has what was appended before: its committed elements are the first ones of the order, each once.
    """
    written = {(key, value) for o in everything for f, key, value in _steps(o) if f != "r"}
    lists = {
        key: [value for writer in order for f, k, value in _steps(committed[writer]) if f != "r" and k == key]
        for key, order in orders.items()
    }
    for o in committed:
        for f, key, value in _steps(o) if o.outcome == "ok" else ():
            if f != "r" or value is None:
                continue
            items = value if holds == "list-append" else [value]
            if len(set(items)) < len(items) or any((key, item) not in written for item in items):
                return False
            # What a transaction appended itself may stand in a buffer, at the end.
            mine = {v for g, k, v in _steps(o) if g != "r" and k == key}
            while items and items[-1] in mine:
                items = items[:-1]
            known = [item for item in items if item in lists.get(key, ())]
            if holds == "list-append" and known != lists.get(key, [])[: len(known)]:
                return False
    return True


def _closure(edges: set[tuple[int, int]], size: int) -> set[tuple[int, int]]:
    reach = {edge for edge in edges if edge[0] != edge[1]}
    for middle in range(size):
        reach |= {(a, d) for a, b in reach if b == middle for c, d in reach if c == middle}
    return reach


def _acyclic(edges: set[tuple[int, int]]) -> bool:
    size = max((node for edge in edges for node in edge), default=-1) + 1
    return not any(a == b for a, b in _closure(edges, size))


LEVELS = {
    "read-uncommitted": lambda c, e, h, s: _by_versions(c, e, h, "read-uncommitted", s),
    "read-committed": lambda c, e, h, s: _by_versions(c, e, h, "read-committed", s),
    "consistent-view": lambda c, e, h, s: _by_versions(c, e, h, "consistent-view", s),
    "repeatable-read": lambda c, e, h, s: _by_versions(c, e, h, "repeatable-read", s),
    "snapshot-isolation": lambda c, _, h, s: _snapshot(c, h, "", s),
    "strong-session-snapshot-isolation": lambda c, _, h, s: _snapshot(c, h, "session", s),
    "strong-snapshot-isolation": lambda c, _, h, s: _snapshot(c, h, "real time", s),
    "serializable": lambda c, _, h, s: _serial(c, h, "", s),
    "strong-session-serializable": lambda c, _, h, s: _serial(c, h, "session", s),
    "strict-serializable": lambda c, _, h, s: _serial(c, h, "real time", s),
}
