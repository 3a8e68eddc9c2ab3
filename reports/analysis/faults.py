"""Fault windows: what each fault did to the cluster's links and to its clients.

The figures (``history.metrics.recovery``) are computed here from the operations that a node had applied, all by one
rule, so that none contradicts another.  Figures from the pipeline's table ``faults`` are used only if there are no
operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from history import SECOND, Receipt
from history.columns.operations import Operations
from history.metrics.awake_clock import AwakeClock
from history.metrics.recovery import LoadSpan, figures, load_in, moment_or, surroundings
from reports.analysis.node_timeline import SILENT, NodeTimeline, leader_at
from reports.load.cut_record import is_cut
from reports.load.run import LoadedRun
from reports.style.format import one_line
from reports.style.palette import family_of

#: A rate that was measured during less than this share of a fault is marked.
SMALL: Final = 0.5
#: If a fault struck a node within this many seconds (two rounds of probes) after its last answer, it ended the answers.
HIT_S: Final = 0.5
FIGURES: Final = ("rate_before", "rate_during", "rate_after", "longest_gap_ms", "first_ok_ms", "recovered_ms")


@dataclass(frozen=True, slots=True)
class FaultWindow:
    """One fault.  Times in seconds since the run's start, rates in ok operations per second, the rest in ms.

    None means unknown or *never*; ``reports.text.recovery.way_back`` says which.  ``leader_cut``: whether the
    leader could not reach a majority (None: unknown).
    """

    id: int
    fault: str
    family: str
    summary: str
    state: str
    nodes: tuple[str, ...]
    grudge: dict[str, tuple[str, ...]]
    leader: str | None
    leader_cut: bool | None
    started: float
    stood: float | None
    heal_started: float | None
    healed: float | None
    rate_before: float | None
    rate_during: float | None
    rate_after: float | None
    longest_gap_ms: float | None
    first_ok_ms: float | None
    recovered_ms: float | None
    reason: str | None
    witness: dict[str, Any]

    #: Sides of a cut, the leader's first, and nodes that reach all sides: ``n2 n4 | n1 n5, n3 meets all``.
    sides: str = ""

    #: Seconds for which ``rate_during`` was measured, if that is a small part of the fault.
    measured_s: float | None = None

    #: The same figures for each kind of operation in the load alone.
    kinds: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)

    #: Kinds of operation that clients began after the heal.
    asked: frozenset[str] = frozenset()

    #: The history was cut after the run, so there are no figures about clients.
    cut: bool = False

    @property
    def name(self) -> str:
        """Number and name of the fault, such as ``#0 bridge``."""
        return f"#{self.id} {one_line(self.fault, 60)}"

    @property
    def installed(self) -> bool:
        return self.state == "installed"

    def stands(self, start: float, end: float) -> bool:
        """Return whether the fault was active at any moment from ``start`` to ``end``."""
        over = self.healed if self.healed is not None else float("inf")
        return self.state != "skipped" and self.started <= end and over >= start


def shares_of(windows: Sequence[FaultWindow], end: float) -> list[tuple[float, float]]:
    """Return each fault's share of the height of a band, from 0 to 1; simultaneous faults lie side by side.

    If they overlapped, their colours would mix to one that is in no legend.  A fault that never overlaps another
    gets the whole height.
    """
    shares = [(0.0, 1.0)] * len(windows)
    group: list[tuple[int, int]] = []
    rows: list[float] = []

    def close() -> None:
        for place, row in group:
            shares[place] = row / len(rows), (row + 1) / len(rows)

    shown = [place for place, window in enumerate(windows) if window.state != "skipped"]
    for place in sorted(shown, key=lambda place: windows[place].started):
        window = windows[place]
        if all(until <= window.started for until in rows):
            close()
            group, rows = [], []
        row = next((row for row, until in enumerate(rows) if until <= window.started), len(rows))
        rows[row:] = [end if window.healed is None else window.healed, *rows[row + 1 :]]
        group.append((place, row))
    close()
    return shares


def when(seconds: float, windows: Sequence[FaultWindow], node: str | None = None) -> str:
    """Format a moment relative to a fault: ``24.5 s, 3.0 s after #0 partition-majorities-ring was healed``.

    If a fault struck the ``node`` right after its last sign of life: ``8.5 s, 0.1 s before #0 kill-leader struck
    it``. The records do not say when a killed successor was struck, so its moments never get that form.
    """
    if node is not None and (first := about_to_strike(node, seconds, windows)) is not None:
        return f"{seconds:.1f} s, {first.started - seconds:.1f} s before {first.name} struck it"
    return f"{seconds:.1f} s{since_fault(seconds, windows)[-1]}"


