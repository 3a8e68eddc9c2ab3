"""``harness run``: run one plan, once or several times."""

from __future__ import annotations

import secrets
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from harness.cli.completion import complete_options
from harness.cli.json_output import json_line, json_option, progress_of, run_document
from harness.cli.options.of_plan import plan_options
from harness.cli.options.of_system import SystemCommand, given_options, help_all, refuse_twice
from harness.cli.options.plan_file import take_defaults
from harness.cli.serve import live_page, open_in_browser
from harness.cli.shared_options import store_option
from harness.errors import HarnessError
from harness.execution.progress import Progress
from harness.exits import EXIT_FAILURE, EXIT_INTERRUPTED, worst_code
from harness.plan import MAX_RUNS, VERSION_OPTION, Plan, is_free, validate
from harness.systems import DEFAULT as DEFAULT_SYSTEM
from harness.systems import split_version
from history.extras import require


@click.command("run", cls=SystemCommand)
@click.option(
    "--plan", type=click.Path(path_type=Path, dir_okay=False), is_eager=True, expose_value=False,
    callback=take_defaults, help="Read options from FILE: TOML, or a run's plan.json. The command line wins.",
)  # fmt: skip
@plan_options
@click.option(
    "-o", "option", multiple=True, metavar="NAME=VALUE", shell_complete=complete_options,
    help="Set an option of the system, by name.",
)  # fmt: skip
@click.option("--keep-cluster", is_flag=True, help="Leave the cluster up for the next run.")
@store_option
@click.option(
    "--dry-run", is_flag=True, help="Print the resolved plan and its fault schedule without running anything."
)
@click.option(
    "--test-count",
    type=int,
    default=1,
    help="Number of runs, one after another. The exit code is that of the worst run.",
)
@click.option(
    "--open", "open_pages", is_flag=True,
    help="Show the run in a browser while it is under way, and its page when it ends.",
)  # fmt: skip
@json_option
@help_all
@click.pass_context
def run(
    ctx: click.Context,
    /,
    store: Path,
    test_count: int,
    keep_cluster: bool,
    dry_run: bool,
    nemesis: str,
    schedule: Path | None,
    seed: int | None,
    system: str,
    version: str | None,
    option: tuple[str, ...],
    as_json: bool,
    open_pages: bool,
    **options: Any,
) -> int:
    """Run a system under faults and judge what clients saw.

    Each run ends with a verdict and a page, report.html, in the run's directory in the store. Results go to standard
    output, progress to standard error.
    """
    require("run", *(("spark",) if options["spark"] else ()))
    if not 1 <= test_count <= MAX_RUNS:
        raise click.UsageError(f"--test-count must be from 1 to {MAX_RUNS}, not {test_count}")
    first = secrets.randbits(32) if seed is None else seed
    name, chosen = _version(system, version)
    own = {"seed": first, "nemesis": _turns(nemesis), "system": name, "version": chosen}
    given = given_options(name, option)
    refuse_twice(ctx, given, options)
    taken = {key: value for key, value in given.items() if not is_free(key)}
    plan = Plan.of({**options, **{key: given[key] for key in given if key not in taken}, "options": taken, **own})
    if schedule is not None:
        plan = _scripted(plan, schedule)
    validate(plan)
    if dry_run:
        return _show(plan, ctx, as_json=as_json)
    with live_page(store, Progress().say) if open_pages else nullcontext():
        return _execute(plan, store, test_count, keep_cluster=keep_cluster, as_json=as_json, open_pages=open_pages)


def _execute(plan: Plan, store: Path, test_count: int, *, keep_cluster: bool, as_json: bool, open_pages: bool) -> int:
    """Run a plan once for each of its seeds, one after another, and return the worst exit code."""
    from harness.execution.run import Run

    codes: list[int] = []
    for number in range(test_count):
        progress = progress_of(as_json=as_json)
        progress.expect(plan.warm_up, plan.time_limit)
        try:
            run = Run(replace(plan, seed=plan.seed + number), store, progress, keep_cluster=keep_cluster)
            code, files = run.execute()
        except HarnessError as error:
            if not codes:
                raise
            Progress().say(f"harness failure: {error}")  # the findings of earlier runs stand
            return worst_code([*codes, EXIT_FAILURE])
        if as_json:
            Progress().result(json_line(run_document(files, code, run.results)))
        if open_pages and files.report.exists():
            open_in_browser(files.report.absolute().as_uri())
        codes.append(code)
        if code == EXIT_INTERRUPTED:
            break
    return worst_code(codes)


def _version(system: str, version: str | None) -> tuple[str, str]:
    """Return the system's name and version, from ``--system`` and the option for the default system's version."""
    name, chosen = split_version(system)
    if version and chosen and version != chosen:
        raise click.UsageError(
            f"--system {system} and {VERSION_OPTION} {version} name different versions: give only one"
        )
    if version and name != DEFAULT_SYSTEM:
        raise click.UsageError(
            f"{VERSION_OPTION} {version} belongs to {DEFAULT_SYSTEM}: leave it out, or use --system {name}@VERSION"
        )
    return name, chosen or version or ""


def _turns(nemesis: str) -> tuple[str, ...]:
    from nemesis.core.errors import ScheduleError
    from nemesis.schedule.steps import turns_of

    try:
        return turns_of(nemesis, ("all",))
    except ScheduleError as error:
        raise click.UsageError(f"--nemesis: {error}") from None


def _show(plan: Plan, ctx: click.Context, *, as_json: bool) -> int:
    from harness.cli.options import dry_run
    from harness.clusters import open_cluster

    open_cluster(plan.cluster, nodes=plan.nodes)
    click.echo(json_line(dry_run.document(plan, ctx)) if as_json else dry_run.dry_run(plan, ctx))
    return 0


def _scripted(plan: Plan, schedule: Path) -> Plan:
    from harness.execution.schedules import scripted
    from harness.suite.packaged import find_scenario

    if plan.nemesis:
        raise click.UsageError("--nemesis and --schedule cannot be combined: the schedule already names the faults")
    return scripted(plan, find_scenario(schedule))
