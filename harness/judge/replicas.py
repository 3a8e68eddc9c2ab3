"""Check that all nodes hold the same contents at the same index, at any time of the run.

A status answer carries a digest of the whole state machine and the index of the furthest entry in it, read at one
instant.  Applying is deterministic, so the same index implies the same digest.  Any two answers may therefore be
compared, of any nodes, or of one node before and after a restart.

There are two exceptions.  A library that goes back and applies a batch again (``reapplied``) leaves the machine at its
furthest index with older contents for an instant.  An answer of such a process counts only if the next or the previous
one gives the same digest for the same index.  And the applied index is not read at that same instant.  Nodes with the
same applied index are therefore compared only after the load has ended, each by two successive equal answers in which
no entry beyond it was applied.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from history import Check, Probe
from history.records.finding import Digest, Finding, ReplicasDiffer
from reports.words.of_nodes import alone_text, differ_text, digests_text, node_check, undecided

#: At most this many differences are listed, the first half and the last half of them by time; all are counted.
MOMENTS: Final = 100


@dataclass(frozen=True, slots=True)
class DigestMismatch:
    """Digests that differ at one index, each with the nodes that reported it and when each first did.

    ``of`` is the kind of index.
    """

    of: str
    index: int
    digests: dict[str, dict[str, int]]  # digest -> node -> ns since the run's start

    @property
    def against(self) -> tuple[str, ...]:
        """The nodes without the most common digest; all nodes if two digests are equally common."""
        most = max(self.digests.values(), key=len)
        others = [nodes for nodes in self.digests.values() if self.tied or nodes is not most]
        return tuple(sorted({node for nodes in others for node in nodes}))

    @property
    def tied(self) -> bool:
        """Whether two digests are equally common, so that this index does not show which one is wrong."""
        numbers = sorted(map(len, self.digests.values()))
        return numbers[-1] == numbers[-2]

    def blamed(self, suspects: Collection[str]) -> tuple[str, ...]:
        """Return ``against``; if that is all nodes, return those that share a digest with a suspect.

        A suspect is a node that is in the minority at another index.
        """
        with_suspects = {node for nodes in self._suspected(suspects) for node in nodes}
        return tuple(sorted(with_suspects)) if self.tied and with_suspects else self.against

    def _suspected(self, suspects: Collection[str]) -> list[dict[str, int]]:
        """Return the sides that have a suspect, or none if all sides have one."""
        sides = [nodes for nodes in self.digests.values() if not nodes.keys().isdisjoint(suspects)]
        return sides if len(sides) < len(self.digests) else []

    @property
    def time(self) -> int:
        """When the difference was seen: the time of the last digest's first report."""
        return max(min(nodes.values()) for nodes in self.digests.values())

    def sides(self, suspects: Collection[str]) -> list[tuple[str, dict[str, int]]]:
        """Return each digest with its nodes, the rarest first; of equally common ones, one with a suspect."""
        first = self._suspected(suspects)
        return sorted(self.digests.items(), key=lambda side: (len(side[1]), side[1] not in first, sorted(side[1])))

    @property
    def moments(self) -> list[Digest]:
        return [
            Digest(node, time, self.of, self.index, digest)
            for digest, nodes in self.digests.items()
            for node, time in nodes.items()
        ]


@dataclass(frozen=True, slots=True)
class ComparisonPoint:
    """A point of the run at which the contents of the nodes that had caught up (``recovered``) must be compared.

    ``after`` names it. It begins at ``since``, and the nodes came to rest at ``quiet`` (ns; None: never).
    """

    after: str
    recovered: tuple[str, ...]
    since: int
    quiet: int | None

    def alone(self, probes: Sequence[Probe]) -> list[str]:
        """Return the nodes whose contents could not be compared with another node's; none if only one caught up."""
        at_the_end = compared(probes, self.since, self.quiet) if len(self.recovered) > 1 else set(self.recovered)
        return [node for node in self.recovered if node not in at_the_end]


def differences(probes: Sequence[Probe], quiet: int | None) -> list[DigestMismatch]:
    """Return every index at which digests differ, in order; ``quiet`` (ns) is the end of the load."""
    mismatches = _differing("index", ((probe.state_index, probe) for probe in comparable(probes)))
    if quiet is not None:
        met = {
            (node, digest) for mismatch in mismatches for digest, nodes in mismatch.digests.items() for node in nodes
        }
        still = _differing("applied index", ((probe.applied, probe) for probe in at_rest(probes, quiet)))
        mismatches += [mismatch for mismatch in still if not _known(mismatch, met)]
    return mismatches


def _known(mismatch: DigestMismatch, met: set[tuple[str, str]]) -> bool:
    return all((node, digest) in met for digest, nodes in mismatch.digests.items() for node in nodes)


def _differing(of: str, indexed: Iterable[tuple[int, Probe]]) -> list[DigestMismatch]:
    by_index: dict[int, dict[str, dict[str, int]]] = {}
    for index, probe in indexed:
        assert probe.digest is not None
        by_index.setdefault(index, {}).setdefault(probe.digest, {}).setdefault(probe.node, probe.time)
    return [DigestMismatch(of, index, digests) for index, digests in sorted(by_index.items()) if len(digests) > 1]


