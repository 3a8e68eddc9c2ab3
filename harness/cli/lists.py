"""``harness list``: the systems, faults, workloads, models and suites to choose from."""

from __future__ import annotations

import inspect
import itertools
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from harness.cli.completion import complete_systems
from harness.cli.json_output import json_line, json_option
from harness.systems import find_system, usable_systems
from harness.systems.api import Option, System, Workload
from harness.terminal.tables import fitted
from history.extras import require


@click.group("list")
def list_() -> None:
    """List systems, faults, workloads, models or suites."""


@list_.command("faults")
@json_option
def list_faults(as_json: bool) -> int:
    """List the faults that --nemesis takes, by family."""
    require("run")
    from nemesis.faults.registry import FAULTS

    faults = sorted(FAULTS.values(), key=lambda fault: (fault.family, fault.name))
    if as_json:
        document = [{"name": fault.name, "family": fault.family, "summary": fault.summary} for fault in faults]
        click.echo(json_line({"faults": document}))
        return 0
    families = groupby(faults, key=lambda fault: fault.family)
    groups = {family: [(fault.name, fault.summary) for fault in members] for family, members in families}
    click.echo(fitted(_grouped(groups)))
    return 0


def _grouped(groups: Mapping[str, Iterable[Sequence[str]]]) -> Iterator[Sequence[str]]:
    """Yield the rows of each group below the group's name."""
    for name, rows in groups.items():
        yield (f"{name}:",)
        yield from ((f"  {first}", *more) for first, *more in rows)


@list_.command("systems")
@click.argument("name", required=False, shell_complete=complete_systems)
@json_option
def list_systems(name: str | None, as_json: bool) -> int:
    """List the installed systems, or describe NAME."""
    systems, unusable = ([find_system(name)], {}) if name else usable_systems()
    if as_json:
        document = [_document(system) for system in systems]
        click.echo(json_line({"systems": document, **({"unusable": unusable} if unusable else {})}))
    elif name:
        heading = f"{systems[0].name}: {systems[0].summary}"
        click.echo(fitted([(heading,), *_grouped(_all_about(systems[0]))]))
    else:
        click.echo(fitted((system.name, ", ".join(system.versions), system.summary) for system in systems))
        for why in unusable.values():
            click.echo(f"harness: {why}", err=True)
    return 0


def _all_about(system: System) -> dict[str, list[tuple[str, ...]]]:
    sections: dict[str, list[tuple[str, ...]]] = {
        "versions": [(", ".join(system.versions), "the first is the default")],
        "workloads": [(workload.name, workload.summary) for workload in system.workloads],
        "options": [(option.name, f"{option.help} {_values(option)}") for option in system.options],
        "planted bugs": [(bug.name, bug.help) for bug in system.planted_bugs],
        "answers": [(rule.answer, rule.words()) for rule in system.law.rules.values()],
        "promises": [(str(number), str(promise)) for number, promise in enumerate(system.promises, 1)],
    }
    return {name: rows for name, rows in sections.items() if rows}


def _values(option: Option) -> str:
    choices = f"{', '.join(option.choices)}; " if option.choices else ""
    default = str(option.default).lower() if isinstance(option.default, bool) else option.default
    return f"[{choices}default: {default}]"


def _document(system: System) -> dict[str, Any]:
    return {
        "name": system.name,
        "summary": system.summary,
        "versions": list(system.versions),
        "options": [
            {"name": option.name, "default": option.default, "choices": list(option.choices), "help": option.help}
            for option in system.options
        ],
        "workloads": [_workload_document(workload) for workload in system.workloads],
        "planted_bugs": [{"name": bug.name, "help": bug.help} for bug in system.planted_bugs],
        "promises": list(map(str, system.promises)),
    }


def _workload_document(workload: Workload) -> dict[str, Any]:
    """Return a workload for ``--json``.  A workload with its own check has no model."""
    model = workload.model if isinstance(workload.model, str) else None
    return {"name": workload.name, "summary": workload.summary, "model": model, "kinds": list(workload.kinds)}


@list_.command("workloads")
@click.argument("name", metavar="[SYSTEM]", required=False, shell_complete=complete_systems)
@json_option
def list_workloads(name: str | None, as_json: bool) -> int:
    """List the workloads of each system.

    Given a SYSTEM (a name or a FILE.toml), list only its own.
    """
    systems = [find_system(name)] if name else usable_systems()[0]
    if as_json:
        document = [
            {"system": system.name, **_workload_document(load)} for system in systems for load in system.workloads
        ]
        click.echo(json_line({"workloads": document}))
        return 0
    groups = {system.name: [(workload.name, workload.summary) for workload in system.workloads] for system in systems}
    click.echo(fitted(_grouped(groups)))
    return 0


@list_.command("suites")
@json_option
def list_suites(as_json: bool) -> int:
    """List the named suites and fault scripts.

    Some come with the harness; others are in the directory suites.
    """
    from harness.suite.packaged import scenarios, suites

    sections = {"suites": _described(suites()), "scenarios": _described(scenarios())}
    if as_json:
        click.echo(json_line(sections))
        return 0
    groups = {kind: [(row["name"], row["summary"], row["file"]) for row in ones] for kind, ones in sections.items()}
    click.echo(fitted(_grouped(groups)))
    return 0


def _described(files: Mapping[str, Path]) -> list[dict[str, str]]:
    return [{"name": name, "summary": _summary(path), "file": str(path)} for name, path in files.items()]


def _summary(path: Path) -> str:
    """Return a suite's description, or the first sentence of a script's comment; empty if there is neither."""
    try:
        text = path.read_text()
        described = tomllib.loads(text).get("description")
    except (OSError, ValueError):
        return "cannot be read"
    if described:
        return str(described)
    comments = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    words = " ".join(line.lstrip("# ") for line in comments if not line.startswith("#:"))
    return words.partition(". ")[0].rstrip(".")


@list_.command("models")
@json_option
def list_models(as_json: bool) -> int:
    """List the models to check a history against."""
    from checker.models.registry import model_names  # it imports numpy, which no other list needs

    summaries = {name: _summary_of_model(name) for name in sorted(model_names())}
    if as_json:
        document = [{"name": name, "summary": summary} for name, summary in summaries.items()]
        click.echo(json_line({"models": document}))
    else:
        click.echo(fitted(summaries.items()))
    return 0


def _summary_of_model(name: str) -> str:
    """Return the first line of a model's documentation as plain text, and say if its initial value is unknown."""
    from checker.core.model import ModelError
    from checker.models.registry import model_named

    try:
        model = model_named(name)
    except ModelError as error:
        return str(error)
    line = (inspect.getdoc(type(model)) or "").partition("\n")[0].replace("``", "")
    return f"{line} Its state before the history is unknown." if name.endswith("-unknown") else line
