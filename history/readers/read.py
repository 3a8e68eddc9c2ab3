"""Read any history from a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from history.errors import FormatError
from history.readers.columns import OperationColumns
from history.readers.formats import BY_ROWS, LARGE, MODELS, format_of, kind_of, read_text, too_large
from history.readers.scanned import NotColumnarError
from history.readers.transactions.columns import TRANSACTION_OBJECTS, TransactionColumns
from history.records.events import (
    INITIAL,
    Header,
    line_of_event,
    parse_header,
    parse_object,
    read_history,
    torn_end,
)
from history.records.operations import Operation, pair


@dataclass(frozen=True, slots=True)
class Foreign:
    """A history as read: its operations, or columns if it is large; ``model`` is the one that the file names.

    ``initial`` is the value with which the file says that its registers start (None: absent).
    ``torn``: the last line was incomplete and was left out.  ``note`` says so, or what else is strange at the end.
    """

    format: str
    operations: list[Operation] | None = None
    columns: OperationColumns | TransactionColumns | None = None
    model: str | None = None
    torn: bool = False
    note: str | None = None
    initial: Any = None


def read_any(path: Path, *, model: str | None = None, large: int = LARGE) -> Foreign:
    """Read our JSONL and Parquet, Jepsen's EDN and console log, porcupine's kv.

    A text of a ``model`` that is not porcupine's is none of its histories, whatever it looks like.
    Raises FormatError with the line or byte, what was expected and what was found; and OSError.
    """
    match kind_of(path):
        case "parquet":
            return _parquet(path)
        case "jsonl":
            return _jsonl(path, model, large)
        case "text":
            return _text(path, model, large)


def _unread(path: Path, why: str) -> FormatError:
    """Say what is wrong with a text too large for the other reader, and in which line, if it is one."""
    from history.readers.convert import convert_history  # imports pyarrow, which small files do not need

    try:
        convert_history(path, Path(os.devnull), large=0, by_rows=0)
    except FormatError as error:
        return error
    return too_large(path, f"{why}; `harness ingest` of it says more", BY_ROWS)


def _parquet(path: Path) -> Foreign:
    from history.readers.parquet import read_parquet

    found = read_parquet(path)
    if isinstance(found, OperationColumns):
        return Foreign("parquet", columns=found)
    return Foreign("parquet", found)


def _text(path: Path, model: str | None, large: int) -> Foreign:
    if path.stat().st_size >= large:
        from history.readers.scanned import NotColumnarError
        from history.readers.text_columns import read_lines

        name = format_of(path, model)
        try:
            found = read_lines(path, name)
        except NotColumnarError as error:
            if path.stat().st_size > BY_ROWS:
                raise _unread(path, str(error)) from None
        else:
            note = _unended(path, name)
            if isinstance(found, OperationColumns):
                return Foreign(name, columns=found, model=MODELS.get(name), note=note)
            return Foreign(name, found, model=MODELS.get(name), note=note)
    read = read_text(path, model)
    operations = pair(read.history.events, str(path), read.history.line)
    return Foreign(read.format, operations, model=read.model, note=_unended(path, read.format))


def _unended(path: Path, name: str) -> str | None:
    """Whether the last line of a log may be half of one: of other texts a half is none."""
    if name != "jepsen-log" or torn_end(path) is None:
        return None
    return "the last line has no end: if the file was cut there, that line may say something else than was recorded"


def _jsonl(path: Path, model: str | None, large: int) -> Foreign:
    if path.stat().st_size >= large:
        if (transactions := _transactions(path, model)) is not None:
            return transactions
        from history.readers.jsonl_columns import read_columns
        from history.readers.scanned import NotColumnarError

        try:
            found = read_columns(path)
            note = torn_end(path)
            return Foreign("jsonl", None, found.columns, found.header.model, found.torn, note, _initial(found.header))
        except NotColumnarError:
            pass
    history = read_history(path)
    operations = pair(history.events, str(path), line_of_event)
    header = history.header
    return Foreign("jsonl", operations, None, header.model, history.torn, torn_end(path), _initial(header))


def _transactions(path: Path, model: str | None) -> Foreign | None:
    """The transactions of a large file as columns; None where they are of another model, or not plain."""
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
    return Foreign("jsonl", columns=columns, model=header.model, torn=torn, note=torn_end(path))


def _initial(header: Header) -> Any:
    return header.extra.get(INITIAL)
