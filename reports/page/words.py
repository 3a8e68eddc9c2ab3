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
    "data lost": "something that was acknowledged to a client, or that a node had said to be committed, is in no "
    "node's last read, or was in no node's log at some moment",
    "missing on nodes": "the last reads or the logs of some nodes lack what was acknowledged or committed, and those "
    "of others have it",
    "log truncated": "committed entries went from the log of a node; at every moment some log reached as far as they "
    "did, and at the end every log does",
    "inconsistent": "answers, or what nodes said of themselves, contradict each other",
    "no commits": "nothing was committed any more in the last 10 s of the record or longer, also not after the last "
    "heal; it may have begun under a fault. Where nodes report no commits: no client was served in time after the heal",
    "replica behind": "after the last heal a node did not apply what the cluster had committed, in the time that the "
    "check recovery gives it",
    "alarm": "a line of a node's log, or a figure that it reported, that is a violation by itself",
}
KINDS: Final[Mapping[str, str]] = {
    "commit-beyond-log": "a node said that more was committed, or applied, than its own log holds or it had committed",
    "committed-entries-deleted": "a log became shorter than what its node had said to be committed",
    "double-cas": "two compare-and-swaps of one value both succeeded, though it was there once",
    "duplicate": "what was asked for once is there twice",
    "failed-write-read": "a value was read that only an operation with the answer fail asked for",
    "future-read": "a read returned what was asked for only after it had ended",
    "granted-twice": "a lock was granted while another held it, or with a token that is not greater than all before",
    "leader-lacks-committed": "a node led, and its log ended before what had been committed",
    "log-alarm": "a line of a node's log that is a violation by itself",
    "log-hole": "an entry stands at an index, and those before it cannot all exist",
    "log-order": "an append that began after another had ended stands before it",
    "log-overwrite": "one index held two values",
    "lost-append": "an acknowledged append is in no later answer",
    "lost-element": "an element was added and acknowledged, and a read that began later lacks it; of a queue, an item "
    "that was never dequeued",
    "lost-write": "an acknowledged write that no read ever returned, nor anything written after it",
    "never-written": "a read returned what was never written",
    "never-written-or-stale": "seen while the run went on: a read returned what was not written, or an old value",
    "no-recovery": "after the last heal the cluster, or one of its nodes, did not catch up in the time that is given",
    "not-linearizable": "no order of the operations explains every answer and respects real time; no simpler kind is "
    "known",
    "overcount": "a counter was read at more than can have been added to it by then: an add may count twice",
    "queue-order": "an item was dequeued before one that was enqueued earlier",
    "read-inversion": "a read returned an older state than one that had ended before it began",
    "replicas-differ": "two nodes had applied the same entries, and their contents differ",
    "session-went-back": "one client saw an older state than it had seen before",
    "split-brain": "two sides of the cluster took writes of their own and read them back at the same time",
    "stale-read": "a read returned a value that had been replaced, by an acknowledged write, before it began",
    "term-forgotten": "a node took part in a term earlier than one it had been in before",
    "two-leaders": "two nodes led in one term",
    "undecodable-entry": "a node could not decode an entry that was committed",
    "undercount": "a counter was read at less than all that can have been taken away from it by then leaves",
    "version-order": "a write has no later version than one that was known of before it began",
    "version-twice": "one version of a register is that of two writes",
    "wrong-refusal": "a compare-and-swap was refused by the very value that it asked for",
    "wrong-total": "the balances of a bank do not sum up to what was put into it",
}
ROLES: Final[Mapping[str, str]] = {
    "leader, follower": "the node that takes writes and sends them to the others, in a term of its own; the others",
    "candidate": "a node that stands for election",
}
EPOCH: Final = "a number that grows with every new leader; the higher wins"
DIGEST: Final = "a hash of all that a node has applied up to an index: equal indexes must have equal digests"


def words_of(drawn: Drawn) -> list[tuple[str, str]]:
    """Return the words on a run's page with their meanings; those of its options and checks take precedence."""
    run = drawn.run
    found: dict[str, str] = {}
    violations = violations_of(run.results)
    for severity in dict.fromkeys(one.severity for one in violations):
        found[severity] = HEADLINES[severity]
    kinds = [*(one.kind for one in violations), *(one.example.kind for one in recorded_examples(run))]
    found |= {kind: KINDS[kind] for kind in dict.fromkeys(kinds) if kind in KINDS}
    found |= ROLES if node_timeline.have_roles(drawn.timelines) else {}
    found |= {"epoch": EPOCH} if run.epoch_bits else {}
    checks = check_records(run.results)
    found |= {"digest": DIGEST} if any(one.get("name") == "replicas-agree" for one in checks) else {}
    for one in (run.environment, *checks):
        own = one.get("words")
        found |= {str(name): str(meaning) for name, meaning in own.items()} if isinstance(own, Mapping) else {}
    return list(found.items())
