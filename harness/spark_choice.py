"""Decide by the amount of work whether to use Spark or this process.

Nothing here imports the pipeline until a session is needed: planning a suite needs only the rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from history.records.layout import LARGE_BYTES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Spark is worth its start-up time from this many runs on, or for one history of more than ``LARGE_BYTES``.
MANY: Final = 200


@dataclass(frozen=True, slots=True)
class SparkChoice:
    """The decision whether to use Spark, and the reason."""

    spark: bool
    why: str

    def __str__(self) -> str:
        return f"{'through Spark' if self.spark else 'in this process'}: {self.why}"


def choose(sizes: Collection[int], spark: bool | None = None) -> SparkChoice:
    """Decide for histories of these sizes (in bytes); ``spark`` overrides the decision unless it is None."""
    if spark is not None:
        return SparkChoice(spark=spark, why="as requested")
    runs, large, limit = len(sizes), sum(size > LARGE_BYTES for size in sizes), f"{LARGE_BYTES >> 20} MiB"
    if runs == 1:
        return SparkChoice(spark=large > 0, why=f"its history has {'more than' if large else 'at most'} {limit}")
    if large:
        return SparkChoice(spark=True, why=f"{large} of {runs} histories are larger than {limit}")
    if runs >= MANY:
        return SparkChoice(spark=True, why=f"{runs} runs reach the limit of {MANY}")
    return SparkChoice(spark=False, why=f"{runs} runs are fewer than {MANY}, and no history is larger than {limit}")


@contextmanager
def session_for(
    choice: SparkChoice, master: str, *, app: str, settings: Mapping[str, str]
) -> Iterator[SparkSession | None]:
    """Yield a Spark session for the duration of the block, or None if the work stays in this process.

    Raises SessionError.
    """
    from pipeline import start_session

    session = start_session(master, app=app, settings=settings) if choice.spark else None
    try:
        yield session
    finally:
        if session is not None:
            session.stop()
