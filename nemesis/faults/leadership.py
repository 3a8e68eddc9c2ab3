"""Faults around leadership: kill the leader and then its successor, request a transfer, or promote a follower."""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, Protocol, runtime_checkable

from history import Probe
from history.records.probes import leader_now
from history.records.text import and_listed
from nemesis.core.errors import FaultError, NotYetError, SkippedError
from nemesis.core.fault import Context, Family, Fault, Targets, Witness, as_recorded, wanted_nodes
from nemesis.core.ports import Command, StartError
from nemesis.core.targets import leader_of
from nemesis.faults.processes import (
    last_probes,
    leader_hit,
    pids_of,
    restart,
    running_pids,
    see_gone,
    send,
    spare,
    states,
)

SUCCESSOR_S: Final = 20.0
#: How long to keep requesting a transfer, and how long to wait after each request until the other node leads.
TRANSFER_S: Final = 15.0
REQUEST_S: Final = 3.0


def _later(probe: Probe, term: int) -> bool:
    """Return whether another node's claim to lead is newer than that of the leader in ``term``.

    If no terms are reported (-1), any other node's claim is newer.
    """
    return term < 0 or probe.term > term


class LeaderThenSuccessor:
    """Kill the leader, and kill the next leader after a random delay once a probe shows it."""

    name = "kill-leader-then-successor"
    summary = "SIGKILL to the leader, and to the next one up to 2 s after it leads"
    family: Family = "kill"
    stops = True
    beyond_quorum = True  # keeps the quorum itself: only one of the reserved nodes will be hit

    def precheck(self, ctx: Context) -> str | None:
        return None if len(ctx.members) >= 5 else "needs 5 nodes to leave a majority after two kills"

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        (leader,) = wanted_nodes(ctx, lambda: [leader_of(ctx)])[:1]
        if spare(ctx) < 2:
            raise SkippedError("two kills would leave no majority")
        others = tuple(name for name in ctx.free if name != leader)
        pid_of = ctx.system.pids((leader, *others))
        if pid_of[leader] is None:
            raise SkippedError(f"{leader} is down already")
        up = tuple(name for name in others if pid_of[name] is not None)
        pids = {node: pid_of[node] for node in (leader, *up)}
        term = max(probe.term for probe in ctx.system.probes().values())
        delay_s = round(rng.uniform(0, ctx.settings.option("successor_delay_s")), 3)
        drawn = {"delay_s": as_recorded(ctx, "delay_s", delay_s), "term": term}
        return Targets(
            (leader,), detail={"pids": pids, "last_probe": last_probes(ctx, (leader,)), **drawn}, reserved=up
        )

    def inject(self, ctx: Context, targets: Targets) -> None:
        send(ctx, targets.nodes, "KILL")

        def look() -> str | None:
            probes = ctx.system.probes()
            heir = leader_now(probes, ctx.members)
            return heir if heir in targets.reserved and _later(probes[heir], targets.detail["term"]) else None

        heir = ctx.until(look, SUCCESSOR_S)
        if heir is None:
            raise FaultError(f"no other node led within {SUCCESSOR_S:g} s")
        if ctx.clock.wait(targets.detail["delay_s"], ctx.stop):
            raise FaultError(f"stopped before {heir}, the successor, was killed")
        send(ctx, [heir], "KILL")

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        pids, (leader,) = pids_of(targets), targets.nodes

        def look() -> dict[str, int] | None:
            now = states(ctx, pids)
            gone = {node: pid for node, pid in pids.items() if not now[node]}
            return gone if leader in gone and len(gone) > 1 else None

        if (gone := ctx.until(look, ctx.settings.witness_s)) is None:
            raise FaultError("the leader and its successor are not both gone")
        successor = next(node for node in gone if node != leader)
        # The successor itself is gone, but the other nodes' probes have the term in which they followed it.
        followed = [p.term for p in ctx.system.probes().values() if p.answered and p.leader == successor]
        terms = {"successor_term": max(followed)} if max(followed, default=-1) >= 0 else {}
        return {**leader_hit(targets), "pids_gone": gone, "successor": successor, **terms}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        return restart(ctx, (*targets.nodes, *targets.reserved))


NO_TRANSFER: Final = "this system cannot transfer leadership on request"


