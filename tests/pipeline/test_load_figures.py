"""What the clients got done, against a plain definition, and batch by batch."""

from __future__ import annotations

import math
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from history.metrics.awake_clock import AwakeClock
from history.tables.schemas import OPERATIONS
from pipeline.tables.load_figures import COLUMNS, batches_of, load_figures

SECOND = 10**9
SCHEMA = pa.schema([(name, OPERATIONS.field(name).type) for name in COLUMNS])
ROW = st.tuples(
    st.sampled_from(["ok", "ok", "fail", "info"]),
    st.sampled_from(["warm-up", "main", "main", None]),
    st.integers(0, 9 * SECOND),
    st.integers(0, 3 * SECOND),
    st.none() | st.integers(-5 * SECOND, SECOND),
)


def figures(rows, size: int = 7):
    table = pa.table([list(column) for column in zip(*rows, strict=True)] or [[]] * len(COLUMNS), schema=SCHEMA)
    return load_figures(lambda: iter(table.to_batches(max_chunksize=size)), AwakeClock())[0]


def by_definition(rows) -> dict:
    main = [row for row in rows if row[1] == "main"] if any(row[1] for row in rows) else rows
    ok = sorted(row[3] for row in main if row[0] == "ok")
    service = [row[3] - row[2] for row in main if row[0] == "ok"]
    response = [row[3] - row[4] for row in main if row[0] == "ok" and row[4] is not None]
    found = {"operations": len(rows), "ok": sum(row[0] == "ok" for row in rows), "rate": None, "unavailable_s": None,
             "p99_ms": None, "response_p99_ms": None}  # fmt: skip
    if not main:
        return found
    begin, end = min(row[2] for row in main), max(row[3] for row in main)
    edges = [begin, *(time for time in ok if begin <= time < end), end]
    gaps = [after - before for before, after in pairwise(edges)]
    return {
        **found,
        "rate": len(ok) * SECOND / (end - begin) if end > begin else None,
        "unavailable_s": sum(gap for gap in gaps if gap > SECOND) / SECOND,
        "p99_ms": p99_ms(service),
        "response_p99_ms": p99_ms(response),
    }


def p99_ms(waits: list[int]) -> float | None:
    return sorted(waits)[math.ceil(99 * len(waits) / 100) - 1] / 1e6 if waits else None


@given(st.lists(ROW, max_size=120), st.sampled_from([1, 7, 1000]))
def test_against_the_definition(rows, size: int) -> None:
    rows = [
        (outcome, phase, begin, begin + wait, None if late is None else begin - late)
        for outcome, phase, begin, wait, late in rows
    ]
    found, expected = figures(rows, size), by_definition(rows)
    assert found == pytest.approx(expected, nan_ok=True) if expected["rate"] else found == expected


def test_unavailability() -> None:
    ok = [("ok", None, 0, time, None) for time in (0, SECOND // 2, 4 * SECOND, 5 * SECOND)]
    found = figures([*ok, ("info", None, 8 * SECOND, 8 * SECOND, None)])
    assert found["unavailable_s"] == pytest.approx(3.5 + 3)


def test_no_node_answers() -> None:
    found = figures([("info", "main", 0, SECOND, 0), ("fail", "main", 8 * SECOND, 9 * SECOND, 0)])
    assert (found["rate"], found["unavailable_s"], found["p99_ms"]) == (0, 9, None)


def test_a_table_on_disk_has_the_figures_of_its_rows(tmp_path) -> None:
    tables = []
    for part in range(3):
        rows = [("ok", None, part * SECOND + n, part * SECOND + 7 * n, part * SECOND) for n in range(50)]
        table = pa.table([list(column) for column in zip(*rows, strict=True)], schema=SCHEMA)
        # The first is of an older release, which had no intended times.
        table = table.drop_columns(["intended"]) if part == 0 else table
        pq.write_table(table, tmp_path / f"part-{part}.parquet")
        tables.append(table)
    whole = pa.concat_tables(tables, promote_options="default")
    found = load_figures(batches_of(tmp_path), AwakeClock())
    assert found == load_figures(whole.to_batches, AwakeClock())
    assert found[0]["ok"] == 150
