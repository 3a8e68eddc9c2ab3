"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from harness.cli.completion import complete_faults
from harness.clusters import CLUSTER_SPECS
from harness.plan import VERSION_OPTION


class Directory(click.Path):
    """A directory, which need not exist; an empty name is refused, as it would be the working directory."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("it is empty: name a directory", param, ctx)
        return super().convert(value, param, ctx)


store_option: Final = click.option("--store", type=Directory(), default=Path("store"), help="The run store.")
spark_master_option: Final = click.option("--spark-master", default="local[*]", help="Where the pipeline's jobs run.")
#: The help of ``--cluster``.
CLUSTER_HELP: Final = f"{CLUSTER_SPECS}."

_SUITE_OPTIONS: Final = (
    store_option,
    click.option("--cluster", default="netns", help="One cluster for all cells, as `harness run` takes it."),
    click.option(
        "--seed", type=int, help="Decides the seeds of all cells that name none.  [default: drawn and printed]"
    ),
    click.option("--shard", default="1/1", help="Of N parallel jobs, the cells of the Ith: I/N."),
    click.option(
        "--nemesis",
        "-n",
        multiple=True,
        shell_complete=complete_faults,
        help="Only cells with these faults; may be given again.",
    ),
    click.option(VERSION_OPTION, "version", help="Only cells of this version."),
    click.option("--time-limit", type=float, help="Seconds of every cell's main phase, instead of the file's."),
    click.option("--budget", help="Instead of the file's: no cell is begun that would end later, such as 2h50m."),
    click.option("--resume", is_flag=True, help="Go on with the last run of this suite, where it was cut."),
)


def suite_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Put the options that choose the cells of a suite on a command: ``suite`` and ``nightly`` have the same."""
    for option in reversed(_SUITE_OPTIONS):
        command = option(command)
    return command
