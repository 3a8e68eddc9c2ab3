"""Machine code is kept for as long as none of the compiled code changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import history
from checker.kernels.slots import give_slots
from history.compiled import compiled, compiled_loop, digest

ROOT = Path(history.__file__).resolve().parents[1]


def test_what_is_cached_depends_on_all_compiled_code() -> None:
    """numba may do without the attribute some day; then this fails, and not a user whose cache is old."""
    assert give_slots._cache._cache_file._source_stamp[1] == digest()


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