def since_fault(seconds: float, windows: Sequence[FaultWindow]) -> tuple[str, ...]:
    """Say how long before a moment the last fault began or was healed: ``, 3.0 s after #0 kill-leader was healed``.

    The last text is the shortest; the one before it, if any, names the only node that the fault struck.  Returns an
    empty text if there were no faults at all.
    """
    last = fault_of(seconds, windows)
    if last is None:
        return (", before any fault" if windows else "",)
    of = [f" of {last.nodes[0]}"] if len(last.nodes) == 1 else []
    if last.healed is not None and last.healed < seconds:
        ago = f", {seconds - last.healed:.1f} s after {last.name}"
        return tuple(f"{ago}{node} was healed" for node in (*of, ""))
    if last.heal_started is not None and last.heal_started <= seconds:
        # During healing, restarts and recoveries happen because of the heal, not because of the fault.
        return (f", {seconds - last.heal_started:.1f} s after {last.name}'s healing began",)
    return tuple(f", {seconds - last.started:.1f} s into {last.name}{node}" for node in (*of, ""))


def brief_fault(seconds: float, windows: Sequence[FaultWindow]) -> str:
    """Name the last fault before a moment in as few words as :func:`since_fault` can be said: ``, after #0 bridge``."""
    last = fault_of(seconds, windows)
    if last is None:
        return ", before any fault" if windows else ""
    of = f"{last.name} of {last.nodes[0]}" if len(last.nodes) == 1 else last.name
    if last.healed is not None and last.healed < seconds:
        return f", after {of}"
    healing = last.heal_started is not None and last.heal_started <= seconds
    return f", during {last.name}'s heal" if healing else f", during {of}"


def fault_of(seconds: float, windows: Sequence[FaultWindow]) -> FaultWindow | None:
    """Return the fault that is active at a moment and began last, else the one healed last; None before any fault."""
    begun = [window for window in windows if window.state != "skipped" and window.started <= seconds]
    if standing := [window for window in begun if window.stands(seconds, seconds)]:
        return max(standing, key=lambda window: window.started)
    return max(begun, key=lambda window: window.healed or 0.0, default=None)


def healed_before(seconds: float, windows: Sequence[FaultWindow]) -> str:
    """Name the last fault healed before a moment at which none was active; empty if there was none.

    The text is like ``#1 kill-leader was healed 0.1 s before``; what happens right after a heal belongs to that fault.
    """
    last = fault_of(seconds, windows)
    if last is None or last.stands(seconds, seconds):
        return ""
    return f"{last.name} was healed {seconds - (last.healed or 0.0):.1f} s before"


def about_to_strike(node: str, seconds: float, windows: Sequence[FaultWindow]) -> FaultWindow | None:
    """Return the first fault that struck a node within :data:`HIT_S` after a moment; None if none did."""
    near = [window for window in windows if window.state != "skipped" and 0 < window.started - seconds <= HIT_S]
    struck = [fault for fault in near if node in fault.nodes and fault.witness.get("successor") != node]
    return min(struck, key=lambda window: window.started, default=None)


def restarts_of(timeline: NodeTimeline, windows: Sequence[FaultWindow]) -> tuple[list[float], list[float]]:
    """Return when the healing of each fault that had killed a node began, and how long the node was still silent (s).

    Left out are healings at which the node answered, and those after which it did not answer before the next fault
    struck it.
    """
    struck = [fault for fault in windows if fault.installed and timeline.node in fault.nodes]
    moments, took = [], []
    for place, window in enumerate(struck):
        if window.family != "kill" or window.heal_started is None:
            continue
        until = struck[place + 1].started if place + 1 < len(struck) else float("inf")
        before = int(np.searchsorted(timeline.time, window.heal_started, side="right")) - 1
        answers = timeline.time[(timeline.time > window.heal_started) & (timeline.role != SILENT)]
        if before >= 0 and timeline.role[before] == SILENT and len(answers) and answers[0] < until:
            moments.append(window.heal_started)
            took.append(float(answers[0]) - window.heal_started)
    return moments, took


