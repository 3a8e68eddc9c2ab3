"""Plan options as they appear in files: the plan's own types and bounds, each option by its name."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, Final, Literal, TypeAlias, get_type_hints

from msgspec import Meta, Struct

from harness.plan import Plan, is_free, option_of
from harness.systems import usable_systems
from harness.systems.choices import type_of
from history.schema import list_of, table
from nemesis.core.options import OPTIONS_TABLE

# Literal types built at run time, which a type checker cannot follow.
_literal: Final[Any] = Literal
Turns: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^\s*$|^[^,]*[^\s,][^,]*(,[^,]*[^\s,][^,]*)*$",
        title="a string like that of --nemesis, without empty parts between commas",
    ),
]


@cache
def option_types() -> Mapping[str, Any]:
    """Return the plan's fields that a file may set, with their types.

    Every field is included except the schedule, which has a file of its own.
    """
    hints = get_type_hints(Plan, include_extras=True) | {"nemesis": Turns, "fault_options": OPTIONS_TABLE}
    hints |= _chosen_types()
    own = {f.name: hints[f.name] for f in fields(Plan) if f.name != "schedule"}
    return types.MappingProxyType({**own, **_system_types()})


def _chosen_types() -> dict[str, Any]:
    """Return types for the versions, workloads and planted bugs of all systems.

    The plan checks later which of them go together.
    """
    versions = dict.fromkeys(version for system in usable_systems()[0] for version in system.versions)
    workloads = dict.fromkeys(workload.name for system in usable_systems()[0] for workload in system.workloads)
    planted_bugs = dict.fromkeys(bug.name for system in usable_systems()[0] for bug in system.planted_bugs)
    return {"version": _literal[tuple(versions)], "workload": _literal[tuple(workloads)],
            "planted_bug": _literal[("", *planted_bugs)]}  # fmt: skip


def _system_types() -> dict[str, Any]:
    """Return the types of all systems' options, without those whose names another option already has.

    Where two systems declare the same name differently, the type is the plain one.
    """
    by_name: dict[str, Any] = {}
    for option in (option for system in usable_systems()[0] for option in system.options if is_free(option.name)):
        wanted = type_of(option)
        by_name[option.name] = wanted if by_name.get(option.name, wanted) == wanted else type(option.default)
    return by_name


@cache
def plan_file() -> type[Struct]:
    """Return the type of a hand-written plan: all options, named as on the command line."""
    keys = {**option_types(), "nemesis": Turns | list_of(str, 0)}
    return table("Plan", keys, spelled={key: option_of(key).removeprefix("--") for key in keys})


def turns(text: str) -> tuple[str, ...]:
    """Split a valid string into turns, at its commas."""
    return tuple(part.strip() for part in text.split(",")) if text.strip() else ()
