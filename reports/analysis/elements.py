"""How many acknowledged elements of a set are missing from the reads of each node, over time."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np

from history.codes import OK
from history.columns.operations import NONE, Operations

#: At most this many elements are read, from reads spread over the run, because each read holds the whole set.
MAX_ELEMENTS: Final = 1_000_000


def lacking_of(operations: Operations, nodes: list[str]) -> list[list[list[float]]] | None:
    """Return times (s) and numbers of missing elements for each node; None unless its only object is a set.

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
    found: list[list[list[float]]] = []
    for node in nodes:
        own = reads[operations.node.codes[reads] == operations.node.code(node)]
        own = own[np.argsort(operations.returned[own], kind="stable")]
        most = max(MAX_ELEMENTS // (len(adds) * len(nodes)), 2)
        own = own[np.unique(np.linspace(0, len(own) - 1, min(len(own), most)).astype(np.int64))] if len(own) else own
        times, lacking = [], []
        for row in own.tolist():
            held = msgspec.json.decode(str(operations.result[row].as_py() or "null"))
            if not isinstance(held, list):
                return None
            due = int(np.searchsorted(acknowledged, operations.invoked[row]))
            known = (place.get(_plain(msgspec.json.encode(one).decode())) for one in held)
            times.append(operations.returned[row] / 1e9)
            lacking.append(float(due - len({at for at in known if at is not None and at < due})))
        found.append([times, lacking])
    return found


def _plain(text: Any) -> str:
    """Return an element as JSON without spaces, as it appears in a read."""
    return msgspec.json.encode(msgspec.json.decode(str(text))).decode()
