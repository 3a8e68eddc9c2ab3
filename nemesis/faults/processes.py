"""Kill and pause the system's processes. Always SIGKILL, never SIGTERM, because a crash is not a shutdown."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from nemesis.core import roles
from nemesis.core.errors import FaultError, SkippedError
from nemesis.core.fault import Context, Family, Targets, Witness, wanted_nodes
from nemesis.core.grudges import majority
from nemesis.core.ports import Command, StartError
from nemesis.core.targets import leader_of, mostly_small

Choose: TypeAlias = Callable[[Context, random.Random], list[str]]


def send(ctx: Context, nodes: Iterable[str], name: roles.Signal) -> None:
    """Send a signal to all processes of the role that faults hit.

    After ``STOP`` and ``KILL``, wait until all of them are stopped or gone.  Raises FaultError if that fails.
    """
    ctx.run_checked({node: roles.signal(*ctx.settings.role(node), name) for node in nodes})


def states(ctx: Context, nodes: Iterable[str]) -> dict[str, dict[int, str]]:
    """Return the state letters of each node's processes by pid; empty for a node where all are gone.

    Raises FaultError if the command fails, because its empty output would look like a node without processes.
    """
    answers = ctx.run_checked({node: roles.states(*ctx.settings.role(node)) for node in nodes})
    lines = {node: map(str.split, answer.stdout.splitlines()) for node, answer in answers.items()}
    return {node: {int(pid): letter for pid, letter in words} for node, words in lines.items()}


def await_states(
    ctx: Context, nodes: Iterable[str], wanted: Callable[[Mapping[int, str]], bool]
) -> dict[str, dict[int, str]]:
    """Wait until each node's processes are in the wanted states; return the states then, or at the deadline."""
    last: dict[str, dict[int, str]] = {}

    def look() -> bool | None:
        last.update(states(ctx, nodes))
        return all(map(wanted, last.values())) or None

    ctx.until(look, ctx.settings.witness_s)
    return last


def running_pids(ctx: Context, nodes: tuple[str, ...]) -> dict[str, int]:
    """Return the pid of the process on each node.  Raises SkippedError if a node has none."""
    pids = ctx.system.pids(nodes)
    if down := [node for node in nodes if pids.get(node) is None]:
        raise SkippedError(f"{', '.join(down)} is down already")
    return {node: pid for node, pid in pids.items() if pid is not None}


def last_probes(ctx: Context, nodes: Iterable[str]) -> dict[str, Any]:
    """Return the role, term and log indexes in the newest probe of each of these nodes that answered."""
    probes = ctx.system.probes()
    newest = {node: probes[node] for node in nodes if node in probes and probes[node].answered}
    return {
        node: {"role": probe.role, "term": probe.term, "committed": probe.committed, "log_end": probe.log_end}
        for node, probe in newest.items()
    }


def pids_of(targets: Targets) -> dict[str, int]:
    """Return the pids of the targeted and reserved nodes' processes, as recorded when the targets were drawn."""
    pids: dict[str, Any] = targets.detail.get("pids", {})
    return {node: int(pid) for node, pid in pids.items() if node in targets.nodes or node in targets.reserved}


def see_gone(ctx: Context, pids: Mapping[str, int]) -> Witness:
    """Wait until none of these nodes has a process, and return proof.  Raises FaultError at the deadline."""
    began = ctx.clock.now()
    last = await_states(ctx, pids, lambda letters: not letters)
    if alive := [_describe(node, letters) for node, letters in last.items() if letters]:
        raise FaultError(f"still there: {', '.join(alive)}")
    return {"pids_gone": dict(pids), "gone_after_ms": round((ctx.clock.now() - began) / 1e6, 1)}


def _describe(node: str, letters: Mapping[int, str]) -> str:
    return f"{node} ({', '.join(f'pid {pid} in state {letter}' for pid, letter in letters.items()) or 'no process'})"


def spare(ctx: Context) -> int:
    """Return how many more members can be stopped while a majority stays up; all free ones if the plan allows that."""
    if ctx.settings.beyond_quorum:
        return len(ctx.free)
    return max(0, len(ctx.free) - majority(len(ctx.members)))


