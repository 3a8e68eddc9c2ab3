"""The gates: conditions without which a run proves nothing.  A failed gate makes a run unknown, never invalid.

The head of a page shows only the text of what was seen, so if that is too little, the text also says what was required.

The required amount is a share of the load: :data:`MIN_SHARE` of the plan's rate, but at least :data:`MIN_OPERATIONS`.
That is far below what any healthy system serves beside a fault (an election costs a few seconds out of ten), and far
above a single stray answer.  Only operations that were applied count: acknowledging an entry that was never applied
says nothing about the cluster's health.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate
from typing import Any, Final

from msgspec import structs

from checker.per_key import by_key
from harness.judge.fault_windows import Third, Window, windows_of
from harness.judge.recorded import Recorded
from harness.judge.went_on import went_on
from harness.workloads.transactions import called
from history import Check, Operation, Verdict
from history.records.finding import Finding, OkCounts, Pace, Skipped, UnderFault, WindowCount
from history.records.text import counted
from nemesis.schedule.steps import fault_names

#: The least share of operations that must be ok: of each kind in the main phase, and of all under each fault.
MIN_SHARE: Final = 0.01
#: The least number of ok operations; one in five if fewer than five times this number were due.
MIN_OPERATIONS: Final = 5
#: A third of a fault is judged only if at least this many operations were due in it.  With fewer, it may be mere chance
#: that none was ok.
TELLING: Final = 10
_THIRDS: Final = ("first", "second", "last")
#: The highest 99th percentile (ms) of how late operations may be issued by the harness.
LATE_MS: Final = 1000.0
#: The share of the main phase in which the harness may have stood still.
STILL_SHARE: Final = 0.1
#: The share of an open loop's operations that may still wait for a client at the end of the main phase.
QUEUED_SHARE: Final = 0.1
_LISTED: Final = 4
#: The state of a fault that took effect after the last operation, since a schedule may lag behind the main phase.
_LATE: Final = "installed after the load"
#: The state of a fault whose victims kept answering although it should have stopped them.
_UNFELT: Final = "not felt"


def gates(recorded: Recorded, refused: Collection[str] = ()) -> tuple[Check, ...]:
    """Return all gates in the order of the report.

    ``refused`` are nodes that may stay away because faults damaged their files.
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


def _gate(name: str, met: bool, asked: str, seen: str, *findings: Finding) -> Check:
    verdict: Verdict = "valid" if met else "unknown"
    return Check(name, "gate", verdict, asked, seen, tuple(structs.replace(one, verdict=verdict) for one in findings))


def _nothing_to_judge(name: str, asked: str, why: str) -> Check:
    """Return a gate that is met because nothing could be required; it is shown as skipped, with the reason."""
    return _gate(name, True, asked, why, Skipped(check=name, why=why))  # noqa: FBT003


def required_count(recorded: Recorded, seconds: float, share: float = 1.0) -> int:
    """Return how many ok operations are required in this time at the plan's rate, given their ``share`` of all."""
    asked = min(recorded.plan.rate * seconds * share, sys.float_info.max)  # a foreign plan may have any rate
    return max(1, math.floor(MIN_SHARE * asked), min(MIN_OPERATIONS, math.ceil(asked / MIN_OPERATIONS)))


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
    main = [op for op in recorded.operations if op.phase == "main"]
    ok = Counter(op.f for op in main if op.applied and not op.refused)
    phase = main_phase(recorded)
    enough = required_count(recorded, _awake_s(recorded, *phase)) if phase else 1
    beside = {kind: number for kind, number in sorted(Counter(op.f for op in main).items()) if kind not in kinds}
    of = f"of each kind that counts ({', '.join(kinds)})" if beside else "of every kind"
    asked = f"at least {counted(enough, 'ok operation')} {of} in the main phase"
    short = f" of at least {enough} required"
    parts = [", ".join(f"{_of_kind(ok[kind], kind)}{short if ok[kind] < enough else ''}" for kind in kinds)]
    if beside:
        parts.append("not required: " + ", ".join(_of_kind(ok[kind], kind) for kind in beside))
    parts += _without_effect([op for op in main if op.f in kinds])
    silent, lasting = _silent_keys(main, phase)
    if silent:
        parts.append(f"no operation was ok on {silent} of {counted(lasting, 'key')} that were used throughout")
    met = all(ok[kind] >= enough for kind in kinds) and silent <= lasting / 2
    return _gate(
        "operations", met, asked, "; ".join(parts), OkCounts(least=enough, ok={kind: ok[kind] for kind in kinds})
    )


