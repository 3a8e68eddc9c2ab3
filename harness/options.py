"""Options in suite files and plan files, checked against the plan's fields."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from harness.errors import UsageError
from harness.plan import Plan


@cache
def option_types() -> Mapping[str, Any]:
    """The plan's fields that a file may set, with their types: all but a schedule, which a script defines."""
    hints = get_type_hints(Plan)
    return types.MappingProxyType({f.name: hints[f.name] for f in fields(Plan) if f.name != "schedule"})


def require_known(names: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raises UsageError that names the first unknown key, and similar ones."""
    choices = sorted(known)
    for name in names:
        if name not in choices:
            near = difflib.get_close_matches(name, choices, n=2)
            mend = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(choices)}"
            raise UsageError(f"{where}: there is no key {name!r}; {mend}")


def checked(field: str, value: Any, where: str, name: str = "") -> Any:
    """The value as the plan holds it.  Raises UsageError that names the key (as written) and what it takes."""
    wanted = option_types()[field]
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(wanted, type) and type(value) is wanted:
        return value
    if get_origin(wanted) is Literal and value in get_args(wanted):
        return value
    if get_origin(wanted) is tuple and isinstance(value, str):
        parts = tuple(part.strip() for part in value.split(",")) if value.strip() else ()
        if not all(parts):
            raise UsageError(f"{where}: {name or field}: something is missing between the commas of {value!r}")
        return parts
    if get_origin(wanted) is dict and _is_table_of_numbers(value):
        return {key: float(number) for key, number in value.items()}
    raise UsageError(f"{where}: {name or field} must be {_words(wanted)}, not {value!r}")


def _is_table_of_numbers(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(number, int | float) and not isinstance(number, bool) for number in value.values()
    )


def _words(wanted: Any) -> str:
    if get_origin(wanted) is Literal:
        return "one of " + ", ".join(repr(choice) for choice in get_args(wanted))
    if get_origin(wanted) is tuple:
        return "a text as --nemesis takes it"
    if get_origin(wanted) is dict:
        return "a table of numbers"
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[wanted]