def random_subset(ctx: Context, rng: random.Random) -> list[str]:
    """Choose a random subset of the free nodes, mostly small, that leaves a majority."""
    most = min(spare(ctx), len(ctx.free))
    return rng.sample(ctx.free, min(mostly_small(len(ctx.members), rng), most)) if most else []


def random_one(ctx: Context, rng: random.Random) -> list[str]:
    return [rng.choice(ctx.free)] if ctx.free and spare(ctx) else []


def any_one(ctx: Context, rng: random.Random) -> list[str]:
    """Choose one free node, even if the others are not a majority."""
    return [rng.choice(ctx.free)] if ctx.free else []


def the_leader(ctx: Context, rng: random.Random) -> list[str]:  # noqa: ARG001 (one shape for all choices)
    return [leader_of(ctx)]


def the_followers(ctx: Context, rng: random.Random) -> list[str]:
    """Choose as many followers as can be spared; all free ones if the plan allows that."""
    leader = leader_of(ctx)
    followers = [name for name in ctx.free if name != leader]
    return rng.sample(followers, min(len(followers), spare(ctx)))


def all_nodes(ctx: Context, rng: random.Random) -> list[str]:  # noqa: ARG001 (one shape for all choices)
    return list(ctx.free)


def a_majority(ctx: Context, rng: random.Random) -> list[str]:
    """Choose a random majority of the members.  Raises SkippedError if not enough of them are free."""
    number = majority(len(ctx.members))
    if len(ctx.free) < number:
        raise SkippedError(f"{len(ctx.free)} of {len(ctx.members)} nodes are free, which is not a majority")
    return rng.sample(ctx.free, number)


class ProcessFault:
    """A fault of the processes on some nodes.  Subclasses define the targets and the action."""

    family: Family
    stops = True

    def __init__(
        self, name: str, summary: str, choose: Choose, *, beyond_quorum: bool = False, leads: bool = False
    ) -> None:
        """Create a fault that draws its targets with ``choose``.  With ``leads``, one target must be the leader."""
        self.name = name
        self.summary = summary
        self.choose = choose
        self.beyond_quorum = beyond_quorum
        self.leads = leads

    def precheck(self, ctx: Context) -> str | None:
        if self.beyond_quorum or ctx.settings.beyond_quorum or len(ctx.members) >= 3:
            return None
        return "needs at least 3 nodes to leave a majority"

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        nodes = wanted_nodes(ctx, lambda: self.choose(ctx, rng))
        return Targets(nodes, detail={"pids": running_pids(ctx, nodes), "last_probe": last_probes(ctx, nodes)})

    def led(self, targets: Targets) -> Witness:
        """Return proof that a target led, if the fault requires that. Raises FaultError if none did."""
        return leader_hit(targets) if self.leads else {}


def leader_hit(targets: Targets) -> Witness:
    """Return the target that led in the highest term, according to the last probes.  Raises FaultError if none did."""
    last: Mapping[str, Mapping[str, Any]] = targets.detail["last_probe"]
    leaders = {node: last[node]["term"] for node in targets.nodes if node in last and last[node]["role"] == "leader"}
    if not leaders:
        was = ", ".join(f"{node} was {probe['role']}{_in_term(probe['term'])}" for node, probe in last.items())
        raise FaultError(f"according to the last probes, no target led: {was or 'none of them answered'}")
    leader = max(leaders, key=lambda node: leaders[node])
    return {"led": {"node": leader, **({"term": leaders[leader]} if leaders[leader] >= 0 else {})}}


def _in_term(term: int) -> str:
    """Format " in term N"; empty for a system that reports no terms."""
    return f" in term {term}" if term >= 0 else ""


class Kill(ProcessFault):
    """Kill processes with SIGKILL.  Healing starts them again and waits until they answer."""

    family = "kill"

    def inject(self, ctx: Context, targets: Targets) -> None:
        send(ctx, targets.nodes, "KILL")

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        return {**see_gone(ctx, pids_of(targets)), **self.led(targets)}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        return restart(ctx, targets.nodes)


