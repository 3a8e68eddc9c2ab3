"""What was acknowledged survives: the last lists that the primary shows have every acknowledged append.

The level SERIALIZABLE itself does not promise it: a read that lacks the append could come before it in the order.
"""

from __future__ import annotations

from typing import Any, Final

from harness.systems.api import Evidence
from history import Check, Counterexample, Operation, Verdict
from history.readers.transactions.columns import READS, TXN
from history.records.finding import Kind, contradictions
from history.records.text import counted
from history.records.verdicts import MAX_COUNTEREXAMPLES

_ASKED: Final = "the primary's last read of each list has every append that was acknowledged before it"
_LOST: Final = Kind("lost-append", "data lost")


def acknowledged(evidence: Evidence) -> Check:
    """Compare the acknowledged appends with the primary's last reads; a standby's may be old."""
    primary = evidence.setup.nodes[0].name
    done = [one for one in evidence.operations if one.f == TXN and one.outcome == "ok"]
    last: dict[Any, tuple[Operation, list[Any]]] = {}
    for one in done:
        if one.phase == "final" and one.node == primary:
            last.update({key: (one, items) for f, key, items in one.result if f in READS})
    examples = []
    for one in done:
        for f, key, value in one.result:
            read, items = last.get(key, (one, [value]))
            if f not in READS and one.ended < read.invoked and value not in items:
                examples.append(_example(one, read, key, value, items))
    verdict: Verdict = "invalid" if examples else "valid" if last else "unknown"
    seen = f"{counted(len(last), 'list')} read, {counted(len(examples), 'acknowledged append')} lost"
    examples.sort(key=lambda example: example.completed_at)
    found = contradictions("acknowledged", examples, (_LOST,))
    return Check("acknowledged", "check", verdict, _ASKED, seen, found, tuple(examples[:MAX_COUNTEREXAMPLES]))


def _example(append: Operation, read: Operation, key: Any, value: Any, items: list[Any]) -> Counterexample:
    shown = f"[{' '.join(map(str, items))}]"
    return Counterexample.of_promise(
        "lost-append",
        f"The append of {value} to {key} was acknowledged, and the last read of {key} shows {shown}.",
        (append, f"appended {value} to {key}"), (read, f"read {shown} in {key}"),
    )  # fmt: skip
