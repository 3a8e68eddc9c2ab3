"""``harness run``: run one plan, once or several times."""

from __future__ import annotations

import secrets
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

import click

from harness.cli.completion import complete_faults, complete_options, complete_scenarios, complete_systems
from harness.cli.json_output import json_line, json_option, progress_of, run_document
from harness.cli.options.of_system import SystemCommand, given_options, refuse_twice
from harness.cli.options.plan_file import FIGURES, take_defaults
from harness.cli.shared_options import CLUSTER_HELP, spark_options, store_option
from harness.errors import HarnessError
from harness.execution.progress import Progress
from harness.exits import EXIT_FAILURE, EXIT_INTERRUPTED, worst_code
from harness.plan import MAX_RUNS, VERSION_OPTION, Plan, is_free, validate
from harness.systems import DEFAULT as DEFAULT_SYSTEM
from harness.systems import split_version
from history.extras import require

DEFAULT: Final = {field.name: field.default for field in fields(Plan)}


@click.command("run", cls=SystemCommand)
@click.option(
    "--plan", type=click.Path(path_type=Path, dir_okay=False), is_eager=True, expose_value=False,
    callback=take_defaults, help="Options from a file: TOML, or the plan.json of a run; the command line wins.",
)  # fmt: skip
@click.option(
    "--nemesis", "-n", default="", shell_complete=complete_faults,
    help="Faults: a,b take turns, a+b come at once, a@leader is aimed, all is every fault that can work on the "
    "cluster; `harness list-nemeses` names them.",
)  # fmt: skip
@click.option("--weights", type=FIGURES, default="", help="How often a turn comes: kill-leader=3,bridge=1.")
@click.option("--tracks", type=int, default=DEFAULT["tracks"], help="Cycles of faults that run side by side.")
@click.option("--fault-options", type=FIGURES, default="", help="The faults' own figures: loss=0.4,delay_ms=100.")
@click.option(
    "--beyond-quorum",
    is_flag=True,
    help="All faults may stop, or damage, a majority, not only those made for it, such as kill-all.",
)
@click.option(
    "--schedule",
    type=click.Path(path_type=Path, dir_okay=False),
    shell_complete=complete_scenarios,
    help="Faults from a script (TOML), by its path or its name, or as in a plan.json.",
)
@click.option("--time-limit", type=float, default=DEFAULT["time_limit"], help="Seconds of the main phase.")
@click.option("--interval", type=float, default=DEFAULT["interval"], help="Seconds of calm, then seconds of fault.")
@click.option(
    "--shortest-fault", type=float, default=DEFAULT["shortest_fault"],
    help="Seconds: each fault's length is drawn between this and the interval; 0 is always the interval.",
)  # fmt: skip
@click.option("--rate", type=float, default=DEFAULT["rate"], help="Operations a second, all clients together.")
@click.option(
    "--loop", type=click.Choice(["closed", "open"]), default=DEFAULT["loop"],
    help="open: operations are due at the rate, and wait where no client is free; closed: a client that waits for an "
    "answer delays the next ones.",
)  # fmt: skip
@click.option("--concurrency", type=int, default=DEFAULT["concurrency"], help="Clients.")
@click.option("--keys", type=int, default=DEFAULT["keys"], help="Keys, or whatever else the workload has several of.")
@click.option(
    "--system", "system", default=DEFAULT_SYSTEM, metavar="NAME[@VERSION]", shell_complete=complete_systems,
    help="What is tested; `harness list-systems` names them, and --system NAME --help shows their options.",
)  # fmt: skip
@click.option(
    "-o", "option", multiple=True, metavar="NAME=VALUE", shell_complete=complete_options,
    help="An option of the system, by its name.",
)  # fmt: skip
@click.option("--client-timeout", type=float, default=DEFAULT["client_timeout"], help="Seconds.")
@click.option("--warm-up", type=float, default=DEFAULT["warm_up"], help="Seconds of load before the main phase.")
@click.option("--recovery-time", type=float, default=DEFAULT["recovery_time"], help="Seconds to recover in.")
@click.option("--ready-timeout", type=float, default=DEFAULT["ready_timeout"], help="Seconds until a leader answers.")
@click.option("--check-deadline", type=float, default=DEFAULT["check_deadline"], help="Seconds a key for the checker.")
@click.option("--unsafe-test-mode", is_flag=True, help="Permit --canary.")
@click.option("--seed", type=int, default=None, help="Decides every random choice.  [default: drawn and printed]")
@click.option("--cluster", default=DEFAULT["cluster"], help=CLUSTER_HELP)
@click.option("--nodes", type=int, default=DEFAULT["nodes"], help="Nodes of a netns cluster.")
@click.option("--keep-cluster", is_flag=True, help="Leave the cluster up for the next run.")
@click.option(
    "--stop-on-violation", is_flag=True,
    help="End the run in order at the first violation; for workloads whose values are written once.",
)  # fmt: skip
@click.option(
    "--restart-at-end/--no-restart-at-end", default=DEFAULT["restart_at_end"],
    help="At the end kill all servers, start them, and read every key or object again.",
)  # fmt: skip
@click.option(
    "--spark/--no-spark",
    default=DEFAULT["spark"],
    help="Judge through Spark, or in this process by the same functions.",
)
@spark_options
@store_option
@click.option("--dry-run", is_flag=True, help="Print the resolved plan and its schedule of faults; touch nothing.")
@click.option("--test-count", type=int, default=1, help="Runs, one after the other; the worst decides the exit code.")
@json_option
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
    **options: Any,
) -> int:
    """Run a system under faults, and judge what clients saw.

    Each run ends with a verdict and a page, report.html, in its own directory of the store.  The result goes to
    standard output, progress to standard error.
    """
    require("run", *(("spark",) if options["spark"] else ()))
    from harness.execution.run import Run

    if not 1 <= test_count <= MAX_RUNS:
        raise click.UsageError(f"--test-count must be from 1 to {MAX_RUNS}, not {test_count}")
    first = secrets.randbits(32) if seed is None else seed
    name, chosen = _version(system, version)
    own = {"seed": first, "nemesis": _turns(nemesis), "system": name, "version": chosen}
    given = given_options(name, option)
    refuse_twice(ctx, given, options)
    taken = {one: value for one, value in given.items() if not is_free(one)}
    plan = Plan.of({**options, **{one: given[one] for one in given if one not in taken}, "options": taken, **own})
    if schedule is not None:
        plan = _scripted(plan, schedule)
    validate(plan)
    if dry_run:
        return _show(plan, ctx, as_json=as_json)
    codes: list[int] = []
    for number in range(test_count):
        progress = progress_of(as_json=as_json)
        progress.expect(plan.warm_up, plan.time_limit)
        try:
            run = Run(replace(plan, seed=first + number), store, progress, keep_cluster=keep_cluster)
            code, files = run.execute()
        except HarnessError as error:
            if not codes:
                raise
            Progress().say(f"harness failure: {error}")  # the findings of earlier runs stand
            return worst_code([*codes, EXIT_FAILURE])
        if as_json:
            Progress().result(json_line(run_document(files, code, run.results)))
        codes.append(code)
        if code == EXIT_INTERRUPTED:
            break
    return worst_code(codes)


def _version(system: str, version: str | None) -> tuple[str, str]:
    """Name and version of what ``--system`` and the default system's own option name together."""
    name, chosen = split_version(system)
    if version and chosen and version != chosen:
        raise click.UsageError(f"--system {system} and {VERSION_OPTION} {version} name two versions: give one")
    if version and name != DEFAULT_SYSTEM:
        raise click.UsageError(
            f"{VERSION_OPTION} {version} belongs to {DEFAULT_SYSTEM}: leave it out, or give --system {name}@VERSION"
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
    from harness.execution.faults import scripted
    from harness.suite.packaged import find_scenario

    if plan.nemesis:
        raise click.UsageError("--nemesis and --schedule exclude each other: the script names the faults")
    return scripted(plan, find_scenario(schedule))