class KillOne(ProcessFault):
    """Kill one of a server's processes, but not the first one, with SIGKILL.  Healing starts a server that is down.

    How the server reacts is up to it: PostgreSQL ends all its processes except the first, and recovers.
    """

    family = "kill"
    stops = False

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        nodes = wanted_nodes(ctx, lambda: self.choose(ctx, rng))
        first, victims = running_pids(ctx, nodes), dict[str, int]()
        for node, letters in states(ctx, nodes).items():
            if not (others := sorted(letters.keys() - {first[node]})):
                raise SkippedError(f"the server of {node} is one process")
            victims[node] = rng.choice(others)
        return Targets(nodes, detail={"pids": victims, "first": first, "last_probe": last_probes(ctx, nodes)})

    def inject(self, ctx: Context, targets: Targets) -> None:
        victims = pids_of(targets)
        ctx.run_checked({node: Command(("kill", "-s", "KILL", str(pid))) for node, pid in victims.items()})

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        victims = pids_of(targets)

        def look() -> dict[str, int] | None:
            now = states(ctx, victims)
            return None if any(pid in now[node] for node, pid in victims.items()) else {n: len(now[n]) for n in now}

        if (left := ctx.until(look, ctx.settings.witness_s)) is None:
            raise FaultError(f"still there: {victims}")
        return {"pids_gone": victims, "processes_left": left}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        return restart(ctx, targets.nodes)


def restart(ctx: Context, nodes: tuple[str, ...]) -> Witness:
    """Start processes that are not running, and check that every node has one.  Raises the system's StartError."""
    ctx.system.start(nodes)
    pids = ctx.system.pids(nodes)
    if down := [node for node in nodes if pids.get(node) is None]:
        raise StartError(dict.fromkeys(down, "it died after answering"))
    return {"pids_now": {node: pids[node] for node in nodes}}


class Pause(ProcessFault):
    """Pause processes with SIGSTOP.  Healing sends SIGCONT.

    The kernel keeps answering for the processes, so connections stay open.
    """

    family = "pause"

    def inject(self, ctx: Context, targets: Targets) -> None:
        send(ctx, targets.nodes, "STOP")

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        last = await_states(ctx, targets.nodes, _stopped)
        if others := [_describe(node, letters) for node, letters in last.items() if not _stopped(letters)]:
            raise FaultError(f"not stopped: {', '.join(others)}")
        counts = {node: len(letters) for node, letters in last.items()}
        return {"state": dict.fromkeys(last, "T"), "processes": counts, "pids": pids_of(targets), **self.led(targets)}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        before = states(ctx, targets.nodes)
        send(ctx, targets.nodes, "CONT")
        last = await_states(ctx, targets.nodes, lambda letters: "T" not in letters.values())
        if still := [node for node, letters in last.items() if "T" in letters.values()]:
            raise FaultError(f"still stopped: {', '.join(still)}")
        now = {node: "".join(sorted({*letters.values()})) or "gone" for node, letters in last.items()}
        ran = [_describe(node, letters) for node, letters in before.items() if letters and not _stopped(letters)]
        lapsed = {"lapsed": f"it had been continued before it was healed: {', '.join(ran)}"} if ran else {}
        return {"state_now": now, **lapsed}


def _stopped(letters: Mapping[int, str]) -> bool:
    """Return whether there are processes and all of them are stopped."""
    return bool(letters) and {*letters.values()} == {"T"}


PROCESSES: tuple[Kill | KillOne | Pause, ...] = (
    Kill("kill-random-processes", "SIGKILL to a random subset, mostly small, that leaves a majority", random_subset),
    Kill("kill-leader", "SIGKILL to the leader", the_leader, leads=True),
    Kill("kill-followers", "SIGKILL to as many followers as leave a majority", the_followers),
    Kill("kill-all", "SIGKILL to all members (nodes with data, or that vote) at once", all_nodes, beyond_quorum=True),
    KillOne(
        "kill-one-process",
        "SIGKILL to one process of a server that has several, but not to its first",
        any_one,
        beyond_quorum=True,
    ),
    Pause("hammer-time", "SIGSTOP to one random node's process, later SIGCONT", random_one),
    Pause("pause-leader", "SIGSTOP to the leader, later SIGCONT", the_leader, leads=True),
    Pause("pause-majority", "SIGSTOP to a random majority, later SIGCONT", a_majority, beyond_quorum=True),
)
