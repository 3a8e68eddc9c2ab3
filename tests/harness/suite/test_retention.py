"""Retention: old runs go by age and by size, and never one that failed and has not been looked at."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import run_command
from harness.plan import Plan
from harness.suite.retention import (
    GIB,
    RetentionLimits,
    Standing,
    Stored,
    acknowledge,
    describe,
    old_suites,
    removals,
    remove,
    remove_suite,
    stored,
    sweep,
)
from history import RunFiles
from tests.support.harness.suite_toys import leave_run

NOW = datetime(2026, 2, 1, tzinfo=UTC)
VALID = {"verdict": "valid"}


def run(days: float, size: float = 1.0, standing: Standing = "passed") -> Stored:
    return Stored(Path(f"/s/t/{days}"), NOW - timedelta(days=days), int(size * GIB), standing)


def gone(runs: list[Stored], limits: RetentionLimits) -> list[str]:
    return [removal.run.root.name for removal in removals(runs, limits, NOW)]


def test_nothing_goes_without_limits() -> None:
    assert gone([run(1000, 1000)], RetentionLimits()) == []


def test_by_age() -> None:
    assert gone([run(31), run(30), run(29)], RetentionLimits(days=30)) == ["31"]


def test_by_size_the_oldest_first_and_no_more_than_needed() -> None:
    runs = [run(4, 2), run(3, 2), run(2, 2), run(1, 2)]
    assert gone(runs, RetentionLimits(gib=8)) == []
    assert gone(runs, RetentionLimits(gib=5)) == ["4", "3"]
    assert gone(runs, RetentionLimits(gib=0)) == ["4", "3", "2", "1"]


def test_what_goes_by_age_counts_for_the_size() -> None:
    assert gone([run(40, 5), run(2, 2), run(1, 2)], RetentionLimits(days=30, gib=4)) == ["40"]


def test_a_failed_run_stays_whatever_it_takes_and_an_acknowledged_one_goes() -> None:
    runs = [run(100, 50, "failed"), run(99, 1, "acknowledged"), run(1)]
    assert gone(runs, RetentionLimits(days=30, gib=1)) == ["99", "1"]


@pytest.mark.parametrize(
    ("results", "note", "standing"),
    [
        (VALID, None, "passed"),
        ({"verdict": "invalid"}, None, "failed"),
        ({"verdict": "unknown"}, None, "failed"),
        ({"verdict": "valid", "harness_failure": "disk full"}, None, "failed"),
        ({}, None, "failed"),
        ({"verdict": "nonsense"}, {"as_expected": True, "outcome": "passed"}, "failed"),
        ({"verdict": "invalid"}, {"as_expected": True, "outcome": "passed"}, "passed"),
        ({"verdict": "invalid"}, {"as_expected": False, "outcome": "violation"}, "failed"),
        ({"verdict": "valid"}, {"as_expected": False, "outcome": "missing-violation"}, "failed"),
        ({"verdict": "invalid", "harness_failure": "x"}, {"as_expected": True, "outcome": "passed"}, "failed"),
    ],
)
def test_how_a_run_stands(tmp_path: Path, results: dict[str, Any], note: Any, standing: Standing) -> None:
    root = leave_run(tmp_path, Plan(seed=1), **results)
    if note is not None:
        (root / "suite.json").write_text(json.dumps(note))
    assert [found.standing for found in stored(tmp_path)] == [standing]
    acknowledge(RunFiles(root), "seen before", NOW)
    assert [found.standing for found in stored(tmp_path)] == ["acknowledged"]


def test_an_empty_acknowledgement_is_none(tmp_path: Path) -> None:
    root = leave_run(tmp_path, Plan(seed=1), verdict="invalid")
    (root / "acknowledged").write_text(" \n")
    assert [found.standing for found in stored(tmp_path)] == ["failed"]


def test_a_store_is_read_with_moments_and_sizes_and_links_are_not_followed(tmp_path: Path) -> None:
    first = leave_run(tmp_path, Plan(seed=1), name="20260102T030405.678Z-1", **VALID)
    (first / "big").write_bytes(b"x" * 100_000)
    with (first / "sparse").open("wb") as file:
        file.truncate(10**9)
    (tmp_path / "register-no-fault-0.4.0" / "latest").symlink_to(first.name)
    (tmp_path / "latest").symlink_to(f"register-no-fault-0.4.0/{first.name}")
    odd = leave_run(tmp_path, Plan(seed=2, nemesis=("x",)), name="by hand", **VALID)
    found = stored(tmp_path)
    assert [run.root for run in found] == [first, odd]
    assert found[0].started == datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    assert 100_000 <= found[0].size < 1_000_000
    assert stored(tmp_path / "none") == []


def test_a_removed_run_is_gone_with_its_pages_and_its_links_and_nothing_else(tmp_path: Path) -> None:
    old = leave_run(tmp_path, Plan(seed=1), name="20260101T000000.000Z-1", **VALID)
    kept = leave_run(tmp_path, Plan(seed=2), name="20260131T000000.000Z-2", **VALID)
    page = tmp_path / "site" / "runs" / old.parent.name / old.name
    page.mkdir(parents=True)
    (tmp_path / "latest").symlink_to(f"{old.parent.name}/{old.name}")
    (old.parent / "latest").symlink_to(kept.name)
    for removal in removals(stored(tmp_path), RetentionLimits(days=5), NOW):
        remove(removal, tmp_path)
    assert not old.exists()
    assert not page.exists()
    assert not (tmp_path / "latest").is_symlink()
    assert (kept.parent / "latest").exists()
    assert kept.is_dir()


def test_a_run_that_failed_since_it_was_listed_stays(tmp_path: Path) -> None:
    root = leave_run(tmp_path, Plan(seed=1), name="20260101T000000.000Z-1", **VALID)
    going = removals(stored(tmp_path), RetentionLimits(days=5), NOW)
    (root / "results.json").write_text('{"verdict": "invalid"}')
    remove(going[0], tmp_path)
    assert root.is_dir()


def test_a_retention_that_was_killed_is_finished_by_the_next(tmp_path: Path) -> None:
    aside = tmp_path / "test" / ".going-x"
    aside.mkdir(parents=True)
    (aside / "file").write_text("x")
    sweep(tmp_path)
    assert not aside.exists()


def test_a_suite_goes_when_it_is_old_and_none_of_its_runs_is_left(tmp_path: Path) -> None:
    run = leave_run(tmp_path, Plan(seed=1), verdict="invalid")
    there = {"run": f"{run.parent.name}/{run.name}"}
    left = {
        "20260101T000000.000Z": there,
        "20260102T000000.000Z": {"run": "gone/2026"},
        "20260103T000000.000Z": {"run": ""},
        "20260104T000000.000Z": {},
        "20260131T000000.000Z": {"run": "gone/2026"},
    }
    home = tmp_path / "suites" / "toy"
    for name, record in left.items():
        (home / name).mkdir(parents=True)
        (home / name / "attempts.jsonl").write_text(json.dumps(record) + "\n")
    (home / "latest").symlink_to("20260102T000000.000Z")
    assert old_suites(tmp_path, RetentionLimits(), NOW) == []
    found = old_suites(tmp_path, RetentionLimits(days=5), NOW)
    assert [path.name for path in found] == ["20260102T000000.000Z", "20260103T000000.000Z"]
    for path in found:
        remove_suite(path)
    assert {path.name for path in home.iterdir()} == set(left) - {path.name for path in found}


def test_people_are_shown_what_goes_and_what_waits_for_them() -> None:
    runs = [run(40), run(35, 2, "failed"), run(1)]
    lines = list(describe(runs, removals(runs, RetentionLimits(days=30), NOW)))
    assert lines[0] == "removes: t/40  1024 MiB  older than 30 days"
    assert lines[1] == "2 of 3 runs stay, 3.00 GiB"
    assert lines[2] == "of these, 1 (2.00 GiB) failed and wait for `harness ack RUN --reason …`"


def test_ack_writes_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = leave_run(tmp_path, Plan(seed=1), verdict="invalid")
    name = f"{root.parent.name}/{root.name}"
    assert run_command(["ack", name, "--store", str(tmp_path), "--reason", " known:\n  no recovery "]) == 0
    assert capsys.readouterr().out == f"{root.resolve() / 'acknowledged'}\n"
    assert (root / "acknowledged").read_text().endswith("Z known: no recovery\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ack", "x"], "Missing option '--reason'"),
        (["ack", "x", "--reason", "y"], "x: no run there"),
        (["nightly", "--dry-run", "--keep-days", "-1"], "--keep-days must be from 0 to 1000000, not -1"),
        (["nightly", "--dry-run", "--keep-days", "1e300"], "--keep-days must be from 0 to 1000000, not 1e+300"),
        (["nightly", "--dry-run", "--keep-gib", "nan"], "--keep-gib must be from 0 to 1000000, not nan"),
    ],
)
def test_what_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command(words) == 254
    assert message in capsys.readouterr().err


def test_an_empty_reason_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = leave_run(tmp_path, Plan(seed=1), verdict="invalid")
    assert run_command(["ack", str(root), "--reason", " "]) == 254
    assert "--reason is empty" in capsys.readouterr().err
    assert not (root / "acknowledged").exists()
