"""What the check of ledgers says: of how much "more" is, and in which words."""

from __future__ import annotations

from collections.abc import Sequence

from harness.systems.api import Evidence, Setup
from harness.systems.bookkeeper.fenced_ledgers import KINDS
from harness.systems.bookkeeper.promises import WORDS, ledgers_keep_their_promises
from history import Check, Operation

S = 10**9


def ledger(key: str, start: int, entries: Sequence[int | None]) -> list[Operation]:
    """A ledger of two acknowledged adds, 1 and 2, and what its reader found."""

    def one(at: int, f: str, value: object, result: object) -> Operation:
        first, last = (start + at) * S, (start + at + 1) * S
        return Operation(0, f, key, value, result, "ok", first, last, first, last, "n1")

    read = {"last": 1, "entries": list(entries), "bytes": 9, "closed": 1, "length": 9}
    return [one(0, "create", None, 5), one(2, "window", [1, 2], [0, 1]), one(4, "read", None, read)]


def checked(*operations: Operation) -> Check:
    evidence = Evidence(
        setup=Setup(version="4.17.3"), nodes=("n1",), operations=operations, probes=(), receipts=(), moments={}
    )
    return ledgers_keep_their_promises(evidence)


def test_what_there_is_more_of_is_named() -> None:
    bad: list[list[int | None]] = [[None, 2], [None, None], [2, 1]]
    operations = [one for place, entries in enumerate(bad) for one in ledger(f"l{place}", 10 * place, entries)]
    found = checked(*operations)
    further = len(found.counterexamples) - 1
    assert f"(and {further} more, in 3 ledgers; one of each kind per ledger is counted); 3 ledgers" in found.seen
    assert " more" not in checked(*ledger("l0", 0, [None, 2])).seen


def test_words_are_there_whether_or_not_anything_broke() -> None:
    assert checked(*ledger("l0", 0, [1, 2])).words == WORDS
    broken = checked(*ledger("l0", 0, [None, 2])).words
    assert broken == {**WORDS, "unreadable-entry": KINDS["unreadable-entry"]}


def test_an_acknowledged_entry_that_is_not_found_is_data_lost() -> None:
    found = checked(*ledger("l0", 0, [None, 2])).findings
    assert [(one.kind, one.severity) for one in found if one.verdict == "invalid"] == [
        ("unreadable-entry", "data lost")
    ]
