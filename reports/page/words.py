"""Glossary: meanings of the violation kinds, headlines and terms that occur on a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from history.records.check_records import check_records
from history.records.finding import Severity
from history.records.violations import violations_of
from reports.analysis import node_timeline
from reports.analysis.findings import Drawn, recorded_examples

HEADLINES: Final[Mapping[Severity, str]] = {
    "data lost": "something that was acknowledged to a client, or that a node had reported as committed, is in no "
    "node's last read, or was in no node's log at some moment",
    "missing on nodes": "the last reads or the logs of some nodes lack acknowledged or committed data that other nodes "
    "have",
    "log truncated": "committed entries disappeared from a node's log, but some log always reached as far, and at the "
    "end every log does",
    "inconsistent": "answers, or what nodes reported about themselves, contradict each other",
    "no commits": "nothing was committed in the last 10 s of the record or longer, not even after the last heal; this "
    "may have begun under a fault. If nodes report no commits: no client was served in time after the heal",
    "not served": "after the last heal, something that clients requested, such as one kind of operation or one object, "
    "did not succeed in the time that the check recovery allows, although no node was behind",
    "replica behind": "after the last heal, a node did not apply what the cluster had committed in the time that the "
    "check recovery allows",
    "alarm": "a line in a node's log, or a figure that it reported, that is a violation by itself",
}
KINDS: Final[Mapping[str, str]] = {
    "commit-beyond-log": "a node reported more as committed than its own log holds, or applied more than it had "
    "reported as committed",
    "committed-entries-deleted": "a node's log became shorter than what the node had reported as committed",
    "double-cas": "two compare-and-swaps that expected the same value both succeeded, though the register held it only "
    "once",
    "duplicate": "something that was requested once appears twice",
    "failed-write-read": "a read returned a value that only failed operations had tried to write",
    "future-read": "a read returned something that was requested only after the read had ended",
    "granted-twice": "a lock was granted while another client held it, or with a token that is not greater than all "
    "earlier ones",
    "leader-lacks-committed": "a node led although its log ended before entries that had been committed",
    "log-alarm": "a line in a node's log that is a violation by itself",
    "log-hole": "there is an entry at an index, but the entries before it cannot all exist",
    "log-order": "an append that began after another had ended comes before it",
    "log-overwrite": "one index held two values",
    "lost-append": "an acknowledged append is missing from all later answers",
    "lost-element": "an element was added and acknowledged, but a read that began later lacks it; in a queue, an item "
    "that was never dequeued",
    "lost-write": "no read returned an acknowledged write, nor anything written after it",
    "never-written": "a read returned a value that was never written",
    "never-written-or-stale": "seen during the run: a read returned a value that was never written, or an old value",
    "no-recovery": "after the last heal the cluster, or one of its nodes, did not catch up in the time allowed",
    "not-linearizable": "no order of the operations explains every answer and respects real time; no simpler kind is "
    "known",
    "overcount": "a read of a counter exceeded everything that can have been added by then; an add may have counted "
    "twice",
    "queue-order": "an item was dequeued before one that was enqueued earlier",
    "read-inversion": "a read returned an older state than a read that had ended before it began",
    "replicas-differ": "two nodes had applied the same entries, but their contents differ",
    "session-went-back": "one client saw an older state than it had seen before",
    "split-brain": "two sides of the cluster each took writes and read them back at the same time",
    "stale-read": "a read returned a value that an acknowledged write had replaced before the read began",
    "term-forgotten": "a node took part in an earlier term than one it had been in before",
    "two-leaders": "two nodes led in the same term",
    "undecodable-entry": "a node could not decode a committed entry",
    "undercount": "a read of a counter was below what remains after everything that can have been subtracted by then",
    "version-order": "a write did not get a later version than one that was known before the write began",
    "version-twice": "two writes of a register have the same version",
    "wrong-refusal": "a compare-and-swap was refused although it found the value that it expected",
    "wrong-total": "the balances of a bank do not add up to what was put into it",
}
ROLES: Final[Mapping[str, str]] = {
    "leader, follower": "the node that takes writes and sends them to the others, in a term of its own; the others",
    "candidate": "a node that stands for election",
}
EPOCH: Final = "a number that grows with every new leader; the higher wins"
DIGEST: Final = "a hash of everything that a node has applied up to an index; equal indexes must have equal digests"


def words_of(drawn: Drawn) -> list[tuple[str, str]]:
    """Return the words on a run's page with their meanings; those of its options and checks take precedence."""
    run = drawn.run
    words: dict[str, str] = {}
    violations = violations_of(run.results)
    for severity in dict.fromkeys(violation.severity for violation in violations):
        words[severity] = HEADLINES[severity]
    kinds = [*(violation.kind for violation in violations), *(case.example.kind for case in recorded_examples(run))]
    words |= {kind: KINDS[kind] for kind in dict.fromkeys(kinds) if kind in KINDS}
    words |= ROLES if node_timeline.have_roles(drawn.timelines) else {}
    words |= {"epoch": EPOCH} if run.epoch_bits else {}
    checks = check_records(run.results)
    words |= {"digest": DIGEST} if any(check.get("name") == "replicas-agree" for check in checks) else {}
    for record in (run.environment, *checks):
        own = record.get("words")
        words |= {str(name): str(meaning) for name, meaning in own.items()} if isinstance(own, Mapping) else {}
    return list(words.items())
