"""Read a history in any known format from a file."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from history.errors import FormatError
from history.readers.columns import OperationColumns
from history.readers.formats import BY_ROWS, FORMATS, LARGE, MODELS, format_of, kind_of, read_text, too_large
from history.readers.scanned import NotColumnarError
from history.readers.transactions.columns import TRANSACTION_OBJECTS, TransactionColumns
from history.records.events import (
    INITIAL,
    NEMESIS,
    Event,
    Header,
    line_of_event,
    parse_header,
    parse_object,
    read_history,
    torn_end,
)
from history.records.operations import Operation, pair
from history.safe_open import LINE, require_short_lines

if TYPE_CHECKING:
    from history.readers.mapping import FieldMap

#: Largest unpacked size of a gzipped history, in bytes.
MOST_UNPACKED: Final = 8 << 30


@dataclass(frozen=True, slots=True)
class Foreign:
    """A history in any format: its operations, or columns if it is large.  ``model`` is the model that the file names.

    ``initial`` is the initial value of registers according to the file (None: absent).  ``torn`` means that the last
    line was incomplete and left out; ``note`` describes that or anything else unusual at the end of the file.  ``line``
    maps an event's index to its place, if known.  ``mapping`` maps our fields to those of the file, and ``assumed``
    lists other assumptions.  ``nemesis`` are the nemesis events, if the file was read event by event.
    """

    format: str
    operations: list[Operation] | None = None
    columns: OperationColumns | TransactionColumns | None = None
    model: str | None = None
    torn: bool = False
    note: str | None = None
    initial: Any = None
    line: Callable[[int], str] | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    nemesis: tuple[Event, ...] = ()


def read_any(
    path: Path,
    *,
    model: str | None = None,
    large: int = LARGE,
    name: str | None = None,
    fields: FieldMap | None = None,
) -> Foreign:
    """Read a history in our JSONL or Parquet or in any format of ``history.readers.formats``, possibly gzipped.

    ``name`` forces a foreign format, and ``fields`` maps its fields to ours.  With a ``model`` other than porcupine's,
    a file is never taken for a porcupine history.  Raises OSError, and FormatError with the line or byte, what was
    expected and what was found.
    """
    with unpacked(path) as plain:
        match "text" if name in FORMATS else kind_of(plain):
            case "parquet":
                history = _parquet(plain)
            case "jsonl":
                history = _jsonl(plain, model, large)
            case _:
                history = _text(plain, model, large, name, fields)
    if fields is not None and not history.mapping:
        raise FormatError(
            str(path), "byte 0", f"{history.format} has its own field names: a mapping is only for foreign formats"
        )
    return history


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yield the file itself, or a temporary file with its content if it is gzipped.  Raises FormatError."""
    with path.open("rb") as file:
        if file.read(2) != _GZIP:
            yield path
            return
    import gzip
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="harness-") as plain:
        size, line = 0, 1
        try:
            with gzip.open(path) as packed:
                while block := packed.read1(1 << 20):
                    size, line = size + plain.write(block), line + block.count(b"\n")
                    if size > MOST_UNPACKED:
                        raise FormatError(str(path), "the archive", f"it unpacks to more than {MOST_UNPACKED >> 30} GB")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FormatError(str(path), f"line {line}", f"the gzip data of this line is damaged: {error}") from None
        plain.flush()
        try:
            yield Path(plain.name)
        except FormatError as error:
            raise FormatError(str(path), error.place, error.message) from None


_GZIP: Final = b"\x1f\x8b"


def _unread(path: Path, why: str) -> FormatError:
    """Make the error for a file that is too large for the row-wise reader, with the line if a line is wrong."""
    from history.readers.convert import convert_history  # imports pyarrow, which small files do not need

    try:
        convert_history(path, Path(os.devnull), large=0, by_rows=0)
    except FormatError as error:
        return error
    return too_large(path, f"{why}; `harness ingest` gives details", BY_ROWS)


