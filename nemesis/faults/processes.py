"""Killing and pausing the system's processes.  Always SIGKILL, never SIGTERM: a crash is not a shutdown."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from nemesis.core.errors import FaultError, SkippedError
from nemesis.core.fault import Context, Family, Targets, Witness, wanted_nodes
from nemesis.core.grudges import majority
from nemesis.core.ports import Command, StartError
from nemesis.core.targets import leader_of, mostly_small

Choose: TypeAlias = Callable[[Context, random.Random], list[str]]

#: Prints the state letter of a process, or nothing when it is gone.
STATE: Final = """while read -r key value rest; do
  [ "$key" = State: ] && echo "$value"
done 2>/dev/null </proc/"$0"/status
exit 0"""

#: ``marked FLAGS ROLE HOME`` prints the pids of the processes whose environment has this home and matches this role.
MARKED: Final = r"""marked() {
  grep -lsz $1 -e "$2" $(grep -lszxF -e "$3" /proc/[0-9]*/environ) </dev/null | tr -dc '0-9\n'
}
"""
#: To the process and its group, which it leads: what a shell was started with is the shell, and serving is its child.
#: Then to what it started in other sessions, as databases do with their workers: they have the marks of its environment
#: (``harness.systems.deployment``).  Repeated until no more of them are found, since they may have started others.
#: Ends with 0 when the process is gone afterwards or was before; that kill succeeded proves nothing.
SIGNAL: Final = (
    MARKED
    + r"""marks=$(tr '\0' '\n' 2>/dev/null </proc/"$0"/environ)
role=$(echo "$marks" | grep '^HARNESS_ROLE=.') && home=$(echo "$marks" | grep '^HARNESS_HOME=.') || role=
kill -s "$1" -- "-$0" 2>/dev/null || kill -s "$1" "$0" 2>/dev/null || [ ! -e /proc/"$0" ]
sent=$? before= i=0
while [ -n "$role" ] && [ $i -lt 20 ]; do
  others=$(marked -xF "$role" "$home")
  [ "$others" != "$before" ] || break
  kill -s "$1" $others 2>/dev/null
  before=$others i=$((i + 1))
