"""Schedules from files: scripts, and the recorded faults of an earlier run.

A script is TOML, one table a fault::

    [[fault]]
    name = "partition-leader-minority"
    at = 5.0                       # seconds after the start of the main phase
    for = 10.0                     # how long it stands; without it, until the end of the run

    [[fault]]
    name = "kill-leader"
    at = 20.0
    when = "lag(n4) > 1000"        # from then on, as soon as this holds …
    within = 30.0                  # … or never, if it does not within so many seconds
    targets = "n2"                 # words, as in ``targets``
    for = 5.0
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from history import Receipt
from history.toml_file import read_toml
from nemesis.core.errors import ScheduleError
from nemesis.core.targets import check_words
from nemesis.schedule.conditions import parse
from nemesis.schedule.steps import Step, checked

KEYS: Final = {"name", "at", "for", "when", "within", "targets"}


def read_script(path: Path, time_limit_s: float, names: Sequence[str]) -> list[Step]:
    """Read a script.  Raises ScheduleError that names file and fault, and OSError."""
    try:
        content = read_toml(path)
    except ValueError as error:
        raise ScheduleError(f"{path}: not a script of faults: {error}") from None
    if not content:
        raise ScheduleError(f"{path}: the file is empty; it needs a table [[fault]] with name and at")
    entries = content.get("fault")
    if not isinstance(entries, list) or not entries or set(content) != {"fault"}:
        raise ScheduleError(f"{path}: expected tables [[fault]] and nothing else")
    steps: list[Step] = []
    for number, entry in enumerate(entries):
        try:
            steps += _steps(number, entry, names)
        except ScheduleError as error:
            raise ScheduleError(f"{path}: fault {number + 1}: {error}") from None
    return checked(steps, time_limit_s)


def _steps(number: int, entry: dict[str, Any], names: Sequence[str]) -> list[Step]:
    if unknown := set(entry) - KEYS:
        raise ScheduleError(f"unknown key {sorted(unknown)[0]!r}; there are {', '.join(sorted(KEYS))}")
    name, at_s, for_s = _text(entry, "name"), _seconds(entry, "at", 0.0), _seconds(entry, "for", None)
    when, within_s = _text(entry, "when", optional=True), _seconds(entry, "within", None)
    words = _text(entry, "targets", optional=True)
    if not name or at_s is None:
        raise ScheduleError("name is missing")
    if "at" not in entry and when is None:
        raise ScheduleError("at is missing: the seconds after the start; or a condition: when and within")
    if (when is None) != (within_s is None):
        raise ScheduleError("when and within go together")
    if words is not None:
        check_words(words, names)
    wish = {"choose": words} if words else None
    if when is not None and within_s is not None:
        parse(when, names)
        return [Step(at_s, "inject", name, number, wish, when, within_s, for_s)]
    start = Step(at_s, "inject", name, number, wish)
    return [start] if for_s is None else [start, Step(at_s + for_s, "heal", name, number)]


def _text(entry: dict[str, Any], key: str, *, optional: bool = False) -> str | None:
    value = entry.get(key)
    if (value is None and optional) or (isinstance(value, str) and value.strip()):
        return value
    raise ScheduleError(f"{key} must be text, found {value!r}")


def _seconds(entry: dict[str, Any], key: str, default: float | None) -> float | None:
    value = entry.get(key, default)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ScheduleError(f"{key} must be seconds, 0 or more, found {value!r}")
    return float(value)


def replay(receipts: Iterable[Receipt], start_ns: int) -> list[Step]:
    """The recorded faults at their recorded moments, on their recorded targets.

    ``start_ns`` is when the recorded schedule began (the start of the main phase).  Skipped faults touched nothing
    and are left out.
    """
    steps: list[Step] = []
    for receipt in receipts:
        if receipt.state == "skipped":
            continue
        targets = {"nodes": list(receipt.nodes), **receipt.targets}
        steps.append(Step(_offset(receipt.started, start_ns), "inject", receipt.fault, receipt.id, targets))
        if receipt.heal_started is not None:
            steps.append(Step(_offset(receipt.heal_started, start_ns), "heal", receipt.fault, receipt.id))
    return sorted(steps, key=lambda step: step.at_s)


def _offset(moment_ns: int, start_ns: int) -> float:
    return max(0.0, round((moment_ns - start_ns) / 1e9, 3))
