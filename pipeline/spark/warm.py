"""A Spark session that is started and warmed up in the background.

Spark is slow the first time: classes are loaded, plans compiled, Python workers forked.  So the first job is the real
one, on a small made-up run.  All of it happens at a low priority, since the clients of a run that is being recorded
must not wait for it; when the session is fetched, its priority is put right again as far as the system
permits (only root may raise one).
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from history import Header, HistoryWriter, RunFiles
from pipeline.errors import PipelineError, SessionError
from pipeline.spark.jobs import run_tables
from pipeline.spark.session import scratch_prefix, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Ten steps below ourselves: about a tenth of the share of the processes of the run, and enough to start on a machine
#: that is busy with other things as well (at the lowest priority of all it never starts there).
BELOW: Final = 10
_ROUNDS: Final = 2


class WarmSession:
    """Starts a session in a background thread; :meth:`get` waits for it.

    The parameters are those of ``start_session``.  ``rounds`` is how often the made-up run is worked through: the
    first time loads, the further ones compile.
    """

    def __init__(
        self,
        master: str = "local[*]",
        *,
        app: str,
        memory: str = "1g",
        nice: int = BELOW,
        brief: bool = True,
        rounds: int = _ROUNDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._start = partial(start_session, master, app=app, memory=memory, nice=nice, brief=brief)
        self._nice = nice
        self._rounds = rounds
        self._clock = clock
        self._session: SparkSession | None = None
        self._failure: PipelineError | None = None
        self._stopped = False
        self.seconds: float | None = None
        """How long it took to get warm; None while it goes on, and if it failed."""
        self._thread = threading.Thread(target=self._warm_up, name="spark-warm", daemon=True)
        self._thread.start()

    def get(self, timeout: float = 120.0) -> SparkSession:
        """The warm session, at the priority of this process.

        Raises SessionError if it is not there after ``timeout`` seconds, and whatever kept it from starting.
        """
        deadline = self._clock() + timeout
        while self._thread.is_alive() and self._clock() < deadline:
            # The caller waits now: what is still starting must not starve at the lowest priority.
            if self._nice:
                for process in spark_processes():
                    raise_priority(process)
            self._thread.join(min(0.25, max(0.0, deadline - self._clock())))
        if self._failure is not None:
            raise self._failure
        if self._thread.is_alive() or self._session is None:
            raise SessionError(f"Spark was not ready within {timeout:g} s")
        if self._nice:
            raise_priority(jvm_pid(self._session))
        return self._session

    def stop(self, timeout: float = 30.0) -> None:
        """Stop the session if it was started; safe to call at any time and more than once.

        A session that is still at work after ``timeout`` seconds is ended with its processes: the threads that wait for
        its answers would otherwise keep this process from ending.
        """
        self._stopped = True
        self._thread.join(timeout)
        if self._thread.is_alive():
            for process in spark_processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            self._thread.join(timeout)
        elif self._session is not None:
            # Its JVM may have died meanwhile; a verdict that was computed stays.
            with contextlib.suppress(Exception):
                self._session.stop()
        self._session = None

    def _warm_up(self) -> None:
        began = self._clock()
        try:
            self._session = self._start()
            with tempfile.TemporaryDirectory(prefix="harness-warm-") as root:
                for _ in range(self._rounds):
                    if self._stopped:
                        return
                    run_tables(self._session, made_up_run(Path(root) / "run"), model="register", deadline_s=10)
            self.seconds = self._clock() - began
        except PipelineError as error:
            self._failure = error
        except Exception as error:  # noqa: BLE001 (a thread's exception would go to the terminal)
            self._failure = SessionError(f"Spark started, but its first job failed: {error}")


def made_up_run(root: Path, operations: int = 400) -> RunFiles:
    """A valid register history of one process on four keys, with every outcome in it, under ``root``."""
    run = RunFiles(root)
    if run.history.exists():
        return run
    root.mkdir(parents=True)
    ticks = iter(range(0, 10**12, 5_000_000))
    writer = HistoryWriter(run.history, Header(test="warm-up"), started_ns=0, clock=lambda: next(ticks))
    for number in range(operations):
        key, process, written = f"k{number % 4}", number, number - number % 8 + number % 4
        if number % 8 < 4:
            writer.append("invoke", process, "write", value=written, key=key, node="n1", phase="main")
            writer.append("ok", process, "write", value=written, key=key, node="n1", phase="main")
        else:
            writer.append("invoke", process, "read", key=key, node="n1", phase="main")
            failed = number % 5 == 0
            writer.append("fail" if failed else "ok", process, "read", value=None if failed else written, key=key,
                          error="timeout" if failed else None, node="n1", phase="main")  # fmt: skip
    writer.close()
    return run


def jvm_pid(session: SparkSession) -> int:
    """The process id of the session's JVM, which is also the parent of its Python workers."""
    gateway = session.sparkContext._gateway  # noqa: SLF001 (pyspark has no public name for it)
    assert gateway is not None
    return int(gateway.jvm.ProcessHandle.current().pid())


def spark_processes() -> list[int]:
    """The launchers and JVMs of this process's sessions.

    They have the sessions' directory on their command lines; other descendants of this process, such as the nodes of a
    cluster and their JVMs, do not.
    """
    mark = scratch_prefix().encode()
    return [pid for pid in family(os.getpid())[1:] if mark in _command_line(pid)]


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def raise_priority(pid: int) -> bool:
    """Give a process, its threads and its descendants this process's priority; False if that is not permitted."""
    priority = os.getpriority(os.PRIO_PROCESS, 0)
    for process in family(pid):
        for task in Path(f"/proc/{process}/task").glob("*"):
            try:
                os.setpriority(os.PRIO_PROCESS, int(task.name), priority)
            except PermissionError:
                return False
            except ProcessLookupError:
                continue
    return True


def family(pid: int) -> list[int]:
    """A process and all its descendants, parents first; those that end meanwhile may be missing."""
    direct: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            direct += [int(child) for child in path.read_text().split()]
    return [pid, *(member for child in direct for member in family(child))]