def fault_windows(run: LoadedRun, timelines: Sequence[NodeTimeline]) -> list[FaultWindow]:
    """Return the faults in the order in which they were started."""
    clock = AwakeClock.recorded(run.state)
    oks = clock.times(run.operations.applied_at())
    # A kind that is only requested at the end would seem to have been away until then.
    in_load = run.operations.f.count(run.operations.in_main)
    kinds = {
        kind: clock.times(run.operations.applied_at(code))
        for code, kind in enumerate(run.operations.f.names)
        if kind in in_load
    }
    load = load_in(run.operations, run.receipts).awake(clock)
    awake = clock.receipts(run.receipts)
    around = surroundings(awake, load)
    cut = is_cut(run)
    windows = []
    for recorded, receipt in sorted(zip(run.receipts, awake, strict=True), key=lambda pair: pair[0].started):
        if cut:
            windows.append(_window(recorded, dict.fromkeys(FIGURES), {}, timelines, run, None))
            continue
        here = around.get(receipt.id)
        own = figures(receipt, here, oks, load) if len(run.operations) else _recorded(run.fault_rows.get(receipt.id))
        by_kind = {kind: figures(receipt, here, mine, load) for kind, mine in kinds.items()} if here else {}
        costs = {**dict.fromkeys(FIGURES), **own}
        windows.append(_window(recorded, costs, by_kind, timelines, run, measured_for(receipt, load)))
    return windows


def measured_for(receipt: Receipt, load: LoadSpan) -> float | None:
    """Return for how many seconds ``rate_during`` was measured if that is a small part of the fault, else None.

    It is measured only while the fault was certainly active and clients were sending requests.  Installing and healing
    may take longer than that, and a fault may begin before the load or end after it.
    """
    if receipt.state == "skipped":
        return None
    begin = max(moment_or(receipt.stood, receipt.started), load.begin)
    measured = min(moment_or(receipt.heal_started, load.last), load.end) - begin
    whole = moment_or(receipt.healed, load.last) - receipt.started
    return measured / SECOND if 0 < measured < SMALL * whole else None


def _window(
    receipt: Receipt,
    costs: Mapping[str, float | None],
    by_kind: Mapping[str, Mapping[str, float | None]],
    timelines: Sequence[NodeTimeline],
    run: LoadedRun,
    measured_s: float | None,
) -> FaultWindow:
    """Collect what is known about a fault."""
    grudge = grudge_of(receipt)
    leader = receipt.leader or leader_at(timelines, receipt.started / SECOND)
    return FaultWindow(
        id=receipt.id,
        fault=receipt.fault,
        family=family_of(receipt.family),
        summary=receipt.summary,
        state=receipt.state,
        nodes=nodes_of(receipt),
        grudge=grudge,
        leader=leader,
        leader_cut=leader_cut(leader, grudge, run.members) if grudge else None,
        measured_s=measured_s,
        cut=is_cut(run),
        sides=sides_text(grudge, run.nodes, leader),
        started=receipt.started / SECOND,
        stood=_seconds(receipt.stood),
        heal_started=_seconds(receipt.heal_started),
        healed=_seconds(receipt.healed),
        reason=receipt.reason if receipt.state != "installed" else None,
        witness=receipt.witness if isinstance(receipt.witness, dict) else {"seen": receipt.witness},
        kinds=by_kind,
        asked=_asked_after(run.operations, receipt.healed),
        **costs,
    )


def _asked_after(operations: Operations, healed: int | None) -> frozenset[str]:
    """Return the kinds of operation that were invoked after a heal."""
    if healed is None:
        return frozenset()
    return frozenset(operations.f.names[code] for code in np.unique(operations.f.codes[operations.invoked >= healed]))


def summaries_of(windows: Sequence[FaultWindow]) -> list[tuple[str, str]]:
    """Return (fault, what it does), once for each distinct target."""
    return list(dict.fromkeys((window.fault, one_line(window.summary, 200)) for window in windows if window.summary))


def late_of(run: LoadedRun) -> dict[int, str]:
    """Map a fault's id to the nodes that were not back by the next fault or the end of the run, in words."""
    windows = [record for record in run.results.get("windows", ()) if isinstance(record.get("id"), int)]
    late = {}
    for window in windows:
        silent = [str(node) for node in window.get("silent") or ()]
        behind = [str(node) for node in window.get("behind") or () if node not in silent]
        struck = {node: others for node in behind if (others := _still_struck(run, node, window))}
        behind = [node for node in behind if node not in struck]
        until = "before the next" if _followed(window, windows) else "by the end"
        parts = [f"not caught up {until}: {' '.join(behind)}"] if behind else []
        parts += [f"{node} still under {others}" for node, others in struck.items()]
        if isinstance(gone := window.get("gone"), int):
            parts.append(f"no log reaches {run.index(gone)} any more")
        parts += [f"never answered again: {' '.join(silent)}"] if silent else []
        if parts:
            late[window["id"]] = "; ".join(parts)
    return late


