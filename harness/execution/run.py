"""One run, from the plan to the verdict: cluster, system, conductor, evidence, conclusion.

Once the cluster is up, every run ends the same way, whatever happens: heal, collect, stop the system, take the cluster
down if this run brought it up, and judge what was recorded.
"""

from __future__ import annotations

import errno
import logging
import os
import time
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final

from harness.clusters import open_cluster, require_usable
from harness.errors import HarnessError, StoreError, UsageError
from harness.execution.conductor import Conductor, Nemesis, RecordFault
from harness.execution.context import RunContext
from harness.execution.descriptors import require_descriptors
from harness.execution.faults import Faults
from harness.execution.interrupts import Interrupts
from harness.execution.log_file import logging_to
from harness.execution.machine import environment
from harness.execution.oom import Count, count_kills, describe
from harness.execution.probes import ProbeLog
from harness.execution.progress_thread import ProgressThread
from harness.execution.reboots import boots, lost
from harness.execution.standstills import Standstills
from harness.exits import EXIT_FAILURE, EXIT_INTERRUPTED, exit_code
from harness.judge.conclude import WITHOUT_SPARK, add_to_index, append_to_warehouse, conclude, draw, screen_of
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

#: How long (s) to wait before the load until Spark is warm; after that, the run continues without it.
SPARK_WARM_S: Final = 90.0
SPARK_PATIENCE_S: Final = 30.0
#: How long (s) to wait until Spark has stopped.  The JVM ends with this process in any case.
SPARK_STOP_S: Final = 5.0


