"""Histories of any length, made as columns: valid, ten clients, unique writes, every read returns the write before it.

Operation i is invoked at place 2i and returns at place 2i + 2 CLIENTS - 1, where it takes effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from history.tables.schemas import OPERATIONS

CLIENTS = 10
BATCH = 500_000
#: 20,000 operations a second.
PLACE_NS = 25_000
HEADER = '{"format":"harness-history","version":1,"test":"made","model":"register"}\n'

Numbers = npt.NDArray[np.int64]


def write_operations(path: Path, operations: int, keys: int) -> None:
    """Write a table of operations in the form of ``operations.parquet``."""
    path.mkdir()
    for part, begin in enumerate(range(0, operations, BATCH)):
        number = np.arange(begin, min(begin + BATCH, operations), dtype=np.int64)
        pq.write_table(made_operations(number, keys), path / f"part-{part:05d}.parquet")


def made_operations(number: Numbers, keys: int) -> pa.Table:
    """Return the operations with the given numbers from a history with the given number of keys."""
    rows = len(number)
    invoke, done = 2 * number, 2 * number + 2 * CLIENTS - 1
    columns = {
        "invoke_index": invoke, "return_index": done, "process": number % CLIENTS, "f": _f(number),
        "key": _key(number, keys), "value": _asked(number), "result": _written(number),
        "outcome": pa.repeat("ok", rows), "invoked": invoke * PLACE_NS, "returned": done * PLACE_NS,
        "node": pa.repeat("n1", rows), "error": pa.nulls(rows, pa.string()), "phase": pa.repeat("main", rows),
        "intended": invoke * PLACE_NS,
    }  # fmt: skip
    return pa.table({name: columns[name] for name in OPERATIONS.names}, schema=OPERATIONS)


def write_history(path: Path, operations: int, keys: int) -> None:
    """Write the same history as a ``history.jsonl``."""
    index = 0
    with path.open("w") as file:
        file.write(HEADER)
        for begin in range(0, 2 * (operations + CLIENTS), BATCH):
            place = np.arange(begin, begin + BATCH, dtype=np.int64)
            invokes = place % 2 == 0
            number = np.where(invokes, place // 2, (place - 2 * CLIENTS + 1) // 2)
            there = (number >= 0) & (number < operations)
            place, invokes, number = place[there], invokes[there], number[there]
            lines = _lines(index, place, invokes, number, keys)
            file.writelines(lines)
            index += len(place)


def _lines(index: int, place: Numbers, invokes: npt.NDArray[np.bool_], number: Numbers, keys: int) -> Iterator[str]:
    asked = pc.if_else(pa.array(invokes), _asked(number), _written(number))
    parts = [
        '{"index":', _text(np.arange(index, index + len(place))), ',"time":', _text(place * PLACE_NS), ',"type":"',
        pc.if_else(pa.array(invokes), "invoke", "ok"), '","process":', _text(number % CLIENTS), ',"f":"', _f(number),
        '","key":', _key(number, keys), ',"value":', asked, ',"node":"n1","phase":"main"}\n', "",
    ]  # fmt: skip
    yield from pc.binary_join_element_wise(*parts).to_pylist()


def _text(numbers: Numbers) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


def _f(number: Numbers) -> pa.Array:
    return pc.if_else(pa.array(number % 2 == 0), "write", "read")


def _key(number: Numbers, keys: int) -> pa.Array:
    return pc.binary_join_element_wise('"k', _text(number // 2 % keys), '"', "")


def _asked(number: Numbers) -> pa.Array:
    return pc.if_else(pa.array(number % 2 == 0), _text(number), "null")


def _written(number: Numbers) -> pa.Array:
    return _text(number - number % 2)
