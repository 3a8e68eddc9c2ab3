"""``harness ask`` on the command line: pages, limits, refusals, and texts of runs that would control a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from bench.pipeline.generated_runs import made_tables, write_by_month
from harness.cli.main import run_command
from history.tables.warehouse import written_schema

ESCAPE = "\x1b[2J"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two runs, each with four gaps and a hostile fault and log line; the newer one has a page."""
    tables = made_tables(2)
    runs = tables["runs"]["run"].to_pylist()
    rows = [
        {"run": run, "time": time * 10**9, "kind": kind, "name": name, "nodes": ["n1"], "seconds": 2.0}
        for run in runs
        for time, kind, name in [
            (1, "fault", f"kill{ESCAPE}"), *((time, "gap", None) for time in (2, 3, 4, 5)), (6, "log", f"bad {ESCAPE}"),
        ]
    ]  # fmt: skip
    events = pa.Table.from_pylist(rows, written_schema("events"))
    write_by_month(tmp_path / "warehouse/versions/00000001", {"runs": tables["runs"], "events": events})
    (tmp_path / runs[1]).mkdir(parents=True)
    (tmp_path / runs[1] / "report.html").touch()
    return tmp_path


def test_matches_are_counted_and_lead_to_pages(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["ask", "gap", "not", "preceded", "by", "gap", "within", "3", "s", "--store", str(store)]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "2 of 8 events, in 2 of 2 runs"
    newer, older = (line.split()[0] for line in lines if line.startswith("/"))
    assert Path(newer).is_file()
    assert not older.endswith(".html")
    assert run_command(["ask", "gap", "--limit", "1", "--store", str(store)]) == 0
    shown = capsys.readouterr().out
    assert (shown.count(" gap "), "and 1 more" in shown, "1 more runs" in shown) == (3, True, True)


def test_the_document_has_everything(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["ask", "--json", "--store", str(store), 'log "BAD" preceded by fault']) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["events"], found["runs"], len(found["matches"])) == (2, 2, 2)
    assert found["matches"][0]["seconds"] == 6
    assert found["sql"].startswith("SELECT")


def test_no_text_of_a_run_controls_the_terminal(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)  # click's own defence, which hides ours
    for question in ("log", "fault", "kli"):
        run_command(["ask", question, "--store", str(store)])
    printed = capsys.readouterr()
    assert "bad" in printed.out
    assert "did you mean" in printed.err or "the choices are" in printed.err
    assert "\x1b" not in printed.out + printed.err


@pytest.mark.parametrize("question", ["gap gap", "nothing", 'log "open', "log nowhere", "gap on n9"])
def test_a_bad_question_is_a_usage_error_on_one_line(
    question: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["ask", question, "--store", str(store)]) == 254
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_empty_warehouse_names_the_mend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["ask", "gap", "--store", str(tmp_path)]) == 254
    assert "harness ingest" in capsys.readouterr().err
