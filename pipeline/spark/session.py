"""Start Spark without side effects on the terminal, working directory or signals.

No port is open to other machines, and no environment variable is left behind.  The user's own Spark settings apply
(``pipeline.spark.settings``), except for the master.  Each session has a temporary directory, which is removed when
this process ends.  If a process was killed, the next session removes its directory, because its lock is free, wherever
that process ran.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import logging
import os
import re
import shutil
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pipeline.errors import JavaMissingError, SessionError
from pipeline.spark.settings import conf_directory, merged, read_defaults, write_directory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOPBACK: Final = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_BRIEF: Final = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
SCRATCH: Final = "harness-session"
#: The file descriptors that hold the locks on this process's session directories until it ends.
_LOCKS: Final[list[int]] = []
_HOME: Final = Path(__file__).resolve().parents[2]
_PACKAGES: Final = ("history", "checker", "pipeline")
_UNPACKED: Final = "harness_packages"
_UNRESOLVED: Final = re.compile(r"unresolved dependency: ([^#\s]+)#([^;\s]+);([^:\s]+)")
_SETTINGS: Final = {
    "spark.python.daemon.module": "pipeline.spark.worker_daemon",
    # Arrow's own allocators reserve a GiB of address space, and Spark's memory limit, if set, applies to address space.
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def start_session(
    master: str = "local[*]",
    *,
    app: str,
    memory: str = "1g",
    brief: bool = False,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark, or return the session that this process already has.

    ``memory`` is the heap of the driver (in local mode, also of the workers) and of each executor.  ``brief`` is for a
    session that works only for seconds: its code is compiled less thoroughly, which halves the cost of starting.
    ``settings`` are the user's; they override those of the user's files, which override ours.

    Raises JavaMissingError, or SessionError with the last lines that the JVM wrote.
    """
    home = _java_home()
    sweep_dead(Path(tempfile.gettempdir()))
    scratch = scratch_directory(Path(tempfile.gettempdir()))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    log, theirs, here = scratch / "spark.log", conf_directory(), is_on_this_machine(master)
    ours = {
        **_SETTINGS,
        **(_LOOPBACK if here else {}),
        "spark.local.dir": str(scratch),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={scratch} -Dderby.system.home={scratch}",
        "spark.driver.memory": memory,
        **cluster_settings(master, scratch, memory),
    }
    options = merged(ours, read_defaults(theirs), settings or {}, brief=_BRIEF if brief else {})
    write_directory(scratch, options, theirs, log)
    with _environment(scratch, home, master):
        return _in_own_thread(master, app, scratch, log)


def is_local(master: str | None) -> bool:
    """Return whether tasks run in the driver's own JVM."""
    return master is not None and master.split("[")[0] == "local"


def is_on_this_machine(master: str) -> bool:
    """Return whether all of Spark's processes can communicate through the loopback interface."""
    return is_local(master) or urlsplit(master).hostname in ("127.0.0.1", "localhost", "::1")


def cluster_settings(master: str, scratch: Path, memory: str) -> dict[str, str]:
    """Return Spark's settings for the executors of a cluster; none for a local master.

    This project's packages are sent as an archive that Spark unpacks beside each executor, so they need not be
    installed there; Python, pyarrow, numpy, msgspec and numba must be.  Paths of runs and of the warehouse must mean
    the same files on every machine.
    """
    if is_local(master):
        return {}
    path = scratch / "packages.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in _PACKAGES:
            for file in sorted((_HOME / package).rglob("*.py")):
                archive.write(file, file.relative_to(_HOME))
    return {
        "spark.archives": f"{path}#{_UNPACKED}",
        "spark.executorEnv.PYTHONPATH": _UNPACKED,
        "spark.executorEnv.PYTHONSAFEPATH": "1",
        "spark.executor.memory": memory,
    }


def scratch_prefix() -> str:
    """Return the common prefix of this process's session directories, which is on the command lines of its JVMs."""
    return f"{SCRATCH}-{os.getpid()}-"


def scratch_directory(parent: Path) -> Path:
    """Make a directory that this process keeps locked until it ends."""
    fresh = Path(tempfile.mkdtemp(prefix=f".{SCRATCH}-", dir=parent))
    # If the file system cannot lock directories, none is swept either.
    with contextlib.suppress(OSError):
        _LOCKS.append(_locked(fresh))
    # Only now that it is locked, give it a name that other sessions sweep.
    return fresh.rename(parent / f"{scratch_prefix()}{fresh.name.rpartition('-')[2]}")


