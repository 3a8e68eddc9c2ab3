"""``harness replay``: repeat the faults of a recorded run at their recorded moments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from harness.cli.completion import complete_runs
from harness.cli.shared_options import store_option
from harness.errors import UsageError
from harness.execution.progress import Progress
from harness.plan import Plan, validate
from history.extras import require


@click.command("replay")
@click.argument("run_path", metavar="RUN", shell_complete=complete_runs)
@click.option("--cluster", help="Cluster to use instead of the recorded run's.")
@click.option("--keep-cluster", is_flag=True, help="Leave the cluster up for the next run.")
@store_option
def replay(run_path: str, cluster: str | None, keep_cluster: bool, store: Path) -> int:
    """Run the plan of RUN again, with the faults that it recorded, on the same targets at the same moments.

    Threads and networks are not deterministic: this repeats what was done to the cluster, not the outcome.
    """
    require("run")
    from harness.execution.run import Run
    from harness.execution.schedules import replayed
    from harness.judge.recorded import read_recorded
    from harness.store import find_run
    from history import FormatError

    try:
        recorded = read_recorded(run := find_run(run_path, store))
    except (FormatError, FileNotFoundError) as error:
        raise UsageError(f"{run_path} cannot be replayed: {error}") from None
    if (main := recorded.state.moments.get("main")) is None:
        raise UsageError(f"{run_path} never reached its main phase: there is nothing to replay")
    # The copy of the system that a run keeps is only for judging.  Running uses the system's own file.
    plan = replayed(Plan.read(run.plan), recorded.receipts, main)
    if plan.spark:
        require("spark")
    plan = validate(replace(plan, cluster=cluster or plan.cluster))
    progress = Progress()
    progress.expect(plan.warm_up, plan.time_limit)
    code, _ = Run(plan, store, progress, keep_cluster=keep_cluster).execute()
    return code
