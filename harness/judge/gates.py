"""The gates: conditions that a run must meet to prove anything. A failed gate makes a run unknown, never invalid.

The required amount is a share of the load: :data:`MIN_SHARE` of the plan's rate, but at least :data:`MIN_OPERATIONS`.
That is far below what any healthy system serves during a fault (an election costs a few seconds out of ten), and far
above a single stray answer.  Only applied operations count: acknowledging an entry that was never applied says nothing
about the cluster's health.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final

import numpy as np
from msgspec import structs

from harness.judge.fault_windows import Third, Window, windows_of
from harness.judge.recorded import Recorded
from harness.judge.went_on import went_on
from history import Check
from history.codes import NEVER, OK
from history.columns.operations import NONE, Flags, Ints, Operations
from history.records.finding import (
    LATE_MS,
    STILL_SHARE,
    EmptyThird,
    ExemptThird,
    FaultStates,
    FinalReads,
    Finding,
    OkCounts,
    Pace,
    ReadBack,
    ReadSpan,
    RunEnd,
    ShortKind,
    Skipped,
    UnderFault,
    WindowCount,
)
from nemesis.schedule.steps import fault_names
from reports.words.of_gates import NO_FAULT, NO_WRITE, NOT_RECORDED, gate_text

#: The least share of operations that must be ok: of each kind in the main phase, and of all under each fault.
MIN_SHARE: Final = 0.01
#: The least number of ok operations; one in five if fewer than five times this number were due.
MIN_OPERATIONS: Final = 5
#: A third of a fault is judged only if at least this many operations were due in it.  With fewer, it may be mere chance
#: that none was ok.
TELLING: Final = 10
#: The share of an open loop's operations that may still wait for a client at the end of the main phase.
QUEUED_SHARE: Final = 0.1


def gates(recorded: Recorded, refused: Collection[str] = ()) -> tuple[Check, ...]:
    """Return all gates in the order of the report.

    ``refused`` are nodes that may stay down because faults damaged their files.
    """
    windows = windows_of(recorded)
    return (
        _operations(recorded),
        _under_fault(recorded, windows),
        _read_back(recorded, windows),
        _faults(recorded),
        _final_reads(recorded, refused),
        _kept_pace(recorded),
        _whole(recorded),
    )


def _gate(finding: Finding, *, met: bool) -> Check:
    of_verdict = structs.replace(finding, verdict="valid" if met else "unknown")
    return Check(finding.check, "gate", of_verdict.verdict, *gate_text(of_verdict), (of_verdict,))


def _nothing_to_judge(name: str, why: str) -> Check:
    """Return a gate that is met because nothing could be required; it is shown as skipped, with the reason."""
    return _gate(Skipped(check=name, why=why), met=True)


def required_count(recorded: Recorded, seconds: float, share: float = 1.0) -> int:
    """Return how many operations must be ok in this time at the plan's rate, given their ``share`` of all."""
    due = min(recorded.plan.rate * seconds * share, sys.float_info.max)  # a foreign plan may have any rate
    return max(1, math.floor(MIN_SHARE * due), min(MIN_OPERATIONS, math.ceil(due / MIN_OPERATIONS)))


def main_phase(recorded: Recorded) -> tuple[int, int] | None:
    """Return the start and end of the main phase (ns since the run's start), or None if it never began."""
    moments = recorded.state.moments
    begin = moments.get("main")
    if begin is None:
        return None
    return begin, moments.get("main-end", begin + round(recorded.plan.time_limit * 1e9))


def _awake_s(recorded: Recorded, begin: int, end: int) -> float:
    return max(0, end - begin - recorded.clock.slept(begin, end)) / 1e9


# -- operations -------------------------------------------------------------------------------------------------------


