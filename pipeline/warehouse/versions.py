"""Make the next version of the warehouse from the files of the previous version and of all landings.

Files never change, so most of them are linked.  Small files of one month are merged once there are several of about the
same size, as in a log-structured merge tree, so the number of files grows with the months and the logarithm of the
runs.

Writers need no lock and no leases.  A version is built beside the others and then takes the next number, which only one
directory can have.  A writer that loses the race, or was paused, builds the next version from what is there by then.
Landings are removed, by any writer, once the newest version holds their runs.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import shutil
import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from history import FormatError
from history.tables.metadata import PIECE, parquet, read_pieces, schema_of, version_in
from history.tables.schemas import ALL_TABLES
from history.tables.warehouse import NEWEST, VERSIONS, files_of, newest_version, written_schema
from pipeline.tables.storage import ABANDONED_S, appearing, remove, rows_in, sweep
from pipeline.warehouse.landing import LANDING, Known, known_runs, month_in, write_month

log = logging.getLogger(__name__)
#: This many files of about one size are merged into one.
FAN_IN: Final = 8
#: Files of this level (128 MB) are not merged.
_FULL: Final = 4
#: A version is kept this long (s) after the next one was built, for its readers.
_KEEP_S: Final = 600
#: The beginning of the name of a file by which Spark's tasks recognise the warehouse.
SEEN: Final = ".seen-"
#: The beginning of the name of a directory for a staged run, which lies in the warehouse if there is a cluster.
STAGE: Final = ".harness-stage-"
_TABLES: Final = ("runs", *ALL_TABLES)


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of a table, and the runs whose rows are taken from it (None: all)."""

    path: Path
    runs: frozenset[str] | None
    size: int


@dataclass(frozen=True, slots=True)
class Landed:
    """The runs in a landing that are newer than all others of the same names; ``whole``: these are all its runs."""

    runs: frozenset[str]
    whole: bool


def landings(warehouse: Path, known: Mapping[str, Known]) -> dict[Path, Landed]:
    """Return all readable landings; one without new runs is no longer needed."""
    there: dict[Path, Mapping[str, Known]] = {}
    newest: dict[str, tuple[int, Path]] = {}
    for path in filter(_is_whole, _entries(warehouse / LANDING)):
        try:
            there[path] = known_runs(path)
        except FileNotFoundError:
            continue  # It has become part of a version.
        except FormatError as error:
            log.warning("landed files cannot be read and stay where they are: %s", error)
            continue
        for name, row in there[path].items():
            if name not in known or row.written > known[name].written:
                newest[name] = max((row.written, path), newest.get(name, (0, path)))
    landed: dict[Path, Landed] = {}
    for path, rows in there.items():
        names = frozenset(name for name in rows if name in newest and newest[name][1] == path)
        landed[path] = Landed(names, len(names) == len(rows))
    return landed


def build(fresh: Path, base: Path | None, known: Mapping[str, Known], landed: Mapping[Path, Landed]) -> None:
    """Write the version that follows ``base`` into the directory ``fresh``.

    Raises FileNotFoundError if a source is removed in the meantime, FormatError for columns of other types or
    incomplete files, or OSError that names a file.
    """
    replaced = {name: known[name].month for part in landed.values() for name in part.runs if name in known}
    files = [(path, None if part.whole else part.runs) for root, part in landed.items() for path in files_of(root, "*")]
    if base is not None:
        months = set(replaced.values())
        files += [(path, _others(path, replaced) if _month(path) in months else None) for path in files_of(base, "*")]
    places: dict[tuple[str, str], list[TableFile]] = defaultdict(list)
    for path, runs in files:
        places[path.parents[1].name, _month(path)].append(TableFile(path, runs, path.stat().st_size))
    for (table, month), sources in places.items():
        _lay(fresh, table, month, sources)


def _month(path: Path) -> str:
    return path.parent.name.partition("=")[2]


def _others(path: Path, replaced: Collection[str]) -> frozenset[str] | None:
    """Return the runs in a file except those that are replaced; None if it has none of those."""
    with parquet(path):
        there = frozenset(pc.unique(pq.ParquetFile(path).read(columns=["run"])["run"]).to_pylist())
    return there - set(replaced) if there & set(replaced) else None


def _lay(fresh: Path, table: str, month: str, sources: Sequence[TableFile]) -> None:
    """Link the files of a month, or merge them if there are enough of one size."""
    levels: dict[int, list[TableFile]] = defaultdict(list)
    for source in sources:
        if source.runs is None or source.runs:
            levels[level_of(source.size)].append(source)
    directory = month_in(fresh, table, month)
    for level, group in levels.items():
        many = len(group) >= FAN_IN and level < _FULL
        later = [source for source in group if many and _is_later(source.path, table)]
        if later:
            _warn(table, month, later)
        merged = [source for source in group if source not in later] if many else []
        if len(merged) >= FAN_IN:
            _rewrite(fresh, table, month, merged)
        for source in group if len(merged) < FAN_IN else later:
            if source.runs is None:
                _link(source.path, directory / source.path.name)
            else:
                _rewrite(fresh, table, month, [source])


