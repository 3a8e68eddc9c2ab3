"""What faults, probes and witnesses cost, on a cluster of this machine with real servers.  Needs root.

    python bench/faults/run.py [--segments 30] [--seconds 3] [--version 0.3.2]

Prints one JSON object.  The cost of probes and witnesses is a ratio within one run: segments of the same closed-loop
load alternate between *watched* (every node probed four times a second, and once a segment what a witness asks of all
nodes: attempts over all links, processes' states) and *alone*; compared are neighbours, so that a machine that does
other work hits both.  Delays are medians and worst of ``--rounds``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.clients import RegisterClient
from harness.clusters.netns import NetnsCluster
from harness.faults import SystemView
from harness.plan import Plan
from harness.probes import ProbeLog, probe_forever
from harness.remote import Remote
from harness.systems import DLedgerRegister
from harness.systems.base import StatusPort
from harness.workloads import Invocation
from history import Probe
from nemesis.catalogue import find
from nemesis.clock import MonotonicClock
from nemesis.facts import survey
from nemesis.fault import Context, Settings
from nemesis.network import try_peers
from nemesis.processes import state_of
from nemesis.view import Command

CLIENTS = 10


@contextlib.contextmanager
def servers(version: str) -> Iterator[tuple[DLedgerRegister, Remote]]:
    cluster, plan = NetnsCluster("bench-faults"), Plan(seed=1, version=version)
    with cluster.lock():
        cluster.up()
        try:
            with Remote(cluster.nodes) as remote:
                system = DLedgerRegister(plan, cluster.nodes, remote, time.monotonic)
                system.install()
                system.start(remote.names)
                system.await_leader()
                yield system, remote
        finally:
            cluster.down()


def milliseconds(values: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(values), 1), "worst": round(max(values), 1)}


def delays(ctx: Context, rounds: int) -> dict[str, object]:
    """A partition of all nodes until its last rule, and away again; a kill until /proc has lost the pid."""
    rng, ring, kill = random.Random(1), find("partition-majorities-ring"), find("kill-random-processes")
    stands, heals, kills = list[float](), list[float](), list[float]()
    for _ in range(rounds):
        targets = ring.plan(ctx, rng)
        began = time.monotonic()
        ring.inject(ctx, targets)
        stands.append(1000 * (time.monotonic() - began))
        heals.append(ring.heal(ctx, targets)["healed_ms"])
    for _ in range(max(3, rounds // 4)):
        targets = kill.plan(ctx, rng)
        began = time.monotonic()
        kill.inject(ctx, targets)
        kill.witness(ctx, targets)
        kills.append(1000 * (time.monotonic() - began))
        kill.heal(ctx, targets)
    return {
        "partition_stands_ms": milliseconds(stands),
        "partition_healed_ms": milliseconds(heals),
        "kill_to_pid_gone_ms": milliseconds(kills),
    }


def commands_a_second(remote: Remote, seconds: float = 3.0) -> int:
    """Commands over SSH, one a node at a time on five nodes."""
    command, count, began = dict.fromkeys(remote.names, Command(("true",))), 0, time.monotonic()
    while time.monotonic() < began + seconds:
        remote.run(command)
        count += len(remote.names)
    return round(count / (time.monotonic() - began))


async def load(system: DLedgerRegister, seconds: float) -> float:
    """ok operations a second of closed-loop clients, half of them writing."""
    endpoints, ends = system.endpoints(), time.monotonic() + seconds
    homes, done = list(endpoints), 0

    async def work(number: int) -> None:
        nonlocal done
        home = homes[number % len(homes)]
        client = RegisterClient(endpoints, home, follows="leader", timeout=4.0, clock=time.monotonic)
        rng = random.Random(number)
        try:
            while time.monotonic() < ends:
                f = rng.choice(("read", "write"))
                value = rng.randrange(1000) if f == "write" else None
                done += (await client.perform(Invocation(f, f"k{number % 5}", value))).type == "ok"
        finally:
            client.close()

    await asyncio.gather(*(work(number) for number in range(CLIENTS)))
    return done / seconds


async def watched(system: DLedgerRegister, remote: Remote, ctx: Context, seconds: float) -> float:
    with TemporaryDirectory() as folder:
        log, began = ProbeLog(Path(folder) / "probes.jsonl"), time.monotonic_ns()
        probing = asyncio.create_task(probe_forever(system.endpoints(), log, lambda: time.monotonic_ns() - began))
        witness = asyncio.create_task(asyncio.to_thread(ask_as_witness, system, remote, ctx))
        try:
            return await load(system, seconds)
        finally:
            probing.cancel()
            await asyncio.gather(probing, witness, return_exceptions=True)
            log.close()


def ask_as_witness(system: DLedgerRegister, remote: Remote, ctx: Context) -> None:
    pids = system.pids(remote.names)
    remote.run({node: try_peers(ctx, [peer for peer in remote.names if peer != node]) for node in remote.names})
    remote.run({node: state_of(pid) for node, pid in pids.items() if pid is not None})


def overhead(system: DLedgerRegister, remote: Remote, ctx: Context, segments: int, seconds: float) -> dict[str, object]:
    """Ratios of a watched segment to the mean of the two around it that ran alone."""
    asyncio.run(load(system, seconds))  # warm
    alone, seen = [asyncio.run(load(system, seconds))], list[float]()
    for _ in range(segments // 2):
        seen.append(asyncio.run(watched(system, remote, ctx, seconds)))
        alone.append(asyncio.run(load(system, seconds)))
    ratios = [rate / ((before + after) / 2) for rate, before, after in zip(seen, alone, alone[1:], strict=False)]
    return {
        "rate_alone": round(statistics.median(alone)),
        "rate_watched": round(statistics.median(seen)),
        "ratio_median": round(statistics.median(ratios), 4),
        "ratios": [round(ratio, 3) for ratio in ratios],
    }


def newest(system: DLedgerRegister) -> dict[str, Probe]:
    from harness.probes import probe_of

    asked = {n: StatusPort(*endpoint).ask({"op": "status"}) for n, endpoint in system.endpoints().items()}
    return {node: probe_of(answer, node, time.monotonic_ns()) for node, answer in asked.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--version", default="0.3.2")
    asked = parser.parse_args()
    with servers(asked.version) as (system, remote):
        view = SystemView(system, lambda: newest(system))
        ctx = Context(remote, view, MonotonicClock(), survey(remote), Settings())
        found: dict[str, object] = {"nodes": len(remote.names), "system": f"DLedger {asked.version}"}
        found["machine"] = {"cores": os.cpu_count(), "load_before": os.getloadavg()[0], "date": time.strftime("%F")}
        found["probes_and_witnesses"] = overhead(system, remote, ctx, asked.segments, asked.seconds)
        found["ssh_commands_a_second"] = commands_a_second(remote)
        found.update(delays(ctx, asked.rounds))
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
