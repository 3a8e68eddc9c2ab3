"""Group what broke into events: merge findings about one event, and put consequences below their cause."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from history.records.finding import Alarms
from history.records.text import and_listed
from history.records.violations import found_in
from reports.analysis.findings import Drawn
from reports.analysis.log_falls import short_at_the_end
from reports.analysis.node_timeline import leader_at
from reports.story.breaks import Break
from reports.story.replicas_behind import classified

#: Checks that find logs which lost committed entries.
_OF_LOGS: Final = frozenset({"leader-complete", "log-order", "committed-kept"})


def together(drawn: Drawn, breaks: Sequence[Break], looking: AbstractSet[str]) -> list[Break]:
    """Merge breaks that are one event and put each consequence below its cause; otherwise the order is kept.

    Breaks that one known defect explains are one event: the worst stands first, the others below it.
    Findings that reveal the planted bug are never merged with others.
    """
    merged = _said_once(breaks, looking)
    causes: dict[int, list[Break]] = {place: [] for place in range(len(merged))}
    for place, break_ in enumerate(merged):
        cause = next(
            (
                other
                for other, earlier in enumerate(merged)
                if other != place
                and other in causes
                and looking.isdisjoint(break_.checks) == looking.isdisjoint(earlier.checks)
                and ((other < place and _of_one_defect(break_, earlier)) or _follows(drawn, break_, earlier))
            ),
            None,
        )
        if cause is not None:
            del causes[place]
            causes[cause].append(replace(break_, below=True))
    return [break_ for place, below in causes.items() for break_ in (merged[place], *below)]


def _of_one_defect(break_: Break, other: Break) -> bool:
    return bool(break_.defect) and break_.defect == other.defect


def _follows(drawn: Drawn, break_: Break, cause: Break) -> bool:
    """Return whether the records prove that a break follows from another one.
    Alarms follow from missing elements if each alarm was logged by at least one node that lacks some.  If committed
    entries were lost from logs, a leader that lacks them cannot commit anything, and replicas cannot get beyond the end
    of the longest log.
    """
    if break_.severity == "alarm":
        alarms = found_in(drawn.run.results, Alarms)
        patterns = () if alarms is None else alarms.patterns
        return bool(patterns) and not any(set(cause.lost_on).isdisjoint(pattern.nodes) for pattern in patterns)
    if break_.checks != ("recovery",) or _OF_LOGS.isdisjoint(cause.checks):
        return False
    if break_.severity == "no commits":
        short, _ = short_at_the_end(drawn.timelines)
        return leader_at(drawn.timelines, drawn.run.end / 1e9) in short
    behind = classified(drawn, [timeline for timeline in drawn.timelines if timeline.node in break_.nodes])
    return not break_.starts and bool(behind) and all(node.state == "at the logs' end" for node in behind)


def _said_once(breaks: Sequence[Break], looking: AbstractSet[str]) -> list[Break]:
    """Merge the findings of several checks about the same nodes or the same answer.

    Breaks are about the same nodes if reads there lack elements that other nodes hold.  Findings that reveal the
    planted bug are never merged with others.  The sentence is that of the first, or of one with a simpler kind.
    """
    merged: list[Break] = []
    for break_ in breaks:
        same = (
            place
            for place, other in enumerate(merged)
            if (_same_nodes(break_, other) or _same_answer(break_, other))
            and looking.isdisjoint(break_.checks) == looking.isdisjoint(other.checks)
        )
        if (place := next(same, None)) is None:
            merged.append(break_)
            continue
        told, also = merged[place], break_
        if told.generic and not also.generic and not told.defect:
            told, also = also, told
        joined = "One of them" if also.lost_on else f"The check {and_listed(also.checks)} found it too"
        detail = f"{told.detail} {joined}: {also.detail}".strip()
        merged[place] = replace(
            told, checks=(*told.checks, *also.checks), detail=detail, answers=told.answers | also.answers
        )
    return merged


def _same_nodes(break_: Break, other: Break) -> bool:
    """Return whether a break concerns only nodes that the other break names.

    A break that counts elements and shows an example is not merged.
    """
    return bool(break_.lost_on) and break_.evidence is None and set(break_.lost_on) <= set(other.lost_on)


def _same_answer(break_: Break, other: Break) -> bool:
    """Return whether both breaks are drawn and rest on the same answer.

    They do if their answers came at the same moment, if one counterexample contains all operations of the other, or if
    one known defect explains both.
    """
    if not (break_.is_drawn and other.is_drawn) or break_.lost_on or break_.severity != other.severity:
        return False
    if _of_one_defect(break_, other):
        return True
    shared = break_.answers and other.answers and (break_.answers <= other.answers or other.answers <= break_.answers)
    return bool(shared) or break_.onset == other.onset is not None
