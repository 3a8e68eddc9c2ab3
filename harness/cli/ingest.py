"""``harness ingest``: add runs to the warehouse and report regressions."""

from __future__ import annotations

import stat
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from harness.cli.completion import complete_runs
from harness.cli.shared_options import file_options, spark_option, spark_options, store_option
from harness.errors import StoreError, UsageError
from harness.execution.progress import Progress
from harness.exits import EXIT_FAILURE
from harness.spark_choice import SparkChoice, choose, session_for
from history.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.files import FileCheckOptions
    from pipeline import IngestResult

#: The exit code if a history file cannot be judged, and so was not added to the warehouse.
EXIT_UNJUDGED: Final = 1


@click.command("ingest")
@click.argument("places", nargs=-1, metavar="[RUN|FILE|URI]...", shell_complete=complete_runs)
@file_options
@spark_option
@spark_options
@store_option
def ingest(
    places: tuple[str, ...],
    asked: FileCheckOptions,
    spark: bool | None,
    spark_master: str,
    spark_conf: dict[str, str],
    store: Path,
) -> int:
    """Add runs to the store's warehouse: directories, history files, or URIs of any file system that Spark reads.

    Without arguments, add all runs of the store. Runs that are already there stay unchanged. A run that cannot be read
    is reported, and all others are added. A history file that does not fit its model cannot be judged and counts as
    failed. Open regressions are printed at the end.
    """
    require("report")
    from history import FormatError
    from history.records.layout import WAREHOUSE
    from pipeline import PipelineError
    from pipeline import ingest as bring
    from pipeline.spark.hadoop_fs import is_remote
    from pipeline.warehouse.staging import staged_size

    chosen = [_place(place, store) for place in places] or _runs_of(store)
    remote = any(map(is_remote, chosen))
    if spark is False and remote:
        raise UsageError("--no-spark: only Spark can read a URI")
    by_size = choose([staged_size(Path(place)) for place in chosen], spark)
    choice = SparkChoice(spark=True, why="only Spark can read a URI") if remote else by_size
    if choice.spark:
        require("spark")
    Progress().say(f"working {choice}")
    try:
        with (
            session_for(choice, spark_master, app="harness ingest", settings=spark_conf) as session,
            _by_conventions(chosen, asked, store) as (plain, failed),
        ):
            brought = bring(plain, store / WAREHOUSE, deadline_s=asked.deadline_s, spark=session)
    except (FormatError, PipelineError) as error:
        raise StoreError(f"the runs were not added to the warehouse: {error}") from None
    _print([*failed, *brought], store / WAREHOUSE)
    return EXIT_UNJUDGED if failed else EXIT_FAILURE if any(result.error for result in brought) else 0


@contextmanager
def _by_conventions(
    places: Sequence[str], options: FileCheckOptions, store: Path
) -> Iterator[tuple[list[str], list[IngestResult]]]:
    """Yield the places, with history files replaced by plain copies where necessary, and the files that failed.

    The copies last as long as the block.  Large files that need no conventions applied are ingested as they are, in
    pieces.
    """
    from harness.files import needs_convention, write_plainly
    from harness.store import is_history_file
    from pipeline import IngestResult
    from pipeline.spark.hadoop_fs import is_remote

    plain, failed = [], []
    store.mkdir(parents=True, exist_ok=True)
    # The copies go next to the warehouse, which all workers of a Spark cluster can read.
    with tempfile.TemporaryDirectory(prefix=".ingest-", dir=store) as directory:
        for number, place in enumerate(places):
            path = Path(place)
            is_file = not is_remote(place) and is_history_file(place) and path.name != "history.jsonl"
            if not is_file or not (options.given() or needs_convention(path)):
                plain.append(place)
                continue
            # The last two parts of the path become the run's name.
            target = Path(directory, str(number), path.resolve().parent.name or "-", path.name)
            target.parent.mkdir(parents=True)
            try:
                write_plainly(path, options, target)
            except (UsageError, OSError) as error:
                failed.append(IngestResult(f"{target.parent.name}/{path.name}", "failed", str(error)))
            else:
                plain.append(str(target))
        yield plain, failed


def _place(text: str, store: Path) -> str:
    """Return a URI or a history file unchanged, or else the path of the run with that name.

    Raises UsageError if there is none.
    """
    from harness.files import file_type
    from harness.jepsen_store import history_in
    from harness.store import find_run, is_history_file, require_ended, require_history
    from pipeline.spark.hadoop_fs import is_remote

    if is_remote(text):
        return text
    if is_history_file(text) and file_type(Path(text)) != stat.S_IFIFO:
        return str(history_in(Path(text)) or text)
    run = find_run(text, store)
    require_ended(run)
    require_history(run)
    return str(run.root)


def _runs_of(store: Path) -> list[str]:
    """Return all runs of a store, except those still running and those that ended before their first operation."""
    from harness.store import has_history, require_store
    from history.under_way import is_under_way
    from reports.load.store_index import runs_of

    require_store(store)
    roots = [files.root for files in runs_of(store) if has_history(files)]
    going = {root for root in roots if is_under_way(root)}
    for root in sorted(going):
        Progress().say(f"{root.parent.name}/{root.name}: still running, skipped")
    return sorted(str(root) for root in roots if root not in going)


def _print(outcomes: Sequence[IngestResult], warehouse: Path) -> None:
    from history.metrics.regressions import open_regressions
    from history.tables.warehouse import read_trends

    out = Progress()
    for outcome in outcomes:
        if outcome.error is not None:
            out.say(f"{outcome.run}: {outcome.error}")
    counts = Counter(outcome.state for outcome in outcomes)
    out.result(", ".join(f"{counts[state]} {state}" for state in ("added", "unchanged", "failed")) + f": {warehouse}")
    for trend in read_trends(warehouse).to_pylist():
        for regression in open_regressions(trend["regressions"]):
            out.result(f"worse: {regression}")
