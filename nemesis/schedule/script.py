"""Make schedules from scripts and from the recorded faults of an earlier run.

A script is TOML, with one table for each fault::

    [[fault]]
    name = "partition-leader-minority"
    at = 5.0                       # seconds after the start of the main phase
    for = 10.0                     # how long it lasts; by default, until the end of the run

    [[fault]]
    name = "kill-leader"
    at = 20.0
    when = "lag(n4) > 1000"        # from then on, inject it as soon as this holds …
    within = 30.0                  # … or skip it if this does not hold within 30 seconds
    targets = "n2"                 # words, as in ``targets``
    for = 5.0
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from history import Receipt
from history.schema import convert
from history.toml_file import read_toml
from nemesis.core.errors import ScheduleError
from nemesis.core.targets import check_words
from nemesis.schedule.conditions import parse
from nemesis.schedule.steps import Step, checked

Text: TypeAlias = Annotated[str, Meta(pattern=r"\S", title="a string that is not blank")]
Seconds: TypeAlias = Annotated[float, Meta(ge=0)]


class ScriptedFault(Struct, forbid_unknown_fields=True, rename={"at_s": "at", "for_s": "for", "within_s": "within"}):
    """One fault of a script: when to inject it, its targets, and how long it lasts.  Times are in seconds."""

    name: Text
    at_s: Seconds | UnsetType = UNSET
    for_s: Seconds | UnsetType = UNSET
    when: Text | UnsetType = UNSET
    within_s: Seconds | UnsetType = UNSET
    targets: Text | UnsetType = UNSET


class Script(Struct, forbid_unknown_fields=True):
    """The contents of a script file."""

    fault: Annotated[list[ScriptedFault], Meta(min_length=1)]


def read_script(path: Path, time_limit_s: float, names: Sequence[str]) -> list[Step]:
    """Read a script.  Raises OSError, and ScheduleError that names the file and the fault."""
    try:
        faults = convert(read_toml(path), Script).fault
    except ValueError as error:
        raise ScheduleError(f"{path}: {error}") from None
    steps: list[Step] = []
    for number, fault in enumerate(faults):
        try:
            steps += _steps(number, fault, names)
        except ScheduleError as error:
            raise ScheduleError(f"{path}: fault[{number}]: {error}") from None
    return checked(steps, time_limit_s)


def _steps(number: int, fault: ScriptedFault, names: Sequence[str]) -> list[Step]:
    if fault.at_s is UNSET and fault.when is UNSET:
        raise ScheduleError("at (the seconds after the start) is missing; or give a condition: when and within")
    at_s, for_s = (None if seconds is UNSET else seconds for seconds in (fault.at_s, fault.for_s))
    wish = None
    if fault.targets is not UNSET:
        check_words(fault.targets, names)
        wish = {"choose": fault.targets}
    if fault.when is not UNSET and fault.within_s is not UNSET:
        parse(fault.when, names)
        return [Step(at_s or 0.0, "inject", fault.name, number, wish, fault.when, fault.within_s, for_s)]
    if fault.when is not UNSET or fault.within_s is not UNSET:
        raise ScheduleError("when and within go together")
    start = Step(at_s or 0.0, "inject", fault.name, number, wish)
    return [start] if for_s is None else [start, Step(start.at_s + for_s, "heal", fault.name, number)]


def replay(receipts: Iterable[Receipt], start_ns: int) -> list[Step]:
    """Return steps that repeat recorded faults at their recorded times on their recorded targets.

    ``start_ns`` is when the recorded schedule began (the start of the main phase).  Skipped faults touched nothing and
    are left out.
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