def _operations(recorded: Recorded) -> Check:
    """Check that enough operations of each kind that the workload names were ok, on at least half of the keys.

    Nothing is required of other kinds.  They follow from the named ones, as closing follows from writing, and are as
    frequent as those permit.
    """
    kinds = recorded.plan.load.kinds
    ops, main = recorded.operations, recorded.operations.phase.equals("main")
    ok = ops.f.count(main & ops.applied & ~ops.refused)
    phase = main_phase(recorded)
    enough = required_count(recorded, _awake_s(recorded, *phase)) if phase else 1
    beside = sorted(ops.f.count(main).keys() - {*kinds})
    silent, lasting = _silent_keys(ops, main, phase)
    unapplied, refused = _without_effect(ops, main & ops.f.among(kinds))
    finding = OkCounts(
        least=enough, ok={kind: ok[kind] for kind in kinds}, beside={kind: ok[kind] for kind in beside},
        unapplied=unapplied, refused=refused, keys=lasting, silent=silent,
    )  # fmt: skip
    return _gate(finding, met=all(ok[kind] >= enough for kind in kinds) and silent <= lasting / 2)


def _silent_keys(ops: Operations, main: Flags, phase: tuple[int, int] | None) -> tuple[int, int]:
    """Count the keys on which nothing was ok, and all keys, among those in use from the first quarter to the last.

    A key that is used only for a while may have lived under a fault that left no quorum, so it does not count.
    """
    begin, end = phase or (0, 0)
    quarter = (end - begin) / 4
    key, count = ops.key.codes, len(ops.keys)

    def used(rows: Flags) -> Flags:
        return np.bincount(key[rows] % count, minlength=count) > 0

    lasting = used(main & (ops.invoked < begin + quarter)) & used(main & (ops.invoked > end - quarter))
    return int((lasting & ~used(main & ops.applied)).sum()), int(lasting.sum())


def _without_effect(ops: Operations, rows: Flags) -> tuple[int, int]:
    """Count the operations that were answered ok but do not count: not applied, and refused."""
    answered = rows & ops.which(OK)
    return int((answered & ~ops.applied).sum()), int((answered & ops.applied & ops.refused).sum())


def _under_fault(recorded: Recorded, windows: Sequence[Window]) -> Check:
    """Check that ok operations began and ended under each fault that left a quorum able to answer.

    If no fault left a quorum, check that writes were acknowledged before such a fault: the final reads show whether it
    lost any of them.
    """
    if not recorded.plan.nemesis:
        return _nothing_to_judge("under-fault", NO_FAULT)
    ops = recorded.operations
    ended = within(windows, ops, ops.phase.equals("main"))
    inside = {number: rows[ops.applied[rows]] for number, rows in ended.items()}
    counts = {window.id: len(inside[window.id]) for window in windows}
    enough = {window.id: required_count(recorded, window.answerable_s) for window in windows}
    alone = [window for window in windows if window.asked and not window.together]
    kinds = _short_kinds(recorded, alone, inside)
    thirds = _empty_thirds(recorded, [window for window in windows if window.asked], inside)
    lacking = bool(kinds or thirds or any(counts[window.id] < enough[window.id] for window in alone))
    met = not lacking and any(window.asked for window in windows)
    before = {} if met or lacking else _acknowledged_before(recorded, windows)
    met = met or any(number >= needed for number, needed in before.values())
    brief = [window for window in windows if window.together]
    number, needed = _together(recorded, brief, inside) if brief else (0, 0)
    unapplied, _ = _without_effect(ops, _any_of(ops, ended.values()) & ~ops.refused)
    finding = UnderFault(
        faults=tuple(
            WindowCount(
                id=w.id, fault=w.fault, ok=counts[w.id], least=0 if w.together else enough[w.id], exempt=w.exempt,
                exempt_s=w.exempt_s, thirds=tuple(_why_exempt(third, recorded.plan.rate) for third in w.thirds),
                begin=w.begin, end=w.end, together=w.together,
            )
            for w in windows
        ),
        total=int(_any_of(ops, inside.values()).sum()), short_kinds=kinds, empty_thirds=thirds,
        together=number, together_least=needed, unapplied=unapplied,
        before={fault: number for fault, (number, _) in before.items()},
        before_least={fault: needed for fault, (_, needed) in before.items()},
    )  # fmt: skip
    return _gate(finding, met=met and number >= needed)


