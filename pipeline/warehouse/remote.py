"""Runs on file systems that Spark can read but this process cannot: ``hdfs://``, ``s3a://`` and the like."""

from __future__ import annotations

import contextlib
import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

from history import FormatError, RunFiles
from pipeline.spark.actions import run_action
from pipeline.spark.hadoop_fs import FarFile, copy_here, for_readers, head, listing, tail
from pipeline.warehouse.staging import GROWTH, RECORDED, stage, staged, staged_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The files of a run, by their names in :data:`RECORDED`.
Files: TypeAlias = Mapping[str, FarFile]


def look_at(spark: SparkSession, place: str) -> Files | None:
    """Return the files of the run in a place, or None if it is a single file of another format.

    Raises OSError that names the place.
    """
    try:
        files = _files(spark, place)
        if "history.jsonl" in files:
            return None if _is_foreign(spark, place, files) else files
    except Exception as error:  # noqa: BLE001 (whatever Java says of one place must not end the others)
        raise OSError(f"{place}: {_first_line(error)}") from None
    raise FileNotFoundError(f"{place}: there is no history here")


def contents(spark: SparkSession, runs: Mapping[int, Files]) -> DataFrame:
    """Return (place, file, content) for the files of some runs.

    All files of a run are in one partition.  There are as many partitions as runs, up to four for each core.  A file
    that disappears before it is read is left out. Raises JobError if one is already gone.
    """
    there = [(file.uri, number, name) for number, files in runs.items() for name, file in files.items()]
    # The form in which the reader returns the paths.
    names = [(unquote(uri).replace(":///", ":/", 1), number, name) for uri, number, name in there]
    reader = spark.read.format("binaryFile").option("ignoreMissingFiles", "true")
    frame: DataFrame = run_action(lambda: reader.load([for_readers(uri) for uri, _, _ in there]))
    known = spark.createDataFrame(names, "path string, place long, file string")
    tasks = min(len(runs), 4 * spark.sparkContext.defaultParallelism)
    return frame.join(known, "path").select("place", "file", "content").repartition(tasks, "place")


@contextlib.contextmanager
def staged_without_history(
    spark: SparkSession, place: str, files: Files, shared: Path | None
) -> Iterator[tuple[str, RunFiles]]:
    """Yield a run whose history is too large to copy here, staged in ``shared``.

    Its fingerprint is computed from the first line of the history, its size, its modification time and its last bytes.
    """
    small = {name: head(spark, file.uri, file.size) for name, file in files.items() if name != "history.jsonl"}
    history = files["history.jsonl"]
    first = head(spark, history.uri).partition(b"\n")[0]
    known = json.dumps({"bytes": history.size, "modified": history.modified}).encode()
    small["history.jsonl"] = b"\n".join([first, known, tail(spark, history.uri, history.size)])
    with staged_bytes(place, small, shared) as run:
        yield run


def _is_foreign(spark: SparkSession, place: str, files: Files) -> bool:
    """Return whether ``place`` is a single file that does not look like our own history."""
    name = unquote(place.rpartition("/")[2])
    if name == "history.jsonl" or not unquote(files["history.jsonl"].uri).endswith(f"/{name}"):
        return False
    return not head(spark, place, 64).removeprefix(BOM_UTF8).lstrip().startswith(b'{"')


@contextlib.contextmanager
def staged_copy(spark: SparkSession, place: str, shared: Path | None) -> Iterator[tuple[str, RunFiles]]:
    """Yield the run in the file in ``place``, copied here under its own name and its directory's.

    Errors name ``place``.  Raises OSError if there is no room for the file and for its conversion.
    """
    with stage(shared) as directory:
        parent, name = map(unquote, place.rsplit("/", 2)[1:])
        path = Path(directory, parent or "files", name)
        path.parent.mkdir()
        copy_here(spark, place, path, 1 + GROWTH)
        try:
            with staged(path, shared) as run:
                yield run
        except FormatError as error:
            raise FormatError(error.source.replace(str(path), place), error.place, error.message) from None


def _files(spark: SparkSession, place: str) -> Files:
    """Return the recorded files in a run's directory; a single file counts as a history."""
    files = listing(spark, place)
    whole = {name: file for name, file in files.items() if name in RECORDED}
    return {"history.jsonl": file for file in files.values()} if not whole and len(files) == 1 else whole  # noqa: B035


def _first_line(error: Exception) -> str:
    """Return the message of a Java exception, without the stack."""
    java = getattr(error, "java_exception", None)
    return str(java.toString() if java is not None else error).splitlines()[0]
