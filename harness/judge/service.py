"""Decide whether clients are served: which requests must succeed, and when each of them did.

Availability is judged for each kind of operation, because a server that answers reads but refuses every write has not
come back.  Three conditions are added to the workload's kinds.  Some change of any kind must succeed, because if
nothing can be created, no add is ever requested without success.  If nothing else shows that a node takes part, its own
clients decide, separately for reads and for changes.  And each object must be served, because one of many may be lost.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from harness.systems.api import Workload
from history.codes import NEVER
from history.columns.operations import NONE, Flags, Ints, Operations
from history.records.operations import called, is_refusal, was_served
from history.records.recovery import CHANGES, Service, Want

#: "reads" or "changes", and the object from which or on which.
KeyWant: TypeAlias = tuple[str, str | int]
#: The name of an operation (see :func:`called`), and the node that answered it or was asked.
Call: TypeAlias = tuple[str, str | None]

#: The workloads with many objects, any of which may be asked at any time.
MANY_OBJECTS: Final = ("register", "cas-register", "mixed-registers", "counter", "set", "lock")
#: Operations that make sense only on the object for which they were made: a token opens no other lock.
BOUND: Final = frozenset({"release"})
READS: Final = "reads"
#: The first words of ok answers to operations on a lock that changed nothing.
_UNCHANGED: Final[Mapping[str, tuple[str, ...]]] = {"acquire": ("held",), "release": ("held", "free")}


def was_granted(f: str, outcome: str, error: str | None, answer: Any) -> bool:
    """Return whether an operation with this outcome did what was requested; a refused one changed nothing."""
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
    """Return whether an operation on one of many objects reads or changes it, and its key; None for others."""
    if key is None or workload.name not in MANY_OBJECTS or f in BOUND:
        return None
    return _side(workload, called(f, value)), key


def codes_on_keys(workload: Workload, operations: Operations) -> Ints:
    """Return a code for what :func:`on_key` returns for each operation (see :func:`with_code`); -1 for None."""
    keys, reads = operations.key.codes, operations.called.among(workload.reads)
    if workload.name not in MANY_OBJECTS:
        return np.full(len(operations), NONE)
    free = (keys >= 0) & ~operations.f.among(BOUND)
    return np.where(free, reads * len(operations.keys) + keys, NONE)


def with_code(operations: Operations, code: int) -> KeyWant:
    side, key = divmod(code, len(operations.keys))
    return (CHANGES, READS)[side], operations.keys[key]


def _side(workload: Workload, f: str) -> str:
    return READS if f in workload.reads else CHANGES


def services_since(moment: int, operations: Operations, workload: Workload, pause: int = 0) -> dict[Want, Service]:
    """Return how each kind of request fared among the operations invoked since a given time (ns).

    Wants that no client requested are left out.  Clients that send the next request within ``pause`` (ns) of an answer
    count as requesting all the time; a longer gap does not count.
    """
    until = np.where(operations.returned == NONE, operations.end, operations.returned)
    rows = np.flatnonzero(operations.invoked >= moment)
    granted = _granted(operations)[rows]
    calls, of_call = calls_in(operations, rows)
    met = [met_by(workload, call) for call in calls]
    services = {}
    for want in dict.fromkeys(want for wants in met for want in wants):
        mine = np.array([want in wants for wants in met])[of_call]
        first = until[rows[mine & granted]].min(initial=NEVER)
        end = operations.end if first == NEVER else int(first)
        waited = _covered(operations.invoked[rows[mine]], until[rows[mine]], end, pause)
        services[want] = Service(waited, None if first == NEVER else end)
    return services


def calls_in(operations: Operations, rows: Ints | slice = slice(None)) -> tuple[list[Call], Ints]:
    """Return the different calls among some rows, and each row's place among them."""
    kinds, nodes = operations.called, operations.node
    width = len(nodes.names) + 1
    codes, of_call = np.unique(kinds.codes[rows] * width + nodes.codes[rows] + 1, return_inverse=True)
    names = (None, *nodes.names)
    return [(kinds.names[code // width], names[code % width]) for code in codes.tolist()], of_call


def _granted(operations: Operations) -> Flags:
    """Return a mask of the operations that did what was requested (see :func:`was_granted`)."""
    granted = operations.served & ~operations.refused
    locks = np.flatnonzero(granted & operations.f.among(_UNCHANGED))
    answers = zip(operations.f.codes[locks].tolist(), operations.result.take(pa.array(locks)).to_pylist(), strict=True)
    granted[locks] = [was_granted(operations.f.names[f], "ok", None, json.loads(answer)) for f, answer in answers]
    return granted


def _covered(begins: Ints, ends: Ints, until: int, pause: int) -> int:
    """Return the time (ns) that spans cover up to a moment, including gaps that are no longer than a pause."""
    order = np.lexsort((ends, begins))
    order = order[begins[order] <= until]
    begins, stops = begins[order], np.minimum(ends[order], until)
    reached = np.maximum.accumulate(stops)[:-1]
    begins[1:] = np.where(begins[1:] - reached <= pause, reached, begins[1:])
    return int(np.maximum(stops - begins, 0).sum())