def _shares(recorded: Recorded) -> dict[str, float]:
    """Return the share that each required kind has of the operations of the main phase."""
    main = recorded.operations.f.count(recorded.operations.phase.equals("main"))
    total = main.total()
    return {kind: main[kind] / total for kind in recorded.plan.load.kinds} if total else {}


def _short_kinds(recorded: Recorded, windows: Sequence[Window], inside: dict[int, Ints]) -> tuple[ShortKind, ...]:
    """Find the kinds of which too few were ok under a fault, if enough were due that this cannot be chance."""
    short, shares = [], _shares(recorded)
    for window in windows:
        ok = recorded.operations.f.count(inside[window.id])
        for kind, share in shares.items():
            if recorded.plan.rate * window.answerable_s * share < MIN_OPERATIONS**2:
                continue
            if ok[kind] < (least := required_count(recorded, window.answerable_s, share)):
                short.append(ShortKind(window.id, kind, ok[kind], least))
    return tuple(short)


def _empty_thirds(recorded: Recorded, windows: Sequence[Window], inside: dict[int, Ints]) -> tuple[EmptyThird, ...]:
    """Find the thirds of a fault's time in which clients issued nothing, or some kind was never ok.

    Operations at the beginning of a fault show nothing about the rest of it.  A third counts only if :data:`TELLING`
    operations were due in it.
    """
    ops = recorded.operations
    under_way = under_way_in(ops.where(ops.phase.equals("main")))
    rate, shares, empty = recorded.plan.rate, _shares(recorded), []
    for window in windows:
        for place, third in enumerate(window.thirds):
            if not under_way(third.begin, third.end) and rate * third.seconds >= TELLING:
                empty.append(EmptyThird(window.id, place, idle=True))
                continue
            rows = inside[window.id]
            begun = ops.f.count(rows[(third.begin <= ops.invoked[rows]) & (ops.invoked[rows] < third.end)])
            due = [kind for kind, share in shares.items() if rate * third.ready_s * share >= TELLING]
            if not begun and rate * third.ready_s >= TELLING:
                empty.append(EmptyThird(window.id, place))
            elif missing := tuple(kind for kind in due if kind not in begun):
                empty.append(EmptyThird(window.id, place, missing))
    return tuple(empty)


def _why_exempt(third: Third, rate: float) -> ExemptThird:
    """Return the reason to require no ok operation in a third, or an empty string."""
    if rate * third.ready_s >= TELLING:
        return ""
    if rate * third.seconds < TELLING:
        return "few"
    return "no quorum" if rate * third.quorum_s < TELLING else "election"


def under_way_in(operations: Operations) -> Callable[[int, int], bool]:
    """Return a function that says whether any operation was under way at some time between two times.

    An operation that never returned stays under way.
    """
    order = np.argsort(operations.invoked, kind="stable")
    begins, ends = operations.invoked[order], operations.returned[order]
    #: For each place, the latest end of the operations up to it.
    latest = np.maximum.accumulate(np.where(ends == NONE, NEVER, ends))

    def under_way(begin: int, end: int) -> bool:
        before = int(np.searchsorted(begins, end))
        return before > 0 and bool(latest[before - 1] > begin)

    return under_way


def _acknowledged_before(recorded: Recorded, windows: Sequence[Window]) -> dict[int, tuple[int, int]]:
    """Map each fault that left no quorum to the writes acknowledged before it, and the number required.

    Only the main phase counts.
    """
    ops, main = recorded.operations, recorded.operations.phase.equals("main")
    writes = main & ~ops.called.among(recorded.plan.load.reads)
    first = recorded.state.moments.get("main", 0)
    share = float(writes.sum() / main.sum()) if main.any() else 1.0
    before = {}
    for window in windows:
        if window.asked or window.answerable_s:
            continue
        ended = writes & ops.applied & ~ops.refused & (ops.returned <= window.begin)
        before[window.id] = (int(ended.sum()), required_count(recorded, _awake_s(recorded, first, window.begin), share))
    return before


def _together(recorded: Recorded, windows: Sequence[Window], inside: dict[int, Ints]) -> tuple[int, int]:
    """Return how many operations were ok under these windows, and how many were required."""
    number = int(_any_of(recorded.operations, (inside[window.id] for window in windows)).sum())
    return number, required_count(recorded, sum(window.answerable_s for window in windows))


