"""Stretches of a node's answers that certainly come from one process, and whether logs were reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from history import Probe

#: Two answers further apart than this (ns) might be of two processes: probes come four times a second.
NEXT_NS: Final = 2_000_000_000


def stretches(probes: Sequence[Probe]) -> list[list[Probe]]:
    """The answers of each node, in order, split wherever the process may have changed.

    That is: where a probe failed in between, after two seconds without a probe, where the pid changed, and
    where the commit index fell, which happens in a new process only.
    """
    found: list[list[Probe]] = []
    open_: dict[str, list[Probe]] = {}
    for probe in probes:
        if not probe.answered:
            open_.pop(probe.node, None)
            continue
        stretch = open_.get(probe.node)
        if stretch is None or not same_process(stretch[-1], probe):
            stretch = open_[probe.node] = []
            found.append(stretch)
        stretch.append(probe)
    return found


def logs_reported(probes: Iterable[Probe]) -> bool:
    """Whether any node said where its log ends; a system whose nodes do not cannot be judged by their logs."""
    return any(probe.answered and probe.ledger_end >= 0 for probe in probes)


def same_process(before: Probe, after: Probe) -> bool:
    """Whether two successive answers of a node are of one process; no probe may have failed between them."""
    near = 0 <= after.time - before.time <= NEXT_NS
    return near and after.pid == before.pid and after.committed >= before.committed
