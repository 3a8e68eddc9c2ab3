"""Two attempts at one task, of which Spark takes the first: speculation, or a worker that was taken for lost."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from history import RunFiles
from history.recording import Recording
from history.tables.schemas import TABLES
from pipeline import JobError, local_tables, read_table, run_tables
from pipeline.spark import large
from pipeline.spark.keys import write_numbers
from pipeline.spark.large import Sizes
from pipeline.tables.local import probe_table


def files(root: Path) -> dict[Path, tuple[int, int]]:
    found = {}
    for path in root.rglob("*"):
        with suppress(FileNotFoundError):  # The driver moves some meanwhile.
            if path.is_file():
                found[path] = (path.stat().st_ino, path.stat().st_mtime_ns)
    return found


class Twice:
    """In the place of Spark's context: does each task again when it is done, as if its end had not been seen."""

    defaultParallelism = 2  # noqa: N815 (Spark's own name)

    def __init__(self, root: Path) -> None:
        self.root = root
        self.late: list[Callable[[], Any]] = []

    def parallelize(self, jobs: Iterable[Any], _: int) -> Any:
        def done(work: Callable[[Any], Any]) -> Any:
            return SimpleNamespace(collect=lambda: [self.twice(partial(work, job)) for job in jobs])

        return SimpleNamespace(map=done)

    def twice(self, attempt: Callable[[], Any]) -> Any:
        found, before = attempt(), files(self.root)
        attempt()
        after = files(self.root)
        assert not [path for path in before.keys() & after.keys() if before[path] != after[path]]
        self.late.append(attempt)
        return found


class InTurn(Executor):
    """In the place of the driver's own thread: what a task writes meanwhile is then that task's."""

    def __init__(self, *_: object) -> None:
        pass

    def submit(self, work: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*args, **named))
        return done


def in_this_process(run: RunFiles, there: RunFiles, monkeypatch: pytest.MonkeyPatch) -> Twice:
    """Let ``run_tables`` work on ``there``, a directory with the same history, as Spark would."""
    there.root.mkdir()
    there.history.write_bytes(run.history.read_bytes())
    monkeypatch.setattr(large, "ThreadPoolExecutor", InTurn)
    monkeypatch.setattr(large, "head", lambda *_: run.history.read_bytes())
    return Twice(there.root)


def session(context: Twice) -> Any:
    return SimpleNamespace(sparkContext=context, conf=SimpleNamespace(get=lambda *_: ""))


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let this process write no larger ones, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_named_with_the_file(make_random, tmp_path: Path, monkeypatch) -> None:
    """Whichever file it is that does not fit: a table's, or one that tasks leave for others."""
    run = make_random(1, operations=200)
    there = RunFiles(tmp_path / "there")
    spark = session(in_this_process(run, there, monkeypatch))
    refused = set()
    for size in (0, *(1 << power for power in range(6, 16))):
        with files_of_at_most(size):
            try:
                run_tables(spark, there, model="register", deadline_s=30, sizes=Sizes(piece=1 << 20))
            except OSError as error:
                refused.add(error.filename and Path(error.filename).name)
    assert refused == {"calls.arrow", "part-00000.parquet"}
    with pytest.raises(OSError, match="numbers"), files_of_at_most(0):
        write_numbers(tmp_path / "numbers", np.arange(9))


@pytest.mark.slow
def test_the_second_attempt_at_a_task_changes_nothing_of_the_first(make_random, tmp_path: Path, monkeypatch) -> None:
    run = make_random(1, operations=200)
    local_tables(run, model="register", deadline_s=30)
    there = RunFiles(tmp_path / "there")
    context = in_this_process(run, there, monkeypatch)

    def later(recording: Recording) -> Any:
        """After all tables but these: what still goes on finds nothing to write to."""
        before = files(there.root)
        for attempt in context.late:
            with pytest.raises(JobError, match="cannot see"):
                attempt()
        assert files(there.root) == before
        return probe_table(recording)

    monkeypatch.setattr(large, "probe_table", later)
    run_tables(session(context), there, model="register", deadline_s=30, sizes=Sizes(piece=3000))
    assert len(context.late) > 4
    for name in set(TABLES) - {"verdicts"}:
        assert read_table(there.table(name), name) == read_table(run.table(name), name)
