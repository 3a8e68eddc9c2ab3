"""Defaults from the project file, ``harness.toml`` in the working directory, with a table for each verb.

::

    [run]                         # as in a plan file, and store, test-count, keep-cluster
    system = "mine/kv.toml"
    rate = 100

    [suite]
    store = "/srv/runs"
    cluster = "inventory:lab.toml"

    [cluster.up]
    nodes = 3

The command line comes first, then a plan file that it names, then the environment (``HARNESS_RUN_RATE=100``), then this
file, then the defaults that the help shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from harness.cli.options import PROJECT_FILE
from harness.errors import UsageError
from harness.ownership import require_own
from history.safe_open import require_plain_if_any
from history.schema import hint
from history.toml_file import read_toml

#: Options of ``harness run`` that do not belong to the plan.
_OF_A_RUN: Final = frozenset({"store", "test-count", "keep-cluster"})


def take_project_defaults(ctx: click.Context, named: Path | None) -> None:
    """Give the verbs of this group defaults from the project file, or from the file that the user ``named``.

    Raises UsageError for the table of an unknown verb and for mistakes in the table of the verb being called.  Also
    raises it if we are root and another user can write the project file: the file may name programs, which would run as
    root.
    """
    group = ctx.command
    assert isinstance(group, click.Group)
    if named is None:
        require_plain_if_any(PROJECT_FILE)
        require_own(PROJECT_FILE, f"name it with --defaults {PROJECT_FILE}, or leave it out with --no-defaults")
    tables = _read(named or PROJECT_FILE)
    verbs = group.list_commands(ctx)
    if unknown := [name for name in tables if name not in verbs]:
        raise UsageError(f"{PROJECT_FILE}: there is no command {unknown[0]!r}; {hint(unknown[0], verbs)}")
    verb = ctx.invoked_subcommand
    if verb in tables and (command := group.get_command(ctx, verb)) is not None:
        ctx.default_map = {verb: _defaults(ctx, command, tables[verb], verb)}


def _read(file: Path) -> dict[str, Any]:
    try:
        return read_toml(file)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{file}: {error}") from None


def _defaults(ctx: click.Context, command: click.Command, table: Any, place: str) -> dict[str, Any]:
    where = f"{PROJECT_FILE}: [{place}]"
    if not isinstance(table, dict):
        raise UsageError(f"{PROJECT_FILE}: {place} must be a table, with the options of that command")
    if isinstance(command, click.Group):
        own = {name: command.get_command(ctx, name) for name in table}
        if unknown := [name for name, child in own.items() if child is None]:
            raise UsageError(f"{where} there is no {unknown[0]!r}; {hint(unknown[0], command.list_commands(ctx))}")
        return {name: _defaults(ctx, child, table[name], f"{place}.{name}") for name, child in own.items() if child}
    if place != "run":
        return _of_params(ctx, command, table, where)
    from harness.cli.options.plan_file import defaults_of  # here, because no other verb pays for what it imports

    rest = {name: value for name, value in table.items() if name in _OF_A_RUN}
    plan = {name: value for name, value in table.items() if name not in _OF_A_RUN}
    return {**defaults_of(plan, where), **_of_params(ctx, command, rest, where)}


def _of_params(ctx: click.Context, command: click.Command, table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the values of a table by parameter, checked against the type of each option."""
    params = {name: param for param in command.params for name in _names(param)}
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in params:
            raise UsageError(f"{where} there is no option {name!r}; {hint(name, params)}")
        param = params[name]
        try:
            param.type_cast_value(ctx, value)
        except click.BadParameter as error:
            raise UsageError(f"{where} {name}: {error.message.rstrip('.')}") from None
        assert param.name is not None
        values[param.name] = value
    return values


def _names(param: click.Parameter) -> list[str]:
    if isinstance(param, click.Argument):
        return [str(param.name)]
    return [option.removeprefix("--") for option in param.opts if option.startswith("--")]
