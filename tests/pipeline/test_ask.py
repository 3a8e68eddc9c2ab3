"""Questions about the events of all runs, against plain Python over the same rows."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from history.recording import Recording
from history.tables.schemas import EVENT_KINDS, EVENTS
from history.tables.warehouse import read_runs
from pipeline import append_run, local_tables, read_all
from pipeline.errors import QuestionError
from pipeline.tables.events import event_table
from pipeline.warehouse.ask import (
    NAMED,
    EventCondition,
    EventFilter,
    EventQuery,
    ask,
    literal,
    parse,
    resolve,
    script,
    sql_of,
)
from reports.analysis.elections import claims_of
from reports.analysis.node_timeline import timelines_of
from tests.support.reports.recorded_runs import recorded_run

Row: TypeAlias = dict[str, Any]
Fits: TypeAlias = Callable[[Row], bool]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "ask.md"
RUNS = ("data-lost", "logs-cut", "stale-reads", "ledgers-kept", "element-lost", "epoch-granted-twice", "stuck-in-ring")
S = 1_000_000_000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recorded runs, with a warehouse, below a path that means something to SQL and to globs."""
    root = tmp_path_factory.mktemp("it's [all]*")
    (root / "recorded").mkdir()
    for name in RUNS:
        run = Recording(recorded_run(name, root / "recorded"))
        local_tables(run, model=run.header.model, deadline_s=0.01)
        append_run(root / "warehouse", run)
    return root


@pytest.fixture(scope="module")
def rows(store: Path) -> list[Row]:
    return read_all(store / "warehouse", "events").to_pylist()


def of(kind: str, word: str = "", node: str = "", over_s: float = 0) -> Fits:
    """Whether a row is such an event; a log line has the word anywhere in its text."""

    def fits(row: Row) -> bool:
        name = row["name"] or ""
        named = not word or word in name.split("-") or word == name or (kind == "log" and word in name.lower())
        return row["kind"] == kind and named and node in ("", *row["nodes"]) and (row["seconds"] or 1e9) > over_s

    return fits


def before(row: Row, other: Row, within_s: float = 1e6) -> bool:
    return 0 < row["time"] - other["time"] <= within_s * S


def after(row: Row, other: Row, within_s: float = 1e6) -> bool:
    return before(other, row, within_s)


def related(rows: list[Row], row: Row, fits: Fits, when: Callable[..., bool], within_s: float = 1e6) -> bool:
    same = (one for one in rows if one["run"] == row["run"] and one["time"] is not None and fits(one))
    return row["time"] is not None and any(when(row, one, within_s) for one in same)


def matches(rows: list[Row], fits: Fits, *conditions: tuple[bool, Callable[..., bool], Fits, float]) -> list[Row]:
    return [
        row
        for row in rows
        if fits(row)
        and (not conditions or row["time"] is not None)
        and all(related(rows, row, other, when, within) is wanted for wanted, when, other, within in conditions)
    ]


EVER = 1e6
#: For each question of the page: the first event, its conditions, and how many events in how many runs match.
EXAMPLES: dict[str, tuple[Fits, list[Any], tuple[int, int]]] = {
    "violation not preceded by kill":
        (of("violation"), [(False, before, of("fault", "kill"), EVER)], (31, 4)),
    "violation preceded by a fault within 5 s":
        (of("violation"), [(True, before, of("fault"), 5)], (8, 3)),
    'lost-element preceded by log "snapshot" within 10 s':
        (of("violation", "lost-element"), [(True, before, of("log", "snapshot"), 10)], (1, 1)),
    "leader-change followed by gap over 2 s":
        (of("leader-change"), [(True, after, of("gap", over_s=2), EVER)], (2, 1)),
    "gap not preceded by a fault within 3 s":
        (of("gap"), [(False, before, of("fault"), 3)], (1, 1)),
    "fault over 3 s followed by read-inversion":
        (of("fault", over_s=3), [(True, after, of("violation", "read-inversion"), EVER)], (1, 1)),
    "kill not followed by leader-change within 10 s":
        (of("fault", "kill"), [(False, after, of("leader-change"), 10)], (1, 1)),
    "heal partition followed by violation":
        (of("heal", "partition"), [(True, after, of("violation"), EVER)], (4, 3)),
    "silent on n1 over 3 s not preceded by kill within 5 s":
        (of("silent", node="n1", over_s=3), [(False, before, of("fault", "kill"), 5)], (4, 1)),
    "gap preceded by pause within 5 s and not preceded by leader-change within 5 s":
        (of("gap"), [(True, before, of("fault", "pause"), 5), (False, before, of("leader-change"), 5)], (4, 1)),
}  # fmt: skip


def test_the_page_has_the_examples() -> None:
    table = PAGE.read_text().partition("## Ten examples")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE) == list(EXAMPLES)