def _silent_keys(main: Iterable[Operation], phase: tuple[int, int] | None) -> tuple[int, int]:
    """Count the keys on which nothing was ok, and all keys, among those in use from the first quarter to the last.

    A key that is used only for a while may have lived under a fault that left no quorum, so it does not count.
    """
    begin, end = phase or (0, 0)
    quarter = (end - begin) / 4
    lasting = [
        ops
        for ops in by_key(main).values()
        if min(op.invoked for op in ops) < begin + quarter and max(op.invoked for op in ops) > end - quarter
    ]
    return sum(not any(op.applied for op in ops) for ops in lasting), len(lasting)


def _of_kind(number: int, kind: str) -> str:
    return counted(number, kind, kind if kind.endswith("s") else "")


def _without_effect(operations: Iterable[Operation], when: str = "") -> list[str]:
    """Say how many operations were answered ok ``when`` but do not count.

    Tables of what clients were answered include them.
    """
    answered = [op for op in operations if op.outcome == "ok"]
    unapplied = sum(not op.applied for op in answered)
    refused = sum(op.applied and op.refused for op in answered)
    parts = [f"{unapplied} more acknowledged{when} without having been applied"] if unapplied else []
    return parts + ([f"{refused} more refused{when} by the register"] if refused else [])


def _under_fault(recorded: Recorded, windows: Sequence[Window]) -> Check:
    """Check that ok operations began and ended under each fault that left a quorum able to answer.

    If no fault left a quorum, check that writes were acknowledged before such a fault: the final reads show whether it
    lost any of them.
    """
    asked = (
        "under every fault that left a quorum, between its last command and its healing, operations of every kind "
        "begin and succeed, also in each third of that time"
    )
    if not recorded.plan.nemesis:
        return _nothing_to_judge("under-fault", asked, "no fault was requested")
    ended = within(windows, (op for op in recorded.operations if op.phase == "main"))
    inside = {number: [op for op in ops if op.applied] for number, ops in ended.items()}
    counts = {window.id: len(inside[window.id]) for window in windows}
    enough = {window.id: required_count(recorded, window.answerable_s) for window in windows}
    alone = [window for window in windows if window.asked and not window.together]
    bare = [window for window in alone if counts[window.id] < enough[window.id]]
    total = len({id(op) for ops in inside.values() for op in ops})
    parts = [counted(total, "ok operation") if total else "no operation was ok"]
    if not windows:
        parts[0] += ": no fault was active"
    if bare:
        parts.append(
            "too few ok operations under "
            + _listed(bare, lambda w: f"{w.describe()}: {counts[w.id]} of at least {enough[w.id]} required")
        )
    kinds = _kinds_short(recorded, alone, inside)
    thirds = _empty_thirds(recorded, alone, inside)
    parts += [*kinds, *thirds, *_exempt_thirds(recorded, alone)]
    lacking = bool(bare or kinds or thirds)
    met = not lacking and any(window.asked for window in windows)
    before = {} if met or lacking else _acknowledged_before(recorded, windows)
    met = met or any(number >= needed for number, needed in before.values())
    if short := [window for window in windows if window.together]:
        number, needed = _together(recorded, short, inside)
        met = met and number >= needed
        less = f" of at least {needed} required" if number < needed else ""
        names = _listed(short, Window.describe)
        parts.append(f"{number}{less} under those that were too short to be judged one by one: {names}")
    empty = {id(op): op for ops in ended.values() for op in ops if not op.refused}
    active = " while these faults were active" if len(windows) > 1 else " while it was active"
    parts += _without_effect(empty.values(), active)
    if exempt := [window for window in windows if not window.asked]:
        parts.append("exempt: " + _listed(exempt, lambda w: f"{w.describe()}: {w.exempt}"))
    if before:
        best = max(before, key=lambda number: before[number][0] - before[number][1])
        number, needed = before[best]
        less = f" (at least {needed} required), so this proves nothing" if number < needed else ""
        parts.append(f"{counted(number, 'write')} acknowledged before #{best}{less}")
    under = tuple(
        WindowCount(
            id=w.id, fault=w.fault, ok=counts[w.id], least=0 if w.together else enough[w.id], exempt=w.exempt,
            thirds=tuple(_why_exempt(third, recorded.plan.rate) for third in w.thirds),
        )
        for w in windows
    )  # fmt: skip
    finding = UnderFault(faults=under, before={fault: number for fault, (number, _) in before.items()})
    return _gate("under-fault", met, asked, "; ".join(parts), finding)


