"""``harness suite``: many runs as one, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.suite_options import suite_options


@click.command("suite")
@click.argument("file", type=click.Path(path_type=Path))
@suite_options
@click.option("--retries", type=click.IntRange(0, 5), help="Of harness failures, instead of the file's.")
@click.option("--on-failure", type=click.Choice(["continue", "stop"]), help="Instead of the file's.")
@click.option("--dry-run", is_flag=True, help="List the cells and run none.")
@click.option("--site/--no-site", "draw_site", default=True, help="Write the site over the store afterwards.")
def suite(file: Path, **options: Any) -> int:
    """Run every cell of the suite FILE, on one cluster that stays up, and judge all of them as one.

    \b
    Exit code: 255 if the harness failed, else 1 for a violation that nobody expected or an expected one
    that did not appear, else 2 for a cell that proved nothing or was not run, else 0; 130 interrupted.
    """
    from harness.suite.session import Wishes, list_cells, run_suite

    dry_run = options.pop("dry_run")
    wishes = Wishes(file=file, **options)
    if dry_run:
        for line in list_cells(wishes):
            click.echo(line)
        return 0
    return run_suite(wishes).code
