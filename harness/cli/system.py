"""``harness system``: create and check a system of your own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

import click

from harness.cli.completion import complete_systems
from harness.plan import Plan, validate
from harness.systems.program.skeleton import write_skeleton
from history.extras import require

if TYPE_CHECKING:
    from harness.execution.progress import Progress
    from harness.systems.conformance import Rating, Trial

#: Seconds that each fault, and the calm before it, lasts: longer than an election takes.
INTERVAL_S: Final = 6.0
CALM_S: Final = 5.0


@click.group("system")
def system() -> None:
    """Create or check a system of your own."""


@system.command("new")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
def new(directory: Path) -> int:
    """Write an example system into DIRECTORY.

    It has a TOML file, a small replicated key-value server, and a client in Python and one in shell. It runs as it is;
    replace its parts with your own.  DIRECTORY must be new or empty.
    """
    write_skeleton(directory)
    for path in sorted(directory.iterdir()):
        click.echo(str(path))
    return 0


@system.command("check")
@click.argument("name", metavar="NAME|FILE", shell_complete=complete_systems)
@click.option("--cluster", default="netns:system-check", help="Cluster, as in `harness run`.")
@click.option("--workload", default="", show_default="the system's first", help="Workload to run.")
@click.option(
    "--interval", type=click.FloatRange(1.0, 600.0), default=INTERVAL_S,
    help="Length of each fault and of the calm before it, in seconds; must be longer than an election takes.",
)  # fmt: skip
@click.option("--seed", type=int, default=1, help="Seed for all random choices.")
@click.option(
    "--store", type=click.Path(path_type=Path), help="Directory to keep the runs in.  [default: a new directory]"
)
def check(name: str, cluster: str, workload: str, interval: float, seed: int, store: Path | None) -> int:
    """Perform up to three short runs of a system, and report what it lacks.

    NAME may be NAME@VERSION. The system must start and become ready, end every operation in time under a network cut, a
    kill and a pause, recover, write logs, leave no data when wiped, and answer probes. A bug planted in it must be
    found.

    Exit codes: 0 all of that holds, 1 something is wrong, 2 something is missing or was not seen, 130 interrupted, 255
    harness failure.
    """
    require("run")
    from harness.clusters import open_cluster
    from harness.execution.progress import Progress
    from harness.exits import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OF_VERDICT, worst_code
    from harness.systems import split_version
    from harness.systems.conformance import FAULTS, findings

    named, version = split_version(name)
    calm = validate(
        Plan(
            seed=seed, system=named, version=version, workload=workload, cluster=cluster, time_limit=CALM_S, spark=False
        )
    )
    length = 2 * interval * len(FAULTS) + interval  # one more interval for restarts on slow machines
    faulty = validate(replace(calm, nemesis=FAULTS, interval=interval, time_limit=length))
    planted_bugs = calm.under_test.planted_bugs
    options = {**calm.options, **planted_bugs[0].options} if planted_bugs else {}
    # A single client: a read that ends before its key is written shows what the previous run left behind.
    plans = [faulty, replace(calm, concurrency=1)]
    if planted_bugs:
        planted = replace(faulty, planted_bug=planted_bugs[0].name, unsafe_test_mode=True, options=options)
        plans.append(validate(planted))
    where, progress = store or Path(mkdtemp(prefix="harness-system-check-")), Progress()
    nodes = open_cluster(cluster, nodes=calm.nodes, say=progress.say)
    was_up = nodes.status().is_up
    trials: list[Trial] = []
    try:
        for plan in plans:
            code, trial = run_and_read(plan, where, progress)
            if trial is None or code == EXIT_INTERRUPTED or trial.results.get("harness_failure"):
                return code or EXIT_FAILURE
            trials.append(trial)
    finally:
        if not was_up:
            nodes.down()
    rows = findings(calm.under_test, trials[0], trials[1], trials[2] if planted_bugs else None, calm.client_timeout)
    _show(rows, where)
    return worst_code(EXIT_OF_VERDICT[row.verdict] for row in rows)


def run_and_read(plan: Plan, store: Path, progress: Progress) -> tuple[int, Trial | None]:
    """Run a plan, leave the cluster up, and return the exit code and the run's results.

    The results are None if nothing could be judged.
    """
    from harness.execution.run import Run
    from harness.judge.recorded import read_recorded
    from harness.systems.conformance import Trial
    from history.json_object import read_object

    code, files = Run(plan, store, progress, keep_cluster=True).execute()
    if not files.results.exists():
        return code, None
    recorded = read_recorded(files)
    results = read_object(files.results)
    moments = recorded.state.moments
    return code, Trial(
        results, moments, recorded.operations, recorded.probes, recorded.nodes, files.nodes, recorded.clock,
        plan.model, plan.load.reads,
    )  # fmt: skip


def _show(rows: list[Rating], store: Path) -> None:
    words = {"valid": "yes", "invalid": "WRONG", "unknown": "missing"}
    wide = max(len(row.part) for row in rows)
    for row in rows:
        click.echo(f"{row.part:<{wide}}  {words[row.verdict]:<7}  {row.seen}")
    click.echo(f"runs: {store}")
