"""A small search over the few operations of a counterexample: which one cannot be placed, and where the others can.

This explains a verdict, it never makes one.  Brute force over orders, so only up to :data:`LIMIT` operations; registers
and compare-and-set registers.  Wing and Gong's rule: an operation may come next if no other one that is still to come
returned before it was invoked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from history import Operation

LIMIT: Final = 9
KNOWN: Final = frozenset({"read", "write", "cas"})
IMPOSSIBLE: Final = object()


@dataclass(frozen=True, slots=True)
class Point:
    """An operation took effect at ``time`` (ns) and left the register at ``state``."""

    operation: Operation
    time: float
    state: Any


@dataclass(frozen=True, slots=True)
class Explanation:
    """``initial`` is the state before the first point; ``culprit`` cannot be placed among the others.

    ``suspects`` are the culprit and every other read without which the rest fits as well: the few operations do not
    tell which of them is wrong.  None of them has a point.  ``legal`` holds the results that a read
    culprit could have had instead.
    """

    initial: Any
    points: tuple[Point, ...]
    culprit: Operation | None
    legal: tuple[Any, ...]
    suspects: tuple[Operation, ...] = ()


def explain(operations: Sequence[Operation]) -> Explanation | None:
    """Leave one operation out so that the rest fits; the latest read first.  None: too many, or no one operation."""
    real = [operation for operation in operations if operation.outcome != "fail"]
    if len(real) > LIMIT or any(operation.f not in KNOWN for operation in real):
        return None
    if whole := _linearize(real):
        return Explanation(whole[0], place_points(whole[1]), None, ())
    for culprit in sorted(real, key=lambda operation: (operation.f == "read", operation.invoked), reverse=True):
        rest = [operation for operation in real if operation is not culprit]
        if found := _linearize(rest):
            return _accused(culprit, real, Explanation(found[0], place_points(found[1]), culprit, (), (culprit,)))
    return None


def _accused(culprit: Operation, real: Sequence[Operation], alone: Explanation) -> Explanation:
    """The explanation with every read that is as suspicious as the culprit."""
    rest = [operation for operation in real if operation is not culprit]
    others = [o for o in rest if culprit.f == o.f == "read" and _linearize([p for p in real if p is not o])]
    fitting = _linearize([operation for operation in rest if operation not in others]) if others else None
    if fitting is None:
        return replace(alone, legal=_legal_results(culprit, rest))
    suspects = sorted([*others, culprit], key=lambda operation: operation.invoked)
    return Explanation(fitting[0], place_points(fitting[1]), culprit, (), tuple(suspects))


def _linearize(operations: Sequence[Operation]) -> tuple[Any, list[tuple[Operation, Any]]] | None:
    """An initial state and an order with the state after each step; the register starts absent if it can."""
    for initial in [None, *_foreign_values(operations)]:
        order: list[tuple[Operation, Any]] = []
        if _search(list(operations), initial, order):
            return initial, order
    return None


def _search(left: list[Operation], state: Any, order: list[tuple[Operation, Any]]) -> bool:
    if not left:
        return True
    horizon = min(_returned(operation) for operation in left)
    for operation in left:
        if operation.invoked >= horizon and _returned(operation) != horizon:
            continue
        following = step(operation, state)
        if following is IMPOSSIBLE:
            continue
        order.append((operation, following))
        if _search([other for other in left if other is not operation], following, order):
            return True
        order.pop()
    return all(operation.outcome == "info" for operation in left)


def step(operation: Operation, state: Any) -> Any:
    """The register's state after an operation, or :data:`IMPOSSIBLE`."""
    if operation.f == "write":
        return operation.value
    if operation.f == "read":
        return state if operation.outcome != "ok" or operation.result == state else IMPOSSIBLE
    old, new = operation.value
    if operation.refused:
        return state if operation.seen == state and old != state else IMPOSSIBLE
    return new if old == state else IMPOSSIBLE


def _returned(operation: Operation) -> float:
    return math.inf if operation.outcome != "ok" or operation.returned is None else operation.returned


def _foreign_values(operations: Sequence[Operation]) -> list[Any]:
    """Values that somebody saw and nobody here wrote: the register may have held one of them before."""
    written = [
        operation.value if operation.f == "write" else operation.value[1]
        for operation in operations
        if operation.f in ("write", "cas") and not operation.refused
    ]
    seen = [
        operation.seen if operation.refused else operation.result if operation.f == "read" else operation.value[0]
        for operation in operations
        if operation.f in ("read", "cas")
    ]
    return [
        value
        for place, value in enumerate(seen)
        if value is not None and value not in written and value not in seen[:place]
    ]


def _legal_results(culprit: Operation, rest: Sequence[Operation]) -> tuple[Any, ...]:
    if culprit.f != "read":
        return ()
    values: list[Any] = [None]
    for operation in rest:
        value = operation.result if operation.f == "read" else operation.value if operation.f == "write" else None
        if value not in values:
            values.append(value)
    return tuple(value for value in values if value != culprit.result and _linearize([*rest, _with(culprit, value)]))


def _with(operation: Operation, result: Any) -> Operation:
    fields = operation.to_json()
    return Operation.from_json({**fields, "result": result})


def place_points(order: Sequence[tuple[Operation, Any]]) -> tuple[Point, ...]:
    """Moments in the given order, each inside its operation and in the middle of the room that the later ones leave."""
    points: list[Point] = []
    now = -math.inf
    last = max((operation.returned or operation.invoked for operation, _ in order), default=0)
    for place, (operation, state) in enumerate(order):
        low = max(now, operation.invoked)
        high = min([_returned(other) for other, _ in order[place:]] + [last])
        room = sum(1 for other, _ in order[place:] if other.invoked < high)
        now = low + max(high - low, 0) / (room + 1)
        points.append(Point(operation, now, state))
    return tuple(points)
