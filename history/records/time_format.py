"""Format times of operations with the same number of digits in sentences, drawings and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from history.records.operations import Operation

MIN_DIGITS: Final = 3
MAX_DIGITS: Final = 9


def digits_of(operations: Sequence[Operation]) -> int:
    """Return how many decimals of a second distinguish all times of these operations, at least three."""
    times = {operation.invoked for operation in operations}
    times |= {operation.returned for operation in operations if operation.returned is not None}
    return next((digits for digits in range(MIN_DIGITS, MAX_DIGITS) if _apart(times, digits)), MAX_DIGITS)


def seconds_text(time: int, digits: int = MIN_DIGITS) -> str:
    """Format a time in nanoseconds as seconds, rounded half up, such as ``0.360``."""
    whole, rest = divmod(_rounded(time, digits), 10**digits)
    return f"{whole}.{rest:0{digits}d}"


def _apart(times: Iterable[int], digits: int) -> bool:
    distinct = list(times)
    return len({_rounded(time, digits) for time in distinct}) == len(distinct)


def _rounded(time: int, digits: int) -> int:
    unit = 10 ** (MAX_DIGITS - digits)
    return int((time + unit // 2) // unit)
