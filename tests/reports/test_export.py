"""``harness export``: the columns of the table, and a trace that Perfetto's own parser reads as it was recorded."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cli.main import run_command
from history import RunFiles
from history.tables.schemas import OPERATIONS, TABLES_VERSION
from reports.analysis.elections import leaderships_of
from reports.analysis.node_timeline import ROLES, NodeTimeline, timelines_of
from reports.export.export import export, write_csv
from reports.export.packets import Packets, varint
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import recorded_run
from tests.support.reports.trace_parser import TraceParser, decoded, trace_parser


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    return RunFiles(recorded_run("data-lost", tmp_path_factory.mktemp("recorded")))


def events_of(run: RunFiles) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.history.read_text().splitlines()[1:]]


# -- the operations ----------------------------------------------------------------------------------------------------


FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\uff1d1",
    '=HYPERLINK("http://evil")',
    "--5",
]
PLAIN = ["-5", "+5", "-1.5e-3", "5", '"=1"', "[-1,2]", "timeout", "", None, "a=b", "'=1"]


def test_no_cell_of_csv_is_a_formula() -> None:
    texts = [*FORMULAS, *PLAIN]
    out = io.BytesIO()
    write_csv(pa.table({"error": pa.array(texts, pa.string()), "invoked": pa.array(range(len(texts)))}), out)
    cells = [row["error"] for row in csv.DictReader(io.StringIO(out.getvalue().decode(), newline=""))]
    assert cells == [*(f"'{text}" for text in FORMULAS), *(text or "" for text in PLAIN)]


def test_csv_has_the_columns_of_the_table_and_every_operation(run: RunFiles, tmp_path: Path) -> None:
    assert export(run, "csv", tmp_path / "x.csv") == []
    rows = list(csv.DictReader(io.StringIO((tmp_path / "x.csv").read_text())))
    assert list(rows[0]) == OPERATIONS.names
    events = {event["index"]: event for event in events_of(run) if event["process"] != "nemesis"}
    invoked = [event for event in events.values() if event["type"] == "invoke"]
    assert [int(row["invoke_index"]) for row in rows] == [event["index"] for event in invoked]
    for row, event in zip(rows, invoked, strict=True):
        assert (int(row["invoked"]), row["f"], json.loads(row["key"])) == (event["time"], event["f"], event["key"])
        if row["return_index"]:
            done = events[int(row["return_index"])]
            assert (row["outcome"], int(row["returned"])) == (done["type"], done["time"])
            assert row["error"] == (done.get("error") or "")
            assert json.loads(row["result"] or "null") == (done["value"] if done["type"] == "ok" else None)


def test_parquet_is_the_table_with_its_version(run: RunFiles, fresh: Maker, tmp_path: Path) -> None:
    export(run, "parquet", tmp_path / "x.parquet")
    found = pq.read_table(tmp_path / "x.parquet")
    assert found.schema.names == OPERATIONS.names
    assert found.schema.metadata[b"harness.table"] == b"operations"
    assert found.schema.metadata[b"harness.version"] == str(TABLES_VERSION).encode()
    files = fresh("valid", tables=True)
    export(files, "parquet", tmp_path / "y.parquet")
    files.table("operations").rename(tmp_path / "gone")
    export(files, "parquet", tmp_path / "z.parquet")
    assert pq.read_table(tmp_path / "y.parquet").equals(pq.read_table(tmp_path / "z.parquet"))


def test_the_command_names_the_file_and_leaves_no_half(
    run: RunFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, suffix in (("perfetto", "perfetto-trace"), ("csv", "csv"), ("parquet", "parquet")):
        assert run_command(["export", str(run.root), "--format", name]) == 0
        assert capsys.readouterr().out == f"data-lost.{suffix}\n"
        assert (tmp_path / f"data-lost.{suffix}").stat().st_size > 10_000
    assert run_command(["export", str(run.root), "--format", "csv", "-o", str(tmp_path / "no" / "where")]) == 255
    assert "cannot write" in capsys.readouterr().err
    assert run_command(["export", "nothing", "--format", "csv"]) == 254
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "history.jsonl").write_text("{}\nnonsense\n")
    assert run_command(["export", str(broken), "--format", "csv", "-o", "half.csv"]) == 255
    assert not list(tmp_path.glob("half*"))


# -- the trace ---------------------------------------------------------------------------------------------------------


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_are_read_back(value: int) -> None:
    (found,) = decoded(b"\x08" + varint(value))[1]
    assert found == value % 2**64


def shown(node: str, rows: list[tuple[int, str, int]]) -> NodeTimeline:
    """A node's probes: (quarter of a second, role, term)."""
    (empty,) = timelines_of([], [node])
    none = np.full(len(rows), -1)
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("time", "role", "term"))}
    none = np.full(len(rows), -1)
    return NodeTimeline(
        node, np.array(columns["time"]) / 4, np.array([ROLES.index(role) for role in columns["role"]]),
        np.array(columns["term"]), none, none, none, none, none,
    ) if rows else empty  # fmt: skip


