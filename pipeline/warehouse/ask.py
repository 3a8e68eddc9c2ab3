"""Questions about the events of all runs: ``violation not preceded by kill within 5 s``, answered by DuckDB.

A question is an event and any number of conditions on it::

    QUESTION   EVENT [CONDITION [and CONDITION]...]
    CONDITION  [not] preceded by EVENT [within N s]
               [not] followed by EVENT [within N s]
    EVENT      KIND [NAME] [on NODE] [over N s]  or  NAME [on NODE] [over N s]

It becomes one SELECT over the warehouse's tables ``events`` and ``runs``.  All events are points in time, and before
means strictly before.  Names are looked up in the tables, so that a typo is an error and not an answer.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from history import SECOND
from history.schema import hint, suggestion
from history.tables.schemas import EVENT_KINDS
from history.tables.warehouse import NEWEST, files_of, newest_version
from pipeline.errors import QuestionError

if TYPE_CHECKING:
    import duckdb

#: Kinds of events with names that are known beforehand.
NAMED: Final = ("violation", "fault", "heal")
#: Kinds of events that have a length.
LONG: Final = ("gap", "fault", "silent")
_TABLES: Final = ("events", "runs")
_WORDS: Final = frozenset({"not", "preceded", "followed", "by", "within", "over", "on", "and"})
_ARTICLES: Final = frozenset({"a", "an", "the"})
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "min": 60.0}
_LENGTH: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|min)?")


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The events that are meant; ``names`` are all that ``name`` stands for, once it has been looked up."""

    kind: str
    name: str | None = None
    node: str | None = None
    over_s: float | None = None
    names: tuple[str, ...] = ()


class EventCondition(NamedTuple):
    """A condition: another event must (or must not) come before or after, at most ``within_s`` seconds away."""

    wanted: bool
    before: bool
    other: EventFilter
    within_s: float | None


class EventQuery(NamedTuple):
    """A parsed question."""

    event: EventFilter
    conditions: tuple[EventCondition, ...]


class Match(NamedTuple):
    """An event that a question asks for; ``seconds`` since the run's start, None if unknown."""

    run: str
    verdict: str
    seconds: float | None
    kind: str
    name: str | None
    nodes: list[str]


class QueryResult(NamedTuple):
    """The matches, newest run first, among ``events`` of that kind in ``runs`` runs; ``sql`` is the question itself."""

    matches: list[Match]
    events: int
    runs: int
    sql: str


# -- the question -----------------------------------------------------------------------------------------------------


