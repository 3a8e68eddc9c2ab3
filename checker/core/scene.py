"""All operations on one object, as far as a sentence about a few of them may refer to the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, overload

from checker.core.calls import Call, freeze, thaw
from checker.core.model import Model
from checker.core.wording import object_name, shown, who
from history import Operation


@dataclass(frozen=True, slots=True)
class InPart(Sequence[Operation]):
    """The same operations, but of some of them only what a core knows: no answer, or a swap as a write."""

    operations: Sequence[Operation]
    known: Mapping[int, Call]

    def __len__(self) -> int:
        return len(self.operations)

    @overload
    def __getitem__(self, place: int) -> Operation: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Operation]: ...
    def __getitem__(self, place: int | slice) -> Operation | Sequence[Operation]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        operation, call = self.operations[place], self.known.get(place)
        if call is None:
            return operation
        if call.f == "write" and operation.f == "cas":
            operation = replace(operation, f="write", value=thaw(call.value), result=None)
        if call.pending:
            operation = replace(operation, outcome="info", result=None, returned=None, return_index=None)
        return operation


def _less_known(call: Call, operation: Operation) -> bool:
    return (call.pending and operation.outcome == "ok") or (call.f == "write" and operation.f == "cas")


def _is_pair(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2


@dataclass(slots=True)
class Scene:
    """Everything that a sentence may refer to: all operations on one object, also those that a check drops."""

    operations: Sequence[Operation]
    model: Model
    key: str | int | None = None
    _read: set[Any] = field(default_factory=set)
    _failed: dict[Any, Operation] = field(default_factory=dict)
    _collected: bool = False

    def _collect(self) -> None:
        """Once, and only when a sentence asks: most histories need none."""
        if self._collected:
            return
        self._collected = True
        for operation in self.operations:
            if operation.refused:
                self._read.add(freeze(operation.seen))
                self._failed.setdefault(freeze(operation.value)[1], operation)
            elif operation.outcome == "ok" and operation.f == "read":
                self._read.add(freeze(operation.result))
            elif operation.outcome == "ok" and operation.f == "cas" and _is_pair(operation.value):
                self._read.add(freeze(operation.value)[0])
            elif operation.outcome == "fail" and operation.f == "write":
                self._failed.setdefault(freeze(operation.value), operation)
            elif operation.outcome == "fail" and operation.f == "cas" and _is_pair(operation.value):
                self._failed.setdefault(freeze(operation.value)[1], operation)

    @property
    def name(self) -> str:
        return object_name(self.key, self.model.noun or self.model.name)

    def was_read(self, value: Any) -> bool:
        self._collect()
        return value in self._read

    def as_known(self, core: Sequence[Call]) -> Scene:
        """The scene in which the core's calls are told as it knows them.

        Another violation may have made some of them pending, and swaps count as writes where what they found plays no
        part.
        """
        told = {call.source: (call, self.operations[call.source]) for call in core}
        known = {source: call for source, (call, operation) in told.items() if _less_known(call, operation)}
        if not known:
            return self
        self._collect()
        scene = copy(self)
        scene.operations = InPart(self.operations, known)
        return scene

    def recorded(self, call: Call) -> Operation:
        """The operation of a call as it was recorded, whatever is known of it here."""
        operations = self.operations
        return (operations.operations if isinstance(operations, InPart) else operations)[call.source]

    def aside(self, core: Sequence[Call]) -> str:
        """What has to be said of swaps that are shown as writes; empty if there are none."""
        swaps = [self.recorded(call) for call in core if call.f == "write" and self.recorded(call).f == "cas"]
        if not swaps:
            return ""
        told = ", ".join(f"{shown(swap.value[0])} for {shown(swap.value[1])} by {who(swap)}" for swap in swaps)
        found = "it" if len(swaps) == 1 else "they"
        return f" (What {found} found plays no part, so shown as a write: the swap of {told}.)"

    def failed_write(self, value: Any) -> Operation | None:
        self._collect()
        return self._failed.get(value)
