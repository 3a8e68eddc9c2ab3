"""Add many runs to the warehouse, each on its own: a bad run is reported, and all others are added."""

from __future__ import annotations

import contextlib
import pickle
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import pyarrow as pa

from history import FormatError, RunFiles
from history.recording import Recording
from history.records.layout import LARGE_BYTES
from pipeline.errors import JobError
from pipeline.spark.actions import require_visible, run_action
from pipeline.spark.hadoop_fs import is_remote
from pipeline.spark.large import run_tables
from pipeline.spark.session import is_local
from pipeline.tables.local import local_tables
from pipeline.warehouse.index import refresh
from pipeline.warehouse.landing import HELD_BYTES, Landing
from pipeline.warehouse.remote import Files, contents, look_at, staged_copy, staged_without_history
from pipeline.warehouse.staging import short_name, staged, staged_bytes, staged_size
from pipeline.warehouse.versions import SEEN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

State: TypeAlias = Literal["added", "unchanged", "failed"]
#: A function that writes the tables of a run.
Compute: TypeAlias = Callable[..., object]

#: The most runs that one task adds.  They are all repeated if it dies.  With fewer runs, there are a few tasks for each
#: core.
AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class IngestResult:
    """The outcome of one run; ``error`` is the kind and text of the error if it failed."""

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
) -> list[IngestResult]:
    """Add runs to the warehouse, computing missing tables; return the outcomes in the order of ``places``.

    A place is a run's directory or a history file.  With ``spark``, the runs are spread over its tasks, which must see
    the same files, and a place may be a URI of any file system that Spark reads.  Runs whose history has more than
    ``large`` bytes are processed one after the other, each by all tasks.  ``deadline_s`` applies to each run.

    If one run fails (bad lines, another version, removed in the meantime), the error is its outcome.  Raises OSError if
    the warehouse itself cannot be written, FormatError for bad ``baselines.toml``, and JobError if Spark fails.
    """
    # The tasks of a cluster have other working directories.
    warehouse = warehouse.absolute()
    warehouse.mkdir(parents=True, exist_ok=True)
    given = [str(place.root if isinstance(place, RunFiles) else place) for place in places]
    # A run may be named twice, such as by its directory and by the link to the latest run; it is added once.
    first: dict[str, int] = {}
    same = [first.setdefault(_resolved(text), number) for number, text in enumerate(given)]
    # Another place with the same run name waits until the first one is added: it is the same run, or it is refused.
    rounds: dict[int, dict[int, str]] = {0: {}}
    names = Counter[str]()
    for text, number in first.items():
        name = short_name(text)
        rounds.setdefault(names[name], {})[number] = text
        names[name] += 1
    outcomes: dict[int, IngestResult] = {}
    for texts in rounds.values():
        ours = frozenset(outcome.run for outcome in outcomes.values() if outcome.error is None)
        adder = Adder(warehouse, deadline_s, ours)
        if spark is None:
            adder.add_here(texts)
        else:
            _by_spark(spark, adder, texts, large)
        adder.publish()
        refresh(warehouse)
        outcomes |= adder.outcomes
    ordered = []
    for number, text in enumerate(given):
        outcome = outcomes[same[number]]
        if outcome.error:
            # If it could not be added, report the place as the caller named it.
            outcome = replace(outcome, run=short_name(text))
        elif same[number] < number:
            outcome = replace(outcome, state="unchanged")
        ordered.append(outcome)
    return ordered


def _resolved(place: str) -> str:
    """Return the run's directory or the file to which a place refers."""
    whole = place.rstrip("/") if is_remote(place) else str(Path(place).resolve())
    return whole.removesuffix("/history.jsonl")


class Adder:
    """A writer that adds runs, each on its own, and keeps their outcomes.

    Runs that cannot be published fail together.
    """

    def __init__(self, warehouse: Path, deadline_s: float, ours: Collection[str] = frozenset()) -> None:
        self.warehouse, self.deadline_s = warehouse, deadline_s
        #: Makes another adder with the same arguments, in a task.
        self.another = partial(Adder, warehouse, deadline_s, ours)
        self.outcomes: dict[int, IngestResult] = {}
        self._landing = Landing(warehouse, ours=ours)
        self._held: list[int] = []

    def add_here(self, places: Mapping[int, str], compute: Compute = local_tables, shared: Path | None = None) -> None:
        """Add the runs of local places."""
        for number, place in places.items():
            self.add(number, place, staged(Path(place), shared), compute)

    def add(
        self, number: int, place: str, staging: AbstractContextManager[tuple[str, RunFiles]], compute: Compute
    ) -> None:
        """Add the run that ``staging`` yields; ``compute`` makes its tables if it has no readable ones."""
        try:
            with staging as (name, run):
                added = self._add(Recording(run.root), name, compute)
        except Exception as error:  # noqa: BLE001 (one run must not end the others, whatever it holds)
            self.fail(number, place, f"{type(error).__name__}: {error}")
            return
        self.outcomes[number] = IngestResult(name, "added" if added else "unchanged")
        if added:
            self._held.append(number)
        if self._landing.bytes > HELD_BYTES:
            self.publish()

    def fail(self, number: int, place: str, error: str) -> None:
        """Record that the run in a place was not added."""
        self.outcomes[number] = IngestResult(short_name(place), "failed", error)

    def publish(self) -> None:
        """Publish the runs that are held."""
        held, self._held = self._held, []
        try:
            self._landing.publish()
        except (OSError, FormatError) as error:
            for number in held:
                self.fail(number, self.outcomes[number].run, f"{type(error).__name__}: {error}")

    def _add(self, run: Recording, name: str, compute: Compute) -> bool:
        if run.files.tables.is_dir():
            # Its tables may be from another release, or damaged.
            with contextlib.suppress(FileNotFoundError, FormatError):
                return self._landing.add(run, name)
        compute(run, model=run.header.model, deadline_s=self.deadline_s)
        return self._landing.add(run, name)


