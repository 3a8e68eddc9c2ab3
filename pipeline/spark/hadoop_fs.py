"""Access to files through Hadoop's file systems, as Spark does: names, sizes, a few bytes, copies."""

from __future__ import annotations

import errno
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_WILD: Final = re.compile(r"[\\{}\[\]*?]")
_TAIL: Final = 1 << 20


def is_remote(place: str) -> bool:
    """Is this a URI?"""
    return _SCHEME.match(place) is not None


def uri_of(place: Path | str) -> str:
    """The ``file:`` URI of a local path, whatever Spark's default file system is; a URI is returned unchanged."""
    return str(place) if is_remote(str(place)) else Path(place).resolve().as_uri()


def for_readers(uri: str) -> str:
    """A URI for Spark's readers: percent signs decoded, characters of glob patterns escaped."""
    return _WILD.sub(r"\\\g<0>", unquote(uri))


def listing(spark: SparkSession, place: str) -> dict[str, tuple[str, int]]:
    """Name -> (URI, bytes) of the files in a directory, or of the one file.  Raises py4j's errors."""
    system, root = _system(spark, place)
    status = system.getFileStatus(root)
    found = [status] if status.isFile() else [entry for entry in system.listStatus(root) if entry.isFile()]
    return {entry.getPath().getName(): (entry.getPath().toUri().toString(), int(entry.getLen())) for entry in found}


def file_size(spark: SparkSession, uri: str) -> int:
    """Bytes of a file."""
    system, path = _system(spark, uri)
    return int(system.getFileStatus(path).getLen())


def head(spark: SparkSession, uri: str, count: int = _TAIL) -> bytes:
    """The first bytes of a file."""
    return _bytes(spark, uri, 0, count)


def copy_here(spark: SparkSession, uri: str, to: Path, room: int = 1) -> None:
    """Copy a file to this machine, whose disk must have ``room`` times its size left.

    Raises OSError if it has not, or if the file changed meanwhile; and py4j's errors.
    """
    system, path = _system(spark, uri)
    size, free = int(system.getFileStatus(path).getLen()), shutil.disk_usage(to.parent).free
    if size * room > free:
        raise OSError(errno.ENOSPC, f"{size} bytes need {size * room} free bytes in {to.parent}, where {free} are left")
    delete, raw = False, True
    system.copyToLocalFile(delete, path, _system(spark, to.as_uri())[1], raw)
    if (copied := to.stat().st_size) != size:
        raise OSError(errno.EIO, f"{copied} of {size} bytes were copied: it changed meanwhile")


def torn_tail(spark: SparkSession, uri: str, size: int) -> bytes:
    """The bytes after the last line end of a file: a line that was not written completely, usually nothing."""
    window = _TAIL
    while True:
        start = max(0, size - window)
        end = _bytes(spark, uri, start, size - start)
        if b"\n" in end or start == 0:
            return end.rpartition(b"\n")[2]
        window *= 8


def _bytes(spark: SparkSession, uri: str, start: int, count: int) -> bytes:
    system, path = _system(spark, uri)
    stream = system.open(path)
    try:
        stream.seek(start)
        return bytes(stream.readNBytes(count))
    finally:
        stream.close()


def _system(spark: SparkSession, place: str) -> tuple[Any, Any]:
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 (pyspark has no public way to Hadoop's file systems)
    path = java.org.apache.hadoop.fs.Path(java.java.net.URI(place))
    return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), path  # noqa: SLF001