class _Reader:
    """The words of a question, read one after the other."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words, self._place = words, 0

    @property
    def ended(self) -> bool:
        return self._place == len(self._words)

    def peek(self) -> str:
        return "" if self.ended else self._words[self._place]

    def take(self, wanted: str) -> str:
        if self.ended:
            raise QuestionError(f"the question ends where {wanted} is expected")
        self._place += 1
        return self._words[self._place - 1]

    def skip(self, *words: str) -> bool:
        """Skip these words if they are next."""
        matched = tuple(self._words[self._place : self._place + len(words)]) == words
        self._place += len(words) if matched else 0
        return matched

    def length(self, after: str) -> float:
        """Take a length of time after a word: 5 s, 5s, 200 ms or 2 min."""
        text = self.take(f"a time such as 5 s after {after!r}")
        match = _LENGTH.fullmatch(text)
        unit = match and (match[2] or (self.take(f"s, ms or min after {text!r}")))
        if not match or unit not in _SECONDS:
            raise QuestionError(f"expected a time such as 5 s after {after!r}, not {text!r}")
        return float(match[1]) * _SECONDS[unit]


def parse(words: Sequence[str]) -> EventQuery:
    """Parse the words of a question.  Raises QuestionError."""
    reader = _Reader(words)
    event, conditions = _event(reader), list[EventCondition]()
    while not reader.ended:
        if conditions and not reader.skip("and"):
            raise QuestionError(f"expected 'and' before {reader.peek()!r}")
        wanted = not reader.skip("not")
        before = reader.skip("preceded", "by")
        if not before and not reader.skip("followed", "by"):
            raise QuestionError(
                f"expected 'preceded by', 'followed by', 'on NODE' or 'over 5 s', not {reader.peek()!r}; put quotes "
                "around a string with spaces"
            )
        other = _event(reader)
        conditions.append(
            EventCondition(wanted, before, other, reader.length("within") if reader.skip("within") else None)
        )
    return EventQuery(event, tuple(conditions))


def _event(reader: _Reader) -> EventFilter:
    while reader.peek() in _ARTICLES:
        reader.take("")
    kind = reader.take("an event")
    if kind in _WORDS:
        raise QuestionError(f"expected an event before {kind!r}: {', '.join(EVENT_KINDS)}, or a name")
    event = EventFilter(kind) if kind in EVENT_KINDS else EventFilter("", kind)
    if kind in (*NAMED, "log") and not reader.ended and reader.peek() not in _WORDS:
        event = replace(event, name=reader.take("a name"))
    while reader.peek() in ("on", "over"):
        if reader.skip("on"):
            event = replace(event, node=reader.take("a node after 'on'"))
        elif reader.skip("over"):
            event = replace(event, over_s=reader.length("over"))
    if event.over_s is not None and event.kind and event.kind not in LONG:
        raise QuestionError(f"'over' is for events that last ({', '.join(LONG)}); {kind} is a moment")
    return event


# -- names ------------------------------------------------------------------------------------------------------------


#: The names of each kind of event that any run has.
Names: TypeAlias = dict[str, set[str]]


def resolve(question: EventQuery, names: Names, nodes: Iterable[str]) -> EventQuery:
    """Look up all names except those of log lines.  Raises QuestionError for a name that no run has."""
    nodes = set(nodes)
    return EventQuery(
        _resolved(question.event, names, nodes),
        tuple(clause._replace(other=_resolved(clause.other, names, nodes)) for clause in question.conditions),
    )


def _resolved(event: EventFilter, names: Names, nodes: set[str]) -> EventFilter:
    if event.node is not None and event.node not in nodes:
        raise QuestionError(f"no event of any run is on node {event.node!r}; {hint(event.node, nodes)}")
    if event.name is None or event.kind == "log":
        return event
    kinds = (event.kind,) if event.kind else ("violation", "fault")
    by_kind = {kind: _meant(event.name, names.get(kind, set())) for kind in kinds}
    by_kind = {kind: meant for kind, meant in by_kind.items() if meant}
    if len(by_kind) > 1:
        raise QuestionError(f"{event.name!r} is both a violation and a fault: put violation or fault before it")
    if not by_kind:
        known = {name for kind in kinds for name in names.get(kind, ())} | set(() if event.kind else EVENT_KINDS)
        words = {word for name in known for word in name.split("-")}
        near = suggestion(event.name, known | words) or f"the choices are {', '.join(sorted(known))}"
        raise QuestionError(f"no run has a {event.kind or 'violation or fault'} {event.name!r}; {near}")
    ((kind, meant),) = by_kind.items()
    if event.over_s is not None and kind not in LONG:
        raise QuestionError(f"'over' is for events that last ({', '.join(LONG)}); {event.name} is a {kind}")
    return replace(event, kind=kind, names=meant)


def _meant(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the names that a name stands for: itself, or else those that contain it as whole words."""
    known = set(known)
    return (name,) if name in known else tuple(sorted(other for other in known if f"-{name}-" in f"-{other}-"))


# -- SQL --------------------------------------------------------------------------------------------------------------


def literal(text: str) -> str:
    """Return a string as an SQL literal.  In DuckDB's plain literals only the quote has a meaning."""
    return "'" + text.replace("'", "''") + "'"


