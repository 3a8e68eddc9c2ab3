"""``harness suite``: many runs with one combined verdict, from a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from harness.cli.completion import complete_suites
from harness.cli.json_output import json_line, json_option
from harness.cli.shared_options import suite_options
from harness.execution.progress import Progress
from history.extras import require


@click.command("suite")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_suites)
@suite_options
@click.option("--retries", type=click.IntRange(0, 5), help="Retries after a harness failure; overrides the file.")
@click.option(
    "--on-failure",
    type=click.Choice(["continue", "stop"]),
    help="What to do after a failed cell; overrides the file.",
)
@click.option("--dry-run", is_flag=True, help="List the cells without running any.")
@click.option("--site/--no-site", "draw_site", default=True, help="Write the site of the store afterwards.")
@json_option
def suite(file: Path, as_json: bool, **options: Any) -> int:
    """Run every cell of the suite FILE, on one cluster that stays up, and judge all of them as one.

    FILE may also be a name from `harness list suites`.

    Exit code: 1 for an unexpected violation or an expected one that did not appear, else 255 if the harness
    failed, else 2 for a cell that proved nothing or was not run, else 0; 130 interrupted.
    """
    require("run", *(("spark",) if options["spark"] else ()))
    from harness.suite.packaged import find_suite
    from harness.suite.session import SuiteOptions, list_cells, run_suite

    dry_run = options.pop("dry_run")
    settings = SuiteOptions(file=find_suite(file), **options)
    if dry_run and as_json:
        raise click.UsageError("--json gives the results of a suite: leave out --dry-run")
    if dry_run:
        for line in list_cells(settings):
            click.echo(line)
        return 0
    results = run_suite(settings, sys.stderr if as_json else sys.stdout)
    if as_json:
        Progress().result(json_line({**results.to_json(), "directory": str(results.journal.root)}))
    return results.code
