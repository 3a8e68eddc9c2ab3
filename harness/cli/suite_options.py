"""The options that say which cells of a suite are run, and where: the same for ``suite`` and ``nightly``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from harness.cli.shared_options import store_option

_OPTIONS: Final = (
    store_option,
    click.option("--cluster", default="netns", help="One cluster for all cells, as `harness run` takes it."),
    click.option(
        "--seed", type=int, help="Decides the seeds of all cells that name none.  [default: drawn and printed]"
    ),
    click.option("--shard", default="1/1", help="Of N parallel jobs, the cells of the Ith: I/N."),
    click.option("--nemesis", "-n", multiple=True, help="Only cells with these faults; may be given again."),
    click.option("--dledger-version", "version", help="Only cells of this version."),
    click.option("--time-limit", type=float, help="Seconds of every cell's main phase, instead of the file's."),
    click.option("--budget", help="Instead of the file's: no cell is begun that would end later, such as 2h50m."),
    click.option("--resume", is_flag=True, help="Go on with the last run of this suite, where it was cut."),
)


def suite_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Put them on a command, in the order in which they stand here."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
