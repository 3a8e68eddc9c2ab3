"""Text for moments, processes, nodes, keys and values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from history import Operation
from history.records.time_format import digits_of, seconds_text

#: Characters of an error that a sentence takes.
LONGEST_ERROR: Final = 60


def shown(value: Any) -> str:
    """Return a value as text: JSON, or ``absent`` for null."""
    return "absent" if value is None else plain(json.dumps(value, ensure_ascii=False, default=str))


def plain(text: str) -> str:
    """Escape characters that would control a terminal: cursor, colour, writing direction."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


@dataclass(frozen=True, slots=True)
class MomentFormat:
    """Formats moments in seconds with as many digits as it takes to tell them apart (at least three)."""

    digits: int

    @classmethod
    def of(cls, operations: Sequence[Operation]) -> MomentFormat:
        return cls(digits_of(operations))

    def at(self, moment: int | None) -> str:
        if moment is None:
            return "the end"
        return f"{seconds_text(moment, self.digits)} s"

    def span(self, operation: Operation) -> str:
        if operation.outcome == "info" and operation.returned is None:
            return f"from {self.at(operation.invoked)}, never answered"
        if operation.outcome == "info":
            return (
                f"from {self.at(operation.invoked)}, outcome unknown: {ended(operation)} {self.at(operation.returned)}"
            )
        return f"{self.at(operation.invoked)[:-2]}–{self.at(operation.returned)}"


def ended(operation: Operation) -> str:
    """Say how an operation of unknown outcome ended: ``ConnectionLoss at``, to be followed by the moment."""
    error = plain(operation.error or "")
    return (
        f"{error if len(error) <= LONGEST_ERROR else error[: LONGEST_ERROR - 1] + '…'} at" if error else "given up at"
    )


def who(operation: Operation) -> str:
    """Name the process of an operation, as in ``process 3`` or ``process 3 on n2``."""
    return f"process {operation.process}" + (f" on {plain(operation.node)}" if operation.node else "")


def cas_of(operation: Operation) -> str:
    """Describe a cas, as in ``cas of 3 to 4``."""
    old, new = operation.value
    return f"cas of {shown(old)} to {shown(new)}"


def refused_by(operation: Operation, verb: str = "saw") -> str:
    """Describe a refused cas, as in ``saw its cas of 3 to 4 refused by``; the value that it found follows."""
    return f"{verb} its {cas_of(operation)} refused by"


def tried(operation: Operation) -> str:
    """Describe an attempt, as in ``try the cas of 3 to 4 that was refused by``."""
    return f"try the {cas_of(operation)} that was refused by"
