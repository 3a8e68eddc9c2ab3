"""The lines of the nodes' logs that are violations by themselves, found again by what the check recorded of them."""

from __future__ import annotations

from collections import deque
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


def _in_file(run: Run, node: str, path: Path, patterns: list[tuple[str, Any]]) -> list[AlarmLine]:
    found = list[tuple[int, str, list[str]]]()
    before = deque[str](maxlen=AROUND[0])
    for number, line in enumerate(run.recording.lines_of(path), start=1):
        for place, _, around in found:
            if number - place <= AROUND[1]:
                around.append(line)
        if len(found) < MAX_SHOWN and any(
            text in line and not (unless and str(unless) in line) for text, unless in patterns
        ):
            found.append((number, line, [*before, line]))
        before.append(line)
    return [
        AlarmLine(node, path.name, number, line.strip(), tuple(around), logs.seconds_of(line, run.started))
        for number, line, around in found
    ]
