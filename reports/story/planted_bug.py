"""The meaning of a verdict.  A run with a planted bug tests the harness, not the system."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from history.records.results import BESIDE_PLANTED_BUG, BY_PLANTED_BUG
from history.records.text import counted
from history.records.violations import MISSED, checks_looking, planted_bug_outcome, shown_verdict, verdict_words
from reports.load.check_rows import checks_of
from reports.load.run import HARNESS_FAILURE, LoadedRun, beside_violation, quoted_command
from reports.story.breaks import Break

MEANINGS: Final = {
    "valid": "",
    "invalid": "",
    "unknown": "This run proves nothing, for the system or against it.",
    HARNESS_FAILURE: "The harness broke down. This says nothing about the system under test.",
}
#: Factor for the time limit of the next run after one that missed a planted bug.
LONGER: Final = 5
_OTHERS: Final = "Also found, which the planted bug may or may not explain"
#: At most this many faults that were never active are named.
_NAMED: Final = 3


def verdict_shown(run: LoadedRun) -> str:
    """Return the verdict as lists and the page show it, in words and colour."""
    return shown_verdict(run.verdict, planted_bug_outcome(run.plan, run.results))


def word_of(run: LoadedRun) -> str:
    """Return the verdict in the words that open the page."""
    word = verdict_words(run.verdict, run.plan, run.results)
    return word[:1].upper() + word[1:]


def meaning_of(run: LoadedRun) -> str:
    """Say what the verdict means for the system under test, or for the harness."""
    bug = str(run.plan.get("planted_bug") or "")
    if not bug or run.verdict == HARNESS_FAILURE:
        return MEANINGS[run.verdict]
    if not run.results:
        return f"The bug {bug} is planted in the server. The run was not judged, so whether it was found is unknown."
    if planted_bug_outcome(run.plan, run.results) == "found":
        failed = {row["name"] for row in checks_of(run) if row["state"] == "invalid"}
        about = "; this says nothing about the system under test"
        if failed - checks_looking(run.plan):
            about = ", but checks that do not look for the bug also failed, which may be about the system under test"
        return f"The harness detected the planted bug {bug}, as intended. The server misbehaved on purpose{about}."
    if run.verdict == "unknown":
        return (
            f"The planted bug {bug} was not found, and this run proves nothing, "
            "not even that the harness cannot find the bug."
        )
    looking = " nor ".join(sorted(checks_looking(run.plan) & {row["name"] for row in checks_of(run)}))
    return (
        f"The planted bug {bug} was not found{f' by {looking}' if looking else ''}. "
        f"{_not_installed(run)}Nothing recorded shows whether the planted code ever ran: either it did not, "
        "or the harness is blind to what it did."
    )


def failed_beside(run: LoadedRun) -> str:
    """Say what failed in the harness beside a proven violation; empty if nothing did or no violation is proven."""
    return "" if run.verdict == HARNESS_FAILURE or not run.failure else beside_violation(run.failure)


def grouped(run: LoadedRun, breaks: Sequence[Break]) -> list[tuple[str, list[Break]]]:
    """Group what broke under titles: what the planted bug was meant to break, then everything else."""
    looking = checks_looking(run.plan)
    if not looking:
        return [("", list(breaks))] if breaks else []
    intended = [break_ for break_ in breaks if looking.intersection(break_.checks)]
    others = [break_ for break_ in breaks if break_ not in intended]
    titled = [(f"Planted {run.plan['planted_bug']}", intended), (_OTHERS, others)]
    return [(title, ones) for title, ones in titled if ones]


def led_by(title: str) -> str:
    """Return the beginning of a headline in a list, given the title of its group on the page."""
    return "" if not title else BESIDE_PLANTED_BUG if title == _OTHERS else BY_PLANTED_BUG


def _not_installed(run: LoadedRun) -> str:
    """Say which faults were never active, so that the bug may have had no occasion; empty if all were."""
    left_out = [receipt for receipt in run.receipts if receipt.state != "installed"]
    named = ", ".join(f"#{receipt.id} {receipt.fault} {receipt.state}" for receipt in left_out[:_NAMED])
    if not left_out:
        return ""
    more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
    skipped = sum(receipt.state == "skipped" for receipt in left_out)
    doubtful = len(left_out) - skipped
    parts = [f"{skipped} {'was' if skipped == 1 else 'were'} skipped"] if skipped else []
    parts += [f"{doubtful} may not have taken effect"] if doubtful else []
    return f"Of {counted(len(run.receipts), 'fault')} {' and '.join(parts)} ({named}{more}). "


def bug_of(run: LoadedRun) -> str:
    """Say in one line what the planted bug does, as the judge recorded it; empty if there is no such record."""
    bug, does = run.plan.get("planted_bug"), run.environment.get("planted_bug")
    return f"{bug}: {does}" if bug and does else ""


def try_again(run: LoadedRun) -> str:
    """Say how to run again for a planted bug that no check found; empty for any other run."""
    if verdict_shown(run) != MISSED:
        return ""
    how = "for longer, so that every fault takes effect" if _not_installed(run) else "for longer"
    return (
        f"Run it again with other seeds and {how}; while no such run finds the bug, "
        "valid runs of this plan prove nothing"
    )


def longer(run: LoadedRun) -> str:
    """Return the command of a run that missed a planted bug, with another seed and more time; else empty."""
    command, limit = quoted_command(run.plan.get("command")), run.plan.get("time_limit")
    if verdict_shown(run) != MISSED or not command or not isinstance(limit, int | float):
        return ""
    words = shlex.split(command)
    for option in ("--seed", "--time-limit"):
        while option in words:
            place = words.index(option)
            del words[place : place + 2]
    return shlex.join([*words, "--time-limit", f"{limit * LONGER:g}"])
