"""Runs on file systems that Spark reads and this process does not: ``hdfs://``, ``s3a://`` and the like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pipeline.places import listing
from pipeline.staging import RECORDED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def remote_runs(spark: SparkSession, places: Mapping[int, str]) -> tuple[DataFrame | None, dict[int, str]]:
    """(the recorded files of the runs in ``places``: place, file and content; what is wrong with a place).

    The frame is None if no place holds a history.  A file that goes away between now and the reading is left out.
    """
    owners: dict[str, tuple[int, str]] = {}
    missing: dict[int, str] = {}
    for number, place in places.items():
        try:
            found = _files(spark, place)
        except Exception as error:  # noqa: BLE001 (whatever Java says of one place must not end the others)
            missing[number] = f"OSError: {place}: {_first_line(error)}"
            continue
        if "history.jsonl" not in found:
            missing[number] = f"FileNotFoundError: {place}: there is no history here"
        else:
            owners |= {path: (number, file) for file, path in found.items()}
    if not owners:
        return None, missing
    reader = spark.read.format("binaryFile").option("ignoreMissingFiles", "true")
    names = [(path, number, file) for path, (number, file) in owners.items()]
    known = spark.createDataFrame(names, "path string, place long, file string")
    return reader.load(list(owners)).join(known, "path").select("place", "file", "content"), missing


def _files(spark: SparkSession, place: str) -> dict[str, str]:
    """Name -> path of the recorded files in a run's directory; a single file is a history."""
    found = listing(spark, place)
    whole = {name: path for name, (path, _) in found.items() if name in RECORDED}
    if not whole and len(found) == 1:
        (path, _), *_ = found.values()
        return {"history.jsonl": path}
    return whole


def _first_line(error: Exception) -> str:
    """Java's own words, without the stack."""
    java = getattr(error, "java_exception", None)
    return str(java.toString() if java is not None else error).splitlines()[0]
