"""Judge a run directory and write tables, ``results.json``, ``summary.txt``, plots and page.

It works on new and old runs alike; raw data is read, never changed.  A verdict does not depend on whether it can be
written down.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness.clusters import netns_names
from harness.errors import CheckError, UsageError
from harness.files import wording_of
from harness.judge.damage import Damages, damages_of
from harness.judge.judge import judge
from harness.judge.recorded import Recorded
from harness.plan import Plan
from harness.runstate import RunState
from harness.store import read_object_if_any, require_history, write_json
from harness.systems.api import Alarm
from history import FormatError, Results, RunFiles, pair, read_history, read_probes, receipts_of
from history.json_object import read_object
from history.records.events import torn_end
from history.records.layout import WAREHOUSE
from history.safe_open import UnsafeFileError, write_below
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
from reports.load.logs import each_line, seconds_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reports import ReportOutcome

log = logging.getLogger("harness.judge.conclude")

#: The beginning of the warning that Spark was asked for and did not judge.
WITHOUT_SPARK: Final = "judged without Spark, by the same functions"


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What was concluded from a run; ``unwritten`` is why not all of it could be written into the run's directory.

    ``spark``: the tables are Spark's; not so where it failed on the way, and this process made them.
    """

    results: Results
    unwritten: OSError | FormatError | None = None
    spark: bool = False


def conclude(run: RunFiles, session: Callable[[], SparkSession] | None) -> Conclusion:
    """Judge a run and write tables, ``results.json`` and ``summary.txt``.

    ``session`` gives a Spark session; None judges in this process, with the same functions, as does a Spark that fails.
    Raises CheckError when the recorded files cannot be read or the pipeline fails: that is never the system's fault.
    What cannot be written is a failure of the harness in the results.
    """
    timings: dict[str, float] = {}
    try:
        with _timed(timings, "read"):
            recorded = read_recorded(run)
        tables, unwritten, by_spark = _tables(run, recorded.plan, session, timings, recorded.state.warnings)
    except (FormatError, PipelineError) as error:
        raise CheckError(str(error)) from None
    except FileNotFoundError as error:
        raise CheckError(f"{run.root} is not a whole run: {error.filename} is missing") from None
    log.info("seconds: %s", timings)
    results = _with_failure(judge(recorded, tables.key_verdicts, tables.faults, timings), unwritten)
    try:
        write_json(run.results, results.to_json())
        if any(check.verdict == "invalid" for check in results.checks):
            results = replace(results, **_headlines(run))
            write_json(run.results, results.to_json())
        write_below(run.root, run.summary, f"{summary_of(run, results, None)}\n".encode(errors="backslashreplace"))
    except (OSError, UnsafeFileError) as error:
        unwritten = unwritten or error
        results = _with_failure(results, error)
    return Conclusion(results, unwritten, by_spark)


def _with_failure(results: Results, unwritten: Exception | None) -> Results:
    if unwritten is None:
        return results
    failures = [results.harness_failure, f"not written: {unwritten}"]
    return replace(results, harness_failure="; ".join(text for text in failures if text))


def _headlines(run: RunFiles) -> dict[str, Any]:
    """The sentences on top of the page; they are made from the records and the results just written."""
    import reports

    found = _try("the headlines", lambda: reports.story_of(run, wording_of(run.history)), [])
    return {} if found is None else found._asdict()


def summary_of(run: RunFiles, results: Results, columns: int | None) -> str:
    """The text of ``summary.txt``; for a terminal of so many ``columns`` only what fits."""
    warnings: list[str] = []
    text = _try("summary.txt", lambda: _render_summary(run, results, columns), warnings)
    if text is None:
        text = f"{results.verdict}: {results.sentence}\n" + "".join(f"warning: {warning}\n" for warning in warnings)
    return str(text).rstrip()


def draw(run: RunFiles) -> ReportOutcome:
    """Report, plots and JUnit file.  A failure to draw is a warning and never changes a verdict."""
    import reports

    warnings: list[str] = []
    outcome = _try("the report", lambda: reports.write_all(run, wording_of(run.history)), warnings)
    return reports.ReportOutcome([], warnings) if outcome is None else outcome


def add_to_index(run: RunFiles, store: Path) -> None:
    """Add a judged and drawn run to what the lists of its store remember; without it they read the run's files."""
    from reports.load.store_index import remember

    _try("the index of the store", lambda: remember(run, store), [])


def append_to_warehouse(run: RunFiles, store: Path) -> list[str]:
    """Bring a judged run into the store's warehouse.  Returns warnings: a missing run can be brought in later."""
    try:
        append_run(store / WAREHOUSE, run)
    except Exception as error:  # as for a drawing, it never changes a verdict
        log.info("not in the warehouse", exc_info=error)
        known = isinstance(error, FormatError | PipelineError | OSError)
        text = str(error) if known else f"{type(error).__name__}: {error}"
        return [f"not in the warehouse: {text}; `harness ingest {run.root}` brings it there"]
    return []


