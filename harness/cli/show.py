"""``harness show``: the essentials of a run on the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from harness.cli.shared_options import store_option
from harness.errors import UsageError
from harness.runstate import RunState
from history import RunFiles


@click.command("show")
@click.argument("run_path", metavar="RUN", default="latest")
@store_option
def show(run_path: str, store: Path) -> int:
    """Print the essentials of RUN (a run's directory; the latest one if not given).

    As wide as the terminal, 80 columns where there is none; in colour on a terminal only, and not with NO_COLOR set.
    """
    import reports
    from harness.store import find_run, require_history

    files = find_run(run_path, store)
    if not files.results.exists() and not _broke_off(files):
        require_history(files)
        raise UsageError(f"{files.root} was not judged yet; `harness check {files.root}` does it")
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    click.echo(reports.render_run(files, shutil.get_terminal_size((80, 24)).columns, colour=colour).rstrip())
    return 0


def _broke_off(files: RunFiles) -> bool:
    """The harness failed before anything could be judged: that is what there is to show."""
    try:
        return bool(RunState.read(files.state).failures)
    except ValueError:
        return False
