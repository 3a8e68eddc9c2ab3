"""A Spark session that is started and warmed up in the background.

Spark is slow the first time: classes are loaded, plans compiled, Python workers forked.  So the first job is the real
one, on a small made-up run.  A run waits for it before its load, and during the load the session is idle.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
from collections.abc import Mapping
from functools import partial
from glob import iglob
from pathlib import Path
from typing import TYPE_CHECKING

from history import Header, HistoryWriter, RunFiles
from pipeline.errors import SessionError
from pipeline.spark.large import run_tables
from pipeline.spark.session import is_local, scratch_prefix, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class WarmSession:
    """A session that is started in a background thread; :meth:`get` waits for it.

    The parameters are those of ``start_session``, which makes a ``brief`` session.  ``rounds`` is how often the made-up
    run is processed: the first round loads code, later ones compile it.  The made-up run is in ``shared``, which all
    workers of a cluster see, or in a temporary directory if there is no cluster.
    """

    def __init__(
        self,
        master: str = "local[*]",
        *,
        app: str,
        settings: Mapping[str, str] | None = None,
        rounds: int = 2,
        shared: Path | None = None,
    ) -> None:
        self._start = partial(start_session, master, app=app, brief=True, settings=settings)
        self._rounds, self._shared = rounds, None if is_local(master) else shared
        self._session: SparkSession | None = None
        self._failure: SessionError | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._warm_up, name="spark-warm", daemon=True)
        self._thread.start()

    def get(self, timeout: float = 120.0) -> SparkSession:
        """Return the warm session.

        Raises SessionError if it is not ready after ``timeout`` seconds, and whatever kept it from starting.
        """
        self._thread.join(timeout)
        if self._failure is not None:
            raise self._failure
        if self._thread.is_alive() or self._session is None:
            raise SessionError(f"Spark was not ready within {timeout:g} s")
        return self._session

    def stop(self, timeout: float = 30.0) -> None:
        """Stop the session if it was started; safe to call at any time and more than once.

        If the session is still working after ``timeout`` seconds, its processes are killed.  Otherwise the threads that
        wait for its answers would keep this process from ending.
        """
        self._stopped = True
        self._thread.join(timeout)
        if self._thread.is_alive():
            for process in spark_processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            self._thread.join(timeout)
        elif self._session is not None:
            # Its JVM may have died, which does not affect a verdict that was already computed.
            with contextlib.suppress(Exception):
                self._session.stop()
        self._session = None

    def _warm_up(self) -> None:
        try:
            self._session = self._start()
            with tempfile.TemporaryDirectory(prefix=".harness-warm-", dir=self._shared) as root:
                run = made_up_run(Path(root) / "run")
                for _ in range(self._rounds):
                    if self._stopped:
                        return
                    run_tables(self._session, run, model="register", deadline_s=10)
        except SessionError as error:
            self._failure = error
        except Exception as error:  # noqa: BLE001 (a thread's exception would go to the terminal)
            self._failure = SessionError(f"Spark started, but its first job failed: {error}")


def made_up_run(root: Path) -> RunFiles:
    """Write a valid register history with four keys and ok and failed operations under ``root``; return the run."""
    run = RunFiles(root)
    root.mkdir(parents=True)
    ticks = iter(range(0, 10**12, 5_000_000))
    writer = HistoryWriter(run.history, Header(test="warm-up"), started_ns=0, clock=lambda: next(ticks))
    for number in range(400):
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


def spark_processes() -> list[int]:
    """Return the launchers and JVMs of this process's sessions.

    They have the sessions' directory on their command lines.  Other descendants of this process, such as the nodes of a
    cluster and their JVMs, do not.
    """
    mark = scratch_prefix().encode()
    return [pid for pid in family(os.getpid())[1:] if mark in _command_line(pid)]


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def family(pid: int) -> list[int]:
    """Return a process and all its descendants, parents first; processes that end during the search may be missing."""
    direct: list[int] = []
    for path in iglob(f"/proc/{pid}/task/*/children"):  # noqa: PTH207 (pathlib fails on a process that is gone)
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            direct += [int(child) for child in Path(path).read_text().split()]
    return [pid, *(member for child in direct for member in family(child))]
