"""The options that a system under test adds to ``harness run``."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from harness.cli.options import PROJECT_FILE
from harness.cli.options.plan_file import read_defaults
from harness.errors import HarnessError, UsageError
from harness.plan import VERSION_OPTION, is_free, option_of, option_words
from harness.systems import DEFAULT, find_system, split_version, usable_systems
from harness.systems.api import Option, OptionValue, System
from history.schema import hint

#: The options that the short help shows, besides those of a system that the command line names.
_COMMON: Final = frozenset(
    {"nemesis", "system", "workload", "time_limit", "interval", "rate", "concurrency", "cluster", "seed", "store"}
)
_TRUE_FALSE = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class SystemCommand(click.Command):
    """A command with the options of the system that its command line, plan file or defaults name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        plan = _plan(args)
        ctx.meta["planned"] = frozenset(plan)
        ctx.meta["system"] = _named(ctx, args, plan)
        if ctx.resilient_parsing:  # a completion: an error message would be written into the line being typed
            try:
                find_system(ctx.meta["system"])
            except HarnessError:
                ctx.meta["system"] = DEFAULT
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            _check_given(ctx, [str(p.name) for p in self.get_params(ctx) if not str(p.name).startswith("_")])
        return rest

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)
        place = next((n for n, param in enumerate(own) if param.name == "client_timeout"), len(own))
        params = [*own[:place], *system_params(find_system(ctx.meta.get("system", DEFAULT))), *own[place:]]
        planned = ctx.meta.get("planned", ())
        return [_without_environment(param) if param.name in planned else param for param in params]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        params, own = self.get_params(ctx), frozenset[str | None]()
        if ctx.meta["system"] != DEFAULT:
            own = frozenset(param.name for param in system_params(find_system(ctx.meta["system"])))
        help_option = self.get_help_option(ctx)
        shown = [
            param for param in params
            if ctx.meta.get("help_all") or param.name in _COMMON | own | {"help_all"} or param is help_option
        ]  # fmt: skip
        with formatter.section("Options"):
            formatter.write_dl([row for param in shown if (row := param.get_help_record(ctx)) is not None])


def _show_all(ctx: click.Context, _: click.Parameter, wanted: object) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta["help_all"] = True
        click.echo(ctx.get_help())
        ctx.exit()


#: The option that shows every option of a :class:`SystemCommand`; ``--help`` shows only the common ones.
help_all = click.option(
    "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_show_all, show_default=False,
    help="Show all options.",
)  # fmt: skip


def _check_given(ctx: click.Context, known: Sequence[str]) -> None:
    """Check that an option exists for each default from the environment or from a file for this system.

    Raises UsageError.
    """
    system, defaults = ctx.meta["system"], ctx.default_map or {}
    if split_version(str(defaults.get("system", system)))[0] == system:
        for name in defaults:
            if name not in known:
                where = "--plan" if name in ctx.meta["planned"] else PROJECT_FILE
                mend = "leave it out, or name a system that has it"
                raise UsageError(f"{where}: {system} has no option {name.replace('_', '-')}: {mend}")
    prefix = f"{ctx.auto_envvar_prefix}_"
    unknown = [
        word for word in os.environ if word.startswith(prefix) and word.removeprefix(prefix).lower() not in known
    ]
    if ctx.auto_envvar_prefix and unknown:
        others = {option.name for other in usable_systems()[0] for option in other.options}
        for word in unknown:
            if (name := word.removeprefix(prefix).lower()) not in others:
                raise UsageError(f"{word}: there is no option {name.replace('_', '-')}; {hint(name, known)}")


def _without_environment(param: click.Parameter) -> click.Parameter:
    """Return a copy of a plan file's option that the environment cannot override; only the command line can."""
    copied = copy(param)
    if isinstance(copied, click.Option):
        copied.allow_from_autoenv = False
    return copied


class _Choice(click.Choice[str]):
    """A choice that fails with the reason ``why`` if a value is given but there is nothing to choose from."""

    def __init__(self, choices: Sequence[str], why: str = "it has no options") -> None:
        super().__init__(choices)
        self._why = why

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value and not any(self.choices):
            self.fail(f"{self._why}: leave it out instead of giving {value!r}", param, ctx)
        return super().convert(value, param, ctx)


