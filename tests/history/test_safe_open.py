"""Files in a run: plain ones of bounded size, by no link; what is written appears whole or not at all."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

from history.errors import FormatError
from history.safe_open import (
    DOCUMENT,
    UnsafeFileError,
    append_below,
    open_below,
    read_below,
    regular_files,
    replacing,
    require_plain,
    require_short_lines,
    write_below,
)

SECRET = "a secret"


def outside(root: Path) -> Path:
    path = root.parent / "outside"
    path.mkdir(exist_ok=True)
    (path / "secret").write_text(SECRET)
    return path / "secret"


def link_to_file(path: Path, root: Path) -> None:
    path.symlink_to(outside(root))


def link_inside(path: Path, root: Path) -> None:
    (root / "other").write_text("other")
    path.symlink_to(root / "other")


def link_to_nothing(path: Path, root: Path) -> None:
    path.symlink_to(root.parent / "nothing")


def link_to_device(path: Path, root: Path) -> None:
    path.symlink_to("/dev/zero")


def named_pipe(path: Path, root: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path, root: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(path.parent)  # the names of sockets are short
        try:
            listening.bind(path.name)
        finally:
            os.chdir(here)


def directory(path: Path, root: Path) -> None:
    path.mkdir()


PLANTED: list[Callable[[Path, Path], None]] = [
    link_to_file, link_inside, link_to_nothing, link_to_device, named_pipe, unix_socket,
]  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "run"
    (found / "nodes" / "n1").mkdir(parents=True)
    return found


@pytest.mark.parametrize("plant", [*PLANTED, directory])
@pytest.mark.parametrize("place", ["plan.json", "nodes/n1/server.log"])
def test_nothing_but_a_regular_file_is_opened_or_replaced(
    root: Path, plant: Callable[[Path, Path], None], place: str
) -> None:
    path = root / place
    plant(path, root)
    before = os.lstat(path)
    for attempt in (
        lambda: open_below(root, path),
        lambda: read_below(root, path),
        lambda: write_below(root, path, b"x"),
        lambda: append_below(root, path, b"x"),
    ):
        with pytest.raises(UnsafeFileError) as refused:
            attempt()
        assert refused.value.source == str(path)
    after = os.lstat(path)
    assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)
    assert list(path.parent.glob(".*")) == []


@pytest.mark.parametrize("plant", PLANTED)
def test_a_run_with_one_of_them_is_refused_by_its_name(root: Path, plant: Callable[[Path, Path], None]) -> None:
    require_plain(root)
    path = root / "nodes" / "n1" / "server.log"
    plant(path, root)
    with pytest.raises(UnsafeFileError) as refused:
        require_plain(root)
    assert refused.value.source == str(path)


def test_a_link_to_a_directory_on_the_way_is_refused(root: Path) -> None:
    secret = outside(root)
    (root / "plots").symlink_to(secret.parent)
    with pytest.raises(UnsafeFileError, match="plots on the way to it is a symbolic link"):
        open_below(root, root / "plots" / "secret")
    with pytest.raises(UnsafeFileError, match="plots on the way to it is a symbolic link"):
        write_below(root, root / "plots" / "secret", b"x")
    with pytest.raises(UnsafeFileError):
        require_plain(root)
    assert secret.read_text() == SECRET


def test_no_name_leads_out(root: Path) -> None:
    outside(root)
    with pytest.raises(UnsafeFileError, match="points outside"):
        open_below(root, root / ".." / "outside" / "secret")


def test_the_directory_that_the_user_named_may_be_a_link(root: Path) -> None:
    latest = root.parent / "latest"
    latest.symlink_to(root.name)
    write_below(latest, latest / "plan.json", b"{}")
    append_below(latest, latest / "plan.json", b"\n")
    require_plain(latest)
    assert read_below(latest, latest / "plan.json") == b"{}\n"


def test_an_endless_file_is_refused_by_its_size(root: Path) -> None:
    path = root / "plan.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UnsafeFileError, match=f"{1 << 40} bytes, but at most {DOCUMENT}"):
        read_below(root, path)
    path.write_bytes(b"123")
    assert read_below(root, path, most=3) == b"123"
    with pytest.raises(UnsafeFileError, match="3 bytes, but at most 2"):
        read_below(root, path, most=2)


def test_what_is_missing_is_named_whole(root: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        open_below(root, root / "nodes" / "n9" / "server.log")
    assert missing.value.filename == str(root / "nodes" / "n9" / "server.log")


def _fill_the_disk(file: BinaryIO) -> None:
    file.write(b"half")
    raise OSError(28, "No space left on device")


def test_a_file_is_replaced_whole_or_not_at_all(root: Path) -> None:
    path = root / "results.json"
    write_below(root, path, b"old")
    with replacing(root, path, sync=True) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    with pytest.raises(OSError, match="No space left"), replacing(root, path) as file:
        _fill_the_disk(file)
    assert path.read_bytes() == b"new"
    assert sorted(one.name for one in root.iterdir()) == ["nodes", "results.json"]


def test_an_error_of_the_block_keeps_its_own_name(root: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing, replacing(root, root / "x") as _:
        (root / "tables").open()
    assert missing.value.filename == str(root / "tables")


def test_another_name_of_a_file_is_not_written_through(root: Path) -> None:
    secret = outside(root)
    os.link(secret, root / "summary.txt")
    write_below(root, root / "summary.txt", b"ours")
    assert secret.read_text() == SECRET


def test_only_plain_files_with_plain_names_are_listed(root: Path) -> None:
    (root / "b.txt").write_text("12")
    (root / "nodes" / "n1" / "a.log").write_text("1")
    (root / ".hidden").write_text("x")
    for number, plant in enumerate(PLANTED):
        plant(root / f"planted-{number}", root)
    assert regular_files(root) == [("b.txt", 2), ("other", 5), ("nodes/n1/a.log", 1)]


@pytest.mark.parametrize(
    ("content", "wrong"),
    [(b"", 0), (b"1234\n" * 9, 0), (b"1234", 0), (b"1\n12345\n", 2), (b"1\n1234\n12345", 3), (b"\n\n" + b"\0" * 99, 3)],
)
def test_a_line_is_bounded_before_anybody_reads_it(root: Path, content: bytes, wrong: int) -> None:
    path = root / "history.jsonl"
    path.write_bytes(content)
    with open_below(root, path) as file:
        if not wrong:
            require_short_lines(file, path, most=4)
            assert file.read() == content
            return
        with pytest.raises(FormatError) as refused:
            require_short_lines(file, path, most=4)
    assert refused.value.place == f"line {wrong}"


@pytest.mark.parametrize("before", [[], [3], [150_000, 1, 0], [70_000] * 4])
@pytest.mark.parametrize("last", [149_999, 150_000, 150_001, 400_000])
@pytest.mark.parametrize("end", [b"", b"\n", b"\n1\n"])
def test_lines_are_longer_than_what_is_read_at_once(root: Path, before: list[int], last: int, end: bytes) -> None:
    path = root / "history.jsonl"
    path.write_bytes(b"".join(b"x" * length + b"\n" for length in before) + b"x" * last + end)
    with open_below(root, path) as file:
        if last <= 150_000:
            require_short_lines(file, path, most=150_000)
            assert file.tell() == 0
            return
        with pytest.raises(FormatError) as refused:
            require_short_lines(file, path, most=150_000)
    assert refused.value.place == f"line {len(before) + 1}"


def test_an_entry_that_cannot_be_looked_at_hides_no_other(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (root / name).write_text("")
    (root / "c").symlink_to(outside(root))
    listed = os.scandir

    class Vanished:
        """An entry that was removed after the directory was listed."""

        name = "a"

        def stat(self, *, follow_symlinks: bool) -> os.stat_result:
            raise FileNotFoundError(self.name, follow_symlinks)

    @contextmanager
    def scandir(folder: Path) -> Iterator[list[object]]:
        with listed(folder) as entries:
            yield [Vanished() if entry.name == "a" else entry for entry in entries]

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(UnsafeFileError, match=r"c: .*a symbolic link"):
        require_plain(root)
