"""The runs of a store, from an index that is updated whenever a run is judged.

Rows are cached in memory and in the store's ``.index.jsonl``, one row per line; the last line of a run counts.  A row
is valid while the times and sizes of its files stay the same.  Judging a run adds its line (:func:`remember`), and
listing the store adds missing lines, so the index may lag but the list is never wrong.  Symbolic links in a store
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
from history.records.layout import WAREHOUSE, start_of
from history.safe_open import RECORDS, UnsafeFileError, append_below, read_below, write_below
from reports.load.run_row import RunRow, iso_start, row_of

INDEX_VERSION: Final = 17
INDEX_NAME: Final = ".index.jsonl"
NOT_TESTS: Final = frozenset({WAREHOUSE, "latest"})
#: The index is rewritten once it has this many lines more than twice the number of runs.
_DEAD: Final = 1000


class _Line(msgspec.Struct, array_like=True, frozen=True):
    """Line of the index."""

    version: int
    place: str
    stamp: tuple[int, ...]
    row: RunRow


class StoreIndex:
    """The rows of one store, newest first; :meth:`rows` keeps them up to date."""

    def __init__(self, store: Path, *, remember: bool = True) -> None:
        self.store = store
        self._known, self._lines = _read(store / INDEX_NAME) if remember else ({}, 0)
        self._remember = remember

    def rows(self) -> list[RunRow]:
        """Read new and changed runs, drop removed ones and return all rows.  Raises OSError if there is no store."""
        return self._rows(list(_folders(self.store)), others={})

    def newest(self, count: int) -> tuple[list[RunRow], int]:
        """Return the newest rows and the number of runs, without reading the runs that started earlier.

        Raises OSError if there is no store.
        """
        dated, rest = list[tuple[str, str, str]](), list[tuple[str, str]]()
        for place, root in _folders(self.store):
            start = start_of(root.rpartition("/")[2])
            if start is None:
                rest.append((place, root))  # its plan may have a start
            elif _holds_run(root):
                dated.append((iso_start(start), place, root))
        dated.sort(reverse=True)
        earlier = {line.place: line for _, place, _ in dated[count:] if (line := self._known.get(place)) is not None}
        rows = self._rows([*rest, *((place, root) for _, place, root in dated[:count])], earlier)
        return rows[:count], len(rows) + len(dated[count:])

    def _rows(self, folders: Iterable[tuple[str, str]], others: dict[str, _Line]) -> list[RunRow]:
        """Return the rows of runs in these folders, newest first; ``others`` are the lines of runs that are kept."""
        fresh: dict[str, _Line] = {}
        new: list[_Line] = []
        for place, root in folders:
            stamp = _stamp(root)
            if stamp[:2] == (0, 0) and not _holds_run(root):
                continue
            line = self._known.get(place)
            if line is None or line.stamp != stamp:
                line = _line(Recording(Path(root)))
                new.append(line)
            fresh[place] = line
        # Do not cache runs under way: one may end silently, and then its stamp does not change.
        self._known = others | {place: line for place, line in fresh.items() if line.row.kind != "under way"}
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
    """Add the row of a judged run to its store's index, so that the next listing finds it there."""
    if run.files.root.parents[1].resolve() == store.resolve():
        _append(store / INDEX_NAME, [_line(run)])


_MARKS: Final = (RunFiles(Path()).plan.name, RunFiles(Path()).history.name)


def runs_of(store: Path) -> Iterator[RunFiles]:
    """Yield each directory ``<test>/<run>`` with a plan or a history.  Raises OSError if the store cannot be read."""
    return (RunFiles(Path(root)) for _, root in _folders(store) if _holds_run(root))


def _folders(store: Path) -> Iterator[tuple[str, str]]:
    """Yield (``<test>/<run>``, path) for every directory that may be a run.

    Paths are text, because creating a Path for each would double the time.
    """
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
    # Take the stamp before reading the files, so that a change made meanwhile is noticed next time.
    stamp = _stamp(os.fspath(run.files.root))
    return _Line(INDEX_VERSION, _place(run.files), stamp, row_of(run))


def _place(files: RunFiles) -> str:
    return f"{files.root.parent.name}/{files.root.name}"


_NAMES: Final = RunFiles(Path())
_STAMPED: Final = tuple(path.name for path in (_NAMES.plan, _NAMES.state, _NAMES.results, _NAMES.report))


def _stamp(root: str) -> tuple[int, ...]:
    """Return times and sizes of the files from which a row is made, the plan's first; zeros for missing files."""
    stamp: list[int] = []
    for name in _STAMPED:
        try:
            status = os.stat(f"{root}/{name}")  # noqa: PTH116 (a Path for each costs more than the question)
            stamp += [status.st_mtime_ns, status.st_size]
        except OSError:
            stamp += [0, 0]
    return tuple(stamp)


def _read(path: Path) -> tuple[dict[str, _Line], int]:
    """Return the last line of each run and the number of lines; torn lines and other versions are skipped."""
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
    """Append lines in one write; a store that cannot be written is not an error."""
    with suppress(OSError, UnsafeFileError):
        append_below(path.parent, path, _texts(lines))


def _rewrite(path: Path, lines: Iterable[_Line]) -> None:
    """Rewrite the index atomically; lines that another process adds meanwhile are lost and made again later."""
    with suppress(OSError, UnsafeFileError):
        write_below(path.parent, path, _texts(lines))


def _texts(lines: Iterable[_Line]) -> bytes:
    """Encode lines; runs with names that are not UTF-8 are skipped and read each time."""
    encoder = msgspec.json.Encoder()
    texts = []
    for line in lines:
        try:
            texts.append(encoder.encode(line) + b"\n")
        except (UnicodeEncodeError, msgspec.MsgspecError):
            continue
    return b"".join(texts)
