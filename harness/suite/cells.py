"""Cells, each of which is one run with a plan and an expectation, and how they are divided into shards."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from msgspec import Struct

from harness.errors import UsageError
from harness.plan import Plan
from harness.suite.expectation import Expectation
from history.schema import convert, record_of

#: Size of two events, an invocation and its completion, in ``history.jsonl`` (docs/pipeline.md).
_BYTES: Final = 247
_SHARD: Final = re.compile(r"(\d+)/(\d+)")


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a suite, with its plan and its expectation.

    ``name`` is unique within the suite.  ``skip`` is the reason why the cell is listed but not run, or empty.
    ``script`` is the file from which the plan's schedule was read, or empty if the faults are drawn from the seed.
    """

    name: str
    plan: Plan
    expected: Expectation = field(default_factory=Expectation)
    skip: str = ""
    script: str = ""

    @property
    def command(self) -> str:
        """The command line that runs the cell again."""
        if not self.script:
            return self.plan.command()
        # A script names its own faults, and `harness run` refuses a plan that names them as well.
        return replace(self.plan, nemesis=(), schedule=()).command() + f" --schedule {shlex.quote(self.script)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "expected": record_of(self.expected),
            "skip": self.skip,
            "script": self.script,
            "plan": self.plan.to_json(),
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Cell:
        """Read a cell from its record.  Raises ValueError or UsageError if the record is not a valid cell."""
        cell = convert(record, _Record)
        return cls(cell.name, Plan.from_json(cell.plan), cell.expected, cell.skip, cell.script)


class _Record(Struct):
    """The JSON form of :class:`Cell`."""

    name: str
    expected: Expectation
    skip: str
    script: str
    plan: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shard:
    """The cells ``number``, ``number + count``, … of a suite, counted from 1."""

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse ``i/n``.  Raises UsageError."""
        match = _SHARD.fullmatch(text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise UsageError(f"--shard {text}: expected I/N with I from 1 to N, such as 1/4")
        return cls(int(match[1]), int(match[2]))

    def of(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return the cells of this shard: every n-th cell, because neighbours in a matrix take about the same time."""
        return list(cells[self.number - 1 :: self.count])

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def seed_of(suite_seed: int, cell: str) -> int:
    """Return a cell's seed, derived from the suite's seed and its own name, so that adding a cell changes no other."""
    return int.from_bytes(hashlib.sha256(f"{suite_seed}:{cell}".encode()).digest()[:4], "big")


def likely_bytes(plan: Plan) -> int:
    """Return the expected size in bytes of a run's history, if every operation of its load is issued."""
    return int(_BYTES * plan.rate * (plan.warm_up + plan.time_limit))


def likely_seconds(plan: Plan, overhead_s: float) -> float:
    """Return the expected duration of a run; ``overhead_s`` is the time before and after the load."""
    return plan.warm_up + plan.time_limit + overhead_s
