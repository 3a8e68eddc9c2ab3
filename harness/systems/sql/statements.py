"""The tables, the statements of each operation, and the values in their answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from harness.generators import Invocation
from history.records.operations import READ_ONLY, called

#: The number of tables over which the keys of transactions are spread.
_SPREAD: Final = 3
_GET: Final = "SELECT val FROM {} WHERE id = %s"

Rows: TypeAlias = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The SQL of one database: its column types, and statements that insert a row into table ``{}``.

    If the row exists, ``append``, ``put`` and ``add`` change its value, and ``create`` leaves it alone.
    """

    name: str
    text: str
    append: str
    put: str
    add: str
    create: str

    @property
    def tables(self) -> tuple[str, ...]:
        """The statements that create the tables; that of ``elements`` comes last."""
        columns = {f"txn{number}": f"id int PRIMARY KEY, val {self.text}" for number in range(_SPREAD)} | {
            "registers": f"id {self.name} PRIMARY KEY, val {self.text}",
            "counters": f"id {self.name} PRIMARY KEY, val bigint",
            "accounts": "id int PRIMARY KEY, val bigint",
            "elements": f"id {self.name}, val int, PRIMARY KEY (id, val)",
        }
        return tuple(f"CREATE TABLE IF NOT EXISTS {table} ({those})" for table, those in columns.items())


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with its parameters.  A statement that writes must change exactly one row."""

    sql: str
    parameters: tuple[Any, ...] = ()

    @property
    def writes(self) -> bool:
        return not self.sql.startswith("SELECT")

    @property
    def answers(self) -> bool:
        """Whether the server answers with rows."""
        return not self.writes or "RETURNING" in self.sql


def statements(dialect: Dialect, workload: str, operation: Invocation) -> list[Statement]:
    """Return the statements of an operation; if there are several, they form one transaction."""
    f, key, value = operation.f, operation.key, operation.value
    if _reads_at_once(workload, operation):
        return [_read_all([step[1] for step in value])]
    if f == "txn":
        return [_step(dialect, *step, lists=workload != "rw-register") for step in value]
    if workload == "bank":
        if f == "read":
            return [Statement("SELECT id, val FROM accounts ORDER BY id")]
        whence, whither, amount = value
        add = f"{dialect.add.format('accounts')} RETURNING id, val"
        return [Statement(add, (whence, -amount)), Statement(add, (whither, amount))]
    if workload == "set":
        if f == "add":
            return [Statement("INSERT INTO elements VALUES (%s, %s)", (key, value))]
        return [Statement("SELECT val FROM elements WHERE id = %s ORDER BY val", (key,))]
    return [_on_row(dialect, "counters" if workload == "counter" else "registers", operation)]


def _on_row(dialect: Dialect, table: str, operation: Invocation) -> Statement:
    f, key, value = operation.f, operation.key, operation.value
    if f == "read":
        return Statement(_GET.format(table), (key,))
    if f == "add":
        return Statement(dialect.add.format(table), (key, value))
    if f == "write":
        return Statement(dialect.put.format(table), (key, json.dumps(value)))
    old, new = value
    if old is None:
        return Statement(dialect.create.format("registers"), (key, json.dumps(new)))
    change = "UPDATE registers SET val = %s WHERE id = %s AND val = %s"
    return Statement(change, (json.dumps(new), key, json.dumps(old)))


def _reads_at_once(workload: str, operation: Invocation) -> bool:
    """Return whether a transaction reads all its keys in one statement, so in one snapshot.

    In ``long-fork``, each snapshot may show two commits in a different order than another client sees, and reading six
    keys one by one takes eight round trips.
    """
    return workload == "long-fork" and called(operation.f, operation.value) == READ_ONLY


def _read_all(keys: Sequence[int]) -> Statement:
    ordered = sorted(keys)  # few texts, so that the server keeps them prepared
    columns = ", ".join(f"({_GET.format(_table(key))})" for key in ordered)
    return Statement(f"SELECT {columns}", tuple(ordered))


def _table(key: int) -> str:
    return f"txn{key % _SPREAD}"


def _step(dialect: Dialect, f: str, key: int, value: Any, *, lists: bool) -> Statement:
    table = _table(key)
    if f == "r":
        return Statement(_GET.format(table), (key,))
    return Statement((dialect.append if lists else dialect.put).format(table), (key, str(value)))


def answer(workload: str, operation: Invocation, rows: Sequence[Rows]) -> Any:
    """Return the value of a committed operation, from the rows that each of its statements returned."""
    if _reads_at_once(workload, operation):
        contents = dict(zip(sorted(step[1] for step in operation.value), rows[0][0], strict=True))
        rows = [[] if contents[key] is None else [(contents[key],)] for _, key, _ in operation.value]
    if operation.f == "txn":
        read = _list if workload != "rw-register" else _first
        return [
            [f, key, read(mine) if f == "r" else value]
            for (f, key, value), mine in zip(operation.value, rows, strict=True)
        ]
    if workload == "bank":
        return [list(row) for mine in rows for row in mine]
    if operation.f != "read":
        return operation.value
    if workload == "set":
        return [value for (value,) in rows[0]]
    if workload == "counter":
        return int(rows[0][0][0]) if rows[0] else 0
    return _first(rows[0])


def _first(rows: Rows) -> Any:
    return _content(rows[0][0]) if rows else None


def _list(rows: Rows) -> list[Any]:
    return [_content(item) for item in rows[0][0].split(",")] if rows else []


def _content(text: str) -> Any:
    """Parse a stored value.

    A value that none of our clients can have written stays a string, which the judge then finds.
    """
    try:
        return json.loads(text)
    except ValueError:
        return text
