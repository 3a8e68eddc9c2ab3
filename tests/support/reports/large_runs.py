"""A run with any number of operations, made in seconds from a small run by replacing its table of operations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from history import RunFiles
from history.tables.schemas import OPERATIONS
from tests.support.reports.runs import make
from tests.support.reports.shapes import NODES, Shape

CLIENTS = 50
SECONDS = 200
#: Parts of the operations that end so.
INFO, FAIL = 0.0002, 0.01


def make_large(root: Path, operations: int) -> RunFiles:
    """Make a valid run with this many reads and writes by fifty clients within 200 s.

    The history holds a sample of them.
    """
    files = make(root, Shape(operations=6_000, rate=6_000 / SECONDS, fault="all"))
    parts = files.table("operations")
    parts.mkdir(parents=True)
    pq.write_table(_table(operations), parts / "0.parquet")
    return files


def _table(count: int) -> pa.Table:
    rng = np.random.default_rng(7)
    each = count // CLIENTS
    slot = SECONDS * 10**9 // each
    begin = (np.arange(each) * slot)[:, None] + rng.integers(0, slot // 4, (each, CLIENTS))
    took = np.clip(rng.exponential(slot / 8, (each, CLIENTS)), slot / 50, slot / 2).astype(np.int64)
    outcome = rng.choice(3, (each, CLIENTS), p=[1 - INFO - FAIL, FAIL, INFO])
    process = np.arange(CLIENTS) + CLIENTS * np.cumsum(np.roll(outcome == 2, 1, axis=0), axis=0)
    order = np.argsort(begin, axis=None, kind="stable")
    invoked, outcome = begin.ravel()[order], outcome.ravel()[order]
    returned, process = invoked + took.ravel()[order], process.ravel()[order]
    place = np.empty(2 * count, dtype=np.int64)
    place[np.argsort(np.concatenate([invoked, returned]), kind="stable")] = np.arange(2 * count)
    write = rng.random(count) < 0.5
    values = np.where(write, np.arange(count), 0)
    texts = {
        "f": pa.DictionaryArray.from_arrays(write.astype(np.int8), ["read", "write"]),
        "key": _coded(rng.integers(0, 20, count), [f'"k{number}"' for number in range(20)]),
        "outcome": _coded(outcome, ["ok", "fail", "info"]),
        "node": _coded(rng.integers(0, len(NODES), count), list(NODES)),
        "error": pa.DictionaryArray.from_arrays(
            pa.array(np.maximum(outcome - 1, 0), mask=outcome == 0),
            ["404 NOT_LEADER: before append", "no answer in 2 s"],
        ),
        "phase": _coded(np.searchsorted([5 * 10**9, 195 * 10**9], invoked), ["warm-up", "main", "final"]),
    }
    numbers = pa.array(values).cast(pa.string())
    columns = {
        "invoke_index": pa.array(place[:count]),
        "return_index": pa.array(place[count:]),
        "process": pa.array(process),
        "invoked": pa.array(invoked),
        "returned": pa.array(returned),
        "value": numbers,
        "result": pa.array(values, mask=outcome != 0).cast(pa.string()),
        "intended": pa.nulls(count, pa.int64()),
        **{name: column.cast(pa.string()) for name, column in texts.items()},
    }
    plain = pa.schema([pa.field(field.name, field.type) for field in OPERATIONS])
    return pa.table([columns[field.name] for field in plain], schema=plain)


def _coded(codes: np.ndarray, names: list[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8)), names)
