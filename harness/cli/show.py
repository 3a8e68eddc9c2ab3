"""``harness show``: a judged run's summary on the terminal."""

from __future__ import annotations

from pathlib import Path

import click

from harness.errors import UsageError


@click.command("show")
@click.argument("run_path", metavar="RUN", default="latest")
@click.option("--store", type=click.Path(path_type=Path, file_okay=False), default=Path("store"), help="The run store.")
def show(run_path: str, store: Path) -> int:
    """Print the essentials of RUN (a run's directory; the latest one if not given)."""
    import reports
    from harness.store import find_run

    files = find_run(run_path, store)
    if not files.results.exists():
        raise UsageError(f"{files.root} was not judged yet; `harness check {files.root}` does it")
    click.echo(reports.render_run(files).rstrip())
    return 0
