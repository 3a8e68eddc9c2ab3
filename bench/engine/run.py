"""Measure how many operations a second the engine issues and records, with a client that does nothing.

    python -m bench.engine.run [--operations 200000] [--workers 10] [--rate 1000] [--rounds 3] [--steps 10] [--tcp]
                               [--profile]

The workload is ``register`` on five keys.  As in a run, the history is written to disk and synced every 100 ms.  Prints
operations per second of wall time and of processor time, how much the process's memory grew during the operations (MB),
and how late they were issued (ms). All rounds run in this process; no root needed.  Without ``--rate``, each operation
is issued as soon as a worker is free.  With ``--steps``, the process's memory is printed that many times on the way,
which shows whether it grows with the operations.  With ``--tcp``, the client asks a server in another process, which
answers at once, over one connection for each worker: this is what the engine and a TCP client cost together.
``--profile`` prints where the time goes instead.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from bench.engine.stub import StubClient, stub_server
from harness.execution.interpreter import follow
from harness.execution.load import Load, Tally
from harness.execution.standstills import Standstills
from harness.generators import Generator, Invocation, Stream, limit, stagger
from harness.plan import Plan
from harness.systems.law import Outcome
from harness.workloads import RegisterWorkload
from history import Header, HistoryWriter

SYNC_S: Final = 0.1
PLAN: Final = Plan(seed=1)


class NoClient:
    """A client that answers at once."""

    home = "n1"

    async def perform(self, invocation: Invocation) -> Outcome:
        return Outcome("ok", invocation.value if invocation.f != "read" else 1, "n1")

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass


def generator(operations: int, rate: float | None) -> Generator:
    workload = RegisterWorkload(5).generator()
    return limit(operations, workload if rate is None else stagger(rate, Stream(PLAN.rng("pace")), workload, open=True))


async def drive(load: Load, history: HistoryWriter, operations: int, rate: float | None, steps: int) -> None:
    async def sync_forever() -> None:
        while True:
            await asyncio.sleep(SYNC_S)
            await asyncio.to_thread(history.sync)

    async def print_memory() -> None:
        for step in range(1, steps + 1):
            while load.issued < operations * step // steps:
                await asyncio.sleep(SYNC_S)
            print(f"{load.issued:12,} operations: {memory_mb():.0f} MB", flush=True)

    beside = [asyncio.create_task(sync_forever()), asyncio.create_task(print_memory())]
    await follow(load, generator(operations, rate))
    if steps:
        await asyncio.sleep(2 * SYNC_S)
    for task in beside:
        task.cancel()


def memory_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def one_round(
    operations: int, workers: int, rate: float | None, steps: int = 0, port: int | None = None
) -> tuple[float, float, float, Load]:
    """Return seconds of wall and processor time, the growth of memory in MB, and the load; with a port, over TCP."""
    with tempfile.TemporaryDirectory() as root, Standstills() as standstills:
        started = time.monotonic_ns()
        history = HistoryWriter(Path(root) / "h", Header(), started_ns=started, clock=time.monotonic_ns)
        clients = [NoClient() if port is None else StubClient(port) for _ in range(workers)]
        load = Load(
            PLAN, clients, history=history, tally=Tally(phase="main"),
            stopped=lambda: False, standstills=standstills,
        )  # fmt: skip
        wall, processor, before = time.monotonic(), time.process_time(), memory_mb()
        asyncio.run(drive(load, history, operations, rate, steps))
        history.close()
        return time.monotonic() - wall, time.process_time() - processor, memory_mb() - before, load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=200_000)
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--tcp", action="store_true")
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    with stub_server() if asked.tcp else nullcontext() as port:
        measure(asked, port)


def measure(asked: argparse.Namespace, port: int | None) -> None:
    if asked.profile:
        with cProfile.Profile() as profile:
            one_round(asked.operations, asked.workers, asked.rate, port=port)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return
    for _ in range(asked.rounds):
        wall, processor, grown, load = one_round(asked.operations, asked.workers, asked.rate, asked.steps, port)
        a_second = (
            f"{asked.operations / wall:8.0f} per second, {asked.operations / processor:8.0f} per processor second"
        )
        late = f"half late by {load.late.quantile_ms(0.5):.3f} ms, 99 of 100 by {load.late.quantile_ms(0.99):.3f} ms"
        print(f"{a_second}, memory {grown:+.1f} MB, {late}")


if __name__ == "__main__":
    main()
