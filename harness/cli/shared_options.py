"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Final, Literal

import click

from harness.cli.completion import complete_faults, complete_models, complete_systems
from harness.errors import UsageError
from harness.spark_settings import CONF_HELP, MASTER_HELP, require_settings


class Directory(click.Path):
    """The parameter type for a directory, which need not exist.

    An empty name is refused, because it would mean the working directory.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("it is empty: name a directory", param, ctx)
        return super().convert(value, param, ctx)


store_option: Final = click.option("--store", type=Directory(), default=Path("store"), help="The run store.")
spark_option: Final = click.option(
    "--spark/--no-spark",
    default=None,
    help="Judge with Spark, or with the same functions in this process.  [default: by size]",
)


def _settings(ctx: click.Context, param: click.Parameter, given: Iterable[str]) -> dict[str, str]:  # noqa: ARG001 (click's shape)
    """Parse settings of the form NAME=VALUE.  Raises UsageError."""
    pairs = [text.partition("=") for text in given]
    if wrong := [name for name, sign, _ in pairs if not sign]:
        raise UsageError(f"--spark-conf {wrong[0]}: expected NAME=VALUE")
    settings = {name.strip(): value.strip() for name, _, value in pairs}
    require_settings(settings)
    return settings


#: The options for Spark, by the fields of the plan that they set.
SPARK_OPTIONS: Final = {
    "spark_master": click.option("--spark-master", default="local[*]", help=MASTER_HELP),
    "spark_conf": click.option("--spark-conf", multiple=True, metavar="NAME=VALUE", callback=_settings, help=CONF_HELP),
}


def spark_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for Spark's master and settings to a command."""
    return _with(tuple(SPARK_OPTIONS.values()), command)


_SUITE_OPTIONS: Final = (
    store_option,
    click.option("--cluster", default="netns", help="Cluster for all cells, as in `harness run`."),
    click.option("--seed", type=int, help="Seed for the cells that set none.  [default: random, and printed]"),
    click.option("--shard", default="1/1", help="Run only the share of job I of N parallel jobs, given as I/N."),
    click.option(
        "--nemesis",
        "-n",
        multiple=True,
        shell_complete=complete_faults,
        help="Run only cells with these faults; repeatable.",
    ),
    click.option(
        "--system",
        metavar="NAME[@VERSION]",
        shell_complete=complete_systems,
        help="Run only cells of this system, or of this version of it.",
    ),
    click.option(
        "--time-limit", type=float, help="Length of every cell's main phase, in seconds; overrides the file's."
    ),
    spark_option,
    click.option("--budget", help="Start no cell that would end after this time, such as 2h50m; overrides the file's."),
    click.option("--resume", is_flag=True, help="Resume the last run of this suite where it was cut off."),
)


DEADLINE_S: Final = 60.0
_FILE_OPTIONS: Final = (
    click.option(
        "--model",
        shell_complete=complete_models,
        help="Model of the object in a FILE.  [default: the one the file names, else register]",
    ),
    click.option(
        "--initial",
        metavar="VALUE",
        help="Initial state of the object in a FILE, as JSON or a word.  [default: nothing]",
    ),
    click.option(
        "--null",
        type=click.Choice(("absent", "unknown")),
        default="absent",
        help="Meaning of an ok read of nil in a FILE: nothing was there, or the answer is unknown, as in Knossos.",
    ),
    click.option(
        "--format",
        "format_",
        metavar="NAME",
        help="Format of a FILE from another tool, such as edn or json (see docs/formats.md).  [default: detected]",
    ),
    click.option(
        "--map",
        "fields",
        metavar="FIELD=THEIRS,…|@FILE",
        help="Names that a FILE from another tool uses for our fields (process, type, f, value, …) and words: "
        "f=method,f.get=read. @FILE reads them from a file with one per line.",
    ),
    click.option(
        "--deadline",
        type=float,
        default=DEADLINE_S,
        help="Time limit for the checker in seconds; if it runs out, the verdict is unknown.",
    ),
)


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for reading and judging a history file to a command, which receives them as ``asked``."""

    @wraps(command)
    def with_asked(
        model: str | None,
        initial: str | None,
        null: Literal["absent", "unknown"],
        format_: str | None,
        fields: str | None,
        deadline: float,
        **others: Any,
    ) -> Any:
        from harness.files import FileCheckOptions

        if not 0 < deadline < float("inf"):
            raise UsageError(f"--deadline must be above 0 and finite, not {deadline:g}")
        return command(asked=FileCheckOptions(model, initial, None, deadline, null, format_, fields), **others)

    return _with(_FILE_OPTIONS, with_asked)


def refuse_of_file(options: Mapping[str, Any], target: str) -> None:
    """Refuse options of history files if the target is a run.  Raises UsageError that names the options."""
    if given := [name for name, value in options.items() if value]:
        raise UsageError(f"{', '.join(given)}: only for history files, but {target} is a run")


def suite_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose the cells of a suite, which ``suite`` and ``nightly`` share, to a command."""
    return _with(_SUITE_OPTIONS, command)


def _with(options: Sequence[Callable[..., Any]], command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command
