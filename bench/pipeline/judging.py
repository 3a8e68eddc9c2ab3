"""Measure processor seconds and peak memory of one task that judges keys, in a separate process without Spark.

    python bench/pipeline/judging.py OPERATIONS [--keys 10] [--judged 1] [--limit 2.5]

The history has ``--keys`` keys with OPERATIONS each, and the task judges ``--judged`` of them.  ``--limit`` bounds the
address space (GiB), as Spark does if ``spark.executor.pyspark.memory`` is set.  Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.pipeline.generated_histories import made_operations
from history.columns.pairing import CODED_OPERATIONS
from pipeline.spark.keys import count_keys, found_in, write_by_key
from pipeline.tables.judging import Budget, judge, verdicts_of

BLOCK = 250_000
"""Operations of the history in a block of 64 MiB."""
CROSSING = 4
"""Operations of each block that cross seams, which form a separate part."""


def write_blocks(root: Path, operations: int, keys: int, judged: int) -> None:
    """Write what a task on blocks reads, without the keys that it does not judge."""
    crossing = []
    for begin in range(0, operations * keys, BLOCK):
        number = np.arange(begin, min(begin + BLOCK, operations * keys), dtype=np.int64)
        rows = made_operations(number[number // 2 % keys < judged], keys).cast(CODED_OPERATIONS)
        _write(root / f"{begin:020d}", rows.slice(CROSSING))
        crossing.append(rows.slice(0, CROSSING))
    _write(root / "crossing", pa.concat_tables(crossing).unify_dictionaries().combine_chunks())


def _write(place: Path, operations: pa.Table) -> None:
    place.mkdir()
    write_by_key(place, operations)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("operations", type=int)
    options.add_argument("--keys", type=int, default=10)
    options.add_argument("--judged", type=int, default=1)
    options.add_argument("--limit", type=float)
    options.add_argument("--scratch", default=tempfile.gettempdir())
    chosen = options.parse_args()
    # As in Spark's workers.
    pa.set_memory_pool(pa.system_memory_pool())
    with tempfile.TemporaryDirectory(prefix="harness-bench-", dir=chosen.scratch) as scratch:
        words = (Path(scratch), chosen.operations, chosen.keys, chosen.judged)
        writer = get_context("spawn").Process(target=write_blocks, args=words)
        writer.start()
        writer.join()
        places = sorted(Path(scratch).iterdir())
        if chosen.limit:
            resource.setrlimit(resource.RLIMIT_AS, (int(chosen.limit * (1 << 30)),) * 2)
        before, cpu, began = _peak(), time.process_time(), time.monotonic()
        counts = {row["key"]: row["count"] for row in count_keys(places).to_pylist()}
        budget = Budget.of(3600, len(counts))
        judged, _ = judge(found_in(places, counts), "register", budget)
        figures = {
            "operations": sum(counts.values()), "keys": chosen.keys, "judged": len(counts), "limit GiB": chosen.limit,
            "verdicts": Counter(verdict.verdict for verdict in verdicts_of(judged)),
            "cpu": round(time.process_time() - cpu, 1), "seconds": round(time.monotonic() - began, 1),
            "peak MB": round(_peak() / 1e6), "before MB": round(before / 1e6), "load": round(os.getloadavg()[0], 1),
            "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
            "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        }  # fmt: skip
        print(json.dumps(figures))


def _peak() -> int:
    """Return the greatest resident memory of this process so far (bytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
