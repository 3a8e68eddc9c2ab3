"""Registers that promise less than linearizability; ``checker.weak_levels`` decides."""

from __future__ import annotations

import re
from typing import Any, Final

from checker.core.model import ANY, Model, ModelError, Register

SEQUENTIAL, MONOTONIC_READS, READ_YOUR_WRITES = "sequential", "monotonic-reads", "read-your-writes"
STALENESS: Final = "bounded-staleness"
WEAK_LEVELS: Final = (SEQUENTIAL, MONOTONIC_READS, READ_YOUR_WRITES, STALENESS)
_BOUND: Final = re.compile(rf"{STALENESS}=(\d+(?:\.\d+)?)(ms|s)")


class WeakRegister(Register):
    """Registers, one per key, that keep a weaker ``level``; ``bound`` is the staleness allowed, in nanoseconds."""

    is_general = False

    def __init__(self, level: str, initial: Any = None) -> None:
        super().__init__(initial)
        found = _BOUND.fullmatch(level)
        if found is None and (level not in WEAK_LEVELS or level == STALENESS):
            raise ModelError(
                f"a register has no level {level!r}; it has {', '.join(WEAK_LEVELS)}=500ms, "
                "and isolation levels are for --model list-append, rw-register"
            )
        self.level = level if found is None else STALENESS
        self.bound = 0 if found is None else round(float(found[1]) * (1e6 if found[2] == "ms" else 1e9))
        self.name = f"register:{level}"
        self._asked = level

    def from_anywhere(self) -> Model | None:
        return None

    def start_with(self, value: Any) -> Model:
        if isinstance(value, (list, dict)) or value is ANY:
            raise ModelError("a register starts with a number, a word, true, false or null")
        return WeakRegister(self._asked, value)
