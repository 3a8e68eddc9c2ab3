"""One run from the plan to the verdict: cluster, system, conductor, evidence, conclusion.

Whatever happens after the cluster is up, the end is the same: heal, collect, stop the system, take the cluster down if
this run brought it up, judge what was recorded.
"""

from __future__ import annotations

import errno
import logging
import math
import os
import platform
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from harness.clusters import open_cluster, require_usable
from harness.clusters.provision import package_versions
from harness.errors import HarnessError, StoreError, UsageError
from harness.execution.conductor import Conductor, Nemesis, RecordFault
from harness.execution.descriptors import require_descriptors
from harness.execution.faults import Faults
from harness.execution.interrupts import Interrupts
from harness.execution.oom import Count, count_kills, describe
from harness.execution.probes import ProbeLog
from harness.execution.progress_thread import ProgressThread
from harness.execution.reboots import boots, lost
from harness.execution.standstills import Standstills
from harness.exits import EXIT_FAILURE, EXIT_INTERRUPTED, exit_code
from harness.judge.conclude import WITHOUT_SPARK, add_to_index, append_to_warehouse, conclude, draw, summary_of
from harness.remote.nodes import Remote
from harness.runstate import RunState
from harness.store import create_run, discard_run, link_latest
from harness.systems.declared import require_able
from harness.systems.deployment import Deployment, fetch, machines
from history import Header, HistoryWriter, Results, RunFiles
from history.recording import Recording
from history.under_way import under_way
from pipeline import SessionError, WarmSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from harness.clusters import Cluster
    from harness.execution.progress import Progress
    from harness.plan import Plan

log = logging.getLogger("harness.execution.run")

#: How long to wait until Spark is warm, before the load; beyond this the run goes on without it.
SPARK_WARM_S: Final = 90.0
SPARK_PATIENCE_S: Final = 30.0
#: The JVM ends with this process in any case.
SPARK_STOP_S: Final = 5.0


