"""Decide by the size of a piece of work whether it goes through Spark or stays in this process.

Nothing here imports the pipeline before a session is asked for: the plans of a suite need only the rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from history.records.layout import LARGE_BYTES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: From this many runs on, Spark is worth its start; so it is for one history of more than ``LARGE_BYTES``.
MANY: Final = 200


@dataclass(frozen=True, slots=True)
class SparkChoice:
    """Whether Spark does a piece of work, and why."""

    spark: bool
    why: str

    def __str__(self) -> str:
        return f"{'through Spark' if self.spark else 'in this process'}: {self.why}"


def choose(sizes: Collection[int], asked: bool | None = None) -> SparkChoice:
    """The choice for histories of these sizes in bytes; ``asked`` decides unless it is None."""
    if asked is not None:
        return SparkChoice(spark=asked, why="as asked")
    runs, large, limit = len(sizes), sum(size > LARGE_BYTES for size in sizes), f"{LARGE_BYTES >> 20} MiB"
    if runs == 1:
        return SparkChoice(spark=large > 0, why=f"its history has {'more than' if large else 'at most'} {limit}")
    if large:
        return SparkChoice(spark=True, why=f"{large} of {runs} histories are of more than {limit}")
    if runs >= MANY:
        return SparkChoice(spark=True, why=f"{runs} runs are {MANY} or more")
    return SparkChoice(spark=False, why=f"{runs} runs are fewer than {MANY}, and no history is of more than {limit}")


@contextmanager
def session_for(
    choice: SparkChoice, master: str, *, app: str, settings: Mapping[str, str]
) -> Iterator[SparkSession | None]:
    """A session for as long as the block lasts, or None if the work stays in this process.  Raises SessionError."""
    from pipeline import start_session

    session = start_session(master, app=app, settings=settings) if choice.spark else None
    try:
        yield session
    finally:
        if session is not None:
            session.stop()
