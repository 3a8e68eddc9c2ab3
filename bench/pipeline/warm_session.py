"""Measure what an idle warm Spark session costs a run: pairs of runs, one with it and one without.

    sudo python bench/pipeline/warm_session.py [--pairs 5] [--store DIRECTORY] [words of `harness run`]

Without words: --cluster netns:beside --rate 500 --time-limit 12 --dledger-version 0.3.2. Prints one JSON object for
each run, and the medians of each side.  Processor seconds and peak resident memory are those of the JVM and its
workers, from the first operation to the end of the history.  Each term after the first counts as an election.  A run
takes about 40 seconds; nothing else should run meanwhile, and ``load`` shows whether something did.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from history import RunFiles, pair, read_history, read_probes
from pipeline.spark.session import SCRATCH
from pipeline.spark.warm import family

WORDS = ["--cluster", "netns:beside", "--rate", "500", "--time-limit", "12", "--dledger-version", "0.3.2"]
WAITED = re.compile(r"verdict ([\d.]+) s and report ([\d.]+) s after the run")
Sample = tuple[float, float, float]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--pairs", type=int, default=5)
    options.add_argument("--store", type=Path)
    chosen, words = options.parse_known_args()
    sides: dict[str, list[dict[str, Any]]] = {"--spark": [], "--no-spark": []}
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as scratch:
        store = chosen.store or Path(scratch)
        for number in range(chosen.pairs):
            for side in sorted(sides, reverse=number % 2 == 0):
                figures = one_run(store, [*(words or WORDS), side])
                sides[side].append(figures)
                print(json.dumps({"run": side, **figures}), flush=True)
    for side, found in sides.items():
        names = [name for name, value in found[0].items() if isinstance(value, int | float)]
        medians = {name: round(statistics.median(run[name] for run in found), 2) for name in names}
        print(json.dumps({"median of": side, **medians}))


def one_run(store: Path, words: list[str]) -> dict[str, Any]:
    """Return the figures of one run."""
    before, load = set(store.glob("*/2*")), os.getloadavg()[0]
    command = [sys.executable, "-m", "harness", "run", "--store", str(store), *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    samples: list[Sample] = []
    while process.poll() is None:
        samples += sample(process.pid)
        time.sleep(0.5)
    assert process.stderr is not None
    output = process.stderr.read()
    new = set(store.glob("*/2*")) - before
    assert len(new) == 1, output
    run = RunFiles(new.pop())
    waited = WAITED.search(output)
    return {
        "load": round(load, 1),
        **of_the_load(run),
        **of_the_jvm(run, samples),
        "verdict": json.loads(run.results.read_text())["verdict"],
        "verdict s": float(waited[1]) if waited else None,
        "page s": float(waited[2]) if waited else None,
    }


def sample(pid: int) -> list[Sample]:
    """Return the present processor seconds and resident MB of a process's JVM and its children."""
    seconds = megabytes = 0.0
    jvms = [one for one in family(pid)[1:] if SCRATCH.encode() in read(f"/proc/{one}/cmdline")]
    if not jvms:
        return []
    for one in {member for jvm in jvms for member in family(jvm)}:
        fields = read(f"/proc/{one}/stat").rpartition(b")")[2].split()
        if fields:
            seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            megabytes += int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return [(time.time(), seconds, megabytes)]


def read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def of_the_load(run: RunFiles) -> dict[str, Any]:
    """Return rate and latency of the main phase, how late operations were issued, and the number of elections."""
    state = json.loads(run.state.read_text())
    moments, pace = state["moments"], state["pace"]
    operations = pair(read_history(run.history).events)
    done = [o for o in operations if o.phase == "main" and o.outcome == "ok" and o.returned is not None]
    waits = sorted((o.returned - o.invoked) / 1e6 for o in done if o.returned is not None)
    terms = {probe.term for probe in read_probes(run.probes) if probe.answered and probe.term >= 0}
    return {
        "ok a second": round(len(done) / ((moments["main-end"] - moments["main"]) / 1e9), 1),
        "p50 ms": round(waits[len(waits) // 2], 2),
        "p99 ms": round(waits[len(waits) * 99 // 100], 2),
        "late p99 ms": pace["late_p99_ms"],
        "elections": len(terms) - 1,
    }


def of_the_jvm(run: RunFiles, samples: list[Sample]) -> dict[str, float]:
    began = datetime.fromisoformat(read_history(run.history).header.started).timestamp()
    ended = run.history.stat().st_mtime
    during = [one for one in samples if began <= one[0] <= ended]
    if not during:
        return {"jvm cpu s": 0.0, "jvm MB": 0.0}
    spent = during[-1][1] - during[0][1]
    return {"jvm cpu s": round(spent, 2), "jvm MB": round(max(megabytes for _, _, megabytes in during))}


if __name__ == "__main__":
    main()
