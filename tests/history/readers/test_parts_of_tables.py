"""Operations on registers by columns, from tables in parts: the same in any parts and any order."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from history import FormatError, Operation
from history.codes import ABSENT, OUTCOMES, READ
from history.columns.pairing import CODED_OPERATIONS
from history.readers import OperationColumns
from history.readers.parquet import columns_of
from history.tables.operations import operations_table
from tests.support.pipeline.big_keys import random_register

KEYS = (None, "a", 7, "")


def drawn(rng: random.Random, size: int, apart: int) -> list[Operation]:
    """Registers on several keys, with cas and refused cas, values of null, and places that others leave out."""
    made = [o for key in KEYS for o in random_register(key, rng, rng.randrange(size))]
    return [_elsewhere(_swapped(o, rng), KEYS.index(o.key), apart) for o in made]


def _swapped(o: Operation, rng: random.Random) -> Operation:
    if o.f != "write" or rng.random() < 0.7:
        return o
    asked = [rng.choice([None, 3]), o.value]
    answered = rng.choice([asked, [*asked, rng.choice([None, 5])]])
    if answered[0] == answered[-1]:
        answered = asked
    return replace(o, f="cas", value=asked, result=answered if o.outcome == "ok" else None)


def _elsewhere(o: Operation, number: int, apart: int) -> Operation:
    def place(index: int | None) -> int | None:
        return None if index is None else (index * len(KEYS) + number) * apart

    return replace(o, invoke_index=place(o.invoke_index), return_index=place(o.return_index))  # type: ignore[arg-type]


def in_parts(table: pa.Table, rng: random.Random) -> list[pa.Table]:
    """All rows in any order, in parts of which some are empty; each with dictionaries of its own, or none."""
    rows = rng.sample(range(table.num_rows), table.num_rows)
    cuts = sorted(rng.choices(range(len(rows) + 1), k=4))
    parts = [table.take(pa.array(rows[i:j], pa.int64())) for i, j in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    return [part.cast(rng.choice([table.schema, CODED_OPERATIONS])) for part in parts]


def read(parts: list[pa.Table]) -> OperationColumns | None:
    return columns_of([partial(part.slice, 0) for part in parts], sum(part.num_rows for part in parts), "here")


@given(st.integers(0, 10**9), st.integers(0, 12), st.sampled_from([1, 2, 1000]))
def test_parts_give_what_the_operations_are(seed: int, size: int, apart: int) -> None:
    rng = random.Random(seed)
    operations = sorted(drawn(rng, size + 1, apart), key=lambda o: o.invoke_index)
    columns = read(in_parts(operations_table(operations), rng))
    assert columns is not None
    assert [columns.operation(row) for row in range(len(operations))] == operations
    assert [columns.keys[key] for key in columns.key] == [o.key for o in operations]
    assert [OUTCOMES[code] for code in columns.outcome] == [o.outcome for o in operations]
    for row, o in enumerate(operations):
        shown = {"read": [None, o.result], "write": [None, o.value], "cas": o.value}[o.f]
        if o.f == "cas" and o.result is not None and len(o.result) == 3:
            assert columns.kind[row] == READ
            shown = [o.value[1], o.result[2]]
        assert [None if n == ABSENT else n for n in (columns.old[row], columns.value[row])] == shown
    _in_the_same_order(columns, operations)


def _in_the_same_order(columns: OperationColumns, operations: list[Operation]) -> None:
    done = [row for row, o in enumerate(operations) if o.return_index is not None]
    assert (columns.ret >= 0).nonzero()[0].tolist() == done
    places = np.concatenate([columns.invoke, columns.ret[done]])
    recorded = [o.invoke_index for o in operations] + [operations[row].return_index for row in done]
    assert np.argsort(places).tolist() == np.argsort(np.array(recorded, np.int64)).tolist()
    assert places.max(initial=0) < 4 * places.size + 1024


@pytest.mark.parametrize("apart", [1, 10**6])
def test_what_shares_a_place_overlaps(apart: int) -> None:
    write = Operation(0, "write", "k", 1, 1, "ok", 0, 5 * apart, 0, 5)
    stale = Operation(1, "read", "k", None, None, "ok", 5 * apart, 9 * apart, 5, 9)
    columns = read([operations_table([stale]), operations_table([write])])
    assert columns is not None
    assert columns.invoke[1] <= columns.ret[0]


def test_one_part_that_is_no_registers_is_enough() -> None:
    def part(value: object) -> pa.Table:
        return operations_table([Operation(0, "write", "k", value, value, "ok", 0, 1, 0, 1)])

    assert read([part(1), part(None)]) is not None
    for value in ("text", 1.5, [1, 2], 10**18):
        assert read([part(1), part(value)]) is None


def test_operations_that_are_missing_are_an_error() -> None:
    part = operations_table([Operation(0, "write", "k", 1, 1, "ok", 0, 1, 0, 1)])
    with pytest.raises(FormatError, match="expected 2 operations, found 1"):
        columns_of([lambda: part], 2, "here")
