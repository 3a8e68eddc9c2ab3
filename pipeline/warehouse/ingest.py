"""Add many runs to the warehouse, each on its own: a bad one is reported and all others are added."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from history import FormatError, RunFiles
from history.records.layout import LARGE_BYTES
from history.tables.schemas import RUNS
from pipeline.spark.actions import ddl, run_action
from pipeline.spark.hadoop_fs import is_remote
from pipeline.spark.jobs import run_tables
from pipeline.tables.columns import clean
from pipeline.tables.local import written_tables
from pipeline.tables.sources import read_header
from pipeline.warehouse.index import refresh
from pipeline.warehouse.remote import Files, contents, copied_here, is_foreign, look_at, staged_without_history
from pipeline.warehouse.staging import staged, staged_bytes, staged_size
from pipeline.warehouse.tables import add_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

State: TypeAlias = Literal["added", "unchanged", "failed"]
Compute: TypeAlias = Callable[..., Mapping[str, pa.Table] | None]
"""Writes the tables of a run; returns them if it still holds them."""

AT_ONCE: Final = 500
"""Runs that one task adds: what is done again if it dies."""
_OUTCOME: Final = pa.schema(
    [pa.field("_place", pa.int64()), *(pa.field(name, pa.string()) for name in ("_name", "_state", "_error"))]
)
_FOUND: Final = pa.schema([*_OUTCOME, *(pa.field(field.name, field.type) for field in RUNS)])
"""What a task reports of a run: its place, the outcome, and its row if that is new (else nulls)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one run; ``error`` is the kind and text of the error of a failed one."""

    run: str
    state: State
    error: str | None = None


def ingest(
    places: Sequence[str | Path | RunFiles],
    warehouse: Path,
    *,
    deadline_s: float,
    spark: SparkSession | None = None,
    large: int = LARGE_BYTES,
) -> list[Outcome]:
    """Add runs to the warehouse, computing the tables of those that have none; outcomes in the order of ``places``.

    A place is a run's directory or a history file.  With ``spark`` the runs are spread over its tasks, which must see
    the same files; those whose history has more than ``large`` bytes are worked on one after the other, each by all
    tasks; and a place may be a URI of any file system that Spark reads.  ``deadline_s`` is each run's.

    An error of one run (bad lines, another version, gone meanwhile) is its outcome.  Raises OSError when the warehouse
    itself cannot be written, FormatError for bad ``baselines.toml``, and JobError when Spark fails.
    """
    warehouse.mkdir(parents=True, exist_ok=True)
    texts = [str(place.root if isinstance(place, RunFiles) else place) for place in places]
    if spark is None:
        parts = [_one(number, text, warehouse, deadline_s) for number, text in enumerate(texts)]
    else:
        parts = _by_spark(spark, texts, warehouse, deadline_s, large)
    found = pa.concat_tables([_FOUND.empty_table(), *parts]).sort_by("_place")
    rows = found.filter(pc.is_valid(found["run"])).select(RUNS.names)
    refresh(warehouse, [rows])
    return [Outcome(*cells) for cells in zip(*(found[name].to_pylist() for name in _OUTCOME.names[1:]), strict=True)]


def is_large(place: str | Path, large: int = LARGE_BYTES) -> bool:
    """Is the history in a local place so large that all tasks should read it?"""
    return staged_size(Path(place)) > large


def _by_spark(spark: SparkSession, texts: list[str], warehouse: Path, deadline_s: float, large: int) -> list[pa.Table]:
    remote = {number: text for number, text in enumerate(texts) if is_remote(text)}
    here = {number: text for number, text in enumerate(texts) if number not in remote}
    big = {number: text for number, text in here.items() if is_large(text, large)}
    small = [(number, text) for number, text in here.items() if number not in big]
    parts: list[pa.Table] = []
    if small:
        frame = spark.createDataFrame(small, "place long, root string").repartition(_tasks(spark, len(small)))
        parts.append(run_action(frame.mapInArrow(_task(warehouse, deadline_s), ddl(_FOUND)).toArrow).cast(_FOUND))
    for number, text in big.items():
        parts.append(_one(number, text, warehouse, deadline_s, _by_all_tasks(spark)))
    return parts + _from_afar(spark, remote, warehouse, deadline_s, large)


def _from_afar(
    spark: SparkSession, places: dict[int, str], warehouse: Path, deadline_s: float, large: int
) -> list[pa.Table]:
    there, missing = look_at(spark, places)
    foreign = [number for number, files in there.items() if is_foreign(spark, places[number], files)]
    runs = {number: files for number, files in there.items() if number not in foreign}
    big = {number: files for number, files in runs.items() if files["history.jsonl"][1] > large}
    small = {number: files for number, files in runs.items() if number not in big}
    parts: list[pa.Table] = []
    if small:
        job = (
            contents(spark, small)
            .groupBy("place")
            .applyInArrow(_remote_task(warehouse, deadline_s, places), ddl(_FOUND))
        )
        parts.append(run_action(job.toArrow).cast(_FOUND))
        gone = set(small) - set(parts[0]["_place"].to_pylist())
        missing |= dict.fromkeys(gone, "FileNotFoundError: it went away meanwhile")
    for number in foreign:

        def add_one(place: str = places[number]) -> tuple[str, pa.Table | None]:
            with copied_here(spark, place) as path, staged(path) as (name, run):
                compute = _by_all_tasks(spark) if is_large(path, large) else written_tables
                return _add(run, name, warehouse, deadline_s, compute)

        parts.append(_attempt(number, places[number], add_one))
    for number, files in big.items():

        def add(place: str = places[number], files: Files = files) -> tuple[str, pa.Table | None]:
            with staged_without_history(spark, place, files) as (run, uri):
                return _add(run, _short(_root(place)), warehouse, deadline_s, _by_all_tasks(spark, history=uri))

        parts.append(_attempt(number, places[number], add))
    return parts + [_describe(n, Outcome(_short(places[n]), "failed", error), None) for n, error in missing.items()]


def _by_all_tasks(spark: SparkSession, **options: Any) -> Compute:
    def compute(run: RunFiles, **more: Any) -> None:
        run_tables(spark, run, **options, **more)

    return compute


def _tasks(spark: SparkSession, runs: int) -> int:
    """How many tasks: a few for each core, so that the last one does not take long."""
    return max(1, min(runs, 4 * spark.sparkContext.defaultParallelism), -(-runs // AT_ONCE))


def _task(warehouse: Path, deadline_s: float) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            places = zip(batch["place"].to_pylist(), batch["root"].to_pylist(), strict=True)
            found = [_one(number, root, warehouse, deadline_s) for number, root in places]
            yield from pa.concat_tables(found).combine_chunks().to_batches()

    return work


def _remote_task(warehouse: Path, deadline_s: float, names: dict[int, str]) -> Callable[[pa.Table], pa.Table]:
    def work(files: pa.Table) -> pa.Table:
        number = files["place"][0].as_py()
        content = dict(zip(files["file"].to_pylist(), files["content"].to_pylist(), strict=True))
        uri = _root(names[number])

        def add() -> tuple[str, pa.Table | None]:
            with staged_bytes(uri, content) as run:
                return _add(run, _short(uri), warehouse, deadline_s, written_tables)

        return _attempt(number, uri, add)

    return work


def _one(number: int, place: str, warehouse: Path, deadline_s: float, compute: Compute = written_tables) -> pa.Table:
    def work() -> tuple[str, pa.Table | None]:
        with staged(Path(place)) as (name, run):
            return _add(run, name, warehouse, deadline_s, compute)

    return _attempt(number, place, work)


def _attempt(number: int, place: str, work: Callable[[], tuple[str, pa.Table | None]]) -> pa.Table:
    try:
        name, row = work()
    except Exception as error:  # noqa: BLE001 (one run must not end the others, whatever it holds)
        return _describe(number, Outcome(_short(place), "failed", f"{type(error).__name__}: {error}"), None)
    return _describe(number, Outcome(name, "unchanged" if row is None else "added"), row)


def _describe(number: int, outcome: Outcome, row: pa.Table | None) -> pa.Table:
    """One row of :data:`_FOUND`."""
    texts = [None if cell is None else clean(cell) for cell in (outcome.run, outcome.state, outcome.error)]
    cells = [pa.array([number]), *(pa.array([text], pa.string()) for text in texts)]
    more = [pa.nulls(1, field.type) for field in RUNS] if row is None else row.columns
    return pa.Table.from_arrays([*cells, *more], schema=_FOUND)


def _root(uri: str) -> str:
    return uri.rstrip("/").removesuffix("/history.jsonl")


def _short(place: str) -> str:
    """The name of a run: the last two parts of its path."""
    short = "/".join(place.rstrip("/").rsplit("/", 2)[-2:])
    return unquote(short) if is_remote(place) else short


def _add(run: RunFiles, name: str, warehouse: Path, deadline_s: float, compute: Compute) -> tuple[str, pa.Table | None]:
    if run.tables.is_dir():
        # They may be of another version, or damaged.
        with contextlib.suppress(FileNotFoundError, FormatError):
            return name, add_tables(warehouse, run, name)
    made = compute(run, model=read_header(run.history).model, deadline_s=deadline_s)
    return name, add_tables(warehouse, run, name, made=made)