def _parquet(path: Path) -> Foreign:
    from history.readers.parquet import read_parquet

    content = read_parquet(path)
    if isinstance(content, OperationColumns):
        return Foreign("parquet", columns=content)
    return Foreign("parquet", content)


def _text(path: Path, model: str | None, large: int, name: str | None, fields: FieldMap | None) -> Foreign:
    name = name or format_of(path, model)
    size = path.stat().st_size
    if size > LINE and FORMATS[name].by_lines:
        with path.open("rb") as file:
            require_short_lines(file, path)
    if size >= large and FORMATS[name].by_lines and fields is None:
        from history.readers.scanned import NotColumnarError
        from history.readers.text_columns import read_lines

        try:
            content, line = read_lines(path, name)
        except NotColumnarError as error:
            if size > BY_ROWS:
                raise _unread(path, str(error)) from None
        else:
            note = _unended(path, name)
            if isinstance(content, OperationColumns):
                return Foreign(name, columns=content, model=MODELS.get(name), note=note, line=line)
            return Foreign(name, content, model=MODELS.get(name), note=note, line=line)
    if size > BY_ROWS:
        raise too_large(path, f"{name} cannot be read line by line; split it by keys, or convert it to EDN", BY_ROWS)
    read = read_text(path, model, name, fields)
    line = read.history.line
    operations = pair(read.history.events, str(path), line)
    return Foreign(
        name, operations, model=read.model, note=_unended(path, name), line=line, mapping=read.records.mapping,
        assumed=read.records.notes, nemesis=_of_nemesis(read.history.events),
    )  # fmt: skip


def _of_nemesis(events: Iterable[Event]) -> tuple[Event, ...]:
    return tuple(event for event in events if event.process == NEMESIS)


def _unended(path: Path, name: str) -> str | None:
    """Return a note if the last line of a log may have been cut; None otherwise.

    In other formats, half a line is an error anyway.
    """
    if name != "jepsen-log" or torn_end(path) is None:
        return None
    return "the last line does not end in a newline: if the file was cut off there, that line may be incomplete"


def _jsonl(path: Path, model: str | None, large: int) -> Foreign:
    with path.open("rb") as file:
        require_short_lines(file, path)
    if path.stat().st_size >= large:
        if (transactions := _transactions(path, model)) is not None:
            return transactions
        from history.readers.jsonl_columns import read_columns
        from history.readers.scanned import NotColumnarError

        try:
            columnar = read_columns(path)
            note = torn_end(path)
            return Foreign(
                "jsonl", None, columnar.columns, columnar.header.model, columnar.torn, note, _initial(columnar.header),
                line_of_event,
            )  # fmt: skip
        except NotColumnarError:
            pass
    from history.readers.jepsen_events import keyed_events

    history = read_history(path)
    events = keyed_events(history.events, lambda place, message: FormatError(str(path), line_of_event(place), message))
    operations = pair(events, str(path), line_of_event)
    header = history.header
    return Foreign(
        "jsonl", operations, None, header.model, history.torn, torn_end(path), _initial(header), line_of_event,
        nemesis=_of_nemesis(history.events),
    )  # fmt: skip


def _transactions(path: Path, model: str | None) -> Foreign | None:
    """Read the transactions in a large file as columns; None if it has another model or is not plain."""
    from history.readers.transactions.jsonl import read_transactions

    with path.open("rb") as file:
        header = parse_header(parse_object(file.readline(), path, 1), path)
    name = (model or header.model or "").partition(":")[0]
    if name not in TRANSACTION_OBJECTS:
        return None
    try:
        header, columns, torn = read_transactions(path, name)
    except NotColumnarError:
        return None
    return Foreign(
        "jsonl", columns=columns, model=header.model, torn=torn, note=torn_end(path), initial=_initial(header)
    )


def _initial(header: Header) -> Any:
    return header.extra.get(INITIAL)