class Run:
    """One run of one plan.  :meth:`execute` may be called once; ``results`` is what was then concluded, if anything."""

    def __init__(self, plan: Plan, store: Path, progress: Progress, *, keep_cluster: bool = False) -> None:
        self._plan = plan
        self._store = store
        self._progress = ProgressThread(progress)
        self._keep_cluster = keep_cluster
        self._state = RunState()
        self._standstills = Standstills()
        self._spark: WarmSession | None = None
        self._ended_ns = 0
        self._tried: Set[str] = frozenset()
        self.results: Results | None = None

    def execute(self) -> tuple[int, RunFiles]:
        """Run the plan; return the exit code and the run's files.

        Raises UsageError, after which nothing of the run is left, and HarnessError when it could not even be recorded.
        """
        with self._progress, self._standstills:
            return self._execute()

    def _execute(self) -> tuple[int, RunFiles]:
        plan = self._plan
        faults = Faults(plan)
        cluster = open_cluster(plan.cluster, nodes=plan.nodes, say=self._progress.say)
        require_usable(plan.cluster)
        fetch(plan.under_test, plan.setup(), self._progress.say)
        files = create_run(self._store, plan, datetime.now(UTC))
        self._state.path = files.state
        with under_way(files.root), logging_to(files.log), Interrupts(self._progress.say) as interrupts:
            self._progress.say(f"{plan.test}  seed {plan.seed}  {files.root}")
            log.info("plan: %s", plan.to_json())
            try:
                self._on_cluster(cluster, faults, files, interrupts)
            except KeyboardInterrupt:
                log.warning("interrupted")
            except Exception as error:  # a bug of ours ends in order, too: judged and reported
                if isinstance(error, UsageError) and not files.history.exists():  # what only the cluster could know
                    discard_run(files)
                    raise
                self._fail(error)
            self._state.interrupted = interrupts.asked
            self._state.ended = not interrupts.asked and not self._state.failures
            self._save()
            interrupts.go_on_unwatched()
            try:
                code = self._conclude(files)
            except KeyboardInterrupt:
                self._progress.say(f"interrupted; `harness check {quote(str(files.root))}` judges what was recorded")
                return EXIT_INTERRUPTED, files
            finally:
                self._stop_spark()
            return (EXIT_INTERRUPTED if interrupts.asked else code), files

    # -- on the cluster --------------------------------------------------------------------------------------------

    def _on_cluster(self, cluster: Cluster, faults: Faults, files: RunFiles, interrupts: Interrupts) -> None:
        with cluster.lock():
            began = time.monotonic()
            cluster_was_up = cluster.status().is_up and not cluster.orphaned()
            try:
                kept = cluster.up(passing=not self._keep_cluster)
                with Remote(cluster.nodes) as remote:
                    self._progress.say(f"cluster of {len(cluster.nodes)} nodes in {time.monotonic() - began:.1f} s")
                    self._on_nodes(cluster, remote, faults, files, interrupts, kept=kept)
            finally:
                if not cluster_was_up and not self._keep_cluster:
                    with interrupts.held():
                        cluster.down()

    def _on_nodes(
        self,
        cluster: Cluster,
        remote: Remote,
        faults: Faults,
        files: RunFiles,
        interrupts: Interrupts,
        *,
        kept: bool,
    ) -> None:
        plan, setup = self._plan, self._plan.setup(machines(cluster.nodes))
        require_able(plan.under_test, setup)
        system = Deployment(
            plan.under_test, setup, remote, self._standstills.active_s,
            plan.ready_timeout, self._progress.say,
        )  # fmt: skip
        names = remote.names
        require_descriptors(plan.concurrency, len(names))
        try:
            if kept:  # new nodes have no earlier run
                faults.clean(remote)
            _install(system, names)
            faults.precheck(remote, system)
            self._progress.warn(faults.notes.values())
            faults.prepare(remote, system)
            log.info("prechecked")
            link_latest(files)
            self._start_spark(files)
            self._lead(system, names)
            self._state.environment = {**environment(plan, system, remote), **faults.describe()}
            self._await_spark()
            killed_before, booted = count_kills(remote), boots(remote)
            self._conduct(system, remote, faults, files, interrupts)
            with interrupts.held():
                self._look_for_kills(killed_before, remote)
                for text in lost(remote, booted):
                    self._state.fail(text)
                self._look_for_ends(system)
        finally:
            with interrupts.held():
                self._collect(system, names, files)

    def _lead(self, system: Deployment, names: Iterable[str]) -> None:
        began = time.monotonic()
        system.start(names)
        leader = system.await_leader()
        self._progress.say(f"{leader} leads after {time.monotonic() - began:.1f} s")
        log.info("led by %s", leader)

    def _conduct(
        self, system: Deployment, remote: Remote, faults: Faults, files: RunFiles, interrupts: Interrupts
    ) -> None:
        # A run that is interrupted before its load ends here.
        started = self._ended_ns = time.monotonic_ns()

        def clock_ns() -> int:
            return time.monotonic_ns() - started

        plan = self._plan
        about = {"nodes": list(remote.names), "members": list(system.members)}
        header = Header(plan.test, plan.model, plan.seed, datetime.now(UTC).isoformat(), about)
        history = HistoryWriter(files.history, header, started_ns=started, clock=time.monotonic_ns)
        probes = ProbeLog(files.probes, system.members)

        def make_nemesis(record: RecordFault) -> Nemesis:
            runner = faults.runner(remote, system, probes, record, clock_ns)
            self._tried = runner.tried
            return runner

        conductor = Conductor(
            plan, system, history=history, probes=probes, state=self._state, make_nemesis=make_nemesis,
            clock_ns=clock_ns, standstills=self._standstills, show=self._progress.show,
        )  # fmt: skip
        try:
            with interrupts.reaction(conductor.stop):
                conductor.run()
        finally:
            self._ended_ns = time.monotonic_ns()
            self._state.logless = probes.logless
            history.close()
            probes.close()
            self._state.reach("end", clock_ns())

    def _look_for_kills(self, before: Mapping[str, Count], remote: Remote) -> None:
        """Record processes that the kernel killed for lack of memory: they are missing for a reason of ours."""
        try:
            found = describe(before, count_kills(remote), self._tried)
        except HarnessError as error:
            self._state.warn(f"whether the kernel ended processes for want of memory is not known: {error}")
            return
        if found is not None:
            text, by_fault = found
            self._state.warn(f"{text}; a fault took memory away") if by_fault else self._state.fail(text)

    def _look_for_ends(self, system: Deployment) -> None:
        """Record the processes that have ended; a node that cannot be asked is a failure already."""
        with suppress(HarnessError):
            self._state.ended_roles = system.ended()

    def _collect(self, system: Deployment, names: Iterable[str], files: RunFiles) -> None:
        for line in system.collect(files.nodes):
            self._state.warn(f"not collected: {line}")
        try:
            system.kill(names)
        except HarnessError as error:
            self._state.warn(f"not stopped: {error}")

    # -- conclusion ------------------------------------------------------------------------------------------------

    def _start_spark(self, files: RunFiles) -> None:
        plan = self._plan
        if plan.spark:
            self._spark = WarmSession(
                plan.spark_master, app=f"harness {plan.test}", settings=plan.spark_conf, shared=files.root
            )

    def _await_spark(self) -> None:
        """Wait for Spark before the load: the nodes may run on the same cores."""
        if self._spark is None:
            return
        try:
            self._spark.get(SPARK_WARM_S)
        except SessionError as error:
            log.warning("judging without Spark: %s", error)
            self._state.warn(f"{WITHOUT_SPARK}: {error}")
            self._stop_spark()

    def _stop_spark(self) -> None:
        if self._spark is not None:
            self._spark.stop(SPARK_STOP_S)
            self._spark = None

    def _conclude(self, files: RunFiles) -> int:
        """Judge, draw and bring into the warehouse what was recorded; the exit code unless interrupted."""
        if not files.history.exists():
            with suppress(StoreError):  # a full disk has been reported already
                link_latest(files)
            if self._state.interrupted:
                self._progress.say("interrupted before the first operation")
            return EXIT_FAILURE
        verdict = "unknown"
        try:
            recording = Recording(files.root)
            conclusion = conclude(recording, self._session if self._spark else None)
            self.results = results = conclusion.results
            verdict = results.verdict
            verdict_s = self._since_the_end()
            self._progress.result(summary_of(recording, results, self._progress.columns))
            if conclusion.unwritten is not None:
                self._fail(conclusion.unwritten)
                return exit_code(verdict, results.harness_failure)
            drawn = draw(recording, conclusion.drawn)
            self._progress.warn(drawn.warnings)
            add_to_index(recording, self._store)
            report_s = self._since_the_end()
            if files.report in drawn.paths:
                self._progress.result(f"report: {files.report}")
            self._progress.say(f"verdict {verdict_s:.1f} s and report {report_s:.1f} s after the run")
            self._progress.warn(append_to_warehouse(recording, self._store))
        except Exception as error:  # noqa: BLE001 (also a bug of ours leaves a verdict that stands)
            self._fail(error)
            return exit_code(verdict, str(error))
        return exit_code(verdict, results.harness_failure)

    def _since_the_end(self) -> float:
        return (time.monotonic_ns() - self._ended_ns) / 1e9

    def _session(self) -> SparkSession:
        assert self._spark is not None
        return self._spark.get(1.0 if self._state.interrupted else SPARK_PATIENCE_S)

    def _fail(self, error: Exception) -> None:
        log.error("the run failed", exc_info=error)
        text = str(error)
        full = os.strerror(errno.ENOSPC)
        if full in text or (isinstance(error, OSError) and error.errno == errno.EDQUOT):  # also from Spark's workers
            text = f"{full}: make room where {self._store} lies, or name another place with --store"
        self._state.fail(text if isinstance(error, HarnessError | OSError) else f"{type(error).__name__}: {error}")
        self._progress.say(f"harness failure: {text}")

    def _save(self) -> None:
        with suppress(OSError):  # a full disk has been reported already, and the history is what counts
            self._state.save()


