"""The options of ``harness run``, generated from the fields of a plan, which define their names, types and help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import click

from harness.cli.completion import complete_faults, complete_scenarios, complete_systems
from harness.cli.options.plan_file import FIGURES
from harness.cli.shared_options import SPARK_OPTIONS
from harness.plan import Plan, option_of

#: Fields set by options of the system under test, which ``harness.cli.options.of_system`` adds.
_OF_SYSTEM: Final = frozenset({"version", "options", "workload", "planted_bug"})
#: What the command line changes for a field: the form of the value, its default, its completion.
_FORMS: Final[dict[str, dict[str, Any]]] = {
    "seed": {"default": None},
    "nemesis": {"default": "", "type": str, "shell_complete": complete_faults},
    "weights": {"default": "", "type": FIGURES},
    "fault_options": {"default": "", "type": FIGURES},
    "schedule": {
        "default": None, "type": click.Path(path_type=Path, dir_okay=False), "shell_complete": complete_scenarios,
    },
    "system": {"metavar": "NAME[@VERSION]", "shell_complete": complete_systems},
}  # fmt: skip
_SHORT: Final = {"nemesis": "-n"}


def plan_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each field of a plan to a command, in the order of the fields."""
    hints = get_type_hints(Plan)
    for field in reversed(fields(Plan)):
        if field.name in SPARK_OPTIONS:
            command = SPARK_OPTIONS[field.name](command)
        elif field.name not in _OF_SYSTEM:
            command = _option(field, hints[field.name])(command)
    return command


def _option(field: Field[Any], hint: Any) -> Callable[..., Any]:
    flag, form = option_of(field.name), {"help": field.metadata["help"], **_FORMS.get(field.name, {})}
    if "default" not in form:
        form["default"] = None if field.default is MISSING else field.default
    if hint is bool:
        flag = f"{flag}/{flag.replace('--', '--no-', 1)}"
    elif "type" not in form:
        form["type"] = click.Choice(get_args(hint)) if get_origin(hint) is Literal else hint
    return click.option(flag, *filter(None, [_SHORT.get(field.name)]), field.name, **form)
