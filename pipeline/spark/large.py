"""The tables of a run too large for one machine's memory: the same functions as for a small one, on pieces.

The file is read in blocks by Spark's own reader, so it may be on any file system that Spark reads.  Events are paired
by the same window function as a small run's, operations are written in slices of their invocations, and everything else
is computed from these files: verdicts by key (keys that are too large for one task by ``big_keys``), windows by slices
of time.  The driver keeps one number for each ok operation on disk, and in memory the faults, the verdicts, and a
summary of each block and slice.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from history import SECOND, FormatError, Receipt, receipts_of
from history.metrics.recovery import Load
from history.records.events import Event, line_of_event
from history.tables.schemas import OPERATIONS, VERDICTS, WINDOWS
from pipeline.spark.actions import ddl, run_action
from pipeline.spark.big_keys import judge_big_keys
from pipeline.spark.hadoop_fs import for_readers, head, torn_tail, uri_of
from pipeline.spark.lines import BLOCK, Block, events_of_lines, not_next
from pipeline.spark.pairing import PAIRING
from pipeline.spark.slices import Slice, joined_times, operation_slice, window_slice
from pipeline.tables.columns import EVENTS, events_of, json_text
from pipeline.tables.judging import Budget, judge, verdict_table
from pipeline.tables.recovery import fault_table
from pipeline.tables.sources import header_of
from pipeline.tables.storage import write_tables
from pipeline.tables.timing import Stopwatch
from pipeline.tables.windows import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SHUFFLES: Final = "spark.sql.shuffle.partitions"
_REPORT: Final = "report string"
_KEY: Final = "coalesce(key, '')"
Deadline: TypeAlias = tuple[float, Callable[[], float]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the pieces are.

    ``slice``: operations that one task writes at a time; ``key``: the most operations on one key that a single task
    checks; ``most``: the same where distributed zones do not apply, since a value was written twice or the object is
    more than a register; ``piece``: bytes of the history in one partition of a shuffle.
    """

    slice: int = 500_000
    key: int = 1_000_000
    most: int = 4_000_000
    piece: int = 64 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """A history: its URI, its size in bytes, and its name in errors."""

    uri: str
    size: int
    name: str


