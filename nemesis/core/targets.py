"""Find the leader from probes, and choose targets by words.

Two nodes may both claim to be the leader if one of them was cut off and does not know.  The one with the higher term is
the leader.  In a system without terms, it is the one that a majority of the members names, if any.  :func:`claimants`
returns all of them.

Words other than node names choose among the members (``Context.members``), the nodes where the system keeps its data.

A choice is one or more words joined by ``/``.  Each word adds nodes; with ``!`` before it, it removes nodes.

==============  ==================================================================================
word            nodes
==============  ==================================================================================
``one``         a random node that is not chosen yet
``subset``      a random subset, mostly small
``minority``    a random largest minority
``majority``    a random smallest majority
``all``         all members
``leader``      the leader, according to the probes
``followers``   all other members
``successor``   the follower with the longest log: the one most likely to be elected next
``n3``          that node, whether it is a member or not
==============  ==================================================================================

For example, ``leader/one`` is the leader and one other node, and ``all/!leader`` are the followers.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from history import Probe
from history.records.probes import by_rank, leader_now
from history.records.text import and_listed
from history.schema import suggestion
from nemesis.core.errors import NotYetError, ScheduleError, SkippedError
from nemesis.core.fault import Context, Targets
from nemesis.core.grudges import majority

WORDS: Final = ("one", "subset", "minority", "majority", "all", "leader", "followers", "successor")


def claimants(probes: Mapping[str, Probe]) -> list[str]:
    """Return the nodes whose probes claim leadership, highest term first."""
    return by_rank((probe.node, probe.term) for probe in probes.values() if probe.answered and probe.role == "leader")


def leader_of(ctx: Context) -> str:
    """Return the leader according to the newest probes.  Raises NotYetError if there is none."""
    probes = ctx.system.probes()
    if (leader := leader_now(probes, ctx.members)) is not None:
        return leader
    if len(rivals := claimants(probes)) > 1:
        raise NotYetError(f"{and_listed(rivals)} claim to lead, and no majority names any of them")
    silent = next((f"; {probe.node}: {probe.error}" for probe in probes.values() if not probe.answered), "")
    raise NotYetError(f"no node claims to lead{silent}")


def successor_of(ctx: Context) -> str:
    """Return the follower with the longest log.  Raises NotYetError without a leader or an answering follower."""
    leader = leader_of(ctx)
    probes = ctx.system.probes()
    others = [probes[name] for name in ctx.members if name != leader and name in probes and probes[name].answered]
    if not others:
        raise NotYetError("no follower answers")
    return max(others, key=lambda probe: (probe.log_end, probe.node)).node


def mostly_small(n: int, rng: random.Random) -> int:
    """Draw a size from 1 to n, with P(k) = ln((k+1)/k) / ln(n+1) and P(at most k) = ln(k+1) / ln(n+1)."""
    size = math.ceil(math.pow(n + 1, rng.random())) - 1
    return min(n, max(1, size))


def resolve(wish: Mapping[str, Any] | None, ctx: Context, rng: random.Random) -> Targets | None:
    """Return the targets that a step specifies; None if it leaves them to its fault.

    A step specifies recorded targets (``{"nodes": …, "grudge": …}``) or a choice by words (``{"choose": "leader"}``).
    The fault still looks up pids and the like itself.  Raises SkippedError for an impossible choice, and NotYetError
    without a leader.
    """
    if wish is None:
        return None
    if "choose" in wish:
        return Targets(choose(str(wish["choose"]), ctx, rng))
    return Targets.from_json(wish)


def check_words(words: str, names: Sequence[str] = ()) -> None:
    """Check that each word is known, or a node's name if ``names`` are given.  Raises ScheduleError."""
    for word in words.split("/"):
        bare = word.removeprefix("!").strip()
        if not bare or (names and bare not in (*WORDS, *names)):
            mend = suggestion(bare, (*WORDS, *names)) or f"{', '.join(WORDS)} or a node's name"
            place = "" if bare == words else f" in {words!r}"
            raise ScheduleError(f"{bare!r}{place} does not choose nodes: {mend}")


def certain(words: str, names: Sequence[str], members: Sequence[str]) -> tuple[str, ...]:
    """Return the nodes that names, ``all`` (members) and ``!`` are sure to choose; none if there is any other word."""
    chosen: set[str] = set()
    for word in (part.strip() for part in words.split("/")):
        bare = word.removeprefix("!")
        if bare != "all" and bare not in names:
            return ()
        nodes = set(members) if bare == "all" else {bare}
        chosen = chosen - nodes if word.startswith("!") else chosen | nodes
    return tuple(name for name in names if name in chosen)


def choose(words: str, ctx: Context, rng: random.Random) -> tuple[str, ...]:
    """Return the nodes that words choose, in the cluster's order.

    Raises SkippedError for an unknown name, or if no node is left.
    """
    chosen: set[str] = set()
    for word in (part.strip() for part in words.split("/")):
        if word.startswith("!"):
            chosen -= set(_one_word(word[1:], ctx, rng, frozenset()))
        else:
            chosen |= set(_one_word(word, ctx, rng, frozenset(chosen)))
    if not chosen:
        raise SkippedError(f"{words} matches no node at this moment")
    return tuple(name for name in ctx.nodes.names if name in chosen)


def _one_word(word: str, ctx: Context, rng: random.Random, taken: frozenset[str]) -> Sequence[str]:
    names = ctx.members
    open_to = [name for name in names if name not in taken]
    sizes = {"one": 1, "minority": (len(names) - 1) // 2, "majority": majority(len(names)), "all": len(names)}
    if word in sizes:
        return rng.sample(open_to, min(sizes[word], len(open_to)))
    if word == "subset":
        return rng.sample(open_to, min(mostly_small(len(names), rng), len(open_to)))
    if word == "leader":
        return [leader_of(ctx)]
    if word == "followers":
        leader = leader_of(ctx)
        return [name for name in names if name != leader]
    if word == "successor":
        return [successor_of(ctx)]
    if word not in ctx.nodes.names:
        raise SkippedError(f"no node is called {word!r}")
    return [word]
