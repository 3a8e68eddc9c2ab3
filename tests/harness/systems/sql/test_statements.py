"""The statements of an operation, carried out by SQLite, and the values in their answers."""

from __future__ import annotations

import sqlite3
from typing import Any

from harness.generators import Invocation
from harness.systems.sql.statements import Dialect, Rows, answer, statements

_INSERT = "INSERT INTO {} VALUES (%s, %s) ON CONFLICT"
DIALECT = Dialect(
    name="text", text="text", append=f"{_INSERT} (id) DO UPDATE SET val = val || ',' || excluded.val",
    put="", add="", create="",
)  # fmt: skip


def carried_out(database: sqlite3.Connection, workload: str, *steps: list[Any]) -> tuple[int, Any]:
    """Return the number of statements of a transaction, and its answer."""
    operation = Invocation("txn", None, list(steps))
    work = statements(DIALECT, workload, operation)
    rows: list[Rows] = [database.execute(one.sql.replace("%s", "?"), one.parameters).fetchall() for one in work]
    return len(work), answer(workload, operation, rows)


def test_a_long_fork_reads_in_one_statement_what_others_read_one_by_one() -> None:
    database = sqlite3.connect(":memory:")
    for table in DIALECT.tables:
        database.execute(table)
    appends = [["append", 7, 1], ["append", 8, 1], ["append", 7, 2], ["append", 9, 5]]
    assert carried_out(database, "long-fork", *appends) == (4, appends)
    reads = [["r", key, None] for key in (9, 6, 7, 8, 7)]
    shown = [["r", 9, [5]], ["r", 6, []], ["r", 7, [1, 2]], ["r", 8, [1]], ["r", 7, [1, 2]]]
    assert carried_out(database, "list-append", *reads) == (5, shown)
    assert carried_out(database, "long-fork", *reads) == (1, shown)
    assert carried_out(database, "long-fork", ["r", 7, None], ["append", 7, 3])[0] == 2
