"""Registers that promise less than linearizability; ``checker.weak_levels`` decides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from checker.core.model import ANY, Adopted, Model, ModelError, Register
from history import Operation

SEQUENTIAL, MONOTONIC_READS, READ_YOUR_WRITES = "sequential", "monotonic-reads", "read-your-writes"
STALENESS: Final = "bounded-staleness"
WEAK_LEVELS: Final = (SEQUENTIAL, MONOTONIC_READS, READ_YOUR_WRITES, STALENESS)
_BOUND: Final = re.compile(rf"{STALENESS}=(\d+(?:\.\d+)?)(ms|s)")


class WeakRegister(Register):
    """Registers, one per key, that satisfy a weaker ``level``; ``bound`` is the staleness allowed, in nanoseconds."""

    is_general = False

    def __init__(self, level: str, initial: Any = None) -> None:
        super().__init__(initial)
        match = _BOUND.fullmatch(level)
        if match is None and (level not in WEAK_LEVELS or level == STALENESS):
            raise ModelError(
                f"a register has no level {level!r}; it has {', '.join(WEAK_LEVELS)}=500ms, "
                "and isolation levels are for --model list-append, rw-register"
            )
        self.level = level if match is None else STALENESS
        self.bound = 0 if match is None else round(float(match[1]) * (1e6 if match[2] == "ms" else 1e9))
        self.name = f"register:{level}"
        self._asked = level

    def from_anywhere(self) -> Model | None:
        return None

    def start_with(self, value: Any) -> Model:
        if isinstance(value, (list, dict)) or value is ANY:
            raise ModelError("a register starts with a number, a word, true, false or null")
        return type(self)(self._asked, value)


class WeakKeyValue(WeakRegister):
    """Keys of a key-value store: ``put`` writes and ``get`` reads a register that starts as "".

    It has no ``append``, which does not say what it leaves behind.
    """

    def __init__(self, level: str, initial: Any = "") -> None:
        super().__init__(level, initial)
        self.name = f"kv:{level}"

    def adopt(self, operations: Sequence[Operation]) -> Adopted:
        taken = [replace(op, f=_OF_STORES.get(op.f, op.f)) for op in operations]
        return Adopted(self, [replace(op, result="") if _is_empty_read(op) else op for op in taken])


_OF_STORES: Final = {"put": "write", "get": "read"}


def _is_empty_read(operation: Operation) -> bool:
    return operation.f == "read" and operation.outcome == "ok" and operation.result is None
