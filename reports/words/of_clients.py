"""What clients saw in words: the checks of their operations, and the sentence of the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from history import Check, KeyVerdict
from history.columns.operations import NONE
from history.records.finding import KnownDefect, ViolationTimes
from history.records.text import and_listed, counted
from history.records.violations import LINEARIZABLE

#: What the check of linearizability requires.
ONE_ORDER: Final = "the operations on each key fit into one order that respects real time"
#: What a valid check of isolation adds.
INEXACT: Final = "; not every violation of this level can be seen in what was read"
_ANSWERS: Final = {"valid": "yes", "invalid": "no", "unknown": "undecided"}


def linearizability_text(
    keys: Sequence[KeyVerdict], recorded: int, when: ViolationTimes | None, unread: int | None
) -> str:
    """Say on how many of the ``recorded`` operations the check is based, and what was wrong or is undecided."""
    checked = sum(key.operations for key in keys)
    failed = counted(recorded - checked, "failed operation")
    left_out = f" (left out: {failed}, which certainly had no effect)" if recorded > checked else ""
    text = f"{counted(max(checked, recorded), 'operation')} on {counted(len(keys), 'key')}{left_out}"
    if bad := [key for key in keys if key.verdict == "invalid"]:
        least = "at least " if any(key.more for key in bad) else ""
        violations = counted(sum(key.violations for key in keys), "violation")
        times = f": {violation_times_text(when)}" if when else ""
        return f"{text}, {least}{violations} on {', '.join(str(key.key) for key in bad)}{times}"
    lost = "; ".join(f"{key.key}: {key.reason}" for key in keys if key.verdict == "unknown")
    return text + unread_text(unread) + (f", undecided: {lost}" if lost else "")


def level_text(level: str) -> str:
    """Return what the check of an isolation level requires."""
    return f"transactions are {level}" if level.endswith("serializable") else f"transactions satisfy the level {level}"


def isolation_text(
    keys: Sequence[KeyVerdict], all_and_failed: tuple[int, int], when: ViolationTimes | None, unread: str
) -> str:
    """Say how many transactions there were, and what was wrong or is undecided; ``unread`` ends what is valid."""
    text = "{}, of which {} failed".format(counted(all_and_failed[0], "transaction"), all_and_failed[1])
    if any(key.verdict == "invalid" for key in keys):
        levels = [level for key in keys for level in key.levels]
        times = violation_times_text(when) if when else ""
        kept = f"{and_listed(levels)}, and all weaker levels" if levels else "no isolation level"
        return f"{text}, {counted(sum(key.violations for key in keys), 'violation')}: {times}; satisfied: {kept}"
    lost = "; ".join(str(key.reason) for key in keys if key.verdict == "unknown")
    return f"{text}, undecided: {lost}" if lost else text + unread


def unread_text(last: int | None) -> str:
    """Say since when no read succeeded (ns): ``NONE`` for never, None if that is not worth a word."""
    if last is None:
        return ""
    return ", but no read succeeded" + ("" if last == NONE else f" after {last / 1e9:.1f} s")


def answer_to_clients(of_clients: Check, keys: Sequence[KeyVerdict]) -> str:
    """Return the verdict on what clients saw, with the first counterexample: ``linearizable: no (stale-read: …)``."""
    text = f"{of_clients.name}: {_ANSWERS[of_clients.verdict]}"
    if of_clients.name not in LINEARIZABLE and of_clients.verdict != "valid":
        text += f", {of_clients.seen}"
    examples = [example for key in keys for example in key.counterexamples]
    example = min(examples, key=attrgetter("completed_at"), default=None)
    return text if example is None else f"{text} ({example.kind}: {example.sentence.rstrip('.')})"


def sentence(checks: Sequence[Check], keys: Sequence[KeyVerdict], failures: Sequence[str], *, recovery: bool) -> str:
    """Return the verdict in one sentence.

    The first of the checks is that of the clients, the second is recovery, which is named if it was looked for.
    """
    of_clients, back, *others = checks
    parts = [answer_to_clients(of_clients, keys)]
    if recovery:
        parts.append(f"recovery: {_ANSWERS[back.verdict]}, {back.seen}")
    parts += [f"{check.name}: {check.seen}" for check in others if check.verdict != "valid"]
    if failures:
        proven = any(check.verdict == "invalid" for check in checks)
        parts.insert(len(parts) if proven else 0, f"the harness failed ({failures[0]})")
    return "; ".join(parts)


def planted_bug_text(bug: str, *, caught: bool) -> str:
    """Return the start of the sentence about a run with a planted bug."""
    return f"the planted bug {bug} was {'found, as intended' if caught else 'not found'}; "


def known_defect_text(defect: KnownDefect) -> str:
    """Return text such as "Matches the known defect x (lost-write): it does y. See docs/findings.md"."""
    page, _, behaviour = defect.why.partition(": ")
    about = f": {behaviour}. See {page}" if behaviour else f": {page}" if page else ""
    return f"Matches the known defect {defect.name} ({', '.join(defect.kinds)}){about}"


def checker_failure_text(keys: Iterable[KeyVerdict]) -> str:
    """Say on which of the keys the checker itself failed, and how on the first; empty if on none."""
    failed = [key for key in keys if key.failure is not None]
    names = ", ".join(str(key.key) for key in failed)
    return f"the checker failed on {names}: {failed[0].failure}" if failed else ""


def violation_times_text(times: ViolationTimes) -> str:
    """Say in which phases the violating answers came, and during which faults they became possible.

    These are different questions, because an answer in the final phase may miss a value that was written under a fault.
    The text is like "30 in the warm-up phase, 72 in the main phase; between the contradicted change and the answer, #0
    bridge was active for 41, no fault for 61".
    """
    phases = ", ".join(f"{count} in the {phase} phase" for phase, count in times.phases.items())
    faults = [(f"#{fault.id} {fault.fault}", fault.count) for fault in times.faults]
    faults += [("no fault", times.calm)] if times.calm else []
    between = "between the contradicted change and the answer"
    stood = f"for none of them was a fault active {between}"
    if times.faults:
        active = ", ".join(f"{name}{'' if at else ' was active'} for {many}" for at, (name, many) in enumerate(faults))
        several = ", several for some" if sum(many for _, many in faults) > times.counted else ""
        stood = f"{between}, {active}{several}"
    some, among = times.counted, times.counted != times.of
    dated = f"{some} of these {'is' if some == 1 else 'are'} dated: " if among else ""
    return f"{dated}{phases}; {stood}"
