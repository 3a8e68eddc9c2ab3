"""Compare how fast our compiled scanner and msgspec read ``history.jsonl`` into columns.

    python -m bench.history.jsonl [--operations 1000000] [--rounds 3]

Prints a table of processor seconds and peak memory, the lowest of all rounds, each in its own process.  Takes two
minutes and needs no root.  It times reading the file into one row per event (``scanner``, ``msgspec, rows``), and into
paired operations (``columns``).
"""

from __future__ import annotations

import argparse
import itertools
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np

from bench.pipeline.generated_histories import write_history
from history.codes import ABSENT
from history.readers import jsonl_kernel as kernel
from history.readers.jsonl_columns import Scan, read_columns
from history.readers.scanned import read_bytes

CHUNK: Final = 1 << 16
READERS: Final = ("scanner", "scanner, columns", "msgspec, objects", "msgspec, rows")


class Line(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One event of a client or of the nemesis."""

    index: int
    time: int
    type: Literal["invoke", "ok", "fail", "info"]
    process: int | Literal["nemesis"]
    f: str
    value: Any
    key: str | int | msgspec.UnsetType | None = msgspec.UNSET
    node: str | msgspec.UnsetType = msgspec.UNSET
    error: str | msgspec.UnsetType = msgspec.UNSET
    phase: Literal["warm-up", "main", "final"] | msgspec.UnsetType = msgspec.UNSET
    intended: int | msgspec.UnsetType = msgspec.UNSET


def scanned(path: Path) -> None:
    _, data, start = read_bytes(path)
    Scan(data, start, path)


def decoded(path: Path) -> int:
    """Decode every line into an object and drop it, as a lower bound."""
    decoder, count = msgspec.json.Decoder(Line), 0
    with path.open("rb") as file:
        file.readline()
        for line in file:
            decoder.decode(line)
            count += 1
    return count


def decoded_rows(path: Path) -> None:
    """Do as much as the scanner: make all columns, and refuse lines in which a field occurs twice."""
    decoder, numbers, pieces, start = msgspec.json.Decoder(Line), dict[object, int](), list[Any](), 0

    def number(name: object) -> int:
        return numbers.setdefault(name, len(numbers))

    with path.open("rb") as file:
        start = len(file.readline())
        while texts := list(itertools.islice(file, CHUNK)):
            lines = [decoder.decode(text) for text in texts]
            for text, line in zip(texts, lines, strict=True):
                optional = (line.key, line.node, line.error, line.phase)
                if text.count(b'":') != 6 + sum(one is not msgspec.UNSET for one in optional):
                    raise ValueError("a field is given twice, or a string contains a quote")
            rows = np.empty((len(lines), kernel.WIDTH), np.int64)
            values = [line.value for line in lines]
            ends = start + np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
            rows[:, kernel.END] = ends
            rows[1:, kernel.START], rows[0, kernel.START] = ends[:-1], start
            for column, found in {
                kernel.INDEX: (line.index for line in lines),
                kernel.TIME: (line.time for line in lines),
                kernel.TYPE: (number(line.type) for line in lines),
                kernel.PROCESS: (kernel.NEMESIS if line.process == "nemesis" else line.process for line in lines),
                kernel.F: (number(line.f) for line in lines),
                kernel.KEY: (number(line.key) for line in lines),
                kernel.VALUE: (value if type(value) is int else ABSENT for value in values),
                kernel.SHAPE: (
                    kernel.INTEGER if type(value) is int else kernel.NULL if value is None else kernel.STRANGE
                    for value in values
                ),
            }.items():
                rows[:, column] = np.fromiter(found, np.int64, len(lines))
            start = int(ends[-1])
            for row in np.flatnonzero(rows[:, kernel.SHAPE] == kernel.STRANGE).tolist():
                pair_of(rows[row], values[row])
            pieces.append(rows)
    np.concatenate(pieces)


def pair_of(row: np.ndarray[Any, Any], value: Any) -> None:
    """Write the two or three values of a cas into a row."""
    items = [*value, None][:3]
    row[[kernel.OLD, kernel.VALUE, kernel.SEEN]] = [ABSENT if item is None else item for item in items]
    row[kernel.SHAPE] = kernel.PAIR if len(value) == 2 else kernel.TRIPLE


MEASURED: dict[str, Callable[[Path], object]] = {
    "scanner": scanned,
    "scanner, columns": read_columns,
    "msgspec, objects": decoded,
    "msgspec, rows": decoded_rows,
}


def measure(reader: str, path: Path, warm: Path) -> None:
    """Print seconds (user, system) and bytes of one reader, after everything has been compiled and imported."""
    MEASURED[reader](warm)
    before = resource.getrusage(resource.RUSAGE_SELF)
    MEASURED[reader](path)
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(
        after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, (after.ru_maxrss - before.ru_maxrss) * 1024
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        measure(asked.measure[0], Path(asked.measure[1]), Path(asked.measure[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        path, warm = Path(folder) / "history.jsonl", Path(folder) / "warm.jsonl"
        write_history(path, asked.operations, 10)
        write_history(warm, 1000, 10)
        print(f"{asked.operations} operations, {path.stat().st_size / 1e6:.0f} MB\n")
        print("| reader | user s | system s | MB | times |\n| --- | --- | --- | --- | --- |")
        found: dict[str, list[list[float]]] = {reader: [] for reader in READERS}
        for _ in range(asked.rounds):  # in turns, so that other work slows each as much
            for reader, results in found.items():
                command = [sys.executable, "-m", "bench.history.jsonl", "--measure", reader, str(path), str(warm)]
                results.append([float(one) for one in subprocess.check_output(command, text=True).split()])
        best = {reader: [min(column) for column in zip(*results, strict=True)] for reader, results in found.items()}
        for reader, (user, system, memory) in best.items():
            ratio = (user + system) / sum(best["scanner"][:2])
            print(f"| {reader} | {user:.2f} | {system:.2f} | {memory / 1e6:.0f} | {ratio:.1f} |")


if __name__ == "__main__":
    main()