def large_tables(
    spark: SparkSession,
    source: Source,
    root: Path,
    model: str,
    deadline: Deadline,
    sizes: Sizes,
    watch: Stopwatch,
) -> tuple[pa.Table, pa.Table]:
    """Write operations, verdicts, windows and faults of a run under ``root``; return verdicts and faults.

    ``deadline`` is how many seconds of which clock the keys have together.  Raises history.FormatError with the line,
    JobError, OSError.
    """
    header_of(head(spark, source.uri).partition(b"\n")[0] + b"\n", Path(source.name))
    tail = torn_tail(spark, source.uri, source.size)
    with _shuffled(spark, max(4, source.size // sizes.piece)):
        events = _events(spark, source.uri, tail)
        try:
            blocks, nemesis = _looked_over(events)
            _check_blocks(source.name, blocks)
            watch.lap("read")
            written = _write_operations(spark, events, root, sizes, source.name)
        finally:
            events.unpersist()
        watch.lap("pair")
        receipts = receipts_of(nemesis)
        load = Slice.load(written, receipts)
        operations = spark.read.parquet(for_readers(uri_of(root / "operations.parquet")))
        verdicts = verdict_rows(spark, operations, model, deadline, sizes)
        watch.lap("judge")
        faults = _windows_and_faults(operations, written, load, receipts, root, sizes)
    write_tables(root, {"verdicts": verdicts, "faults": faults})
    watch.lap("windows")
    return verdicts, faults


@contextmanager
def _shuffled(spark: SparkSession, pieces: int) -> Iterator[None]:
    before = spark.conf.get(_SHUFFLES)
    spark.conf.set(_SHUFFLES, str(pieces))
    try:
        yield
    finally:
        spark.conf.set(_SHUFFLES, str(before))


# -- events -----------------------------------------------------------------------------------------------------------


def _events(spark: SparkSession, uri: str, tail: bytes) -> DataFrame:
    """Events and block rows, persisted on the workers' disks since they are read twice."""
    from pyspark import StorageLevel

    lines = spark.read.option("lineSep", "\n").text(for_readers(uri))
    lines = lines.selectExpr("CAST(value AS BINARY) AS line", "_metadata.file_block_start AS block")
    if tail:
        lines = lines.where(lines["line"] != bytearray(tail))
    return lines.mapInArrow(events_of_lines, ddl(EVENTS)).persist(StorageLevel.DISK_ONLY)


def _looked_over(events: DataFrame) -> tuple[list[Block], list[Event]]:
    """The blocks in the order of the file, and the nemesis' events: all rows without a process."""
    rows = run_action(events.where("process IS NULL").toArrow)
    blocks = [Block.from_text(row["value"]) for row in rows.to_pylist() if row["type"] == BLOCK]
    nemesis = rows.filter(pc.not_equal(rows["type"], BLOCK)).sort_by("index")
    return sorted(blocks, key=lambda block: block.start), events_of(nemesis)


def _check_blocks(name: str, blocks: list[Block]) -> None:
    """Raise FormatError for the first line that is wrong, in itself or after the one before it."""
    lines, last = 0, (-1, 0)
    for block in blocks:
        problem = block.wrong
        if block.first is not None:
            if (problem is None or problem[0] > 0) and (block.first[0] != last[0] + 1 or block.first[1] < last[1]):
                at = 1 if block.start == 0 else 0
                problem = (at, not_next(last[0], *block.first))
            last = block.last or last
        if problem is not None:
            raise FormatError(name, f"line {lines + problem[0] + 1}", problem[1])
        lines += block.lines


# -- operations -------------------------------------------------------------------------------------------------------


def _write_operations(spark: SparkSession, events: DataFrame, root: Path, sizes: Sizes, name: str) -> list[Slice]:
    paired = spark.sql(PAIRING, events=events).selectExpr("*", f"invoke_index DIV {2 * sizes.slice} AS slice")
    (root / "operations.parquet").mkdir()
    reports = run_action(paired.groupBy("slice").applyInArrow(operation_slice(root), _REPORT).collect)
    slices = [Slice.from_text(row.report) for row in reports]
    problems = [piece.problem for piece in slices if piece.problem is not None]
    if problems:
        index, text = min(problems)
        raise FormatError(name, line_of_event(index), text)
    if not slices:
        write_tables(root, {"operations": OPERATIONS.empty_table()})
    return slices


# -- verdicts ---------------------------------------------------------------------------------------------------------


def verdict_rows(spark: SparkSession, operations: DataFrame, model: str, deadline: Deadline, sizes: Sizes) -> pa.Table:
    """The verdicts on all keys of ``operations`` (columns of ``operations.parquet``), as rows.  Raises JobError."""
    keys = operations.groupBy("key").count()
    big = f"collect_list(CASE WHEN count > {sizes.key} THEN {_KEY} END) AS big"
    found = run_action(keys.selectExpr("count(*) AS keys", big).first)
    budget = Budget.of(deadline[0], int(found.keys), deadline[1])

    def judged(rows: DataFrame) -> pa.Table:
        each = rows.groupBy("key").applyInArrow(lambda group: judge(group, model, budget), ddl(VERDICTS))
        return run_action(each.toArrow).cast(VERDICTS)

    if not found.big:
        return judged(operations)
    verdicts = judge_big_keys(spark, operations.where(_among(found.big)), model=model)
    whole = [verdict for verdict in verdicts if verdict.verdict == "unknown" and verdict.operations <= sizes.most]
    far = [verdict for verdict in verdicts if verdict not in whole]
    apart = [_text(verdict.key) for verdict in far]
    rest = operations.where(f"NOT ({_among(apart)})") if apart else operations
    return pa.concat_tables([judged(rest), verdict_table(far)])


def _text(key: str | int | None) -> str:
    return "" if key is None else json_text(key)


def _among(keys: list[str]) -> str:
    quoted = ", ".join("'" + key.replace("\\", "\\\\").replace("'", "\\'") + "'" for key in keys)
    return f"{_KEY} IN ({quoted})"


# -- windows and faults -----------------------------------------------------------------------------------------------


def _windows_and_faults(
    operations: DataFrame, written: list[Slice], load: Load, receipts: list[Receipt], root: Path, sizes: Sizes
) -> pa.Table:
    """Windows by slices of whole seconds; each leaves the times of its ok operations for the recovery figures."""
    total = sum(piece.operations for piece in written)
    width = max(1, load.last * sizes.slice // max(1, total) // SECOND)
    times = root / ".ok"
    times.mkdir()
    (root / "windows.parquet").mkdir()
    pieces = operations.selectExpr(*COLUMNS, f"returned DIV {width * SECOND} AS slice").where("slice IS NOT NULL")
    run_action(pieces.groupBy("slice").applyInArrow(window_slice(root, times), _REPORT).collect)
    if not any((root / "windows.parquet").iterdir()):
        write_tables(root, {"windows": WINDOWS.empty_table()})
    faults = fault_table(receipts, joined_times(times), load)
    shutil.rmtree(times)
    return faults
