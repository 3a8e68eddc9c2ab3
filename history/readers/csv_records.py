"""Tables of operations or events as CSV: a line of names, then a row each; also what ``harness export`` writes.

Columns are separated by commas, semicolons or tabs, as the line of names has them.

The cells of ``value``, ``result`` and ``key`` are JSON, or else the text itself; an empty cell is null.
"""

from __future__ import annotations

import csv
import io
from typing import Any, Final

from history.errors import FormatError
from history.readers.json_records import records_of
from history.readers.mapping import FieldMap
from history.readers.records import Record, Records
from history.records.events import load_json

#: The columns that only our own export has.  The places of the events decide their order there, and not their times.
_OURS: Final = frozenset({"invoke_index", "return_index", "invoked", "returned", "outcome"})
_PLACES: Final = {"start": "invoke_index", "end": "return_index", "began": "invoked", "ended": "returned"}
_LONGEST_CELL: Final = 1 << 24


def parse_csv(text: str, source: str, chosen: FieldMap | None = None) -> Records:
    """The records of a table.  Raises FormatError with the line."""

    def wrong(line: int, message: str) -> FormatError:
        return FormatError(source, f"line {line}", message)

    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=_separator(text.partition("\n")[0]))
    items: list[Record] = []
    names: list[str] = []
    try:
        for row in reader:
            if not names:
                names = [name.strip() for name in row]
                if len(set(names)) < len(names):
                    raise wrong(1, "two columns have the same name")
            elif row:
                if len(row) != len(names):
                    raise wrong(reader.line_num, f"expected {len(names)} cells, found {len(row)}")
                items.append((reader.line_num, {name: _cell(cell) for name, cell in zip(names, row, strict=True)}))
    except csv.Error as error:
        raise wrong(reader.line_num, f"expected a line of CSV: {error}") from None
    if not items:
        raise wrong(1, "expected a history, found no row below the names of the columns")
    if names and set(names) >= _OURS and chosen is None:
        chosen = FieldMap({"type": "outcome", **_PLACES})
    return records_of(items, chosen, wrong)


def _cell(text: str) -> Any:
    if not text:
        return None
    try:
        value = load_json(text)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, float) and not _is_plain(text) else value


def _is_plain(text: str) -> bool:
    """Whether a number with a fraction is written as most are: ``1e5`` may be a name."""
    return text.replace("-", "", 1).replace(".", "", 1).isdigit()


def _separator(header: str) -> str:
    """What stands between the names of the columns: a comma, or what spreadsheets write in its place."""
    return max(",;\t", key=header.count)


def is_header(line: str) -> bool:
    """Whether a line may be the names of columns that a history has."""
    names = {name.strip().strip('"').lower() for name in line.split(_separator(line))}
    return len(names) > 2 and bool(names & {"f", "op", "operation", "method", "function"})
