"""``harness check``, ``show`` and ``report`` on recorded runs: judged again from files alone, in this process."""

from __future__ import annotations

import json
import logging
import os
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import reports
from harness.cli.main import run_command
from harness.runstate import RunState
from harness.store import create_run, link_latest
from harness.systems.api import Evidence
from harness.systems.dledger import SYSTEM as DLEDGER
from history import Check, RunFiles
from history.records.layout import WAREHOUSE
from history.tables.warehouse import read_runs
from pipeline import SessionError
from reports.load.store_index import StoreIndex
from tests.support.harness.recorded_run import PLAN, record
from tests.support.opens import watched


def check(store: Path, run: str = "latest") -> int:
    return run_command(["check", run, "--no-spark", "--store", str(store)])


def test_a_good_run_is_valid_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = record(tmp_path)
    assert check(tmp_path) == 0
    results = json.loads(run.results.read_text())
    assert (results["verdict"], results["harness_failure"]) == ("valid", None)
    assert run.table("operations").exists()
    assert "VALID" in run.summary.read_text()
    output = capsys.readouterr()
    assert output.out == f"{reports.render_brief(run, page=False).rstrip()}\nreport: {run.report}\n"
    assert output.err.startswith("judging in this process: as requested\n")


def test_a_run_beyond_todays_bounds_is_judged_and_not_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = record(tmp_path)
    plan = json.loads(run.plan.read_text())
    run.plan.write_text(json.dumps({**plan, "warm_up": 9000.0, "spark": False}))
    assert check(tmp_path) == 0
    monkeypatch.setattr("harness.execution.schedules.replayed", lambda plan, *_: plan)
    capsys.readouterr()
    assert run_command(["replay", "latest", "--store", str(tmp_path)]) == 254
    assert "--warm-up must be a number from 0 to 3600, not 9000.0" in capsys.readouterr().err


def test_a_history_that_was_cut_is_judged_as_far_as_it_goes_with_a_warning(tmp_path: Path) -> None:
    run = record(tmp_path)
    with run.history.open("ab") as file:
        file.write(b'{"index":\0\0')
    assert check(tmp_path) == 0
    warnings = json.loads(run.results.read_text())["warnings"]
    assert "history.jsonl: the last line was torn and is left out (11 bytes, 2 of them NUL)" in warnings
    assert "the last line was torn" in run.summary.read_text()


def output(run: RunFiles, store: Path) -> set[str]:
    """The verdict in the results, on the page, in the list of runs, in junit.xml, in the warehouse."""
    (row,) = StoreIndex(store).rows()
    assert "earlier verdict" not in row.sentence
    word = re.search(r'<h1 id="verdict-word">(\w+)</h1>', run.report.read_text())
    junit = ET.parse(run.junit).find("testsuite/properties/property[@name='verdict']")
    assert word is not None
    assert junit is not None
    kept = [one["verdict"] for one in read_runs(store / WAREHOUSE).to_pylist()] if (store / WAREHOUSE).is_dir() else []
    return {
        json.loads(run.results.read_text())["verdict"],
        word[1].lower(),
        row.verdict,
        str(junit.get("value")),
        *kept,
    }


def test_a_run_that_is_judged_again_is_reported_alike_everywhere(tmp_path: Path) -> None:
    """Its verdict changes twice, with what stands in a node's log."""
    run = record(tmp_path)
    log = run.nodes / "n2" / "console.log"
    assert (check(tmp_path), output(run, tmp_path)) == (0, {"valid"})
    log.write_text("ERROR truncate for data file error 17\n")
    assert (check(tmp_path), output(run, tmp_path)) == (1, {"invalid"})
    log.write_text("INFO fine\n")
    assert (check(tmp_path), output(run, tmp_path)) == (0, {"valid"})


def test_a_page_that_cannot_be_drawn_is_a_warning_and_shows_that_it_is_an_earlier_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = record(tmp_path)
    assert check(tmp_path) == 0
    (run.nodes / "n2" / "console.log").write_text("ERROR truncate for data file error 17\n")
    monkeypatch.setattr("reports.page.page.render", lambda _: 1 / 0)
    capsys.readouterr()
    assert check(tmp_path) == 1
    assert "warning: report.html" in capsys.readouterr().err
    (row,) = StoreIndex(tmp_path).rows()
    assert (row.verdict, "page of an earlier verdict" in row.sentence) == ("invalid", True)


