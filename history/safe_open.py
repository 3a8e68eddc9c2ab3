"""Open files below a directory that a stranger may have made.

A run that was received is data: below its directory only regular files of bounded size count.  A link could lead to any
file of this machine, a named pipe would block, a device or an endless file would fill the memory, and opening a device
may already act.  The directory itself may be a link, because the user names it.
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

#: The most bytes of a document that is read as a whole, such as ``plan.json`` and ``results.json``.
DOCUMENT: Final = 64 << 20
#: The most bytes of a log of a node.
LOG: Final = 1 << 30
#: The most bytes of a line: a reader takes three times as much memory to refuse one.
LINE: Final = 64 << 20
#: The most bytes of a history, of probes or of a table: about 30 million operations.
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
    """A file below a run is not a regular file, is reached through a link, or is larger than its kind may be."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(str(path), "the file", message)


def open_below(root: Path, path: Path, most: int = RECORDS) -> BinaryIO:
    """Open a regular file of at most ``most`` bytes; below ``root`` no link is followed.

    Raises UnsafeFileError and OSError with the whole path, FileNotFoundError if there is no such file.
    """
    with _folder_of(root, path) as (folder, name), _naming(path):
        # First by its name, because opening a device may act.
        _require_regular(os.stat(name, dir_fd=folder, follow_symlinks=False), path)
        file = os.fdopen(os.open(name, _READ, dir_fd=folder), "rb")
    try:
        found = os.fstat(file.fileno())
        _require_regular(found, path)
        if found.st_size > most:
            raise UnsafeFileError(path, f"{found.st_size} bytes, and at most {most} are read; remove it or shorten it")
    except BaseException:
        file.close()
        raise
    return file


def read_below(root: Path, path: Path, most: int = DOCUMENT) -> bytes:
    """Read the whole of a file.  Raises as :func:`open_below` does."""
    with open_below(root, path, most) as file:
        return file.read(most)


def require_short_lines(file: BinaryIO, path: Path, most: int = LINE) -> None:
    """Check that no line of a file is longer than ``most`` bytes, and go back to its beginning.

    Raises FormatError with the line's number, and OSError.
    """
    length = lines = 0
    while block := file.read(min(most, 1 << 20)):
        head, newline, _ = block.partition(b"\n")
        if length + len(head) > most:
            raise FormatError(str(path), f"line {lines + 1}", f"expected at most {most} bytes, found more")
        lines += block.count(b"\n")
        length = len(block) - block.rfind(b"\n") - 1 if newline else length + len(head)
    file.seek(0)


@contextmanager
def replacing(root: Path, path: Path, *, sync: bool = False) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when the block ends well, and is removed otherwise.

    Below ``root`` no link is followed, and nothing but a regular file is replaced.  With ``sync`` its bytes are on the
    disk before it gets its name.  Raises UnsafeFileError and OSError.
    """
    with _folder_of(root, path) as (folder, name):
        with suppress(FileNotFoundError):
            _require_regular(os.stat(name, dir_fd=folder, follow_symlinks=False), path)
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
    """Replace a file as a whole.  Raises as :func:`replacing` does."""
    with replacing(root, path) as file:
        file.write(content)


def append_below(root: Path, path: Path, content: bytes) -> None:
    """Append to a file in one write, and make it if there is none.  Raises UnsafeFileError and OSError."""
    with _folder_of(root, path) as (folder, name), _naming(path):
        with suppress(FileNotFoundError):
            _require_regular(os.stat(name, dir_fd=folder, follow_symlinks=False), path)
        with os.fdopen(os.open(name, _APPEND, 0o666, dir_fd=folder), "ab", buffering=0) as file:
            file.write(content)


def require_plain(root: Path) -> None:
    """Check that everything below a directory is a regular file or a directory.

    Raises UnsafeFileError for the first that is not.  Directories that cannot be listed are skipped.
    """
    folders = [root]
    for folder in folders:  # which grows
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda one: one.name)
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
    """Check that nothing but a regular file, or a link to one, has a name that a library opens by itself.

    Such names are those of settings in the working directory: to open a named pipe would wait for ever.  Raises
    UnsafeFileError.
    """
    with suppress(OSError):
        _require_regular(path.stat(), path.absolute())


def regular_files(root: Path) -> list[tuple[str, int]]:
    """List (path below ``root``, bytes) of every regular file whose path has no hidden name, in order."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder) / name
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                found.append((str(path.relative_to(root)), path.stat().st_size))
    return found


_COMMON: Final = os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | _COMMON
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON
_APPEND: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | _COMMON


@contextmanager
def _folder_of(root: Path, path: Path) -> Iterator[tuple[int, str]]:
    """Open the directory that a file is in, name by name from ``root`` down; yield it with the file's own name."""
    parts = path.relative_to(root).parts if path.is_relative_to(root) else ("..",)
    if ".." in parts:
        raise UnsafeFileError(path, f"it leads out of {root}")
    *folders, name = parts
    folder = -1
    try:
        with _naming(path):
            folder = os.open(root, _FOLDER | os.O_CLOEXEC)
            for one in folders:
                mode = os.stat(one, dir_fd=folder, follow_symlinks=False).st_mode
                if not stat.S_ISDIR(mode):
                    raise UnsafeFileError(path, f"{one} on the way to it is {_type(mode)}, not a directory")
                below = os.open(one, _FOLDER | _COMMON, dir_fd=folder)
                os.close(folder)
                folder = below
        yield folder, name
    finally:
        if folder >= 0:
            os.close(folder)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let errors name the whole path, and not its last name alone."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def _require_regular(found: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UnsafeFileError(path, f"it is {_type(found.st_mode)}, and only a regular file counts here; remove it")


def _type(mode: int) -> str:
    return _TYPES.get(stat.S_IFMT(mode), "of an unknown type")
