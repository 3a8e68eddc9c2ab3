"""Kill nodes one after another, each after the previous one is back: all of them, or all but one that stays down.

After faults of the second kind, no running node has everything from its own log.  Each of them learned from others
what it had missed, and the one that stayed down starts last and learns from them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence, Set
from typing import Final

from nemesis.core.errors import FaultError, SkippedError
from nemesis.core.fault import Context, Family, Fault, Targets, Witness, as_recorded, wanted_nodes
from nemesis.faults.processes import last_probes, pids_of, restart, running_pids, see_gone, send, spare

#: How long the running nodes may take to serve: an election, and a node that catches up.  On a machine with twenty
#: times more work than its processors can do, 20 s was not enough for servers that were merely slow to start.
SERVING_S: Final = 60.0
#: The shortest pause, as a share of the longest.
SHORTEST: Final = 0.1


class Rolling:
    """Base of faults that kill one node after another.  Healing starts all of them."""

    family: Family = "kill"
    stops = True
    one_at_a_time = True
    beyond_quorum = True  # keeps the quorum itself: one or two nodes are down at a time

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        return restart(ctx, targets.nodes)


class RestartRolling(Rolling):
    """Kill and start one node after another, each after the previous one answers."""

    name = "restart-rolling"
    summary = "one member after another is killed and started, each after the previous one answers"
    passes = True

    def precheck(self, ctx: Context) -> str | None:
        return None if len(ctx.members) >= 3 else "needs at least 3 nodes to leave a majority"

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        nodes = wanted_nodes(ctx, lambda: ctx.free)
        if spare(ctx) < 1:
            raise SkippedError("one more kill would leave no majority")
        order = as_recorded(ctx, "order", rng.sample(nodes, len(nodes)))
        return Targets(nodes, detail={"order": order, "pids": running_pids(ctx, nodes)})

    def inject(self, ctx: Context, targets: Targets) -> None:
        pids, order = pids_of(targets), targets.detail["order"]
        for count, node in enumerate(order):
            if ctx.stop.is_set():
                raise FaultError(f"stopped after {count} of {len(order)} nodes")
            send(ctx, [node], "KILL")
            see_gone(ctx, {node: pids[node]})
            ctx.system.start((node,))

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        return see_new(ctx, targets, targets.nodes)


class RollingKill(Rolling):
    """Keep one node down while all others are killed and started, one by one in random order; start it last.

    Between two steps, the running nodes must serve again according to their probes, and then a random pause passes, so
    that every node misses something.
    """

    name = "rolling-kill"
    summary = "one member stays down while all others are killed and come back one by one; it comes back last"

    def precheck(self, ctx: Context) -> str | None:
        return None if len(ctx.members) >= 5 else "needs at least 5 nodes to leave a majority after two kills"

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        nodes = wanted_nodes(ctx, lambda: ctx.free)
        if spare(ctx) < 2:
            raise SkippedError("two kills would leave no majority")
        most = ctx.settings.option("rolling_pause_s")
        drawn = {
            "order": rng.sample(nodes, len(nodes)),
            "pauses_s": [round(most * SHORTEST ** rng.random(), 3) for _ in range(2 * len(nodes))],
        }
        chosen = {name: as_recorded(ctx, name, value) for name, value in drawn.items()}
        return Targets(
            nodes, detail={**chosen, "pids": running_pids(ctx, nodes), "last_probe": last_probes(ctx, nodes)}
        )

    def inject(self, ctx: Context, targets: Targets) -> None:
        pids, (last, *others) = pids_of(targets), targets.detail["order"]
        pauses = iter(targets.detail["pauses_s"])

        def take_down(node: str) -> None:
            send(ctx, [node], "KILL")
            see_gone(ctx, {node: pids[node]})
            until_serving(ctx, targets, {last, node})
            pause(ctx, next(pauses))

        until_serving(ctx, targets, set())
        take_down(last)
        for node in others:
            take_down(node)
            ctx.system.start((node,))
            until_serving(ctx, targets, {last})
            pause(ctx, next(pauses))

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        pids, (last, *others) = pids_of(targets), targets.detail["order"]
        return {**see_gone(ctx, {last: pids[last]}), **see_new(ctx, targets, others)}


def see_new(ctx: Context, targets: Targets, nodes: Sequence[str]) -> Witness:
    """Prove that each of these nodes has a new process. Raises FaultError if one does not."""
    before, now = pids_of(targets), ctx.system.pids(nodes)
    if same := [node for node in nodes if now[node] in (None, before[node])]:
        raise FaultError(f"no new process on {', '.join(same)}")
    # The effect happens during the injection, so this fault is active from the first kill on, while others are active
    # from the last command on.
    return {"stood_ms": 0.0, "pids_before": before, "pids_now": now}


def until_serving(ctx: Context, targets: Targets, down: Set[str]) -> None:
    """Wait until a node leads and every target outside ``down`` leads or follows.  Raises FaultError."""

    def missing() -> list[str]:
        probes = ctx.system.probes()
        roles = {node: probe.role for node, probe in probes.items() if probe.answered and node not in down}
        waits = [
            f"{node} {f'is {role}' if (role := roles.get(node)) else 'does not answer'}"
            for node in targets.nodes
            if node not in down and roles.get(node) not in ("leader", "follower")
        ]
        return waits if "leader" in roles.values() else [*waits, "no node leads"]

    if not ctx.until(lambda: None if missing() else True, SERVING_S):
        waits = ", ".join(missing()) or "stopped"
        raise FaultError(f"the nodes that were up did not serve together within {SERVING_S:g} s: {waits}")


def pause(ctx: Context, seconds: float) -> None:
    """Wait between two steps.  Raises FaultError if the run is stopped meanwhile."""
    if ctx.clock.wait(seconds, ctx.stop):
        raise FaultError("stopped before all nodes were restarted")


ROLLING: Iterable[Fault] = (RestartRolling(), RollingKill())
