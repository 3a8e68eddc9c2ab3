"""``harness check``: judge a recorded run again, or any history file."""

from __future__ import annotations

import json
import shutil
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from harness.cli.shared_options import spark_master_option, store_option
from harness.errors import UsageError
from harness.progress import Progress

if TYPE_CHECKING:
    from harness.files import Asked
    from history import RunFiles

DEADLINE_S: Final = 60.0


@click.command("check")
@click.argument("target", metavar="RUN|FILE")
@click.option("--model", help="The object that a history FILE is of.  [default: what the file names, else register]")
@click.option("--initial", metavar="VALUE", help="What the register of a FILE holds at the start.  [default: nothing]")
@click.option("--engine", help="Force one of the checker's engines on a FILE.")
@click.option(
    "--deadline", type=float, help=f"Seconds for a FILE; beyond it the verdict is unknown.  [default: {DEADLINE_S:g}]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole answer on a FILE as JSON.")
@click.option("--spark/--no-spark", default=True, help="A RUN: through Spark, or here by the same functions.")
@spark_master_option
@store_option
def check(
    target: str,
    model: str | None,
    initial: str | None,
    engine: str | None,
    deadline: float | None,
    as_json: bool,
    spark: bool,
    spark_master: str,
    store: Path,
) -> int:
    """Judge RUN (a run's directory, or `latest`) again; writes its tables, results, page, plots and junit.xml anew.

    Or decide whether the history in FILE is linearizable: our history.jsonl and Parquet, Jepsen's history.edn and
    console log, porcupine's kv format.  FILE may be a pipe; - is standard input.
    """
    from harness.files import Asked, file_type
    from harness.store import LATEST

    if target != LATEST and file_type(Path(target)) in (stat.S_IFREG, stat.S_IFIFO):
        asked = Asked(model, initial, engine, DEADLINE_S if deadline is None else deadline)
        return _check_file(Path(target), asked, as_json=as_json)
    files = _found(target, store)
    if model or engine or as_json or initial is not None or deadline is not None:
        raise UsageError(
            f"--model, --initial, --engine, --deadline and --json are for a history file; {target} is none"
        )
    return _check_run(files, store, spark_master if spark else None)


def _found(target: str, store: Path) -> RunFiles:
    """The run of that name.  Raises UsageError."""
    from harness.files import file_type
    from harness.store import find_run

    try:
        return find_run(target, store)
    except UsageError:
        if file_type(Path(target)):
            raise
        raise UsageError(
            f"{target}: there is no such file or run; give a history file, a run's directory, or `latest` "
            f"(the store is {store})"
        ) from None


def _check_run(files: RunFiles, store: Path, spark_master: str | None) -> int:
    from harness.conclude import conclude, draw, feed
    from harness.exits import exit_code
    from history.layout import WAREHOUSE
    from pipeline import WarmSession

    # Nobody else needs the cores, and the first job is the only one.
    session = WarmSession(spark_master, app="harness check", nice=0, rounds=0) if spark_master else None
    try:
        results = conclude(files, session.get if session else None)
    finally:
        if session is not None:
            session.stop()
    progress = Progress()
    progress.say(files.summary.read_text().rstrip())
    progress.warn(draw(files))
    progress.say(f"report: {files.report}")
    home = files.root.parents[1]
    if home == store.resolve() or (home / WAREHOUSE).is_dir():
        progress.warn(feed(files, home))
    return exit_code(results.verdict, results.harness_failure)


def _check_file(path: Path, asked: Asked, *, as_json: bool) -> int:
    from checker.summary import render
    from harness.exits import EXIT_OF_VERDICT
    from harness.files import check_file

    started = time.monotonic()
    checked = check_file(path, asked)
    report, note = checked.report, checked.history.note
    seconds = time.monotonic() - started
    if as_json:
        answer = {
            "verdict": report.verdict,
            "seconds": round(seconds, 6),
            "note": note,
            "keys": [key.to_json() for key in report.keys],
        }
        click.echo(json.dumps(answer, indent=1, ensure_ascii=False).encode(errors="backslashreplace"))
    else:
        click.echo(render(report, width=shutil.get_terminal_size((100, 24)).columns))
        if note is not None:
            click.echo(f"note: {note}")
        click.echo(f"{seconds:.2f} s in all")
    return EXIT_OF_VERDICT[report.verdict]
