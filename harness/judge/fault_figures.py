"""The cost of each fault, by kind of operation and by node, and of all faults of one name in a run.

The figures of a window are those of ``history.metrics.recovery``, computed there over all operations and here for one
kind at a time.  A node has *caught up* when a probe between the heal and the next fault shows that it applied what the
leader had committed at the heal (``harness.judge.recovery``).  It stayed *behind* only if it was probed in that time:
if the next fault starts before any probe, nothing is known about it.  If its log ends below that index by then, it is
behind whatever it had applied.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from harness.judge.answers_by_process import last_answers, reporting
from harness.judge.recovery import FRESH_NS, assess
from history import Probe, Receipt
from history.columns.operations import Operations
from history.metrics.awake_clock import AwakeClock
from history.metrics.recovery import (
    figures,
    load_in,
    moment_or,
    never_recovered,
    surroundings,
    too_few,
)

#: The figures that are summarised over all windows of a fault, in ms.
SUMMED: Final = ("longest_gap_ms", "first_ok_ms", "recovered_ms", "caught_up_ms")


def with_details(
    rows: Sequence[Mapping[str, Any]],
    receipts: Sequence[Receipt],
    operations: Operations,
    probes: Sequence[Probe],
    nodes: Sequence[str],
    clock: AwakeClock,
) -> tuple[dict[str, Any], ...]:
    """Return the rows of the table ``faults``, each with ``kinds``, ``caught_up``, ``behind`` and ``silent`` added.

    ``kinds`` maps each kind of operation in the load to the row's six figures for that kind alone.  Kinds that are only
    read at the end are left out, because they would seem never to have come back.

    ``caught_up`` is empty if nothing was healed or no commit index was known.  Otherwise it has ``target`` (the index
    to reach), ``nodes`` (maps each node to ms from the heal; None: not seen before the next fault) and ``last_ms`` (the
    time of the last node; None unless all were seen).  If the log of every node ends below the target, nobody can catch
    up, and ``gone`` holds the target instead.

    ``behind`` lists the nodes whose probes show that they had not caught up before the next fault.  ``silent`` lists
    the nodes that had answered before but never answered a probe after the heal, or after a fault that could not be
    healed.

    All times are on ``clock``, which leaves out the times when the harness was stalled.
    """
    receipts, operations, probes = clock.receipts(receipts), clock.operations(operations), clock.probes(probes)
    load = load_in(operations, receipts)
    around = surroundings(receipts, load)
    kinds = {
        kind: operations.applied_at(operations.f.code(kind)) for kind in sorted(operations.f.count(operations.in_main))
    }
    by_id = {receipt.id: receipt for receipt in receipts}
    record = _Record(probes, nodes)
    detailed = []
    for row in rows:
        receipt = by_id.get(row.get("id", -1))
        here = around.get(receipt.id) if receipt else None
        if receipt is None or here is None:
            detailed.append({**row, "kinds": {}, "caught_up": {}, "behind": [], "silent": []})
            continue
        per_kind = {kind: figures(receipt, here, ok, load) for kind, ok in kinds.items()}
        way_back = record.way_back(receipt.healed, _next_start(receipt, receipts))
        detailed.append({**row, "kinds": per_kind, **way_back, "silent": record.silent_since(_mended(receipt))})
    return tuple(detailed)


class _Record:
    """The probes of a run, indexed for questions about them: when each was, and what was committed by then."""

    def __init__(self, probes: Sequence[Probe], nodes: Sequence[str]) -> None:
        self._probes, self._nodes = probes, nodes
        self._moments = [probe.time for probe in probes]
        self._committed = list(accumulate((probe.committed if probe.answered else -1 for probe in probes), max))
        self._first = {probe.node: probe.time for probe in reversed(probes) if probe.answered}
        self._last = last_answers(probes)
        self._logs = reporting(probes, "log_end")
        self._asked = {probe.node: probe.time for probe in probes}

    def way_back(self, healed: int | None, later: int | None) -> dict[str, Any]:
        """Return ``caught_up`` and ``behind`` for a fault healed at ``healed``; the next fault starts at ``later``."""
        if healed is None:
            return {"caught_up": {}, "behind": []}
        end = len(self._probes) if later is None else bisect_left(self._moments, later)
        begin = bisect_left(self._moments, healed - FRESH_NS)
        probes = self._probes[begin:end]
        recovery = assess(probes, self._nodes, healed, committed_before=self._committed[begin - 1] if begin else -1)
        if recovery.target < 0:
            return {"caught_up": {}, "behind": []}
        ends = {probe.node: probe.log_end for probe in probes if probe.answered and probe.time >= healed}
        cut = {node for node, end in ends.items() if node in self._logs and end < recovery.target}
        if ends.keys() == cut == {*self._nodes}:
            return {"caught_up": {}, "behind": [], "gone": recovery.target}
        took = {node: None if moment is None else (moment - healed) / 1e6 for node, moment in recovery.reached.items()}
        known = [ms for ms in took.values() if ms is not None]
        last = max(known) if len(known) == len(took) and not cut else None
        probed = {probe.node for probe in probes if probe.time >= healed}
        return {
            "caught_up": {"target": recovery.target, "nodes": took, "last_ms": last},
            "behind": [node for node in self._nodes if node in probed and (node in recovery.behind or node in cut)],
        }

    def silent_since(self, moment: int | None) -> list[str]:
        """Return the nodes that answered before ``moment``, were probed after it, and never answered again."""
        if moment is None:
            return []
        answered = [node for node in self._nodes if self._first.get(node, moment) < moment]
        return [node for node in answered if self._last[node] < moment <= self._asked[node]]


def _mended(receipt: Receipt) -> int | None:
    """Return the time since which a fault's nodes are expected back: its heal, or its own time if healing failed."""
    if receipt.healed is not None or receipt.heal_started is None:
        return receipt.healed
    return moment_or(receipt.stood, receipt.started)


def by_fault(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the distribution of the figures over all windows of each fault.

    For each fault: ``windows`` (installed ones), ``never_recovered`` (healed, comparable, and not back before the next
    fault), ``never_caught_up`` (some node was behind or silent), and for each of :data:`SUMMED` the least, median and
    most of the known values.  ``recovered_ms`` counts only windows with enough operations before them to compare with.
    """
    windows: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("state") == "installed":
            windows.setdefault(str(row["fault"]), []).append(row)
    return {fault: _distribution(costs) for fault, costs in sorted(windows.items())}


def _distribution(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    windows = [{**row, "caught_up_ms": (row.get("caught_up") or {}).get("last_ms")} for row in rows]
    record: dict[str, Any] = {
        "windows": len(windows),
        "never_recovered": sum(map(never_recovered, windows)),
        "never_caught_up": sum(bool(row.get("behind") or row.get("silent")) for row in windows),
    }
    for name in SUMMED:
        comparable = [row for row in windows if name != "recovered_ms" or not too_few(row.get("rate_before"))]
        known = [row[name] for row in comparable if row.get(name) is not None]
        if known:
            record[name] = {"least": min(known), "median": statistics.median(known), "most": max(known)}
    return record


def _next_start(receipt: Receipt, receipts: Sequence[Receipt]) -> int | None:
    """Return the start of the next fault after this one was healed."""
    if receipt.healed is None:
        return None
    later = [other.started for other in receipts if other.state != "skipped" and other.started >= receipt.healed]
    return min(later, default=None)