probed = st.lists(
    st.tuples(st.sampled_from(("leader", "follower", "silent")), st.integers(1, 3)), min_size=12, max_size=12
)


@given(st.lists(probed, min_size=1, max_size=3))
def test_one_leader_at_a_time_and_that_of_the_highest_term(drawn: list[list[tuple[str, int]]]) -> None:
    timelines = [
        shown(f"n{number}", [(place, role, term) for place, (role, term) in enumerate(rows)])
        for number, rows in enumerate(drawn)
    ]
    found = leaderships_of(timelines)
    for quarter in range(12):
        terms = [rows[quarter][1] for rows in drawn if rows[quarter][0] == "leader"]
        there = [one.term for one in found if one.start <= quarter / 4 and quarter / 4 + 0.25 <= one.end]
        assert there == ([max(terms)] if terms else [])


@pytest.fixture(scope="module")
def parsed(run: RunFiles, browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("trace") / "trace"
    assert export(run, "perfetto", path) == []
    with trace_parser(browser) as parser:
        parser.read(path.read_bytes())
        yield parser


SLICES = """select s.ts, s.dur, s.name, s.category, t.name, extract_arg(s.arg_set_id, 'debug.{}') from slice s
    join track t on s.track_id = t.id join track p on t.parent_id = p.id where p.name = '{}' order by s.ts, s.id"""


@pytest.mark.browser
def test_perfetto_reads_every_operation_as_it_was_recorded(parsed: TraceParser, run: RunFiles) -> None:
    found = {row[5]: row for row in parsed.query(SLICES.format("index", "clients"))}
    open_at: dict[int, dict[str, Any]] = {}
    for event in events_of(run):
        if event["type"] == "invoke" and event["process"] != "nemesis":
            open_at[event["process"]] = event
        elif event["process"] != "nemesis":
            begun = open_at.pop(event["process"])
            time, length, name, outcome, _, _ = found.pop(begun["index"])
            assert (time, length, outcome) == (begun["time"], event["time"] - begun["time"], event["type"])
            assert name == begun["f"] + ("" if outcome == "ok" else f" {outcome}")
    assert set(found) == {event["index"] for event in open_at.values()}
    wrong = parsed.query("select name, value from stats where severity in ('error', 'data_loss') and value > 0")
    assert wrong == []


@pytest.mark.browser
def test_perfetto_shows_faults_leaders_nodes_and_findings(parsed: TraceParser, run: RunFiles) -> None:
    faults = parsed.query(SLICES.format("leader", "faults"))
    begun = [(one["started"], one["fault"]) for one in json.loads(run.results.read_text())["receipts"]]
    assert [(row[0], row[2]) for row in faults] == begun
    assert [row[5] for row in faults] == ["n5", "n2"]
    named = "select s.name from slice s join track t on s.track_id = t.id where t.name = '{}' order by s.ts"
    leaders = parsed.query(named.format("leader"))
    assert [name for (name,) in leaders if name != leaders[0][0]][-1] == "n5 in term 5"
    roles = parsed.query(SLICES.format("term", "nodes"))
    assert {row[4] for row in roles} == {"n1", "n2", "n3", "n4", "n5"}
    assert {row[2] for row in roles} >= {"leader", "follower"}
    probes = [json.loads(line) for line in run.probes.read_text().splitlines()[1:]]
    ends = [probe["log_end"] for probe in probes if probe["node"] == "n3" and "log_end" in probe]
    counted = parsed.query(
        "select cast(c.value as int) from counter c join track t on c.track_id = t.id "
        "where t.name = 'n3 end of the log' order by c.ts"
    )
    assert [value for (value,) in counted] == [b for a, b in zip([None, *ends], ends, strict=False) if a != b]
    marked = {name for (name,) in parsed.query(named.format("violations"))}
    assert marked == {"committed-kept", "leader-complete", "log-order"}


@pytest.mark.browser
def test_perfetto_reads_hostile_texts(browser: Any) -> None:
    out = io.BytesIO()
    packets = Packets(out, 1_700_000_000 * 10**9)
    track = packets.track("<b>\ud800", 0)
    packets.begin(track, 5, "a\x00b'\"", "c", text="\ud83d\ude00<script>", number=-7, none=None)
    packets.end(track, 9)
    with trace_parser(browser) as parser:
        parser.read(out.getvalue())
        (row,) = parser.query("select ts, dur, category, extract_arg(arg_set_id, 'debug.number') from slice")
        assert row == (5, 4, "c", -7)
