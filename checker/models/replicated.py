"""Objects whose replicas may lag for a while, such as those of Maelstrom's workloads.

Only reads invoked after all adds had ended are judged: until then a replica may lack any of them.  An element that such
a read lacks and a later one has was late, not lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from checker.core.calls import freeze
from checker.core.model import Adopted, Model, ModelError
from checker.models.objects import Counter, GrowSet
from history import Operation


def settled(operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations without reads that replicas may have answered too early.

    Raises ModelError if no other answered read is left, because there would be nothing to judge.
    """
    last = max((op.return_index or op.invoke_index for op in operations if op.f == "add"), default=-1)
    kept = [op for op in operations if op.f != "read" or op.invoke_index > last]
    if not any(op.f == "read" and op.outcome == "ok" for op in kept):
        raise ModelError("no read was answered after the last add, so replicas that may be behind cannot be judged")
    return kept


def _completed(operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations with each read completed by elements that later reads show."""
    reads = [op for op in operations if op.f == "read" and isinstance(op.result, list | tuple)]
    by_start = sorted(reads, key=lambda op: op.invoke_index)
    later, completed = dict[Any, Any](), dict[int, Operation]()
    for read in sorted(reads, key=lambda op: op.end_index, reverse=True):
        while by_start and by_start[-1].invoke_index > read.end_index:
            later |= {freeze(element): element for element in by_start.pop().result}
        shown = set(map(freeze, read.result))
        missing = [element for frozen, element in later.items() if frozen not in shown]
        completed[read.invoke_index] = replace(read, result=[*read.result, *missing])
    return [completed.get(op.invoke_index, op) for op in operations]


def _last(operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations without reads that another answered read follows."""
    begun = max(op.invoke_index for op in operations if op.f == "read" and op.outcome == "ok")
    return [op for op in operations if op.f != "read" or op.end_index > begun]


class ReplicatedSet(GrowSet):
    """A set whose replicas converge: Maelstrom's ``g-set``, and its ``broadcast``."""

    name = "g-set"
    is_general = False

    def adopt(self, operations: Sequence[Operation]) -> Adopted:
        taken = [replace(op, f="add") if op.f == "broadcast" else op for op in operations if op.f != "topology"]
        return Adopted(self, taken, (_note(taken),))

    def judged_as(self, operations: Sequence[Operation]) -> tuple[Model, Sequence[Operation]]:
        return GrowSet(), _completed(settled(operations))


class ReplicatedCounter(Counter):
    """A counter whose replicas converge: Maelstrom's ``g-counter`` and ``pn-counter``."""

    name = "pn-counter"
    is_general = False

    def adopt(self, operations: Sequence[Operation]) -> Adopted:
        adopted = super().adopt(operations)
        taken, notes = (operations, ()) if adopted is None else (adopted.operations, adopted.notes)
        return Adopted(self, taken, (*notes, _note(taken)))

    def judged_as(self, operations: Sequence[Operation]) -> tuple[Model, Sequence[Operation]]:
        return Counter(), _last(settled(operations))


def _note(operations: Sequence[Operation]) -> str:
    early = len(operations) - len(settled(operations))
    return (
        f"replicas may be behind until all adds have ended: {early} reads before that are not judged; "
        "--model set or --model counter judges all of them"
    )
