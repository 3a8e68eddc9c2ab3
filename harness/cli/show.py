"""``harness show``: the essentials of a run on the terminal."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from shlex import quote

import click

from harness.cli.completion import complete_runs
from harness.cli.json_output import json_line, json_option, run_document
from harness.cli.shared_options import store_option
from harness.errors import UsageError
from harness.runstate import RunState
from harness.terminal.screen import Screen
from history import RunFiles
from history.extras import require


@click.command("show")
@click.argument("run_path", metavar="RUN", default="latest", shell_complete=complete_runs)
@json_option
@click.option("--verbose", is_flag=True, help="Also print every check, table and counterexample.")
@store_option
def show(run_path: str, as_json: bool, verbose: bool, store: Path) -> int:
    """Print one screen about RUN (a run's directory; by default the latest).

    It is as wide as the terminal, or 80 columns without one. Colour is used only on a terminal, and not with NO_COLOR
    or TERM=dumb.
    """
    require("report")
    import reports
    from harness.files import wording_of
    from harness.store import find_run, read_object_if_any, require_history
    from history.recording import Recording

    files = find_run(run_path, store)
    if not files.results.exists() and not _broke_off(files):
        require_history(files)
        from reports.load.unjudged import unjudged

        missing = unjudged(files, read_object_if_any(files.state), {})
        why = missing.sentence if missing is not None else f"{files.state.name} cannot be read"
        raise UsageError(f"{files.root}: {why} (`harness check {quote(str(files.root))}`)")
    if as_json:
        click.echo(json_line(run_document(files)))
        return 0
    columns = shutil.get_terminal_size((80, 24)).columns
    recording = Recording(files.root)
    coloured, wording = Screen(sys.stdout).coloured, wording_of(recording)
    render = reports.render_run if verbose else reports.render_brief
    click.echo(render(recording, columns, colour=coloured, wording=wording).rstrip())
    return 0


def _broke_off(files: RunFiles) -> bool:
    """Return whether the harness failed before anything could be judged, so that its failure can be shown."""
    try:
        return bool(RunState.read(files.state).failures)
    except ValueError:
        return False
