"""``harness check --level``: the isolation level that the transactions of a file are to keep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli.main import run_command

#: Two transactions of which neither saw the other, in the shape of Elle's histories.
SKEW = """
{:type :invoke, :f :txn, :value [[:append 5 1] [:r 6 nil]], :process 0, :time 10, :index 0}
{:type :invoke, :f :txn, :value [[:r 5 nil] [:append 6 2]], :process 1, :time 11, :index 1}
{:type :ok, :f :txn, :value [[:append 5 1] [:r 6 nil]], :process 0, :time 13, :index 2}
{:type :ok, :f :txn, :value [[:r 5 nil] [:append 6 2]], :process 1, :time 14, :index 3}
"""


@pytest.fixture
def skew(tmp_path: Path) -> str:
    path = tmp_path / "history.edn"
    path.write_text(SKEW)
    return str(path)


def test_a_level_that_is_broken_is_1_with_a_cycle(skew: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["check", skew, "--model", "list-append", "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)["keys"][0]
    assert "strong-snapshot-isolation" in verdict["levels"]
    assert "serializable" not in verdict["levels"]
    example = verdict["counterexamples"][0]
    assert example["kind"] == "G2-item"
    assert [edge["kind"] for edge in example["dependencies"]] == ["rw", "rw"]


def test_a_level_that_holds_is_0(skew: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["check", skew, "--model", "list-append", "--level", "snapshot-isolation"]) == 0
    assert "strong-snapshot-isolation" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--level", "serializable"], "--model"),
        (["--model", "list-append", "--level", "serialisable"], "serializable"),
        (["--model", "register", "--level", "serializable"], "list-append"),
    ],
)
def test_a_level_needs_a_model_that_has_it(
    options: list[str], named: str, skew: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["check", skew, *options]) == 254
    assert named in capsys.readouterr().err


def test_a_value_appended_twice_is_refused_with_both_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "history.edn"
    path.write_text(SKEW.replace("[:append 6 2]", "[:append 5 1]"))
    assert run_command(["check", str(path), "--model", "list-append"]) == 254
    assert "index 0 and at index 1" in capsys.readouterr().err
