"""The tables of a run of any size on Spark: the functions of ``pipeline.tables`` on Arrow columns, piece by piece.

Tasks read blocks of the history (``blocks``) and leave their operations as parts of the table.  The driver pairs the
few events whose operations cross the seams between blocks.  Then tasks judge the keys (``keys``; ``big_keys`` for keys
that are too large for one task), and others compute the windows of some seconds.  Nothing is shuffled, because the
order of the file is the order of time.  The driver keeps one number for each ok operation on disk; in memory it keeps
the faults, the verdicts, and a summary of each block.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from history import SECOND, RunFiles, receipts_of
from history.columns.file import PIECE, check_blocks, check_problems
from history.columns.pairing import Seams
from history.metrics.recovery import Times
from history.recording import Recording
from history.records.events import header_of
from history.safe_open import open_below, require_short_lines
from history.tables.schemas import OPERATIONS, VERDICTS, WINDOWS
from pipeline.spark.actions import require_visible, run_action
from pipeline.spark.big_keys import judge_big_keys
from pipeline.spark.blocks import BlockReport, HistorySource, Span, read_blocks, span_of
from pipeline.spark.hadoop_fs import for_readers, head, listing
from pipeline.spark.keys import count_keys, judge_keys, read_table, write_by_key, write_numbers
from pipeline.tables.conclusions import source_of
from pipeline.tables.judging import REGISTERS, Budget, verdict_table
from pipeline.tables.local import Tables, probe_table
from pipeline.tables.recovery import Slice, fault_table, ok_times
from pipeline.tables.storage import remove, replacing, write_part, write_tables
from pipeline.tables.windows import COLUMNS, window_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WORKER: Final = "spark.executor.pyspark.memory"
_WORKER_BYTES: Final = 7 << 29
#: The limit applies to address space.  A worker uses this much of it before it holds any operation.
_CODE_BYTES: Final = 640 << 20
#: Memory for each operation of a key in a check: as columns, for a register of integers, and as rows otherwise.
COLUMN_BYTES: Final = 288
ROW_BYTES: Final = 4096
_UNITS: Final = {"k": 10, "m": 20, "g": 30, "t": 40}


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of the pieces.

    ``piece`` is the number of bytes of the history in one block.  ``key`` is the most operations on one key that a
    single task checks; by default, as many as fit into the memory of a Python worker.
    """

    piece: int = PIECE
    key: int | None = None

    def most(self, spark: SparkSession, bytes_each: int) -> int:
        return self.key if self.key is not None else max(0, worker_bytes(spark) - _CODE_BYTES) // bytes_each


def worker_bytes(spark: SparkSession) -> int:
    """Return the memory of a Python worker in bytes.

    That is ``spark.executor.pyspark.memory`` divided by the executor's cores, or 3.5 GiB if it is not set.
    """
    text = str(spark.conf.get(_WORKER, "")).strip().lower()
    match = re.fullmatch(r"(\d+)([kmgt]?)b?", text)
    if match is None:
        return _WORKER_BYTES
    # Spark reads a number without a unit as MiB.
    return (int(match[1]) << _UNITS[match[2] or "m"]) // int(spark.conf.get("spark.executor.cores", "1") or 1)