@pytest.mark.parametrize("question", EXAMPLES)
def test_an_example_finds_what_plain_python_finds(question: str, store: Path, rows: list[Row]) -> None:
    fits, conditions, counts = EXAMPLES[question]
    found = ask(shlex.split(question), store / "warehouse")
    expected = matches(rows, fits, *conditions)
    assert sorted((one.run, one.seconds, one.kind, one.name) for one in found.matches) == sorted(
        (row["run"], row["time"] / 1e9, row["kind"], row["name"]) for row in expected
    )
    assert (found.events, found.runs) == (len(matches(rows, fits)), len(RUNS))
    assert (len(expected), len({row["run"] for row in expected})) == counts


# -- the SQL of any question ------------------------------------------------------------------------------------------

NAMES = {"violation": ["stale-read", "it's"], "fault": ["kill-one", "kill"], "heal": ["kill"], "log": ["A Line's end"]}
ROWS = st.lists(
    st.builds(
        lambda kind, name, time, node, seconds: {
            "run": "t/1", "time": time, "kind": kind, "name": NAMES.get(kind, [None])[name % len(NAMES.get(kind, [0]))],
            "nodes": node, "seconds": seconds,
        },
        st.sampled_from(sorted(EVENT_KINDS)), st.integers(0, 1), st.none() | st.integers(0, 9).map(lambda s: s * S),
        st.lists(st.sampled_from(["n1", "n2"]), max_size=2), st.none() | st.integers(1, 5).map(float),
    ),
    max_size=12,
)  # fmt: skip
FILTERS = st.one_of(
    *(
        st.builds(
            EventFilter, st.just(kind), st.none() | st.just("line's" if kind == "log" else "kill"),
            st.none() | st.just("n1"), st.none() | st.just(2.0),
            names=st.just(()) | st.just(tuple(NAMES.get(kind, ()))),
        )
        for kind in EVENT_KINDS
    )
)  # fmt: skip
CONDITIONS = st.builds(EventCondition, st.booleans(), st.booleans(), FILTERS, st.none() | st.sampled_from([1.0, 3.0]))
QUESTIONS = st.builds(EventQuery, FILTERS, st.lists(CONDITIONS, max_size=2).map(tuple))


def meets(event: EventFilter, row: Row) -> bool:
    text = event.name if event.kind == "log" else None
    return (
        row["kind"] == event.kind
        and (text is None or text in row["name"].lower())
        and (event.kind == "log" or not event.names or row["name"] in event.names)
        and (event.node is None or event.node in row["nodes"])
        and (event.over_s is None or (row["seconds"] is not None and row["seconds"] > event.over_s))
    )


@pytest.fixture(scope="module")
def db() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE runs AS SELECT 't/1' AS run, 'valid' AS verdict, '1' AS started")
        yield connection


@settings(max_examples=60, deadline=None)
@given(QUESTIONS, ROWS)
def test_the_sql_means_what_the_question_means(
    db: duckdb.DuckDBPyConnection, question: EventQuery, rows: list[Row]
) -> None:
    db.register("events", pa.Table.from_pylist(rows, pa.schema([pa.field("run", pa.string()), *EVENTS])))
    found = sorted(repr(row) for row in db.sql(sql_of(question)).fetchall())
    conditions = [
        (one.wanted, before if one.before else after, partial(meets, one.other), one.within_s or EVER)
        for one in question.conditions
    ]
    expected = [
        ("t/1", "valid", None if row["time"] is None else row["time"] / 1e9, row["kind"], row["name"], row["nodes"])
        for row in matches(rows, partial(meets, question.event), *conditions)
    ]
    assert found == sorted(map(repr, expected))


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\0")) | st.text("\\'\"-;%$"))
@settings(max_examples=60, deadline=None)
def test_a_literal_is_its_text(db: duckdb.DuckDBPyConnection, text: str) -> None:
    assert db.sql(f"SELECT {literal(text)}").fetchall() == [(text,)]


def test_the_script_gives_the_same_answer_in_any_duckdb(store: Path) -> None:
    words = ["violation", "not", "preceded", "by", "kill"]
    with duckdb.connect() as db:
        *views, question = script(words, store / "warehouse").split(";\n")
        for view in views:
            db.execute(view)
        assert [row[:1] for row in db.sql(question).fetchall()] == [
            (one.run,) for one in ask(words, store / "warehouse").matches
        ]


# -- words and names --------------------------------------------------------------------------------------------------


def test_a_question_is_parsed() -> None:
    text = 'a gap over 1.5min on n1 not preceded by the fault kill within 500 ms and followed by log "a b"'
    found = parse(shlex.split(text))
    assert found == EventQuery(
        EventFilter("gap", node="n1", over_s=90),
        (
            EventCondition(wanted=False, before=True, other=EventFilter("fault", "kill"), within_s=0.5),
            EventCondition(wanted=True, before=False, other=EventFilter("log", "a b"), within_s=None),
        ),
    )