def comparable(probes: Sequence[Probe]) -> list[Probe]:
    """Return the answers whose digest is certainly that of the state at their index."""
    certain = []
    for before, probe, after in _neighbours(probes):
        if probe.digest is None or probe.state_index < 0:
            continue
        if not probe.reapplied or _alike(probe, before) or _alike(probe, after):
            certain.append(probe)
    return certain


def at_rest(probes: Sequence[Probe], quiet: int) -> list[Probe]:
    """Return the answers whose digest is certainly that of the state at their applied index.

    For each node these are the answers after ``quiet`` and the last one before it, because two probes before it showed
    that the node was at rest.
    """
    certain = []
    for mine in _by_node(probes).values():
        last = max(bisect_right([probe.time for probe in mine], quiet) - 1, 1)
        certain += [
            probe
            for before, probe in zip(mine[last - 1 :], mine[last:], strict=False)
            if probe.digest is not None and -1 < probe.state_index <= probe.applied == before.applied
            if _alike(probe, before)
        ]
    return certain


def _alike(probe: Probe, other: Probe | None) -> bool:
    return other is not None and (other.pid, other.state_index, other.digest) == (
        probe.pid, probe.state_index, probe.digest,
    )  # fmt: skip


def _by_node(probes: Sequence[Probe]) -> dict[str, list[Probe]]:
    """Return the answers of each node."""
    by_node: dict[str, list[Probe]] = {}
    for probe in probes:
        if probe.answered:
            by_node.setdefault(probe.node, []).append(probe)
    return by_node


def _neighbours(probes: Sequence[Probe]) -> Iterable[tuple[Probe | None, Probe, Probe | None]]:
    """Yield each answer with the same node's answers before and after it."""
    for mine in _by_node(probes).values():
        yield from zip([None, *mine[:-1]], mine, [*mine[1:], None], strict=True)


def compared(probes: Sequence[Probe], since: int, quiet: int | None) -> set[str]:
    """Return the nodes whose contents could be compared with another node's after ``since`` (ns)."""
    late = [probe for probe in probes if probe.time >= since]
    nodes_at: dict[tuple[str, int], set[str]] = {}
    for probe in comparable(late):
        nodes_at.setdefault(("index", probe.state_index), set()).add(probe.node)
    for probe in at_rest(late, quiet) if quiet is not None else ():
        nodes_at.setdefault(("applied", probe.applied), set()).add(probe.node)
    return {node for nodes in nodes_at.values() if len(nodes) > 1 for node in nodes}


def replicas_agree(probes: Sequence[Probe], *, quiet: int | None, ends: Sequence[ComparisonPoint]) -> Check:
    """Check that replicas agree (see the module).

    If contents could not be compared at one of the ``ends``, the check is unknown: a valid run must have seen that all
    nodes hold the same.
    """
    answers = comparable(probes)
    if not answers:
        return undecided("replicas-agree")
    mismatches = differences(probes, quiet)
    if mismatches:
        return _differ(mismatches)
    if not compared(probes, 0, quiet):
        return node_check("replicas-agree", "unknown", digests_text(len(answers)))
    for end in ends:
        if alone := end.alone(probes):
            finding = Finding(check="replicas-agree", kind="not-compared", verdict="unknown", nodes=tuple(alone))
            return node_check("replicas-agree", "unknown", alone_text(end.after, alone), finding)
    indexes = {probe.state_index: set[str]() for probe in answers}
    for probe in answers:
        indexes[probe.state_index].add(probe.node)
    common = sum(len(nodes) > 1 for nodes in indexes.values())
    return node_check("replicas-agree", "valid", digests_text(len(answers), common))


def _differ(mismatches: Sequence[DigestMismatch]) -> Check:
    first = min(mismatches, key=lambda mismatch: mismatch.time)
    suspects = {node for mismatch in mismatches if not mismatch.tied for node in mismatch.against}
    blamed = Counter(node for mismatch in mismatches for node in mismatch.blamed(suspects))
    alike = all(mismatch.blamed(suspects) == first.blamed(suspects) for mismatch in mismatches)
    by_time = sorted(range(len(mismatches)), key=lambda place: mismatches[place].time)
    chosen = by_time if len(mismatches) <= MOMENTS else by_time[: MOMENTS // 2] + by_time[-MOMENTS // 2 :]
    listed = [mismatches[place] for place in sorted(chosen)]
    finding = ReplicasDiffer(
        nodes=tuple(sorted(blamed)), since=first.time, count=len(mismatches), by_node=dict(sorted(blamed.items())),
        moments=tuple(moment for mismatch in listed for moment in mismatch.moments),
    )  # fmt: skip
    summary = differ_text(first.of, first.index, first.sides(suspects), len(mismatches) - 1, alike=alike)
    return node_check("replicas-agree", "invalid", summary, finding)
