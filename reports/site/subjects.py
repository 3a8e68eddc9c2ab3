"""The subjects of the site's pages, each with its runs and a rate over time: faults, systems and known defects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from reports.load.run_row import RunRow

#: Number of latest days or months whose rate is drawn.
PERIODS: Final = 30
_JUDGED: Final = frozenset({"valid", "invalid"})


class Period(NamedTuple):
    """A day or month (``2026-11-20``, ``2026-11``): how many of its ``runs`` with a verdict were ``bad``."""

    name: str
    runs: int
    bad: int


@dataclass(frozen=True, slots=True)
class Subject:
    """A fault, system or known defect, with its runs, newest first.

    ``periods`` are the latest ones in which it could be seen, oldest first.  A run of a fault or a system is bad if it
    is invalid, unless a planted bug was meant to make it so.  A defect could be seen in every run of the systems that
    ever had it.
    """

    kind: str
    name: str
    rows: list[RunRow]
    periods: list[Period]

    @property
    def invalid(self) -> int:
        return sum(map(_is_bad, self.rows))

    @property
    def lost(self) -> int:
        return sum(row.lost for row in self.rows)


def subjects_of(rows: Sequence[RunRow]) -> list[Subject]:
    """Return the subjects of these runs, newest first: systems, then faults, then known defects, each by name."""
    systems = _grouped(rows, lambda row: [row.system_name] if row.system_name else [])
    faults, defects = _grouped(rows, lambda row: row.faults), _grouped(rows, lambda row: row.defects)
    subjects = [Subject("system", name, members, _periods(members, _is_bad)) for name, members in systems]
    subjects += [Subject("fault", name, members, _periods(members, _is_bad)) for name, members in faults]
    for name, members in defects:
        having = {row.system_name for row in members}
        among = [row for row in rows if row.system_name in having]
        periods = _periods(among, lambda row, name=name: name in row.defects)  # type: ignore[misc]
        subjects.append(Subject("defect", name, members, periods))
    return subjects


def _is_bad(row: RunRow) -> bool:
    return row.shown in ("invalid", "missed")


def _grouped(rows: Sequence[RunRow], names: Callable[[RunRow], Sequence[str]]) -> list[tuple[str, list[RunRow]]]:
    groups: dict[str, list[RunRow]] = {}
    for row in rows:
        for name in names(row):
            groups.setdefault(name, []).append(row)
    return sorted(groups.items())


def _periods(rows: Sequence[RunRow], is_bad: Callable[[RunRow], bool]) -> list[Period]:
    """Count by day, or by month if there are more than ``PERIODS`` days; runs without a date are left out."""
    judged = [row for row in rows if row.started and row.verdict in _JUDGED]
    length = 10 if len({row.started[:10] for row in judged}) <= PERIODS else 7
    periods = _grouped(judged, lambda row: [row.started[:length]])
    return [Period(name, len(members), sum(map(is_bad, members))) for name, members in periods[-PERIODS:]]