def within(windows: Sequence[Window], ops: Operations, rows: Flags) -> dict[int, Ints]:
    """Map each fault's id to the rows that were invoked in its window and returned before its healing began."""
    ended = rows & (ops.returned != NONE)
    return {
        window.id: np.flatnonzero(ended & (ops.invoked >= window.begin) & (ops.returned <= window.end))
        for window in windows
    }


def _any_of(ops: Operations, groups: Iterable[Ints]) -> Flags:
    """Return a mask of the rows that are in any of these groups."""
    mask = np.zeros(len(ops), dtype=np.bool_)
    for rows in groups:
        mask[rows] = True
    return mask


def _read_back(recorded: Recorded, windows: Sequence[Window]) -> Check:
    """Check that writes acknowledged under faults were read back, because without a read they prove nothing.

    The number of such writes that the node had applied must reach the writes' share of the operations required under
    faults.
    """
    ops, main = recorded.operations, recorded.operations.phase.equals("main")
    reads = ops.called.among(recorded.plan.load.reads)
    writes = main & ~reads & ~ops.refused
    acknowledged = writes & ops.which(OK)
    if not any(window.asked for window in windows) or not acknowledged.any():
        return _nothing_to_judge("read-back", NO_WRITE)
    enough = required_count(recorded, sum(w.answerable_s for w in windows if w.asked), float(writes.sum() / main.sum()))
    last = np.full(len(ops.keys), NONE)
    number = 0
    for rows in within(windows, ops, acknowledged & ops.applied).values():
        number += rows.size
        np.maximum.at(last, ops.key.codes[rows], ops.returned[rows])
    written = {ops.keys[code] for code in np.flatnonzero(last != NONE)}
    since = last[ops.key.codes]
    read = ops.keys_in(reads & ops.applied & (since != NONE) & (ops.invoked >= since))
    unread = tuple(sorted(str(key) for key in written - read))
    finding = ReadBack(acknowledged=number, least=enough, keys=len(written), unread=unread)
    return _gate(finding, met=bool(written) and number >= enough and not unread)


# -- faults -----------------------------------------------------------------------------------------------------------


def _faults(recorded: Recorded) -> Check:
    # "all" stands for the faults whose turn came; how many those are depends on the time limit.
    named = [name for name in fault_names(recorded.plan.nemesis) if name != "all"]
    states = {name: Counter[str]() for name in named}
    reasons: dict[str, dict[str, None]] = {}
    for receipt in recorded.receipts:
        if receipt.state != "installed" and receipt.reason:
            reasons.setdefault(receipt.fault, {})[receipt.reason] = None
    phase, unfelt = main_phase(recorded), went_on(recorded)
    for receipt in recorded.receipts:
        late = receipt.state == "installed" and phase is not None and (receipt.stood or 0) > phase[1]
        state = "late" if late else "unfelt" if receipt.id in unfelt else receipt.state
        states.setdefault(receipt.fault, Counter())[state] += 1
    if not states and not recorded.plan.nemesis:
        return _nothing_to_judge("faults", NO_FAULT)
    tried = [name for name in states if {*states[name]} != {"late"}] if "all" in recorded.plan.nemesis else named
    finding = FaultStates(
        states={name: dict(number) for name, number in states.items()},
        bare=tuple(name for name in tried if not states[name]["installed"]),
        reasons={name: tuple(why) for name, why in reasons.items()},
        unfelt=tuple(unfelt.values()),
    )
    return _gate(finding, met=not finding.bare and bool(tried or not recorded.plan.nemesis))


# -- the end, the pace ------------------------------------------------------------------------------------------------


