"""Machine code is kept for as long as none of the compiled code changes."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import history
from checker.kernels.slots import give_slots
from history import Header, HistoryWriter
from history.columns.lines import Block, read_block
from history.compiled import compiled, compiled_loop, digest
from history.readers import jsonl_kernel, text_kernel
from history.readers.jsonl_columns import read_columns
from history.readers.text_columns import TextScan

ROOT = Path(history.__file__).resolve().parents[1]


def test_what_is_cached_depends_on_all_compiled_code() -> None:
    """numba may do without the attribute some day; then this fails, and not a user whose cache is old."""
    assert give_slots._cache._cache_file._version[1] == digest()


def test_an_index_of_other_code_is_not_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may name a module of ours that is gone."""
    file = give_slots._cache._cache_file
    index = tmp_path / "index"
    index.write_bytes(pickle.dumps((file._version[0], "another digest")) + b"cmodule_that_is_gone\nName\n.")
    monkeypatch.setattr(file, "_index_path", str(index))
    assert file._load_index() == {}


def double(number: int) -> int:
    return 2 * number


def test_without_a_directory_for_it_code_is_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As a plain user without a home, on a project of root's."""
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    assert [compiled(double)(21), compiled_loop(double)(4)] == [42, 8]
    assert [record.getMessage().count("NUMBA_CACHE_DIR") for record in caplog.records] == [1]


def test_a_full_disk_costs_no_more_than_the_kept_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    assert compiled(double)(21) == 42


def test_a_change_anywhere_in_it_changes_the_digest(tmp_path: Path) -> None:
    names = ("history/codes.py", "history/readers/jsonl_kernel.py", "checker/kernels/slots.py")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    found = {digest(tmp_path)}
    for name in names:
        with (tmp_path / name).open("a") as file:
            file.write("# changed\n")
        found.add(digest(tmp_path))
    (tmp_path / "checker/engines").mkdir()
    (tmp_path / "checker/engines/zones.py").write_text("")
    found.add(digest(tmp_path))
    assert len(found) == 1 + len(names)


def test_a_scanner_is_compiled_once_whatever_the_file(tmp_path: Path) -> None:
    """Each form takes seconds: one for a single line, one for many, each of bytes that may be changed and may not."""
    history_of = tmp_path / "h"
    for operations in (1, 3):
        writer = HistoryWriter(history_of, Header(), started_ns=0, clock=lambda: 1)
        for number in range(operations):
            writer.append("invoke", number, "write", value=number)
        writer.close()
        read_columns(history_of)
        data = history_of.read_bytes()
        for lines in (np.frombuffer(data, np.uint8), np.fromfile(history_of, np.uint8)):
            assert read_block(lines, Block(0), 0)[0].num_rows == operations
        history_of.unlink()
        text = tmp_path / "h.edn"
        text.write_bytes(b"{:type :invoke, :f :write, :value 1, :process 0}\n" * operations)
        assert isinstance(TextScan(np.fromfile(text, np.uint8), 0, "", is_log=False).rows, np.ndarray)
    assert [len(scanner.signatures) for scanner in (jsonl_kernel.scan, text_kernel.scan_texts)] == [1, 1]
