"""The schemas: a word about every column, and nullability that is meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from history import Operation, Probe
from history.tables.schemas import ALL_TABLES, OPERATIONS, PROBES, RUNS, TRENDS
from history.tables.warehouse import read_trends


def test_every_column_says_what_it_means() -> None:
    for name, schema in {**ALL_TABLES, "runs": RUNS, "trends": TRENDS}.items():
        for field in schema:
            assert field.metadata[b"meaning"], f"{name}.{field.name}"


#: What a process says of its own health, or a system says of itself, is judged from the probes themselves; the table
#: is of roles and indexes.
ONLY_IN_PROBES = {
    "state_index", "digest", "unapplied_oks", "apply_errors", "reapplied", "undecodable", "fault", "pid", "own",
}  # fmt: skip


def test_tables_have_the_fields_of_their_types() -> None:
    assert set(OPERATIONS.names) == set(Operation.__slots__)
    assert set(PROBES.names) == set(Probe.__slots__) - ONLY_IN_PROBES


def test_trends_of_version_3_had_json_text_where_maps_and_lists_are_now(tmp_path: Path) -> None:
    cells: dict[Any, Any] = {pa.string(): "x", pa.int64(): 1, pa.float64(): 0.5}
    old = TRENDS.remove_metadata()
    for name, text in (("verdict_counts", "verdicts"), ("recovery_buckets", "recovery_histogram")):
        old = old.set(old.get_field_index(name), pa.field(text, pa.string(), nullable=False))
    row = {field.name: cells[field.type] for field in old}
    row |= {"verdicts": '{"invalid": 1, "valid": 5}', "recovery_histogram": "[[0, 100, 2], [100, null, 1]]"}
    stamped = old.with_metadata({"harness.table": "trends", "harness.version": "3"})
    pq.write_table(pa.Table.from_pylist([row], stamped), tmp_path / "trends.parquet")
    (read,) = read_trends(tmp_path).to_pylist()
    assert read["verdict_counts"] == [("invalid", 1), ("valid", 5)]
    assert read["recovery_buckets"] == [[0, 100, 2], [100, None, 1]]
    assert (read["regressions"], read["runs"]) == ("x", 1)
