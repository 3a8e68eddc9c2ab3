"""Export a run to the format of another tool: a trace, or its operations with the columns of ``docs/tables.md``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as pc
import pyarrow.parquet as pq

from history import RunFiles
from history.recording import Recording
from history.safe_open import replacing
from history.tables.metadata import add_metadata
from history.tables.schemas import OPERATIONS, TABLES_VERSION
from reports.analysis.findings import prepare
from reports.export import perfetto
from reports.load.run import read_run

#: Beginnings of cells that spreadsheets take for formulas, in half and full width; numbers are exempt.
_FORMULA: Final = "^[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]"
_NUMBER: Final = "^[+-]?[0-9.]+([eE][+-]?[0-9]+)?$"


def write_csv(table: Any, out: BinaryIO) -> None:
    """Write a header and one line per operation; null is empty, and an empty string is quoted.

    Text that a spreadsheet would take for a formula gets an apostrophe in front.  Numbers stay numbers.
    """
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            texts = table.column(place)
            formula = compute.match_substring_regex(texts, _FORMULA)
            formula = compute.and_not(formula, compute.match_substring_regex(texts, _NUMBER))
            shown = compute.if_else(formula, compute.binary_join_element_wise("'", texts, ""), texts)
            table = table.set_column(place, field, shown)
    pc.write_csv(table, out)


def write_parquet(table: Any, out: BinaryIO) -> None:
    """Write one Parquet file with the table's name and version, like those in a run's ``tables``."""
    pq.write_table(table.cast(add_metadata(OPERATIONS, "operations", TABLES_VERSION)), out)


def _perfetto(files: RunFiles, out: BinaryIO) -> list[str]:
    drawn = prepare(read_run(files))
    perfetto.write(drawn, out)
    return drawn.run.notes.warnings


def _csv(files: RunFiles, out: BinaryIO) -> list[str]:
    write_csv(Recording.of(files).table, out)
    return []


def _parquet(files: RunFiles, out: BinaryIO) -> list[str]:
    write_parquet(Recording.of(files).table, out)
    return []


FORMATS: Final[Mapping[str, Callable[[RunFiles, BinaryIO], list[str]]]] = {
    "perfetto": _perfetto,
    "csv": _csv,
    "parquet": _parquet,
}
SUFFIXES: Final = {"perfetto": "perfetto-trace", "csv": "csv", "parquet": "parquet"}


def export(files: RunFiles, name: str, target: Path) -> list[str]:
    """Write the run to a file atomically and return warnings.  Raises OSError, FormatError."""
    with replacing(target.parent, target) as out:
        return FORMATS[name](files, out)
