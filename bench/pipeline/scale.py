"""Measure events per second and peak memory of the pipeline, by the size of its input.

    python bench/pipeline/scale.py CASE [--sizes 100000 1000000] [--master local[2]] [--memory 2g] [--to results.json]

CASE is one of

    one-key     a table of operations on one key in Parquet -> its verdict, by distributed zones
    history     a history.jsonl on ten keys -> all tables of the run
    keys        the same on a hundred keys
    runs        as many small runs (200 operations each) -> a warehouse with their tables, rows and trends

Prints one JSON object for each size and appends it to the results.  Memory is the highest resident sum of the JVM, its
Python workers and this process, sampled ten times a second.  Pages that they share count more than once.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.pipeline.generated_histories import write_history, write_operations
from history import RunFiles
from pipeline import ingest, run_tables, start_session
from pipeline.spark.big_keys import judge_big_keys
from pipeline.spark.warm import family
from tests.support.pipeline.jvm import jvm_pid

SMALL = 200
LINKS = 10_000


class Peak:
    """The greatest resident memory (bytes) of this process, the JVM and its descendants; their processor seconds."""

    def __init__(self, jvm: int) -> None:
        self.bytes, self.driver = 0, 0
        self._jvm = jvm
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._cpu = self._spent()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self.cpu = self._spent() - self._cpu

    def _pids(self) -> list[int]:
        return [os.getpid(), *family(self._jvm)]

    def _spent(self) -> float:
        return sum(_cpu(pid) for pid in self._pids())

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            own, *others = map(_resident, self._pids())
            self.bytes, self.driver = max(self.bytes, own + sum(others)), max(self.driver, own)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _cpu(pid: int) -> float:
    """Return the CPU seconds of a process and of those of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def one_key(spark: Any, scratch: Path, operations: int) -> tuple[int, Callable[[], None]]:
    path = scratch / f"operations-{operations}.parquet"
    write_operations(path, operations, 1)

    def work() -> None:
        verdicts = judge_big_keys(spark, spark.read.parquet(str(path)))
        assert [verdict.verdict for verdict in verdicts] == ["valid"], verdicts

    return 2 * operations, work


def one_history(keys: int) -> Callable[[Any, Path, int], tuple[int, Callable[[], None]]]:
    def prepare(spark: Any, scratch: Path, operations: int) -> tuple[int, Callable[[], None]]:
        run = RunFiles(scratch / f"run-{operations}")
        run.root.mkdir()
        write_history(run.history, operations, keys)

        def work() -> None:
            tables = run_tables(spark, run, model="register", deadline_s=600)
            assert {verdict.verdict for verdict in tables.key_verdicts} == {"valid"}

        return 2 * operations, work

    return prepare


def many_runs(spark: Any, scratch: Path, runs: int) -> tuple[int, Callable[[], None]]:
    root = scratch / f"store-{runs}" / "made"
    root.mkdir(parents=True)
    places: list[Path] = []
    for number in range(runs):
        place = root / f"{number:06d}"
        place.mkdir()
        # Hard links, as many as a file system allows of one file.
        if number % LINKS == 0:
            write_history(place / "history.jsonl", SMALL, 5)
        else:
            os.link(places[number - number % LINKS] / "history.jsonl", place / "history.jsonl")
        places.append(place)

    def work() -> None:
        outcomes = ingest(places, root.parent / "warehouse", deadline_s=60, spark=spark)
        assert {outcome.state for outcome in outcomes} == {"added"}, outcomes[0]

    return 2 * SMALL * runs, work


CASES = {"one-key": one_key, "history": one_history(10), "keys": one_history(100), "runs": many_runs}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("case", choices=list(CASES))
    options.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    options.add_argument("--master", default="local[2]")
    options.add_argument("--memory", default="2g")
    options.add_argument("--scratch", default=tempfile.gettempdir())
    options.add_argument("--to", type=Path)
    chosen = options.parse_args()
    spark = start_session(chosen.master, app="bench", memory=chosen.memory)
    with tempfile.TemporaryDirectory(prefix="harness-bench-", dir=chosen.scratch) as scratch:
        first = Path(scratch, "first")
        first.mkdir()
        _, warm = CASES[chosen.case](spark, first, 50 if chosen.case == "runs" else 1000)
        warm()
        for size in chosen.sizes:
            events, work = CASES[chosen.case](spark, Path(scratch), size)
            with Peak(jvm_pid(spark)) as peak:
                began, load = time.monotonic(), os.getloadavg()[0]
                work()
                seconds = time.monotonic() - began
            figures = {
                "case": chosen.case, "size": size, "seconds": round(seconds, 2), "cpu": round(peak.cpu, 1),
                "events a second": round(events / seconds), "peak GB": round(peak.bytes / 1e9, 2),
                "driver GB": round(peak.driver / 1e9, 2), "heap": chosen.memory, "load before": round(load, 1),
                "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}", "master": chosen.master,
                "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
            }  # fmt: skip
            print(json.dumps(figures), flush=True)
            if chosen.to:
                before = json.loads(chosen.to.read_text()) if chosen.to.exists() else []
                chosen.to.write_text(json.dumps([*before, figures], indent=1) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