def _shares(recorded: Recorded) -> dict[str, float]:
    """Return the share that each required kind has of the operations of the main phase."""
    main = Counter(op.f for op in recorded.operations if op.phase == "main")
    total = main.total()
    return {kind: main[kind] / total for kind in recorded.plan.load.kinds} if total else {}


def _kinds_short(recorded: Recorded, windows: Sequence[Window], inside: dict[int, list[Operation]]) -> list[str]:
    """Name the kinds of which too few were ok under a fault, if enough were due that this cannot be chance."""
    parts, shares = [], _shares(recorded)
    for window in windows:
        ok = Counter(op.f for op in inside[window.id])
        for kind, share in shares.items():
            if recorded.plan.rate * window.answerable_s * share < MIN_OPERATIONS**2:
                continue
            if ok[kind] < (least := required_count(recorded, window.answerable_s, share)):
                parts.append(f"{_of_kind(ok[kind], kind)} of at least {least} required under {window.describe()}")
    return _few(parts)


def _empty_thirds(recorded: Recorded, windows: Sequence[Window], inside: dict[int, list[Operation]]) -> list[str]:
    """Name the thirds of a fault's time in which clients issued nothing, or some kind was never ok.

    Operations at the beginning of a fault show nothing about the rest of it.  A third counts only if :data:`TELLING`
    operations were due in it.
    """
    under_way = under_way_in(op for op in recorded.operations if op.phase == "main")
    rate, shares, parts = recorded.plan.rate, _shares(recorded), []
    for window in windows:
        for name, third in zip(_THIRDS, window.thirds, strict=False):
            if not under_way(third.begin, third.end) and rate * third.seconds >= TELLING:
                parts.append(f"no operation was under way in the {name} third of {window.describe()}")
                continue
            begun = {op.f for op in inside[window.id] if third.begin <= op.invoked < third.end}
            due = [kind for kind, share in shares.items() if rate * third.ready_s * share >= TELLING]
            if not begun and rate * third.ready_s >= TELLING:
                parts.append(f"no operation was ok in the {name} third of {window.describe()}")
            elif missing := [kind for kind in due if kind not in begun]:
                parts.append(f"no {' and no '.join(missing)} was ok in the {name} third of {window.describe()}")
    return _few(parts)


def _why_exempt(third: Third, rate: float) -> str:
    """Return the reason to require no ok operation in a third, or an empty string."""
    if rate * third.ready_s >= TELLING:
        return ""
    if rate * third.seconds < TELLING:
        return "too few operations were due"
    return "no quorum was left" if rate * third.quorum_s < TELLING else "an election may have lasted as long"


