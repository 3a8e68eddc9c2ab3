"""Run a whole suite, from its file to its exit code: options, cluster, cells, results."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

from harness.clusters import open_cluster, require_usable
from harness.errors import HarnessError, StoreError, UsageError
from harness.execution.interrupts import Interrupts
from harness.plan import Plan
from harness.store import write_json
from harness.suite import junit
from harness.suite.cell_process import Attempt, proof_of_cut_run, run_cell
from harness.suite.cells import Cell, Shard, likely_seconds
from harness.suite.expectation import CODE_OF
from harness.suite.journal import Begun, Journal, alone, begin, latest, unfinished
from harness.suite.markdown import markdown
from harness.suite.outcome import SuiteResults, conclude, summary
from harness.suite.runner import OVERHEAD_S, SuiteRunner
from harness.suite.suitefile import OnFailure, Suite, length_s, read_suite
from harness.suite.table import ProgressTable
from harness.suite.warm import WarmCluster
from harness.systems import split_version
from harness.systems.deployment import fetch
from harness.terminal import tables
from history import RunFiles
from history.extras import require
from history.schema import record_of

#: A file in a suite's directory that says that the suite brought its cluster up.  If the suite is killed, the resumed
#: suite knows from it that it must take the nodes down.
OURS: Final = "cluster-is-ours"


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """The options of the command line; None and empty values leave the choice to the suite file."""

    file: Path
    store: Path = Path("store")
    cluster: str = "netns"
    seed: int | None = None
    shard: str = "1/1"
    nemesis: tuple[str, ...] = ()
    system: str | None = None
    time_limit: float | None = None
    spark: bool | None = None
    budget: str | None = None
    retries: int | None = None
    on_failure: OnFailure | None = None
    resume: bool = False
    draw_site: bool = True


def cells_of(options: SuiteOptions, suite: Suite, seed: int) -> list[Cell]:
    """Return the selected cells.  Raises UsageError if none is left."""
    forced = {"time_limit": options.time_limit, "spark": options.spark}
    changes: dict[str, Any] = {name: value for name, value in forced.items() if value is not None}
    wanted = {",".join(part.strip() for part in name.split(",")) for name in options.nemesis}

    def is_wanted(plan: Plan) -> bool:
        named = not wanted or ",".join(plan.nemesis) in wanted
        return named and _is_of(plan, options.system)

    cells = suite.cells(seed, options.cluster, changes, is_wanted)
    if not cells:
        given = {"--nemesis": ",".join(options.nemesis), "--system": options.system}
        words = " and ".join(f"{option} {value}" for option, value in given.items() if value)
        raise UsageError(
            f"no cell of {options.file} matches {words}; `harness suite {options.file} --dry-run` lists them"
        )
    return Shard.parse(options.shard).of(cells)  # may be empty: with few cells, other shards have them all


def _is_of(plan: Plan, system: str | None) -> bool:
    """Return whether a cell is of this system, ``NAME`` or ``NAME@VERSION``; None matches every system."""
    name, version = split_version(system or "")
    return system is None or (name == plan.system and version in ("", plan.version))


def list_cells(options: SuiteOptions) -> Iterator[str]:
    """Yield a table with a row for each cell, then a line of totals.  Raises UsageError."""
    suite = read_suite(options.file)
    cells = cells_of(options, suite, options.seed or 0)
    _require_cluster(options, cells)
    rows, total = [], 0.0
    for number, cell in enumerate(cells, 1):
        seconds = likely_seconds(cell.plan, OVERHEAD_S)
        total += 0.0 if cell.skip else seconds
        plan = f"skipped: {cell.skip}" if cell.skip else f"{seconds:4.0f} s  {cell.expected.words()}"
        rows.append((f"[{number:3}]", cell.name, plan))
    yield tables.fitted(rows)
    budget = "" if suite.budget_s is None else f", budget {suite.budget_s / 60:.0f} min"
    yield tables.wrapped(f"{len(cells)} cells of {suite.name}, about {total / 60:.0f} min{budget}; {judged(cells)}")


def judged(cells: Sequence[Cell]) -> str:
    """Say how many cells are judged with Spark and how many in their own process."""
    through = sum(cell.plan.spark for cell in cells)
    return f"{through} judged through Spark, {len(cells) - through} in their own process"


def run_suite(options: SuiteOptions, stream: TextIO | None = None) -> SuiteResults:
    """Run every cell that is due, with progress on ``stream`` (None: standard output), and write the results.

    Raises UsageError before anything is touched, or StoreError.
    """
    suite = read_suite(options.file)
    budget_s = suite.budget_s if options.budget is None else length_s(options.budget, "--budget")
    with ExitStack() as held:
        if options.resume and (last := latest(options.store, suite.name)) is not None:
            held.enter_context(alone(last))
        journal = _resumed(options, suite) if options.resume else _begun(options, suite)
        if not options.resume:
            held.enter_context(alone(journal.root))
        return _run(options, suite, journal, budget_s, stream)


def _run(
    options: SuiteOptions, suite: Suite, journal: Journal, budget_s: float | None, stream: TextIO | None
) -> SuiteResults:
    table = ProgressTable(journal.begun.cells, stream)
    began = time.monotonic()
    with Interrupts(table.say) as interrupts:
        table.say(f"suite {suite.name}  seed {journal.begun.seed}  {len(journal.begun.cells)} cells  {journal.root}")
        table.say(judged(journal.begun.cells))
        stop = threading.Event()
        runner = SuiteRunner(
            journal, _launcher(journal, options.store, table, stop), lambda: (), table, stop.is_set,
            options.on_failure or suite.on_failure, budget_s,
        )  # fmt: skip
        failure, renewed = "", 0
        try:
            with interrupts.reaction(stop.set):
                renewed = _on_cluster(runner, journal, table)
        except HarnessError as error:
            failure = str(error)
        results = conclude(journal, time.monotonic() - began, runner.why_ended, failure, renewed)
        return write(results, options.store, table, draw_site=options.draw_site)


def write(results: SuiteResults, store: Path, table: ProgressTable, *, draw_site: bool) -> SuiteResults:
    """Write results.json, the summaries, junit.xml and the site.

    Raises StoreError if the results or summaries cannot be written.
    """
    root = results.journal.root
    warnings = [*_attempted("junit.xml", lambda: junit.write(results, store, root / "junit.xml"))]
    if draw_site:
        warnings += _attempted("the site", lambda: list(site(store)))
    results = replace(results, warnings=tuple(warnings))
    try:
        write_json(root / "results.json", results.to_json())
        (root / "summary.txt").write_text(summary(results))
        (root / "summary.md").write_text(markdown(results))
    except OSError as error:
        raise StoreError(f"cannot write {root}: {error.strerror}") from None
    table.say("")
    table.say(summary(results, table.columns).rstrip())
    table.say(f"{root}/summary.txt" + (f"  {store}/site/index.html" if draw_site else ""))
    return results


def _begun(options: SuiteOptions, suite: Suite) -> Journal:
    seed = secrets.randbits(32) if options.seed is None else options.seed
    cells = cells_of(options, suite, seed)
    _require_cluster(options, cells)
    require_usable(options.cluster)
    _require_spark(cells)
    for plan in {(cell.plan.system, cell.plan.version): cell.plan for cell in cells}.values():
        fetch(plan.under_test, plan.setup(), print)
    retries = suite.retries if options.retries is None else options.retries
    begun = Begun(suite.name, str(suite.path), seed, options.shard, retries, options.cluster, tuple(cells))
    return begin(options.store, begun, datetime.now(UTC))


def _require_cluster(options: SuiteOptions, cells: Iterable[Cell]) -> None:
    """Check that --cluster names a cluster that these cells can run on.  Raises UsageError."""
    for nodes in {cell.plan.nodes for cell in cells}:
        open_cluster(options.cluster, nodes=nodes)


def _resumed(options: SuiteOptions, suite: Suite) -> Journal:
    """Return the journal to resume.

    Raises UsageError if there is none, or if options differ from those at its start.
    """
    journal = unfinished(options.store, suite.name)
    if journal is None:
        raise UsageError(f"--resume: no run of {suite.name} in {options.store} was cut off; leave the option out")
    fixed = {"--seed": options.seed, "--system": options.system, "--time-limit": options.time_limit,
             "--spark": options.spark, "--retries": options.retries}  # fmt: skip
    given = [name for name, value in {**fixed, "--nemesis": options.nemesis or None}.items() if value is not None]
    if given:
        raise UsageError(f"--resume continues with the cells of the last run: leave out {', '.join(given)}")
    if (options.shard, options.cluster) != (journal.begun.shard, journal.begun.cluster):
        raise UsageError(
            f"--resume: that run was started with --shard {journal.begun.shard} --cluster {journal.begun.cluster}: "
            f"use the same"
        )
    _require_spark(cell for cell in journal.begun.cells if not journal.is_settled(cell))
    return journal


def _require_spark(cells: Iterable[Cell]) -> None:
    """Check that Spark is installed if any cell is judged through it.  Raises MissingExtraError."""
    if any(cell.plan.spark and not cell.skip for cell in cells):
        require("spark")


def _on_cluster(runner: SuiteRunner, journal: Journal, table: ProgressTable) -> int:
    """Run every cell that is due; return how often the nodes had to be recreated."""
    due = [cell for cell in journal.begun.cells if not journal.is_settled(cell)]
    if not due:
        return 0
    mark = journal.root / OURS
    with WarmCluster(due[0].plan, table.say, ours=mark.exists()) as cluster:
        if cluster.ours:
            mark.touch()
        runner.reset = cluster.reset
        runner.run()
        return cluster.renewed


def _launcher(
    journal: Journal, store: Path, table: ProgressTable, stop: threading.Event
) -> Callable[[Cell, Path], Attempt]:
    since = journal.root.name.partition("Z")[0]

    def look() -> bool:
        table.tick()
        return stop.is_set()

    def launch(cell: Cell, log: Path) -> Attempt:
        cut = proof_of_cut_run(cell, store, since, journal.attempts, log, look)
        attempt = cut or run_cell(cell, store, log, look)
        if attempt.run:
            _note(store / attempt.run, cell, attempt)
        return attempt

    return launch


def _note(run: Path, cell: Cell, attempt: Attempt) -> None:
    """Record in the run's directory what its cell expected and the outcome.  Raises StoreError."""
    record = {"cell": cell.name, "expected": record_of(cell.expected), "outcome": attempt.outcome,
              "as_expected": CODE_OF[attempt.outcome] == 0}  # fmt: skip
    try:
        write_json(RunFiles(run).suite, record)
    except OSError as error:
        raise StoreError(f"cannot write {RunFiles(run).suite}: {error.strerror}") from None


def site(store: Path) -> Iterator[str]:
    """Write the static pages of all runs, and yield their path."""
    from reports.site.site import write_site

    pages = write_site(store, store / "site")
    yield f"{store / 'site' / 'index.html'}, {len(pages)} files"


def _attempted(name: str, action: Callable[[], object]) -> list[str]:
    """Run an action; if it fails, return a warning, because a failed drawing never changes an outcome."""
    try:
        action()
    except Exception as error:  # noqa: BLE001 (a recorded run may hold anything)
        return [f"{name} cannot be written: {type(error).__name__}: {error}"]
    return []