def system_params(system: System) -> list[click.Parameter]:
    """Return the options of a system: its workloads, versions and planted bugs, and the options it declares."""
    workloads = [workload.name for workload in system.workloads]
    planted_bugs = [bug.name for bug in system.planted_bugs]
    params: list[click.Parameter] = [
        click.Option(["--workload"], type=click.Choice(workloads), default=workloads[0], help="What clients do."),
        *(_param(option) for option in system.options if is_free(option.name)),
        click.Option(
            ["--planted-bug"], metavar="BUG", default="",
            type=_Choice(["", *planted_bugs], f"{system.name} has no planted bugs"),
            help="Plant a bug in the server for the run to find: "
            f"{', '.join(planted_bugs) or '(this system has none)'}.",
        ),
    ]  # fmt: skip
    versions, is_default = find_system(DEFAULT).versions, system.name == DEFAULT
    version = click.Option(
        [VERSION_OPTION, "version"], type=click.Choice(versions), default=None,
        help=f"Same as --system {DEFAULT}@VERSION.", hidden=not is_default,
    )  # fmt: skip
    return [params[0], version, *params[1:]]


def _param(option: Option) -> click.Option:
    flag = option_of(option.name)
    if isinstance(option.default, bool):
        return click.Option(
            [f"{flag}/{flag.replace('--', '--no-', 1)}", option.name], default=option.default, help=option.help
        )
    kind: Any = _Choice(option.choices) if option.choices else type(option.default)
    return click.Option([flag, option.name], type=kind, default=option.default, help=option.help)


def given_options(name: str, words: Iterable[str]) -> dict[str, OptionValue]:
    """Parse ``-o name=value`` options, converting each value to its option's type.  Raises UsageError."""
    options = {option.name: option for option in find_system(name).options}
    values: dict[str, OptionValue] = {}
    for word in words:
        key, sign, text = word.partition("=")
        if not sign or key not in options:
            known = ", ".join(options) or "none"
            raise UsageError(f"-o {word}: expected NAME=VALUE, with one of these options of {name}: {known}")
        values[key] = _value(options[key], text, word)
    return values


def refuse_twice(ctx: click.Context, given: Mapping[str, OptionValue], options: Mapping[str, Any]) -> None:
    """Refuse an option that the command line gives in both forms with different values.  Raises UsageError."""
    for name, value in given.items():
        of_line = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if of_line and name in options and options[name] != value:
            flag = shlex.join(option_words(name, options[name]))
            raise UsageError(f"-o {name}={value} and {flag} name different values: give only one")


def _value(option: Option, text: str, word: str) -> OptionValue:
    kind = type(option.default)
    try:
        return _TRUE_FALSE[text.lower()] if kind is bool else kind(text)
    except (ValueError, KeyError):
        noun = {bool: "true or false", int: "a whole number", float: "a number"}[kind]
        raise UsageError(f"-o {word}: it must be {noun}") from None


def _plan(args: Sequence[str]) -> dict[str, Any]:
    """Return the options in the plan file that the arguments name; errors in it are reported later, by the parser."""
    path = _value_of("--plan", args)
    try:
        return {} if path is None else read_defaults(Path(path))
    except UsageError:
        return {}


def _named(ctx: click.Context, args: Sequence[str], plan: Mapping[str, Any]) -> str:
    """Return the system named by the arguments, or else by the plan, the environment or the project file."""
    project = ctx.default_map or {}
    variable = os.environ.get(f"{ctx.auto_envvar_prefix}_SYSTEM") if ctx.auto_envvar_prefix else None
    named = (_value_of("--system", args), plan.get("system"), variable, project.get("system"), DEFAULT)
    return split_version(str(next(filter(None, named))))[0]


def _value_of(option: str, args: Sequence[str]) -> str | None:
    for number, word in enumerate(args):
        if word == option:
            return args[number + 1] if number + 1 < len(args) else None
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return None