def sql_of(question: EventQuery) -> str:
    """Return the SELECT that answers a question whose names were looked up."""
    conditions = list(_conditions("a", question.event))
    if question.conditions:
        conditions.append("a.time IS NOT NULL")
    conditions += [_related(clause) for clause in question.conditions]
    return (
        "SELECT a.run, verdict, a.time / 1e9 AS seconds, a.kind, a.name, a.nodes\n"
        "FROM events AS a JOIN runs ON runs.run = a.run\n"
        "WHERE " + "\n  AND ".join(conditions) + "\n"
        "ORDER BY started DESC, a.run, a.time"
    )


def _conditions(table: str, event: EventFilter) -> Iterable[str]:
    yield f"{table}.kind = {literal(event.kind)}"
    if event.kind == "log" and event.name is not None:
        yield f"contains(lower({table}.name), lower({literal(event.name)}))"
    elif event.names:
        yield f"{table}.name IN ({', '.join(map(literal, event.names))})"
    if event.node is not None:
        yield f"list_contains({table}.nodes, {literal(event.node)})"
    if event.over_s is not None:
        yield f"{table}.seconds > {event.over_s!r}"


def _related(clause: EventCondition) -> str:
    near = ["b.run = a.run", *_conditions("b", clause.other), "b.time < a.time" if clause.before else "b.time > a.time"]
    if clause.within_s is not None:
        within = round(clause.within_s * SECOND)
        near.append(f"b.time >= a.time - {within}" if clause.before else f"b.time <= a.time + {within}")
    where = "\n      AND ".join(near)
    exists = "EXISTS" if clause.wanted else "NOT EXISTS"
    return f"{exists} (\n    FROM events AS b\n    WHERE {where}\n  )"


def views_of(tables: Path) -> str:
    """Return the statements that define the tables of a question, from the files below ``tables``."""
    files = {table: literal(f"{glob.escape(str(tables))}/{table}/month=*/*.parquet") for table in _TABLES}
    return "".join(
        f"CREATE VIEW {table} AS FROM read_parquet({path}, union_by_name = true, hive_partitioning = true);\n"
        for table, path in files.items()
    )


# -- the answer -------------------------------------------------------------------------------------------------------


def script(words: Sequence[str], warehouse: Path) -> str:
    """Return the SQL of a question as a script that any DuckDB runs.  Raises like :func:`ask`."""
    with _opened(warehouse) as db:
        return views_of(warehouse / NEWEST) + sql_of(_looked_up(words, db)) + ";"


def ask(words: Sequence[str], warehouse: Path) -> QueryResult:
    """Answer a question about the newest version of a warehouse.

    Raises QuestionError, and FileNotFoundError if the warehouse has no events.
    """
    with _opened(warehouse) as db:
        question = _looked_up(words, db)
        sql = sql_of(question)
        matches = [Match(*row) for row in db.sql(sql).fetchall()]
        events = _count(db, sql_of(EventQuery(question.event, ())))
        return QueryResult(matches, events, _count(db, "SELECT * FROM runs"), sql)


def _opened(warehouse: Path) -> duckdb.DuckDBPyConnection:
    import duckdb

    version = newest_version(warehouse)
    if version is None or not files_of(version, "events"):
        raise FileNotFoundError(f"{warehouse} has no events")
    db = duckdb.connect()
    db.execute(views_of(version))
    return db


def _looked_up(words: Sequence[str], db: duckdb.DuckDBPyConnection) -> EventQuery:
    question = parse(words)
    names: Names = {}
    for kind, name in db.sql("SELECT DISTINCT kind, name FROM events WHERE kind <> 'log'").fetchall():
        names.setdefault(kind, set()).add(name)
    nodes = [node for (node,) in db.sql("SELECT DISTINCT unnest(nodes) FROM events").fetchall()]
    resolved = resolve(question, names, nodes)
    for event in (resolved.event, *(clause.other for clause in resolved.conditions)):
        if event.kind == "log" and event.name is not None and not _count(db, sql_of(EventQuery(event, ()))):
            raise QuestionError(f"no log line of any run contains {event.name!r}")
    return resolved


def _count(db: duckdb.DuckDBPyConnection, sql: str) -> int:
    return len(db.sql(sql))