def _by_spark(spark: SparkSession, adder: Adder, places: Mapping[int, str], large: int) -> None:
    here = {number: text for number, text in places.items() if not is_remote(text)}
    big = {number: text for number, text in here.items() if staged_size(Path(text)) > large}
    small = [(number, text) for number, text in here.items() if number not in big]
    with tempfile.NamedTemporaryFile(prefix=SEEN, dir=adder.warehouse) as file:
        mark = Path(file.name)
        if small:
            tasks = max(1, min(len(small), 4 * spark.sparkContext.defaultParallelism), -(-len(small) // AT_ONCE))
            task = partial(_add_some, adder.another, mark)
            adder.outcomes |= run_action(spark.sparkContext.parallelize(small, tasks).mapPartitions(task).collect)
        adder.add_here(big, partial(run_tables, spark), _shared(spark, adder))
        afar = {number: text for number, text in places.items() if number not in here}
        _from_afar(spark, adder, afar, large, mark)


def _shared(spark: SparkSession, adder: Adder) -> Path | None:
    """Return where tasks see a run that the driver staged; tasks on other machines see only the warehouse."""
    return None if is_local(spark.sparkContext.master) else adder.warehouse


def _from_afar(spark: SparkSession, adder: Adder, places: dict[int, str], large: int, mark: Path) -> None:
    shared = _shared(spark, adder)
    small: dict[int, Files] = {}
    for number, place in places.items():
        try:
            files = look_at(spark, place)
        except OSError as error:
            adder.fail(number, place, f"{type(error).__name__}: {error}")
            continue
        if files is None:
            adder.add(number, place, staged_copy(spark, place, shared), _by_size(spark, large))
        elif (history := files["history.jsonl"]).size > large:
            staging = staged_without_history(spark, place, files, shared)
            adder.add(number, place, staging, partial(run_tables, spark, history=history.uri))
        else:
            small[number] = files
    _read_by_tasks(spark, adder, places, small, mark)


def _read_by_tasks(
    spark: SparkSession, adder: Adder, places: dict[int, str], runs: Mapping[int, Files], mark: Path
) -> None:
    """Let tasks read the runs.  If that fails, try each half, so that in the end only the bad run is reported."""
    if not runs:
        return
    another = adder.another

    def task(files: pa.Table) -> pa.Table:
        return _add_remote(another, mark, places, files)

    try:
        reports = run_action(contents(spark, runs).groupBy("place").applyInArrow(task, "outcomes binary").collect)
    except JobError as error:
        numbers = list(runs)
        if len(numbers) == 1:
            place = places[numbers[0]]
            adder.fail(numbers[0], place, f"JobError: {place}: {error}")
            return
        for half in (numbers[::2], numbers[1::2]):
            _read_by_tasks(spark, adder, places, {number: runs[number] for number in half}, mark)
        return
    for row in reports:
        outcomes = pickle.loads(row.outcomes)  # noqa: S301 (our own tasks wrote it)
        if isinstance(outcomes, JobError):
            raise outcomes
        adder.outcomes |= outcomes
    for number in set(runs) - set(adder.outcomes):
        adder.fail(number, places[number], "FileNotFoundError: it was removed in the meantime")


def _by_size(spark: SparkSession, large: int) -> Compute:
    """Return a function that computes a run's tables by all tasks if its history has more than ``large`` bytes."""

    def compute(run: Recording, **options: Any) -> object:
        small = run.files.history.stat().st_size <= large
        return local_tables(run, **options) if small else run_tables(spark, run, **options)

    return compute


def _add_some(another: Callable[[], Adder], mark: Path, places: Iterable[tuple[int, str]]) -> Iterable[Any]:
    require_visible(mark)
    adder = another()
    adder.add_here(dict(places))
    adder.publish()
    return adder.outcomes.items()


def _add_remote(another: Callable[[], Adder], mark: Path, names: dict[int, str], files: pa.Table) -> pa.Table:
    try:
        require_visible(mark)
    except JobError as error:
        # The run itself is not at fault, so this is not its outcome.
        return pa.table({"outcomes": [pickle.dumps(error)]})
    number = files["place"][0].as_py()
    content = dict(zip(files["file"].to_pylist(), files["content"].to_pylist(), strict=True))
    adder = another()
    adder.add(number, names[number], staged_bytes(names[number], content), local_tables)
    adder.publish()
    return pa.table({"outcomes": [pickle.dumps(adder.outcomes)]})
