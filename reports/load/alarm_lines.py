"""The lines of the nodes' logs that are violations by themselves, found again by what the check recorded of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

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
    """List the first :data:`MAX_SHOWN` lines by the ``patterns`` in the details of checks; empty without any."""
    known = [one for check in run.results.get("checks", ()) or () for one in patterns_of(check)]
    found: list[AlarmLine] = []
    for node, path in logs.log_files(run.files):
        mine = [(str(one["pattern"]), one.get("unless")) for one in known if node in (one.get("nodes") or ())]
        if mine:
            found += _in_file(run, node, path, mine)
    dated = sorted(found, key=lambda one: (one.seconds is None, one.seconds or 0.0))
    return dated[:MAX_SHOWN]


def patterns_of(check: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List the patterns in the details of a check, by which its lines are found again, each with its ``nodes``."""
    details = check.get("details")
    patterns = details.get("patterns") if isinstance(details, Mapping) else None
    return [one for one in patterns if isinstance(one, Mapping)] if isinstance(patterns, list) else []


def _in_file(run: Run, node: str, path: Path, patterns: list[tuple[str, Any]]) -> Iterator[AlarmLine]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    found = 0
    for place, line in enumerate(lines):
        if found < MAX_SHOWN and any(
            text in line and not (unless and str(unless) in line) for text, unless in patterns
        ):
            found += 1
            around = lines[max(place - AROUND[0], 0) : place + AROUND[1] + 1]
            seconds = logs.seconds_of(line, run.started)
            yield AlarmLine(node, path.name, place + 1, line.strip(), tuple(around), seconds)