def _still_struck(run: LoadedRun, node: str, window: Mapping[str, Any]) -> str:
    """Name the earlier faults on a node that outlasted this one and so explain why it did not catch up."""
    healed, number = window.get("healed"), window.get("id")
    earlier = [
        fault for fault in run.receipts if fault.id != number and fault.state != "skipped" and node in nodes_of(fault)
    ]
    lasting = (fault for fault in earlier if fault.healed is None or (healed is not None and fault.healed > healed))
    return ", ".join(f"#{fault.id}" for fault in lasting if healed is not None and fault.started < healed)


def _followed(window: Mapping[str, Any], windows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether another fault began after a window's fault was healed."""
    healed, others = window.get("healed"), [other for other in windows if other.get("state") != "skipped"]
    return healed is not None and any((other.get("started") or 0) >= healed for other in others if other is not window)


def nodes_of(receipt: Receipt) -> tuple[str, ...]:
    """Return the nodes that a fault struck.

    These are its targets and, if it killed a successor, that node, which is known only after the fault.
    """
    successor = receipt.witness.get("successor") if isinstance(receipt.witness, dict) else None
    if isinstance(successor, str) and successor not in receipt.nodes:
        return (*receipt.nodes, successor)
    return receipt.nodes


def grudge_of(receipt: Receipt) -> dict[str, tuple[str, ...]]:
    """Return the grudge in a receipt's targets (node -> the nodes whose packets it drops); empty without one."""
    grudge = receipt.targets.get("grudge") if isinstance(receipt.targets, dict) else None
    if not isinstance(grudge, dict):
        return {}
    return {str(node): tuple(map(str, peers)) for node, peers in grudge.items() if isinstance(peers, list | tuple)}


def sides_of(
    grudge: Mapping[str, Sequence[str]], nodes: Sequence[str], first: str | None = None
) -> tuple[tuple[str, ...], ...]:
    """Return the sides of a clean cut, the side of ``first`` coming first; empty for any other pattern of cut links.

    A cut is clean if nodes that exchange packets both ways form groups, and no two groups exchange any.
    """
    cut = {frozenset((node, peer)) for node, peers in grudge.items() for peer in peers if peer != node}
    sides: list[list[str]] = []
    for node in nodes:
        mine = [side for side in sides if any(frozenset((node, other)) not in cut for other in side)]
        if not mine:
            sides.append([node])
        elif len(mine) > 1 or any(frozenset((node, other)) in cut for other in mine[0]):
            return ()
        else:
            mine[0].append(node)
    ordered = sorted(sides, key=lambda side: (first not in side, len(side)))
    return tuple(map(tuple, ordered)) if len(ordered) > 1 else ()


def sides_text(grudge: Mapping[str, Sequence[str]], nodes: Sequence[str], first: str | None) -> str:
    """Format the sides of a cut that is clean except for nodes that reach all sides; empty for any other cut."""
    touched = {node for node, peers in grudge.items() if peers} | {peer for peers in grudge.values() for peer in peers}
    middle = [node for node in nodes if node not in touched]
    sides = sides_of(grudge, [node for node in nodes if node in touched], first)
    text = " | ".join(" ".join(side) for side in sides)
    return f"{text}, {' '.join(middle)} meet{'' if len(middle) > 1 else 's'} all" if text and middle else text


def leader_cut(leader: str | None, grudge: Mapping[str, Sequence[str]], members: Sequence[str]) -> bool | None:
    """Return whether the leader cannot exchange packets both ways with a majority of members, itself included.

    Returns None if there is no leader or there are no members.
    """
    if leader is None or not members:
        return None
    return len(set(members) - unreached(leader, grudge)) < len(members) // 2 + 1


def unreached(node: str, grudge: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the nodes with which a node does not exchange packets both ways."""
    return set(grudge.get(node, ())) | {other for other, peers in grudge.items() if node in peers}


def _recorded(row: Mapping[str, Any] | None) -> dict[str, float | None]:
    """Return a fault's figures from its row in the pipeline's table; empty without a row."""
    return {} if row is None else {name: row.get(name) for name in FIGURES}


def _seconds(time: int | None) -> float | None:
    return None if time is None else time / SECOND
