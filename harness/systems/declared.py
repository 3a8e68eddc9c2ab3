"""Check a system's declarations when it is loaded, so that mistakes are reported in one line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from harness.errors import UsageError
from harness.systems.api import Option, Setup, System, Workload
from harness.systems.law import Law
from history.schema import hint

#: Names that can be used on a command line, in a file and in the name of a run.
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")
_VERSION: Final = re.compile(r"\S+")


def check_declared(system: System) -> None:
    """Check all declarations.  Raises ValueError for a mistake, with its place, such as ``options.colour.default``."""
    for place in ("versions", "workloads"):
        if not getattr(system, place):
            raise ValueError(f"{place} is empty: the first is the default")
    for place in ("roles", "clients", "surface", "refuse", "artifacts", "leads", "describe"):
        if not callable(getattr(system, place)):
            raise ValueError(f"{place} must be a function, not {getattr(system, place)!r}")
    if not isinstance(system.law, Law):
        raise ValueError(f"law must be a Law, not {system.law!r}")
    if wrong := [workload for workload in system.workloads if not isinstance(workload, Workload)]:
        raise ValueError(f"workloads must hold Workload values, not {wrong[0]!r}")
    _check_names("versions", system.versions, _VERSION)
    _check_names("workloads", [workload.name for workload in system.workloads])
    _check_names("options", [entry.name for entry in system.options])
    _check_names("planted_bugs", [entry.name for entry in system.planted_bugs])
    for option in system.options:
        _check_option(f"options.{option.name}", option)
    for bug in system.planted_bugs:
        _check_planted_bug(f"planted_bugs.{bug.name}", bug.options, {entry.name: entry for entry in system.options})


def _check_names(place: str, names: Iterable[Any], allowed: re.Pattern[str] = _NAME) -> None:
    earlier = set[str]()
    for name in names:
        if not isinstance(name, str) or not allowed.fullmatch(name):
            letters = "lowercase letters, digits, _ and -, beginning with a letter"
            kind = letters if allowed is _NAME else "characters other than blanks"
            raise ValueError(f"names in {place} must be {kind}, not {name!r}")
        if name in earlier:
            raise ValueError(f"{place}: {name} appears twice")
        earlier.add(name)


def _check_option(place: str, option: Option) -> None:
    """Check that an option's default is among its choices and within its bounds.  Raises ValueError."""
    default: Any = option.default  # a third party may have written anything
    if not isinstance(default, bool | int | float | str):
        raise ValueError(f"{place}.default must be true or false, a number or a string, not {default!r}")
    if option.choices and default not in option.choices:
        raise ValueError(f"{place}.default must be one of its choices, not {default!r}")
    if (option.least, option.most) == (None, None):
        return
    if isinstance(default, bool | str):
        raise ValueError(f"{place} has bounds, so its default must be a number, not {default!r}")
    if wrong := [bound for bound in (option.least, option.most) if bound is not None and not math.isfinite(bound)]:
        raise ValueError(f"the bounds in {place} must be numbers, not {wrong[0]}")
    if (option.least is not None and default < option.least) or (option.most is not None and default > option.most):
        raise ValueError(f"{place}.default is not within its bounds: {default}")


def _check_planted_bug(place: str, needs: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Check that the system has each option that a planted bug needs.  Raises ValueError."""
    if unknown := set(needs) - set(options):
        raise ValueError(f"{place}.options: there is no option {min(unknown)!r}; {hint(min(unknown), options)}")


def require_able(system: System, setup: Setup) -> None:
    """Check that this setup of the system can run.  Raises UsageError with the reason and the remedy."""
    for workload in system.workloads:
        if workload.name == setup.workload and (model := workload.model_of(setup)) is not None:
            from checker.models.registry import model_named  # it imports numpy, which no list needs

            try:
                model_named(model)
            except ValueError as error:
                raise UsageError(f"--workload {workload.name} of {system.name}: {error}") from None
    try:
        refused = system.refuse(setup)
    except Exception as error:  # noqa: BLE001 (a third party's function may fail in any way)
        raise UsageError(f"--system {system.name}: its refuse failed: {type(error).__name__}: {error}") from None
    if refused is not None:
        raise UsageError(refused)
