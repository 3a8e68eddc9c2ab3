"""The final phase, after healing: issue operations of every kind, wait for recovery and rest, read every object.

1. *recovery*: each node's clients continue lightly, alternating reads of every object with the workload's operations,
   until each kind was served again and every node has caught up, or the recovery time is over
2. *quiescence*: no operations until the nodes' states stop changing, so that contents can be compared
3. *final reads*: a client of each node reads each object; the system decides which node serves the read
4. *restart* (on request): all servers are killed and started again.  Each object is read at once, before a change can
   hide that the restart lost something.  Then recovery, final reads and quiescence follow again.

If only the leader serves final reads, they show that the cluster holds what it acknowledged, but not that every node
does.  The content of each node is compared by the digests in its answers (check ``replicas-agree``).  No deadline
counts the times when this process itself was stalled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING, Final

from harness.errors import NotReadyError
from harness.execution.interpreter import LOOK_S, follow
from harness.execution.light_load import left_of, light_load
from harness.execution.load import Load
from harness.generators import NOTHING, Generator, Invocation, Stream, each_worker, on
from harness.judge.recovery import clients_decide, committed_by, waiting_for
from harness.judge.service import KeyWant, met_by, wants_of
from harness.workloads import until_applied

if TYPE_CHECKING:
    from harness.execution.context import RunContext
    from history import Probe

#: How long (s) the nodes may take to come to rest after the recovery.
QUIET_S: Final = 10.0
FINAL_READS_S: Final = 10.0
#: Extra seconds for each object: enough for a read through the log on a slow disk, or one forwarded to another node.
FINAL_READ_EACH_S: Final = 0.1
ASK_AGAIN_S: Final = 0.1
#: If a run has at most this many keys, each is asked for before the cluster counts as recovered, which takes at most
#: this long (s).
FEW_KEYS: Final = 10
KEYS_S: Final = 5.0


class FinalPhase:
    """The final phase of one run.  Call :meth:`run` once, in the run's event loop."""

    def __init__(self, run: RunContext, load: Load) -> None:
        self._run = run
        self._plan = run.plan
        self._nodes = run.system.serving
        self._load = load
        self._operations: Generator = NOTHING
        self._once = set[KeyWant]()

    async def run(self, heals: Iterable[int], operations: Generator) -> None:
        """Let the cluster recover and settle, read every object, and restart if the plan asks for it.

        ``heals`` are the times of the heals (nanoseconds since the run's start); every node must pass the commit index
        reached at each.  ``operations`` are the workload's remaining operations, because reads alone would not show
        that the system still accepts changes.
        """
        self._operations = operations
        await self._recover("recovered", heals)
        await self._come_to_rest("quiet")
        self._run.tally.note = "final reads"
        self._run.reach("final-reads")
        await self._read_everything()
        if self._plan.restart_at_end and not self._run.stopped():
            await self._restart()

    # -- recovery --------------------------------------------------------------------------------------------------

    async def _recover(self, moment: str, since: Iterable[int], committed_before: int = -1) -> None:
        """Wait, up to the recovery time, until clients are served and nodes have caught up; record the ``moment``.

        A node has caught up when it has everything that was committed at the times ``since``, and up to
        ``committed_before``.
        """
        self._run.tally.note = "waiting for every node to catch up"
        since = [*since]
        first = min(since)
        system, workload, load = self._plan.under_test, self._plan.load, self._load
        # A system's own rule may look at other nodes as well, such as metadata servers.
        probes = self._run.probes.of_members if system.recovered is None else self._run.probes.all
        members, logless = self._run.system.members, self._run.probes.logless
        caught_up = [waiting_for(system, probes, members, start, committed_before, logless) for start in since]
        moving = {worker.client.home for worker in load.workers} - {*self._run.system.names}
        wanted = {*wants_of(workload, load.asked, {*self._nodes, *moving} if clients_decide(system, probes) else ())}
        # A key that is requested without success keeps the load going; one that was never served has nothing to recover
        # to.
        self._once |= load.served_keys
        once, few = self._once, len(load.keys) <= FEW_KEYS
        load.served.clear()
        load.served_keys.clear()

        def vain() -> list[KeyWant]:
            failed = {want for want, at in load.vain_keys.items() if at >= first}
            return sorted((failed & once) - load.served_keys, key=str)

        def recovered() -> bool:
            try:
                met = {want for call in load.served for want in met_by(workload, call)}
                return wanted <= met and not vain() and all(done() for done in caught_up)
            except Exception as error:  # noqa: BLE001 (a third party's rule may fail in any way, also in the judge)
                self._run.state.warn(f"the system's own recovery rule failed: {type(error).__name__}: {error}")
                return False

        late = self._run.standstills.deadline(self._plan.recovery_time)
        asked_enough = self._run.standstills.deadline(min(KEYS_S, self._plan.recovery_time))
        stream, homes = Stream(self._plan.rng("final load")), [worker.client.home for worker in load.workers]

        def over() -> bool:
            return (recovered() and (not few or once <= load.served_keys or asked_enough())) or late()

        while True:
            light = light_load(self._reads(), self._operations, workload, homes, stream, vain())
            self._operations = left_of(await follow(load, light, over))
            # Requests that were still open when this was over may have failed since.
            if not vain() or late() or self._run.stopped():
                break
        if not self._run.stopped() and recovered():
            self._run.reach(moment)

    # -- quiescence ------------------------------------------------------------------------------------------------

    async def _come_to_rest(self, moment: str) -> None:
        """Wait until the nodes settle; return at once if the system's nodes cannot be probed."""
        if self._plan.under_test.prober is None:
            return
        self._run.tally.note = "waiting for the nodes to settle"
        # A node that never reports an applied index, such as an arbiter, has nothing that could come to rest.
        probes, members = self._run.probes.of_members, self._run.system.members
        nodes = self._run.probes.applying.intersection(members) or members
        since, late = len(probes), self._run.standstills.deadline(QUIET_S)
        while not (level(recent := probes[since:], nodes) or late() or self._run.stopped()):
            await asyncio.sleep(LOOK_S)
        if self._run.stopped():
            return
        if level(recent, nodes) or resting(recent):
            self._run.reach(moment)
        else:
            self._run.state.warn(f"the nodes did not settle within {QUIET_S:g} s without load")

    # -- final reads -----------------------------------------------------------------------------------------------

    def _reads(self) -> Sequence[Invocation]:
        return self._plan.load.final(self._plan.scale(self._load.keys))

    async def _read_everything(self, within: float = inf) -> None:
        """Let a worker of each node read each object."""
        reads = self._reads()
        late = self._run.standstills.deadline(min(within, FINAL_READS_S + FINAL_READ_EACH_S * len(reads)))
        everything = each_worker(until_applied(reads, ASK_AGAIN_S))
        await follow(self._load, on(range(len(self._nodes)), everything), late)

    # -- restart ---------------------------------------------------------------------------------------------------

    async def _restart(self) -> None:
        self._run.tally.note = "restarting all nodes"
        self._run.reach("restarting")
        try:
            await asyncio.to_thread(self._kill_and_start)
        except NotReadyError as error:
            self._run.state.restart_failed = str(error)
            await self._see_the_others()
            return
        self._run.reach("restarted")
        moments = self._run.state.moments
        before = committed_by(self._run.probes.of_members, moments["restarting"])
        self._run.tally.note = "reading the state after the restart"
        await self._read_everything(self._plan.recovery_time / 2)  # leave the other half for changes
        await self._recover("restarted-recovered", [moments["restarted"]], before)
        self._run.tally.note = "final reads after the restart"
        self._run.reach("restarted-reads")
        await self._read_everything()
        if not self._run.stopped():
            await self._come_to_rest("restarted-quiet")

    async def _see_the_others(self) -> None:
        """Wait until the nodes that started answer.  A node may refuse to start on a file that a fault damaged."""
        if self._plan.under_test.prober is None:
            return
        self._run.tally.note = "waiting for the nodes that started"
        since, late = len(self._run.probes.all), self._run.standstills.deadline(self._plan.recovery_time)
        while not (late() or self._run.stopped()):
            if {probe.node for probe in self._run.probes.all[since:] if probe.answered} >= {*self._nodes}:
                return
            await asyncio.sleep(LOOK_S)

    def _kill_and_start(self) -> None:
        self._run.system.kill(self._nodes)
        self._run.system.start(self._nodes)
        self._run.system.await_leader()


def level(probes: Sequence[Probe], nodes: Iterable[str]) -> bool:
    """Return whether all nodes are at one applied index and each answered its last two probes without moving.

    An unanswered probe means that the nodes are not level: the node may be too busy applying to answer.
    """
    last_two = [[probe for probe in probes if probe.node == node][-2:] for node in nodes]
    stand = all(len(pair) == 2 and all(probe.answered for probe in pair) and _same_state(*pair) for pair in last_two)
    return stand and len({probe.applied for pair in last_two for probe in pair}) == 1


def resting(probes: Sequence[Probe]) -> bool:
    """Return whether each node that answered shows the same state in its last two answers; False if none answered.

    When the waiting time is over, this is enough: a node that is down or behind must not prevent comparing the others.
    """
    answers: dict[str, list[Probe]] = {}
    for probe in probes:
        if probe.answered:
            answers.setdefault(probe.node, []).append(probe)
    return bool(answers) and all(len(mine) > 1 and _same_state(*mine[-2:]) for mine in answers.values())


def _same_state(before: Probe, now: Probe) -> bool:
    return (before.applied, before.state_index) == (now.applied, now.state_index)
