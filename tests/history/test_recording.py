"""One run is one value: what is read of it is read once, and a damaged part costs only itself."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from history import FormatError, RunFiles, pair, read_history, read_probes, receipts_of, recording
from history.columns import file as columns
from history.columns.pairing import PLAIN_OPERATIONS
from history.recording import Recording
from history.safe_open import LINE, UnsafeFileError
from history.tables.operations import operations_table
from tests.support.opens import watched
from tests.support.reports.recorded_runs import recorded_run


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded_run("stale-reads", tmp_path_factory.mktemp("recorded"))


def test_it_holds_what_the_files_hold(root: Path) -> None:
    run, files = Recording(root), RunFiles(root)
    history = read_history(files.history)
    assert list(run.operations) == pair(history.events)
    assert run.table == operations_table(run.operations)
    assert (run.header, run.receipts) == (history.header, receipts_of(history.events))
    assert run.probes == read_probes(files.probes)
    for name in ("plan", "state", "results"):
        assert getattr(run, name) == json.loads(getattr(files, name).read_text())
    assert run.suite == {}


def test_each_file_is_opened_once_however_often_it_is_asked_for(root: Path) -> None:
    run = Recording(root)
    with watched(root) as seen:
        for _ in range(3):
            assert run.history.operations.num_rows == len(run.operations)
            assert run.header.started
            assert run.receipts
            assert run.probes
            assert run.digest(run.files.history)
            for name in ("plan", "state", "results"):
                assert run.lenient(name)
    names = ("history.jsonl", "plan.json", "probes.jsonl", "results.json", "run.json")
    assert seen.opened == Counter(dict.fromkeys(names, 1))


def test_the_outline_of_a_history_needs_no_whole_one(root: Path, tmp_path: Path) -> None:
    lines = (root / "history.jsonl").read_bytes().splitlines(keepends=True)
    place = next(place for place, line in enumerate(lines) if place > 9 and b"nemesis" not in line)
    (tmp_path / "history.jsonl").write_bytes(b"".join([*lines[:place], b"no event\n", *lines[place + 1 :]]))
    run = Recording(tmp_path)
    assert (run.header, run.receipts) == (Recording(root).header, Recording(root).receipts)
    with watched(tmp_path) as seen:
        for _ in range(2):
            with pytest.raises(FormatError, match=f"line {place + 1}: expected a JSON object"):
                _ = run.history
    assert seen.opened == {"history.jsonl": 1}
    assert run.receipts == Recording(root).receipts


@pytest.mark.parametrize("tail", [b"", b'{"index":', b"\0\0"])
@pytest.mark.parametrize("piece", [1000, 30_001, 1 << 20])
def test_a_history_is_the_same_in_whatever_pieces_it_is_read(
    root: Path, tmp_path: Path, piece: int, tail: bytes
) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes((root / "history.jsonl").read_bytes() + tail)
    with path.open("rb") as file:
        found = columns.read_whole(file, path, piece)
    whole = Recording(root).history
    assert (found.header, found.operations, found.receipts) == (whole.header, whole.operations, whole.receipts)
    assert (found.torn is None) == (tail == b"")


def test_what_is_missing_is_empty_and_what_cannot_be_read_is_an_error_each_time(tmp_path: Path) -> None:
    run = Recording(tmp_path)
    assert (run.plan, run.state, run.results, run.probes) == ({}, {}, {}, [])
    with pytest.raises(FileNotFoundError):
        _ = run.history
    (tmp_path / "plan.json").write_text("[]")
    (tmp_path / "run.json").write_bytes(b'{"failures": ["\xff"]}')
    (tmp_path / "results.json").symlink_to("plan.json")
    broken = Recording(tmp_path)
    for _ in range(2):
        with pytest.raises(FormatError, match=r"plan\.json: the file: expected a JSON object, found list"):
            _ = broken.plan
        with pytest.raises(UnsafeFileError, match="a symbolic link"):
            _ = broken.results
    assert broken.lenient("plan") == {}
    assert broken.state == {"failures": ["\ufffd"]}


def test_results_that_were_concluded_stand_for_those_on_the_disk(root: Path) -> None:
    run = Recording(root)
    assert run.results["verdict"] == "invalid"
    before = run.digest(run.files.results)
    run.conclude({"verdict": "valid"}, b'{"verdict": "valid"}')
    assert run.results == {"verdict": "valid"}
    assert run.digest(run.files.results) != before


def test_operations_are_those_of_the_table_until_the_history_is_read(root: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    (tmp_path / "tables" / "operations.parquet").mkdir(parents=True)
    (tmp_path / "history.jsonl").write_bytes((root / "history.jsonl").read_bytes())
    first = Recording(root).table.slice(0, 3)
    pq.write_table(first, tmp_path / "tables" / "operations.parquet" / "part-0.parquet")
    assert len(Recording(tmp_path).operations) == 3
    judged = Recording(tmp_path)
    assert judged.history.operations.num_rows == len(judged.operations) > 3


def test_a_log_is_kept_only_if_there_is_room_and_a_long_line_is_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "_LOGS_KEPT", 10)
    monkeypatch.setattr(recording, "LOG_LINE", 4)
    for name, text in (("a.log", "12345\n7"), ("b.log", "123\n5\n")):
        path = tmp_path / "nodes" / "n9" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run = Recording(tmp_path)
    with watched(tmp_path) as seen:
        for _ in range(2):
            assert list(run.log_lines("n9")) == ["1234", "5", "7", "123", "5"]
    assert seen.opened == {"nodes/n9/a.log": 1, "nodes/n9/b.log": 2}


@pytest.mark.parametrize("name", ["history.jsonl", "probes.jsonl"])
def test_a_line_without_an_end_is_refused_before_it_is_read(root: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes((root / name).read_bytes())
    number = path.read_bytes().count(b"\n") + 1
    os.truncate(path, path.stat().st_size + LINE + 1)
    for _ in range(2):
        with pytest.raises(FormatError, match=f"line {number}: expected at most {LINE} bytes"):
            _ = Recording(tmp_path).probes if name == "probes.jsonl" else Recording(tmp_path).header


def test_a_table_is_read_through_no_link(root: Path, tmp_path: Path) -> None:
    whole = Recording(root).history.operations
    part = RunFiles(tmp_path).table("operations") / "part-00000.parquet"
    part.parent.mkdir(parents=True)
    pq.write_table(whole.cast(PLAIN_OPERATIONS), part)
    assert Recording(tmp_path).table.num_rows == whole.num_rows
    outside = part.rename(tmp_path / "outside")
    part.symlink_to(outside)
    with pytest.raises(UnsafeFileError, match="a symbolic link"):
        _ = Recording(tmp_path).table
