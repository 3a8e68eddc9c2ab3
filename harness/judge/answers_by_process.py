"""Find answers of a node that certainly come from one process, and which figures nodes report.

A figure that a system's probes lack looks like one that is still unknown. So a node counts as reporting a figure if any
of its answers has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from history import Probe

#: Answers further apart than this (ns) may come from different processes.  Probes are sent four times a second.
NEXT_NS: Final = 2_000_000_000


def answers_by_process(probes: Sequence[Probe]) -> list[list[Probe]]:
    """Return the answers of each node in order, split wherever the process may have changed.

    It may have changed if a probe failed in between, if there was no probe for two seconds, if the pid changed, or if
    the commit index fell, which happens only in a new process.
    """
    stretches: list[list[Probe]] = []
    open_: dict[str, list[Probe]] = {}
    for probe in probes:
        if not probe.answered:
            open_.pop(probe.node, None)
            continue
        stretch = open_.get(probe.node)
        if stretch is None or not same_process(stretch[-1], probe):
            stretch = open_[probe.node] = []
            stretches.append(stretch)
        stretch.append(probe)
    return stretches


def last_answers(probes: Iterable[Probe]) -> dict[str, int]:
    """Map each node that ever answered to the time of its last answer (ns)."""
    return {probe.node: probe.time for probe in probes if probe.answered}


def last_begins(probes: Sequence[Probe]) -> dict[str, int]:
    """Map each node that ever answered to the time of the first answer of its last process (ns).

    An answer that arrives after the end of its process is therefore not mistaken for one of the next process.
    """
    return {stretch[0].node: stretch[0].time for stretch in answers_by_process(probes)}


def says(probe: Probe, figure: str) -> bool:
    """Return whether an answer has this figure (a field of the probe)."""
    value = getattr(probe, figure)
    return probe.answered and (value != "unknown" if figure == "role" else value not in (None, -1))


def reporting(probes: Iterable[Probe], figure: str) -> frozenset[str]:
    """Return the nodes that report a figure; checks that rely on it cannot judge other nodes."""
    return frozenset(probe.node for probe in probes if says(probe, figure))


def of_reporting(probes: Sequence[Probe], figure: str) -> list[Probe]:
    """Return the probes of the nodes that report a figure."""
    nodes = reporting(probes, figure)
    return [probe for probe in probes if probe.node in nodes]


def same_process(before: Probe, after: Probe) -> bool:
    """Return whether two successive answers of a node come from one process; no probe may have failed between them."""
    near = 0 <= after.time - before.time <= NEXT_NS
    return near and after.pid == before.pid and after.committed >= before.committed
