"""Many runs into the warehouse: each for itself, so that a bad one is named and all others are done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import pyarrow as pa

from history import RunFiles
from history.tables import RUNS
from pipeline.actions import run_action
from pipeline.index import refresh
from pipeline.jobs import LARGE_BYTES, run_tables
from pipeline.local import local_tables
from pipeline.places import is_remote
from pipeline.remote import Files, contents, look_at, staged_without_history
from pipeline.sources import read_header
from pipeline.staging import staged, staged_bytes
from pipeline.storage import is_current
from pipeline.trends import spark_trends
from pipeline.warehouse import bring

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

State: TypeAlias = Literal["added", "unchanged", "failed"]
_Found: TypeAlias = tuple["Outcome", dict[str, Any] | None]
_REPORT: Final = "place long, report string"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one run; ``error`` is the kind and text of what was wrong with a failed one."""

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
    """Bring runs into the warehouse, computing the tables of those that have none; outcomes in the order of ``places``.

    A place is a run's directory or a history file.  With ``spark`` the runs are spread over its tasks, which must see
    the same files; those whose history has more than ``large`` bytes are worked on one after the other, each by all
    tasks; and a place may be a URI of any file system that Spark reads.  ``deadline_s`` is each run's.

    Whatever is wrong with a run (bad lines, another version, gone meanwhile) is its outcome; raises only OSError when
    the warehouse itself cannot be made, and JobError when Spark fails.
    """
    warehouse.mkdir(parents=True, exist_ok=True)
    texts = [str(place.root if isinstance(place, RunFiles) else place) for place in places]
    if spark is None:
        found = {number: _one(text, warehouse, deadline_s) for number, text in enumerate(texts)}
    else:
        found = _by_spark(spark, texts, warehouse, deadline_s, large)
    rows = [row for _, row in found.values() if row is not None]
    refresh(
        warehouse,
        [pa.Table.from_pylist(rows, schema=RUNS)],
        *([partial(spark_trends, spark)] if spark is not None else []),
    )
    return [found[number][0] for number in range(len(texts))]


def _by_spark(
    spark: SparkSession, texts: list[str], warehouse: Path, deadline_s: float, large: int
) -> dict[int, _Found]:
    remote = {number: text for number, text in enumerate(texts) if is_remote(text)}
    here = {number: text for number, text in enumerate(texts) if number not in remote}
    big = {number: text for number, text in here.items() if _size(Path(text)) > large}
    small = [(number, text) for number, text in here.items() if number not in big]
    found: dict[int, _Found] = {}
    if small:
        frame = spark.createDataFrame(small, "place long, root string").repartition(_tasks(spark, len(small)), "place")
        task = _task(warehouse, deadline_s)
        found |= _reports(run_action(frame.mapInArrow(task, _REPORT).collect))
    for number, text in big.items():
        compute = partial(run_tables, spark, deadline_s=deadline_s, large=large)
        found[number] = _one(text, warehouse, deadline_s, compute)
    return found | _from_afar(spark, remote, warehouse, deadline_s, large)


def _from_afar(
    spark: SparkSession, places: dict[int, str], warehouse: Path, deadline_s: float, large: int
) -> dict[int, _Found]:
    runs, missing = look_at(spark, places)
    big = {number: files for number, files in runs.items() if files["history.jsonl"][1] > large}
    small = {number: files for number, files in runs.items() if number not in big}
    found: dict[int, _Found] = {}
    if small:
        job = contents(spark, small).groupBy("place")
        found |= _reports(run_action(job.applyInArrow(_remote_task(warehouse, deadline_s, places), _REPORT).collect))
        missing |= dict.fromkeys(set(small) - set(found), "FileNotFoundError: it went away meanwhile")
    for number, files in big.items():

        def add(place: str = places[number], files: Files = files) -> tuple[str, dict[str, Any] | None]:
            with staged_without_history(spark, place, files) as (run, uri):
                compute = partial(run_tables, spark, history=uri)
                return _add(run, _short(_root(place)), warehouse, deadline_s, compute)

        found[number] = _attempt(places[number], add)
    return found | {n: (Outcome(_short(places[n]), "failed", error), None) for n, error in missing.items()}


def _size(place: Path) -> int:
    history = place if place.is_file() else place / "history.jsonl"
    try:
        return history.stat().st_size
    except OSError:
        return 0


def _tasks(spark: SparkSession, runs: int) -> int:
    return max(1, min(runs, 4 * spark.sparkContext.defaultParallelism))


def _task(warehouse: Path, deadline_s: float) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = [_one(root, warehouse, deadline_s) for root in batch["root"].to_pylist()]
            yield pa.record_batch({"place": batch["place"], "report": pa.array(map(_report, found), pa.string())})

    return work


def _remote_task(warehouse: Path, deadline_s: float, names: dict[int, str]) -> Callable[[pa.Table], pa.Table]:
    def work(files: pa.Table) -> pa.Table:
        number = files["place"][0].as_py()
        content = dict(zip(files["file"].to_pylist(), files["content"].to_pylist(), strict=True))
        uri = _root(names[number])

        def add() -> tuple[str, dict[str, Any] | None]:
            with staged_bytes(uri, content) as run:
                return _add(run, _short(uri), warehouse, deadline_s, local_tables)

        return pa.table({"place": [number], "report": [_report(_attempt(uri, add))]})

    return work


def _report(found: _Found) -> str:
    outcome, row = found
    return json.dumps([outcome.run, outcome.state, outcome.error, row])


def _reports(rows: Sequence[Any]) -> dict[int, _Found]:
    found: dict[int, _Found] = {}
    for row in rows:
        run, state, error, line = json.loads(row.report)
        found[int(row.place)] = (Outcome(run, state, error), line)
    return found


def _one(place: str, warehouse: Path, deadline_s: float, compute: Callable[..., Any] = local_tables) -> _Found:
    def work() -> tuple[str, dict[str, Any] | None]:
        with staged(Path(place)) as (name, run):
            return _add(run, name, warehouse, deadline_s, compute)

    return _attempt(place, work)


def _attempt(place: str, work: Callable[[], tuple[str, dict[str, Any] | None]]) -> _Found:
    try:
        name, row = work()
    except Exception as error:  # noqa: BLE001 (one run must not end the others, whatever it holds)
        return Outcome(_short(place), "failed", f"{type(error).__name__}: {error}"), None
    return Outcome(name, "unchanged" if row is None else "added"), row


def _root(uri: str) -> str:
    return uri.rstrip("/").removesuffix("/history.jsonl")


def _short(place: str) -> str:
    return "/".join(place.rstrip("/").rsplit("/", 2)[-2:])


def _add(
    run: RunFiles, name: str, warehouse: Path, deadline_s: float, compute: Callable[..., Any]
) -> tuple[str, dict[str, Any] | None]:
    if not is_current(run.tables):
        compute(run, model=read_header(run.history).model, deadline_s=deadline_s)
    row = bring(warehouse, run, name)
    return name, None if row is None else row.to_pylist()[0]
