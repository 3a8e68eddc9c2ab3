"""``harness export``: a run in the formats of other tools."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.completion import complete_runs
from harness.cli.shared_options import store_option
from harness.errors import StoreError
from history.extras import require

_FORMATS = ("perfetto", "csv", "parquet")


@click.command("export")
@click.argument("run_path", metavar="RUN", default="latest", shell_complete=complete_runs)
@click.option("--format", "name", type=click.Choice(_FORMATS), required=True, help="What to write.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False),
    help="The file; by default the run's name in the working directory.",
)  # fmt: skip
@store_option
def export(run_path: str, name: str, output: Path | None, store: Path) -> int:
    """Write RUN (a run's directory; the latest one if not given) for another tool.

    perfetto is a trace for ui.perfetto.dev and trace_processor: operations by client, faults, leaders, the nodes with
    their indexes. csv and parquet hold the operations, with the columns of the run's own table.
    """
    require("report")
    from harness.store import find_run, require_history
    from history import FormatError
    from reports.export.export import SUFFIXES
    from reports.export.export import export as write

    files = find_run(run_path, store)
    require_history(files)
    target = output or Path(f"{files.root.name}.{SUFFIXES[name]}")
    try:
        warnings = write(files, name, target)
    except (OSError, FormatError) as error:
        raise StoreError(f"cannot write {target}: {getattr(error, 'strerror', None) or error}") from None
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    click.echo(target)
    return 0
