"""How many operations a second does the engine issue and record, with a client that does nothing.

    python -m bench.engine.run [--operations 200000] [--workers 10] [--rounds 3] [--profile]

The workload is ``register`` on five keys without a rate, the history is on disk and synced every 100 ms, as in a run.
Prints operations a second of wall time and of processor time, and how much the process's memory grew over the
operations (MB); each round in this process, no root.  ``--profile`` prints where the time goes instead.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import tempfile
import time
from pathlib import Path
from typing import Final

from harness.clients import Outcome
from harness.execution.interpreter import follow
from harness.execution.load import Load, Tally
from harness.execution.standstills import Standstills
from harness.generators import Generator, Invocation, limit
from harness.plan import Plan
from harness.workloads import workload_named
from history import Header, HistoryWriter

SYNC_S: Final = 0.1
PLAN: Final = Plan(seed=1)


class NoClient:
    """Answers at once."""

    home = "n1"

    async def perform(self, invocation: Invocation) -> Outcome:
        return Outcome("ok", invocation.value if invocation.f != "read" else 1, "n1")

    def close(self) -> None:
        pass


def generator(operations: int) -> Generator:
    return limit(operations, workload_named("register", 5, "log").generator())


async def drive(load: Load, history: HistoryWriter, operations: int) -> None:
    async def sync_forever() -> None:
        while True:
            await asyncio.sleep(SYNC_S)
            await asyncio.to_thread(history.sync)

    syncing = asyncio.create_task(sync_forever())
    await follow(load, generator(operations))
    syncing.cancel()


def memory_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def one_round(operations: int, workers: int) -> tuple[float, float, float]:
    """Seconds of wall time and of processor time, and the growth of memory in MB."""
    with tempfile.TemporaryDirectory() as root, Standstills() as standstills:
        started = time.monotonic_ns()
        history = HistoryWriter(Path(root) / "h", Header(), started_ns=started, clock=time.monotonic_ns)
        load = Load(
            PLAN, [NoClient() for _ in range(workers)], history=history, tally=Tally(phase="main"),
            stopped=lambda: False, active_ns=standstills.active_ns,
        )  # fmt: skip
        wall, processor, before = time.monotonic(), time.process_time(), memory_mb()
        asyncio.run(drive(load, history, operations))
        history.close()
        return time.monotonic() - wall, time.process_time() - processor, memory_mb() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=200_000)
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    if asked.profile:
        with cProfile.Profile() as profile:
            one_round(asked.operations, asked.workers)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return
    for _ in range(asked.rounds):
        wall, processor, grown = one_round(asked.operations, asked.workers)
        a_second = f"{asked.operations / wall:8.0f} a second, {asked.operations / processor:8.0f} a processor second"
        print(f"{a_second}, memory {grown:+.1f} MB")


if __name__ == "__main__":
    main()
