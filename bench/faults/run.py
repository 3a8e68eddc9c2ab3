"""Measure what faults, probes and witnesses cost, on a cluster of this machine with real servers.  Needs root.

    python bench/faults/run.py [--segments 30] [--seconds 3] [--version 0.3.2]

Prints one JSON object.  The cost of probes and witnesses is a ratio within one run: segments of the same closed-loop
load alternate between *watched* (every node is probed four times a second) and *alone*. Only neighbouring segments are
compared, so that other work on the machine affects both.  If there is much other work, the ratio is noise, but the
processor time of one probe, and of one witness of a partition of all nodes, is still meaningful.  Delays are given as
the median and the worst of ``--rounds`` (for kills, of a quarter as many).
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

from harness.clients.wire import BlockingWire, Wire
from harness.clusters.netns import NetnsCluster
from harness.execution.fault_view import RunClock, view_of
from harness.execution.probes import PERIOD_S, ProbeLog, probe_forever
from harness.plan import Plan
from harness.remote.nodes import Remote
from harness.systems.api import Client
from harness.systems.deployment import Deployment, machines
from harness.systems.dledger.options import VERSIONS
from harness.systems.dledger.status import CLIENT_PORT, figures
from harness.workloads import Invocation
from history import Probe
from nemesis.core.facts import survey
from nemesis.core.fault import Context, Settings
from nemesis.core.ports import Command
from nemesis.faults.partitions import try_peers
from nemesis.faults.registry import find

CLIENTS = 10


@contextlib.contextmanager
def servers(version: str) -> Iterator[tuple[Deployment, Remote]]:
    cluster, plan = NetnsCluster("bench-faults"), Plan(seed=1, version=version)
    with cluster.lock():
        cluster.up()
        try:
            with Remote(cluster.nodes) as remote:
                system = Deployment(plan.under_test, plan.setup(machines(cluster.nodes)), remote, time.monotonic)
                system.install()
                system.start(remote.names)
                system.await_leader()
                yield system, remote
        finally:
            cluster.down()


def milliseconds(values: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(values), 1), "worst": round(max(values), 1)}


def delays(ctx: Context, rounds: int) -> dict[str, object]:
    """Measure how long it takes to install and to remove a partition of all nodes, and to kill a process.

    The kill ends when the process id has disappeared.  All times are in milliseconds.
    """
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
    """Return how many commands over SSH run per second, one at a time per node on five nodes."""
    command, count, began = dict.fromkeys(remote.names, Command(("true",))), 0, time.monotonic()
    while time.monotonic() < began + seconds:
        remote.run(command)
        count += len(remote.names)
    return round(count / (time.monotonic() - began))


async def load(system: Deployment, seconds: float) -> float:
    """Return the ok operations per second of closed-loop clients, half of which write."""
    ends, done = time.monotonic() + seconds, 0

    async def work(number: int, client: Client) -> None:
        nonlocal done
        rng = random.Random(number)
        try:
            while time.monotonic() < ends:
                f = rng.choice(("read", "write"))
                value = rng.randrange(1000) if f == "write" else None
                outcome = await client.perform(Invocation(f, f"k{number % 5}", value))
                done += outcome.type == "ok"  # not in one statement: the sum would be read before the wait
        finally:
            await client.close()

    await asyncio.gather(*(work(number, client) for number, client in enumerate(system.clients(CLIENTS))))
    return done / seconds


async def watched(system: Deployment, seconds: float) -> float:
    with TemporaryDirectory() as folder:
        log, began = ProbeLog(Path(folder) / "probes.jsonl"), time.monotonic_ns()
        probing = asyncio.create_task(probe_forever(system.probers(), log, lambda: time.monotonic_ns() - began))
        try:
            return await load(system, seconds)
        finally:
            probing.cancel()
            await asyncio.gather(probing, return_exceptions=True)
            log.close()


def processor_seconds(system: Deployment, remote: Remote) -> float:
    """Return the processor seconds that all servers have used together."""
    stat = {n: Command(("cat", f"/proc/{pid}/stat")) for n, pid in system.pids(remote.names).items() if pid is not None}
    fields = [done.stdout.rsplit(")", 1)[1].split() for done in remote.run(stat).values()]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")


async def probe_quickly(system: Deployment, count: int) -> None:
    wires = [Wire(node.address, CLIENT_PORT) for node in system.setup.nodes]
    try:
        for _ in range(count // len(wires)):
            for wire in wires:
                await wire.ask({"op": "status"}, 4.0)
    finally:
        for wire in wires:
            wire.close()


def cost_of_a_probe(system: Deployment, remote: Remote, count: int = 4000) -> dict[str, float]:
    """Return the processor time of the servers, and of this process, beyond what they use without probes.

    Processor seconds stay meaningful on a machine that does other work, unlike a rate.
    """
    before, began = processor_seconds(system, remote), time.monotonic()
    time.sleep(8.0)
    idle = (processor_seconds(system, remote) - before) / (time.monotonic() - began)
    before, began, own = processor_seconds(system, remote), time.monotonic(), time.process_time()
    asyncio.run(probe_quickly(system, count))
    own = time.process_time() - own
    took = time.monotonic() - began
    servers_s = processor_seconds(system, remote) - before - idle * took
    a_second = len(remote.names) / PERIOD_S
    return {
        "idle_servers_share_of_a_core": round(idle, 4),
        "server_ms_a_probe": round(1000 * servers_s / count, 4),
        "control_ms_a_probe": round(1000 * own / count, 4),
        "servers_share_of_a_core_at_4_hz": round(a_second * servers_s / count, 5),
    }


def cost_of_a_witness(remote: Remote, ctx: Context, rounds: int = 5) -> float:
    """Return the processor time (ms), on all nodes together, of trying all links to prove that a partition holds."""
    script = '"$@" >/dev/null 2>&1; times'
    tries = {}
    for node in remote.names:
        asked = try_peers(ctx, [peer for peer in remote.names if peer != node])
        tries[node] = Command(("bash", "--norc", "-c", script, "cost", *asked.argv))
    used = []
    for _ in range(rounds):
        last = [done.stdout.split()[-2:] for done in remote.run(tries).values()]
        used.append(
            sum(60_000 * int(m) + 1000 * float(s) for pair in last for m, s in (one[:-1].split("m") for one in pair))
        )
    return round(statistics.median(used), 1)


def overhead(system: Deployment, segments: int, seconds: float) -> dict[str, object]:
    """Return the ratio of each watched segment to the mean of its two neighbours, which ran alone."""
    asyncio.run(load(system, seconds))  # warm
    alone, seen = [asyncio.run(load(system, seconds))], list[float]()
    for _ in range(segments // 2):
        seen.append(asyncio.run(watched(system, seconds)))
        alone.append(asyncio.run(load(system, seconds)))
    ratios = [rate / ((before + after) / 2) for rate, before, after in zip(seen, alone, alone[1:], strict=False)]
    return {
        "rate_alone": round(statistics.median(alone)),
        "rate_watched": round(statistics.median(seen)),
        "ratio_median": round(statistics.median(ratios), 4),
        "ratios": [round(ratio, 3) for ratio in ratios],
    }


def newest(system: Deployment) -> dict[str, Probe]:
    from harness.execution.probes import probe_of

    asked = {n.name: BlockingWire(n.address, CLIENT_PORT).ask({"op": "status"}) for n in system.setup.nodes}
    return {node: probe_of(figures(answer), node, time.monotonic_ns()) for node, answer in asked.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--version", choices=VERSIONS, default="0.3.2")
    asked = parser.parse_args()
    with servers(asked.version) as (system, remote):
        view = view_of(system, lambda: newest(system))
        ctx = Context(remote, view, RunClock(time.monotonic_ns), survey(remote), Settings())
        found: dict[str, object] = {"nodes": len(remote.names), "system": f"DLedger {asked.version}"}
        found["machine"] = {"cores": os.cpu_count(), "load_before": os.getloadavg()[0], "date": time.strftime("%F")}
        found["probes"] = overhead(system, asked.segments, asked.seconds)
        found["probe"] = cost_of_a_probe(system, remote)
        found["witness_processor_ms"] = cost_of_a_witness(remote, ctx)
        found["ssh_commands_a_second"] = commands_a_second(remote)
        found.update(delays(ctx, asked.rounds))
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
