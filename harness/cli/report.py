"""``harness report``: draw a judged run again."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("report")
@click.argument("run_path", metavar="RUN")
@click.option("--store", type=click.Path(path_type=Path, file_okay=False), default=Path("store"), help="The run store.")
def report(run_path: str, store: Path) -> int:
    """Draw report.html, plots and junit.xml of RUN (a run's directory, or `latest`)."""
    from harness.conclude import draw
    from harness.store import find_run

    files = find_run(run_path, store)
    for warning in draw(files):
        click.echo(f"warning: {warning}", err=True)
    click.echo(files.report)
    return 0
