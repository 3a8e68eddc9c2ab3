"""``harness system``: systems of one's own."""

from __future__ import annotations

from pathlib import Path

import click

from harness.systems.program.skeleton import write_skeleton


@click.group("system")
def system() -> None:
    """Systems of your own."""


@system.command("new")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
def new(directory: Path) -> int:
    """Write a system of one file into DIRECTORY, with a server and clients to be replaced by your own.

    It can be run as it stands: a small replicated key-value server, with a client in Python and one in the shell.
    """
    write_skeleton(directory)
    for path in sorted(directory.iterdir()):
        click.echo(str(path))
    return 0
