"""``harness report`` and ``export``: draw a judged run or the site again, and write a run for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from harness.cli.completion import complete_runs
from harness.cli.shared_options import Directory, file_options, refuse_of_file, store_option
from harness.errors import StoreError, UsageError
from history.extras import require

if TYPE_CHECKING:
    from harness.files import FileCheckOptions

_FORMATS: Final = ("perfetto", "csv", "parquet")


@click.command("report")
@click.argument("target", metavar="RUN|FILE", default="latest", shell_complete=complete_runs)
@click.option("--site", type=Directory(), help="Write the pages of all runs in the store to DIRECTORY.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write the page of a FILE.  [default: FILE.report.html]",
)  # fmt: skip
@click.option("--plots", is_flag=True, help="Also render the static plots of RUN, as PNG and SVG.")
@file_options
@store_option
def report(
    target: str, site: Path | None, output: Path | None, asked: FileCheckOptions, store: Path, *, plots: bool
) -> int:
    """Render report.html and junit.xml for RUN (a run's directory; by default the latest).

    Given a FILE, judge its history as harness check does, and render its page. Given --site, write static pages of all
    runs in the store instead.
    """
    if site is not None:
        return _write_site(store, site)
    from harness.judge.conclude import draw
    from harness.store import find_run_or_file, is_history_file, require_history
    from history.recording import Recording

    if is_history_file(target):
        if plots:
            raise UsageError("--plots is only for runs: a history file has only a page")
        return _draw_file(Path(target), output, asked)
    files = find_run_or_file(target, store)
    refuse_of_file({**asked.given(), "--output": output}, target)
    if plots:
        require("plots")
    if not (files.results.exists() or files.state.exists()):
        require_history(files)
    drawn = draw(Recording(files.root), plots=plots)
    for warning in drawn.warnings:
        click.echo(f"warning: {warning}", err=True)
    if files.report not in drawn.paths:
        raise StoreError(f"{files.report} was not written")
    click.echo(files.report)
    return 0


def _draw_file(path: Path, output: Path | None, options: FileCheckOptions) -> int:
    require("report")
    from harness.file_report import draw_file

    if output is None and (str(path) == "-" or path.is_fifo()):
        raise UsageError(f"{path} is a pipe: name the output file with --output")
    page = output or (path / "report.html" if path.is_dir() else path.with_name(f"{path.name}.report.html"))
    for warning in draw_file(path, options, page):
        click.echo(f"warning: {warning}", err=True)
    click.echo(page)
    return 0


def _write_site(store: Path, target: Path) -> int:
    from harness.store import require_store
    from reports.site.site import write_site

    require_store(store)
    try:
        write_site(store, target)
    except OSError as error:
        raise StoreError(f"cannot write the site to {target}: {error.strerror or error}") from None
    click.echo(target / "index.html")
    return 0


@click.command("export")
@click.argument("run_path", metavar="RUN", default="latest", shell_complete=complete_runs)
@click.option("--format", "name", type=click.Choice(_FORMATS), required=True, help="File format.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False),
    help="File to write. [default: the run's name, in the working directory]",
)  # fmt: skip
@store_option
def export(run_path: str, name: str, output: Path | None, store: Path) -> int:
    """Write RUN (a run's directory; by default the latest) for another tool.

    perfetto is a trace for ui.perfetto.dev and trace_processor. It shows operations by client, faults, leaders, and the
    indexes of each node. csv and parquet contain the operations, in the same columns as the run's own table.
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
