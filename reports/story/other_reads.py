"""Search other reads for what a read lacks, because what is missing on one node may exist on another."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from history import Counterexample
from history.codes import OK
from reports.analysis.findings import Drawn

#: At most this many of the last reads are searched, because each may hold thousands of elements.
_LATEST: Final = 200


class OtherReads(NamedTuple):
    """The nodes whose last reads lack what others hold (``lost_on``), and a ``text`` that says who holds it."""

    lost_on: tuple[str, ...] = ()
    text: str = ""


def compare_other_reads(drawn: Drawn, example: Counterexample) -> OtherReads:
    """Find which nodes hold what a read lacks, and which do not, in the last 200 reads answered after it began.

    The result is empty for counterexamples other than one read's lost elements.
    """
    added = [operation for operation in example.operations if operation.f in ("add", "append")]
    if not example.kind.startswith("lost-") or not added or len(example.suspects) != 1:
        return OtherReads()
    operations, mine = drawn.run.operations, drawn.run.operations.rows_of(example.key)
    chosen = operations.which(OK) & operations.f.equals("read")
    rows = mine[(chosen & (operations.returned > example.suspects[0].invoked))[mine]][-_LATEST:]
    last: dict[str, bool] = {}
    held = False
    for row in rows.tolist():
        items, node = json.loads(str(operations.result[row].as_py() or "null")), operations.node.name(row)
        if isinstance(items, list) and node is not None:
            last[node] = all(operation.value in items for operation in added)
            held |= last[node]
    lacking = sorted(node for node, holds in last.items() if not holds)
    if there := sorted(node for node, holds in last.items() if holds):
        text = f" Reads answered by {', '.join(there)} then or later hold it."
        return OtherReads(tuple(lacking), text)
    if held or len(lacking) < 2:
        return OtherReads()
    if len(rows) == _LATEST:
        return OtherReads(text=f" None of the last {_LATEST} reads holds it.")
    return OtherReads(text=" No read that was answered then or later holds it.")
