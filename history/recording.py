"""A run as one value: the contents of its directory, with each file read once, on first use."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import file_digest, sha256
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, TypeVar, overload

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from history.columns.file import History, outline, read_whole
from history.columns.operations import Operations, from_table
from history.columns.pairing import PLAIN_OPERATIONS
from history.errors import FormatError
from history.json_object import load_object
from history.metrics.awake_clock import AwakeClock
from history.records.events import Header, read_event
from history.records.layout import RunFiles
from history.records.probes import Probe, probes_in
from history.records.receipts import Receipt, receipts_of
from history.safe_open import LOG, open_below, read_below, require_short_lines

T = TypeVar("T")

#: Largest number of bytes of logs that a recording keeps in memory.
_LOGS_KEPT: Final = 512 << 20
#: Longest line of a log, in characters.  A longer one is read as several lines.
LOG_LINE: Final = 1 << 20


def digest_of(file: BinaryIO) -> bytes:
    """Return the SHA-256 of the rest of an open file."""
    return file_digest(file, "sha256").digest()  # type: ignore[arg-type]  # mypy does not know that it can be read into


class _Once(Generic[T]):
    """Property computed once per recording.  An exception is kept too, and raised again on each access."""

    def __init__(self, make: Callable[[Recording], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, run: None, owner: type) -> _Once[T]: ...

    @overload
    def __get__(self, run: Recording, owner: type) -> T: ...

    def __get__(self, run: Recording | None, owner: type) -> _Once[T] | T:
        if run is None:
            return self
        if self._name not in run.kept:
            try:
                run.kept[self._name] = (self._make(run), None)
            except Exception as error:  # noqa: BLE001 (raised again for every later reader)
                run.kept[self._name] = (None, error)
        value, failure = run.kept[self._name]
        if failure is not None:
            raise failure
        result: T = value
        return result


class Recording:
    """The files of one run, each read only once, on first use.

    The judge, tables, pages and lists share one recording.  Below the run's directory it reads only regular files of
    bounded size and follows no links (``history.safe_open``).  A missing document reads as an empty one.  An unreadable
    document raises FormatError, ValueError or OSError on every access, so each reader can decide what to do about it.
    """

    def __init__(self, directory: Path) -> None:
        self.files = RunFiles(directory)
        #: Maps a property's name to its value, or to the exception that reading it raised.
        self.kept: dict[str, tuple[Any, Exception | None]] = {}
        self._digests: dict[Path, bytes] = {}
        self._logs: dict[Path, bytes] = {}
        self._room_for_logs = _LOGS_KEPT

    @classmethod
    def of(cls, run: RunFiles | Recording) -> Recording:
        """Return ``run`` itself if it is a recording, else a new recording of these files."""
        return run if isinstance(run, cls) else cls(run.root)  # type: ignore[union-attr]  # they are files then

    def has_read(self, name: str) -> bool:
        """Return whether the property ``name`` was already read without an error."""
        return name in self.kept and self.kept[name][1] is None

    def lenient(self, name: str) -> dict[str, Any]:
        """Return the document with this property name; empty if it is malformed.  Raises OSError."""
        try:
            document: dict[str, Any] = getattr(self, name)
        except ValueError:
            return {}
        return document

    def digest(self, path: Path) -> bytes:
        """Return the SHA-256 of a file's content when it was first read.  Raises UnsafeFileError and OSError."""
        if path not in self._digests:
            with open_below(self.files.root, path) as file:
                self._digests[path] = digest_of(file)
        return self._digests[path]

    def _content(self, path: Path) -> bytes:
        content = read_below(self.files.root, path)
        self._digests[path] = sha256(content).digest()
        return content

    # -- documents -----------------------------------------------------------------------------------------------------

    @_Once
    def plan(self) -> dict[str, Any]:
        """The run's plan, from ``plan.json``."""
        return self._document(self.files.plan)

    @_Once
    def state(self) -> dict[str, Any]:
        """Times and failures of the run, from ``run.json``."""
        return self._document(self.files.state)

    @_Once
    def suite(self) -> dict[str, Any]:
        """The run's cell in its suite, from ``suite.json``."""
        return self._document(self.files.suite)

    @_Once
    def results(self) -> dict[str, Any]:
        """The run's results, from ``results.json``."""
        return self._document(self.files.results)

    def conclude(self, results: dict[str, Any], content: bytes = b"") -> None:
        """Use these results instead of ``results.json`` from now on.

        ``content`` is the file's content, whether it is written or not.
        """
        self._digests[self.files.results] = sha256(content).digest()
        self.kept["results"] = (msgspec.to_builtins(results, str_keys=True), None)

    def _document(self, path: Path) -> dict[str, Any]:
        """Read a JSON object, replacing bytes that are not UTF-8."""
        try:
            content = self._content(path)
        except FileNotFoundError:
            return {}
        try:
            return load_object(content.decode("utf-8-sig", "replace"))
        except ValueError as error:
            raise FormatError(str(path), "the file", str(error)) from None

    @property
    def clock(self) -> AwakeClock:
        """The run's clock, which skips the times when the harness itself was stalled."""
        return AwakeClock.recorded(self.lenient("state"))

    # -- history and probes --------------------------------------------------------------------------------------------

    @_Once
    def history(self) -> History:
        """The whole history, as paired operations.

        Raises FormatError with the line number for a malformed line, and FileNotFoundError without a history.
        """
        path = self.files.history
        with open_below(self.files.root, path) as file:
            require_short_lines(file, path)
            self._digests[path] = digest_of(file)
            return read_whole(file, path)

    @_Once
    def _outline(self) -> tuple[Header, list[tuple[int, bytes]]]:
        """The header and the nemesis's numbered lines, without the many lines of clients."""
        with open_below(self.files.root, self.files.history) as file:
            require_short_lines(file, self.files.history)
            return outline(file, self.files.history)

    @property
    def header(self) -> Header:
        """The header in the history's first line.  Raises like :attr:`history`, but not for later lines."""
        return self.history.header if self.has_read("history") else self._outline[0]

    @property
    def receipts(self) -> list[Receipt]:
        """The receipts of the faults, in the order in which the faults started.  Raises like :attr:`history`."""
        if self.has_read("history"):
            return self.history.receipts
        path = self.files.history
        return receipts_of(read_event(line, path, number) for number, line in self._outline[1])

    @_Once
    def table(self) -> pa.Table:
        """The operations as a table in invocation order.

        Comes from the run's Parquet table if there is one and the history was not read yet, else from the history.
        """
        if self.has_read("history"):
            return self.history.operations
        try:
            return self._table("operations", PLAIN_OPERATIONS).sort_by("invoke_index")
        except FileNotFoundError:
            return self.history.operations

    @_Once
    def fault_rows(self) -> dict[int, dict[str, Any]]:
        """The rows of the table of faults, by fault number; empty if there is no such table."""
        try:
            return {int(row["id"]): row for row in self._table("faults").to_pylist()}
        except FileNotFoundError:
            return {}

    def _table(self, name: str, schema: pa.Schema | None = None) -> pa.Table:
        """Read a table from its parts.

        Raises FileNotFoundError if there are none, UnsafeFileError, OSError, and pyarrow's errors.
        """
        directory, parts = self.files.table(name), list[pa.Table]()
        for path in sorted(directory.glob("*.parquet")):
            with open_below(self.files.root, path) as file:
                parts.append(pq.read_table(file, schema=schema))
        if not parts:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(directory))
        return pa.concat_tables(parts)

    @_Once
    def operations(self) -> Operations:
        """The operations as numpy columns."""
        return from_table(self.table)

    @_Once
    def probes(self) -> list[Probe]:
        """The nodes' status reports; empty without ``probes.jsonl``.  Raises FormatError and OSError."""
        path = self.files.probes
        try:
            file = open_below(self.files.root, path)
        except FileNotFoundError:
            return []
        with file:
            require_short_lines(file, path)
            self._digests[path] = digest_of(file)
            file.seek(0)
            return list(probes_in(file, path))

    # -- logs ----------------------------------------------------------------------------------------------------------

    def log(self, path: Path) -> BinaryIO:
        """Open a log below the run's directory.  Raises OSError and UnsafeFileError.

        Logs are kept in memory while there is room, because readers search them many times.
        """
        if path not in self._logs:
            file = open_below(self.files.root, path, LOG)
            size = os.fstat(file.fileno()).st_size
            if size > self._room_for_logs:
                return file
            with file:
                self._logs[path] = file.read(size)
            self._room_for_logs -= size
        return BytesIO(self._logs[path])

    def logs_of(self, node: str) -> list[Path]:
        """Return the paths of the logs in a node's directory, sorted."""
        return sorted((self.files.nodes / node).glob("*.log*"))

    def log_lines(self, node: str) -> Iterator[str]:
        """Yield the lines of all logs in a node's directory.  Raises OSError and UnsafeFileError."""
        for path in self.logs_of(node):
            yield from self.lines_of(path)

    def lines_of(self, path: Path) -> Iterator[str]:
        """Yield the lines of a log without newlines, longer ones in pieces of ``LOG_LINE`` characters.

        Raises OSError and UnsafeFileError.
        """
        with TextIOWrapper(self.log(path), "utf-8", "replace") as file:
            for line in iter(partial(file.readline, LOG_LINE), ""):
                yield line.rstrip("\n")
