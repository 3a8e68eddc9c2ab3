"""Start Spark without side effects on the terminal, the working directory and signals.

No port is open to other machines, and no environment variable is left behind.  Spark reads part of its settings from a
directory of files, so each session has a temporary one, removed when it is stopped.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pipeline.errors import JavaMissingError, SessionError
from pipeline.spark.packages import cluster_settings, is_on_this_machine
from pipeline.tables.storage import sweep_dead

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG4J: Final = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
"""

# Sourced by Spark's own launcher.  Only here can the priority be set for the JVM and its workers alone: a Python thread
# that lowered its own would keep the interpreter's lock while it waits for a core.
# Ctrl-C and SIGHUP reach every process of the terminal: only this process decides what they mean for the JVM and its
# children.
_ENV: Final = """\
exec >>{log} 2>&1
trap '' INT HUP
renice -n {nice} -p $$ >/dev/null 2>&1 || true
"""

_LOOPBACK: Final = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_BRIEF: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_SCRATCH: Final = "harness-spark"
_SETTINGS: Final = {
    "spark.python.daemon.module": "pipeline.spark.worker_daemon",
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
    nice: int = 0,
    brief: bool = False,
    settings: dict[str, str] | None = None,
) -> SparkSession:
    """Start Spark, or return the session that this process already has.

    ``memory`` is the driver's heap (in local mode also the workers') and each executor's.  ``nice`` is added to our own
    priority for the JVM and the Python workers that it starts.  ``brief`` is for a session that works for seconds: its
    code is compiled less thoroughly, which halves what the start costs.  ``settings`` are further Spark settings.
    Raises JavaMissingError, and SessionError with the last lines that the JVM wrote.
    """
    home = _java_home()
    sweep_dead(Path(tempfile.gettempdir()), _SCRATCH)
    scratch = Path(tempfile.mkdtemp(prefix=scratch_prefix()))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    log = scratch / "spark.log"
    own = os.getpriority(os.PRIO_PROCESS, 0)
    (scratch / "log4j2.properties").write_text(_LOG4J)
    (scratch / "spark-env.sh").write_text(_ENV.format(log=log, nice=min(19, own + nice)))
    here = is_on_this_machine(master)
    options = {
        **_SETTINGS,
        **(_LOOPBACK if here else {}),
        **_places(scratch, brief),
        **cluster_settings(master, scratch, memory),
        "spark.driver.memory": memory,
        **(settings or {}),
    }
    with _environment(scratch, home, loopback=here):
        return _in_own_thread(master, app, options, log)


def scratch_prefix() -> str:
    """How the directories of this process's sessions begin; it stands on the command lines of all their JVMs."""
    return f"{_SCRATCH}-{os.getpid()}-"


def _java_home() -> Path | None:
    """JAVA_HOME if it holds a Java, None if there is one on the path.  Raises JavaMissingError."""
    if (home := os.environ.get("JAVA_HOME")) and (Path(home) / "bin" / "java").exists():
        return Path(home)
    if shutil.which("java"):
        return None
    looked = (
        f"JAVA_HOME={home} holds no bin/java, and there is none on the PATH" if home else "there is no java on the PATH"
    )
    raise JavaMissingError(f"Spark needs Java 17 or newer, but {looked}: install openjdk-17-jre-headless")


def _places(scratch: Path, brief: bool) -> dict[str, str]:
    java = [f"-Djava.io.tmpdir={scratch}", f"-Dderby.system.home={scratch}", *(_BRIEF if brief else ())]
    return {
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": " ".join(java),
    }


@contextlib.contextmanager
def _environment(scratch: Path, java_home: Path | None, *, loopback: bool) -> Iterator[None]:
    """What the JVM inherits, in this process's environment only while it starts."""
    import pyspark

    packages = str(Path(__file__).resolve().parents[2])
    wanted = {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), packages])),
        "SPARK_CONF_DIR": str(scratch),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1" if loopback else os.environ.get("SPARK_LOCAL_IP"),
        "JAVA_HOME": str(java_home) if java_home else None,
        "SPARK_ENV_LOADED": None,
        "PYSPARK_SUBMIT_ARGS": None,
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


def _in_own_thread(master: str, app: str, options: dict[str, str], log: Path) -> SparkSession:
    """Start in a thread that then ends: in the main thread pyspark would take over the handling of Ctrl-C."""
    outcome: list[SparkSession | BaseException] = []

    def start() -> None:
        try:
            outcome.append(_build(master, app, options))
        except Exception as error:  # noqa: BLE001 (pyspark raises whatever Java threw)
            outcome.append(error)

    thread = threading.Thread(target=start, name="spark-start", daemon=True)
    thread.start()
    thread.join()
    result = outcome[0]
    if isinstance(result, BaseException):
        raise SessionError(_explain(result, log)) from result
    return result


def _build(master: str, app: str, options: dict[str, str]) -> SparkSession:
    from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
    from pyspark.sql import SparkSession

    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        server.handle_error = _note_lost_connection  # type: ignore[method-assign, assignment]
    builder = SparkSession.builder.master(master).appName(app)
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _note_lost_connection(server: object, request: object, client_address: object) -> None:  # noqa: ARG001
    """Print no traceback for a JVM that died: the call that waits for it raises."""
    logging.getLogger("pipeline.spark.session").info("a connection of Spark's was lost", exc_info=True)


def _explain(error: BaseException, log: Path) -> str:
    text = log.read_text(errors="replace") if log.exists() else ""
    if "UnsupportedClassVersionError" in text:
        return "Spark needs Java 17 or newer, but the one it found is older: install openjdk-17-jre-headless"
    tail = "\n".join(text.splitlines()[-15:])
    return f"Spark did not start: {str(error).strip().splitlines()[0]}\n{tail}".rstrip()
