"""Windows against a plain definition of them."""

from __future__ import annotations

import math
from collections import defaultdict

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from history.tables import WINDOWS
from pipeline.windows import window_table

ROW = st.tuples(
    st.sampled_from(["read", "write", "ä"]),
    st.sampled_from(["ok", "fail", "info"]),
    st.integers(0, 3_000_000_000),
    st.one_of(st.none(), st.integers(0, 2_000_000_000)),
)


def table(rows: list[tuple[str, str, int, int | None]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    f, outcome, invoked, latency = columns
    returned = [None if wait is None else begin + wait for begin, wait in zip(invoked, latency, strict=True)]
    schema = pa.schema(
        [("f", pa.string()), ("outcome", pa.string()), ("invoked", pa.int64()), ("returned", pa.int64())]
    )
    return pa.table([list(f), list(outcome), list(invoked), returned], schema=schema)


def by_definition(rows: list[tuple[str, str, int, int | None]]) -> list[dict]:
    groups = defaultdict(list)
    for f, outcome, invoked, latency in rows:
        if latency is not None:
            groups[(invoked + latency) // 10**9, f, outcome].append(latency)
    found = []
    for (second, f, outcome), waits in sorted(groups.items()):
        waits.sort()
        rank = {name: waits[math.ceil(part * len(waits) / 100) - 1] / 1e6 for name, part in
                (("p50_ms", 50), ("p95_ms", 95), ("p99_ms", 99), ("max_ms", 100))}  # fmt: skip
        found.append({"second": second, "f": f, "outcome": outcome, "count": len(waits), **rank})
    return found


@settings(deadline=None)
@given(st.lists(ROW, max_size=200))
def test_against_the_definition(rows) -> None:
    found = window_table(table(rows))
    assert found.schema.equals(WINDOWS, check_metadata=False)
    assert found.to_pylist() == by_definition(rows)


@settings(deadline=None)
@given(st.lists(ROW, max_size=60), st.integers(1, 4))
def test_slices_of_whole_seconds_give_the_same_rows(rows, width: int) -> None:
    parts = defaultdict(list)
    for row in rows:
        parts[(row[2] + (row[3] or 0)) // (width * 10**9)].append(row)
    sliced = [line for part in sorted(parts) for line in window_table(table(parts[part])).to_pylist()]
    assert sliced == by_definition(rows)