KNOWN = {"violation": {"lost-write", "slow"}, "fault": {"kill-leader", "kill-all", "pause", "slow"}, "heal": {"pause"}}


@pytest.mark.parametrize(
    ("question", "kind", "names"),
    [
        ("kill", "fault", ("kill-all", "kill-leader")),
        ("kill-all", "fault", ("kill-all",)),
        ("lost", "violation", ("lost-write",)),
        ("violation slow", "violation", ("slow",)),
        ("heal pause", "heal", ("pause",)),
    ],
)
def test_a_name_or_a_word_of_names_is_looked_up(question: str, kind: str, names: tuple[str, ...]) -> None:
    event = resolve(parse(question.split()), KNOWN, ["n1"]).event
    assert (event.kind, event.names) == (kind, names)


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("kil", "did you mean kill"),
        ("violatoin", "did you mean violation"),
        ("fault lost-write", "no run has a fault 'lost-write'"),
        ("gap preceded by heal kill", "no run has a heal 'kill'"),
        ("slow", "both a violation and a fault"),
        ("gap on n2", "the choices are n1"),
        ("lost-write over 5 s", "'over'"),
    ],
)
def test_an_unknown_name_is_refused_with_near_ones(question: str, part: str) -> None:
    with pytest.raises(QuestionError, match=part):
        resolve(parse(question.split()), KNOWN, ["n1"])


@pytest.mark.parametrize(
    "question",
    ["", "not", "gap gap", "gap preceded gap", "gap preceded by", "gap preceded by gap within", "gap over 5 parsecs",
     "gap over 5", "gap over -1 s", "back over 5 s", "gap followed by gap preceded by gap", "gap and gap"],
)  # fmt: skip
def test_what_is_no_question_is_refused(question: str) -> None:
    with pytest.raises(QuestionError):
        parse(question.split())


def test_a_text_that_no_line_has_is_refused(store: Path) -> None:
    with pytest.raises(QuestionError, match="no log line"):
        ask(["gap", "not", "preceded", "by", "log", "'; DROP TABLE runs; --"], store / "warehouse")


def test_a_warehouse_without_runs_has_no_events(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ask(["gap"], tmp_path)


# -- the events -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["data-lost", "logs-cut", "stale-reads", "element-lost"])
def test_leader_changes_are_those_of_the_page(name: str, store: Path, rows: list[Row]) -> None:
    run = Recording(store / "recorded" / name)
    nodes = sorted({probe.node for probe in run.probes})
    claims = claims_of(timelines_of(run.probes, nodes, run.receipts))
    found = [row for row in rows if row["run"] == f"recorded/{name}" and row["kind"] == "leader-change"]
    assert [(row["nodes"], row["time"] / 1e9) for row in found] == [
        ([one.node], pytest.approx(one.start)) for one in claims[1:]
    ]


def test_the_gaps_are_those_of_the_runs_row(store: Path, rows: list[Row]) -> None:
    for run in read_runs(store / "warehouse").to_pylist():
        lengths = [row["seconds"] for row in rows if row["run"] == run["run"] and row["kind"] == "gap"]
        assert sum(lengths) == pytest.approx(run["unavailable_s"] or 0)


def test_all_kinds_have_events_and_only_some_have_names(rows: list[Row]) -> None:
    assert {row["kind"] for row in rows} == set(EVENT_KINDS)
    assert {row["kind"] for row in rows if row["name"] is not None} == {*NAMED, "log"}


def test_a_node_that_never_answers_again_is_silent_until_the_probes_end(tmp_path: Path) -> None:
    run = recorded_run("logs-cut", tmp_path)
    probes = [
        {"time": t * S, "node": "n1", **({"error": "timeout"} if t > 2 else {"role": "follower"})} for t in range(9)
    ]
    header = {"format": "harness-probes", "version": 3}
    (run / "probes.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in (header, *probes)))
    (run / "nodes" / "n1").mkdir(parents=True, exist_ok=True)
    (run / "nodes" / "n1" / "far.log").write_text("9999-12-31 00:00:00,000 ERROR this is no time of a run\n")
    no_rows = {"verdicts": pa.table({"details": pa.array([], pa.string())}), "faults": pa.table({})}
    events = event_table(Recording(run), {}, no_rows, []).to_pylist()
    assert [(row["time"], row["seconds"]) for row in events if row["kind"] == "silent"] == [(3 * S, 5.0)]
    assert not [row for row in events if row["nodes"] == ["n1"] and "9999" in (row["name"] or "")]