def sweep_dead(parent: Path) -> None:
    """Remove the session directories of processes that are gone.

    The lock decides, not the process number, which means nothing if the process ran in another container that shares
    the directory.
    """
    for rest in parent.glob(f"{SCRATCH}-*"):
        with contextlib.suppress(OSError):  # Locked by a live process, already removed, or not ours to open.
            lock = _locked(rest)
            shutil.rmtree(rest, ignore_errors=True)
            os.close(lock)


def _locked(directory: Path) -> int:
    """Lock a directory; return the file descriptor that holds the lock.  Raises OSError if another process holds it."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _java_home() -> Path | None:
    """Return JAVA_HOME if it holds a Java, or None if there is one on the path.  Raises JavaMissingError."""
    if (home := os.environ.get("JAVA_HOME")) and (Path(home) / "bin" / "java").exists():
        return Path(home)
    if shutil.which("java"):
        return None
    looked = (
        f"JAVA_HOME={home} has no bin/java, and there is none on the PATH" if home else "there is no java on the PATH"
    )
    raise JavaMissingError(f"Spark needs Java 17 or newer, but {looked}: install openjdk-17-jre-headless")


@contextlib.contextmanager
def _environment(scratch: Path, java_home: Path | None, master: str) -> Iterator[None]:
    """Set the variables that the JVM inherits in this process's environment, only while the JVM starts."""
    import pyspark

    wanted = {
        "PYSPARK_PYTHON": sys.executable if is_local(master) else os.environ.get("PYSPARK_PYTHON", sys.executable),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(_HOME)])),
        # Workers start in our working directory, whose modules must not shadow ours.
        "PYTHONSAFEPATH": "1",
        "SPARK_CONF_DIR": str(scratch),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1" if is_on_this_machine(master) else os.environ.get("SPARK_LOCAL_IP"),
        "JAVA_HOME": str(java_home) if java_home else None,
        "SPARK_ENV_LOADED": None,
    }
    before = {name: os.environ.get(name) for name in wanted}
    _assign(wanted)
    try:
        yield
    finally:
        _assign(before)


def _assign(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _in_own_thread(master: str, app: str, scratch: Path, log: Path) -> SparkSession:
    """Start in a thread that then ends, because in the main thread pyspark would take over the handling of Ctrl-C."""
    outcome: list[SparkSession | BaseException] = []

    def start() -> None:
        try:
            outcome.append(_build(master, app, scratch))
        except Exception as error:  # noqa: BLE001 (pyspark raises whatever Java threw)
            outcome.append(error)

    thread = threading.Thread(target=start, name="spark-start", daemon=True)
    thread.start()
    thread.join()
    result = outcome[0]
    if isinstance(result, BaseException):
        raise SessionError(_explain(result, log)) from result
    return result


def _build(master: str, app: str, scratch: Path) -> SparkSession:
    from py4j import java_gateway  # type: ignore[import-untyped]
    from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
    from pyspark.sql import SparkSession

    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        server.handle_error = _note_lost_connection  # type: ignore[method-assign, assignment]
    # py4j reports a lost JVM to the root logger, which may print it, although the call raises anyway.
    java_gateway.logging = logging.getLogger("py4j.java_gateway")  # this logger has a handler that does nothing
    # These settings end up on the JVM's command line, by which its processes are found.
    builder = SparkSession.builder.config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
    return builder.master(master).appName(app).getOrCreate()


def _note_lost_connection(server: object, request: object, client_address: object) -> None:  # noqa: ARG001
    """Print no traceback for a JVM that died, because the call that waits for it raises."""
    logging.getLogger("pipeline.spark.session").info("Spark lost a connection", exc_info=True)


def _explain(error: BaseException, log: Path) -> str:
    text = log.read_text(errors="replace") if log.exists() else ""
    if "UnsupportedClassVersionError" in text:
        return "Spark needs Java 17 or newer, but the one it found is older: install openjdk-17-jre-headless"
    if missing := sorted({":".join(parts) for parts in _UNRESOLVED.findall(text)}):
        return (
            f"Spark found no package {', '.join(missing)}: check its name and version in spark.jars.packages, and that "
            f"this machine reaches a repository that has it (or name a local jar in spark.jars)"
        )
    tail = "\n".join(text.splitlines()[-15:])
    return f"Spark did not start: {str(error).strip().splitlines()[0]}\n{tail}".rstrip()
