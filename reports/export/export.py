"""Export a run to the format of another tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from history import RunFiles
from history.recording import Recording
from history.safe_open import replacing
from reports.analysis.findings import prepare
from reports.export import operations, perfetto
from reports.load.run import read_run


def _perfetto(files: RunFiles, out: BinaryIO) -> list[str]:
    drawn = prepare(read_run(files))
    perfetto.write(drawn, out)
    return drawn.run.notes.warnings


def _csv(files: RunFiles, out: BinaryIO) -> list[str]:
    operations.write_csv(Recording.of(files).table, out)
    return []


def _parquet(files: RunFiles, out: BinaryIO) -> list[str]:
    operations.write_parquet(Recording.of(files).table, out)
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