def run_tables(
    spark: SparkSession,
    run: RunFiles | Recording,
    *,
    model: str | None,
    deadline_s: float,
    sizes: Sizes = Sizes(),
    history: str | None = None,
) -> Tables:
    """Compute and write the five tables of a run on Spark.

    Without a ``model`` there are no verdicts, because something else judges the keys.  ``deadline_s`` bounds the
    checking of all keys together (see ``pipeline.tables.judging.Budget``), except for keys of more than ``sizes.key``
    operations.  ``history`` is the history's URI if it is not in the run's directory.

    Raises history.FormatError for bad recorded data, FileNotFoundError without a history, OSError if the disk fails,
    PackageMissingError for a URI that no file system here can read, and JobError if Spark fails or a worker does not
    see the run's directory.
    """
    recording = Recording.of(run)
    run = recording.files
    if history is None:
        with open_below(run.root, run.history) as file:
            require_short_lines(file, run.history)
        source = HistorySource(run.history.resolve().as_uri(), run.history.stat().st_size, str(run.history))
    else:
        (far_file,) = listing(spark, history).values()
        source = HistorySource(history, far_file.size, history)
        # The run's directory will hold nothing but the tables.
        run.root.mkdir(exist_ok=True)
    header_of(b"".join(head(spark, source.uri).partition(b"\n")[:2]), Path(source.name))
    made_from = source_of(recording) if run.history.exists() else None
    with replacing(run.tables, made_from) as (fresh, rows):
        root = fresh.resolve()
        scratch = root / ".blocks"
        scratch.mkdir()
        reports = read_blocks(spark, source, scratch, sizes.piece)
        check_blocks(source.name, [report.block for report in reports])
        receipts = receipts_of([event for report in reports for event in report.nemesis])
        made = _finish_operations(reports, root, scratch, source.name)
        load = Slice.load(made.slices, receipts)
        with ThreadPoolExecutor(1, "windows") as pool:
            windows = pool.submit(_write_windows, spark, made.parts, reports, root, scratch)
            verdicts = _verdict_rows(spark, made, root, model, deadline_s, sizes)
            rows["windows"], times = windows.result()
        # Count the paired operations, not the written ones, so that reading back checks the files.
        rows["operations"] = sum(piece.operations for piece in made.slices)
        faults = fault_table(receipts, _joined_times(scratch / "ok", times), load, recording.clock)
        rows.update(write_tables(root, {"verdicts": verdicts, "faults": faults}))
        # Remove the directory at once: an attempt that Spark has abandoned may still write into it.
        remove(scratch)
        rows["probes"] = write_part(root, "probes", [probe_table(recording)])
    return Tables.of(verdicts, faults)


# -- operations -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Made:
    """The parts of the table of operations with the spans of their returns, the slices, and the operations by key."""

    parts: list[tuple[Path, Span | None]]
    slices: list[Slice]
    by_key: list[Path]


def _finish_operations(reports: Sequence[BlockReport], root: Path, scratch: Path, name: str) -> _Made:
    """Pair the operations that cross seams, and name all parts of the table in the order of the invocations."""
    seams = Seams()
    for report in reports:
        if report.place is not None:
            entering = np.fromfile(report.place / "entering", np.int64).reshape(2, -1)
            seams.add(read_table(report.place / "seam.arrow"), entering)
    check_problems(name, [*(report.problem for report in reports), seams.problem])
    crossing = seams.operations()
    invoked = crossing["invoke_index"].to_numpy()
    (root / "operations.parquet").mkdir()
    parts: list[tuple[Path, Span | None]] = []
    done = 0
    for report in reports:
        if report.place is None or report.block.last is None or report.slice is None:
            continue
        upto = int(np.searchsorted(invoked, report.block.last[0], "right"))
        rest = pa.concat_tables([read_table(report.place / "rest.arrow"), crossing.slice(done, upto - done)])
        done = upto
        if report.slice.operations > 0:
            parts.append((root / "operations.parquet" / f"part-{len(parts):05d}.parquet", report.returned))
            (report.place / "operations.parquet" / "part-00000.parquet").rename(parts[-1][0])
        if rest.num_rows:
            write_part(root, "operations", [rest.sort_by("invoke_index")], len(parts))
            parts.append((root / "operations.parquet" / f"part-{len(parts):05d}.parquet", span_of(rest["returned"])))
    by_key = [report.place for report in reports if report.place is not None]
    if crossing.num_rows:
        (scratch / "crossing").mkdir()
        write_by_key(scratch / "crossing", crossing)
        by_key.append(scratch / "crossing")
    if not parts:
        write_tables(root, {"operations": OPERATIONS.empty_table()})
    slices = [report.slice for report in reports if report.slice is not None]
    return _Made(parts, [*slices, Slice.of(crossing)], by_key)


# -- verdicts ---------------------------------------------------------------------------------------------------------


