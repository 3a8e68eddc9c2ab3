"""Operations by key, as blocks leave them and tasks find them again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from history import Operation
from history.columns.pairing import CODED_OPERATIONS
from history.tables.operations import json_text, operations_table
from pipeline.spark import keys as by_blocks
from pipeline.spark.keys import count_keys, found_in, groups_of, read_rows, write_by_key, write_table

KEY = st.sampled_from([None, 3, 10, "a", "b", "ä", "", "c1", "c10"])


@given(st.lists(st.lists(KEY, max_size=30), min_size=1, max_size=3), st.integers(1, 5), st.integers(1, 9))
def test_a_task_finds_all_operations_of_its_keys(
    tmp_path_factory, blocks: list[list[str | int | None]], tasks: int, most: int
) -> None:
    places: list[Path] = []
    for number, keys in enumerate(blocks):
        operations = [Operation(0, "read", key, None, None, "info", n, None, n, None) for n, key in enumerate(keys)]
        places.append(tmp_path_factory.mktemp(f"block-{number}"))
        write_by_key(places[-1], operations_table(operations).cast(CODED_OPERATIONS))
    expected = Counter("" if key is None else json_text(key) for keys in blocks for key in keys)
    counts = count_keys(places)
    assert counts.to_pylist() == [{"key": key, "count": expected[key]} for key in sorted(expected)]
    groups = groups_of(counts, tasks, most)
    assert [key for group in groups for key in group] == sorted(expected)
    assert all(len(group) == 1 for group in groups if max(group.values()) > most)
    for group in groups:
        found = found_in(places, group)
        assert [one.key for one in found] == list(group)
        for one in found:
            parts = [part() for part in one.parts]
            rows = pa.concat_tables([part.cast(CODED_OPERATIONS) for part in parts])
            assert one.count == rows.num_rows == expected[one.key]
            assert rows["key"].to_pylist() == [one.key or None] * one.count
            index = [number for number, key in enumerate(k for keys in blocks for k in [*keys, None])]
            assert Counter(rows["invoke_index"].to_pylist()) <= Counter(index * len(blocks))
            assert len(group) > 1 or len(parts) == len(places)


def test_keys_that_no_task_holds_leave_the_others_to_theirs() -> None:
    keys = pa.table({"key": ["a", "b", "c", "d", "e"], "count": [1, 1, 50, 1, 1]})
    assert groups_of(keys, 1, 40) == [{"a": 1, "b": 1}, {"c": 50}, {"d": 1, "e": 1}]
    assert groups_of(keys, 1, 10**6) == [{"a": 1, "b": 1}, {"c": 50}, {"d": 1, "e": 1}]
    assert groups_of(keys.slice(0, 0), 1, 40) == []


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 9))
def test_rows_of_a_file_are_those_of_the_table(tmp_path_factory, begin: int, count: int, batch: int) -> None:
    table = pa.table({"n": range(40), "f": pa.array(["read", None, "ä", "write"] * 10).dictionary_encode()})
    path = tmp_path_factory.mktemp("rows") / "rows.arrow"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_blocks, "_BATCH", batch)
        write_table(path, table)
        count = min(count, 40 - begin)
        assert read_rows(path, begin, count).to_pylist() == table.slice(begin, count).to_pylist()
