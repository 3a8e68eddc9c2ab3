"""``harness check``, ``show`` and ``report`` on recorded runs: judged again from files alone, in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli.main import run_command
from tests.harness.recorded_run import record


def check(store: Path, run: str = "latest") -> int:
    return run_command(["check", run, "--no-spark", "--store", str(store)])


def test_a_good_run_is_valid_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = record(tmp_path)
    assert check(tmp_path) == 0
    results = json.loads(run.results.read_text())
    assert (results["verdict"], results["harness_failure"]) == ("valid", None)
    assert run.table("operations").exists()
    assert "VALID" in run.summary.read_text()
    assert capsys.readouterr().err.strip().endswith(run.summary.read_text().strip())


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


def test_a_node_that_stayed_behind_is_1_and_told_apart(tmp_path: Path) -> None:
    run = record(tmp_path, seen_by=("n1", "n2"))
    assert check(tmp_path) == 1
    assert json.loads(run.results.read_text())["sentence"].startswith("linearizable: yes; recovery: no, n3 silent")


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


@pytest.mark.parametrize("verb", ["check", "show", "report"])
def test_no_such_run_is_254(tmp_path: Path, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([verb, "nowhere", "--store", str(tmp_path)]) == 254
    assert "nowhere: no run there" in capsys.readouterr().err


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
