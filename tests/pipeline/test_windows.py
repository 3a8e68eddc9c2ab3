"""Windows against a plain definition of them."""

from __future__ import annotations

import math
from collections import defaultdict

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from history.tables.schemas import SPLITS, WINDOWS
from pipeline.tables.windows import COLUMNS, window_table

Row = tuple[str, str, str | None, str | None, int, int | None]
ROW = st.tuples(
    st.sampled_from(["read", "write", "ä"]),
    st.sampled_from(["ok", "fail", "info"]),
    st.sampled_from(['"a"', "7", None]),
    st.sampled_from(["n1", "n2", "", None]),
    st.integers(0, 3_000_000_000),
    st.one_of(st.none(), st.integers(0, 2_000_000_000)),
)


def table(rows: list[Row]) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in COLUMNS]
    *texts, invoked, latency = columns
    returned = [None if wait is None else begin + wait for begin, wait in zip(invoked, latency, strict=True)]
    kinds = [pa.string()] * 4 + [pa.int64()] * 2
    return pa.table([*texts, invoked, returned], schema=pa.schema(list(zip(COLUMNS, kinds, strict=True))))


def by_definition(rows: list[Row]) -> list[dict]:
    groups = defaultdict(list)
    for f, outcome, key, node, invoked, latency in rows:
        if latency is None:
            continue
        for split in SPLITS:
            by = split.split("+")
            place = ((invoked + latency) // 10**9, split, key if "key" in by else None, node if "node" in by else None)
            groups[(*place, f, outcome)].append(latency)
    found = []
    for group in sorted(groups, key=lambda group: [(cell is not None, 0 if cell is None else cell) for cell in group]):
        waits = sorted(groups[group])
        rank = {name: waits[math.ceil(part * len(waits) / 100) - 1] / 1e6 for name, part in
                (("p50_ms", 50), ("p95_ms", 95), ("p99_ms", 99), ("max_ms", 100))}  # fmt: skip
        names = ("second", "split", "key", "node", "f", "outcome")
        found.append({**dict(zip(names, group, strict=True)), "count": len(waits), **rank})
    return found


@given(st.lists(ROW, max_size=120))
def test_against_the_definition(rows) -> None:
    found = window_table(table(rows))
    assert found.schema.equals(WINDOWS, check_metadata=False)
    assert found.to_pylist() == by_definition(rows)


@given(st.lists(ROW, max_size=60), st.integers(1, 4))
def test_slices_of_whole_seconds_give_the_same_rows(rows, width: int) -> None:
    parts = defaultdict(list)
    for row in rows:
        parts[(row[4] + (row[5] or 0)) // (width * 10**9)].append(row)
    sliced = [line for part in sorted(parts) for line in window_table(table(parts[part])).to_pylist()]
    assert sliced == by_definition(rows)


def test_every_split_counts_every_operation() -> None:
    rows: list[Row] = [("read", "ok", key, node, 0, 5) for key in ("1", "2") for node in ("n1", "n2", None)]
    counts: dict[str, int] = defaultdict(int)
    for row in window_table(table(rows)).to_pylist():
        counts[row["split"]] += row["count"]
    assert counts == dict.fromkeys(SPLITS, 6)
