"""Coverage: which faults were tried on which systems and workloads, and how the latest of these runs ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from urllib.parse import urlencode

from reports.load.run_row import RunRow


@dataclass(frozen=True, slots=True)
class CoverageCell:
    """The runs of one fault on one system and workload: their number, the latest one, and a link to their list."""

    runs: int
    last: RunRow
    address: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """Coverage matrix; ``rows`` are (fault, a cell or None per column), ``columns`` are (system, workload)."""

    columns: list[tuple[str, str]]
    rows: list[tuple[str, list[CoverageCell | None]]]

    @property
    def systems(self) -> list[tuple[str, int]]:
        """Each system with its number of columns, for the heading above the workloads."""
        return [(system, len(list(columns))) for system, columns in groupby(self.columns, key=itemgetter(0))]


def matrix_of(rows: Sequence[RunRow]) -> Matrix:
    """Group runs, newest first, into a matrix; a run with several faults counts for each of them."""
    cells: dict[tuple[str, tuple[str, str]], list[RunRow]] = {}
    for row in rows:
        for fault in row.faults or [""]:
            cells.setdefault((fault, (row.system_version, row.workload)), []).append(row)
    columns = sorted({column for _, column in cells})

    def cell(fault: str, column: tuple[str, str]) -> CoverageCell | None:
        runs = cells.get((fault, column))
        return None if runs is None else CoverageCell(len(runs), runs[0], address(fault, *column))

    return Matrix(columns, [(fault, [cell(fault, col) for col in columns]) for fault in sorted({f for f, _ in cells})])


def address(fault: str, version: str, workload: str) -> str:
    """Return the link to the list of these runs; placeholders for empty names are those of ``site.js``."""
    wanted = {"fault": fault or "no fault", "version": version or "–", "workload": workload or "–"}
    return f"index.html#{urlencode(wanted)}"
