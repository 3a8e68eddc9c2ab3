"""Find the process of a session's JVM."""

from __future__ import annotations

from pyspark.sql import SparkSession


def jvm_pid(session: SparkSession) -> int:
    """Return the process id of the session's JVM, which is also the parent of its Python workers."""
    gateway = session.sparkContext._gateway
    assert gateway is not None
    return int(gateway.jvm.ProcessHandle.current().pid())
