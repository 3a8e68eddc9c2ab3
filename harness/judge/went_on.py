"""Find victims that kept answering, because a kill or a pause without effect does not count.

This is decided only if nothing else can have answered, so only on nodes that run a single process of the system.  If a
node has other processes (a gateway, a metadata server), an answer does not show which one gave it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from harness.judge.fault_windows import stops
from harness.judge.recorded import Recorded
from history import Probe
from history.codes import OK
from history.records.finding import Unfelt
from history.records.operations import NEVER_MADE

_FAMILIES: Final = frozenset({"kill", "pause"})


def went_on(recorded: Recorded) -> dict[int, Unfelt]:
    """Map the id of an installed fault to what its victims answered while they should have been stopped."""
    roles = recorded.roles or {}
    running = {node for node, names in roles.items() if names}
    alone = {node for node, names in roles.items() if len(names) == 1}
    unfelt: dict[int, Unfelt] = {}
    for receipt in recorded.receipts:
        if receipt.state != "installed" or receipt.family not in _FAMILIES or not stops(receipt.fault):
            continue
        begin, end = receipt.stood, receipt.heal_started
        if begin is None or end is None:
            continue
        nodes = alone.intersection(receipt.nodes)
        answered = tuple(node for node in sorted(nodes) if _answered(recorded.probes, node, begin, end))
        number = _operations(recorded, begin, end) if running and nodes == running else 0
        if answered or number:
            unfelt[receipt.id] = Unfelt(receipt.id, receipt.fault, number, answered)
    return unfelt


def _operations(recorded: Recorded, begin: int, end: int) -> int:
    """Count the operations that were both issued and answered ok between two times."""
    ops = recorded.operations
    answered = ops.which(OK) & ~ops.error.equals(NEVER_MADE)
    return int(np.count_nonzero(answered & (begin <= ops.invoked) & (ops.returned <= end)))


def _answered(probes: Iterable[Probe], node: str, begin: int, end: int) -> bool:
    """Return whether a node answered a probe that was also sent between the two moments.

    A node is probed again only after its last answer, so the first answer after ``begin`` may belong to an earlier
    probe.
    """
    inside = sorted(
        (probe.time, probe.answered) for probe in probes if probe.node == node and begin <= probe.time <= end
    )
    return any(answered for _, answered in inside[1:])
