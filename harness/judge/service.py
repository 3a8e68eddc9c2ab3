"""Decide whether clients are served: which requests must succeed, and when each of them did.

Availability is judged for each kind of operation, because a server that answers reads but refuses every write has not
come back.  Three conditions are added to the workload's kinds.  Some change of any kind must succeed, because if
nothing can be created, no add is ever requested without success.  If nothing else shows that a node takes part, its own
clients decide, separately for reads and for changes.  And each register must be served, because one of many may be
lost.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from harness.systems.api import Workload
from harness.workloads.transactions import called
from history import Operation
from history.records.operations import is_refusal, was_served
from history.records.recovery import CHANGES, Service, Want

#: "reads" or "changes", and the register from which or on which.
KeyWant: TypeAlias = tuple[str, str | int]
#: The name of an operation (see :func:`called`), and the node that answered it or was asked.
Call: TypeAlias = tuple[str, str | None]

#: The workloads whose objects last as long as a run, and whose operations may go to any key.
LASTING: Final = ("register", "cas-register")
READS: Final = "reads"
#: The first words of ok answers to operations on a lock that changed nothing.
_UNCHANGED: Final[Mapping[str, tuple[str, ...]]] = {"acquire": ("held",), "release": ("held", "free")}


def was_granted(f: str, outcome: str, error: str | None, answer: Any) -> bool:
    """Return whether an operation with this outcome did what was asked; a refused one changed nothing."""
    if not was_served(outcome, error) or (f == "cas" and is_refusal(answer)):
        return False
    return not (f in _UNCHANGED and isinstance(answer, list | tuple) and answer[:1] and answer[0] in _UNCHANGED[f])


def wants_of(workload: Workload, calls: Iterable[Call], nodes: Collection[str] = ()) -> list[Want]:
    """Return every request that clients must be served, kinds of operations first.

    The clients of each of ``nodes``, which may include homes that are not nodes, want reads and changes, if ``calls``
    (those of the whole run) have any.
    """
    calls = set(calls)
    ever = {(_side(workload, f), node) for f, node in calls if node in nodes}
    kinds: list[Want] = [(kind, None) for kind in workload.kinds]
    some_change: list[Want] = [(CHANGES, None)] if any(f not in workload.reads for f, _ in calls) else []
    return [*kinds, *some_change, *sorted(ever, key=lambda want: (want[1] or "", want[0] != READS))]


def met_by(workload: Workload, call: Call) -> tuple[Want, ...]:
    """Return the kinds of requests that an operation fulfils."""
    f, node = call
    side = _side(workload, f)
    return ((f, None), (side, None), (side, node))


def on_key(workload: Workload, f: str, value: Any, key: str | int | None) -> KeyWant | None:
    """Return whether an operation on a register reads or changes, and its key; None for any other operation."""
    return (_side(workload, called(f, value)), key) if key is not None and workload.name in LASTING else None


def _side(workload: Workload, f: str) -> str:
    return READS if f in workload.reads else CHANGES


def services_since(
    moment: int, operations: Sequence[Operation], workload: Workload, pause: int = 0
) -> dict[Want, Service]:
    """Return how each kind of request fared among the operations invoked since a moment (ns).

    Wants that nobody asked for are left out.  Clients that ask again within ``pause`` (ns) of an answer count as asking
    all the time; a longer gap does not count.
    """
    asked: dict[Want, list[tuple[int, int]]] = {}
    granted: dict[Want, int] = {}
    end = max((op.ended for op in operations), default=moment)
    for op in operations:
        if op.invoked < moment:
            continue
        until = end if op.returned is None else op.returned
        for want in met_by(workload, (called(op.f, op.value), op.node)):
            asked.setdefault(want, []).append((op.invoked, until))
            if was_granted(op.f, op.outcome, op.error, op.result):
                granted[want] = min(granted.get(want, until), until)
    return {
        want: Service(_covered(spans, granted.get(want, end), pause), granted.get(want))
        for want, spans in asked.items()
    }


def _covered(spans: Iterable[tuple[int, int]], until: int, pause: int) -> int:
    """Return the time (ns) that spans cover up to a moment, including gaps that are no longer than a pause."""
    total, reached = 0, -math.inf
    for begin, end in sorted(spans):
        if begin > until:
            break
        stop = min(end, until)
        total += max(0, stop - (int(reached) if begin - reached <= pause else begin))
        reached = max(reached, stop)
    return total