@runtime_checkable
class Transfers(Protocol):
    """A system that can hand over leadership on request."""

    def transfer_leader(self, leader: str, to: str) -> None:
        """Request the transfer.  Raises FaultError if the request is refused or cannot be made."""
        ...


class LeaderTransfer:
    """Ask the leader, with the system's own request, to hand over leadership to a random follower."""

    name = "leader-transfer"
    summary = "the leader is asked to hand over to a random follower"
    family: Family = "leadership"
    stops = False
    beyond_quorum = False

    def precheck(self, ctx: Context) -> str | None:
        return None if isinstance(ctx.system, Transfers) else NO_TRANSFER

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        leader = leader_of(ctx)
        probes = ctx.system.probes()
        up = [node for node in ctx.free if node != leader and probes[node].answered]
        (to,) = wanted_nodes(ctx, lambda: [rng.choice(up)] if up else [])[:1]
        if to == leader:
            raise SkippedError(f"{to} leads already")
        return Targets((to,), detail={"from": leader, "term": probes[leader].term})

    def inject(self, ctx: Context, targets: Targets) -> None:
        """Repeat the request until the other node leads, because a system may refuse or elect a third node.

        Raises FaultError if the node does not become leader, or becomes leader although no request was accepted.
        """
        system, (to,) = ctx.system, targets.nodes
        if not isinstance(system, Transfers):
            raise FaultError(NO_TRANSFER)
        refused, taken = "", False

        def ask() -> Probe | None:
            nonlocal refused, taken
            leader = leader_now(ctx.system.probes(), ctx.members)
            try:
                if leader not in (None, to):
                    system.transfer_leader(str(leader), to)
                    taken = True
                refused = ""
            except FaultError as error:
                refused = f": {error}"
            return ctx.until(lambda: self._leads(ctx, targets), 0.3 if refused else REQUEST_S)

        if not ctx.until(ask, TRANSFER_S):
            raise FaultError(f"{to} did not become leader within {TRANSFER_S:g} s{refused}")
        if not taken:
            raise FaultError(f"{to} leads, but no node was seen to accept a request to hand over to it")

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        probe = self._leads(ctx, targets)
        if probe is None:
            raise FaultError(f"{targets.nodes[0]} no longer leads")
        return {"leader": targets.nodes[0], **({"term": probe.term} if probe.term >= 0 else {})}

    @staticmethod
    def _leads(ctx: Context, targets: Targets) -> Probe | None:
        """Return the probe in which the target claims a newer leadership; None if it does not."""
        probe = ctx.system.probes()[targets.nodes[0]]
        return probe if probe.role == "leader" and _later(probe, targets.detail["term"]) else None

    def heal(self, ctx: Context, targets: Targets) -> Witness:  # noqa: ARG002 (there is nothing to undo)
        return {"leader_now": leader_now(ctx.system.probes(), ctx.members)}


NO_PROMOTION: Final = "no follower of this system can be promoted, or it elects leaders itself"
#: The file in a deposed leader's home: while it is there, the node's role may only come back as a follower.
DEPOSED: Final = "deposed"
_DEPOSE: Final = f'touch "$1/{DEPOSED}" && sync -f "$1"'
_IS_DEPOSED: Final = f'[ ! -e "$1/{DEPOSED}" ] || echo deposed'


@runtime_checkable
class Promotes(Protocol):
    """A system whose operator promotes a follower when the leader is dead."""

    def promote(self, dead: str) -> str:
        """Promote the follower with the longest log in place of the dead leader, and return it.

        If one was promoted before, return that one.  Raises StartError if some follower can be reached but does not
        answer, because it may be the one with the longest log, or if the chosen one does not lead.  Raises FaultError
        if a follower cannot be reached.
        """
        ...


