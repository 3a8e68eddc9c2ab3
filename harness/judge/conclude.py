"""Judge a run directory and write its tables, ``results.json``, ``summary.txt`` and page.

New and old runs are treated alike, and raw data is never changed. A verdict does not depend on whether it can be
written.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from harness.errors import CheckError
from harness.files import wording_of
from harness.judge.judge import judge
from harness.judge.known_defects import defects_of, known_in, read_defects
from harness.judge.recorded import read_recorded
from harness.plan import Plan
from harness.store import json_bytes
from history import FormatError, Results
from history.recording import Recording
from history.records.finding import KnownDefect
from history.records.layout import WAREHOUSE
from history.records.violations import violations_of
from history.safe_open import UnsafeFileError, replacing, write_below
from pipeline import (
    PipelineError,
    SessionError,
    Tables,
    append_run,
    computed_tables,
    run_tables,
    source_of,
    store_tables,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reports import ReportOutcome
    from reports.analysis.findings import Drawn

log = logging.getLogger("harness.judge.conclude")

#: The beginning of the warning that Spark was requested but did not judge.
WITHOUT_SPARK: Final = "judged without Spark, by the same functions"
#: Width of ``summary.txt``.
FILE_COLUMNS: Final = 120


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The results of a run, and how they were obtained.

    ``unwritten`` is why not everything could be written into the run's directory.  ``spark`` says that Spark made the
    tables; if Spark failed on the way, this process made them.  ``drawn`` is the input of the texts, for :func:`draw`;
    None if it could not be prepared.
    """

    results: Results
    unwritten: OSError | FormatError | None = None
    spark: bool = False
    drawn: Drawn | None = None


def conclude(run: Recording, session: Callable[[], SparkSession] | None) -> Conclusion:
    """Judge a run and write tables, ``results.json`` and ``summary.txt``.

    ``session`` returns a Spark session.  If it is None, or Spark fails, this process judges the run itself, with the
    same functions.
    Raises CheckError if the recorded files cannot be read or the pipeline fails, which is never the system's fault.
    Whatever cannot be written is recorded in the results as a harness failure.
    """
    timings: dict[str, float] = {}
    try:
        with _timed(timings, "read"):
            recorded = read_recorded(run)
        tables, unwritten, by_spark = _tables(run, recorded.plan, session, timings, recorded.state.warnings)
    except (FormatError, PipelineError) as error:
        raise CheckError(str(error)) from None
    except FileNotFoundError as error:
        raise CheckError(f"{run.files.root} is not a complete run: {error.filename} is missing") from None
    log.info("seconds: %s", timings)
    results = _with_failure(judge(recorded, tables.key_verdicts, tables.faults, timings), unwritten)
    warnings: list[str] = []
    drawn = None
    if any(check.verdict == "invalid" for check in results.checks):
        run.conclude(results.to_json())
        known = _try("the known defects", lambda: _known_defects(run, recorded.plan.system), [])
        if known is not None:
            results = replace(results, known_defects=known[0], not_known=known[1])
            run.conclude(results.to_json())
        drawn = _try("the headlines", lambda: _prepared(run), warnings)
        results = replace(results, **_headlines(drawn))
    content = json_bytes(results.to_json())
    run.conclude(results.to_json(), content)
    try:
        with replacing(run.files.root, run.files.results, sync=True) as file:
            file.write(content)
    except (OSError, UnsafeFileError) as error:
        unwritten, results = unwritten or error, _with_failure(results, error)
    drawn = drawn or _try("summary.txt", lambda: _prepared(run), warnings)
    text = _text_of(drawn, results, warnings, FILE_COLUMNS)
    try:
        write_below(run.files.root, run.files.summary, f"{text}\n".encode(errors="backslashreplace"))
    except (OSError, UnsafeFileError) as error:
        unwritten, results = unwritten or error, _with_failure(results, error)
    return Conclusion(results, unwritten, by_spark, drawn)


def _with_failure(results: Results, unwritten: Exception | None) -> Results:
    if unwritten is None:
        return results
    failures = [results.harness_failure, f"not written: {unwritten}"]
    return replace(results, harness_failure="; ".join(text for text in failures if text))


def _known_defects(run: Recording, system: str) -> tuple[tuple[KnownDefect, ...], tuple[str, ...]]:
    """Return the system's known defects whose marks the run has; none if the system has no file of defects."""
    path = defects_of(system)
    if path is None:
        return (), ()
    return known_in(run, list(read_defects(path).values()), violations_of(run.results))


def _prepared(run: Recording) -> Drawn:
    import reports

    return reports.prepared(run, wording_of(run))


