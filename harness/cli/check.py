"""``harness check``: judge a recorded run again, or any history file."""

from __future__ import annotations

import gc
import json
import shutil
import time
from collections.abc import Sequence
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
from harness.errors import StoreError, UsageError
from harness.exits import exit_code, worst_code
from harness.spark_choice import choose
from history.extras import require

if TYPE_CHECKING:
    from checker.explain.report import Draw
    from harness.files import Checked, FileCheckOptions
    from history import RunFiles


#: Objects made between two collections of garbage in a process that checks one file; Python's own number is 700.
_COLLECTED_AFTER: Final = 500_000


@click.command("check")
@click.argument("targets", nargs=-1, required=True, metavar="RUN|FILE...", shell_complete=complete_runs)
@file_options
@click.option(
    "--level", shell_complete=complete_levels,
    help="Consistency level that FILE must satisfy. Transactions (--model list-append or rw-register): an isolation "
        "level. "
    "Registers and kv: sequential, monotonic-reads, read-your-writes or bounded-staleness=500ms.",
)  # fmt: skip
@click.option("--engine", help="Force one of the checker's engines on a FILE.")
@click.option("--explain-format", is_flag=True, help="Print the format of a FILE and what its fields mean.")
@json_option
@spark_option
@spark_options
@store_option
def check(
    targets: tuple[str, ...],
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
    other tools. FILE may be gzipped, or a pipe; - is standard input. Given several files, print a table of verdicts at
    the end, and exit with the worst of their codes.
    """
    from harness.files import describe_format
    from harness.store import find_run_or_file, is_history_file

    target, *others = targets
    if others and (runs := [text for text in targets if not is_history_file(text)]):
        raise UsageError(f"{runs[0]}: no such file; to judge runs, name one at a time")
    if is_history_file(target):
        if spark or spark_conf:
            raise UsageError(
                f"--spark and --spark-conf apply only to runs; {target} is a file, which is judged in this process"
            )
        asked = replace(asked, engine=engine, level=level)
        # Operations are kept and make no cycles: going through them again and again would take a third of the time.
        gc.set_threshold(_COLLECTED_AFTER)
        if explain_format:
            for text in targets:
                click.echo("\n".join([*([f"{text}:"] if others else []), *describe_format(Path(text), asked)]))
            return 0
        if others:
            return _check_files(targets, asked, as_json=as_json)
        checked, seconds = _check_file(Path(target), asked, as_json=as_json)
        if as_json:
            _print_json(_answer(checked, seconds))
        return exit_code(checked.report.verdict, checked.failure)
    files = find_run_or_file(target, store)
    of_files = {"--level": level, "--engine": engine, "--explain-format": explain_format}
    refuse_of_file({**asked.given(), **of_files, "--deadline": asked.deadline_s != DEADLINE_S}, target)
    start = {"master": spark_master, "settings": spark_conf}
    return _check_run(files, store, start, spark=spark, as_json=as_json)


def _check_run(files: RunFiles, store: Path, start: dict[str, Any], *, spark: bool | None, as_json: bool) -> int:
    require("report")
    from harness.execution.progress import Progress
    from harness.execution.progress_thread import ProgressThread
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
        progress.result(screen_of(conclusion, progress.columns, colour=progress.coloured))
        if conclusion.unwritten is not None:
            progress.say(f"harness failure: cannot write the results: {conclusion.unwritten}")
        else:
            with progress.step("drawing the page"):
                drawn = draw(recording, conclusion.drawn)
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


def _check_files(paths: Sequence[str], options: FileCheckOptions, *, as_json: bool) -> int:
    """Check files one after another, and summarize them in a table.  A file that cannot be judged also gets a row."""
    codes, answers = list[int](), list[dict[str, Any]]()
    rows = [("verdict", "operations", "engine", "seconds", "file")]
    for path in paths:
        if not as_json:
            click.echo(f"{path}:")
        try:
            checked, seconds = _check_file(Path(path), options, as_json=as_json)
        except (UsageError, StoreError) as error:
            text = " ".join(str(error).splitlines())
            click.echo(f"harness: {text}", err=True)
            codes.append(error.exit_code)
            rows.append(("not judged", "", "", "", path))
            answers.append({"file": path, "exit_code": error.exit_code, "verdict": None, "harness_failure": text})
        else:
            report = checked.report
            codes.append(exit_code(report.verdict, checked.failure))
            count, engines = sum(key.operations for key in report.keys), {key.engine for key in report.keys}
            rows.append((report.verdict, f"{count:,}", ", ".join(sorted(engines)), f"{seconds:.2f}", path))
            if as_json:
                answers.append({"file": path, "exit_code": codes[-1], **_answer(checked, seconds)})
        if not as_json:
            click.echo()
    if as_json:
        _print_json(answers)
    else:
        from reports.text.parts import table

        click.echo(table(rows, right=(1, 3), indent=""))
    return worst_code(codes)


def _check_file(path: Path, options: FileCheckOptions, *, as_json: bool) -> tuple[Checked, float]:
    """Check a file, and print the report unless JSON was requested.  Return the result and the time in seconds."""
    from harness.files import check_file

    started = time.monotonic()
    checked = check_file(path, options)
    seconds = time.monotonic() - started
    if not as_json:
        _print_report(checked, seconds)
    return checked, seconds


def _answer(checked: Checked, seconds: float) -> dict[str, Any]:
    return {
        "verdict": checked.report.verdict,
        "harness_failure": checked.failure,
        "seconds": round(seconds, 6),
        "note": checked.history.note,
        "notes": checked.notes,
        "keys": [key.to_json() for key in checked.report.keys],
    }


def _print_json(answer: object) -> None:
    click.echo(json.dumps(answer, indent=1, ensure_ascii=False).encode(errors="backslashreplace"))


def _print_report(checked: Checked, seconds: float) -> None:
    from checker.explain.report import render

    drawing: Draw | None = None
    if checked.report.counterexamples:
        from reports.text.text_diagram import draw

        drawing = partial(draw, wording=checked.wording)
    click.echo(render(checked.report, width=shutil.get_terminal_size((100, 24)).columns, draw=drawing))
    for text in (*checked.notes, *([] if checked.history.note is None else [checked.history.note])):
        click.echo(f"note: {text}")
    click.echo(f"{seconds:.2f} s in all")
    if checked.failure is not None:
        click.echo(f"harness failure: {checked.failure}", err=True)
