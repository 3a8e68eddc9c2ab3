"""The number of acknowledged elements of a set that each node's reads lack, over time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import msgspec
import numpy as np

from history.codes import OK
from history.columns.operations import NONE, Operations

#: At most this many elements are read, from reads spread over the run, because each read holds the whole set.
MAX_ELEMENTS: Final = 1_000_000


def lacking_of(operations: Operations, nodes: list[str]) -> list[list[list[float]]] | None:
    """Return times (s) and numbers of missing elements for each node; None unless the run's only object is a set.

    An element counts from the acknowledgement of its add: a read that began later must show it.
    """
    ok = operations.which(OK) & (operations.returned != NONE)
    adds = np.flatnonzero(ok & (operations.f.codes == operations.f.code("add")))
    reads = np.flatnonzero(ok & (operations.f.codes == operations.f.code("read")))
    if not len(adds) or not len(reads) or (operations.key.codes != operations.key.codes[0]).any():
        return None
    adds = adds[np.argsort(operations.returned[adds], kind="stable")]
    acknowledged = operations.returned[adds]
    place = {_plain(operations.value[int(row)].as_py()): at for at, row in enumerate(adds)}
    if len(place) != len(adds):  # a counter, whose adds are not elements
        return None

    def lacks(row: int) -> float:
        """Return how many elements a read lacks of those that it must show; -1 if its answer is not a list."""
        held = msgspec.json.decode(str(operations.result[int(row)].as_py() or "null"))
        if not isinstance(held, list):
            return -1.0
        due = int(np.searchsorted(acknowledged, operations.invoked[row]))
        known = (place.get(_plain(msgspec.json.encode(element).decode())) for element in held)
        return float(due - len({at for at in known if at is not None and at < due}))

    by_node: list[list[list[float]]] = []
    for node in nodes:
        own = reads[operations.node.codes[reads] == operations.node.code(node)]
        own = own[np.argsort(operations.returned[own], kind="stable")]
        most = max(MAX_ELEMENTS // (len(adds) * len(nodes)), 2)
        lacking = {
            at: lacks(own[at]) for at in np.linspace(0, len(own) - 1, min(len(own), most)).astype(np.int64).tolist()
        }
        if -1.0 in lacking.values():
            return None
        for before, after in pairwise(sorted(lacking)):  # the reads between date what changed between these two
            same, changed = before, after
            while lacking[after] != lacking[before] and changed - same > 1:
                middle = (same + changed) // 2
                lacking[middle] = lacks(own[middle])
                same, changed = (middle, changed) if lacking[middle] == lacking[before] else (same, middle)
        shown = sorted(lacking)
        by_node.append([[operations.returned[own[at]] / 1e9 for at in shown], [lacking[at] for at in shown]])
    return by_node


def _plain(text: Any) -> str:
    """Return an element as JSON without spaces, as it appears in a read."""
    return msgspec.json.encode(msgspec.json.decode(str(text))).decode()