def test_each_file_is_opened_once_and_results_are_written_once(tmp_path: Path) -> None:
    """Also where headlines are made from the results, pages quote the logs, and the warehouse takes the run in."""
    run = record(tmp_path, last_read=1)
    for node in ("n1", "n2"):
        (run.nodes / node / "console.log").write_text("2026-01-01 00:00:04,000 ERROR truncate for data file error 17\n")
    assert check(tmp_path) == 1
    with watched(run.root) as seen:
        assert check(tmp_path) == 1
    assert json.loads(run.results.read_text())["headlines"]
    raw = ("plan.json", "history.jsonl", "probes.jsonl", "run.json", "nodes/n1/console.log", "nodes/n2/console.log")
    assert {name: seen.opened[name] for name in raw} == dict.fromkeys(raw, 1)
    again = {name: count for name, count in seen.opened.items() if count > 1 and name.startswith("nodes/")}
    assert again == {}
    written = ("results.json", "summary.txt", "report.html", "junit.xml")
    assert {name: seen.replaced[name] for name in written} == dict.fromkeys(written, 1)
    assert (seen.opened["results.json"], seen.opened["report.html"]) == (0, 1), "the list asks what the page is of"


def test_judging_twice_changes_neither_the_raw_data_nor_the_verdict(tmp_path: Path) -> None:
    run = record(tmp_path)
    raw = {path: path.read_bytes() for path in (run.plan, run.history, run.probes, run.state)}
    assert (check(tmp_path), check(tmp_path, str(run.root)), check(tmp_path, str(run.history))) == (0, 0, 0)
    assert {path: path.read_bytes() for path in raw} == raw


def test_a_stale_read_is_1(tmp_path: Path) -> None:
    run = record(tmp_path, last_read=1)
    assert check(tmp_path) == 1
    (key,) = json.loads(run.results.read_text())["keys"]
    assert (key["verdict"], len(key["counterexamples"])) == ("invalid", 1)


def test_a_node_that_stayed_behind_is_1_and_distinguished(tmp_path: Path) -> None:
    run = record(tmp_path, seen_by=("n1", "n2"))
    assert check(tmp_path) == 1
    sentence = json.loads(run.results.read_text())["sentence"]
    assert sentence.startswith("linearizable: yes; recovery: no, n3 never answered a probe")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ERROR truncate for data file error 17", 1),
        ("java.lang.OutOfMemoryError: Java heap space", 255),
        ("Error: Invalid or corrupt jarfile /data/harness/register-ab.jar", 255),
        ("WARN \udcff nothing of note", 0),
    ],
)
def test_the_nodes_own_logs_are_read(tmp_path: Path, line: str, code: int) -> None:
    run = record(tmp_path)
    (run.nodes / "n2" / "console.log").write_bytes(f"INFO fine\n{line}\n".encode(errors="surrogateescape"))
    assert check(tmp_path) == code


def test_a_run_that_was_killed_is_2(tmp_path: Path) -> None:
    record(tmp_path, ended=False)
    assert check(tmp_path) == 2


def test_a_torn_history_is_judged_up_to_its_last_whole_line(tmp_path: Path) -> None:
    run = record(tmp_path)
    run.history.write_bytes(run.history.read_bytes()[:-3])
    assert check(tmp_path) == 2  # one of the final reads is missing its answer; nothing contradicts itself


