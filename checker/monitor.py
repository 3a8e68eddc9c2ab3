"""Monitor a run online: find a violation at the event that completes it.

For registers whose values are written once.  It is fed event by event and keeps, for every value that can still
matter, its zone (see ``zones``): f, the first return, and s, the last invocation.  Two values u and v contradict each
other iff

    f_u < f_v < s_u   and   s_v > f_u        (or the other way round)

A value dies once another one was certainly current after it: with x the least invocation of all open operations, v is
dead once some u has f_u < x and s_u > f_v, for then any later read of v would be a violation.  So memory is bounded by
open operations, live values, and unread writes that ended as ``info``: those may still take effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from checker.core.calls import freeze
from checker.per_key import check_operations
from history import Counterexample, Event, Operation, pair
from history.codes import NEVER
from history.records.events import NEMESIS

_SWEEP: Final = 64


@dataclass(frozen=True, slots=True)
class MonitorViolation:
    """A violation found at the event with this index, with a counterexample of a few operations."""

    index: int
    key: str | int | None
    counterexample: Counterexample

    @property
    def text(self) -> str:
        return f"event {self.index}, {self.key}: {self.counterexample.kind}: {self.counterexample.sentence}"


@dataclass(slots=True)
class _Value:
    """The zone of one value and the operations that carry it; ``write`` is None for the initial value."""

    write: Event | None
    last: int
    first: int = NEVER
    first_operation: Operation | None = None
    last_operation: Operation | None = None

    def operations(self) -> list[Operation]:
        return [operation for operation in (self.first_operation, self.last_operation) if operation is not None]


@dataclass(slots=True)
class _Register:
    values: dict[Any, _Value] = field(default_factory=lambda: {None: _Value(None, -1, first=-1)})
    retired: bool = False


class Monitor:
    """Watch a run: ``feed`` takes every event in order and returns the first violation, once.

    A key on which a value is written twice or a cas is issued is no longer watched: ``unwatched`` names it.
    """

    def __init__(self) -> None:
        self.violation: MonitorViolation | None = None
        self._registers: dict[str | int | None, _Register] = {}
        self._open: dict[int, Event] = {}
        self._fed = 0

    @property
    def unwatched(self) -> tuple[str | int | None, ...]:
        """The keys left to the check after the run, because a value was written to them twice or a cas was issued."""
        return tuple(key for key, register in self._registers.items() if register.retired)

    def size(self) -> int:
        """Return the number of live values and open operations, to which memory use is proportional."""
        return len(self._open) + sum(len(register.values) for register in self._registers.values())

    def feed(self, event: Event) -> MonitorViolation | None:
        """Process one event and return the violation that it completes, if any."""
        if event.process == NEMESIS or self.violation is not None:
            return None
        assert isinstance(event.process, int)
        register = self._registers.setdefault(event.key, _Register())
        if event.type == "invoke":
            self._open[event.process] = event
            self._invoked(register, event)
            return None
        invocation = self._open.pop(event.process, None)
        if invocation is None or register.retired or event.type == "info":
            return None
        counterexample = self._completed(register, invocation, event)
        self._fed += 1
        if self._fed % _SWEEP == 0:
            self._bury()
        if counterexample is not None:
            self.violation = MonitorViolation(event.index, event.key, counterexample)
        return self.violation

    def _invoked(self, register: _Register, event: Event) -> None:
        if event.f == "write" and not register.retired:
            value = freeze(event.value)
            register.retired = value in register.values
            register.values.setdefault(value, _Value(event, event.index))
        elif event.f != "read":
            register.retired = True
        if register.retired:
            register.values.clear()

    def _completed(self, register: _Register, invocation: Event, event: Event) -> Counterexample | None:
        operation = pair([invocation, event])[0]
        if event.type == "fail":
            return self._failed(register, operation)
        value = freeze(operation.result if operation.f == "read" else operation.value)
        zone = register.values.get(value)
        if zone is None:
            return self._describe([], operation)
        if event.index < zone.first:
            zone.first, zone.first_operation = event.index, operation
        if invocation.index >= zone.last:
            zone.last, zone.last_operation = invocation.index, operation
        for other in register.values.values():
            if other is not zone and (_clash(zone, other) or _clash(other, zone)):
                return self._describe([*zone.operations(), *other.operations(), *self._writes(zone, other)], operation)
        return None

    def _failed(self, register: _Register, operation: Operation) -> Counterexample | None:
        """Take in a write that certainly had no effect: a read of its value is a violation."""
        if operation.f != "write":
            return None
        zone = register.values.pop(freeze(operation.value))
        return self._describe([*zone.operations(), operation], None) if zone.first != NEVER else None

    def _writes(self, *zones: _Value) -> list[Operation]:
        """Return the writes of these values, open ones as pending, because they may take effect at any time."""
        known = {operation.invoke_index for zone in zones for operation in zone.operations()}
        writes = [zone.write for zone in zones if zone.write is not None and zone.write.index not in known]
        return [pair([write])[0] for write in writes]

    def _describe(self, operations: list[Operation], last: Operation | None) -> Counterexample:
        everything = {operation.invoke_index: operation for operation in [*operations, *([last] if last else [])]}
        ordered = [everything[index] for index in sorted(everything)]
        verdict = check_operations(ordered, "register")
        example = verdict.counterexamples[0]
        if not operations:
            note = " (Or it was overwritten so long ago that the monitor no longer knows it.)"
            return replace(example, kind="never-written-or-stale", sentence=example.sentence + note)
        return example

    def _bury(self) -> None:
        """Drop dead values except the initial one, whose read alone would contradict nothing."""
        horizon = min((event.index for event in self._open.values()), default=NEVER)
        for register in self._registers.values():
            settled = [zone for zone in register.values.values() if zone.first < horizon]
            if len(settled) < 2:
                continue
            latest = max(settled, key=lambda zone: zone.last)
            dead = [
                value
                for value, zone in register.values.items()
                if zone is not latest and zone.write is not None and zone.first < latest.last
            ]
            for value in dead:
                del register.values[value]


def _clash(u: _Value, v: _Value) -> bool:
    return u.first < v.first < u.last and v.last > u.first
