"""A night around a suite: its runs reach warehouse, trends and site; old ones go; a step that fails spoils no other."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cli.main import run_command
from harness.errors import StoreError
from harness.judge.conclude import conclude
from harness.suite import night as night_module
from harness.suite.journal import begin
from history.recording import Recording
from history.tables.warehouse import read_runs, read_trends
from tests.support.harness.recorded_run import record
from tests.support.harness.suite_toys import begun


class Nights:
    """Each night leaves one recorded run, judged; ``code`` is what its suite comes to."""

    def __init__(self, store: Path) -> None:
        self.store, self.code, self.number = store, 0, 0
        self.last_read: int | None = 2

    def run_suite(self, wishes: Any) -> Any:
        assert not wishes.draw_site
        self.number += 1
        run = record(self.store, last_read=self.last_read)
        moment = datetime(2026, 1, self.number, tzinfo=UTC)
        run.root.rename(run.root.with_name(f"{moment:%Y%m%dT%H%M%S}.000Z-{self.number}"))
        conclude(Recording(run.root.with_name(f"{moment:%Y%m%dT%H%M%S}.000Z-{self.number}")), None)
        return SimpleNamespace(code=self.code, journal=begin(self.store, begun(), datetime.now(UTC)))

    def __call__(self, *words: str) -> int:
        return run_command(["nightly", "suites/smoke.toml", "--store", str(self.store), "--no-spark", *words])


@pytest.fixture
def nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nights:
    nights = Nights(tmp_path / "store")
    monkeypatch.setattr(night_module, "run_suite", nights.run_suite)
    return nights


def test_three_nights_are_three_points_of_a_trend(nights: Nights, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        assert nights("--keep-days", "100000") == 0
    runs = read_runs(nights.store / "warehouse")
    assert runs.num_rows == 3
    assert [row["runs"] for row in read_trends(nights.store / "warehouse").to_pylist()] == [3]
    said = capsys.readouterr().out
    assert "working in this process: as requested" in said
    assert "no fault 0.4.0: 3 runs, 3 valid" in said
    assert (nights.store / "site" / "trends.html").exists()
    reported = (nights.store / "suites" / "toy" / "latest" / "night.txt").read_text()
    assert [line for line in reported.splitlines() if line.startswith("== ")] == [
        "== warehouse", "== trends", "== retention", "== site",
    ]  # fmt: skip


@pytest.mark.parametrize("code", [0, 1, 2, 255])
def test_the_code_is_the_suites(nights: Nights, code: int) -> None:
    nights.code = code
    assert nights() == code


def test_an_interrupted_suite_ends_the_night(nights: Nights) -> None:
    nights.code = 130
    assert nights() == 130
    assert not (nights.store / "warehouse").exists()


def test_old_runs_go_but_stay_in_the_trends_and_failed_ones_stay_until_acknowledged(nights: Nights) -> None:
    nights()
    nights.last_read = 1
    nights.code = 1
    assert nights() == 1
    left = [path.name for path in nights.store.glob("register-*/2*")]
    assert left == ["20260102T000000.000Z-2"]
    assert read_runs(nights.store / "warehouse").num_rows == 2
    assert not list((nights.store / "site" / "runs").glob("*/*-1"))
    assert list((nights.store / "site" / "runs").glob("*/*-2"))
    run_command(["ack", str(next(nights.store.glob("register-*/2*"))), "--reason", "seen"])
    nights.last_read, nights.code = 2, 0
    assert nights("--keep-days", "36500") == 0
    assert len(list(nights.store.glob("register-*/2*"))) == 2
    assert nights() == 0
    assert list(nights.store.glob("register-*/2*")) == []


def test_a_step_that_fails_spoils_no_other_but_the_code(
    nights: Nights, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreError("disk full")

    monkeypatch.setattr("pipeline.ingest", fail)
    assert nights("--keep-days", "100000") == 255
    said = capsys.readouterr().out
    assert "warehouse failed: disk full" in said
    assert "1 of 1 runs stay" in said
    assert (nights.store / "site" / "index.html").exists()


def test_a_dry_run_says_what_would_run_and_go_and_touches_nothing(
    nights: Nights, capsys: pytest.CaptureFixture[str]
) -> None:
    nights("--keep-days", "100000")
    before = sorted(os.walk(nights.store))
    assert nights("--dry-run", "--keep-days", "3") == 0
    said = capsys.readouterr().out
    assert "cells of smoke" in said
    assert "removes: register-no-fault-0.4.0/20260101T000000.000Z-1" in said
    assert sorted(os.walk(nights.store)) == before
    assert nights.number == 1


def test_a_run_that_cannot_be_read_is_named_and_fails_nothing(
    nights: Nights, capsys: pytest.CaptureFixture[str]
) -> None:
    nights("--keep-days", "100000")
    broken = record(nights.store)
    broken.history.write_text("nonsense\n")
    broken.results.write_text(json.dumps({"verdict": "valid"}))
    broken.root.rename(broken.root.with_name("20260105T000000.000Z-5"))
    assert nights("--keep-days", "100000") == 0
    said = capsys.readouterr().out
    assert "not added: " in said
    assert "1 added, 1 unchanged, 1 failed" in said
