"""Events a second and peak memory of the pipeline's steps on one long history, from Parquet to verdict.

    python bench/pipeline/scale.py [--operations 100000 1000000] [--master local[2]] [--memory 3g]

One key, unique writes, ten clients; the operations are made as columns and written to Parquet first.  Prints one JSON
object a size: seconds for the distributed zones, and the greatest resident memory of the JVM with its workers.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from history.tables import OPERATIONS
from pipeline import start_session
from pipeline.big_keys import judge_big_keys
from pipeline.warm import family, jvm_pid

CLIENTS = 10
BATCH = 1_000_000


def write_history(path: Path, operations: int) -> None:
    """A valid history: operation i is invoked at 2i and returns 2 CLIENTS - 1 later; all take effect when they
    return, and every read answers the write before it."""
    path.mkdir()
    for part, begin in enumerate(range(0, operations, BATCH)):
        number = np.arange(begin, min(begin + BATCH, operations), dtype=np.int64)
        writes = number % 2 == 0
        invoke, done = 2 * number, 2 * number + 2 * CLIENTS - 1
        text = pa.array(number).cast(pa.string()).to_pylist()
        written = pa.array(number - number % 2).cast(pa.string())
        columns = {
            "invoke_index": invoke, "return_index": done, "process": number % CLIENTS,
            "f": pa.array(np.where(writes, "write", "read")), "key": pa.array(['"k"'] * len(number)),
            "value": pa.array([value if wrote else "null" for value, wrote in zip(text, writes, strict=True)]),
            "result": written,
            "outcome": pa.array(["ok"] * len(number)), "invoked": invoke * 1000, "returned": done * 1000,
            "node": pa.array(["n1"] * len(number)), "error": pa.nulls(len(number), pa.string()),
            "phase": pa.array(["main"] * len(number)),
        }  # fmt: skip
        table = pa.table({name: columns[name] for name in OPERATIONS.names})
        pq.write_table(table, path / f"part-{part:05d}.parquet")


class Peak:
    """The greatest resident memory (bytes) of a process and its descendants, looked at ten times a second."""

    def __init__(self, pid: int) -> None:
        self.bytes = 0
        self._pid = pid
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        while not self._done.wait(0.1):
            total = 0
            for pid in family(self._pid):
                try:
                    total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
                except FileNotFoundError:
                    continue
            self.bytes = max(self.bytes, total)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--operations", type=int, nargs="+", default=[100_000, 1_000_000])
    options.add_argument("--master", default="local[2]")
    options.add_argument("--memory", default="3g")
    chosen = options.parse_args()
    spark = start_session(chosen.master, app="bench", memory=chosen.memory)
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as scratch:
        for operations in chosen.operations:
            path = Path(scratch) / f"operations-{operations}.parquet"
            write_history(path, operations)
            with Peak(jvm_pid(spark)) as peak:
                began, load = time.monotonic(), os.getloadavg()[0]
                verdicts = judge_big_keys(spark, spark.read.parquet(str(path)))
                seconds = time.monotonic() - began
            assert [verdict.verdict for verdict in verdicts] == ["valid"], verdicts
            figures = {
                "operations": operations,
                "seconds": round(seconds, 2),
                "events a second": round(2 * operations / seconds),
                "peak GB": round(peak.bytes / 1e9, 2),
                "load": [round(load, 1), round(os.getloadavg()[0], 1)],
            }
            print(json.dumps(figures), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
