"""The nightly job: suite, warehouse, trends, retention, site.

A failed step does not prevent the others, but the exit code shows it.  The site comes last, so that it links only to
runs that remain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from harness.errors import HarnessError
from harness.exits import EXIT_FAILURE, EXIT_INTERRUPTED, worst_code
from harness.spark_choice import choose, session_for
from harness.suite.retention import RetentionLimits, describe, old_suites, removals, remove, remove_suite, stored, sweep
from harness.suite.session import SuiteOptions, list_cells, run_suite, site
from history.records.layout import WAREHOUSE
from history.records.plans import has_planted_bug
from reports.load.store_index import runs_of

#: Deadline in seconds for judging one run that has no tables yet.
_DEADLINE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Night:
    """The options of a nightly job.  The Spark options apply to the warehouse."""

    suite: SuiteOptions
    limits: RetentionLimits
    spark_master: str = "local[*]"
    spark_conf: dict[str, str] = field(default_factory=dict)

    @property
    def warehouse(self) -> Path:
        return self.suite.store / WAREHOUSE


@dataclass(slots=True)
class NightLog:
    """A log that prints every line and keeps it for ``night.txt``; ``failed`` is set if a step failed."""

    say: Callable[[str], None]
    lines: list[str] = field(default_factory=list)
    failed: bool = False

    def __call__(self, text: str) -> None:
        self.lines.append(text)
        self.say(text)

    def step(self, name: str, action: Callable[[], Iterator[str]]) -> None:
        """Run a step and print its lines, or why it failed."""
        self(f"== {name}")
        try:
            for line in action():
                self(line)
        except Exception as error:  # noqa: BLE001 (the other steps still run)
            self.failed = True
            text = str(error) if isinstance(error, HarnessError) else f"{type(error).__name__}: {error}"
            self(f"{name} failed: {text}")


def run_night(night: Night, say: Callable[[str], None]) -> int:
    """Run all steps; return the suite's exit code, or 255 if a later step failed and that is worse.

    Raises UsageError before anything is touched.
    """
    results = run_suite(replace(night.suite, draw_site=False))
    if results.code == EXIT_INTERRUPTED:
        return EXIT_INTERRUPTED
    log = NightLog(say)
    log.step("warehouse", lambda: into_warehouse(night))
    log.step("trends", lambda: trends(night.warehouse))
    log.step("retention", lambda: retain(night, datetime.now(UTC), dry_run=False))
    log.step("site", lambda: site(night.suite.store))
    (results.journal.root / "night.txt").write_text("".join(f"{line}\n" for line in log.lines))
    return worst_code([results.code, EXIT_FAILURE] if log.failed else [results.code])


def plan_night(night: Night) -> Iterator[str]:
    """Yield the cells that would run and the runs that would be removed now.  Raises UsageError or StoreError."""
    yield from list_cells(night.suite)
    yield from retain(night, datetime.now(UTC), dry_run=True)


def into_warehouse(night: Night) -> Iterator[str]:
    """Add every judged run of the store to the warehouse; report those that cannot be read."""
    from pipeline import ingest
    from pipeline.warehouse.staging import staged_size

    runs = sorted((files for files in runs_of(night.suite.store) if files.results.exists()), key=lambda r: r.root.name)
    choice = choose([staged_size(files.root) for files in runs], night.suite.spark)
    yield f"working {choice}"
    with session_for(choice, night.spark_master, app="harness nightly", settings=night.spark_conf) as session:
        outcomes = ingest(runs, night.warehouse, deadline_s=_DEADLINE_S, spark=session)
    for outcome in outcomes:
        if outcome.state == "failed":
            yield f"not added: {outcome.run}: {outcome.error}"
    states = [outcome.state for outcome in outcomes]
    yield ", ".join(f"{states.count(state)} {state}" for state in ("added", "unchanged", "failed"))


def trends(warehouse: Path) -> Iterator[str]:
    """Yield a line for each kind of run, and one for each of its open regressions."""
    from history.metrics.regressions import open_regressions
    from history.tables.warehouse import read_trends

    for row in read_trends(warehouse).to_pylist():
        planted = " with a planted bug" if has_planted_bug(row["system_version"]) else ""
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in row["verdict_counts"])
        name = " ".join(part for part in (row["workload"], row["nemesis"] or "no fault", row["system_version"]) if part)
        yield f"{name}: {row['runs']} runs{planted}, {verdicts}; {_figure(row, 'rate_median', 'ok/s')}"
        yield from (f"  worse: {regression}" for regression in open_regressions(row["regressions"]))


def retain(night: Night, now: datetime, *, dry_run: bool) -> Iterator[str]:
    """Remove the old runs that may be removed, or only list them.  Raises StoreError."""
    store = night.suite.store
    runs = stored(store)
    going = removals(runs, night.limits, now)
    if not dry_run:
        sweep(store)
        for removal in going:
            remove(removal, store)
        for suite in old_suites(store, night.limits, now):
            remove_suite(suite)
    yield from describe(runs, going)


def _figure(row: dict[str, Any], name: str, unit: str) -> str:
    return "no rate" if row[name] is None else f"{row[name]:.0f} {unit}"
