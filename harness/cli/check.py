"""``harness check``: judge a recorded run again, or any history file."""

from __future__ import annotations

import gc
import json
import shutil
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from harness.cli.completion import complete_levels, complete_runs
from harness.cli.json_output import json_line, json_option, progress_of, run_document
from harness.cli.shared_options import (
    DEADLINE_S,
    file_options,
    refuse_of_file,
    spark_option,
    spark_options,
    store_option,
)
from harness.errors import UsageError
from harness.execution.progress import Progress
from harness.spark_choice import choose
from history.extras import require

if TYPE_CHECKING:
    from harness.files import FileCheckOptions
    from history import RunFiles


#: Objects made between two collections of garbage in a process that checks one file; Python's own number is 700.
_COLLECTED_AFTER: Final = 500_000


@click.command("check")
@click.argument("target", metavar="RUN|FILE", shell_complete=complete_runs)
@file_options
@click.option(
    "--level", shell_complete=complete_levels,
    help="Level that a FILE must keep. Transactions (--model list-append or rw-register): an isolation level. "
    "Registers and kv: sequential, monotonic-reads, read-your-writes or bounded-staleness=500ms.",
)  # fmt: skip
@click.option("--engine", help="Force one of the checker's engines on a FILE.")
@click.option("--explain-format", is_flag=True, help="Print the format of a FILE and what its fields mean.")
@json_option
@spark_option
@spark_options
@store_option
def check(
    target: str,
    asked: FileCheckOptions,
    level: str | None,
    engine: str | None,
    explain_format: bool,
    as_json: bool,
    spark: bool | None,
    spark_master: str,
    spark_conf: dict[str, str],
    store: Path,
) -> int:
    """Judge RUN (a run's directory, or `latest`) again, and rewrite its tables, results, page and junit.xml.

    Given a FILE, judge the history in it: our history.jsonl and Parquet; Jepsen's history.edn, test.jepsen, logs and
    store directories; operations from porcupine and etcd's robustness tests; OpenTelemetry spans; JSON and CSV from
    other tools. FILE may be gzipped, or a pipe; - is standard input.
    """
    from harness.files import describe_format
    from harness.store import find_run_or_file, is_history_file

    if is_history_file(target):
        if spark or spark_conf:
            raise UsageError(f"--spark and --spark-conf are for a run; {target} is a file, judged in this process")
        asked = replace(asked, engine=engine, level=level)
        if explain_format:
            click.echo("\n".join(describe_format(Path(target), asked)))
            return 0
        return _check_file(Path(target), asked, as_json=as_json)
    files = find_run_or_file(target, store)
    of_files = {"--level": level, "--engine": engine, "--explain-format": explain_format}
    refuse_of_file({**asked.given(), **of_files, "--deadline": asked.deadline_s != DEADLINE_S}, target)
    start = {"master": spark_master, "settings": spark_conf}
    return _check_run(files, store, start, spark=spark, as_json=as_json)


def _check_run(files: RunFiles, store: Path, start: dict[str, Any], *, spark: bool | None, as_json: bool) -> int:
    require("report")
    from harness.execution.progress_thread import ProgressThread
    from harness.exits import exit_code
    from harness.judge.conclude import add_to_index, append_to_warehouse, conclude, draw, screen_of
    from harness.store import require_ended, require_history
    from history.recording import Recording
    from history.records.layout import WAREHOUSE
    from pipeline import WarmSession
    from pipeline.warehouse.staging import staged_size

    require_ended(files)
    recording = Recording(files.root)
    with suppress(OSError, ValueError):  # the next reader reports the error
        _ = recording.history
    if not recording.has_read("history"):
        require_history(files)
    choice = choose([staged_size(files.root)], spark)
    if choice.spark:
        require("spark")
    # No run is using the cores now, and there is only one job.
    session = WarmSession(**start, app="harness check", rounds=0) if choice.spark else None
    with ProgressThread(progress_of(as_json=as_json)) as progress:
        progress.say(f"judging {choice}")
        try:
            with progress.step("judging"):
                conclusion = conclude(recording, session.get if session else None)
        finally:
            if session is not None:
                session.stop()
        results = conclusion.results
        text, prepared = screen_of(recording, conclusion, progress.columns, colour=progress.coloured)
        progress.result(text)
        if conclusion.unwritten is not None:
            progress.say(f"harness failure: not written: {conclusion.unwritten}")
        else:
            with progress.step("drawing the page"):
                drawn = draw(recording, prepared)
            progress.warn(drawn.warnings)
            if files.report in drawn.paths:
                progress.result(f"report: {files.report}")
            home = files.root.parents[1]
            if home == store.resolve() or (home / WAREHOUSE).is_dir():
                add_to_index(recording, home)
                with progress.step("adding the run to the warehouse"):
                    warnings = append_to_warehouse(recording, home)
                progress.warn(warnings)
    code = exit_code(results.verdict, results.harness_failure)
    if as_json:
        Progress().result(json_line({**run_document(files, code, results), "spark": conclusion.spark}))
    return code


def _check_file(path: Path, asked: FileCheckOptions, *, as_json: bool) -> int:
    from checker.explain.report import render
    from harness.exits import exit_code
    from harness.files import check_file
    from reports.text.text_diagram import draw

    started = time.monotonic()
    # Operations are kept and make no cycles: going through them again and again would take a third of the time.
    gc.set_threshold(_COLLECTED_AFTER)
    checked = check_file(path, asked)
    report, note = checked.report, checked.history.note
    seconds = time.monotonic() - started
    if as_json:
        answer = {
            "verdict": report.verdict,
            "harness_failure": checked.failure,
            "seconds": round(seconds, 6),
            "note": note,
            "notes": checked.notes,
            "keys": [key.to_json() for key in report.keys],
        }
        click.echo(json.dumps(answer, indent=1, ensure_ascii=False).encode(errors="backslashreplace"))
    else:
        drawing = partial(draw, wording=checked.wording)
        click.echo(render(report, width=shutil.get_terminal_size((100, 24)).columns, draw=drawing))
        for text in (*checked.notes, *([] if note is None else [note])):
            click.echo(f"note: {text}")
        click.echo(f"{seconds:.2f} s in all")
        if checked.failure is not None:
            click.echo(f"harness failure: {checked.failure}", err=True)
    return exit_code(report.verdict, checked.failure)
