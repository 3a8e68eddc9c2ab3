"""Options that several verbs have, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from harness.clusters import CLUSTER_SPECS

store_option: Final = click.option(
    "--store", type=click.Path(path_type=Path, file_okay=False), default=Path("store"), help="The run store."
)
spark_master_option: Final = click.option("--spark-master", default="local[*]", help="Where the pipeline's jobs run.")
#: What stands behind ``--cluster`` in the help.
CLUSTER_HELP: Final = f"{CLUSTER_SPECS}."
