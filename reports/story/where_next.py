"""Where to look next: the section that holds the evidence of the worst thing that broke, and what to read there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from history.records.violations import OUTAGE_S
from reports.analysis.findings import RECOVERY_S, Drawn
from reports.analysis.invariant_violations import ROOM_S
from reports.load import logs
from reports.story.breaks import Break, Evidence
from reports.story.repeated_lines import repeated_at_the_end
from reports.story.replicas_behind import reason_of
from reports.style.format import number, one_line

_COUNTEREXAMPLE: Final = "Read the counterexample: operations that cannot all be true, the contradiction in red"


def lasting_evidence(
    drawn: Drawn, moments: Sequence[tuple[str, Mapping[str, Any]]], short: Mapping[str, int]
) -> Evidence | None:
    """The leader that lacked committed entries, from when on they were not sent to others; or the last fall of a log.

    If logs are short at the end, only of those: what came back before is not what is missing.  Of logs that are all as
    long again, the first such leader.
    """
    write = drawn.run.index
    leading = [pair for pair in moments if "told_by" in pair[1] and (not short or str(pair[1]["node"]) in short)]
    if leading:
        last = (leading[-1] if short else leading[0])[1]
        place, one = next(pair for pair in leading if leadership(pair[1]) == leadership(last))
        node, at = str(one["node"]), one["time"] / 1e9
        ended = f"a log that ended at {write(one['log_end'])}, though {write(one['committed'])} had been committed"
        return Evidence(place, f"Look at {node}, which led by {at:.1f} s with {ended}", node, at)
    falls = {str(one["node"]): (place, one) for place, one in moments if not short or str(one["node"]) in short}
    if not falls:
        return None
    node, (place, one) = min(falls.items(), key=lambda pair: int(pair[1][1]["time"]))
    at = one["time"] / 1e9
    text = f"Look at {node}, whose log was cut for the last time by {at:.1f} s"
    text += " and is short at the end" if short else ""
    return Evidence(place, text, node, at)


def leadership(moment: Mapping[str, Any]) -> tuple[str, int]:
    """Return the node and the term of a moment in which a node led."""
    return str(moment["node"]), int(moment["term"])


def next_step(drawn: Drawn, worst: Break) -> tuple[Evidence, float | None]:
    """One thing to look at first, and the moment (s) whose log lines it is about, if it is about any."""

    def here(text: str) -> Evidence:
        return Evidence(worst.place, text)

    if (seen := worst.evidence) is not None:
        return seen, seen.at if seen.at is not None and _logged(drawn, (seen.node,), seen.at, seen.place) else None
    if worst.is_drawn:
        return here(_COUNTEREXAMPLE), None
    if worst.starts:
        one = worst.starts[0]
        why = reason_of(one).removesuffix(".")
        return here(f"Read the last lines of the {one.file} of {one.node}, which does not start again: {why}"), one.at
    section = f"the section about {worst.section or ' and '.join(worst.checks)}"
    if worst.severity == "alarm" and drawn.alarm_lines:
        line = drawn.alarm_lines[0]
        return here(f"Read line {number(line.number)} of {line.node}'s {line.file}, in {section}"), line.seconds
    if worst.severity in ("no commits", "replica behind"):
        repeated = drawn.run.notes.attempt("repeated lines", lambda: repeated_at_the_end(drawn, worst.nodes), None)
        if repeated is not None:
            often = f"{number(repeated.times)} times in the last {OUTAGE_S:.0f} s"
            return here(f"{repeated.node} logged this {often}: {one_line(repeated.text, 160)}"), worst.onset
    return _in_the_logs(drawn, worst, section)


def _in_the_logs(drawn: Drawn, worst: Break, section: str) -> tuple[Evidence, float | None]:
    """The log lines of the nodes around the onset; where there are none, what there is in their place."""

    def here(text: str) -> Evidence:
        return Evidence(worst.place, text)

    if worst.onset is None:
        return here(f"Look at {section}"), None
    named = ", ".join(worst.nodes)
    if worst.nodes and not _logged(drawn, worst.nodes, worst.onset, worst.place):
        if not logs.log_files(drawn.run.files):
            return here(f"Look at what {named} answered, in {section}: this run holds no logs of nodes"), None
        if undated := logs.without_dates(drawn.run.files, drawn.run.started, worst.nodes):
            node, name = undated
            return Evidence("logs", f"Read the end of {node}'s {name}, whose lines have no dates"), None
        return here(f"Look at what the nodes answered, in {section}: no log of {named} has a line of that time"), None
    return here(f"Look at what the logs{f' of {named}' if named else ''} say around {worst.onset:.1f} s"), worst.onset


def _logged(drawn: Drawn, nodes: Sequence[str], moment: float, place: str) -> bool:
    """Whether the nodes logged anything with a date where the fold of the section would show it."""
    room = (0.5, RECOVERY_S) if place == "recovery" else ROOM_S
    run = drawn.run
    return run.notes.attempt(
        "log lines",
        lambda: bool(logs.around(run.files, run.started, (moment, moment), nodes, room, 8).lines),
        True,  # noqa: FBT003
    )
