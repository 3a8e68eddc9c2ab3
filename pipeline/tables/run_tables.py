"""What a job returns: verdicts, faults, and how long its steps took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from history import KeyVerdict
from pipeline.tables.judging import verdicts_of


@dataclass(frozen=True, slots=True)
class Tables:
    """The verdicts and the rows of the table of faults of one run, and how many seconds each step took."""

    key_verdicts: list[KeyVerdict]
    faults: list[dict[str, Any]]
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, verdicts: pa.Table, faults: pa.Table, seconds: dict[str, float]) -> Tables:
        """The finished tables as values."""
        return cls(verdicts_of(verdicts), faults.to_pylist(), seconds)


class Stopwatch:
    """Seconds from lap to lap, by the clock it is given."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._since = clock()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """Close the step ``name``."""
        now = self.clock()
        self.laps[name] = round(now - self._since, 4)
        self._since = now
