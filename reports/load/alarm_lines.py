"""The lines of the nodes' logs that are violations by themselves, found again by what the check recorded of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from history.records.check_records import check_records, listed_details
from reports.load import logs
from reports.load.run import Run

#: Lines before and after an alarm that are shown with it.
AROUND: Final = (10, 20)
MAX_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class AlarmLine:
    """One such line: of which node, where, and what stands around it; ``seconds`` since the run's start, if dated."""

    node: str
    file: str
    number: int
    text: str
    around: tuple[str, ...]
    seconds: float | None


def alarm_lines(run: Run) -> list[AlarmLine]:
    """List the first :data:`MAX_SHOWN` lines by the ``patterns``, each with its ``nodes``, in the details of checks."""
    known = [one for check in check_records(run.results) for one in listed_details(check, "patterns")]
    found: list[AlarmLine] = []
    for node, path in logs.log_files(run.files):
        mine = [(str(one["pattern"]), one.get("unless")) for one in known if node in (one.get("nodes") or ())]
        if mine:
            found += _in_file(run, node, path, mine)
    dated = sorted(found, key=lambda one: (one.seconds is None, one.seconds or 0.0))
    return dated[:MAX_SHOWN]


def _in_file(run: Run, node: str, path: Path, patterns: list[tuple[str, Any]]) -> Iterator[AlarmLine]:
    lines = run.recording.log(path).getvalue().decode("utf-8", "replace").splitlines()
    found = 0
    for place, line in enumerate(lines):
        if found < MAX_SHOWN and any(
            text in line and not (unless and str(unless) in line) for text, unless in patterns
        ):
            found += 1
            around = lines[max(place - AROUND[0], 0) : place + AROUND[1] + 1]
            seconds = logs.seconds_of(line, run.started)
            yield AlarmLine(node, path.name, place + 1, line.strip(), tuple(around), seconds)
