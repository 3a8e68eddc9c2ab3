"""Options of ``harness run`` from a file, and figures by name on the command line.

A plan file is TOML with the names of the options as keys, or the ``plan.json`` of an earlier run (of which everything
but the seed's consequences is taken: seed, faults, cluster, load)::

    nemesis = ["kill-leader", "bridge+packet-loss", "hammer-time@all/!leader"]
    interval = 8
    [weights]
    kill-leader = 3
    [fault-options]
    loss = 0.4
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from harness.plan import PLAN_FORMAT, Plan

if TYPE_CHECKING:
    FiguresType = click.ParamType[dict[str, float]]
else:  # not generic at run time before click 8.4
    FiguresType = click.ParamType

#: The plan's field -> the option's parameter, where they differ.
_PARAMETERS: Final = {"store": "store_type"}


class Figures(FiguresType):
    """``name=number,name=number`` as a mapping."""

    name = "name=number,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, float]:
        if isinstance(value, dict):
            return value
        found: dict[str, float] = {}
        for part in filter(None, (part.strip() for part in value.split(","))):
            name, _, number = part.partition("=")
            try:
                found[name.strip()] = float(number)
            except ValueError:
                self.fail(f"{part!r} is not of the form name=number", param, ctx)
        return found


FIGURES: Final = Figures()


def take_defaults(ctx: click.Context, param: click.Parameter, path: Path | None) -> None:  # noqa: ARG001 (click's shape)
    """Let the file's values be the defaults of the options to come."""
    if path is not None:
        ctx.default_map = {**(ctx.default_map or {}), **read_defaults(path)}


def read_defaults(path: Path) -> dict[str, Any]:
    """The options in a plan file, by parameter.  Raises click.UsageError that names file and key."""
    try:
        text = path.read_text()
        content = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except OSError as error:
        raise click.UsageError(f"--plan {path}: {error.strerror}") from None
    except ValueError as error:
        raise click.UsageError(f"--plan {path}: neither TOML nor a plan.json: {error}") from None
    if content.get("format") == PLAN_FORMAT:
        if content.get("schedule"):
            raise click.UsageError(f"--plan {path}: it has a schedule of its own; `harness replay` runs it again")
        known = {field.name for field in fields(Plan)} - {"schedule"}
        content = {name: value for name, value in content.items() if name in known}
    return {_parameter(name, path): _value(name, value, path) for name, value in content.items()}


def _parameter(name: str, path: Path) -> str:
    field = {"dledger-version": "version", "store-type": "store"}.get(name, name.replace("-", "_"))
    known = [one.name for one in fields(Plan) if one.name != "schedule"]
    if field not in known:
        names = ", ".join(one.replace("_", "-") for one in known)
        raise click.UsageError(f"--plan {path}: no option is called {name!r}; there are {names}")
    return _PARAMETERS.get(field, field)


def _value(name: str, value: Any, path: Path) -> Any:
    if name == "nemesis" and isinstance(value, list) and all(isinstance(turn, str) for turn in value):
        return ",".join(value)
    if name.replace("-", "_") in ("weights", "fault_options"):
        numbers = isinstance(value, dict) and all(type(number) in (int, float) for number in value.values())
        if not numbers:
            raise click.UsageError(f"--plan {path}: {name} must be a table of numbers")
        return {key: float(number) for key, number in value.items()}
    if not isinstance(value, str | int | float | bool):
        raise click.UsageError(f"--plan {path}: {name} cannot be {value!r}")
    return value
