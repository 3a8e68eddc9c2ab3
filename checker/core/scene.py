"""All operations on one object, for sentences about a few of them that also mention others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, overload

from checker.core.calls import Call, freeze, thaw
from checker.core.model import Model
from checker.core.wording import MomentFormat, plain, shown, who
from history import Counterexample, Linearization, Operation
from history.records.text import and_listed

#: At most this many of the last operations on an object are searched for final reads.
MAX_LATEST: Final = 20_000


@dataclass(frozen=True, slots=True)
class InPart(Sequence[Operation]):
    """Recorded operations, with each CAS that a core counts as a write shown as a write."""

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
        return operation if call is None else replace(operation, f="write", value=thaw(call.value), result=None)


def _is_written(call: Call, operation: Operation) -> bool:
    return call.f == "write" and operation.f == "cas"


def set_aside(core: Sequence[Call], operations: Sequence[Operation]) -> list[Call]:
    """Find the answered calls that a core counts as unanswered.

    Such an answer contradicts an earlier counterexample, or came after the answers that contradict each other here.
    """
    return [call for call in core if call.pending and operations[call.source].outcome == "ok"]


def _written(operation: Operation) -> Any:
    """Return the value that an operation writes if it takes effect; None if it does not write."""
    if operation.f == "write":
        return freeze(operation.value)
    return freeze(operation.value)[1] if operation.f == "cas" and _is_pair(operation.value) else None


def _is_pair(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2


@dataclass(slots=True)
class Scene:
    """All operations on one object, including the ones that a check drops."""

    operations: Sequence[Operation]
    model: Model
    key: str | int | None = None
    _read: set[Any] = field(default_factory=set)
    _failed: dict[Any, Operation] = field(default_factory=dict)
    _writers: dict[Any, list[Operation]] = field(default_factory=dict)
    _collected: bool = False
    _final_reads: list[Operation] | None = None

    def _collect(self) -> None:
        """Collect values on first use, because most histories need no sentence."""
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
            if operation.outcome != "fail" and not operation.refused and (value := _written(operation)) is not None:
                self._writers.setdefault(value, []).append(operation)

    @property
    def name(self) -> str:
        """The name of the key; without a key, the object by its noun, such as ``the register``."""
        return f"the {self.model.noun or self.model.name}" if self.key is None else plain(str(self.key))

    def rank_of(self, operation: Operation) -> int:
        """Return the rank of an operation's invocation among the events, as in its call."""
        return operation.invoke_index

    def was_read(self, value: Any) -> bool:
        self._collect()
        return value in self._read

    def went_on(self, since: Call, besides: Any) -> bool:
        """Return whether a read shows a write that may have come after a call, other than that of ``besides``.

        A failed write counts as well: it was read, so it happened.
        """
        self._collect()
        moment = self.operations[since.source].invoked
        later = (o for o in self.operations if o.returned is None or o.returned > moment)
        return any(value != besides and value in self._read for value in map(_written, later) if value is not None)

    def gone(self, value: Any, since: Operation) -> bool:
        """Return whether the final reads show that a value, current when ``since`` returned, is lost.

        It is lost if every final read returns nothing, or a value that was overwritten before this one was
        written.
        """
        reads, writers = self.final_reads(), self.writers(value)
        if not reads or not writers or since.return_index is None:
            return False
        made, known = min(writer.invoke_index for writer in writers), since.return_index
        return all(read.invoke_index > known and self._older(freeze(read.result), made) for read in reads)

    def _older(self, value: Any, index: int) -> bool:
        """Return whether every write of a value had returned by a place in the history, or there was none."""
        writers = self.writers(value)
        if not writers:
            return value is None
        return all(writer.return_index is not None and writer.return_index < index for writer in writers)

    def final_reads(self) -> list[Operation]:
        """Return each client's last read of the final phase; none if only one client of several nodes gave one.

        In the final phase the clients of all nodes read; where a leader serves, it answers all of them.  A read
        whose node had not applied its answer does not count.  No read counts if some node answered in the final
        phase but gave none that does.
        """
        if self._final_reads is None:
            self._final_reads = self._find_final_reads()
        return self._final_reads

    def _find_final_reads(self) -> list[Operation]:
        nodes, answered = set[str | None](), set[str | None]()
        last: dict[Any, Operation] = {}
        for operation in islice(self.latest(), MAX_LATEST):
            if operation.outcome != "ok":
                continue
            nodes.add(operation.node)
            if operation.phase == "final":
                answered.add(operation.node)
            if operation.phase == "final" and operation.f in self.model.reads and operation.served:
                last.setdefault(operation.process, operation)
        reads = list(last.values())
        complete = None not in nodes and answered == {read.node for read in reads}
        return reads if complete and (len(reads) > 1 or len(nodes) == 1) else []

    def latest(self) -> Iterator[Operation]:
        """Iterate over the operations on the object, latest first."""
        return reversed(self.operations)

    def writers(self, value: Any) -> Sequence[Operation]:
        """Return the operations that wrote a value or may have written it."""
        self._collect()
        return self._writers.get(value, ())

    def as_known(self, core: Sequence[Call]) -> Scene:
        """Return the scene with each CAS whose old value the core ignores shown as a write."""
        known = {call.source: call for call in core if _is_written(call, self.operations[call.source])}
        if not known:
            return self
        self._collect()
        scene = copy(self)
        scene.operations = InPart(self.operations, known)
        return scene

    def recorded(self, call: Call) -> Operation:
        """Return the operation of a call as it was recorded."""
        operations = self.operations
        return (operations.operations if isinstance(operations, InPart) else operations)[call.source]

    def aside(self, core: Sequence[Call]) -> str:
        """Say which CAS are shown as writes and which answers are set aside; empty if there are none."""
        replaced = [self.recorded(call) for call in core if _is_written(call, self.recorded(call))]
        notes = []
        if replaced:
            listed = ", ".join(f"{shown(cas.value[0])} to {shown(cas.value[1])} by {who(cas)}" for cas in replaced)
            value = "the value that it found plays" if len(replaced) == 1 else "the values that they found play"
            notes.append(f"Shown as a write, because {value} no part: the cas of {listed}.")
        if aside := [self.recorded(call) for call in set_aside(core, self.operations)]:
            clock, many = MomentFormat.of(aside), len(aside) > 1
            listed = and_listed(f"{who(operation)} ({clock.span(operation)})" for operation in aside)
            notes.append(
                f"Set aside, because the others contradict each other without {'them' if many else 'it'}: the "
                f"answer{'s' if many else ''} of {listed}."
            )
        return "".join(f" ({note})" for note in notes)

    def failed_write(self, value: Any) -> Operation | None:
        self._collect()
        return self._failed.get(value)


class CoreWords:
    """The operations of a core in the order of their invocations, and the wording shared by all sentences."""

    def __init__(self, core: Sequence[Call], scene: Scene) -> None:
        self.core = sorted(core, key=lambda call: call.invoke)
        self.scene, self.name = scene, scene.name
        self.operations = tuple(map(self.op, self.core))
        self.clock = MomentFormat.of(self.operations)

    def op(self, call: Call) -> Operation:
        return self.scene.operations[call.source]

    def by(self, call: Call, did: str) -> str:
        """Describe an operation, as in ``process 3 on n2 read 7 (12.300–12.310 s)``."""
        operation = self.op(call)
        return f"{who(operation)} {did} ({self.clock.span(operation)})"

    def begun(self, call: Call) -> str:
        return self.clock.at(self.op(call).invoked)

    def example(self, kind: str, sentence: str, suspect: Call | None = None) -> Counterexample:
        """Make the counterexample; ``suspect`` is the operation whose answer does not fit the others."""
        alone = None if suspect is None else Linearization(None, (), (self.core.index(suspect),))
        return Counterexample(kind, sentence, self.operations, alone)
