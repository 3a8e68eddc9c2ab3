"""The lists of what there is to choose from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checker.models.registry import model_names
from harness.cli.main import run_command
from harness.systems import DEFAULT, find_system


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run_command(words) == 0
    return capsys.readouterr().out


def test_systems_are_listed_with_their_versions(capsys: pytest.CaptureFixture[str]) -> None:
    line = next(line for line in said(capsys, "list", "systems").splitlines() if line.startswith(DEFAULT))
    assert ", ".join(find_system(DEFAULT).versions) in line


def test_a_system_says_all_that_can_be_chosen_and_what_its_answers_prove(capsys: pytest.CaptureFixture[str]) -> None:
    system, text = find_system(DEFAULT), said(capsys, "list", "systems", DEFAULT)
    names = [option.name for option in system.options] + [bug.name for bug in system.planted_bugs]
    names += [workload.name for workload in system.workloads]
    assert [name for name in (*names, *map(str, system.promises)) if name not in text] == []
    assert all(rule.answer in text for rule in system.law.rules.values())


def test_workloads_and_models(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "list", "workloads", "--json"))["workloads"]
    assert {one["name"] for one in found if one["system"] == DEFAULT} == {
        one.name for one in find_system(DEFAULT).workloads
    }
    assert {one["model"] for one in found} - {None} <= set(model_names())
    assert "  register" in said(capsys, "list", "workloads")
    models = json.loads(said(capsys, "list", "models", "--json"))["models"]
    assert [one["name"] for one in models] == sorted(model_names())
    summaries = {one["name"]: one["summary"] for one in models}
    assert all(summaries.values())
    assert len({*summaries.values()}) == len(summaries)
    assert summaries["register-unknown"].startswith(summaries["register"])


def test_workloads_of_one_system_or_of_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = said(capsys, "list", "workloads", "zookeeper").splitlines()
    assert lines[0] == "zookeeper:"
    assert len(lines) == 1 + len(find_system("zookeeper").workloads)
    path = tmp_path / "mine.toml"
    path.write_text('workloads = ["set"]\n[[roles]]\ncommand = "x"\nport = 70\n[client]\ncommand = "cat"\n')
    assert [line.split()[0] for line in said(capsys, "list", "workloads", str(path)).splitlines()] == ["mine:", "set"]


def test_an_unknown_system_is_254(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["list", "systems", "nothing"]) == 254
    assert "there is no system 'nothing'" in capsys.readouterr().err


def test_suites_and_scripts_are_found_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = json.loads(said(capsys, "list", "suites", "--json"))
    assert {"smoke", "nightly"} <= {one["name"] for one in found["suites"]}
    assert all(one["summary"] and Path(one["file"]).is_file() for kind in found.values() for one in kind)
    assert "cells of smoke" in said(capsys, "suite", "smoke", "--dry-run")
    words = ["run", "--schedule", "forgotten-terms", "--dledger-version", "0.3.2", "--time-limit", "34", "--dry-run"]
    assert "inject" in said(capsys, *words)
    assert run_command(["suite", "smok", "--dry-run"]) == 254
    assert "there is no suite 'smok'; did you mean smoke" in capsys.readouterr().err
    own = tmp_path / "suites" / "smoke.toml"
    own.parent.mkdir()
    own.write_text("description = 'mine'\n[[matrix]]\nnemesis = 'bridge'\n")
    assert "1 cells of smoke" in said(capsys, "suite", "smoke", "--dry-run")
