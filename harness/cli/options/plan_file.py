"""Options of ``harness run`` from a file, and tables of numbers on the command line.

A plan file is TOML with option names as keys, or the ``plan.json`` of an earlier run.  A ``plan.json`` supplies the
seed, the faults, the cluster and the load, but nothing that was drawn from the seed.

    nemesis = ["kill-leader", "bridge+packet-loss", "hammer-time@all/!leader"]
    interval = 8
    [weights]
    kill-leader = 3
    [fault-options]
    loss = 0.4
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import to_builtins

from harness.errors import UsageError
from harness.options import option_types, plan_file
from harness.plan import PLAN_FORMAT, field_of, is_free, option_of
from harness.systems import DEFAULT, find_system, split_version
from harness.systems.choices import choices
from harness.systems.registry import FILE
from history.schema import convert
from history.toml_file import read_toml_or_object

if TYPE_CHECKING:
    FiguresType = click.ParamType[dict[str, float]]
else:  # not generic at run time before click 8.4
    FiguresType = click.ParamType


class Figures(FiguresType):
    """The parameter type for ``name=number,name=number``, which is converted to a mapping."""

    name = "name=number,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, float]:
        if isinstance(value, dict):
            return value
        figures: dict[str, float] = {}
        for part in filter(None, (part.strip() for part in value.split(","))):
            name, _, number = part.partition("=")
            try:
                figures[name.strip()] = float(number)
            except ValueError:
                self.fail(f"{part!r} must have the form name=number", param, ctx)
        return figures


FIGURES: Final = Figures()


def take_defaults(ctx: click.Context, param: click.Parameter, path: Path | None) -> None:  # noqa: ARG001 (click's shape)
    """Use the file's values as the defaults of all other options."""
    if path is not None:
        ctx.default_map = {**(ctx.default_map or {}), **read_defaults(path)}


def read_defaults(path: Path) -> dict[str, Any]:
    """Return the options in a plan file by parameter.  Raises UsageError that names the file and the key."""
    where = f"--plan {path}"
    try:
        content = read_toml_or_object(path)
    except OSError as error:
        raise UsageError(f"{where}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{where}: neither TOML nor a plan.json: {error}") from None
    if content.get("format") == PLAN_FORMAT:
        if content.get("schedule"):
            raise UsageError(f"{where}: it contains a schedule; `harness replay` runs it again")
        content = {name: value for name, value in content.items() if name in option_types()}
    return defaults_of(content, where)


def defaults_of(content: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the options in a table by parameter.  Raises UsageError that names ``where`` and the key."""
    own = _values_of_file(content)
    _check_chosen(content, where)
    written = {option_of(field_of(name)).removeprefix("--"): name for name in content if name not in own}
    spelled = {option: content[name] for option, name in written.items()}
    try:
        values = to_builtins(convert(spelled, plan_file(), lambda option: written.get(option, option)))
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None
    defaults = {field_of(option): value for option, value in values.items()}
    defaults |= {name: str(own.pop(name)) for name in _CHOSEN if name in own}
    if isinstance(turns := defaults.get("nemesis"), list):
        defaults["nemesis"] = ",".join(turns)
    if isinstance(settings := defaults.get("spark_conf"), dict):
        defaults["spark_conf"] = [f"{name}={value}" for name, value in settings.items()]
    if defaults.get("system", DEFAULT) != DEFAULT and "version" in defaults:
        defaults["system"] = f"{split_version(defaults['system'])[0]}@{defaults.pop('version')}"
    options = {**defaults.pop("options", {}), **own}
    defaults |= {name: value for name, value in options.items() if is_free(name)}
    if taken := [f"{name}={str(value).lower()}" for name, value in options.items() if not is_free(name)]:
        defaults["option"] = taken
    return defaults


#: Fields whose possible values depend on the system.
_CHOSEN: Final = ("version", "workload", "planted_bug")


def _check_chosen(content: Mapping[str, Any], where: str) -> None:
    """Check that a table's system has the version, workload and planted bug that it names.  Raises UsageError."""
    if not isinstance(named := content.get("system"), str):
        return
    chosen = {name: content[name] for name in _CHOSEN if name in content}
    try:
        convert(chosen, choices(find_system(split_version(named)[0])))
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None


def _values_of_file(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table's values for choices and options of a system defined in a file.

    They need separate treatment because none of our types includes them.
    """
    name = split_version(str(content.get("system", "")))[0]
    if not name.endswith(FILE):
        return {}
    names = (*_CHOSEN, *(option.name for option in find_system(name).options if is_free(option.name)))
    return {name: content[name] for name in names if name in content}
