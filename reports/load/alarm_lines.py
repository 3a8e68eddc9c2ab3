"""Find the log lines that are violations by themselves, using the patterns that the check recorded."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from history import node_logs
from history.records.finding import AlarmPattern, Alarms
from history.records.violations import found_in
from reports.load.run import LoadedRun

#: Number of lines shown before and after an alarm.
AROUND: Final = (10, 20)
MAX_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class AlarmLine:
    """A log line that raised an alarm, with the lines around it; ``seconds`` since the run's start, if it is dated."""

    node: str
    file: str
    number: int
    text: str
    around: tuple[str, ...]
    seconds: float | None


def alarm_lines(run: LoadedRun) -> list[AlarmLine]:
    """Return the earliest :data:`MAX_SHOWN` alarm lines that match what the log check found."""
    alarms = found_in(run.results, Alarms)
    known = alarms.patterns if alarms else ()
    lines: list[AlarmLine] = []
    for node, path in node_logs.log_files(run.files):
        mine = [pattern for pattern in known if node in pattern.nodes]
        if mine:
            lines += _in_file(run, node, path, mine)
    dated = sorted(lines, key=lambda line: (line.seconds is None, line.seconds or 0.0))
    return dated[:MAX_SHOWN]


def _in_file(run: LoadedRun, node: str, path: Path, patterns: Sequence[AlarmPattern]) -> list[AlarmLine]:
    matches = list[tuple[int, str, list[str]]]()
    before = deque[str](maxlen=AROUND[0])
    for number, line in enumerate(run.recording.lines_of(path), start=1):
        for place, _, around in matches:
            if number - place <= AROUND[1]:
                around.append(line)
        if len(matches) < MAX_SHOWN and any(
            pattern.pattern in line and not (pattern.unless and pattern.unless in line) for pattern in patterns
        ):
            matches.append((number, line, [*before, line]))
        before.append(line)
    return [
        AlarmLine(node, path.name, number, line.strip(), tuple(around), node_logs.seconds_of(line, run.started))
        for number, line, around in matches
    ]
