"""Read tables of operations or events as CSV, including what ``harness export`` writes.

The first line names the columns, and each further line is a row.  Columns are separated by commas, semicolons or tabs,
as in the first line.  A cell is JSON if it parses as such, and else the text itself; an empty cell is null.
"""

from __future__ import annotations

import csv
import io
import re
from typing import Any, Final

from history.errors import FormatError
from history.readers.json_records import records_of
from history.readers.mapping import FieldMap
from history.readers.records import Record, Records
from history.records.events import load_json

#: Columns that only our own export has.  There the events' positions decide their order, not their times.
_OURS: Final = frozenset({"invoke_index", "return_index", "invoked", "returned", "outcome"})
_PLACES: Final = {"start": "invoke_index", "end": "return_index", "began": "invoked", "ended": "returned"}
_NAME: Final = re.compile(r"[^\W\d][\w .-]*")
_LONGEST_CELL: Final = 1 << 24


def parse_csv(text: str, source: str, chosen: FieldMap | None = None) -> Records:
    """Parse a CSV table into records.  Raises FormatError with the line."""

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
        raise wrong(1, "expected a history, found no rows below the header")
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
    """Return whether a fraction is written with digits and a dot only: ``1e5`` may be a name."""
    return text.replace("-", "", 1).replace(".", "", 1).isdigit()


def _separator(header: str) -> str:
    """Return the character that separates the column names: comma, semicolon or tab, as spreadsheets write them."""
    return max(",;\t", key=header.count)


def is_table(text: str) -> bool:
    """Return whether a text may be a table, that is, whether its first line may name the columns of a history."""
    header, _, rest = text.partition("\n")
    separator = _separator(header)
    names = [name.strip().strip('"').lower() for name in header.split(separator)]
    if len(set(names)) < 3:
        return False
    alike = rest.partition("\n")[0].count(separator) == len(names) - 1 and all(map(_NAME.fullmatch, names))
    return alike or bool({"f", "op", "operation", "method", "function"} & set(names))
