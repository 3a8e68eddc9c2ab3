"""Assess recovery, while a run waits for it and when the run is judged.

Whatever the system, clients must be served again with every kind of operation (``harness.judge.service``).  One of
three rules decides whether the nodes are back: the system's own rule (``System.recovered``), else the nodes' commit and
applied indexes, else each node's own clients.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from harness.judge.answers_by_process import last_answers, reporting
from harness.judge.service import CHANGES, Service, Want, wants_text
from harness.systems.api import Recovered, System
from history import Probe, Receipt
from history.records.indexes import index_text
from history.records.probes import leader_now
from history.records.text import and_listed

#: A probe older than this (ns) is not used for the state at the heal.
FRESH_NS: Final = 2_000_000_000
#: How often (ns) the system's own rule is applied to the recorded probes.
_ROUND_NS: Final = 250_000_000
NOTHING_COMMITTED: Final = "no node ever reported a commit index: there is nothing to reach"
NO_ANSWER: Final = "no node ever answered a probe"

NO_SERVICES: Final[Mapping[Want, Service]] = MappingProxyType({})

#: The event after which recovery is awaited, in words.
HEAL: Final = "the heal"
TRIED: Final = "the attempt to heal"
LOAD: Final = "the load"
RESTART: Final = "the restart"

#: Clients must have asked in vain for the recovery time, less at most this (s), in which workers wait for answers.  A
#: longer gap in which clients do not ask does not count as asking.
PAUSE_S: Final = 5.0

Rule: TypeAlias = Literal["own", "indexes", "operations"]


def rule_of(system: System, probes: Sequence[Probe]) -> Rule:
    """Return the rule for a system, according to what its nodes report."""
    if system.recovered is not None:
        return "own"
    silent = system.prober is not None and not any(probe.answered for probe in probes)
    return "indexes" if silent or (reporting(probes, "committed") and reporting(probes, "applied")) else "operations"


def clients_decide(system: System, probes: Sequence[Probe]) -> bool:
    """Return whether each node must serve its own clients: as declared, or because nothing else shows that it is back.

    A node that catches up and answers no client has not recovered, if its system declares that every node serves.
    """
    declared = system.every_node_serves
    return rule_of(system, probes) == "operations" if declared is None else declared


@dataclass(frozen=True, slots=True)
class Recovery:
    """The progress of each node after a heal at ``healed_at`` (ns since the run's start).

    ``target`` is the commit index that the leader had at the heal.  If there was no leader, or it had none yet, it is
    the highest known one.  ``applied`` is the last applied index of each node since then (-1: it applied nothing; None:
    it did not answer).  ``reached`` is when the node passed the target (ns since the run's start, None: never).
    ``committed`` is the highest commit index that any node reported since the heal (-1: none did).  ``services`` says
    how each kind of request that must succeed fared since the heal, if clients made any.

    With a system's own rule, there is no target: ``reached`` is when the rule held for the node, ``together`` when it
    held for all nodes at once.  If operations decide, no node is followed, and ``services`` also has those of each
    node.  ``undecidable`` is why nothing can be said about the nodes, ``unproven`` is what clients left open.

    ``logless`` are the nodes that keep no log, such as arbiters: they are back with their first answer.  ``silent`` are
    the nodes that had been silent before the heal and stayed so, with their last answer (ns, None: they never gave
    one).  ``event`` says in words what ended at ``healed_at``: in a run without faults there is no heal, and if a
    server did not start again, its fault was not healed.
    """

    healed_at: int
    target: int
    leader: str | None
    applied: dict[str, int | None]
    reached: dict[str, int | None]
    services: Mapping[Want, Service]
    rule: Rule = "indexes"
    together: int | None = None
    undecidable: str = ""
    unproven: str = ""
    committed: int = -1
    logless: tuple[str, ...] = ()
    silent: Mapping[str, int | None] = field(default_factory=dict)
    event: str = HEAL
    epoch_bits: int = 0

    @property
    def late_nodes(self) -> tuple[str, ...]:
        """The nodes that never passed the target."""
        return tuple(node for node, moment in self.reached.items() if moment is None)

    @property
    def behind(self) -> tuple[str, ...]:
        """The nodes that never passed the target or never again served their own clients."""
        return tuple(dict.fromkeys([*self.late_nodes, *(node for _, node in self.unserved if node is not None)]))

    @property
    def unserved(self) -> tuple[Want, ...]:
        """The kinds of requests that never succeeded although clients tried."""
        return tuple(want for want, service in self.services.items() if service.granted is None)

    @property
    def served_again(self) -> int | None:
        """The time at which every kind of operation had been served by some node; None if one never was."""
        kinds = [one.granted for (_, node), one in self.services.items() if node is None]
        granted = [moment for moment in kinds if moment is not None]
        return max(granted, default=None) if len(granted) == len(kinds) else None

    @property
    def nodes_back(self) -> bool:
        return self.together is not None if self.rule == "own" else not self.late_nodes

    @property
    def complete(self) -> bool:
        return self.finished_at is not None

    @property
    def failed(self) -> bool:
        """Whether anything that could be observed did not recover."""
        return bool(self.unserved) or not (self.nodes_back or self.undecidable)

    @property
    def open(self) -> list[str]:
        """Why not everything could be observed."""
        return [why for why in (self.undecidable, self.unproven) if why]

    @property
    def finished_at(self) -> int | None:
        """The time at which the last condition was met (ns since the run's start); None if one never was."""
        if self.unserved or not self.nodes_back:
            return None
        met = [*(one.granted for one in self.services.values()), self.together, *self.reached.values()]
        return max((moment for moment in met if moment is not None), default=None)

    @property
    def seconds(self) -> float | None:
        """Seconds from the heal until the last condition was met; None if one never was."""
        return None if self.finished_at is None else (self.finished_at - self.healed_at) / 1e9

    @property
    def service_took(self) -> float:
        """The longest time (s) for which clients kept trying before they were served."""
        waits = (one.waited for one in self.services.values() if one.granted is not None)
        return max(waits, default=0) / 1e9

    @property
    def took(self) -> float:
        """Like ``seconds``, but without the time in which clients did not ask, for which the system is not responsible.

        If something was left open, recovery took at least this long.
        """
        moments = [] if self.undecidable else [self.together] if self.rule == "own" else self.reached.values()
        nodes = max((moment - self.healed_at for moment in moments if moment is not None), default=0) / 1e9
        return max(nodes, self.service_took)

    def sentence(self) -> str:
        """Return the finding as text, such as "n1 and n3 stuck at 2465 and 2470 of 11924".

        The text gives what was committed at the heal and by the end, because tables and charts compare a node with
        those.
        """
        if self.rule == "own":
            return self._own_sentence()
        parts = []
        silent = [node for node in self.late_nodes if self.applied[node] is None and node not in self.silent]
        empty = [node for node in self.late_nodes if self.applied[node] == -1]
        stuck = {node: index for node in self.late_nodes if (index := self.applied[node]) not in (None, -1)}
        if stuck:
            indexes = and_listed(map(self._index, dict.fromkeys(stuck.values())))
            later = f" ({self._index(self.committed)} by the end)" if self.committed > self.target else ""
            parts.append(f"{and_listed(stuck)} stuck at {indexes} of {self._index(self.target)}{later}")
        if empty:
            parts.append(f"{and_listed(empty)} applied nothing of {self._index(self.target)}")
        if silent:
            parts.append(f"{and_listed(silent)} silent since {self.event}")
        return "; ".join([*parts, *self._silent_before(), *self._unserved()])

    def _index(self, index: int) -> str:
        return index_text(index, self.epoch_bits)

    def _own_sentence(self) -> str:
        parts = []
        if self.together is None:
            parts.append(f"{and_listed(self.late_nodes) or 'the nodes together'} did not catch up")
        return "; ".join([*parts, *self._silent_before(), *self._unserved()])

    def _unserved(self) -> list[str]:
        """Say which services clients never got again; single nodes are named only if the cluster itself serves."""
        kinds = [kind for kind, node in self.unserved if node is None]
        if kinds:
            named = [kind for kind in kinds if kind != CHANGES] or ["change"]
            return [f"no {' and no '.join(named)} succeeded after {self.event}"]
        return [f"{wants_text(self.unserved)} not served after {self.event}"] if self.unserved else []

    def _silent_before(self) -> list[str]:
        """Say from what time on the nodes that are behind have been silent, if they were silent before the heal."""
        since = {node: self.silent[node] for node in self.late_nodes if node in self.silent}
        never = [node for node, moment in since.items() if moment is None]
        dated = {node: f"{moment / 1e9:.1f}" for node, moment in since.items() if moment is not None}
        gone = (
            [f"{and_listed(dated)} silent since {and_listed(dated.values())} s, before {self.event}"] if dated else []
        )
        return gone + ([f"{and_listed(never)} never answered a probe"] if never else [])

    def reached_sentence(self) -> str:
        """Say what was reached and when, such as "all nodes at 40, 3.1 s after the heal".

        May be called only if recovery is complete.
        """
        assert self.seconds is not None
        what = {"own": "all nodes caught up", "operations": "every kind of operation succeeded again"}
        without = f", of which {and_listed(self.logless)} without a log" if self.logless else ""
        done = what.get(self.rule, f"all nodes at {self._index(self.target)}{without}")
        reached = f"{done}, {self.seconds:.1f} s after {self.event}"
        return reached if self.event != LOAD else f"no fault was injected; {reached.replace(' again', '')}"


def assess(
    probes: Sequence[Probe],
    nodes: Iterable[str],
    healed_at: int,
    services: Mapping[Want, Service] = NO_SERVICES,
    committed_before: int = -1,
    logless: Collection[str] = (),
) -> Recovery:
    """Assess recovery by indexes, from the probes of a run in which a fault was healed at ``healed_at`` (ns).

    ``committed_before`` is the highest commit index of earlier probes, if ``probes`` are not all of the run.  Nodes
    that are ``logless`` have no applied index to reach; they only have to answer.
    """
    leader, target = _target(probes, healed_at, committed_before)
    applied: dict[str, int | None] = dict.fromkeys(nodes)
    reached: dict[str, int | None] = dict.fromkeys(applied)
    committed = -1
    for probe in probes:
        if probe.time < healed_at or not probe.answered or probe.node not in applied:
            continue
        committed = max(committed, probe.committed)
        applied[probe.node] = probe.applied
        if reached[probe.node] is None and (probe.applied >= target or probe.node in logless):
            reached[probe.node] = probe.time
    return Recovery(
        healed_at, target, leader, applied, reached, services,
        undecidable=NOTHING_COMMITTED if target < 0 else "", committed=committed,
        logless=tuple(node for node in applied if node in logless),
    )  # fmt: skip


def assess_operations(healed_at: int, services: Mapping[Want, Service]) -> Recovery:
    """Assess recovery by operations alone."""
    return Recovery(healed_at, -1, None, {}, {}, services, "operations")


def assess_own(
    rule: Recovered,
    probes: Sequence[Probe],
    nodes: Sequence[str],
    healed_at: int,
    services: Mapping[Want, Service] = NO_SERVICES,
) -> Recovery:
    """Assess recovery by the system's own rule, applied as if the probes were still coming in."""
    leader, _ = _target(probes, healed_at)
    why = "" if any(probe.answered for probe in probes) else NO_ANSWER
    reached: dict[str, int | None] = dict.fromkeys(nodes)
    together, last = None, healed_at - _ROUND_NS
    try:
        for place, probe in enumerate(probes, start=1):
            if together is not None or probe.time < healed_at:
                continue
            if probe.time - last < _ROUND_NS and place < len(probes):
                continue
            last, known = probe.time, probes[:place]
            for node in (node for node, moment in reached.items() if moment is None):
                if rule(known, [node], healed_at):
                    reached[node] = probe.time
            if rule(known, nodes, healed_at):
                together = probe.time
    except Exception as error:  # noqa: BLE001 (a third party's function may fail in any way)
        why = f"the system's own recovery rule failed: {type(error).__name__}: {error}"
    applied = {probe.node: probe.applied for probe in probes if probe.answered and probe.time >= healed_at}
    of_nodes = {node: applied.get(node) for node in nodes}
    return Recovery(healed_at, -1, leader, of_nodes, reached, services, "own", together, why)


def waiting_for(
    system: System,
    probes: Sequence[Probe],
    nodes: Sequence[str],
    healed_at: int,
    committed_before: int = -1,
    logless: Collection[str] = (),
) -> Callable[[], bool]:
    """Return a function that says whether the nodes have caught up, by the system's rule and from growing ``probes``.

    By indexes, they must also pass ``committed_before``; ``logless`` nodes only have to answer.  The function raises
    whatever a system's own rule raises.
    """
    if system.recovered is not None:
        return partial(system.recovered, probes, nodes, healed_at)
    if rule_of(system, probes) == "operations":
        return lambda: True
    return CatchingUp(probes, nodes, healed_at, committed_before, logless).done


class CatchingUp:
    """Like :func:`assess`, but for probes that are still coming in; each probe is examined once."""

    def __init__(
        self,
        probes: Sequence[Probe],
        nodes: Iterable[str],
        healed_at: int,
        committed_before: int = -1,
        logless: Collection[str] = (),
    ) -> None:
        """Start from the probes up to the heal, which ``probes`` must already hold; the list may grow later."""
        self._probes = probes
        self._healed_at = healed_at
        self._target = _target(probes, healed_at, committed_before)[1]
        self._missing = set(nodes)
        self._logless = logless
        self._seen = 0

    def done(self) -> bool:
        """Return whether every node has reported since the heal that it applied what had been committed at the heal."""
        end = len(self._probes)
        for probe in self._probes[self._seen : end]:
            if probe.time < self._healed_at or not probe.answered:
                continue
            if probe.applied >= self._target or probe.node in self._logless:
                self._missing.discard(probe.node)
        self._seen = end
        return not self._missing


def committed_by(probes: Iterable[Probe], moment: int) -> int:
    """Return the highest commit index that any node had reported by this time (ns); -1 if none had."""
    return max((probe.committed for probe in probes if probe.answered and probe.time <= moment), default=-1)


def last_heal(receipts: Iterable[Receipt], swept: int) -> int:
    """Return the time at which the last fault was healed (ns since the run's start).

    ``swept`` is when everything had been healed after the main phase.  It stands in for faults without a recorded heal,
    and for the heal of a run without faults.
    """
    healed = [receipt.healed for receipt in receipts if receipt.state != "skipped"]
    seen = [moment for moment in healed if moment is not None]
    return min(swept, max(seen)) if seen and len(seen) == len(healed) else swept


def silent_before(probes: Sequence[Probe], nodes: Iterable[str], healed_at: int) -> dict[str, int | None]:
    """Return the last answers (ns, None: never) of the nodes that have been silent since before the heal."""
    answers = last_answers(probes)
    last = {node: answers.get(node) for node in nodes}
    return {node: moment for node, moment in last.items() if moment is None or moment < healed_at - FRESH_NS}


def _target(probes: Sequence[Probe], healed_at: int, committed_before: int = -1) -> tuple[str | None, int]:
    newest: dict[str, Probe] = {}
    for probe in probes:
        if healed_at - FRESH_NS <= probe.time <= healed_at and probe.answered:
            newest[probe.node] = probe
    leader = leader_now(newest, {probe.node for probe in probes})
    if leader is not None and newest[leader].committed >= 0:
        return leader, max(committed_before, newest[leader].committed)
    # There is no leader, or all servers were restarted and the newly elected one has not committed yet.  What had been
    # committed before stays committed.
    return leader, max(committed_before, committed_by(probes, healed_at))
