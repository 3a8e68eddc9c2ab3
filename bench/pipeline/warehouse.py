"""Files and processor seconds of a warehouse: the first release's layout, a directory a run, beside today's.

    PYTHONPATH=. python bench/pipeline/warehouse.py [--runs 2000] [--scratch DIRECTORY]

Makes a warehouse of the first layout, by links to the tables of one small run, counts its faults by name, lets a
refresh bring it over, counts again, and adds one more run.  Prints one JSON object.
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
import pyarrow.parquet as pq

from bench.pipeline.generated_histories import write_history
from history import RunFiles
from history.tables.metadata import add_metadata
from history.tables.schemas import FAULTS, RUNS, RUNS_VERSION, TABLES
from pipeline import append_run, local_tables, refresh
from pipeline.tables.storage import write_part

OPERATIONS = 200


def small_run(root: Path, operations: int = OPERATIONS) -> RunFiles:
    """A run with tables, and with one fault of each of three names in them."""
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


def first_layout(warehouse: Path, run: RunFiles, runs: int) -> None:
    """Many runs with the same tables, as the first release wrote them: over four years, a row of ``runs`` each."""
    for number in range(runs):
        month = number * 48 // runs
        started = f"{2022 + month // 12}{1 + month % 12:02}01T000000.000Z-{number}"
        place = warehouse / f"run=t%2F{started}"
        for table in TABLES:
            target = place / f"{table}.parquet"
            target.mkdir(parents=True)
            for part in run.table(table).iterdir():
                os.link(part, target / part.name)
        (place / "runs.parquet").mkdir()
        row = row_of(started)
        schema = add_metadata(RUNS, "runs", RUNS_VERSION)
        pq.write_table(pa.Table.from_pylist([row], schema=schema), place / "runs.parquet" / "part-00000.parquet")


def row_of(started: str) -> dict[str, Any]:
    plain = {pa.string(): "", pa.int64(): 0}
    row: dict[str, Any] = {field.name: None if field.nullable else plain[field.type] for field in RUNS}
    lists = {name: "[]" for name, value in row.items() if name.endswith("_ms") and value == ""}
    named = {"run": f"t/{started}", "test": "t", "started": started, "verdict": "valid", "fingerprint": started}
    return {**row, **lists, **named, "operations": OPERATIONS, "ok": OPERATIONS, "written": 1}


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
        first_layout(warehouse, run, words.runs)
        found: dict[str, Any] = {"runs": words.runs, "files_before": files_in(warehouse)}
        before, found["count_before"] = measured(lambda: count_faults(warehouse.glob("run=*/faults.parquet/*.parquet")))
        _, found["brought_over"] = measured(lambda: refresh(warehouse))
        found["files_after"] = files_in(warehouse)
        after, found["count_after"] = measured(lambda: count_faults((warehouse / "tables").glob("faults/*/*.parquet")))
        assert before == after, (before, after)
        _, found["one_more"] = measured(lambda: append_run(warehouse, run))
        print(json.dumps(found))


if __name__ == "__main__":
    main()
