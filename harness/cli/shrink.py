"""``harness shrink``: the minimal counterexample of a history, as a separate history."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.completion import complete_runs
from harness.cli.shared_options import file_options, store_option
from harness.errors import UsageError
from history.records.text import counted

if TYPE_CHECKING:
    from harness.files import FileCheckOptions


@click.command("shrink")
@click.argument("target", metavar="RUN|FILE", shell_complete=complete_runs)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="File to write.  [default: HISTORY.shrunk.jsonl]")
@file_options
@store_option
def shrink(
    target: str,
    output: Path | None,
    asked: FileCheckOptions,
    store: Path,
) -> int:
    """Write the minimal counterexample of a history to a separate file.

    RUN is a run's directory, or `latest`. FILE may be a pipe, and - is standard input.
    """
    from checker.core.wording import plain
    from harness.files import file_type, shrink_file, wording_of
    from harness.jepsen_store import history_in
    from harness.store import find_run_or_file, is_history_file
    from reports.text.text_diagram import draw

    path = Path(target)
    history = (history_in(path) or path) if is_history_file(target) else find_run_or_file(target, store).history
    if output is None and file_type(history) == stat.S_IFIFO:
        raise UsageError(f"{history} is a pipe: name the output file with --output")
    shrunk = output or history.with_name(history.stem + ".shrunk.jsonl")
    first, written = shrink_file(history, asked, shrunk)
    click.echo(plain(f"{first.kind}: {first.sentence}"))
    click.echo(draw(first, wording=wording_of(shrunk)))
    count = len(first.operations)
    more = f", and {written - count} that wrote the values they saw" if written > count else ""
    click.echo(f"{counted(count, 'operation')}{more}: {shrunk}")
    return 0
