"""The index of a store: what it asks the disk, what it remembers, and that it is never wrong."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from history.recording import Recording
from reports.load.run_row import RunRow, row_of
from reports.load.store_index import INDEX_NAME, StoreIndex, remember, runs_of
from tests.support.draws import draws
from tests.support.reports.stores import many_runs


def test_a_list_asks_for_four_files_of_each_run_that_it_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many_runs(tmp_path, 20)
    StoreIndex(tmp_path).rows()
    asked: list[str] = []
    stat = os.stat

    def counted(path: str, **options: Any) -> os.stat_result:
        asked.append(str(path))
        return stat(path, **options)

    index = StoreIndex(tmp_path)
    monkeypatch.setattr("os.stat", counted)
    rows = index.rows()
    monkeypatch.undo()
    assert len(rows) == 20
    assert len([path for path in asked if "/test-" in path]) == 4 * 20


def index_lines(store: Path) -> list[str]:
    return (store / INDEX_NAME).read_text().splitlines()


def test_a_judged_run_adds_its_line_and_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many_runs(tmp_path, 6)
    (first, *others) = runs_of(tmp_path)
    for files in (first, *others, first):
        remember(Recording(files.root), tmp_path)
    assert len(index_lines(tmp_path)) == 7
    remember(Recording(first.root), tmp_path / "test-0")
    assert not (tmp_path / "test-0" / INDEX_NAME).exists(), "it is no store of this run"
    read_anew = StoreIndex(tmp_path, remember=False).rows()
    monkeypatch.setattr("reports.load.store_index.row_of", None)
    assert StoreIndex(tmp_path).rows() == read_anew
    monkeypatch.undo()
    (first.results).write_text(json.dumps({"verdict": "invalid", "sentence": "changed"}))
    assert "changed" in [row.sentence for row in StoreIndex(tmp_path).rows()]
    assert len(index_lines(tmp_path)) == 8


@settings(max_examples=draws(12, 200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["judge", "change", "remove", "tear", "nonsense", "list"]), max_size=12))
def test_whatever_happens_to_the_index_the_list_is_that_of_the_files(tmp_path: Path, steps: list[str]) -> None:
    store = Path(tempfile.mkdtemp(dir=tmp_path))
    many_runs(store, 4)
    kept = StoreIndex(store)
    for number, step in enumerate(steps):
        runs = sorted(runs_of(store), key=lambda files: files.root.name)
        files, index = runs[number % len(runs)], store / INDEX_NAME
        if step == "judge":
            remember(Recording(files.root), store)
        elif step == "change":
            files.results.write_text(json.dumps({"verdict": "invalid", "sentence": f"{'x' * number} now"}))
        elif step == "remove" and len(runs) > 1:
            shutil.rmtree(files.root)
        elif step == "tear" and index.exists():
            index.write_bytes(index.read_bytes()[:-9])
        elif step == "nonsense":
            index.write_text('[11,"test-0/x",[],{}]\n{"a"')
        read_anew = StoreIndex(store, remember=False).rows()
        newest = read_anew[: number % 3 + 1], len(read_anew)
        assert StoreIndex(store, remember=False).newest(len(newest[0])) == newest
        assert kept.newest(len(newest[0])) == newest
        assert StoreIndex(store).rows() == read_anew
        assert kept.rows() == read_anew


def test_an_index_of_dead_lines_is_written_anew(tmp_path: Path) -> None:
    many_runs(tmp_path, 2)
    (first, _) = runs_of(tmp_path)
    remember(Recording(first.root), tmp_path)
    (line,) = index_lines(tmp_path)
    (tmp_path / INDEX_NAME).write_text(f"{line}\n" * 1100)
    StoreIndex(tmp_path).rows()
    assert len(index_lines(tmp_path)) == 2


def test_the_newest_runs_are_listed_without_reading_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many_runs(tmp_path, 20)
    undated = tmp_path / "test-0" / "by-hand"
    shutil.copytree(next(iter(runs_of(tmp_path))).root, undated)
    rows = StoreIndex(tmp_path, remember=False).rows()
    read: list[Path] = []

    def noted(run: Recording) -> RunRow:
        read.append(run.files.root)
        return row_of(run)

    monkeypatch.setattr("reports.load.store_index.row_of", noted)
    assert StoreIndex(tmp_path).newest(3) == (rows[:3], 21)
    assert len(read) == 4
    assert undated in read
    assert StoreIndex(tmp_path).newest(3) == (rows[:3], 21)
    assert len(read) == 4
    assert StoreIndex(tmp_path).rows() == rows
    assert len(read) == 21
