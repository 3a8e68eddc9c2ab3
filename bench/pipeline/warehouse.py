"""Measure the files and the processor seconds of a warehouse of many runs.

    PYTHONPATH=. python bench/pipeline/warehouse.py [--runs 2000] [--scratch DIRECTORY]

Adds one small run to a new warehouse under many names, refreshes the warehouse, counts its files and the faults in it,
and adds one more run.  Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from bench.pipeline.generated_histories import write_history
from history import RunFiles
from history.recording import Recording
from history.tables.schemas import FAULTS
from pipeline import append_run, local_tables, refresh
from pipeline.tables.storage import write_part
from pipeline.warehouse.landing import Landing

OPERATIONS = 200


def small_run(root: Path, operations: int = OPERATIONS) -> RunFiles:
    """Make a run with tables that has one fault of each of three names."""
    run = RunFiles(root)
    run.root.mkdir(parents=True)
    write_history(run.history, operations, 10)
    local_tables(run, model="register", deadline_s=60)
    empty = dict.fromkeys(FAULTS.names)
    rows = [
        {**empty, "id": number, "fault": name, "state": "installed", "started": number * 10**9}
        for number, name in enumerate(("kill", "pause", "partition"))
    ]
    for row in rows:
        for field in FAULTS:
            if not field.nullable and row[field.name] is None:
                row[field.name] = [] if pa.types.is_list(field.type) else "[]"
    (run.tables / "manifest.json").unlink()
    write_part(run.tables, "faults", [pa.Table.from_pylist(rows, schema=FAULTS)])
    return run


def many_runs(warehouse: Path, run: RunFiles, runs: int) -> None:
    """Add one run under many names, over four years."""
    landing, recording = Landing(warehouse), Recording(run.root)
    for number in range(runs):
        month = number * 48 // runs
        landing.add(recording, f"t/{2022 + month // 12}{1 + month % 12:02}01T000000.000Z-{number}")
    landing.publish()
    refresh(warehouse)


def count_faults(files: Iterable[Path]) -> Counter[str]:
    table = ds.dataset([str(path) for path in files]).to_table(columns=["fault"])
    return Counter(table["fault"].to_pylist())


def measured(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    begin, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, {"s": round(time.perf_counter() - begin, 3), "cpu_s": round(time.process_time() - cpu, 3)}


def files_in(directory: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(directory))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--scratch", type=Path, default=None)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=words.scratch) as scratch:
        warehouse = Path(scratch, "warehouse")
        run = small_run(Path(scratch, "store", "t", "20260101T000000.000Z-1"))
        found: dict[str, Any] = {"runs": words.runs}
        _, found["brought"] = measured(lambda: many_runs(warehouse, run, words.runs))
        found["files"] = files_in(warehouse)
        _, found["count"] = measured(lambda: count_faults((warehouse / "tables").glob("faults/*/*.parquet")))
        _, found["one_more"] = measured(lambda: append_run(warehouse, run))
        print(json.dumps(found))


if __name__ == "__main__":
    main()