def _exempt_thirds(recorded: Recorded, windows: Sequence[Window]) -> list[str]:
    """Name the thirds in which no operation had to be ok, and why, except where too few operations were due anyway."""
    found = defaultdict[tuple[str, tuple[str, ...]], list[str]](list)
    for window in windows:
        why = defaultdict[str, list[str]](list)
        for name, third in zip(_THIRDS, window.thirds, strict=False):
            if recorded.plan.rate * third.seconds >= TELLING and (reason := _why_exempt(third, recorded.plan.rate)):
                why[reason].append(name)
        for reason, names in why.items():
            found[reason, tuple(names)].append(f"#{window.id}")
    return [
        f"exempt: the {' and '.join(names)} third of {', '.join(ids[:_LISTED])}"
        + (f" and {len(ids) - _LISTED} more" if len(ids) > _LISTED else "")
        + f": {why}"
        for (why, names), ids in found.items()
    ]


def under_way_in(operations: Iterable[Operation]) -> Callable[[int, int], bool]:
    """Return a function that says whether any operation was under way at some time between two moments.

    An operation that never returned stays under way.
    """
    ops = sorted(operations, key=_invoked)
    begins = [op.invoked for op in ops]
    #: For each place, the latest end of the operations up to it.
    ends = list(accumulate((math.inf if op.returned is None else op.returned for op in ops), max))

    def under_way(begin: int, end: int) -> bool:
        before = bisect_left(begins, end)
        return before > 0 and ends[before - 1] > begin

    return under_way


def _invoked(op: Operation) -> int:
    return op.invoked


def _few(parts: list[str]) -> list[str]:
    return parts if len(parts) <= _LISTED else [*parts[:_LISTED], f"and {len(parts) - _LISTED} more such"]


def _acknowledged_before(recorded: Recorded, windows: Sequence[Window]) -> dict[int, tuple[int, int]]:
    """Map each fault that left no quorum to the writes acknowledged before it, and the number required.

    Only the main phase counts.
    """
    main = [op for op in recorded.operations if op.phase == "main"]
    writes = [op for op in main if called(op.f, op.value) not in recorded.plan.load.reads]
    first = recorded.state.moments.get("main", 0)
    share = len(writes) / len(main) if main else 1.0
    found = {}
    for window in windows:
        if window.asked or window.answerable_s:
            continue
        ended = [op for op in writes if op.applied and not op.refused and (op.returned or 0) <= window.begin]
        found[window.id] = (len(ended), required_count(recorded, _awake_s(recorded, first, window.begin), share))
    return found


def _together(recorded: Recorded, windows: Sequence[Window], inside: dict[int, list[Operation]]) -> tuple[int, int]:
    """Return how many operations were ok under these windows, and how many were required."""
    number = len({id(op) for window in windows for op in inside[window.id]})
    return number, required_count(recorded, sum(window.answerable_s for window in windows))


def within(windows: Sequence[Window], operations: Iterable[Operation]) -> dict[int, list[Operation]]:
    """Map a fault's id to the operations that were invoked in its window and returned before its healing began."""
    ops = sorted(operations, key=_invoked)
    found: dict[int, list[Operation]] = {}
    for window in windows:
        first = bisect_left(ops, window.begin, key=_invoked)
        last = bisect_right(ops, window.end, key=_invoked)
        found[window.id] = [op for op in ops[first:last] if op.returned is not None and op.returned <= window.end]
    return found


def _listed(windows: Sequence[Window], word: Callable[[Window], str]) -> str:
    more = f" and {len(windows) - _LISTED} more" if len(windows) > _LISTED else ""
    return ", ".join(word(window) for window in windows[:_LISTED]) + more


