"""Whom to hit: the leader by probe, and choices by words.

Two nodes may both call themselves leader (one of them was cut off and does not know).  The one with the higher term
is the leader; the others are told as ``claimants``.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from history import Probe
from nemesis.errors import NotYetError, SkippedError
from nemesis.fault import Context, Targets
from nemesis.grudges import majority


def claimants(probes: Mapping[str, Probe]) -> list[str]:
    """The nodes that answered and call themselves leader, highest term first."""
    leaders = [probe for probe in probes.values() if probe.answered and probe.role == "leader"]
    return [probe.node for probe in sorted(leaders, key=lambda probe: (-probe.term, probe.node))]


def leader_now(probes: Mapping[str, Probe]) -> str | None:
    """The leader of the highest term, None when no node claims it."""
    return next(iter(claimants(probes)), None)


def leader_of(ctx: Context) -> str:
    """The leader by the newest probes.  Raises NotYetError when nobody says that it leads."""
    leader = leader_now(ctx.system.probes())
    if leader is None:
        raise NotYetError("no node says that it leads")
    return leader


def resolve(wish: Mapping[str, Any] | None, ctx: Context, rng: random.Random) -> Targets | None:
    """The targets that a step asks for, None when it leaves them to its fault.

    Either recorded targets (``{"nodes": …, "grudge": …}``) or a choice by words: ``{"choose": "leader"}``.  Pids and
    the like are found anew.  Raises SkippedError for a choice that cannot be, NotYetError without a leader.
    """
    if wish is None:
        return None
    if "choose" in wish:
        return Targets(choose(str(wish["choose"]), ctx, rng))
    return Targets.from_json(wish)


def choose(words: str, ctx: Context, rng: random.Random) -> tuple[str, ...]:
    """``one``, ``minority``, ``majority``, ``all``, ``leader``, ``followers``, ``leader+one``, ``leader+minority`` or
    node names joined by commas, in the cluster's order."""
    names = ctx.nodes.names
    few = (len(names) - 1) // 2
    sizes = {"one": 1, "minority": few, "majority": majority(len(names)), "all": len(names)}
    if words in sizes:
        chosen = rng.sample(names, sizes[words])
    elif words == "leader":
        chosen = [leader_of(ctx)]
    elif words == "followers":
        chosen = [name for name in names if name != leader_of(ctx)]
    else:
        chosen = [name.strip() for name in words.split(",")]
    if unknown := [name for name in chosen if name not in names]:
        raise SkippedError(f"no node is called {' or '.join(unknown)}")
    return tuple(name for name in names if name in chosen)
