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
    found = _said_once(breaks, looking)
    causes: dict[int, list[Break]] = {place: [] for place in range(len(found))}
    for place, one in enumerate(found):
        cause = next(
            (
                other
                for other, earlier in enumerate(found)
                if other != place
                and other in causes
                and looking.isdisjoint(one.checks) == looking.isdisjoint(earlier.checks)
                and ((other < place and _of_one_defect(one, earlier)) or _follows(drawn, one, earlier))
            ),
            None,
        )
        if cause is not None:
            del causes[place]
            causes[cause].append(replace(one, below=True))
    return [one for place, below in causes.items() for one in (found[place], *below)]


def _of_one_defect(one: Break, other: Break) -> bool:
    return bool(one.defect) and one.defect == other.defect


def _follows(drawn: Drawn, one: Break, cause: Break) -> bool:
    """Return whether the records prove that a break follows from another one.
    Alarms follow from missing elements if each alarm was logged by at least one node that lacks some.  If committed
    entries were lost from logs, a leader that lacks them cannot commit anything, and replicas cannot get beyond the end
    of the longest log.
    """
    if one.severity == "alarm":
        alarms = found_in(drawn.run.results, Alarms)
        patterns = () if alarms is None else alarms.patterns
        return bool(patterns) and not any(set(cause.lost_on).isdisjoint(pattern.nodes) for pattern in patterns)
    if one.checks != ("recovery",) or _OF_LOGS.isdisjoint(cause.checks):
        return False
    if one.severity == "no commits":
        short, _ = short_at_the_end(drawn.timelines)
        return leader_at(drawn.timelines, drawn.run.end / 1e9) in short
    behind = classified(drawn, [timeline for timeline in drawn.timelines if timeline.node in one.nodes])
    return not one.starts and bool(behind) and all(node.state == "at the logs' end" for node in behind)


def _said_once(breaks: Sequence[Break], looking: AbstractSet[str]) -> list[Break]:
    """Merge the findings of several checks about the same nodes or the same answer.

    Breaks are about the same nodes if reads there lack elements that other nodes hold.  Findings that reveal the
    planted bug are never merged with others.  The sentence is that of the first, or of one with a simpler kind.
    """
    found: list[Break] = []
    for one in breaks:
        same = (
            place
            for place, other in enumerate(found)
            if (_same_nodes(one, other) or _same_answer(one, other))
            and looking.isdisjoint(one.checks) == looking.isdisjoint(other.checks)
        )
        if (place := next(same, None)) is None:
            found.append(one)
            continue
        told, also = found[place], one
        if told.generic and not also.generic and not told.defect:
            told, also = also, told
        joined = "One of them" if also.lost_on else f"The check {and_listed(also.checks)} found it too"
        detail = f"{told.detail} {joined}: {also.detail}".strip()
        found[place] = replace(
            told, checks=(*told.checks, *also.checks), detail=detail, answers=told.answers | also.answers
        )
    return found


def _same_nodes(one: Break, other: Break) -> bool:
    """Return whether a break concerns only nodes that the other break names.

    A break that counts elements and shows an example is not merged.
    """
    return bool(one.lost_on) and one.evidence is None and set(one.lost_on) <= set(other.lost_on)


def _same_answer(one: Break, other: Break) -> bool:
    """Return whether both breaks are drawn and rest on the same answer.

    They do if their answers came at the same moment, if one counterexample contains all operations of the other, or if
    one known defect explains both.
    """
    if not (one.is_drawn and other.is_drawn) or one.lost_on or one.severity != other.severity:
        return False
    if _of_one_defect(one, other):
        return True
    shared = one.answers and other.answers and (one.answers <= other.answers or other.answers <= one.answers)
    return bool(shared) or one.onset == other.onset is not None
