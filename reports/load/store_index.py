"""The runs of a store, by an index that is written when a run is judged.

Rows are remembered by the times and sizes of the files that they are made of, in memory and in ``.index.jsonl`` in the
store: a line a row, of which the last of each run counts.  A run that is judged adds its line (:func:`remember`), and
a listing of the store adds those that are missing, so it is never wrong without them.  Symbolic links in a store
(``latest``) are never followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from history import RunFiles
from history.recording import Recording
from history.records.layout import WAREHOUSE
from history.safe_open import RECORDS, UnsafeFileError, append_below, read_below, write_below
from reports.load.run_row import RunRow, row_of

INDEX_VERSION: Final = 16
INDEX_NAME: Final = ".index.jsonl"
NOT_TESTS: Final = frozenset({WAREHOUSE, "latest"})
#: Lines more than twice the runs that are left in the index before it is written anew.
_DEAD: Final = 1000


class _Line(msgspec.Struct, array_like=True, frozen=True):
    """A line of the index."""

    version: int
    place: str
    stamp: tuple[int, ...]
    row: RunRow


class StoreIndex:
    """The rows of one store, newest first, kept fresh by :meth:`rows`."""

    def __init__(self, store: Path, *, remember: bool = True) -> None:
        self.store = store
        self._known, self._lines = _read(store / INDEX_NAME) if remember else ({}, 0)
        self._remember = remember

    def rows(self) -> list[RunRow]:
        """Read new and changed runs and drop those that are gone.  Raises OSError if there is no store."""
        fresh: dict[str, _Line] = {}
        new: list[_Line] = []
        for place, root in _folders(self.store):
            stamp = _stamp(root)
            if stamp[:2] == (0, 0) and not _holds_run(root):
                continue
            line = self._known.get(place)
            if line is None or line.stamp != stamp:
                line = _line(Recording(Path(root)))
                new.append(line)
            fresh[place] = line
        # What is under way may end without another word, and then nothing of its stamp changes.
        self._known = {place: line for place, line in fresh.items() if line.row.kind != "under way"}
        if self._remember:
            self._save([line for line in new if line.place in self._known])
        return sorted((line.row for line in fresh.values()), key=lambda row: (row.started, row.place), reverse=True)

    def _save(self, new: list[_Line]) -> None:
        path = self.store / INDEX_NAME
        if self._lines + len(new) > 2 * len(self._known) + _DEAD:
            _rewrite(path, self._known.values())
            self._lines = len(self._known)
        elif new:
            _append(path, new)
            self._lines += len(new)


def remember(run: Recording, store: Path) -> None:
    """Add the row of a judged run to the index of its store, so that the next list finds it there."""
    if run.files.root.parents[1].resolve() == store.resolve():
        _append(store / INDEX_NAME, [_line(run)])


_MARKS: Final = (RunFiles(Path()).plan.name, RunFiles(Path()).history.name)


def runs_of(store: Path) -> Iterator[RunFiles]:
    """Yield each directory ``<test>/<run>`` with a plan or a history.  Raises OSError if the store cannot be read."""
    return (RunFiles(Path(root)) for _, root in _folders(store) if _holds_run(root))


def _folders(store: Path) -> Iterator[tuple[str, str]]:
    """Yield (``<test>/<run>``, path) of what may be a run; as text, since a Path for each costs as much as the rest."""
    with os.scandir(store) as tests:
        for test in tests:
            if test.name in NOT_TESTS or test.name.startswith(".") or not test.is_dir(follow_symlinks=False):
                continue
            with os.scandir(test.path) as runs:
                for run in runs:
                    if not run.name.startswith(".") and run.is_dir(follow_symlinks=False):
                        yield f"{test.name}/{run.name}", run.path


def _holds_run(root: str) -> bool:
    return any(os.path.isfile(f"{root}/{name}") for name in _MARKS)  # noqa: PTH113 (as in _stamp)


def _line(run: Recording) -> _Line:
    # Before the files are read: a later change is then seen as one.  A judge has read them before it writes results.
    stamp = _stamp(os.fspath(run.files.root))
    return _Line(INDEX_VERSION, _place(run.files), stamp, row_of(run))


def _place(files: RunFiles) -> str:
    return f"{files.root.parent.name}/{files.root.name}"


_NAMES: Final = RunFiles(Path())
_STAMPED: Final = tuple(path.name for path in (_NAMES.plan, _NAMES.state, _NAMES.results, _NAMES.report))


def _stamp(root: str) -> tuple[int, ...]:
    """List times and sizes of the files that a run's row is made of, the plan's first; zeros for missing ones."""
    stamp: list[int] = []
    for name in _STAMPED:
        try:
            found = os.stat(f"{root}/{name}")  # noqa: PTH116 (a Path for each costs more than the question)
            stamp += [found.st_mtime_ns, found.st_size]
        except OSError:
            stamp += [0, 0]
    return tuple(stamp)


def _read(path: Path) -> tuple[dict[str, _Line], int]:
    """Read the last line of each run, and count the lines; a line that is torn or of another version is left out."""
    decoder = msgspec.json.Decoder(_Line)
    known: dict[str, _Line] = {}
    count = 0
    try:
        content = read_below(path.parent, path, RECORDS)
    except (OSError, UnsafeFileError):
        return {}, 0
    for text in content.splitlines():
        count += 1
        try:
            line = decoder.decode(text)
        except msgspec.MsgspecError:
            continue
        if line.version == INDEX_VERSION:
            known[line.place] = line
    return known, count


def _append(path: Path, lines: Iterable[_Line]) -> None:
    """Add lines in one write; a store that cannot be written is no reason to fail."""
    with suppress(OSError, UnsafeFileError):
        append_below(path.parent, path, _texts(lines))


def _rewrite(path: Path, lines: Iterable[_Line]) -> None:
    """Write the index whole or not at all; a line that another process adds meanwhile is made again."""
    with suppress(OSError, UnsafeFileError):
        write_below(path.parent, path, _texts(lines))


def _texts(lines: Iterable[_Line]) -> bytes:
    """Encode lines; a run whose name is no UTF-8 is left out, and read each time."""
    encoder = msgspec.json.Encoder()
    texts = []
    for line in lines:
        try:
            texts.append(encoder.encode(line) + b"\n")
        except (UnicodeEncodeError, msgspec.MsgspecError):
            continue
    return b"".join(texts)
