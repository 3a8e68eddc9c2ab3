"""``harness ack``: mark a failing run as looked at, so that retention may remove it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from harness.cli.completion import complete_runs
from harness.cli.shared_options import store_option


@click.command("ack")
@click.argument("run_path", metavar="RUN", shell_complete=complete_runs)
@click.option("--reason", required=True, help="What was found, for later readers.")
@store_option
def ack(run_path: str, reason: str, store: Path) -> int:
    """Write the file `acknowledged` into RUN: from now on it counts as any other run when old ones are removed."""
    from harness.store import find_run
    from harness.suite.retention import acknowledge

    click.echo(acknowledge(find_run(run_path, store), reason, datetime.now(UTC)))
    return 0
