"""``harness report``: draw a judged run again, or the site over all runs."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.completion import complete_runs
from harness.cli.shared_options import Directory, store_option
from harness.errors import StoreError


@click.command("report")
@click.argument("run_path", metavar="RUN", default="latest", shell_complete=complete_runs)
@click.option("--site", type=Directory(), help="Write the site over the store there.")
@store_option
def report(run_path: str, site: Path | None, store: Path) -> int:
    """Draw report.html, plots and junit.xml of RUN (a run's directory; the latest one if not given).

    With --site, write the pages over all runs of the store as static files instead.
    """
    if site is not None:
        return _write_site(store, site)
    from harness.judge.conclude import draw
    from harness.store import find_run, require_history

    files = find_run(run_path, store)
    if not (files.results.exists() or files.state.exists()):
        require_history(files)
    for warning in draw(files):
        click.echo(f"warning: {warning}", err=True)
    click.echo(files.report)
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