@pytest.mark.parametrize("name", ["history", "plan", "state", "probes"])
def test_recorded_files_that_cannot_be_read_are_our_failure(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = record(tmp_path)
    path = getattr(run, name)
    path.write_text("nonsense\n")
    assert check(tmp_path) == 255
    said = capsys.readouterr().err
    assert path.name in said
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["history", "plan"])
def test_a_run_that_lacks_a_file_is_our_failure_and_says_which(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = record(tmp_path)
    getattr(run, name).unlink()
    assert check(tmp_path, str(run.root)) == 255
    assert f"{getattr(run, name)} is missing" in capsys.readouterr().err


def test_operations_of_another_kind_than_the_model_knows_are_our_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = record(tmp_path)
    run.history.write_text(run.history.read_text().replace('"f":"write"', '"f":"append"'))
    assert check(tmp_path) == 255
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--model", "log"]])
@pytest.mark.parametrize("name", ["nowhere.edn", "latest", "x" * 5000], ids=["file", "latest", "too long"])
def test_no_such_file_or_run_is_254(
    tmp_path: Path, name: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["check", name, *options, "--store", str(tmp_path)]) == 254
    assert f"{name}: there is no such file or run; give a history file, a run's" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--model", "register"], ["--engine", "zones"], ["--deadline", "5"]])
def test_what_is_for_a_file_is_refused_for_a_run(
    tmp_path: Path, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    record(tmp_path)
    assert run_command(["check", "latest", *option, "--store", str(tmp_path)]) == 254
    assert f"{option[0]}: only for history files, but latest is a run" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--spark"], ["--spark-conf", "spark.ui.enabled=true"]])
def test_what_is_for_a_run_is_refused_for_a_file(
    tmp_path: Path, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = record(tmp_path).history
    assert run_command(["check", str(file), "--no-spark"]) == 0
    assert run_command(["check", str(file), *option]) == 254
    assert str(file) in capsys.readouterr().err


def test_a_directory_without_a_run_is_254(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["check", str(tmp_path), "--store", str(tmp_path)]) == 254
    assert f"{tmp_path}: no run there" in capsys.readouterr().err


@pytest.mark.parametrize(("verb", "missing"), [("show", "no run there"), ("report", "there is no such file or run")])
def test_no_such_run_is_254(tmp_path: Path, verb: str, missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([verb, "nowhere", "--store", str(tmp_path)]) == 254
    assert f"nowhere: {missing}" in capsys.readouterr().err


def test_show_prints_a_judged_run_and_says_what_to_do_with_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = record(tmp_path)
    assert run_command(["show", "--store", str(tmp_path)]) == 254
    assert f"harness check {run.root}" in capsys.readouterr().err
    assert check(tmp_path) == 0
    capsys.readouterr()
    assert run_command(["show", "--store", str(tmp_path)]) == 0
    assert "VALID" in capsys.readouterr().out


def test_a_judged_run_is_listed_from_the_index_of_its_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = record(tmp_path)
    assert check(tmp_path) == 0
    capsys.readouterr()
    monkeypatch.setattr("reports.load.store_index.row_of", None)
    assert run_command(["ls", "--store", str(tmp_path)]) == 0
    assert run.root.name in capsys.readouterr().out


@pytest.mark.parametrize("broken", ["a file of the warehouse", "the warehouse's code", "the page's code"])
def test_what_breaks_down_after_the_verdict_is_a_warning_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """The log of a run keeps the traceback; here there is no log."""

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    record(tmp_path, last_read=1)
    assert check(tmp_path) == 1
    capfd.readouterr()
    if broken == "a file of the warehouse":
        files = list((tmp_path / WAREHOUSE).rglob("*.parquet"))
        assert files
        for path in files:
            path.write_bytes(b"no parquet")
    elif broken == "the warehouse's code":
        monkeypatch.setattr("harness.judge.conclude.append_run", fail)
    else:
        monkeypatch.setattr("reports.write_all", fail)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    assert check(tmp_path) == 1
    said = [line for line in capfd.readouterr().err.splitlines() if ": " in line]  # steps that take long are said, too
    assert len(said) == 2
    assert said[1].startswith("warning: ")


def test_a_page_that_could_not_be_written_is_not_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = record(tmp_path)
    assert check(tmp_path) == 0
    run.report.unlink()
    run.report.mkdir()
    (run.report / "in the way").touch()
    capsys.readouterr()
    assert run_command(["report", "latest", "--store", str(tmp_path)]) == 255
    said = capsys.readouterr()
    assert said.out == ""
    assert f"harness: {run.report} was not written" in said.err
    assert check(tmp_path) == 0
    assert "report: " not in capsys.readouterr().out


# -- documents -------------------------------------------------------------------------------------------------------


def document(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    """Code, what standard output holds (one line of JSON and nothing else), and the other stream."""
    capsys.readouterr()
    code = run_command(words)
    output = capsys.readouterr()
    assert output.out.count("\n") == 1
    return code, json.loads(output.out), output.err


@pytest.mark.parametrize(("last_read", "code", "verdict"), [(2, 0, "valid"), (1, 1, "invalid")])
def test_check_and_show_as_a_document(
    tmp_path: Path, last_read: int, code: int, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = record(tmp_path, last_read=last_read)
    ended, output, aside = document(["check", "latest", "--json", "--store", str(tmp_path)], capsys)
    assert (ended, output["exit_code"], output["verdict"], output["spark"]) == (code, code, verdict, False)
    assert verdict.upper() in aside
    results = json.loads(run.results.read_text())
    assert (output["sentence"], output["checks"]) == (results["sentence"], results["checks"])
    assert (output["harness_failure"], output["report"]) == (None, str(run.report))
    ended, shown, aside = document(["show", "--json", "--store", str(tmp_path)], capsys)
    assert (ended, aside) == (0, "")
    assert shown == {name: value for name, value in output.items() if name != "spark"}


def test_a_run_that_broke_off_as_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = record(tmp_path)
    state = RunState.read(run.state)
    state.path = run.state
    state.fail("n2: no SSH server answered")
    state.save()
    _, output, _ = document(["show", "--json", "--store", str(tmp_path)], capsys)
    assert (output["verdict"], output["exit_code"], output["results"], output["checks"]) == (None, 255, None, [])
    assert output["harness_failure"] == "n2: no SSH server answered"


def test_a_usage_error_leaves_standard_output_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["check", "latest", "--json", "--store", str(tmp_path)]) == 254
    assert capsys.readouterr().out == ""


# -- through Spark or not --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "options", "way"),
    [
        (64 << 20, [], "in this process: its history has at most 64 MiB"),
        ((64 << 20) + 1, [], "through Spark: its history has more than 64 MiB"),
        (None, ["--spark"], "through Spark: as requested"),
        pytest.param((64 << 20) + 1, ["--no-spark"], "in this process: as requested", marks=pytest.mark.slow),
    ],
)
def test_spark_is_for_large_histories(
    tmp_path: Path,
    size: int | None,
    options: list[str],
    way: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Session:
        def __init__(self, *_: object, **__: object) -> None:
            asked.append(self)

        def get(self) -> None:
            raise SessionError("no Java here")

        def stop(self) -> None:
            pass

    asked: list[Session] = []
    monkeypatch.setattr("pipeline.WarmSession", Session)
    run = record(tmp_path)
    if size is not None:
        os.truncate(run.history, size)  # A last line that was not written to its end, of which the disk holds nothing.
    code, output, aside = document(["check", "latest", "--json", *options, "--store", str(tmp_path)], capsys)
    assert (code, output["spark"]) == (0, False)  # it was judged, if not as asked
    assert aside.startswith(f"judging {way}\n")
    assert bool(asked) == way.startswith("through")
    assert any("judged without Spark" in text for text in output["warnings"]) == bool(asked)


@pytest.mark.parametrize(
    "verb",
    ["show {}", "check {} --no-spark", "replay {}", "ingest {} --no-spark", "report {}"],
    ids=lambda v: v.split()[0],
)
@pytest.mark.parametrize("written", [None, b"", b'{"format":"harness-hi'], ids=["nothing", "empty", "half a header"])
def test_a_run_that_was_killed_before_its_first_operation_is_reported_as_that(
    verb: str, written: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And no user is sent from one verb to the other."""
    run = create_run(tmp_path, PLAN, datetime(2026, 1, 1, tzinfo=UTC))
    link_latest(run)
    if written is not None:
        run.history.write_bytes(written)
    assert run_command([*verb.format("latest").split(), "--store", str(tmp_path)]) == 254
    (said,) = capsys.readouterr().err.splitlines()
    assert "there is nothing to judge" in said
    assert f"run it again: harness run --plan {run.plan}" in said
    assert run_command(["ingest", "--no-spark", "--store", str(tmp_path)]) == 0


# -- a workload with a check of its own -------------------------------------------------------------------------------


def ended_with_two(evidence: Evidence) -> Check:
    last = evidence.operations[-1].result
    logs = evidence.files is not None and (evidence.files / "n1" / "register.log").exists()
    verdict: Any = "valid" if last == 2 and logs else "invalid"
    return Check("ended-with-two", "check", verdict, "the last value is 2", f"it is {last}")


@pytest.mark.parametrize(("last", "code", "word"), [(2, 0, "yes"), (1, 1, "no, it is 1")])
def test_a_workload_with_a_check_of_its_own_is_judged_by_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], last: int, code: int, word: str
) -> None:
    own = replace(DLEDGER.workloads[0], model=ended_with_two)
    promised = "what was written last is read last"
    system = replace(DLEDGER, workloads=(own,), promises=(promised,))
    monkeypatch.setattr("harness.plan.installed", lambda name: system)
    monkeypatch.setattr("harness.plan.find_system", lambda name: system)
    run = record(tmp_path, last_read=last)
    assert check(tmp_path) == code
    results = json.loads(run.results.read_text())
    assert (results["checks"][0]["name"], results["keys"]) == ("ended-with-two", [])
    assert results["sentence"].startswith(f"ended-with-two: {word}")
    shown = run_command(["show", "latest", "--verbose", "--store", str(tmp_path)])
    output = capsys.readouterr().out
    assert (shown, "ended-with-two" in output) == (0, True)
    for text in (output, run.summary.read_text(), run.report.read_text()):
        assert "linearizable" not in text.lower()
    assert promised in run.report.read_text()
    assert run_command(["check", str(run.history)]) == 254
    assert "a check of its system judges this history, not a model" in capsys.readouterr().err
    assert read_runs(tmp_path / WAREHOUSE).to_pylist()[0]["verdict"] == results["verdict"]
