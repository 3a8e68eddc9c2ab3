"""The options of a plan as files set them: the plan's own types and bounds, each option by its name."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, TypeAlias, get_type_hints

from msgspec import Meta, Struct

from harness.plan import Plan, option_of
from history.schema import list_of, table

Turns: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^\s*$|^[^,]*[^\s,][^,]*(,[^,]*[^\s,][^,]*)*$",
        title="a text as --nemesis takes it, with something between any two commas",
    ),
]


@cache
def option_types() -> Mapping[str, Any]:
    """What a file may set, by the plan's fields, with their types: all but a schedule, which a script writes."""
    hints = get_type_hints(Plan, include_extras=True) | {"nemesis": Turns}
    return types.MappingProxyType({f.name: hints[f.name] for f in fields(Plan) if f.name != "schedule"})


@cache
def plan_file() -> type[Struct]:
    """A plan that is written by hand: all options, named as on the command line."""
    keys = {**option_types(), "nemesis": Turns | list_of(str, 0)}
    return table("Plan", keys, spelled={key: option_of(key).removeprefix("--") for key in keys})


def turns(text: str) -> tuple[str, ...]:
    """The turns between the commas of a text that is checked already."""
    return tuple(part.strip() for part in text.split(",")) if text.strip() else ()
