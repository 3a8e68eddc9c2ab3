"""The node that answered an operation: its role at the time, the leader, and its side of a cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from history import Operation
from history.records.time_format import digits_of, seconds_text
from reports.analysis import node_timeline
from reports.analysis.counterexample import label_of
from reports.analysis.faults import FaultWindow, sides_of
from reports.analysis.node_timeline import NodeTimeline
from reports.style.wording import Wording, by_values


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to an operation.

    ``role``, ``leader``, ``term`` and ``side`` are those at that moment; ``side`` is empty if there was no clean
    cut.
    """

    label: str
    process: int
    node: str | None
    seconds: str
    role: str | None
    leader: str | None
    term: int
    phase: str
    side: str


def response_of(
    operation: Operation,
    beside: Sequence[Operation],
    timelines: Sequence[NodeTimeline],
    windows: Sequence[FaultWindow],
    nodes: Sequence[str],
    members: Sequence[str],
    wording: Wording = by_values,
) -> Response:
    """Describe the answer to an operation; times get enough digits to tell the operations ``beside`` it apart."""
    moment = operation.invoked if operation.returned is None else operation.returned
    seconds = moment / 1e9
    return Response(
        label=label_of(operation, wording=wording),
        process=operation.process,
        node=operation.node,
        seconds=seconds_text(moment, digits_of(beside)),
        role=node_timeline.role_at(timelines, operation.node, seconds),
        leader=node_timeline.leader_at(timelines, seconds),
        term=node_timeline.term_at(timelines, seconds),
        phase=operation.phase or "",
        side=side_of(operation.node, seconds, windows, nodes, members),
    )


def missed_write(operations: Sequence[Operation], culprit: Operation | None) -> Operation | None:
    """Return the last change acknowledged before ``culprit`` began, if its answer does not reflect that change."""
    if culprit is None or (culprit.f != "read" and not culprit.refused):
        return None
    saw = culprit.seen if culprit.refused else culprit.result
    before = [
        o
        for o in operations
        if o.f in ("write", "cas")
        and o.outcome == "ok"
        and not o.refused
        and o.returned is not None
        and o.returned <= culprit.invoked
    ]
    newest = max(before, key=lambda o: o.returned or 0, default=None)
    return newest if newest is not None and _written(newest) != saw else None


def _written(operation: Operation) -> object:
    swap = operation.f == "cas" and isinstance(operation.value, list | tuple) and len(operation.value) == 2
    return operation.value[1] if swap else operation.value


def side_of(
    node: str | None, seconds: float, windows: Sequence[FaultWindow], nodes: Sequence[str], members: Sequence[str]
) -> str:
    """Return ``on the side of the minority in #0: n2 n4 | n1 n3 n5``; empty if there was no clean cut at that moment.

    A majority is a majority of the members, no matter where the other nodes are.
    """
    for window in windows:
        if node is None or not window.stands(seconds, seconds):
            continue
        sides = sides_of(window.grudge, nodes, window.leader)
        mine = next((side for side in sides if node in side), None)
        if mine is not None:
            counted = sum(peer in members for peer in mine)
            place = "majority" if counted > len(members) // 2 else "minority"
            return f"on the side of the {place} in #{window.id}: {' | '.join(' '.join(side) for side in sides)}"
    return ""