class PromoteFollower:
    """Kill the leader, bar it from leading, and promote a follower.  Healing brings the old leader back to follow it.

    These are the steps of an operator whose leader is lost.  Before another node leads, a file on the old leader's disk
    bars it from leading, so that it cannot come back and serve as a second leader, not even if it is cut off.
    """

    name = "promote-follower"
    summary = "SIGKILL to the leader, promotion of a follower, and return of the old leader as a follower"
    family: Family = "kill"
    stops = True
    beyond_quorum = False
    unaimed = "it hits the leader"

    def precheck(self, ctx: Context) -> str | None:
        if not isinstance(ctx.system, Promotes):
            return NO_PROMOTION
        enough = ctx.settings.beyond_quorum or len(ctx.members) >= 3
        return None if enough else "needs at least 3 nodes to leave a majority"

    def plan(self, ctx: Context, rng: random.Random) -> Targets:  # noqa: ARG002 (one shape for all faults)
        leader, probes = leader_of(ctx), ctx.system.probes()
        if (recorded := wanted_nodes(ctx, lambda: [leader])) != (leader,):
            raise SkippedError(f"the leader is {leader}, not {', '.join(recorded)}")
        others = tuple(name for name in ctx.members if name != leader)
        if lacking := [name for name in others if name not in ctx.free or not probes[name].answered]:
            raise NotYetError(f"{', '.join(lacking)} may have the longest log, but is under a fault or silent")
        detail = {"pids": running_pids(ctx, (leader,)), "last_probe": last_probes(ctx, (leader,))}
        damaged = {"damaged": hit} if (hit := sorted(ctx.damaged & {*others})) else {}
        return Targets((leader,), detail={**detail, **damaged, "term": probes[leader].term}, reserved=others)

    def inject(self, ctx: Context, targets: Targets) -> None:
        (dead,) = targets.nodes
        send(ctx, targets.nodes, "KILL")
        see_gone(ctx, pids_of(targets))
        ctx.run_checked({dead: self._at_home(ctx, dead, "depose", _DEPOSE)})
        self._promote(ctx, dead)

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        gone = see_gone(ctx, pids_of(targets))

        def look() -> Probe | None:
            probes = ctx.system.probes()
            new = leader_now({name: probes[name] for name in targets.reserved}, targets.reserved)
            return probes[new] if new and _later(probes[new], targets.detail["term"]) else None

        if (probe := ctx.until(look, SUCCESSOR_S)) is None:
            raise FaultError("no follower claims to lead in a later term")
        promoted = {"node": probe.node, **({"term": probe.term} if probe.term >= 0 else {})}
        return {**leader_hit(targets), "promoted": promoted, **gone}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        """Start the old leader; if it was barred and no follower leads yet, promote one first.

        No fault is on the followers, so they have as long to answer as a server has to start.  If the system is at
        fault for a failed promotion, start the old leader anyway and then raise the StartError.
        """
        commands = {node: self._at_home(ctx, node, "deposed", _IS_DEPOSED) for node in targets.nodes}
        for node, answer in ctx.run_checked(commands).items():
            if not answer.stdout:
                continue
            try:
                self._promote_in_time(ctx, targets, node)
            except StartError as error:
                if damaged := targets.detail.get("damaged"):
                    raise FaultError(f"{error}, perhaps because {and_listed(damaged)} was damaged before") from None
                with suppress(StartError):
                    restart(ctx, targets.nodes)
                raise
        pids = restart(ctx, targets.nodes)
        return {"leader_now": leader_now(ctx.system.probes(), ctx.members), **pids}

    def _promote_in_time(self, ctx: Context, targets: Targets, dead: str) -> None:
        last: list[StartError] = []

        def look() -> str | None:
            self._see_followers(ctx, targets)
            try:
                return self._promote(ctx, dead)
            except StartError as error:
                last.append(error)
                return None

        if ctx.until(look, ctx.settings.ready_s) is None:
            raise last[-1]

    @staticmethod
    def _see_followers(ctx: Context, targets: Targets) -> None:
        """Raise StartError if a follower's process is gone: they are reserved, so no fault of ours ended it."""
        if gone := [node for node, pid in ctx.system.pids(targets.reserved).items() if pid is None]:
            raise StartError(dict.fromkeys(gone, "it died although no fault was active on it"))

    @staticmethod
    def _promote(ctx: Context, dead: str) -> str:
        if not isinstance(ctx.system, Promotes):
            raise FaultError(NO_PROMOTION)
        return ctx.system.promote(dead)

    @staticmethod
    def _at_home(ctx: Context, node: str, step: str, script: str) -> Command:
        return Command(("sh", "-c", script, step, ctx.settings.role(node)[0]))


LEADERSHIP: Iterable[Fault] = (LeaderThenSuccessor(), LeaderTransfer(), PromoteFollower())