def read_recorded(run: RunFiles) -> Recorded:
    """Read all recorded data that the judge needs.

    Raises FormatError, FileNotFoundError, CheckError for plan and state, and UsageError without records.
    """
    require_history(run)
    history = read_history(run.history)
    try:
        plan = Plan.read(run.plan)
        state = RunState.read(run.state)
    except (UsageError, ValueError) as error:
        raise CheckError(str(error)) from None
    if (note := torn_end(run.history)) is not None:
        state.warnings.append(f"{run.history.name}: {note}")
    names = tuple(history.header.extra.get("nodes") or netns_names(plan.nodes))
    receipts, alarms = receipts_of(history.events), plan.under_test.alarms
    return Recorded(
        plan=plan,
        operations=pair(history.events, str(run.history)),
        receipts=receipts,
        probes=read_probes(run.probes) if run.probes.exists() else [],
        state=state,
        nodes=names,
        members=tuple(history.header.extra.get("members") or names),
        log_hits=log_hits(run.nodes, names, alarms),
        files=run.nodes,
        early_hits=early_hits(run.nodes, damages_of(receipts, plan), alarms, history.header.started),
    )


def log_hits(directory: Path, nodes: tuple[str, ...], alarms: Iterable[Alarm]) -> dict[str, dict[str, int]]:
    """Count the alarms in the collected logs of every node.

    Logs are capped and their oldest lines are gone, so the server counts too (``alarms-<pid>.json``); but a
    process that was killed may not have written its last ones.  The higher of the two counts is taken.
    """
    hits: dict[str, dict[str, int]] = {}
    alarms = tuple(alarms)
    for node in nodes:
        found, counted = _lines_of(directory / node, alarms), _counted(directory / node)
        if found is not None or counted is not None:
            hits[node] = dict((found or Counter()) | (counted or Counter()))
    return hits


def early_hits(directory: Path, damages: Damages, alarms: Iterable[Alarm], started: str) -> dict[str, dict[str, int]]:
    """Count the alarms that nodes had logged before we damaged their files, by the dates of the lines."""
    alarms = tuple(alarms)
    hits = {}
    for node in damages.nodes:
        until = min(damage.begin for damage in damages.of(node)) / 1e9

        def early(line: str, until: float = until) -> bool:
            logged = seconds_of(line, started)
            return logged is not None and logged < until

        hits[node] = dict(_lines_of(directory / node, alarms, early) or {})
    return hits


def _lines_of(
    directory: Path, alarms: Sequence[Alarm], counts: Callable[[str], bool] = lambda _: True
) -> Counter[str] | None:
    """The lines of each alarm in a node's logs; None without any log."""
    found: Counter[str] = Counter()
    for line in each_line(directory):
        found.update(
            alarm.pattern
            for alarm in alarms
            if alarm.pattern in line and not (alarm.unless and alarm.unless in line) and counts(line)
        )
    return found if any(directory.glob("*.log*")) else None


def _counted(directory: Path) -> Counter[str] | None:
    """The alarms that the node's processes counted, summed; None without any such file."""
    counted: Counter[str] | None = None
    for path in sorted(directory.glob("alarms-*.json")):
        try:
            alarms = read_object(path)["alarms"]
            counts = Counter({str(pattern): int(count) for pattern, count in alarms.items()})
        except (ValueError, TypeError, KeyError, AttributeError) as error:  # cut off by a kill or a power cut
            log.warning("%s: not counts of alarms: %s", path, error)
            continue
        counted = counts if counted is None else counted + counts
    return counted


def _tables(
    run: RunFiles,
    plan: Plan,
    session: Callable[[], SparkSession] | None,
    timings: dict[str, float],
    warnings: list[str],
) -> tuple[Tables, OSError | FormatError | None, bool]:
    """The tables, why they could not be written, and whether Spark made them."""
    spark = None if session is None else _started(session, timings, warnings)
    with _timed(timings, "tables"):
        if spark is not None:
            try:
                return run_tables(spark, run, model=plan.model, deadline_s=plan.check_deadline), None, True
            except FormatError:
                raise
            except Exception as error:  # noqa: BLE001 (whatever became of the JVM, a verdict needs none)
                _without_spark(error, warnings)
        source = source_of(run)
        tables = computed_tables(run, model=plan.model, deadline_s=plan.check_deadline)
        unwritten: OSError | FormatError | None = None
        try:
            store_tables(run, tables, source)
        except (OSError, FormatError) as error:
            unwritten = error
        return Tables.of(tables["verdicts"], tables["faults"]), unwritten, False


def _started(
    session: Callable[[], SparkSession], timings: dict[str, float], warnings: list[str]
) -> SparkSession | None:
    """Start the session, or return None with a warning: the run is then judged without Spark."""
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


def _render_summary(run: RunFiles, results: Results, columns: int | None) -> str:
    import reports

    plan, state = read_object_if_any(run.plan), read_object_if_any(run.state)
    return reports.render_summary(results.to_json(), columns, plan, wording_of(run.history), state)


def _try(what: str, action: Callable[[], Any], warnings: list[str]) -> Any:
    try:
        return action()
    except Exception as error:  # its traceback is for the log of a run, which is none of the screen
        log.info("%s could not be drawn", what, exc_info=error)
        warnings.append(f"{what} could not be drawn: {type(error).__name__}: {error}")
        return None
