"""A check that acknowledged appends survive: the primary's last read of each list has to contain them.

The level SERIALIZABLE itself does not promise that: a read that lacks an append could come before it in the order.
"""

from __future__ import annotations

from typing import Any, Final

from harness.systems.api import Evidence
from harness.systems.sql.store import primary_of
from history import Check, Counterexample, Operation, Verdict
from history.records.finding import Kind, contradictions
from history.records.operations import READ_STEPS, TXN
from history.records.text import counted
from history.records.verdicts import MAX_COUNTEREXAMPLES

_ASKED: Final = "the primary's last read of each list has every append that was acknowledged before it"
_LOST: Final = Kind("lost-append", "data lost")


def acknowledged(evidence: Evidence) -> Check:
    """Compare the acknowledged appends with the primary's last reads; a standby's may be old.

    A list whose last read failed, or began before an append to it was acknowledged, does not count as read.
    """
    primary = primary_of(evidence.setup)
    tried = [txn for txn in evidence.operations if txn.f == TXN]
    done = [txn for txn in tried if txn.outcome == "ok"]
    finals = [txn for txn in tried if txn.phase == "final" and txn.node == primary]
    newest = {key: txn for txn in finals for f, key, _ in txn.value if f in READ_STEPS}
    last: dict[Any, tuple[Operation, list[Any]]] = {}
    for txn in finals:
        if txn.outcome == "ok":
            last.update({key: (txn, items or []) for f, key, items in txn.result if f in READ_STEPS})
    appends = [(txn, key, value) for txn in done for f, key, value in txn.result if f not in READ_STEPS]
    examples, unread = [], set()
    for txn, key, value in appends:
        read, items = last.get(key, (txn, []))
        if txn.ended >= read.invoked:
            unread.add(key)
            continue
        if read is not newest[key]:
            unread.add(key)
        if value not in items:
            examples.append(_example(txn, read, key, value, items))
    lists = {key for _, key, _ in appends}
    verdict: Verdict = "invalid" if examples else "valid" if lists and not unread else "unknown"
    summary = f"{len(lists - unread)} of {counted(len(lists), 'list')} read, "
    summary += f"{counted(len(examples), 'acknowledged append')} lost"
    examples.sort(key=lambda example: example.completed_at)
    findings = contradictions("acknowledged", examples, (_LOST,))
    return Check("acknowledged", "check", verdict, _ASKED, summary, findings, tuple(examples[:MAX_COUNTEREXAMPLES]))


def _example(append: Operation, read: Operation, key: Any, value: Any, items: list[Any]) -> Counterexample:
    shown = f"[{' '.join(map(str, items))}]"
    return Counterexample.of_promise(
        "lost-append",
        f"The append of {value} to {key} was acknowledged, and the last read of {key} shows {shown}.",
        (append, f"appended {value} to {key}"), (read, f"read {shown} in {key}"),
    )  # fmt: skip
