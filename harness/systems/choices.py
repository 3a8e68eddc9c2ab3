"""The options of a system as types, which check files and command lines and generate schemas."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from harness.systems.api import Option, OptionValue, System
from history.schema import convert, hint, table

# Types built at run time, which a type checker cannot follow.
_literal: Final[Any] = Literal
_annotated: Final[Any] = Annotated


def type_of(option: Option) -> Any:
    """Return the type of an option's values, with its choices or bounds."""
    if option.choices:
        return _literal[option.choices]
    kind = type(option.default)
    if option.least is None and option.most is None:
        return kind
    least, most = option.least, option.most
    if kind is int:  # whose bounds must be whole numbers
        least, most = None if least is None else math.ceil(least), None if most is None else math.floor(most)
    return _annotated[kind, Meta(ge=least, le=most, description=option.reason or None)]


def choices(system: System) -> type[Struct]:
    """Return the type of a table with version, workload and planted bug."""
    none = None if system.planted_bugs else Meta(description=f"{system.name} has no planted bugs")
    planted_bugs = _annotated[_literal["", *(bug.name for bug in system.planted_bugs)], none]
    names = tuple(workload.name for workload in system.workloads)
    fields = {"version": _literal[system.versions], "workload": _literal[names], "planted_bug": planted_bugs}
    return table("Choices", fields)


def with_defaults(system: System, given: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Return the values of all options: the given ones, else the defaults."""
    return {**{option.name: option.default for option in system.options}, **given}


def check_options(system: System, given: Mapping[str, OptionValue], spell: Callable[[str], str]) -> None:
    """Check that the system has each option and accepts its value.  Raises ValueError."""
    options = {option.name: type_of(option) for option in system.options}
    for name in given:
        if name not in options:
            raise ValueError(f"{system.name} has no option {spell(name)}; {hint(name, options)}")
    convert(dict(given), table("Options", options), spell)
