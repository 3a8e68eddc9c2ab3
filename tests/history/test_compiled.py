"""Machine code is kept for as long as none of the compiled code changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import history
from checker.kernels.slots import give_slots
from history.compiled import digest

ROOT = Path(history.__file__).resolve().parents[1]


def test_what_is_cached_depends_on_all_compiled_code() -> None:
    """numba may do without the attribute some day; then this fails, and not a user whose cache is old."""
    assert give_slots._cache._cache_file._source_stamp[1] == digest()


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