done
exit $sent"""
)

GONE: Final = ("", "Z", "X")


def state_of(pid: int) -> Command:
    return Command(("sh", "-c", STATE, str(pid)))


def signal(pid: int, name: Literal["KILL", "STOP", "CONT"]) -> Command:
    return Command(("sh", "-c", SIGNAL, str(pid), name))


def states(ctx: Context, pids: Mapping[str, int]) -> dict[str, str]:
    """The state letter of each node's process; empty where it is gone.

    Raises FaultError where that could not be seen: a look that failed prints nothing, as one at a process that is gone.
    """
    answers = ctx.run_checked({node: state_of(pid) for node, pid in pids.items()})
    return {node: answer.stdout.strip() for node, answer in answers.items()}


def await_states(ctx: Context, pids: Mapping[str, int], wanted: Callable[[str], bool]) -> dict[str, str]:
    """The state letters of all processes once each is as wanted, or as they are at the deadline."""
    last: dict[str, str] = {}

    def look() -> bool | None:
        last.update(states(ctx, pids))
        return all(map(wanted, last.values())) or None

    ctx.until(look, ctx.settings.witness_s)
    return last


def running_pids(ctx: Context, nodes: tuple[str, ...]) -> dict[str, int]:
    """Pids of those that run.  Raises SkippedError when one of the nodes has no process."""
    found = ctx.system.pids(nodes)
    if down := [node for node in nodes if found.get(node) is None]:
        raise SkippedError(f"{', '.join(down)} is down already")
    return {node: pid for node, pid in found.items() if pid is not None}


def last_probes(ctx: Context, nodes: Iterable[str]) -> dict[str, Any]:
    """The newest probe of each of these nodes that answered: its role and term when it was hit."""
    probes = ctx.system.probes()
    said = {node: probes[node] for node in nodes if node in probes and probes[node].answered}
    return {
        node: {"role": one.role, "term": one.term, "committed": one.committed, "ledger_end": one.ledger_end}
        for node, one in said.items()
    }


def pids_of(targets: Targets) -> dict[str, int]:
    """The processes of the targeted nodes, as they were when the targets were drawn."""
    pids: dict[str, Any] = targets.detail.get("pids", {})
    return {node: int(pid) for node, pid in pids.items() if node in targets.nodes or node in targets.reserved}


def kill(ctx: Context, pids: Mapping[str, int]) -> None:
    ctx.run_checked({node: signal(pid, "KILL") for node, pid in pids.items()})


def see_gone(ctx: Context, pids: Mapping[str, int]) -> Witness:
    """Wait until none of them is in /proc; a zombie counts as gone.  Raises FaultError at the deadline."""
    began = ctx.clock.now()
    last = await_states(ctx, pids, lambda state: state in GONE)
    if alive := [f"{node} (pid {pids[node]}, state {last[node]})" for node in pids if last[node] not in GONE]:
        raise FaultError(f"still there: {', '.join(alive)}")
    return {"pids_gone": dict(pids), "gone_after_ms": round((ctx.clock.now() - began) / 1e6, 1)}


def spare(ctx: Context) -> int:
    """Count the members that may yet be stopped while a majority stays up; all free ones when the plan allows that."""
    if ctx.settings.beyond_quorum:
        return len(ctx.free)
    return max(0, len(ctx.free) - majority(len(ctx.members)))


def random_subset(ctx: Context, rng: random.Random) -> list[str]:
    """A random subset of the free nodes, mostly small, that leaves a majority."""
    most = min(spare(ctx), len(ctx.free))
    return rng.sample(ctx.free, min(mostly_small(len(ctx.members), rng), most)) if most else []


def random_one(ctx: Context, rng: random.Random) -> list[str]:
    return [rng.choice(ctx.free)] if ctx.free and spare(ctx) else []


def the_leader(ctx: Context, rng: random.Random) -> list[str]:  # noqa: ARG001 (one shape for all choices)
    return [leader_of(ctx)]


def the_followers(ctx: Context, rng: random.Random) -> list[str]:
    """Choose as many followers as can be spared; all when the plan allows that."""
    leader = leader_of(ctx)
    followers = [name for name in ctx.free if name != leader]
    return rng.sample(followers, min(len(followers), spare(ctx)))


def all_nodes(ctx: Context, rng: random.Random) -> list[str]:  # noqa: ARG001 (one shape for all choices)
    return list(ctx.free)


def a_majority(ctx: Context, rng: random.Random) -> list[str]:
    """Choose a majority of the members.  Raises SkippedError when so many are not free."""
    number = majority(len(ctx.members))
    if len(ctx.free) < number:
        raise SkippedError(f"{len(ctx.free)} of {len(ctx.members)} nodes are free, which is no majority")
    return rng.sample(ctx.free, number)


class ProcessFault:
    """A fault of the processes of some nodes; the subclasses define targets and action."""

    family: Family
    stops = True

    def __init__(
        self, name: str, summary: str, choose: Choose, *, beyond_quorum: bool = False, leads: bool = False
    ) -> None:
        """``leads``: one of the targets must lead."""
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
        """The target that led by its last probe, with its term.  Raises FaultError when one must and none did."""
        return leader_hit(targets) if self.leads else {}


def leader_hit(targets: Targets) -> Witness:
    """The target that led by its last probe, in the highest term.  Raises FaultError when none did."""
    said: Mapping[str, Mapping[str, Any]] = targets.detail["last_probe"]
    leaders = {node: said[node]["term"] for node in targets.nodes if node in said and said[node]["role"] == "leader"}
    if not leaders:
        was = ", ".join(f"{node} was {one['role']}{_in_term(one['term'])}" for node, one in said.items())
        raise FaultError(f"no target led by its last probe: {was or 'none of them answered'}")
    leader = max(leaders, key=lambda node: leaders[node])
    return {"led": {"node": leader, **({"term": leaders[leader]} if leaders[leader] >= 0 else {})}}


def _in_term(term: int) -> str:
    """Write " in term N"; nothing for a system that reports no terms."""
    return f" in term {term}" if term >= 0 else ""


class Kill(ProcessFault):
    """SIGKILL; healed by starting the process again and waiting until it answers."""

    family = "kill"

    def inject(self, ctx: Context, targets: Targets) -> None:
        kill(ctx, pids_of(targets))

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        return {**see_gone(ctx, pids_of(targets)), **self.led(targets)}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        return restart(ctx, targets.nodes)


def restart(ctx: Context, nodes: tuple[str, ...]) -> Witness:
    """Start what does not run, and see a process on every node.  Raises the system's StartError."""
    ctx.system.start(nodes)
    pids = ctx.system.pids(nodes)
    if down := [node for node in nodes if pids.get(node) is None]:
        raise StartError(dict.fromkeys(down, "it died after it had answered"))
    return {"pids_now": {node: pids[node] for node in nodes}}


class Pause(ProcessFault):
    """SIGSTOP; healed by SIGCONT.  The kernel goes on answering for the process: connections stay open."""

    family = "pause"

    def inject(self, ctx: Context, targets: Targets) -> None:
        ctx.run_checked({node: signal(pid, "STOP") for node, pid in pids_of(targets).items()})

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        pids = pids_of(targets)
        last = await_states(ctx, pids, lambda state: state == "T")
        if others := [f"{n} (pid {pids[n]}, state {state or 'gone'})" for n, state in last.items() if state != "T"]:
            raise FaultError(f"not stopped: {', '.join(others)}")
        return {"state": last, "pids": pids, **self.led(targets)}

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        pids = pids_of(targets)
        ctx.run_checked({node: signal(pid, "CONT") for node, pid in pids.items()})
        last = await_states(ctx, pids, lambda state: state != "T")
        if still := [node for node, state in last.items() if state == "T"]:
            raise FaultError(f"still stopped: {', '.join(still)}")
        return {"state_now": {node: letter or "gone" for node, letter in last.items()}}


PROCESSES: tuple[Kill | Pause, ...] = (
    Kill("kill-random-processes", "SIGKILL to a random subset, mostly small, that leaves a majority", random_subset),
    Kill("kill-leader", "SIGKILL to the leader", the_leader, leads=True),
    Kill("kill-followers", "SIGKILL to as many followers as leave a majority", the_followers),
    Kill("kill-all", "SIGKILL to all members (nodes with data, or that vote) at once", all_nodes, beyond_quorum=True),
    Pause("hammer-time", "SIGSTOP to one random node's process, later SIGCONT", random_one),
    Pause("pause-leader", "SIGSTOP to the leader, later SIGCONT", the_leader, leads=True),
    Pause("pause-majority", "SIGSTOP to a random majority, later SIGCONT", a_majority, beyond_quorum=True),
)
