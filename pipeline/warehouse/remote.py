"""Runs on file systems that Spark reads and this process does not: ``hdfs://``, ``s3a://`` and the like."""

from __future__ import annotations

import contextlib
import json
import tempfile
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

from history import FormatError, RunFiles
from pipeline.spark.actions import run_action
from pipeline.spark.hadoop_fs import copy_here, for_readers, head, listing
from pipeline.warehouse.staging import GROWTH, RECORDED, staged, staged_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Name in :data:`RECORDED` -> (URI, bytes) of a run's files.
Files: TypeAlias = Mapping[str, tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Found:
    """The content of some places: runs with their files, single files of other formats, or an error."""

    runs: dict[int, Files]
    foreign: list[int]
    missing: dict[int, str]


def look_at(spark: SparkSession, places: Mapping[int, str]) -> Found:
    """Look for runs; an error of one place is noted and does not end the others."""
    found = Found({}, [], {})
    for number, place in places.items():
        try:
            files = _files(spark, place)
            if "history.jsonl" not in files:
                found.missing[number] = f"FileNotFoundError: {place}: there is no history here"
            elif _is_foreign(spark, place, files):
                found.foreign.append(number)
            else:
                found.runs[number] = files
        except Exception as error:  # noqa: BLE001 (whatever Java says of one place must not end the others)
            found.missing[number] = f"OSError: {place}: {_first_line(error)}"
    return found


def contents(spark: SparkSession, runs: Mapping[int, Files]) -> DataFrame:
    """Place, file and content of the files of some runs.

    A file that goes away between now and the reading is left out.  Raises JobError if one has gone already.
    """
    there = [(uri, number, file) for number, files in runs.items() for file, (uri, _) in files.items()]
    # So the reader returns them.
    names = [(unquote(uri).replace(":///", ":/", 1), number, file) for uri, number, file in there]
    reader = spark.read.format("binaryFile").option("ignoreMissingFiles", "true")
    frame: DataFrame = run_action(lambda: reader.load([for_readers(uri) for uri, _, _ in there]))
    known = spark.createDataFrame(names, "path string, place long, file string")
    return frame.join(known, "path").select("place", "file", "content")


@contextlib.contextmanager
def staged_without_history(spark: SparkSession, place: str, files: Files) -> Iterator[tuple[str, RunFiles]]:
    """A run whose history is too large to be copied here.

    The run's fingerprint is then computed from the first line of the history and its size.
    """
    small = {name: head(spark, uri, size) for name, (uri, size) in files.items() if name != "history.jsonl"}
    uri, size = files["history.jsonl"]
    first = head(spark, uri).partition(b"\n")[0]
    small["history.jsonl"] = first + b"\n" + json.dumps({"bytes": size}).encode()
    with staged_bytes(place, small) as found:
        yield found


def _is_foreign(spark: SparkSession, place: str, files: Files) -> bool:
    """Is ``place`` a single file that does not look like our own history?"""
    name = unquote(place.rpartition("/")[2])
    if name == "history.jsonl" or not unquote(files["history.jsonl"][0]).endswith(f"/{name}"):
        return False
    return not head(spark, place, 64).removeprefix(BOM_UTF8).lstrip().startswith(b'{"')


@contextlib.contextmanager
def staged_copy(spark: SparkSession, place: str) -> Iterator[tuple[str, RunFiles]]:
    """The run in the file in ``place``, copied here under its own name and its directory's; errors name ``place``.

    Raises OSError if there is no room for it and for what it is written as.
    """
    with tempfile.TemporaryDirectory(prefix="harness-stage-") as directory:
        parent, name = map(unquote, place.rsplit("/", 2)[1:])
        path = Path(directory, parent or "files", name)
        path.parent.mkdir()
        copy_here(spark, place, path, 1 + GROWTH)
        try:
            with staged(path) as found:
                yield found
        except FormatError as error:
            raise FormatError(error.source.replace(str(path), place), error.place, error.message) from None


def _files(spark: SparkSession, place: str) -> Files:
    """The recorded files in a run's directory; a single file is a history."""
    found = listing(spark, place)
    whole = {name: file for name, file in found.items() if name in RECORDED}
    return {"history.jsonl": file for file in found.values()} if not whole and len(found) == 1 else whole  # noqa: B035


def _first_line(error: Exception) -> str:
    """The message of a Java exception, without the stack."""
    java = getattr(error, "java_exception", None)
    return str(java.toString() if java is not None else error).splitlines()[0]