class Run:
    """One run of one plan.  Call :meth:`execute` once; ``results`` then holds what was concluded, if anything."""

    def __init__(self, plan: Plan, store: Path, progress: Progress, *, keep_cluster: bool = False) -> None:
        self._plan = plan
        self._store = store
        self._progress = ProgressThread(progress)
        self._keep_cluster = keep_cluster
        self._state = RunState()
        self._standstills = Standstills()
        self._kept = False
        self._spark: WarmSession | None = None
        self._ended_ns = 0
        self.results: Results | None = None

    def execute(self) -> tuple[int, RunFiles]:
        """Run the plan; return the exit code and the run's files.

        1. check the faults of the plan, and that its cluster can be used
        2. fetch the system's artifacts
        3. create the run's directory in the store
        4. lock the cluster, start Spark in the background, and bring the cluster up
        5. install the system on the nodes, and check there that each fault can work
        6. start the system, wait for its leader, and for Spark
        7. conduct: load, faults and probes at the same time, then the final phase
        8. collect logs and files, stop the system, take the cluster down
        9. judge what was recorded, and draw it

        A failure from step 4 on is recorded, and steps 8 and 9 follow all the same.  Raises UsageError, which leaves
        nothing of the run behind, and HarnessError if the run could not even be recorded.
        """
        plan = self._plan
        with self._progress, self._standstills:
            faults = Faults(plan)
            cluster = open_cluster(plan.cluster, nodes=plan.nodes, say=self._progress.say)
            require_usable(plan.cluster)
            fetch(plan.under_test, plan.setup(), self._progress.say)
            files = create_run(self._store, plan, datetime.now(UTC))
            self._state.path = files.state
            with under_way(files.root), logging_to(files.log), Interrupts(self._progress.say) as interrupts:
                self._progress.say(f"{plan.test}  seed {plan.seed}  {files.root}")
                log.info("plan: %s", plan.to_json())
                # Whatever fails inside, the blocks end from the inside out: collect the files and stop the system, take
                # the cluster down, record the failure.  Then what was recorded is judged.
                with self._recorded_failures(files, interrupts), self._up(cluster, files, interrupts) as remote:
                    system = self._deploy(cluster, remote)
                    with self._collected(system, files, interrupts):
                        with self._progress.step("installing"):
                            self._install(system, remote, faults)
                        link_latest(files)
                        with self._progress.step("starting"):
                            self._start(system, remote, faults)
                        self._conduct(system, remote, faults, files, interrupts)
                return self._concluded(files, interrupts)

    @contextmanager
    def _recorded_failures(self, files: RunFiles, interrupts: Interrupts) -> Iterator[None]:
        """Record how the steps in the block ended.  A UsageError before the history exists leaves no run behind."""
        try:
            yield
        except KeyboardInterrupt:
            log.warning("interrupted")
        except Exception as error:  # even after a bug in the harness, the run is judged and reported
            if isinstance(error, UsageError) and not files.history.exists():
                self._stop_spark()
                discard_run(files)
                raise
            self._fail(error)
        self._state.interrupted = interrupts.asked
        self._state.ended = not interrupts.asked and not self._state.failures
        self._save()

    # -- on the cluster --------------------------------------------------------------------------------------------

    @contextmanager
    def _up(self, cluster: Cluster, files: RunFiles, interrupts: Interrupts) -> Iterator[Remote]:
        """Yield the nodes of the cluster, locked and up; afterwards, take it down if it was not up before."""
        with cluster.lock():
            self._start_spark(files)
            began = time.monotonic()
            was_up = cluster.status().is_up and not cluster.orphaned()
            try:
                self._kept = cluster.up(passing=not self._keep_cluster)
                with Remote(cluster.nodes) as remote:
                    self._progress.say(f"cluster of {len(cluster.nodes)} nodes in {time.monotonic() - began:.1f} s")
                    yield remote
            finally:
                if not was_up and not self._keep_cluster:
                    with interrupts.held(), self._progress.step("taking the cluster down"):
                        cluster.down()

    def _deploy(self, cluster: Cluster, remote: Remote) -> Deployment:
        plan, setup = self._plan, self._plan.setup(machines(cluster.nodes))
        require_able(plan.under_test, setup)
        require_descriptors(plan.concurrency, len(remote.names))
        return Deployment(
            plan.under_test, setup, remote, self._standstills.active_s,
            plan.ready_timeout, self._progress.say,
        )  # fmt: skip

    def _install(self, system: Deployment, remote: Remote, faults: Faults) -> None:
        """Install the program on every node, without leftovers of an earlier run, and check the faults there."""
        if self._kept:  # only nodes that were up before can hold faults of an earlier run
            faults.clean(remote)
        system.kill(remote.names)
        system.wipe()
        system.install()
        log.info("installed")
        faults.precheck(remote, system)
        self._progress.warn(faults.notes.values())
        faults.prepare(remote, system)
        log.info("prechecked")

    def _start(self, system: Deployment, remote: Remote, faults: Faults) -> None:
        began = time.monotonic()
        system.start(remote.names)
        leader = system.await_leader()
        served = f"{leader} became leader" if leader in remote.names else f"{leader} began to serve"
        self._progress.say(f"{served} after {time.monotonic() - began:.1f} s")
        log.info("led by %s", leader)
        self._state.environment = {**environment(self._plan, system, remote), **faults.describe()}
        self._await_spark()

    def _conduct(
        self, system: Deployment, remote: Remote, faults: Faults, files: RunFiles, interrupts: Interrupts
    ) -> None:
        """Run load, faults and probes, then check what happened to the nodes in the meantime."""
        # Counted before and after: the difference is what the machines did to the processes, which is not the system's
        # fault.
        killed_before, booted = count_kills(remote), boots(remote)
        started = self._ended_ns = time.monotonic_ns()  # the end, too, of a run that is interrupted before its load
        plan = self._plan
        about = {"nodes": list(remote.names), "members": list(system.members)}
        header = Header(plan.test, plan.model, plan.seed, datetime.now(UTC).isoformat(), about)
        history = HistoryWriter(files.history, header, started_ns=started, clock=time.monotonic_ns)
        probes = ProbeLog(files.probes, system.members)
        run = RunContext(plan, system, history, probes, self._state, self._standstills, started)

        def make_nemesis(record: RecordFault) -> Nemesis:
            return faults.runner(remote, system, probes, record, run.clock_ns)

        conductor = Conductor(run, make_nemesis, self._progress.show)
        try:
            with interrupts.reaction(conductor.stop):
                conductor.run()
        finally:
            self._ended_ns = time.monotonic_ns()
            self._state.logless = probes.logless
            history.close()
            probes.close()
            run.reach("end")
        self._state.died_starting = sorted(system.died_starting)
        with interrupts.held():
            self._look_for_kills(killed_before, remote, conductor.nemesis.tried)
            for text in lost(remote, booted):
                self._state.fail(text)
            with suppress(HarnessError):  # an unreachable node has already been recorded as a failure
                self._state.ended_roles = system.ended()

    def _look_for_kills(self, before: Mapping[str, Count], remote: Remote, tried: Set[str]) -> None:
        """Record processes that the kernel killed for lack of memory, so that the system is not blamed."""
        try:
            finding = describe(before, count_kills(remote), tried)
        except HarnessError as error:
            self._state.warn(f"cannot tell whether the kernel killed processes for lack of memory: {error}")
            return
        if finding is not None:
            text, by_fault = finding
            self._state.warn(f"{text}; a memory fault was injected") if by_fault else self._state.fail(text)

    @contextmanager
    def _collected(self, system: Deployment, files: RunFiles, interrupts: Interrupts) -> Iterator[None]:
        """Collect the files that the nodes wrote, and stop the system, when the block ends."""
        try:
            yield
        finally:
            with interrupts.held(), self._progress.step("collecting logs"):
                for line in system.collect(files.nodes):
                    self._state.warn(f"not collected: {line}")
                try:
                    system.kill(system.names)
                except HarnessError as error:
                    self._state.warn(f"not stopped: {error}")

    # -- conclusion ------------------------------------------------------------------------------------------------

    def _concluded(self, files: RunFiles, interrupts: Interrupts) -> tuple[int, RunFiles]:
        interrupts.go_on_unwatched()
        try:
            code = self._conclude(files)
        except KeyboardInterrupt:
            self._progress.say(f"interrupted; `harness check {quote(str(files.root))}` judges what was recorded")
            return EXIT_INTERRUPTED, files
        finally:
            self._stop_spark()
        return (EXIT_INTERRUPTED if interrupts.asked else code), files

    def _start_spark(self, files: RunFiles) -> None:
        plan = self._plan
        if plan.spark:
            self._spark = WarmSession(
                plan.spark_master, app=f"harness {plan.test}", settings=plan.spark_conf, shared=files.root
            )

    def _await_spark(self) -> None:
        """Wait for Spark before the load, because the nodes may run on the same cores."""
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
        """Judge and draw what was recorded and bring it into the warehouse; return the exit code.

        An interrupted run has its own exit code.
        """
        if not files.history.exists():
            with suppress(StoreError):  # a full disk has already been reported
                link_latest(files)
            if self._state.interrupted:
                self._progress.say("interrupted before the first operation")
            return EXIT_FAILURE
        verdict = "unknown"
        try:
            recording = Recording(files.root)
            with self._progress.step("judging"):
                conclusion = conclude(recording, self._session if self._spark else None)
            self.results = results = conclusion.results
            verdict = results.verdict
            verdict_s = self._since_the_end()
            self._progress.result(screen_of(conclusion, self._progress.columns, colour=self._progress.coloured))
            if conclusion.unwritten is not None:
                self._fail(conclusion.unwritten)
                return exit_code(verdict, results.harness_failure)
            with self._progress.step("drawing the page"):
                drawn = draw(recording, conclusion.drawn)
            self._progress.warn(drawn.warnings)
            add_to_index(recording, self._store)
            report_s = self._since_the_end()
            if files.report in drawn.paths:
                self._progress.result(f"report: {files.report}")
            self._progress.say(f"verdict {verdict_s:.1f} s and report {report_s:.1f} s after the run")
            with self._progress.step("adding the run to the warehouse"):
                warnings = append_to_warehouse(recording, self._store)
            self._progress.warn(warnings)
        except Exception as error:  # noqa: BLE001 (even after a bug in the harness, the verdict stands)
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
        if full in text or (isinstance(error, OSError) and error.errno == errno.EDQUOT):  # Spark's workers give text
            text = f"{full}: make room in {self._store}, or choose another place with --store"
        self._state.fail(text if isinstance(error, HarnessError | OSError) else f"{type(error).__name__}: {error}")
        self._progress.say(f"harness failure: {text}")

    def _save(self) -> None:
        with suppress(OSError):  # a full disk has already been reported, and the history matters more
            self._state.save()
