"""Verdicts: one key's operations in, one row of ``verdicts.parquet`` out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from checker import check_operations
from checker.core.options import CheckOptions
from history import KeyVerdict
from history.readers.parquet import columns_of
from history.tables.schemas import VERDICTS
from pipeline.tables.columns import json_text, key_of, operations_of

COLUMNAR: Final = 5_000
REGISTERS: Final = ("register", "cas-register")


@dataclass(frozen=True, slots=True)
class Budget:
    """The time that the checking of one run may take.

    ``until`` is a reading of ``clock`` (seconds) by which all keys shall be done; ``share`` is what every key gets at
    least, so that one hard key cannot leave the others unjudged.
    """

    until: float
    share: float
    clock: Callable[[], float]

    @classmethod
    def of(cls, deadline_s: float, keys: int, clock: Callable[[], float] = time.time) -> Budget:
        return cls(clock() + deadline_s, deadline_s / max(keys, 1), clock)

    def left(self) -> float:
        """Seconds that the next key may take."""
        return max(self.until - self.clock(), self.share)


class TooManyRowsError(Exception):
    """A key has more operations than this process is to hold as values."""


def judge(group: pa.Table, model: str, budget: Budget, columnar: int = COLUMNAR, rows: int | None = None) -> pa.Table:
    """The verdict on the operations of one key, which are the rows of ``group`` in any order.

    A register with at least ``columnar`` rows is checked as columns, which takes a fraction of time and memory.
    If the checker fails on it, the verdict is unknown and names the failure: the verdicts on other keys stand.
    Raises TooManyRowsError if there are more than ``rows`` operations and they do not fit into columns.
    """
    try:
        return verdict_table(_verdicts(group, model, budget, columnar, rows))
    except TooManyRowsError:
        raise
    except Exception as error:  # noqa: BLE001 (whatever is wrong with the checker is wrong on this key)
        return verdict_table([KeyVerdict.of_failure(key_of(group["key"][0].as_py()), group.num_rows, error)])


def _verdicts(group: pa.Table, model: str, budget: Budget, columnar: int, rows: int | None) -> list[KeyVerdict]:
    if group.num_rows >= columnar and model in REGISTERS:
        columns = columns_of(group, "operations")
        if columns is not None:
            from checker.columnar import check_columns

            return list(check_columns(columns, model, CheckOptions(budget.left())).keys)
    if rows is not None and group.num_rows > rows:
        raise TooManyRowsError
    operations = operations_of(group.sort_by("invoke_index"))
    return [check_operations(operations, model, deadline_s=budget.left())]


def verdict_table(verdicts: list[KeyVerdict]) -> pa.Table:
    """Verdicts as rows of ``verdicts.parquet``."""
    rows = [
        {
            "key": None if verdict.key is None else json_text(verdict.key),
            "verdict": verdict.verdict,
            "engine": verdict.engine,
            "operations": verdict.operations,
            "violations": verdict.violations,
            "seconds": verdict.seconds,
            "details": json.dumps(verdict.to_json()),
        }
        for verdict in verdicts
    ]
    return pa.Table.from_pylist(rows, schema=VERDICTS)


def verdicts_of(table: pa.Table) -> list[KeyVerdict]:
    """The verdicts in a table, unkeyed first, then numbers, then names."""
    details = [KeyVerdict.from_json(json.loads(text)) for text in table["details"].to_pylist()]
    return sorted(details, key=_place)


def _place(verdict: KeyVerdict) -> tuple[int, int, str]:
    key = verdict.key
    if isinstance(key, int):
        return (1, key, "")
    return (0, 0, "") if key is None else (2, 0, str(key))
