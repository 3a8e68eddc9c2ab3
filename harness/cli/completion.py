"""``harness completion``: completion scripts for shells, and the completion of faults, suites and runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, get_completion_class

from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.systems import System


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """Print the completion script of SHELL.

    \b
    bash: eval "$(harness completion bash)"           in ~/.bashrc
    zsh:  eval "$(harness completion zsh)"            in ~/.zshrc
    fish: harness completion fish > ~/.config/fish/completions/harness.fish
    """
    completer = get_completion_class(shell)
    assert completer is not None
    click.echo(completer(ctx.find_root().command, {}, "harness", "_HARNESS_COMPLETE").source())
    return 0


def complete_faults(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the last fault in a list such as ``bridge,kill-leader+packet``, showing each fault's summary."""
    from nemesis.faults.registry import FAULTS

    start = re.split("[,+]", incomplete)[-1]
    before = incomplete.removesuffix(start)
    summaries = {"all": "all faults that can work on the cluster"} | {n: fault.summary for n, fault in FAULTS.items()}
    return [CompletionItem(before + name, help=text) for name, text in summaries.items() if name.startswith(start)]


def complete_systems(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a system's name, its version after ``@``, or a file."""
    from harness.systems import find_system, system_names

    name, at, _ = incomplete.partition("@")
    if at and name in system_names():
        names = [f"{name}@{version}" for version in find_system(name).versions]
    else:
        names = list(system_names())
    return _or_files(incomplete, names)


def complete_workloads(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a workload of the system on the command line, or of any system if none is named there."""
    from harness.systems import usable_systems

    named = ctx.params.get("system")
    systems = _systems_named(named) if named else usable_systems()[0]
    summaries = {workload.name: workload.summary for system in systems for workload in system.workloads}
    return _described(incomplete, summaries)


def complete_options(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete an option of the system on the command line: first its name with ``=``, then its value."""
    from harness.systems import DEFAULT

    name, sign, _ = incomplete.partition("=")
    options = [option for system in _systems_named(ctx.params.get("system") or DEFAULT) for option in system.options]
    completions = {f"{option.name}=": option.help for option in options}
    for option in options if sign else ():
        if option.name == name:
            values = ("true", "false") if isinstance(option.default, bool) else option.choices
            completions = dict.fromkeys((f"{name}={value}" for value in values), option.help)
    return _described(incomplete, completions)


def _systems_named(text: str) -> list[System]:
    """Return the system of that name, or no system if the name is unknown.

    An error message would be written into the line that the user is typing.
    """
    from harness.systems import find_system, split_version

    with suppress(HarnessError):
        return [find_system(split_version(text)[0])]
    return []


def complete_models(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a checker's model."""
    from checker.models.registry import model_names

    return [CompletionItem(name) for name in model_names() if name.startswith(incomplete)]


def complete_levels(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a consistency level of transactions or registers."""
    from checker.models.levels import LEVELS
    from checker.models.weak_register import WEAK_LEVELS

    return [CompletionItem(name) for name in (*LEVELS, *WEAK_LEVELS) if name.startswith(incomplete)]


def complete_suites(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a suite, or a file."""
    from harness.suite.packaged import suites

    return _or_files(incomplete, suites())


def complete_scenarios(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a fault script, or a file."""
    from harness.suite.packaged import scenarios

    return _or_files(incomplete, scenarios())


def complete_runs(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete ``latest``, a run of the store, or a file."""
    store = Path(ctx.params.get("store") or "store")
    runs = sorted(plan.parent.relative_to(store).as_posix() for plan in store.glob("*/*/plan.json"))
    return _or_files(incomplete, ["latest", *runs])


def _described(incomplete: str, texts: Mapping[str, str]) -> list[CompletionItem]:
    return [CompletionItem(name, help=text) for name, text in texts.items() if name.startswith(incomplete)]


def _or_files(incomplete: str, names: Iterable[str]) -> list[CompletionItem]:
    completions = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return completions or [CompletionItem(incomplete, type="file")]
