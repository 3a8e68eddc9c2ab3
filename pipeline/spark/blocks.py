"""A task on one block of a history: read its lines, pair its events, write complete operations, report the rest.

Each attempt at a block leaves its own directory, because Spark may start a second attempt while the first is running:

===================  ====================================================================================
``operations``       a part of the table: all operations before the first one that is still open at the end
``rest.arrow``       the operations after that one
``seam.arrow``       events without a partner in the block; ``entering``: see ``pairing.Paired``
``keys``             the operations by key, for the verdicts (``pipeline.spark.keys``)
===================  ====================================================================================
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from history import Event
from history.columns.file import read_lines
from history.columns.lines import Block, Bytes, read_block
from history.columns.pairing import Problem, pair_events
from history.safe_open import open_below
from pipeline.spark.actions import require_visible, run_action
from pipeline.spark.hadoop_fs import for_readers, torn_tail
from pipeline.spark.keys import write_by_key, write_numbers, write_table
from pipeline.tables.recovery import Slice
from pipeline.tables.storage import write_part

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Span: TypeAlias = tuple[int, int]
_PIECES: Final = "spark.sql.files.maxPartitionBytes"


@dataclass(frozen=True, slots=True)
class HistorySource:
    """A history: its URI, its size in bytes, and its name in error messages."""

    uri: str
    size: int
    name: str


@dataclass(frozen=True, slots=True)
class BlockReport:
    """A block's report to the driver.

    ``returned`` spans the times (ns) at which its operations returned; None if none did.
    """

    block: Block
    nemesis: list[Event]
    problem: Problem | None = None
    slice: Slice | None = None
    place: Path | None = None
    returned: Span | None = None


def read_blocks(spark: SparkSession, source: HistorySource, root: Path, piece: int) -> list[BlockReport]:
    """Process all blocks of about ``piece`` bytes; return the reports in the order of the file.  Raises JobError."""
    url = urlsplit(source.uri)
    if url.scheme == "file":
        starts = range(0, source.size, piece)
        work = partial(_block_here, Path(unquote(url.path)), source.size, root, piece)
        reports = run_action(spark.sparkContext.parallelize(starts, len(starts)).map(work).collect)
    else:
        reports = _through_spark(spark, source, root, piece)
    return sorted(reports, key=lambda report: report.block.start)


def _block_here(history: Path, size: int, root: Path, piece: int, start: int) -> BlockReport:
    require_visible(history)
    with open_below(history.parent, history) as file:
        data = read_lines(file, start, start + piece)
    return write_block(data, Block(start), root, last=start + piece >= size)


def _through_spark(spark: SparkSession, source: HistorySource, root: Path, piece: int) -> list[BlockReport]:
    """Read lines through Spark's own reader, which knows every file system; a block is what it gives to one task."""
    tail = len(torn_tail(spark, source.uri, source.size))
    torn = source.size - tail if tail else None

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for start, length, lines in _by_block(batches):
            # Spark's reader continues to the end of the line that begins at or before the end of its block.
            whole = lines[:-1] if torn is not None and (not start or start < torn) and torn <= start + length else lines
            data = np.frombuffer(b"".join(line + b"\n" for line in whole), np.uint8)
            report = write_block(data, Block(start), root, last=start + length >= source.size)
            yield pa.record_batch({"report": [pickle.dumps(report)]})

    before = str(spark.conf.get(_PIECES))
    spark.conf.set(_PIECES, str(piece))
    try:
        lines = spark.read.option("lineSep", "\n").text(for_readers(source.uri))
        columns = ("CAST(value AS BINARY) AS line", "_metadata.file_block_start", "_metadata.file_block_length")
        rows = run_action(lines.selectExpr(*columns).mapInArrow(work, "report binary").collect)
    finally:
        spark.conf.set(_PIECES, before)
    return [pickle.loads(row.report) for row in rows]  # noqa: S301 (our own tasks wrote it)


def _by_block(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, int, list[bytes]]]:
    """Yield start, length and lines of each block; the lines of a block are adjacent."""
    rows = (row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
    for (start, length), block in groupby(rows, itemgetter(1, 2)):
        yield start, length, [line for line, _, _ in block]


def write_block(data: Bytes, block: Block, root: Path, *, last: bool) -> BlockReport:
    """Write the operations in some whole lines; after the ``last`` block, no open operation completes."""
    require_visible(root)
    events, nemesis = read_block(data, block)
    if block.wrong is not None:
        return BlockReport(block, nemesis)
    paired = pair_events(events, last=last)
    place = root / f"{block.start:020d}-{uuid.uuid4().hex}"
    place.mkdir()
    operations, invoked = paired.operations, paired.operations["invoke_index"].to_numpy()
    invokes = paired.seam.filter(pc.equal(paired.seam["type"], "invoke"))["index"].to_numpy()
    whole = int(np.searchsorted(invoked, invokes[0])) if invokes.size else len(invoked)
    write_part(place, "operations", [operations.slice(0, whole)])
    write_table(place / "rest.arrow", operations.slice(whole))
    write_table(place / "seam.arrow", paired.seam)
    write_numbers(place / "entering", paired.entering)
    write_by_key(place, operations)
    returned = span_of(operations.slice(0, whole)["returned"])
    return BlockReport(block, nemesis, paired.problem, Slice.of(operations), place, returned)


def span_of(times: pa.ChunkedArray) -> Span | None:
    """Return the least and the greatest of some numbers, or None if there are none."""
    limits = pc.min_max(times).as_py()
    return None if limits["min"] is None else (limits["min"], limits["max"])