def _headlines(drawn: Drawn | None) -> dict[str, Any]:
    """Return the sentences at the top of the page; none if they cannot be made."""
    import reports

    story = None if drawn is None else _try("the headlines", lambda: reports.story_of(drawn), [])
    return {} if story is None else story._asdict()


def screen_of(conclusion: Conclusion, columns: int | None, *, colour: bool) -> str:
    """Return one screen of text about a judged run."""
    drawn, results = conclusion.drawn, conclusion.results
    return _text_of(drawn, results, [], columns or 80, colour=colour, brief=True)


def _text_of(
    drawn: Drawn | None,
    results: Results,
    warnings: list[str],
    columns: int,
    *,
    colour: bool = False,
    brief: bool = False,
) -> str:
    """Return a text about a run or, if it cannot be rendered, the verdict's sentence and the error."""
    import reports

    render = reports.render_brief if brief else reports.render_run
    text = drawn and _try("the summary", lambda: render(drawn, columns, colour=colour, page=False), warnings)
    sentence = f"{results.verdict}: {results.sentence}\n" + "".join(f"warning: {warning}\n" for warning in warnings)
    return str(text or sentence).rstrip()


def draw(run: Recording, drawn: Drawn | None = None, *, plots: bool = False) -> ReportOutcome:
    """Draw the report, the JUnit file and, if requested or already there, the plots.

    A failure to draw never changes a verdict.
    """
    import reports

    warnings: list[str] = []
    outcome = _try("the report", lambda: reports.write_all(drawn or run, wording_of(run), plots=plots), warnings)
    return reports.ReportOutcome([], warnings) if outcome is None else outcome


def add_to_index(run: Recording, store: Path) -> None:
    """Add a judged and drawn run to the index of its store, so that lists need not read its files."""
    from reports.load.store_index import remember

    _try("the index of the store", lambda: remember(run, store), [])


def append_to_warehouse(run: Recording, store: Path) -> list[str]:
    """Add a judged run to the store's warehouse.

    Returns warnings rather than raising, because a missing run can be added later.
    """
    try:
        append_run(store / WAREHOUSE, run)
    except Exception as error:  # like a failed drawing, this never changes a verdict
        log.info("not in the warehouse", exc_info=error)
        known = isinstance(error, FormatError | PipelineError | OSError)
        text = str(error) if known else f"{type(error).__name__}: {error}"
        return [f"not in the warehouse: {text}; `harness ingest {quote(str(run.files.root))}` adds it"]
    return []


def _tables(
    run: Recording,
    plan: Plan,
    session: Callable[[], SparkSession] | None,
    timings: dict[str, float],
    warnings: list[str],
) -> tuple[Tables, OSError | FormatError | None, bool]:
    """Return the tables, why they could not be written, and whether Spark made them."""
    spark = None if session is None else _started(session, timings, warnings)
    with _timed(timings, "tables"):
        if spark is not None:
            try:
                return run_tables(spark, run, model=plan.model, deadline_s=plan.check_deadline), None, True
            except FormatError:
                raise
            except Exception as error:  # noqa: BLE001 (whatever happened to the JVM, a verdict does not need it)
                _without_spark(error, warnings)
        source = source_of(run)
        tables = computed_tables(run, model=plan.model, deadline_s=plan.check_deadline)
        unwritten: OSError | FormatError | None = None
        try:
            store_tables(run.files, tables, source)
        except (OSError, FormatError) as error:
            unwritten = error
        return Tables.of(tables["verdicts"], tables["faults"]), unwritten, False


def _started(
    session: Callable[[], SparkSession], timings: dict[str, float], warnings: list[str]
) -> SparkSession | None:
    """Start the session; if it fails, add a warning and return None, so that the run is judged without Spark."""
    try:
        with _timed(timings, "session"):
            return session()
    except SessionError as error:
        _without_spark(error, warnings)
        return None


def _without_spark(error: Exception, warnings: list[str]) -> None:
    log.warning("judging without Spark: %s", error)
    text = str(error) if isinstance(error, PipelineError) else f"{type(error).__name__}: {error}"
    warnings.append(f"{WITHOUT_SPARK}: {text}")


@contextmanager
def _timed(timings: dict[str, float], name: str) -> Iterator[None]:
    started = time.monotonic()
    try:
        yield
    finally:
        timings[name] = round(time.monotonic() - started, 3)


def _try(part: str, action: Callable[[], Any], warnings: list[str]) -> Any:
    try:
        return action()
    except Exception as error:  # the traceback belongs in the run's log, not on the screen
        log.info("%s could not be rendered", part, exc_info=error)
        warnings.append(f"{part} could not be rendered: {type(error).__name__}: {error}")
        return None