def level_of(size: int) -> int:
    """Return the level of a file by its size: 0 below 256 KiB, then one more for each factor of eight."""
    return (size >> 16).bit_length() // 3


def _is_later(path: Path, table: str) -> bool:
    """Return whether a file is from a later release: its table, or the version of it, is unknown to this one."""
    return table not in _TABLES or version_in(schema_of(path, table)) > version_in(written_schema(table))


def _warn(table: str, month: str, later: Sequence[TableFile]) -> None:
    version = version_in(schema_of(later[0].path, table))
    log.warning(
        "%d files of %s of %s are of a later release, which knows version %d of that table: they are kept as they are "
        "until that release refreshes the warehouse; update the harness on this machine",
        len(later), table, month, version,
    )  # fmt: skip


def _rewrite(fresh: Path, table: str, month: str, sources: Sequence[TableFile]) -> None:
    """Merge files of this release or earlier ones, or rewrite one file of a later release without some runs."""
    first = sources[0].path
    schema = schema_of(first, table) if _is_later(first, table) else _union(table, [source.path for source in sources])
    write_month(fresh, table, month, schema, _collected(_rows(sources, table, schema)))


def _union(table: str, paths: Sequence[Path]) -> pa.Schema:
    """Return this release's columns plus any later columns in the files, so that nothing that was written is lost."""
    schema = written_schema(table)
    for path in paths:
        for field in schema_of(path, table):
            if field.name not in schema.names:
                schema = schema.append(pa.field(field.name, field.type, nullable=True))
    return schema


def _rows(sources: Sequence[TableFile], table: str, schema: pa.Schema) -> Iterator[pa.Table]:
    for source in sources:
        for rows in read_pieces(source.path, table, schema):
            if source.runs is None:
                yield rows
            else:
                yield rows.filter(pc.is_in(rows["run"], pa.array(sorted(source.runs), pa.string())))


def _collected(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Collect small tables into tables of :data:`PIECE` rows or more, except the last."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        if sum(part.num_rows for part in held) >= PIECE:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)


def _link(source: Path, target: Path) -> None:
    """Hard-link a file, which never changes, or copy it if the file system cannot.  Raises FormatError or OSError."""
    try:
        target.hardlink_to(source)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copy2(source, target)
        rows_in(target)


@contextlib.contextmanager
def next_version(warehouse: Path, base: Path | None) -> Iterator[Path]:
    """Yield a fresh directory that becomes the version after ``base``, unless another writer was faster.

    Raises OSError.
    """
    number = int(base.name) + 1 if base is not None else 1
    (warehouse / VERSIONS).mkdir(parents=True, exist_ok=True)
    try:
        with appearing(warehouse / VERSIONS / f"{number:08}") as fresh:
            yield fresh
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


def tidy(warehouse: Path, merged: Iterable[Path]) -> None:
    """Point ``tables`` to the newest version; remove the landings in ``merged`` and all that is no longer needed."""
    versions = [path for path in _entries(warehouse / VERSIONS) if path.name.isdigit()]
    _point(warehouse)
    for path in merged:
        remove(path)
    for path, next_one in pairwise(versions):
        if _age(next_one) > _KEEP_S:
            remove(path)
    for place in (VERSIONS, LANDING):
        for path in _entries(warehouse / place):
            if not _is_whole(path):
                sweep(path.parent, path.name)
    sweep(warehouse, STAGE)
    # Links of writers that were killed before they put them in place, and marks of killed sessions.
    for rest in (*warehouse.glob(f".{NEWEST}.*"), *warehouse.glob(f"{SEEN}*")):
        with contextlib.suppress(OSError):
            if time.time() - rest.lstat().st_mtime > ABANDONED_S:
                rest.unlink()


def _is_whole(path: Path) -> bool:
    return "." not in path.name


def _point(warehouse: Path) -> None:
    link = warehouse / NEWEST
    # Check again after replacing the link, because another writer may have made a newer version in the meantime.
    with contextlib.suppress(OSError):  # Some file systems have no links, and the pipeline itself does not need one.
        while (version := newest_version(warehouse)) is not None:
            if link.is_symlink() and link.readlink() == Path(VERSIONS, version.name):
                return
            fresh = warehouse / f".{NEWEST}.{uuid.uuid4().hex}"
            fresh.symlink_to(f"{VERSIONS}/{version.name}")
            fresh.replace(link)


def _age(version: Path) -> float:
    try:
        return time.time() - version.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except FileNotFoundError:
        return []
