"""The promises of BookKeeper, and the check of a run against them."""

from __future__ import annotations

from typing import Final

from msgspec import structs

from harness.systems.api import Evidence
from harness.systems.bookkeeper.fenced_ledgers import KINDS, LOST, check_fenced_ledgers
from harness.systems.promise import Promise
from history import Check
from history.records.finding import Finding, Kind, contradictions
from history.records.text import counted

#: BookKeeper's documentation of the protocol and its guarantees, and of ledgers.
PROTOCOL: Final = "https://bookkeeper.apache.org/docs/development/protocol/"
CONCEPTS: Final = "https://bookkeeper.apache.org/docs/getting-started/concepts/"
_LEDGERS: Final = ("ledgers",)
PROMISES: Final = (
    Promise(
        "an acknowledged add stays readable, with its id and payload, as long as one of the bookies that acknowledged "
        "it keeps its disks",
        source=PROTOCOL,
        checks=_LEDGERS,
        kinds=("lost-add", "unreadable-entry", "other-payload", "ledger-gone"),
    ),
    Promise(
        "once a recovery or a close has returned the end of a ledger, no add beyond it is ever acknowledged",
        source=PROTOCOL,
        checks=_LEDGERS,
        kinds=("acknowledged-beyond-end",),
    ),
    Promise(
        "up to the end of a ledger there are no gaps in its ids, and each payload appears once, in the order of the "
        "adds",
        source=CONCEPTS,
        checks=_LEDGERS,
        kinds=("duplicate", "never-added", "failed-add-found", "order", "hole"),
    ),
    Promise(
        "an entry that a reader has read at or below LastAddConfirmed stays readable for everyone",
        source=PROTOCOL,
        checks=_LEDGERS,
        kinds=("read-then-gone", "confirmed-beyond-end"),
    ),
    Promise(
        "recoverers that race, and every later client, see the same end",
        source=PROTOCOL,
        checks=_LEDGERS,
        kinds=("ends-differ",),
    ),
    Promise(
        "the length in the metadata of a closed ledger is the total size of its payloads",
        source="LedgerHandle.getLength, in its Javadoc",
        checks=_LEDGERS,
        kinds=("wrong-length", "length-beyond-end"),
    ),
)
_ASKED: Final = "each ledger has one end, holds every acknowledged add up to it, and nothing is acknowledged beyond it"
_NAMED: Final = 10
#: Explanations of the words that readers of a run's results meet.
WORDS: Final = {
    "window": "adds that one writer has in flight at once; each is acknowledged separately, with an id",
    "tail": "a read by a follower, without recovery: entries up to LastAddConfirmed",
    "recover": "fencing and ending a ledger, as done by a client that takes over from its writer",
    "close": "the end that the ledger's own writer gives it",
    "in doubt": "an add whose answer does not prove its outcome: it may or may not be in the ledger",
    "kept": "adds in doubt that a reader found in the ledger once it had ended",
    "end of a ledger": "the id of its last entry, as returned by a recovery, a close or a read",
}


class Ledgers(Finding, frozen=True, kw_only=True):
    """Counts of ledgers and adds from the check, and some of the ledgers that were not read at the end."""

    check: str = "ledgers"
    kind: str = "ledgers"
    counts: dict[str, int]
    unread: tuple[str, ...] = ()


def size_of(payload: int) -> int:
    """Return the size in bytes of the entry with this number, as the gateway makes it (``Payload.java``)."""
    return 24 + payload * 7919 % 241


def ledgers_keep_their_promises(evidence: Evidence) -> Check:
    """Check every ledger; see ``fenced_ledgers``."""
    report = check_fenced_ledgers(evidence.operations, size_of)
    counts = report.counts
    summary = (
        f"{counted(counts['ledgers'], 'ledger')} with {counted(counts['ends'], 'answer')} of their ends, "
        f"{counted(counts['acknowledged'], 'add')} acknowledged, "
        f"{counts['doubted']} in doubt, of which {counts['kept']} {'was' if counts['kept'] == 1 else 'were'} kept"
    )
    unread = tuple(str(key) for key in report.unread[:_NAMED])
    ledgers = Ledgers(verdict=report.verdict, counts=counts, unread=unread)
    if report.violations:
        first = report.violations[0]
        struck, further = len({violation.key for violation in report.violations}), len(report.violations) - 1
        all_of_them = f"in {counted(struck, 'ledger')}; one of each kind per ledger is counted"
        more = f" (and {further} more, {all_of_them})" if further else ""
        summary = f"{first.sentence}{more}; {summary}"
        words = {**WORDS, **{violation.kind: KINDS[violation.kind] for violation in report.violations}}
        wrong = contradictions("ledgers", report.violations, (Kind(name, "data lost") for name in LOST))
        logged = (
            structs.replace(
                clash, logged=tuple(report.logged.get(clash.kind, ())), shown=tuple(report.shown.get(clash.kind, ()))
            )
            for clash in wrong
        )
        findings = (structs.replace(ledgers, verdict="valid"), *logged)
        return Check("ledgers", "check", "invalid", _ASKED, summary, findings, report.violations, words)
    if unread:
        summary += f"; not read at the end: {', '.join(unread)}"
    return Check("ledgers", "check", report.verdict, _ASKED, summary, (ledgers,), words=WORDS)
