"""Transactions on lists and registers, judged by the isolation level that the system promises.

``checker.transactions`` decides.  As a sequential specification, used for objects in memory, a transaction takes effect
as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from checker.core.calls import freeze
from checker.core.model import ILLEGAL, UNKNOWN, Adopted, Made, Model, ModelError, State
from checker.models.levels import as_strong, level_named
from checker.models.objects import MultiRegister, account, shape
from history import Operation
from history.readers.transactions.columns import DEFAULT_LEVEL, WRITES, TransactionObject
from history.records.operations import BEFORE, READ_STEPS, TXN


class Transactions(Model):
    """Transactions that satisfy a ``level``, judged by their dependencies and not by this model's steps."""

    initial: State = frozenset()
    reads: frozenset[str] = frozenset()
    holds: TransactionObject

    def __init__(self, level: str = DEFAULT_LEVEL) -> None:
        self.level = level_named(level)

    @property
    def exact(self) -> bool:
        """Whether the check finds every violation of the level, not only those that reads show."""
        return self.holds == "list-append" and self.level in as_strong("serializable")

    def steps(self, f: str, value: Any, result: Any) -> tuple[Any, ...]:
        """Return the steps of a transaction.  Raises ModelError if it is not one."""
        steps = value if result is UNKNOWN or result is None else result
        names = (*READ_STEPS, *WRITES[self.holds])
        if f != TXN or not isinstance(steps, tuple):
            raise ModelError(f"{self.name} takes transactions (txn), lists of steps; found {f!r} with {steps!r}")
        for step in steps:
            if not isinstance(step, tuple) or len(step) != 3 or step[0] not in names:
                raise ModelError(f"a step of {self.name} is [{' or '.join(names)}, key, value], found {step!r}")
        return steps

    def admit(self, f: str, value: Any, result: Any) -> None:
        self.steps(f, value, result)

    def start_with(self, value: Any) -> Model | Sequence[Made]:
        """Return the transaction that wrote the initial values; no level lets another come before it."""
        lists = self.holds == "list-append"
        if not isinstance(value, dict) or (lists and not all(isinstance(item, list) for item in value.values())):
            example = """lists, such as '{"x": [1, 2]}'""" if lists else """values, such as '{"x": 1}'"""
            raise ModelError(f"a {self.name} starts with a map of keys to {example}, not with {shape(value)}")
        write = WRITES[self.holds][0]
        items = ((account(key), item) for key, held in value.items() for item in (held if lists else [held]))
        steps = [[write, key, item] for key, item in items if item is not None]
        return [(TXN, steps, steps)] if steps else []

    def likely_start(self, operations: Sequence[Operation]) -> Any:
        """Return for each key the value that reads found there first and that nobody wrote."""
        steps = [step for operation in operations for step in self._steps_of(operation)]
        written = {(freeze(key), freeze(value)) for f, key, value in steps if f not in READ_STEPS}
        start: dict[str, Any] = {}
        for f, key, value in steps:
            values = value if self.holds == "list-append" else [value]
            if f in READ_STEPS and value is not None and type(key) in (str, int):
                known = (place for place, item in enumerate(values) if (key, freeze(item)) in written)
                start[str(key)] = max(start.get(str(key), []), list(values[: next(known, None)]), key=len)
        held = {key: items for key, items in start.items() if items}
        return held if self.holds == "list-append" else {key: items[0] for key, items in held.items()}

    def wording(self, operation: Operation) -> str:
        """List the steps in the order in which they were made."""
        if operation.process == BEFORE:
            return f"at the start: {self._wording(operation)}"
        return self._wording(operation)

    def _wording(self, operation: Operation) -> str:
        steps = self._steps_of(operation)
        try:
            return ", ".join(_step(self.holds, *step, known=operation.outcome == "ok") for step in steps)
        except TypeError:
            return ""

    @staticmethod
    def _steps_of(operation: Operation) -> Any:
        return operation.result if operation.outcome == "ok" and operation.result is not None else operation.value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.level!r})"


def _step(holds: TransactionObject, f: Any, key: Any, value: Any, *, known: bool) -> str:
    if f not in READ_STEPS:
        return f"{f} {value} to {key}" if holds == "list-append" else f"write {value} to {key}"
    if not known:
        return f"read {key}"
    if holds == "list-append":
        return f"read [{' '.join(map(str, value or ()))}] in {key}"
    return f"read {'nothing' if value is None else value} in {key}"


class ListAppend(Transactions):
    """Lists by key: ``append`` of a value, ``r`` of the whole list."""

    name = "list-append"
    noun = "lists"
    holds = "list-append"

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        lists = dict(state)
        for kind, key, item in self.steps(f, value, result):
            if kind in WRITES[self.holds]:
                lists[key] = (*lists.get(key, ()), item)
            elif result is not UNKNOWN and lists.get(key, ()) != (item or ()):
                return ILLEGAL
        return frozenset(lists.items())

    def respond(self, state: State, f: str, value: Any) -> Any:  # noqa: ARG002
        lists, answered = dict(state), []
        for kind, key, item in value:
            if kind in WRITES[self.holds]:
                lists[key] = (*lists.get(key, ()), item)
            answered.append((kind, key, item if kind in WRITES[self.holds] else lists.get(key, ())))
        return tuple(answered)


class RwRegister(Transactions):
    """Registers by key: ``w`` writes a value, and ``r`` reads it (null if nothing was written)."""

    name = "rw-register"
    noun = "registers"
    holds = "rw-register"

    def step(self, state: State, f: str, value: Any, result: Any) -> State:
        return MultiRegister().step(state, f, self.steps(f, value, result), UNKNOWN if result is UNKNOWN else None)

    def respond(self, state: State, f: str, value: Any) -> Any:
        return MultiRegister().respond(state, f, value)


class LongFork(RwRegister):
    """Jepsen's long-fork: a ``write`` of one register, each once, and a ``read`` of several.

    Snapshot isolation excludes reads that see two writes in opposite orders.
    """

    name = "long-fork"

    def __init__(self, level: str = "snapshot-isolation") -> None:
        super().__init__(level)

    def adopt(self, operations: Sequence[Operation]) -> Adopted:
        """Convert reads and writes that are lists of steps to transactions."""
        taken = [replace(op, f=TXN) if op.f in ("read", "write") else op for op in operations]
        return Adopted(RwRegister(self.level), taken)