def _read_back(recorded: Recorded, windows: Sequence[Window]) -> Check:
    """Check that writes acknowledged under faults were read back, because without a read they prove nothing.

    The number of such writes that the node had applied must reach the writes' share of the operations required under
    faults.
    """
    asked = "writes acknowledged under a fault, and their keys read afterwards"
    reads = recorded.plan.load.reads
    main = [op for op in recorded.operations if op.phase == "main"]
    writes = [op for op in main if called(op.f, op.value) not in reads and not op.refused]
    acknowledged = [op for op in writes if op.outcome == "ok"]
    if not any(window.asked for window in windows) or not acknowledged:
        return _nothing_to_judge("read-back", asked, "no fault allowed a write to be acknowledged")
    enough = required_count(recorded, sum(w.answerable_s for w in windows if w.asked), len(writes) / len(main))
    last: dict[Any, int] = {}
    number = 0
    for ops in within(windows, [op for op in acknowledged if op.applied]).values():
        number += len(ops)
        for op in ops:
            last[op.key] = max(last.get(op.key, 0), op.returned or 0)
    read = {
        op.key
        for op in recorded.operations
        if called(op.f, op.value) in reads and op.applied and op.key in last and op.invoked >= last[op.key]
    }
    if not last:
        return _gate("read-back", met=False, asked=asked, seen="no write was acknowledged and applied under a fault")
    if number < enough:
        seen = f"{counted(number, 'write')} acknowledged under faults (at least {enough} required)"
        return _gate("read-back", met=False, asked=asked, seen=seen)
    never = sorted(str(key) for key in last.keys() - read)
    missing = f", not on {', '.join(never)}; a read of each is required" if never else ""
    seen = f"on {counted(len(last), 'key')}, read on {len(read)}{missing}"
    return _gate("read-back", not never, asked, seen)


# -- faults -----------------------------------------------------------------------------------------------------------


def _faults(recorded: Recorded) -> Check:
    asked = "every fault in the plan was installed at least once under load, with a witness"
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
        state = _LATE if late else _UNFELT if receipt.id in unfelt else receipt.state
        states.setdefault(receipt.fault, Counter())[state] += 1
    tried = [name for name in states if {*states[name]} != {_LATE}] if "all" in recorded.plan.nemesis else named
    bare = [name for name in tried if not states[name]["installed"]]
    seen = "; ".join(
        f"{name}: "
        + (", ".join(f"{n} {state}" for state, n in sorted(c.items())) or "never tried")
        + (", at least 1 required" if name in bare else "")
        + (f" ({'; '.join(reasons[name])})" if name in bare and name in reasons else "")
        for name, c in states.items()
    )
    if not seen and not recorded.plan.nemesis:
        return _nothing_to_judge("faults", asked, "no fault was requested")
    met = not bare and bool(tried or not recorded.plan.nemesis)
    return _gate("faults", met, asked, "; ".join([seen or "no fault was started", *unfelt.values()]))


# -- the end, the pace ------------------------------------------------------------------------------------------------


def _final_reads(recorded: Recorded, refused: Collection[str]) -> Check:
    keys = {op.key for op in recorded.operations}
    moments = recorded.state.moments
    spans = {"at the end": (moments.get("final-reads"), moments.get("restarting"))}
    if "restarted" in moments:
        spans["after the restart"] = (moments["restarted"], None)
    parts, met = [], bool(keys)
    for when, (begin, end) in spans.items():
        read = _read_between(recorded, begin, end)
        missing = sorted(str(key) for key in keys - read)
        unserved = _unserved_nodes(recorded, begin, end, refused)
        met = met and not missing and not unserved
        part = f"{len(read)} of {counted(len(keys), 'key')}" + (f" {when}" if len(spans) > 1 else "")
        parts.append(part + (f", not {', '.join(missing)}" if missing and read else ""))
        parts += [f"{node} answered its own clients on none of {', '.join(keys)}" for node, keys in unserved.items()]
    by_each = ", by the clients of each node" if recorded.plan.under_test.every_node_serves is not False else ""
    asked = f"every key was read at the end{by_each}" + (", and after the restart" if len(spans) > 1 else "")
    if not met:
        parts.append("each key needs a read that was answered by a node that had applied it")
    return _gate("final-reads", met, asked, "; ".join(parts))


