"""Options of ``harness run`` from a file, figures by name on the command line, and the options of the system.

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

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import UNSET
from msgspec.structs import asdict

from harness.errors import UsageError
from harness.options import option_types, plan_file
from harness.plan import PLAN_FORMAT, VERSION_OPTION, field_of, is_free, option_of, upgraded
from harness.systems import DEFAULT, find_system, split_version
from harness.systems.api import Option, OptionValue, System
from history.schema import convert
from history.toml_file import read_toml_or_object

if TYPE_CHECKING:
    FiguresType = click.ParamType[dict[str, float]]
else:  # not generic at run time before click 8.4
    FiguresType = click.ParamType


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
    """Make the file's values the defaults of all other options."""
    if path is not None:
        ctx.default_map = {**(ctx.default_map or {}), **read_defaults(path)}


def read_defaults(path: Path) -> dict[str, Any]:
    """The options in a plan file, by parameter.  Raises UsageError that names file and key."""
    where = f"--plan {path}"
    try:
        content = read_toml_or_object(path)
    except OSError as error:
        raise UsageError(f"{where}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{where}: neither TOML nor a plan.json: {error}") from None
    if content.get("format") == PLAN_FORMAT:
        if content.get("schedule"):
            raise UsageError(f"{where}: it has a schedule of its own; `harness replay` runs it again")
        content = upgraded(content)
        content = {**content, **content.pop("options", {})}
        content = {name: value for name, value in content.items() if name in option_types()}
    spelled = {option_of(field_of(name)).removeprefix("--"): value for name, value in content.items()}
    try:
        found = asdict(convert(spelled, plan_file()))
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None
    if isinstance(found["nemesis"], list):
        found["nemesis"] = ",".join(found["nemesis"])
    if isinstance(found["spark_conf"], dict):
        found["spark_conf"] = [f"{name}={value}" for name, value in found["spark_conf"].items()]
    return {field: value for field, value in found.items() if value is not UNSET}


# -- the options of the system --------------------------------------------------------------------------------------

_TRUE_FALSE = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class SystemCommand(click.Command):
    """A command that has the options of the system which its own command line, or its plan file, names."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["system"] = _named(args)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)
        place = next((n for n, param in enumerate(own) if param.name == "client_timeout"), len(own))
        return [*own[:place], *system_params(find_system(ctx.meta.get("system", DEFAULT))), *own[place:]]


def system_params(system: System) -> list[click.Parameter]:
    """The options of a system: its workloads, versions and planted bugs, and what it declares itself."""
    workloads = [workload.name for workload in system.workloads]
    canaries = [canary.name for canary in system.canaries]
    found: list[click.Parameter] = [
        click.Option(["--workload"], type=click.Choice(workloads), default=workloads[0], help="What clients do."),
        *(_param(option) for option in system.options if is_free(option.name)),
        click.Option(
            ["--canary"], type=click.Choice(["", *canaries]), metavar="BUG", default="",
            help=f"Plant a bug in the server that the run has to find: {', '.join(canaries) or 'it has none'}.",
        ),
    ]  # fmt: skip
    versions, is_default = find_system(DEFAULT).versions, system.name == DEFAULT
    version = click.Option(
        [VERSION_OPTION, "version"], type=click.Choice(versions), default=None,
        help=f"The same as --system {DEFAULT}@VERSION.", hidden=not is_default,
    )  # fmt: skip
    return [found[0], version, *found[1:]]


def _param(option: Option) -> click.Option:
    flag = option_of(option.name)
    if isinstance(option.default, bool):
        return click.Option(
            [f"{flag}/{flag.replace('--', '--no-', 1)}", option.name], default=option.default, help=option.help
        )
    kind: Any = click.Choice(option.choices) if option.choices else type(option.default)
    return click.Option([flag, option.name], type=kind, default=option.default, help=option.help)


def given_options(name: str, words: Iterable[str]) -> dict[str, OptionValue]:
    """The values of ``-o name=value``, each of its option's type.  Raises UsageError."""
    options = {option.name: option for option in find_system(name).options}
    found: dict[str, OptionValue] = {}
    for word in words:
        key, sign, text = word.partition("=")
        if not sign or key not in options:
            known = ", ".join(options) or "none"
            raise UsageError(f"-o {word}: expected an option of {name} as name=value; there are {known}")
        found[key] = _value(options[key], text, word)
    return found


def _value(option: Option, text: str, word: str) -> OptionValue:
    kind = type(option.default)
    try:
        return _TRUE_FALSE[text.lower()] if kind is bool else kind(text)
    except (ValueError, KeyError):
        noun = {bool: "true or false", int: "a whole number", float: "a number"}[kind]
        raise UsageError(f"-o {word}: it must be {noun}") from None


def _named(args: Sequence[str]) -> str:
    """The system that the arguments name; what is wrong with them is said when they are parsed."""
    system = _value_of("--system", args)
    if system is None and (plan := _value_of("--plan", args)) is not None:
        try:
            system = read_toml_or_object(Path(plan)).get("system")
        except (OSError, ValueError):
            system = None
    return split_version(str(system or DEFAULT))[0]


def _value_of(option: str, args: Sequence[str]) -> str | None:
    for number, word in enumerate(args):
        if word == option:
            return args[number + 1] if number + 1 < len(args) else None
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return None