def _verdict_rows(
    spark: SparkSession, made: _Made, root: Path, model: str | None, deadline_s: float, sizes: Sizes
) -> pa.Table:
    if model is None:
        return VERDICTS.empty_table()
    keys = count_keys(made.by_key)
    budget = Budget.of(deadline_s, keys.num_rows)
    rows = sizes.most(spark, ROW_BYTES)
    most = sizes.most(spark, COLUMN_BYTES) if model in REGISTERS else rows
    verdicts, large = judge_keys(spark, made.by_key, keys, model, budget, most, rows)
    if not large:
        return verdicts
    operations = spark.read.parquet(for_readers((root / "operations.parquet").as_uri()))
    held = f"; one task holds {most} operations on one key, or {rows} that are not of integers: see {_WORKER}"
    # An unkeyed object has the key ''.
    quoted = ", ".join("'" + key.replace("\\", "\\\\").replace("'", "\\'") + "'" for key in large)
    judged = [
        replace(verdict, reason=f"{verdict.reason}{held}") if verdict.verdict == "unknown" else verdict
        for verdict in judge_big_keys(spark, operations.where(f"coalesce(key, '') IN ({quoted})"), model=model)
    ]
    return pa.concat_tables([verdicts, verdict_table(judged)])


# -- windows ----------------------------------------------------------------------------------------------------------


def _write_windows(
    spark: SparkSession,
    parts: Sequence[tuple[Path, Span | None]],
    reports: Sequence[BlockReport],
    root: Path,
    scratch: Path,
) -> tuple[int, list[Path]]:
    """Write the windows of whole seconds and the times of ok operations, one job from each block's start to the next.

    Returns the number of rows, and the files with the times in order.
    """
    begins = {report.block.first[1] // SECOND + 1 for report in reports if report.block.first is not None}
    seconds = [0, *sorted(begins)[1:], 1 << 33]
    spans = [(begin * SECOND, end * SECOND) for begin, end in pairwise(seconds)]
    jobs = []
    for begin, end in spans:
        there = [str(path) for path, span in parts if span is not None and span[0] < end and span[1] >= begin]
        jobs += [(begin, end, there)] if there else []
    if not jobs:
        return write_part(root, "windows", [WINDOWS.empty_table()]), []
    work = partial(_write_windows_of, scratch)
    made = run_action(spark.sparkContext.parallelize(jobs, len(jobs)).map(work).collect)
    (root / "windows.parquet").mkdir()
    for number, (place, _) in enumerate(made):
        part = Path("windows.parquet", f"part-{number:05d}.parquet")
        (place / part.with_name("part-00000.parquet")).rename(root / part)
    return sum(rows for _, rows in made), [place / "ok" for place, _ in made]


def _write_windows_of(scratch: Path, job: tuple[int, int, list[str]]) -> tuple[Path, int]:
    """Write windows and times of ok operations into a directory of this attempt; return it and the number of rows."""
    require_visible(scratch)
    begin, end, parts = job
    operations = pa.concat_tables([_returned(part, begin, end) for part in parts])
    place = scratch / uuid.uuid4().hex
    place.mkdir()
    write_numbers(place / "ok", ok_times(operations))
    return place, write_part(place, "windows", [window_table(operations)])


def _returned(part: str, begin: int, end: int) -> pa.Table:
    """Return the operations of a part that returned from ``begin`` to before ``end``."""
    table = pq.read_table(part, columns=[*COLUMNS, "error"], read_dictionary=["f", "outcome", "key", "node", "error"])
    there = pc.and_(pc.greater_equal(table["returned"], begin), pc.less(table["returned"], end))
    return table.filter(pc.fill_null(there, fill_value=False))


def _joined_times(whole: Path, parts: Sequence[Path]) -> Times:
    """Return all times, as one file that is mapped into memory."""
    write_numbers(whole, *(np.memmap(part, np.int64, mode="r") for part in parts if part.stat().st_size))
    return np.memmap(whole, np.int64, mode="r") if whole.stat().st_size else np.empty(0, np.int64)
