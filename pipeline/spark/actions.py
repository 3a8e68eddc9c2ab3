"""Run Spark actions so that they raise one kind of exception, with the first cause."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from checker import ModelError, model_named
from pipeline.errors import JobError


def run_action(action: Callable[[], Any]) -> Any:
    """Run a Spark action.  Raises JobError with the first cause instead of Spark's own exceptions."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        return action()
    except (PySparkException, Py4JError) as error:
        raise JobError(cause(str(error))) from error


def cause(text: str) -> str:
    """Return the exception that ends the first Python traceback in a report, else Spark's innermost exception.

    For our own exceptions, only the message is kept.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    for place, line in enumerate(lines):
        if line.lstrip().startswith("Traceback"):
            # Text that a worker printed before it could answer is indented further.
            inside = line[: len(line) - len(line.lstrip())] + " "
            reason = next((later.strip() for later in lines[place + 1 :] if not later.startswith(inside)), line.strip())
            return re.sub(r"^pipeline\.errors\.\w+: ", "", reason) or reason
    messages = [line.rpartition("SparkException:")[2].strip() for line in lines if "SparkException:" in line]
    rest = [line for line in lines if "SparkException:" not in line]
    return next(filter(None, (*messages, *rest)), "Spark gave no reason")


def require_visible(path: Path) -> None:
    """Raise JobError if this worker does not see a file that the driver created."""
    if not path.exists():
        raise JobError(
            f"the worker {socket.gethostname()} cannot see {path}: mount the directory of runs there under the "
            f"same path, or name the history by a URI that Spark reads (hdfs://, s3a://)"
        )


def require_model(name: str) -> None:
    """Raise JobError if this worker lacks a model: models that come with systems are not sent to a cluster."""
    try:
        model_named(name)
    except ModelError:
        raise JobError(
            f"the worker {socket.gethostname()} does not know the model {name!r}: install the package of the system "
            f"that provides it on every machine of the cluster, or judge with --no-spark"
        ) from None
