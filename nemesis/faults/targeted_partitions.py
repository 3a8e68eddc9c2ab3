"""Partitions that cut off the leader, cut one way or gradually, reset connections, or last until a snapshot."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from history import Probe
from nemesis.core import grudges
from nemesis.core.errors import FaultError, SkippedError
from nemesis.core.fault import Context, Targets, Witness
from nemesis.core.targets import leader_of
from nemesis.faults.partitions import RuleFault, counted, install_commands, links_witness, remove_rules

Pair = tuple[str, str]


class LeaderPartition(RuleFault):
    """A partition with the leader on the smaller or the larger side."""

    unaimed = "it always hits the leader; partition-random-halves puts the chosen nodes on one side"

    def __init__(self, name: str, summary: str, *, leads_majority: bool) -> None:
        super().__init__(name, summary, at_least=3)
        self.leads_majority = leads_majority

    def draw(self, ctx: Context, rng: random.Random) -> grudges.Grudge:
        n = len(ctx.members)
        size = grudges.majority(n) if self.leads_majority else (n - 1) // 2
        return grudges.leader_side(ctx.members, leader_of(ctx), size, rng, ctx.others)


class OneWay(RuleFault):
    """Cut one direction: the leader or the chosen nodes do not hear the others, or the others do not hear them."""

    def draw(self, ctx: Context, rng: random.Random) -> grudges.Grudge:
        return self.aimed(ctx, [leader_of(ctx)], rng)

    def aimed(self, ctx: Context, nodes: Sequence[str], rng: random.Random) -> grudges.Grudge:
        names = ctx.nodes.names
        others = [name for name in names if name not in nodes]
        deaf = rng.random() < 0.5
        return grudges.one_way(names, *((nodes, others) if deaf else (others, nodes)))


class Swizzle(RuleFault):
    """Cut the links between two halves one after another, and restore them in another order."""

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        whole = super().plan(ctx, rng)
        pairs = sorted({tuple(sorted((a, b))) for a, peers in whole.grudge.items() for b in peers})
        drawn = {
            "cut_order": [list(pair) for pair in rng.sample(pairs, len(pairs))],
            "restore_order": [list(pair) for pair in rng.sample(pairs, len(pairs))],
            "pause_s": round(rng.uniform(0.1, 0.4), 3),
        }
        recorded = ctx.wanted.detail if ctx.wanted else {}
        return Targets(whole.nodes, whole.grudge, {name: recorded.get(name, drawn[name]) for name in drawn})

    def inject(self, ctx: Context, targets: Targets) -> None:
        order: list[list[str]] = targets.detail["cut_order"]
        for count, pair in enumerate(order, start=1):
            self._stand(ctx, targets.grudge, order[:count], pair)
            if ctx.clock.wait(targets.detail["pause_s"], ctx.stop):
                raise FaultError(f"stopped when {count} of {len(order)} links were cut")

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        """Restore only links that are cut, so that a repeated heal does not cut any link again."""
        order: list[list[str]] = targets.detail["restore_order"]
        counts = counted(ctx, self.name, targets.nodes)
        cut = {frozenset(link) for link in counts}
        standing = [pair for pair in order if frozenset(pair) in cut]
        for count, pair in enumerate(standing, start=1):
            self._stand(ctx, targets.grudge, standing[count:], pair)
            ctx.clock.wait(targets.detail["pause_s"], ctx.stop)
        gone = remove_rules(ctx, self.name, targets.nodes)
        return {**gone, "packets_dropped": counts.total(), "links_restored": len(standing)}

    def _stand(
        self, ctx: Context, grudge: Mapping[str, Sequence[str]], cut: Iterable[Sequence[str]], pair: Sequence[str]
    ) -> None:
        """Cut exactly these links, sending commands only to the two ends of ``pair``, the link that changes."""
        pairs, ends = {frozenset(link) for link in cut}, [node for node in pair if node in grudge]
        now = {node: [peer for peer in grudge[node] if frozenset((node, peer)) in pairs] for node in ends}
        ctx.run_checked(install_commands(ctx, self.name, now, "drop"))


NO_SNAPSHOTS: Final = "the system saves no snapshots in this run"


class IsolateUntilSnapshot(RuleFault):
    """Cut off one follower until it can only catch up by a snapshot.

    The witness waits until the others are ahead by more than the snapshot threshold and one of them has saved a
    snapshot.  With little load this takes long, and the run may end first.
    """

    CAUGHT_UP_S = 10.0

    def precheck(self, ctx: Context) -> str | None:
        if not ctx.settings.snapshots:
            return NO_SNAPSHOTS
        return super().precheck(ctx)

    def draw(self, ctx: Context, rng: random.Random) -> grudges.Grudge:
        leader = leader_of(ctx)
        return self.aimed(ctx, [rng.choice([name for name in ctx.members if name != leader])], rng)

    def aimed(self, ctx: Context, nodes: Sequence[str], rng: random.Random) -> grudges.Grudge:
        return super().aimed(ctx, nodes[:1], rng)

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        whole = super().plan(ctx, rng)
        follower = max(whole.grudge, key=lambda node: len(whole.grudge[node]))
        probes = ctx.system.probes()
        if not probes[follower].answered:
            raise SkippedError(f"{follower} does not report the end of its log")
        return Targets(whole.nodes, whole.grudge, {"follower": follower, "before": _standing(probes)})

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        cut = links_witness(ctx, self.name, targets.grudge, "silence")
        limit = ctx.settings.option("isolate_s")
        behind = ctx.until(lambda: _beyond_snapshot(ctx, targets.detail), limit, every_s=0.1)
        if behind is None:
            follower, lag = targets.detail["follower"], _lag(ctx.system.probes(), targets.detail["follower"])
            raise FaultError(
                f"{follower} is {lag} entries behind, more than {ctx.settings.snapshot_threshold} and a snapshot of "
                "another node are needed"
            )
        return {**cut, **behind}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        follower: str = targets.detail["follower"]
        before = targets.detail["before"][follower]["loaded"]
        far_behind = _lag(ctx.system.probes(), follower) > ctx.settings.snapshot_threshold
        removed = remove_rules(ctx, self.name, targets.nodes)
        if not far_behind or follower not in targets.nodes:  # do not wait: it can catch up from the log alone
            return {**removed, "snapshots_loaded": 0}

        def look() -> int | None:
            probe = ctx.system.probes()[follower]
            return probe.snapshots_loaded if probe.answered and probe.snapshots_loaded > before else None

        loaded = ctx.until(look, self.CAUGHT_UP_S, every_s=0.1)
        return {**removed, "snapshots_loaded": (loaded or before) - before}


def _standing(probes: Mapping[str, Probe]) -> dict[str, Any]:
    return {
        node: {"applied": probe.applied, "saved": probe.snapshots_saved, "loaded": probe.snapshots_loaded}
        for node, probe in probes.items()
        if probe.answered
    }


def _lag(probes: Mapping[str, Probe], follower: str) -> int:
    """Return how many entries the furthest other node has applied beyond the follower."""
    others = [probe.applied for node, probe in probes.items() if node != follower and probe.answered]
    return max(others, default=-1) - probes[follower].applied


def _beyond_snapshot(ctx: Context, detail: Mapping[str, Any]) -> Witness | None:
    probes, follower, before = ctx.system.probes(), detail["follower"], detail["before"]
    lag = _lag(probes, follower)
    saved = {
        node: probe.snapshots_saved - before.get(node, {"saved": 0})["saved"]
        for node, probe in probes.items()
        if node != follower and probe.answered
    }
    if not probes[follower].answered or lag <= ctx.settings.snapshot_threshold or max(saved.values(), default=0) < 1:
        return None
    return {"lag": lag, "threshold": ctx.settings.snapshot_threshold, "snapshots_saved_meanwhile": max(saved.values())}


TARGETED_PARTITIONS: tuple[RuleFault, ...] = (
    LeaderPartition(
        "partition-leader-minority", "the leader ends up on the side without a quorum", leads_majority=False
    ),
    LeaderPartition(
        "partition-leader-majority", "the leader keeps a bare majority; the rest is cut off", leads_majority=True
    ),
    OneWay("partition-one-way", "the leader is heard but hears no other node, or the reverse"),
    Swizzle("swizzle", "links between two halves cut one by one, restored in another order"),
    RuleFault("reset", "two halves refuse each other's connections with a TCP reset", "reset"),
    IsolateUntilSnapshot(
        "isolate-until-snapshot", "one follower is cut off until it can only return by a snapshot", at_least=3
    ),
)
