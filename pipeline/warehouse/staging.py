"""Present any history as a run's directory: from a directory, a single file, or files as bytes."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from history import FormatError, RunFiles
from history.readers.convert import Line, convert_history
from history.readers.formats import kind_of
from history.records.events import line_of_event
from history.safe_open import require_plain
from history.tables.operations import clean
from pipeline.spark.hadoop_fs import is_remote
from pipeline.warehouse.landing import run_name
from pipeline.warehouse.versions import STAGE

#: About how many times larger our ``history.jsonl`` is than a foreign history of the same events.
GROWTH: Final = 2
_LINE: Final = re.compile(r"^line (\d+)$")
_INVOKED: Final = re.compile(r"(?<=, invoked at )line (\d+)$")
#: The files from which a run's tables and its row are made.
RECORDED = ("history.jsonl", "probes.jsonl", "plan.json", "results.json", "run.json", "suite.json")


def stage(shared: Path | None) -> tempfile.TemporaryDirectory[str]:
    """Return a temporary directory, inside ``shared`` if that is given, which all workers of a cluster see."""
    return tempfile.TemporaryDirectory(prefix=STAGE, dir=shared)


@contextlib.contextmanager
def staged(place: Path, shared: Path | None = None) -> Iterator[tuple[str, RunFiles]]:
    """Yield the name and the files of the run in ``place``: a run's directory, its history, or a history of any name.

    A single file (ours, Jepsen's ``history.edn`` or console log, porcupine's kv) gets its own directory in ``shared``
    while the block lasts.  The run is named after the file and the directory that contains it.  Raises
    FileNotFoundError, or FormatError with the file's own name and lines.
    """
    if place.name == "history.jsonl":
        place = place.parent
    if not place.is_file():
        require_plain(place)
        run = RunFiles(place)
        yield run_name(run), run
        return
    whole = place.resolve()
    with stage(shared) as directory:
        run = RunFiles(Path(directory))
        line = _as_history(whole, run.history)
        with _named(directory, str(place), line):
            yield short_name(str(whole)), run


def staged_size(place: Path) -> int:
    """Return the approximate size in bytes of the history that :func:`staged` yields; 0 if there is none."""
    history = place if place.is_file() else place / "history.jsonl"
    try:
        size = history.stat().st_size
        return size * GROWTH if place.is_file() and size and kind_of(place) == "text" else size
    except (OSError, FormatError):
        return 0


@contextlib.contextmanager
def staged_bytes(uri: str, files: Mapping[str, bytes], shared: Path | None = None) -> Iterator[tuple[str, RunFiles]]:
    """Yield the name and the files of a run, given the contents of its files by their names in :data:`RECORDED`."""
    with stage(shared) as directory:
        for file, content in files.items():
            Path(directory, file).write_bytes(content)
        with _named(directory, uri):
            yield short_name(uri), RunFiles(Path(directory))


def short_name(place: str) -> str:
    """Return the name of the run in a place: the last two parts of its path."""
    short = "/".join(place.rstrip("/").removesuffix("/history.jsonl").rsplit("/", 2)[-2:])
    return unquote(short) if is_remote(place) else clean(short)


def _as_history(file: Path, history: Path) -> Line:
    """Write a history of any format as ``history``; return the function that maps an event's index to its line.

    Raises FormatError or OSError.
    """
    kind = kind_of(file)
    if kind == "jsonl":
        # Not a symbolic link, because those are refused in a run.
        try:
            history.hardlink_to(file)
        except OSError:  # on another file system
            shutil.copyfile(file, history)
        return line_of_event
    if kind == "parquet":
        raise FormatError(str(file), "byte 0", "expected a history, found a table; give the directory of its run")
    return convert_history(file, history)


@contextlib.contextmanager
def _named(directory: str, place: str, line: Line = line_of_event) -> Iterator[None]:
    """Make errors name the place that the user gave instead of the temporary one."""

    def known(match: re.Match[str]) -> str:
        index = int(match[1]) - 2
        return line(index) if index >= 0 else match[0]

    try:
        yield
    except FormatError as error:
        source = error.source.replace(f"{directory}/", f"{place}/").removesuffix("/history.jsonl")
        raise FormatError(source, _LINE.sub(known, error.place), _INVOKED.sub(known, error.message)) from None
