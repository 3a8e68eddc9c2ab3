"""Assess recovery, while a run waits for it and when the run is judged.

Whatever the system, clients must be served again with every kind of operation (``harness.judge.service``).  One of
three rules decides whether the nodes are back: the system's own rule (``System.recovered``), else the nodes' commit and
applied indexes, else each node's own clients.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from harness.judge.answers_by_process import last_answers, reporting
from harness.systems.api import Recovered, System
from history import Probe, Receipt
from history.records.probes import leader_now
from history.records.recovery import Recovery, Rule, Service, Undecidable, Want

#: A probe older than this (ns) is not used for the state at the heal.
FRESH_NS: Final = 2_000_000_000
#: How often (ns) the system's own rule is applied to the recorded probes.
_ROUND_NS: Final = 250_000_000

NO_SERVICES: Final[Mapping[Want, Service]] = MappingProxyType({})

#: Clients must have asked in vain for the recovery time, less at most this (s), in which workers wait for answers.  A
#: longer gap in which clients do not ask does not count as asking.
PAUSE_S: Final = 5.0


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
        undecidable="nothing committed" if target < 0 else None, committed=committed,
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
    why: Undecidable | None = None if any(probe.answered for probe in probes) else "no answer"
    failure = ""
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
        why, failure = "rule failed", f"{type(error).__name__}: {error}"
    applied = {probe.node: probe.applied for probe in probes if probe.answered and probe.time >= healed_at}
    of_nodes = {node: applied.get(node) for node in nodes}
    return Recovery(healed_at, -1, leader, of_nodes, reached, services, "own", together, why, failure)


def waiting_for(
    system: System,
    probes: Sequence[Probe],
    nodes: Sequence[str],
    healed_at: int,
    committed_before: int = -1,
    logless: Collection[str] = (),
) -> Callable[[], bool]:
    """Return a function that says whether the nodes have caught up, given the system's rule and growing ``probes``.

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
    known = [moment for moment in healed if moment is not None]
    return min(swept, max(known)) if known and len(known) == len(healed) else swept


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
