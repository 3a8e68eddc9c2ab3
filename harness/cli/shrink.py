"""``harness shrink``: the minimal counterexample of a history, as a history of its own."""

from __future__ import annotations

import stat
from pathlib import Path

import click

from harness.errors import UsageError
from history.records.text import counted


@click.command("shrink")
@click.argument("history", type=click.Path(path_type=Path))
@click.option("--output", "-o", type=click.Path(path_type=Path), help="[default: HISTORY with .shrunk.jsonl]")
@click.option("--model", help="The object that the history is of.  [default: what the file names, else register]")
@click.option("--initial", metavar="VALUE", help="What the register holds at the start.  [default: nothing]")
@click.option("--deadline", type=float, default=60.0, help="Seconds.")
def shrink(history: Path, output: Path | None, model: str | None, initial: str | None, deadline: float) -> int:
    """Write the minimal counterexample of HISTORY (a file, or a run's directory) as a history file of its own."""
    from checker.core.wording import plain
    from harness.files import FileCheckOptions, file_type, shrink_file, wording_of
    from history import RunFiles
    from reports.text.text_diagram import draw

    if file_type(history) == stat.S_IFDIR:
        if not (found := RunFiles(history).history).exists():
            raise UsageError(f"{history} is a directory without {found.name}: give a history file or a run's directory")
        history = found
    if output is None and file_type(history) == stat.S_IFIFO:
        raise UsageError(f"{history} is a pipe: name the file to write with --output")
    target = output or history.with_name(history.stem + ".shrunk.jsonl")
    first, written = shrink_file(history, FileCheckOptions(model, initial, None, deadline), target)
    click.echo(plain(f"{first.kind}: {first.sentence}"))
    click.echo(draw(first, wording=wording_of(target)))
    count = len(first.operations)
    more = f", and {written - count} that made what they saw" if written > count else ""
    click.echo(f"{counted(count, 'operation')}{more}: {target}")
    return 0
