"""One run as one value: what its directory holds, each file read once, when it is first asked for."""

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

from history.columns.events import operations_of
from history.columns.file import History, outline, read_whole
from history.columns.operations import Operations, from_table
from history.columns.pairing import PLAIN_OPERATIONS
from history.errors import FormatError
from history.json_object import load_object
from history.metrics.awake_clock import AwakeClock
from history.records.events import Header, read_event
from history.records.layout import RunFiles
from history.records.operations import Operation
from history.records.probes import Probe, probes_in
from history.records.receipts import Receipt, receipts_of
from history.safe_open import LOG, open_below, read_below, require_short_lines

T = TypeVar("T")

#: The most bytes of logs that are kept in memory.
_LOGS_KEPT: Final = 512 << 20
#: The most characters of a log's line: what is longer is read as several lines.
LOG_LINE: Final = 1 << 20


def digest_of(file: BinaryIO) -> bytes:
    """The SHA-256 of the rest of an open file."""
    return file_digest(file, "sha256").digest()  # type: ignore[arg-type]  # mypy does not know that it can be read into


class _Once(Generic[T]):
    """A property that is computed once for each recording; what it raises is kept and raised again."""

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
        found: T = value
        return found


class Recording:
    """The files of one run.

    Each file is read when it is first needed, and only once: judge, tables, pages and lists share one recording.  Below
    the run's directory only regular files of bounded size are read, and no link is followed (``history.safe_open``).
    A document that is absent is empty; one that cannot be read raises FormatError, ValueError or OSError each time, so
    that every reader decides what to make of that.
    """

    def __init__(self, directory: Path) -> None:
        self.files = RunFiles(directory)
        #: What was read, or raised, by name.
        self.kept: dict[str, tuple[Any, Exception | None]] = {}
        self._digests: dict[Path, bytes] = {}
        self._logs: dict[Path, bytes] = {}
        self._room_for_logs = _LOGS_KEPT

    @classmethod
    def of(cls, run: RunFiles | Recording) -> Recording:
        """The recording itself, or a new one of these files."""
        return run if isinstance(run, cls) else cls(run.root)  # type: ignore[union-attr]  # they are files then

    def has_read(self, name: str) -> bool:
        """Whether a property was read, and could be."""
        return name in self.kept and self.kept[name][1] is None

    def lenient(self, name: str) -> dict[str, Any]:
        """A document by its property's name; empty if it is not readable."""
        try:
            found: dict[str, Any] = getattr(self, name)
        except ValueError:
            return {}
        return found

    def digest(self, path: Path) -> bytes:
        """The SHA-256 of a file as it was read.  Raises UnsafeFileError and OSError."""
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
        """What was to be run, as in ``plan.json``."""
        return self._document(self.files.plan)

    @_Once
    def state(self) -> dict[str, Any]:
        """Moments and failures of the run, as in ``run.json``."""
        return self._document(self.files.state)

    @_Once
    def suite(self) -> dict[str, Any]:
        """The cell of its suite, as in ``suite.json``."""
        return self._document(self.files.suite)

    @_Once
    def results(self) -> dict[str, Any]:
        """What was concluded, as in ``results.json``."""
        return self._document(self.files.results)

    def conclude(self, results: dict[str, Any], content: bytes = b"") -> None:
        """Use these as ``results.json`` from now on, whether its ``content`` is written or not."""
        self._digests[self.files.results] = sha256(content).digest()
        self.kept["results"] = (msgspec.to_builtins(results, str_keys=True), None)

    def _document(self, path: Path) -> dict[str, Any]:
        """Read a JSON object; a byte that is not UTF-8 costs a character and not the file."""
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
        """The run's clock without the times in which the harness itself stood still."""
        return AwakeClock.recorded(self.lenient("state"))

    # -- history and probes --------------------------------------------------------------------------------------------

    @_Once
    def history(self) -> History:
        """The whole history, paired.  Raises FormatError with the line for a bad one, FileNotFoundError without one."""
        path = self.files.history
        with open_below(self.files.root, path) as file:
            require_short_lines(file, path)
            self._digests[path] = digest_of(file)
            return read_whole(file, path)

    @_Once
    def _outline(self) -> tuple[Header, list[tuple[int, bytes]]]:
        """The header and the numbered lines of the nemesis, without the many lines of clients."""
        with open_below(self.files.root, self.files.history) as file:
            require_short_lines(file, self.files.history)
            return outline(file, self.files.history)

    @property
    def header(self) -> Header:
        """The history's first line.  Raises as :attr:`history` does, but not for later lines."""
        return self.history.header if self.has_read("history") else self._outline[0]

    @property
    def receipts(self) -> list[Receipt]:
        """The receipts of the faults, in the order of their starts.  Raises as :attr:`history` does."""
        if self.has_read("history"):
            return self.history.receipts
        path = self.files.history
        return receipts_of(read_event(line, path, number) for number, line in self._outline[1])

    @_Once
    def rows(self) -> list[Operation]:
        """The operations as values, in the order of their invocations, for checks that look at each."""
        return operations_of(self.history.operations)

    @_Once
    def table(self) -> pa.Table:
        """The operations in the order of their invocations: the run's table if there is one and no history was read."""
        if self.has_read("history"):
            return self.history.operations
        try:
            return self._table("operations", PLAIN_OPERATIONS).sort_by("invoke_index")
        except FileNotFoundError:
            return self.history.operations

    @_Once
    def fault_rows(self) -> dict[int, dict[str, Any]]:
        """The table of faults by their numbers; none without a table."""
        try:
            return {int(row["id"]): row for row in self._table("faults").to_pylist()}
        except FileNotFoundError:
            return {}

    def _table(self, name: str, schema: pa.Schema | None = None) -> pa.Table:
        """A table from its parts.  Raises FileNotFoundError without any, UnsafeFileError, OSError, pyarrow's errors."""
        directory, parts = self.files.table(name), list[pa.Table]()
        for path in sorted(directory.glob("*.parquet")):
            with open_below(self.files.root, path) as file:
                parts.append(pq.read_table(file, schema=schema))
        if not parts:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(directory))
        return pa.concat_tables(parts)

    @_Once
    def operations(self) -> Operations:
        """The operations as columns of numpy, as pages and plots use them."""
        return from_table(self.table)

    @_Once
    def probes(self) -> list[Probe]:
        """What the nodes said of themselves; none without a file.  Raises FormatError and OSError."""
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
        """Open a log below the run; those that fit are kept in memory, because readers look for many moments in them.

        Raises OSError and UnsafeFileError.
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
        """The logs in a node's directory."""
        return sorted((self.files.nodes / node).glob("*.log*"))

    def log_lines(self, node: str) -> Iterator[str]:
        """Yield the lines of all logs in a node's directory.  Raises OSError and UnsafeFileError."""
        for path in self.logs_of(node):
            yield from self.lines_of(path)

    def lines_of(self, path: Path) -> Iterator[str]:
        """Yield the lines of a log, without their ends.  Raises OSError and UnsafeFileError."""
        with TextIOWrapper(self.log(path), "utf-8", "replace") as file:
            for line in iter(partial(file.readline, LOG_LINE), ""):
                yield line.rstrip("\n")
