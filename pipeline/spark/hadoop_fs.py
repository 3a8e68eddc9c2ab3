"""Access files through Hadoop's file systems, like Spark: names, sizes, a few bytes, copies."""

from __future__ import annotations

import errno
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from pipeline.errors import PackageMissingError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_WILD: Final = re.compile(r"[\\{}\[\]*?]")
_TAIL: Final = 1 << 20
_NO_CLASS: Final = re.compile("No FileSystem for scheme|ClassNotFound|NoClassDefFound|NoSuchMethod")
#: Hadoop's module for each kind of object store.  Its version must be that of the Hadoop that comes with Spark.
_MODULES: Final = {
    "s3a": "hadoop-aws",
    "gs": "hadoop-gcp",
    "abfs": "hadoop-azure",
    "abfss": "hadoop-azure",
    "oss": "hadoop-aliyun",
}
_OLD: Final = {"s3": "s3a", "s3n": "s3a"}


@dataclass(frozen=True, slots=True)
class FarFile:
    """A file: its URI, its size in bytes, and when it was modified (ms since 1970), according to its file system."""

    uri: str
    size: int
    modified: int


def is_remote(place: str) -> bool:
    """Return whether a place is a URI."""
    return _SCHEME.match(place) is not None


def for_readers(uri: str) -> str:
    """Return a URI for Spark's readers: percent signs decoded, glob characters escaped."""
    return _WILD.sub(r"\\\g<0>", unquote(uri))


def listing(spark: SparkSession, place: str) -> dict[str, FarFile]:
    """Return the files in a directory by name, or the one file.

    Like every function here that takes a URI, it raises PackageMissingError and py4j's errors.
    """
    system, root = _system(spark, place)
    status = system.getFileStatus(root)
    entries = [status] if status.isFile() else [entry for entry in system.listStatus(root) if entry.isFile()]
    return {
        entry.getPath().getName(): FarFile(
            entry.getPath().toUri().toString(), int(entry.getLen()), int(entry.getModificationTime())
        )
        for entry in entries
    }


def head(spark: SparkSession, uri: str, count: int = _TAIL) -> bytes:
    """Return the first ``count`` bytes of a file, or all of a shorter one."""
    return _bytes(spark, uri, 0, count)


def tail(spark: SparkSession, uri: str, size: int, count: int = _TAIL) -> bytes:
    """Return the last ``count`` bytes of a file that is ``size`` bytes long, or all of a shorter one."""
    start = max(0, size - count)
    return _bytes(spark, uri, start, size - start)


def copy_here(spark: SparkSession, uri: str, to: Path, room: int) -> None:
    """Copy a file to this machine, whose disk must have ``room`` times its size free.

    Raises OSError if the disk is too full or the file changed during the copy, and py4j's errors.
    """
    system, path = _system(spark, uri)
    size, free = int(system.getFileStatus(path).getLen()), shutil.disk_usage(to.parent).free
    if size * room > free:
        raise OSError(errno.ENOSPC, f"{size} bytes need {size * room} free bytes in {to.parent}, which has {free}")
    delete, raw = False, True
    system.copyToLocalFile(delete, path, _system(spark, to.as_uri())[1], raw)
    if (copied := to.stat().st_size) != size:
        raise OSError(errno.EIO, f"{copied} of {size} bytes were copied: the file changed during the copy")


def torn_tail(spark: SparkSession, uri: str, size: int) -> bytes:
    """Return the bytes after a file's last line end: an incomplete line, usually nothing."""
    count = _TAIL
    while b"\n" not in (end := tail(spark, uri, size, count)) and count < size:
        count *= 8
    return end.rpartition(b"\n")[2]


def _bytes(spark: SparkSession, uri: str, start: int, count: int) -> bytes:
    system, path = _system(spark, uri)
    stream = system.open(path)
    try:
        stream.seek(start)
        return bytes(stream.readNBytes(count))
    finally:
        stream.close()


def _system(spark: SparkSession, place: str) -> tuple[Any, Any]:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    java: Any = spark.sparkContext._jvm  # noqa: SLF001 (pyspark has no public way to Hadoop's file systems)
    path = java.org.apache.hadoop.fs.Path(java.java.net.URI(place))
    try:
        return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), path  # noqa: SLF001
    except Py4JJavaError as error:
        thrown = str(error.java_exception.toString())
        if _NO_CLASS.search(thrown) is None:
            raise
        hadoop = str(java.org.apache.hadoop.util.VersionInfo.getVersion())
        raise PackageMissingError(to_add(place.partition(":")[0].lower(), hadoop, thrown)) from None


def to_add(scheme: str, hadoop: str, thrown: str) -> str:
    """Explain how to make URIs of a scheme readable."""
    if scheme in _OLD:
        return f"Hadoop {hadoop} cannot read {scheme}:// URIs: use {_OLD[scheme]}://"
    module = _MODULES.get(scheme)
    name = f"spark.jars.packages=org.apache.hadoop:{module}:{hadoop}" if module else f"spark.jars=JAR of {scheme}://"
    if "NoSuchMethod" in thrown or "NoClassDefFound" in thrown:
        return f"the jar for {scheme}:// URIs does not fit Hadoop {hadoop} ({thrown}): name --spark-conf {name}"
    return f"Spark has no jar for {scheme}:// URIs: add it with --spark-conf {name}, or in spark-defaults.conf"