def _install(system: Deployment, names: Iterable[str]) -> None:
    """Install the program on every node, and remove what an earlier run left."""
    system.kill(names)
    system.wipe()
    system.install()
    log.info("installed")


def environment(plan: Plan, system: Deployment, remote: Remote) -> dict[str, Any]:
    """The facts about the machines that the results record."""
    name = plan.under_test.title or plan.under_test.name
    return {
        "system": f"{name} {plan.version}" + (f" with the planted bug {plan.planted_bug}" if plan.planted_bug else ""),
        **system.describe(),
        "machine": machine(),
        "kernel": platform.release(),
        "python": sys.version.split()[0],
        "packages": package_versions(remote),
        "nodes": {name: remote.address(name) for name in remote.names},
        "roles": system.processes,
    }


def machine() -> str:
    """Processor, cores and memory of the control node: figures are compared within one kind of machine."""
    found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = memory_gib(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return f"{found[1].strip() if found else platform.machine()}, {os.cpu_count()} cores, {memory} GiB"


def memory_gib(usable: int) -> int:
    """The next of 1, 2, 3, 4, 6, 8, 12, 16, 24, … GiB, of so many usable bytes.

    A kernel keeps some per cent of the memory for itself, never the same from release to release: where 16 GiB are
    15.5, rounding to the nearest would give a machine two names.  From its size downwards the next step is far.
    """
    power = 1 << max(0, math.ceil(math.log2(usable / 2**30)))
    return power * 3 // 4 if power >= 4 and usable <= power * 3 // 4 * 2**30 else power


class _LogFile(logging.FileHandler):
    """A log file that ignores a full disk: the history reports that, once and in one line."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging's own name)
        """Leave the record out."""


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Everything that is logged inside goes to ``path``.  Raises StoreError when it cannot be opened."""
    try:
        handler = _LogFile(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    root = logging.getLogger()
    previous = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.getLogger("paramiko").setLevel(logging.WARNING)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(previous)
        with suppress(OSError):
            handler.close()