def _unserved_nodes(
    recorded: Recorded, begin: int | None, end: int | None, refused: Collection[str]
) -> dict[str, list[str]]:
    """Map each node to the keys that its own clients failed to read in this time, unless its system allows that."""
    if begin is None or recorded.plan.under_test.every_node_serves is False:
        return {}
    asked: dict[str, set[Any]] = {}
    answered: dict[str, set[Any]] = {}
    for op in recorded.operations:
        of_reads = called(op.f, op.value) in recorded.plan.load.reads
        if of_reads and op.node and op.invoked >= begin and (end is None or op.invoked < end):
            asked.setdefault(op.node, set()).add(op.key)
            answered.setdefault(op.node, set()).update([op.key] if op.applied else [])
    # A home that is no node may be on one that did not start on a file that we damaged.
    homes = [*(node for node in recorded.serving if node not in refused), *(() if refused else recorded.homes)]
    found = [home for home in homes if home in asked]
    return {home: sorted(map(str, left)) for home in found if (left := asked[home] - answered[home])}


def _read_between(recorded: Recorded, begin: int | None, end: int | None) -> set[Any]:
    """Return the keys with a read that was invoked in this time and answered by a node that had applied it."""
    if begin is None:
        return set()
    reads = recorded.plan.load.reads
    later = (op for op in recorded.operations if op.applied and op.invoked >= begin)
    answered = (op for op in later if called(op.f, op.value) in reads)
    return {op.key for op in answered if end is None or op.invoked < end}


def _kept_pace(recorded: Recorded) -> Check:
    """Check that the harness kept the rate.  A slow system may lower it; a slow harness makes the run unknown.

    ``late_p99_ms`` is how late operations were issued although a client was free, and ``lag_p99_ms`` is how late the
    event loop woke up.  Both are the harness's own.  If all clients were busy, the system set the pace.  In an open
    loop, however, operations are due whatever the system does, so a queue left at the end counts against the run.
    """
    asked = "the harness issued operations when they were due and a client was free"
    pace, phase = recorded.state.pace, main_phase(recorded)
    still = 0.0
    if phase is not None and phase[1] > phase[0]:
        still = recorded.clock.slept(*phase) / (phase[1] - phase[0])
    if not pace and not recorded.state.standstills:
        return _nothing_to_judge("kept-pace", asked, "not recorded")
    late = {name: float(pace.get(name) or 0.0) for name in ("late_p99_ms", "lag_p99_ms")}
    parts = []
    if "invoked_per_s" in pace and "asked_per_s" in pace:
        parts.append(f"{pace['invoked_per_s']:.0f} of {pace['asked_per_s']:.0f} operations a second in the main phase")
    queued = _never_issued(recorded, still)
    if queued:
        parts.append(
            f"{queued} operations were due while no client was free: an open loop needs more clients (--concurrency)"
        )
    if recorded.plan.loop == "open" and "response_p99_ms" in pace:
        parts.append(
            f"99 of 100 answered within {pace['response_p99_ms']:.0f} ms of when they were due, "
            f"{pace['service_p99_ms']:.0f} ms of when they were sent"
        )
    if pace.get("waited_share"):
        parts.append(f"all clients were busy for {100 * pace['waited_share']:.0f} % of the time")
    tardy = f" (at most {LATE_MS:.0f} are allowed)" if max(late.values()) > LATE_MS else ""
    # Rounded up, so that a value above the limit does not read like the limit.
    parts.append(f"99 of 100 at most {math.ceil(max(late.values()))} ms late{tardy}")
    if still:
        long = f" (at most {100 * STILL_SHARE:.0f} % are allowed)" if still > STILL_SHARE else ""
        parts.append(f"the harness was stalled for {math.ceil(100 * still)} % of the main phase{long}")
    met = max(late.values()) <= LATE_MS and still <= STILL_SHARE and not queued
    return _gate("kept-pace", met, asked, ", ".join(parts), Pace(figures={**pace, "still_share": round(still, 4)}))


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
        seen = "interrupted"
    elif state.failures:
        seen = "the harness failed"
    elif state.stopped:
        seen = "stopped at the first violation, as asked"
    else:
        seen = "yes" if state.ended else "the harness was killed"
    return _gate("whole", seen == "yes", "the run reached its end", seen)
