"""Measure how long a warm session takes for the tables of a default run: a minute, 12,000 operations, 3 faults.

    python bench/pipeline/latency.py [--rounds 10] [--idle 60] [--operations 12000]

Prints one JSON object for each round, and a summary.  ``first`` is what a user waits for: the first real job after
warming up and ``--idle`` seconds without any job, in which Spark ends its Python workers.  The cost of the idle session
is printed as well.  Processor seconds (driver, JVM, Python workers) are given because wall-clock time means little on a
machine that does other work.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from history import Header, HistoryWriter, Probe, RunFiles
from history.records.probes import probes_header
from pipeline import WarmSession, local_tables, run_tables
from pipeline.spark.warm import family
from tests.support.pipeline.jvm import jvm_pid

SECOND = 1_000_000_000


def default_run(root: Path, operations: int, seed: int = 1, clients: int = 10, keys: int = 5) -> RunFiles:
    """Write a valid register history at 200 operations per second, with a fault of 10 s in every 20 s."""
    rng = random.Random(seed)
    run = RunFiles(root)
    root.mkdir(parents=True)
    span = SECOND * operations // 200
    now = [0]
    writer = HistoryWriter(run.history, Header(test="latency"), started_ns=0, clock=lambda: now[0])
    for time_ns, act in sorted(
        _clients(rng, operations, clients, keys, span) + _faults(span), key=lambda moment: moment[0]
    ):
        now[0] = time_ns
        act(writer)
    writer.close()
    probes = [
        Probe(place * span // 1500, f"n{place % 5 + 1}", "follower", 3, "n1", 0, place, place, place)
        for place in range(1500)
    ]
    run.probes.write_text("\n".join([probes_header(), *(json.dumps(probe.to_json()) for probe in probes), ""]))
    return run


def _clients(rng: random.Random, operations: int, clients: int, keys: int, span: int) -> list[Any]:
    """Return the events of a closed loop, each as its time (ns) and the function that writes it.

    Every operation takes effect at its completion, so all of them are linearizable.
    """
    moments: list[Any] = []
    values: dict[str, int] = {}
    step = span * clients // operations
    for number in range(operations):
        client, key = number % clients, f"k{rng.randrange(keys)}"
        begin = number // clients * step + client * step // clients
        f = rng.choice(["read", "write"])

        def invoke(
            writer: HistoryWriter, client: int = client, f: str = f, key: str = key, value: int = number
        ) -> None:
            asked = None if f == "read" else value
            writer.append("invoke", client, f, value=asked, key=key, node="n1", phase="main")

        def complete(
            writer: HistoryWriter, client: int = client, f: str = f, key: str = key, value: int = number
        ) -> None:
            if f == "write":
                values[key] = value
            writer.append("ok", client, f, value=values.get(key), key=key, node="n1", phase="main")

        moments += [(begin, invoke), (begin + rng.randrange(step // 10, step * 9 // 10), complete)]
    return moments


def _faults(span: int) -> list[Any]:
    moments = []
    for number, begin in enumerate(range(10 * SECOND, span, 20 * SECOND)):
        value = {"id": number, "nodes": ["n1", "n2"], "targets": {"n1": ["n2"]}, "leader": "n1"}
        steps = [(0, "invoke", "inject"), (300, "ok", "inject"), (10_000, "invoke", "heal"), (10_100, "ok", "heal")]
        for after_ms, kind, action in steps:
            proof = {"witness": {"dropped": 9}} if kind == "ok" else {}
            act = partial(_record_fault, kind=kind, value={**value, "action": action, **proof})
            moments.append((begin + after_ms * 1_000_000, act))
    return moments


def _record_fault(writer: HistoryWriter, kind: Any, value: Any) -> None:
    writer.append(kind, "nemesis", "partition-majorities-ring", value=value)


def processor_seconds(pids: list[int]) -> dict[int, float]:
    """Return the user and system time of each process so far."""
    spent = {}
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            continue
        spent[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return spent


def resident(pids: list[int]) -> int:
    """Return the resident megabytes of some processes, counting shared memory for each."""
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--idle", type=float, default=60.0)
    options.add_argument("--operations", type=int, default=12_000)
    options.add_argument("--master", default="local[2]")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as scratch:
        run = default_run(Path(scratch) / "run", chosen.operations)
        began = time.monotonic()
        tables = local_tables(run, model="register", deadline_s=30)
        local = time.monotonic() - began
        began = time.monotonic()
        warm = WarmSession(chosen.master, app="bench")
        spark = warm.get(3600)
        warming = time.monotonic() - began
        jvm = jvm_pid(spark)
        print(json.dumps({"warm-up s": round(warming, 2), "cpu s": processor_seconds([jvm])[jvm]}), flush=True)
        idle = sum(processor_seconds(family(jvm)).values())
        time.sleep(chosen.idle)
        idle = sum(processor_seconds(family(jvm)).values()) - idle
        print(
            json.dumps({"idle s": chosen.idle, "idle cpu s": round(idle, 2), "MB": resident(family(jvm))}), flush=True
        )
        walls = []
        for _ in range(chosen.rounds):
            before, driver, began = processor_seconds(family(jvm)), time.process_time(), time.monotonic()
            found = run_tables(spark, run, model="register", deadline_s=30)
            walls.append(time.monotonic() - began)
            spent = {pid: used - before.get(pid, 0) for pid, used in processor_seconds(family(jvm)).items()}
            figures = {
                "wall s": round(walls[-1], 3),
                "cpu s": {
                    "driver": round(time.process_time() - driver, 2),
                    "jvm": round(spent[jvm], 2),
                    "workers": round(sum(spent.values()) - spent[jvm], 2),
                },
                "load": round(os.getloadavg()[0], 1),
            }
            print(json.dumps(figures), flush=True)
            assert found.faults == tables.faults
        warm.stop()
    walls_after = sorted(walls[1:])
    print(json.dumps({"first s": round(walls[0], 2), "median s": round(walls_after[len(walls_after) // 2], 2),
                      "local s": round(local, 2)}))  # fmt: skip


if __name__ == "__main__":
    main()
