"""Assess recovery from the probes: used while the run waits, and again when it is judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from history import Probe, Receipt
from history.records.probes import leader_among

#: A probe older than this (ns) is not used for the state at the heal.
FRESH_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Recovery:
    """The progress of each node after a heal at ``healed_at`` (ns since the run's start).

    ``target`` is the commit index that the leader had at the heal (the highest one known without a leader, or if
    it had none yet), ``applied`` the last applied index of each node since (-1: it applied nothing; None: it did not
    answer), ``reached`` when it passed the target (ns since the run's start, None: never).
    ``committed_again`` is the return of the first operation that was invoked after the heal and went through a quorum.
    """

    healed_at: int
    target: int
    leader: str | None
    applied: dict[str, int | None]
    reached: dict[str, int | None]
    committed_again: int | None

    @property
    def behind(self) -> tuple[str, ...]:
        """The nodes that never passed the target."""
        return tuple(node for node, moment in self.reached.items() if moment is None)

    @property
    def complete(self) -> bool:
        return self.committed_again is not None and not self.behind

    @property
    def finished_at(self) -> int | None:
        """When the last condition was met (ns since the run's start), None if one never was."""
        if not self.complete or self.committed_again is None:
            return None
        return max([self.committed_again, *(moment for moment in self.reached.values() if moment is not None)])

    @property
    def seconds(self) -> float | None:
        """Seconds from the heal until the last condition was met; None if one never was."""
        return None if self.finished_at is None else (self.finished_at - self.healed_at) / 1e9

    def sentence(self) -> str:
        """The finding as text, such as "n1 and n3 stuck at 2465 and 2470 of 11924"."""
        parts = []
        silent = [node for node in self.behind if self.applied[node] is None]
        empty = [node for node in self.behind if self.applied[node] == -1]
        stuck = {node: index for node in self.behind if (index := self.applied[node]) not in (None, -1)}
        if stuck:
            indexes = " and ".join(str(index) for index in dict.fromkeys(stuck.values()))
            parts.append(f"{_names(stuck)} stuck at {indexes} of {self.target}")
        if empty:
            parts.append(f"{_names(empty)} applied nothing of {self.target}")
        if silent:
            parts.append(f"{_names(silent)} silent since the heal")
        if self.committed_again is None:
            parts.append("nothing was committed after the heal")
        return "; ".join(parts)


def _names(nodes: Iterable[str]) -> str:
    names = list(nodes)
    return " and ".join(names) if len(names) < 3 else ", ".join(names)


def assess(probes: Sequence[Probe], nodes: Iterable[str], healed_at: int, committed_again: int | None) -> Recovery:
    """Judge the probes of a run in which a fault was healed at ``healed_at`` (ns since the run's start)."""
    leader, target = _target(probes, healed_at)
    applied: dict[str, int | None] = dict.fromkeys(nodes)
    reached: dict[str, int | None] = dict.fromkeys(applied)
    for probe in probes:
        if probe.time < healed_at or not probe.answered or probe.node not in applied:
            continue
        applied[probe.node] = probe.applied
        if reached[probe.node] is None and probe.applied >= target:
            reached[probe.node] = probe.time
    return Recovery(healed_at, target, leader, applied, reached, committed_again)


class CatchingUp:
    """Like :func:`assess`, for probes that are still coming in; each is examined once."""

    def __init__(self, probes: Sequence[Probe], nodes: Iterable[str], healed_at: int) -> None:
        """``probes`` grows; those up to the heal are there already."""
        self._probes = probes
        self._healed_at = healed_at
        self._target = _target(probes, healed_at)[1]
        self._missing = set(nodes)
        self._seen = 0

    def done(self) -> bool:
        """Whether every node has reported since the heal that it applied what was committed then."""
        end = len(self._probes)
        for probe in self._probes[self._seen : end]:
            if probe.time >= self._healed_at and probe.answered and probe.applied >= self._target:
                self._missing.discard(probe.node)
        self._seen = end
        return not self._missing


def last_heal(receipts: Iterable[Receipt], swept: int) -> int:
    """When the last fault was healed (ns since the run's start).

    ``swept`` is when everything had been healed after the main phase: it stands in for faults without a recorded heal,
    and for the heal of a run without faults.
    """
    healed = [receipt.healed for receipt in receipts if receipt.state != "skipped"]
    seen = [moment for moment in healed if moment is not None]
    return min(swept, max(seen)) if seen and len(seen) == len(healed) else swept


def _target(probes: Sequence[Probe], healed_at: int) -> tuple[str | None, int]:
    newest: dict[str, Probe] = {}
    for probe in probes:
        if healed_at - FRESH_NS <= probe.time <= healed_at and probe.answered:
            newest[probe.node] = probe
    leader = leader_among((probe.node, probe.term) for probe in newest.values() if probe.role == "leader")
    if leader is not None and newest[leader].committed >= 0:
        return leader, newest[leader].committed
    # No leader, or one that was just elected by servers that had all been restarted and has not committed yet:
    # what had been committed before stays committed.
    known = [probe.committed for probe in probes if probe.answered and probe.time <= healed_at]
    return leader, max(known, default=-1)
