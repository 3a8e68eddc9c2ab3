"""Spark's settings: ours, overridden by the user's ``spark-defaults.conf``, overridden by the command line.

Spark reads them from a directory that the session makes (``SPARK_CONF_DIR``), which also has all other files of the
user's own directory.  Settings go into a file and not on a command line, because some of them are secrets.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_FILE: Final = "spark-defaults.conf"
_ENV: Final = "spark-env.sh"
_LOG4J: Final = "log4j2.properties"
_LINE: Final = re.compile(r"^[ \t]*([^\s#!=:][^\s=:]*)(?:[ \t]*[=:][ \t]*|[ \t]+)(.*?)[ \t]*$", re.MULTILINE)
_WRAPPED: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\\n[ \t]*")
_ESCAPED: Final = re.compile(r"\\(.)")
_JAVA: Final = ("spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions")
#: Settings that are lists, to which each layer adds, and the separator between their parts.
_LISTS: Final = {_JAVA[0]: " ", "spark.archives": ",", "spark.executorEnv.PYTHONPATH": os.pathsep}

_LOG4J_TEXT: Final = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
"""

#: Sourced by Spark's own launcher.  Ctrl-C and SIGHUP reach every process of the terminal, but only this process may
#: decide what they mean for the JVM and its children.
_ENV_TEXT: Final = """\
exec >>{log} 2>&1
trap '' INT HUP
"""


def conf_directory() -> Path | None:
    """Return the user's directory of settings, as Spark does: ``SPARK_CONF_DIR``, or ``conf`` in ``SPARK_HOME``."""
    if named := os.environ.get("SPARK_CONF_DIR"):
        return Path(named).resolve()
    return Path(home, "conf").resolve() if (home := os.environ.get("SPARK_HOME")) else None


def read_defaults(directory: Path | None) -> dict[str, str]:
    """Return the settings in the ``spark-defaults.conf`` of a directory, which has the format of Java properties."""
    if directory is None or not (path := directory / _FILE).is_file():
        return {}
    return {name: _ESCAPED.sub(r"\1", value) for name, value in _LINE.findall(_WRAPPED.sub(r"\1", path.read_text()))}


def merged(ours: Mapping[str, str], *theirs: Mapping[str, str], brief: Mapping[str, str]) -> dict[str, str]:
    """Merge layers of settings: the later ones win, except that lists (:data:`_LISTS`) are joined.

    ``brief`` is added unless the user sets Java options.
    """
    own_java = any(name in layer for name in _JAVA for layer in theirs)
    layers = (ours, *theirs) if own_java else (ours, brief, *theirs)
    settings: dict[str, str] = {}
    for name, value in (item for layer in layers for item in layer.items()):
        settings[name] = f"{settings[name]}{_LISTS[name]}{value}" if name in settings and name in _LISTS else value
    return settings


def write_directory(directory: Path, settings: Mapping[str, str], theirs: Path | None, log: Path) -> None:
    """Write the directory that Spark reads; the output of Spark and its launcher goes to ``log``."""
    lines = (f"{name}={value}\n".replace("\\", "\\\\") for name, value in settings.items())
    (directory / _FILE).write_text("".join(lines))
    (directory / _LOG4J).write_text(_LOG4J_TEXT)
    env = _ENV_TEXT.format(log=log)
    for file in theirs.iterdir() if theirs is not None and theirs.is_dir() else ():
        if file.name == _ENV:
            env += f". {shlex.quote(str(file))}\n"
        elif file.name != _FILE:
            (directory / file.name).unlink(missing_ok=True)
            (directory / file.name).symlink_to(file)
    (directory / _ENV).write_text(env)
