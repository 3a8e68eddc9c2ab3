"""Safely open files below a directory that may come from a stranger.

A run from somebody else is untrusted data, so only regular files of bounded size are opened below its directory.  A
link could lead to any file on this machine, a named pipe would block, a device or an endless file would fill the
memory, and merely opening a device can have side effects.  The directory itself may be a link, because the user names
it.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from history.errors import FormatError

#: Largest document that is read as a whole, such as ``plan.json`` or ``results.json``, in bytes.
DOCUMENT: Final = 64 << 20
#: Largest log of a node, in bytes.
LOG: Final = 1 << 30
#: Longest line, in bytes.  A reader needs three times as much memory to reject a line.
LINE: Final = 64 << 20
_BLOCK: Final = 1 << 16
#: Largest history, probes file or table, in bytes: about 30 million operations.
RECORDS: Final = 8 << 30

_TYPES: Final = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a directory",
    stat.S_IFREG: "a file",
}


class UnsafeFileError(FormatError):
    """A file in a run's directory is not a regular file, is reached through a link, or is too large for its kind."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(str(path), "the file", message)


def open_below(root: Path, path: Path, most: int = RECORDS) -> BinaryIO:
    """Open a regular file of at most ``most`` bytes for reading, without following links below ``root``.

    Raises UnsafeFileError, and OSError with the whole path: FileNotFoundError if there is no such file.
    """
    with _folder_of(root, path) as (folder, name), _naming(path):
        # Check the name before opening it, because opening a device can have side effects.
        _require_regular(os.stat(name, dir_fd=folder, follow_symlinks=False), path)
        file = os.fdopen(os.open(name, _READ, dir_fd=folder), "rb")
    try:
        info = os.fstat(file.fileno())
        _require_regular(info, path)
        if info.st_size > most:
            raise UnsafeFileError(path, f"{info.st_size} bytes, but at most {most} are read; remove it or shorten it")
    except BaseException:
        file.close()
        raise
    return file


def read_below(root: Path, path: Path, most: int = DOCUMENT) -> bytes:
    """Read a whole file.  Raises like :func:`open_below`."""
    with open_below(root, path, most) as file:
        return file.read(most)


def require_short_lines(file: BinaryIO, path: Path, most: int = LINE) -> None:
    """Check that no line of a file is longer than ``most`` bytes, then seek back to the start.

    Raises FormatError with the line number, and OSError.
    """
    start, size = 0, file.seek(0, os.SEEK_END)
    while size - start > most:
        # Only the ends of lines that fill this window are read, not all lines.
        newline = _last_newline(file, start, start + most + 1)
        if newline < 0:
            raise FormatError(
                str(path), f"line {_lines(file, start) + 1}", f"expected at most {most} bytes, found more"
            )
        start = newline + 1
    file.seek(0)


def _last_newline(file: BinaryIO, start: int, end: int) -> int:
    """Return the place of the last newline between two bytes of a file, or -1."""
    while end > start:
        begin = max(start, end - _BLOCK)
        file.seek(begin)
        if (place := file.read(end - begin).rfind(b"\n")) >= 0:
            return begin + place
        end = begin
    return -1


def _lines(file: BinaryIO, end: int) -> int:
    """Count the newlines before a byte of a file."""
    file.seek(0)
    return sum(file.read(min(_BLOCK, end - begin)).count(b"\n") for begin in range(0, end, _BLOCK))


@contextmanager
def replacing(root: Path, path: Path, *, sync: bool = False) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` if the block succeeds, and is removed otherwise.

    Follows no links below ``root`` and replaces only a regular file.  With ``sync``, the content reaches the disk
    before the file is renamed.  Raises UnsafeFileError and OSError.
    """
    with _folder_of(root, path) as (folder, name):
        with suppress(FileNotFoundError):
            _require_replaceable(os.stat(name, dir_fd=folder, follow_symlinks=False), path)
        draft = f".harness-{uuid.uuid4().hex}"
        with _naming(path):
            file = os.fdopen(os.open(draft, _WRITE, 0o666, dir_fd=folder), "wb")
        try:
            with file:
                yield file
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
            with _naming(path):
                os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise


def write_below(root: Path, path: Path, content: bytes) -> None:
    """Write a whole file, replacing any old one.  Raises like :func:`replacing`."""
    with replacing(root, path) as file:
        file.write(content)


def append_below(root: Path, path: Path, content: bytes) -> None:
    """Append to a file in one write, creating it if needed.  Raises UnsafeFileError and OSError."""
    with _folder_of(root, path) as (folder, name), _naming(path):
        with suppress(FileNotFoundError):
            _require_replaceable(os.stat(name, dir_fd=folder, follow_symlinks=False), path)
        with os.fdopen(os.open(name, _APPEND, 0o666, dir_fd=folder), "ab", buffering=0) as file:
            file.write(content)


def require_plain(root: Path) -> None:
    """Check that everything below a directory is a regular file or a directory.

    Raises UnsafeFileError for the first thing that is not.  Skips directories that cannot be listed.
    """
    folders = [root]
    for folder in folders:  # the loop adds to this list
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda child: child.name)
        except OSError:
            continue
        for entry in entries:
            with suppress(OSError):
                mode = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(mode.st_mode):
                    folders.append(folder / entry.name)
                else:
                    _require_regular(mode, folder / entry.name)


def require_plain_if_any(path: Path) -> None:
    """Check that ``path`` is a regular file, a link to one, or absent.

    Use it for files that a library opens by itself, such as its settings in the working directory: opening a named
    pipe would block forever.  Raises UnsafeFileError.
    """
    with suppress(OSError):
        _require_regular(path.stat(), path.absolute())


def regular_files(root: Path) -> list[tuple[str, int]]:
    """List every regular file below ``root`` as (relative path, size in bytes), in order.

    Skips hidden files and everything in hidden directories.
    """
    files = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder) / name
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                files.append((str(path.relative_to(root)), path.stat().st_size))
    return files


# O_NONBLOCK keeps open() from waiting if a named pipe has replaced the file after it was checked.
_COMMON: Final = os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | _COMMON
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON
_APPEND: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | _COMMON


@contextmanager
def _folder_of(root: Path, path: Path) -> Iterator[tuple[int, str]]:
    """Open a file's directory, one path component at a time from ``root``; yield its descriptor and the file name."""
    parts = path.relative_to(root).parts if path.is_relative_to(root) else ("..",)
    if ".." in parts:
        raise UnsafeFileError(path, f"it points outside {root}")
    *folders, name = parts
    folder = -1
    try:
        with _naming(path):
            folder = os.open(root, _FOLDER | os.O_CLOEXEC)
            for part in folders:
                mode = os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode
                if not stat.S_ISDIR(mode):
                    raise UnsafeFileError(path, f"{part} on the way to it is {_type(mode)}, not a directory")
                below = os.open(part, _FOLDER | _COMMON, dir_fd=folder)
                os.close(folder)
                folder = below
        yield folder, name
    finally:
        if folder >= 0:
            os.close(folder)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Make errors name the whole path instead of only its last component."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def _require_regular(info: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise UnsafeFileError(path, f"it is {_type(info.st_mode)}, but only regular files are read here; remove it")


def _require_replaceable(info: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise UnsafeFileError(path, f"it is {_type(info.st_mode)}, and only a regular file is written: name another")


def _type(mode: int) -> str:
    return _TYPES.get(stat.S_IFMT(mode), "of an unknown type")
