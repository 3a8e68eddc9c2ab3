"""Measure how fast a million transactions are judged, from the bytes of ``history.jsonl`` to the verdict.

    python -m bench.transactions.run [--transactions 1000000] [--rounds 3]

Prints a table of wall-clock seconds, processor seconds and peak memory, the lowest of all rounds.  Each round runs in
its own process, after compiled code was loaded.  The histories are of list-append: valid, with one write skew near the
beginning or the end, and with a thousand of them.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.transactions.histories import write_history
from checker import check_transactions
from history.readers import read_any


def measure(path: Path, warm: Path) -> None:
    """Print seconds of reading and of judging, CPU seconds, bytes, and the result."""
    check_transactions(read_any(warm, large=0))
    before = resource.getrusage(resource.RUSAGE_SELF)
    started = time.monotonic()
    history = read_any(path, large=0)
    read = time.monotonic()
    report = check_transactions(history)
    ended = time.monotonic()
    after = resource.getrusage(resource.RUSAGE_SELF)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(read - started, ended - read, used, after.ru_maxrss * 1024, report.verdict, sum(report.counts.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transactions", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        measure(Path(asked.measure[0]), Path(asked.measure[1]))
        return
    size = asked.transactions
    variants = {
        "valid": (), "one early": (size // 100,), "one late": (size - size // 100,),
        "1,000": tuple(range(size // 1001, size, size // 1001))[:1000],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        warm, path = Path(folder) / "warm.jsonl", Path(folder) / "history.jsonl"
        write_history(warm, 3000, (1000,))
        print("| anomalies | MB | read s | judge s | processor s | peak MB | verdict | found |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for name, places in variants.items():
            write_history(path, size, places)
            command = [sys.executable, "-m", "bench.transactions.run", "--measure", str(path), str(warm)]
            rounds = [subprocess.check_output(command, text=True).split() for _ in range(asked.rounds)]
            read, judged, used, memory = (min(float(row[column]) for row in rounds) for column in range(4))
            cells = [f"{path.stat().st_size / 1e6:.0f}", f"{read:.2f}", f"{judged:.2f}", f"{used:.2f}"]
            print("|", " | ".join([name, *cells, f"{memory / 1e6:.0f}", *rounds[0][4:]]), "|", flush=True)


if __name__ == "__main__":
    main()