def _final_reads(recorded: Recorded, refused: Collection[str]) -> Check:
    keys = recorded.operations.keys_in(slice(None))
    moments = recorded.state.moments
    spans = [(moments.get("final-reads"), moments.get("restarting"))]
    if "restarted" in moments:
        spans.append((moments["restarted"], None))
    read_spans = []
    for place, (begin, end) in enumerate(spans):
        read = _read_between(recorded, begin, end)
        missing = tuple(sorted(str(key) for key in keys - read))
        read_spans.append(ReadSpan(place > 0, len(read), missing, _unserved_nodes(recorded, begin, end, refused)))
    by_each = recorded.plan.under_test.every_node_serves is not False
    met = bool(keys) and not any(span.missing or span.unserved for span in read_spans)
    return _gate(FinalReads(keys=len(keys), by_each=by_each, spans=tuple(read_spans)), met=met)


def _unserved_nodes(
    recorded: Recorded, begin: int | None, end: int | None, refused: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Map each node to the keys that its own clients failed to read in this time, unless its system allows that."""
    if begin is None or recorded.plan.under_test.every_node_serves is False:
        return {}
    ops, reads = recorded.operations, _reads_between(recorded, begin, end)
    # A home that is no node may be on one that did not start on a file that we damaged.
    homes = [*(node for node in recorded.serving if node not in refused), *(() if refused else recorded.homes)]
    unserved = {}
    for home in homes:
        mine = reads & ops.node.equals(home)
        if left := ops.keys_in(mine) - ops.keys_in(mine & ops.applied):
            unserved[home] = tuple(sorted(map(str, left)))
    return unserved


def _read_between(recorded: Recorded, begin: int | None, end: int | None) -> set[Any]:
    """Return the keys with a read that was invoked in this time and answered by a node that had applied it."""
    if begin is None:
        return set()
    return recorded.operations.keys_in(_reads_between(recorded, begin, end) & recorded.operations.applied)


def _reads_between(recorded: Recorded, begin: int, end: int | None) -> Flags:
    """Return a mask of the reads that were invoked in this time."""
    ops, until = recorded.operations, NEVER if end is None else end
    return ops.called.among(recorded.plan.load.reads) & (ops.invoked >= begin) & (ops.invoked < until)


def _kept_pace(recorded: Recorded) -> Check:
    """Check that the harness kept the rate.  A slow system may lower it; a slow harness makes the run unknown.

    ``late_p99_ms`` is how late operations were issued although a client was free, and ``lag_p99_ms`` is how late the
    event loop woke up.  Both are the harness's own.  If all clients were busy, the system set the pace.  In an open
    loop, however, operations are due whatever the system does, so a queue left at the end counts against the run.
    """
    pace, phase = recorded.state.pace, main_phase(recorded)
    still = 0.0
    if phase is not None and phase[1] > phase[0]:
        still = recorded.clock.slept(*phase) / (phase[1] - phase[0])
    if not pace and not recorded.state.standstills:
        return _nothing_to_judge("kept-pace", NOT_RECORDED)
    finding = Pace(
        figures={**pace, "still_share": round(still, 4)},
        late_ms=max(float(pace.get(name) or 0.0) for name in ("late_p99_ms", "lag_p99_ms")),
        still=still,
        queued=_never_issued(recorded, still),
        open_loop=recorded.plan.loop == "open",
    )
    return _gate(finding, met=finding.late_ms <= LATE_MS and still <= STILL_SHARE and not finding.queued)


def _never_issued(recorded: Recorded, still: float) -> int:
    """Count the operations of an open loop that were due in the main phase but not issued in it; 0 if there are few."""
    pace, phase = recorded.state.pace, main_phase(recorded)
    if recorded.plan.loop != "open" or phase is None or "invoked_per_s" not in pace:
        return 0
    seconds = (phase[1] - phase[0]) / 1e9 * (1 - still)
    due = pace["asked_per_s"] * seconds
    missing = due - pace["invoked_per_s"] * seconds
    return round(missing) if missing > QUEUED_SHARE * due + 4 * math.sqrt(due) else 0  # arrivals are a Poisson process


def _whole(recorded: Recorded) -> Check:
    state = recorded.state
    if state.interrupted:
        finding = RunEnd(how="interrupted")
    elif state.failures:
        finding = RunEnd(how="failed")
    elif state.stopped:
        finding = RunEnd(how="stopped")
    else:
        finding = RunEnd(how="reached" if state.ended else "killed")
    return _gate(finding, met=finding.how == "reached")
