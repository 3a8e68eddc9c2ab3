"""Operations by key, as blocks leave them and tasks find them again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from history import Operation
from pipeline.spark.keys import count_keys, groups_of, parts_of, write_by_key
from pipeline.tables.columns import json_text, operations_table
from pipeline.tables.pairing import CODED_OPERATIONS

KEY = st.sampled_from([None, 3, 10, "a", "b", "ä", "", "c1", "c10"])


@given(st.lists(st.lists(KEY, max_size=30), min_size=1, max_size=3), st.integers(1, 5))
def test_a_task_finds_all_operations_of_its_keys(tmp_path_factory, blocks: list[list[str | int | None]], tasks) -> None:
    places: list[Path] = []
    for number, keys in enumerate(blocks):
        operations = [Operation(0, "read", key, None, None, "info", n, None, n, None) for n, key in enumerate(keys)]
        places.append(tmp_path_factory.mktemp(f"block-{number}"))
        write_by_key(places[-1], operations_table(operations).cast(CODED_OPERATIONS))
    expected = Counter("" if key is None else json_text(key) for keys in blocks for key in keys)
    counts = count_keys(places)
    assert counts.to_pylist() == [{"key": key, "count": expected[key]} for key in sorted(expected)]
    groups = groups_of(counts, tasks)
    assert [key for group in groups for key in group] == sorted(expected)
    for group in groups:
        for key, parts in parts_of(places, group).items():
            rows = pa.concat_tables(parts)
            assert rows["key"].to_pylist() == [key or None] * expected[key]
            assert all(part["invoke_index"].to_pylist() == sorted(part["invoke_index"].to_pylist()) for part in parts)
