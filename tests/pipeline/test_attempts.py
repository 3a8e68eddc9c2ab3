"""Two attempts at one task, of which Spark takes the first: speculation, or a worker that was taken for lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from history import RunFiles
from history.tables.schemas import TABLES
from pipeline import JobError, local_tables, read_table, run_tables
from pipeline.spark import large
from pipeline.spark.large import Sizes
from pipeline.tables.sources import probe_batches


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


@pytest.mark.slow
def test_the_second_attempt_at_a_task_changes_nothing_of_the_first(make_random, tmp_path: Path, monkeypatch) -> None:
    run = make_random(1, operations=200)
    local_tables(run, model="register", deadline_s=30)
    there = RunFiles(tmp_path / "there")
    there.root.mkdir()
    there.history.symlink_to(run.history)
    context = Twice(there.root)
    spark: Any = SimpleNamespace(sparkContext=context, conf=SimpleNamespace(get=lambda *_: ""))

    def later(path: Path) -> Any:
        """After all tables but these: what still goes on finds nothing to write to."""
        before = files(there.root)
        for attempt in context.late:
            with pytest.raises(JobError, match="does not see"):
                attempt()
        assert files(there.root) == before
        return probe_batches(path)

    monkeypatch.setattr(large, "ThreadPoolExecutor", InTurn)
    monkeypatch.setattr(large, "probe_batches", later)
    monkeypatch.setattr(large, "head", lambda *_: run.history.read_bytes())
    run_tables(spark, there, model="register", deadline_s=30, sizes=Sizes(piece=3000))
    assert len(context.late) > 4
    for name in set(TABLES) - {"verdicts"}:
        assert read_table(there.table(name), name) == read_table(run.table(name), name)
