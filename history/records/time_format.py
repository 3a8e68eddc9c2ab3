"""Moments of operations as text: the same digits in a sentence, a drawing and a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from history.records.operations import Operation

LEAST_DIGITS: Final = 3
MOST_DIGITS: Final = 9


def digits_of(operations: Sequence[Operation]) -> int:
    """As many decimals of a second as it takes to tell all moments of these operations apart, at least three."""
    moments = {operation.invoked for operation in operations}
    moments |= {operation.returned for operation in operations if operation.returned is not None}
    return next((digits for digits in range(LEAST_DIGITS, MOST_DIGITS) if _apart(moments, digits)), MOST_DIGITS)


def seconds_text(moment: int, digits: int = LEAST_DIGITS) -> str:
    """A moment in nanoseconds as seconds, rounded (half up): ``0.360``."""
    whole, rest = divmod(_rounded(moment, digits), 10**digits)
    return f"{whole}.{rest:0{digits}d}"


def _apart(moments: Iterable[int], digits: int) -> bool:
    distinct = list(moments)
    return len({_rounded(moment, digits) for moment in distinct}) == len(distinct)


def _rounded(moment: int, digits: int) -> int:
    unit = 10 ** (MOST_DIGITS - digits)
    return int((moment + unit // 2) // unit)
