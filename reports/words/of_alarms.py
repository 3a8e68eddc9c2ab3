"""Alarms of the nodes in words: lines in their logs, counts in their answers, and processes that ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from history import Probe, Receipt
from history.records.text import and_listed, counted

#: The counts of a probe that are worth a note: singular and plural of what they count, and what that means.
COUNTS: Final[Mapping[str, tuple[str, str, str]]] = {
    "unapplied_oks": ("acknowledgement", "acknowledgements", "of entries that were never applied there"),
    "apply_errors": ("batch", "batches", "in which applying failed"),
    "reapplied": ("step", "steps", "back to entries already applied"),
}
#: Appended to an alarm that an injected fault explains.
DAMAGED: Final = " after an injected fault had damaged its files"
MEANT: Final = " under an injected fault that is meant to cause it"


def read_text(logs: int, doubts: Sequence[str], notes: Sequence[str]) -> str:
    """Say what keeps the check from passing, or how many logs were read; then what proves nothing by itself."""
    noted = f"; alarms that are not violations by themselves: {'; '.join(notes)}" if notes else ""
    return ("; ".join(doubts) or f"{counted(logs, 'log')} read") + noted


def alarm_text(pattern: str, meaning: str, by_node: Mapping[str, int]) -> str:
    """Return text such as "'x' 2 times on n1 and n3 (its Raft stopped)"."""
    count = sum(by_node.values())
    often = "once" if count == 1 else f"{count} times"
    return f"{pattern!r} {often} on {and_listed(sorted(by_node))} ({meaning})"


def count_text(name: str, by_node: Mapping[str, int]) -> str:
    """Return text such as "3 steps back to entries already applied (1 on n1, 2 on n2)"."""
    which = ", ".join(f"{number} on {node}" for node, number in sorted(by_node.items()))
    word, words, meaning = COUNTS[name]
    return f"{counted(sum(by_node.values()), word, words)} {meaning} ({which})"


def said_text(node: str, fault: str | None) -> str:
    return f"{node} says: {fault}"


def unread_text(node: str, number: int) -> str:
    return f"{node} could not read {counted(number, 'committed entry', 'committed entries')}"


def without_logs_text(nodes: Iterable[str]) -> str:
    """Say that the logs of these nodes were not collected, or, if none are given, no logs at all."""
    return f"no logs were collected of {', '.join(nodes) or 'any node'}"


def ended_under_text(node: str, receipt: Receipt) -> str:
    """Say that a process ended during a fault that does not end processes."""
    until = receipt.heal_started or receipt.started
    during = f"{receipt.fault} was active ({receipt.started / 1e9:.1f} to {until / 1e9:.1f} s)"
    return f"{node}'s process exited while {during}, which does not end processes"


def renewed_text(before: Probe, after: Probe) -> str:
    """Say that two answers of a node came from different processes, although no fault ended one."""
    at = f"between {before.time / 1e9:.1f} and {after.time / 1e9:.1f} s"
    return f"{after.node}'s server became a new process {at}, but no fault there ends processes"


def not_running_text(node: str, roles: Iterable[str], last: int | None) -> str:
    """Say that processes of a node were not running at the end, and when it answered ``last`` (ns)."""
    answered = "" if last is None else f" (its last answer was at {last / 1e9:.1f} s)"
    return f"the {', '.join(roles)} of {node} was no longer running at the end{answered}, and no fault explains it"
