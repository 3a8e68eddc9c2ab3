"""Options that several verbs have, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from harness.clusters import CLUSTER_SPECS


class Directory(click.Path):
    """A directory, which may be yet to make; no name at all would be the working directory."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("it is empty: name a directory", param, ctx)
        return super().convert(value, param, ctx)


store_option: Final = click.option("--store", type=Directory(), default=Path("store"), help="The run store.")
spark_master_option: Final = click.option("--spark-master", default="local[*]", help="Where the pipeline's jobs run.")
#: What stands behind ``--cluster`` in the help.
CLUSTER_HELP: Final = f"{CLUSTER_SPECS}."
