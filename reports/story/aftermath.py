"""The aftermath of a break: how clients and leaders fared, and when no operation succeeded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from history.codes import OK
from history.columns.operations import Floats
from history.records.finding import OUTAGE_S
from reports.analysis.elections import leaderships_of
from reports.analysis.faults import when
from reports.analysis.findings import Drawn
from reports.analysis.node_timeline import ROLES, NodeTimeline, leader_at
from reports.analysis.outages import Outage
from reports.load.cut_record import is_cut
from reports.load.run import LoadedRun
from reports.style.format import number

#: Events fewer than this many seconds before the end of the load or the record are not mentioned.
SPOKEN_S: Final = 1.0
#: A leader that took over at most this many seconds before a break is named, as its election may have caused it.
JUST_S: Final = 2.0


class Rates(NamedTuple):
    """The number of operations that succeeded per second ``before`` and ``since`` a given time.

    ``before`` is counted from ``first`` (s) and ``since`` until ``until`` (s). ``ended``: ``until`` is the last
    success, long before the load's end; otherwise it is when the load's last operation began.
    """

    before: float
    since: float
    first: float
    until: float
    ended: bool


def rates_around(drawn: Drawn, onset: float) -> Rates | None:
    """Compute how clients fared before and after a time (s); None if the comparison would be meaningless."""
    served, requests = _served(drawn.run), drawn.run.operations.invoked / 1e9
    load = requests[~drawn.run.operations.phase.equals("final") & (not is_cut(drawn.run))]
    if not len(load) or not load[0] < onset <= load[-1] - SPOKEN_S:
        return None
    # If nothing succeeded for a long time before the load's end, the second rate ends at the last success.
    last = float(served[-1]) if len(served) else 0.0
    ended = onset + SPOKEN_S <= last <= load[-1] - OUTAGE_S / 2
    until = last if ended else float(load[-1])
    first, broke, ending = drawn.run.clock.times((np.array([load[0], onset, until]) * 1e9).astype(np.int64)) / 1e9
    before = np.count_nonzero(served < onset) / (broke - first)
    since = np.count_nonzero((served >= onset) & (served <= until)) / (ending - broke)
    # At the beginning of a run the rate rises anyway, so a rise is not reported.
    told = ended or (last > onset and 0 < since < before)
    return Rates(before, since, float(load[0]), until, ended) if told else None


def after_onset(drawn: Drawn, onset: float) -> str:
    """Say how clients fared before and after a given time (s), and how many leaders there were after it."""
    parts = []
    if (rates := rates_around(drawn, onset)) is not None:
        ran = f"the load ran from {rates.first:.1f} to {rates.until:.1f} s"
        if rates.ended:
            ran = f"the load began at {rates.first:.1f} s, the last success was at {rates.until:.1f} s"
        parts.append(
            f"{rates.before:.1f} operations per second succeeded before {onset:.1f} s, {rates.since:.1f} after ({ran})"
        )
    if len(drawn.timelines) > 1 and any((node.role <= ROLES.index("follower")).any() for node in drawn.timelines):
        end = drawn.run.end / 1e9
        if end - onset >= SPOKEN_S:
            parts.append(_elected(drawn, onset, leader_at(drawn.timelines, end)))
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def outages_text(drawn: Drawn) -> str:
    """Say when no operation of any kind succeeded for :data:`OUTAGE_S` or longer although clients sent requests.

    Empty if that never happened.  This applies to runs with any verdict, because no verdict covers it.
    """
    run = drawn.run
    if not len(run.operations) or is_cut(run):
        return ""
    total_outages = drawn.total_outages
    ended = sorted(
        (outage for outage in total_outages if outage.ended and outage.length >= OUTAGE_S),
        key=lambda outage: -outage.length,
    )
    parts = []
    if ended:
        longest, more = ended[0], ended[1:]
        began = when(longest.start, drawn.windows)
        empty = sum(_unapplied(run, outage.start, outage.stop) for outage in ended)
        text = f"although clients sent requests, no operation {_succeeded(empty)} for {longest.length:.1f} s until "
        text += f"{longest.stop:.1f} s: the outage began at {began}"
        if more:
            total = f"{sum(outage.length for outage in more):.1f} s"
            more_text = f"another of {total} began" if len(more) == 1 else f"{len(more)} more, {total} in all, began"
            text += f"; {more_text} at {more[0].start:.1f} s" + ("" if len(more) == 1 else " or later")
        parts.append(text + _acknowledged(empty))
    parts += _unserved(drawn, [outage for outage in total_outages if not outage.ended])
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _unserved(drawn: Drawn, lasting: Sequence[Outage]) -> Iterator[str]:
    """Yield a sentence if nothing succeeded any more; acknowledged but unapplied operations are not successes."""
    operations, served = drawn.run.operations, _served(drawn.run)
    until = float(operations.invoked.max()) / 1e9
    since = float(served[-1]) if len(served) else float(operations.invoked.min()) / 1e9
    if not lasting or until - since < OUTAGE_S:
        return
    after = f" after {since:.1f} s" if len(served) else ""
    empty = _unapplied(drawn.run, since, float("inf"))
    clause = f"although clients sent requests until {until:.1f} s"
    yield f"no operation {_succeeded(empty)}{after}, {clause}{_acknowledged(empty)}"


def _unapplied(run: LoadedRun, start: float, stop: float) -> int:
    """Count the operations acknowledged between two times (s) by nodes that had not applied them."""
    operations = run.operations
    within = (operations.returned > start * 1e9) & (operations.returned <= stop * 1e9)
    return int(np.count_nonzero(operations.which(OK) & ~operations.applied & within))


def _succeeded(unapplied: int) -> str:
    return "succeeded and was applied" if unapplied else "succeeded"


def _acknowledged(unapplied: int) -> str:
    """Say how many answers only looked like successes; empty if none did."""
    if not unapplied:
        return ""
    return f". In that time, {number(unapplied)} {'was' if unapplied == 1 else 'were'} acknowledged but not applied"


def _elected(drawn: Drawn, onset: float, leader: str | None) -> str:
    """Say how often leaders were elected since a given time, whether it was the same one, and who led at the end."""
    changes, before = leaders_since(drawn, onset), leader_at(drawn.timelines, math.nextafter(onset, 0))
    ending = f"{leader or 'no node'} led at the end"
    if not changes and leader and _led_throughout(drawn, leader, onset):
        ending = f"{leader} led throughout"
    if len(changes) == 1 and changes[0] == (before or _last_leader(drawn, onset)):
        return f"{changes[0]} was elected again after {onset:.1f} s; {ending}"
    begun = ", ".join(f"{node} was first seen to lead at {at:.1f} s" for at, node in just_begun(drawn, onset))
    new = f"{len(changes) or 'no'} leader change{'s' if len(changes) > 1 else ''} after {onset:.1f} s"
    return f"{new}{f' ({begun})' if begun else ''}; {ending}"


def _led_throughout(drawn: Drawn, leader: str, onset: float) -> bool:
    """Return whether every probe of a node since a given time found it leading."""
    roles = next(timeline.role[timeline.time >= onset] for timeline in drawn.timelines if timeline.node == leader)
    return len(roles) > 0 and bool((roles == ROLES.index("leader")).all())


def just_begun(drawn: Drawn, onset: float) -> list[tuple[float, str]]:
    """Return (start, node) of leaderships that began within :data:`JUST_S` before a moment.

    Such an election may have caused what broke.  The first leader of a run does not count, because it replaced
    nobody.
    """
    led = [(float(timeline.time[rows[0]]), timeline.node) for timeline, rows in _leaderships(drawn) if len(rows)]
    first = min(led, default=(0.0, ""))
    return sorted(pair for pair in led if onset - JUST_S <= pair[0] < onset and pair != first)


def _leaderships(drawn: Drawn) -> Iterator[tuple[NodeTimeline, np.ndarray]]:
    """Yield, for each node and each term in which it was seen to lead, the places of its probes as leader."""
    for timeline in drawn.timelines:
        led = timeline.role == ROLES.index("leader")
        for term in sorted(set(timeline.term[led].tolist())):
            yield timeline, np.flatnonzero(led & (timeline.term == term))


def _last_leader(drawn: Drawn, onset: float) -> str | None:
    """Return the node that was last seen to lead before a moment; None if none was."""
    led = [
        (float(timeline.time[rows[-1]]), timeline.node)
        for timeline in drawn.timelines
        if len(rows := np.flatnonzero((timeline.role == ROLES.index("leader")) & (timeline.time < onset)))
    ]
    return max(led)[1] if led else None


def leaders_since(drawn: Drawn, onset: float) -> list[str]:
    """Return the nodes of the leaderships (a node in a term) that began after a moment.

    In a system without terms, a leadership ends where another node leads.
    """
    leaders: list[str] = []
    for timeline in drawn.timelines:
        led = timeline.role == ROLES.index("leader")
        since = timeline.time >= onset
        new = set(timeline.term[led & since].tolist()) - set(timeline.term[led & ~since].tolist())
        leaders += [timeline.node] * len(new - {-1})
    before = None
    for leadership in leaderships_of(drawn.timelines):
        if leadership.term < 0 and leadership.node != before and leadership.start >= onset:
            leaders.append(leadership.node)
        before = leadership.node
    return leaders


def _served(run: LoadedRun) -> Floats:
    """Return the times when nodes acknowledged operations that they had applied, in seconds, in order."""
    return run.operations.applied_at() / 1e9
