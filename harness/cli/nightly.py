"""``harness nightly``, for cron, a systemd timer or a CI system, and ``harness ack``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from harness.cli.completion import complete_runs, complete_suites
from harness.cli.shared_options import spark_options, store_option, suite_options
from harness.execution.progress import Progress
from history.extras import require


@click.command("nightly")
@click.argument("file", type=click.Path(path_type=Path), default=Path("nightly"), shell_complete=complete_suites)
@suite_options
@click.option("--keep-days", type=float, default=30.0, help="Remove runs older than this.")
@click.option(
    "--keep-gib", type=float, default=20.0, help="Remove the oldest runs until the store has at most this size."
)
@spark_options
@click.option("--dry-run", is_flag=True, help="List the cells and the runs that would be removed; change nothing.")
def nightly(
    keep_days: float,
    keep_gib: float,
    spark_master: str,
    spark_conf: dict[str, str],
    dry_run: bool,
    **options: Any,
) -> int:
    """Run the suite FILE, add its runs to the warehouse, report the trends, remove old runs and write the site.

    A run that failed is never removed until it is acknowledged: `harness ack RUN --reason …`. The exit code is the
    suite's, or 255 if a later step failed.
    """
    require("run", *(("spark",) if options["spark"] else ()))
    from harness.suite.night import Night, plan_night, run_night
    from harness.suite.packaged import find_suite
    from harness.suite.retention import RetentionLimits
    from harness.suite.session import SuiteOptions

    options["file"] = find_suite(options["file"])
    night = Night(SuiteOptions(**options), RetentionLimits(keep_days, keep_gib), spark_master, spark_conf)
    if dry_run:
        for line in plan_night(night):
            click.echo(line)
        return 0
    return run_night(night, Progress().result)


@click.command("ack")
@click.argument("run_path", metavar="RUN", shell_complete=complete_runs)
@click.option("--reason", required=True, help="Why the run failed, for later readers.")
@store_option
def ack(run_path: str, reason: str, store: Path) -> int:
    """Acknowledge RUN by writing the file `acknowledged` into it. It is then removed like any other old run."""
    from harness.store import find_run
    from harness.suite.retention import acknowledge

    click.echo(acknowledge(find_run(run_path, store), reason, datetime.now(UTC)))
    return 0
