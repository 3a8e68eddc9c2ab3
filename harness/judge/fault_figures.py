"""The cost of each fault: by kind of operation, by node, and over a run by fault.

The figures of a window are those of ``history.metrics.recovery``, taken there over all operations and here over one
kind at a time.  A node has *caught up* when a probe after the heal shows that it applied what the leader had committed
at the heal (``harness.judge.recovery``); until the next fault starts.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from harness.judge.recovery import FRESH_NS, assess
from history import Operation, Probe, Receipt
from history.metrics.recovery import Asked, Load, Times, figures, load_of, never_recovered, surroundings

#: The figures summarised over the windows of one fault, in ms.
SUMMED: Final = ("longest_gap_ms", "first_ok_ms", "recovered_ms", "caught_up_ms")


def with_details(
    rows: Sequence[Mapping[str, Any]],
    receipts: Sequence[Receipt],
    operations: Sequence[Operation],
    probes: Sequence[Probe],
    nodes: Sequence[str],
) -> tuple[dict[str, Any], ...]:
    """The rows of the table ``faults``, each with ``kinds`` and ``caught_up``.

    ``kinds`` maps a kind of operation to the six figures of the row for that kind alone.  ``caught_up`` is empty where
    nothing was healed or no commit index was known; else it has ``target`` (the index to reach), ``nodes`` (node ->
    ms from the heal, None: not before the next fault) and ``last_ms`` (of all nodes, None if one stayed behind).
    """
    load = load_in(operations, receipts)
    around = surroundings(receipts, load)
    kinds = ok_times_by_kind(operations)
    by_id = {receipt.id: receipt for receipt in receipts}
    moments = [probe.time for probe in probes]
    detailed = []
    for row in rows:
        receipt = by_id.get(row.get("id", -1))
        here = around.get(receipt.id) if receipt else None
        if receipt is None or here is None:
            detailed.append({**row, "kinds": {}, "caught_up": {}})
            continue
        per_kind = {kind: figures(receipt, here, ok, load) for kind, ok in kinds.items()}
        later = _next_start(receipt, receipts)
        seen = _between(probes, moments, receipt, later)
        detailed.append({**row, "kinds": per_kind, "caught_up": caught_up(seen, nodes, receipt.healed)})
    return tuple(detailed)


def load_in(operations: Sequence[Operation], receipts: Sequence[Receipt]) -> Load:
    """The time of the clients' load, as ``history.metrics.recovery`` defines it."""
    phased = any(op.phase is not None for op in operations)
    main = [Asked(op.invoked, _known(op), op.returned is None) for op in operations if op.phase == "main" or not phased]
    return load_of(main, max(map(_known, operations), default=0), receipts)


def _known(operation: Operation) -> int:
    return operation.invoked if operation.returned is None else operation.returned


def ok_times_by_kind(operations: Iterable[Operation]) -> dict[str, Times]:
    """Completion times of what was acknowledged and applied, ascending, by kind; empty for a kind that never was."""
    found: dict[str, list[int]] = {}
    for op in operations:
        times = found.setdefault(op.f, [])
        if op.applied and op.returned is not None:
            times.append(op.returned)
    return {kind: np.array(sorted(times), dtype=np.int64) for kind, times in sorted(found.items())}


def caught_up(probes: Sequence[Probe], nodes: Sequence[str], healed: int | None) -> dict[str, Any]:
    """See :func:`with_details`; ``probes`` are those from shortly before the heal until the next fault."""
    if healed is None:
        return {}
    recovery = assess(probes, nodes, healed, None)
    if recovery.target < 0:
        return {}
    took = {node: None if moment is None else (moment - healed) / 1e6 for node, moment in recovery.reached.items()}
    known = [ms for ms in took.values() if ms is not None]
    return {"target": recovery.target, "nodes": took, "last_ms": max(known) if len(known) == len(took) else None}


def by_fault(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The distribution of the figures over all windows of one fault.

    For each fault: ``windows`` (installed ones), ``never_recovered`` and ``never_caught_up`` (healed, comparable, and
    not back before the next fault), and for each of :data:`SUMMED` least, median and most of the known ones.
    """
    windows: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("state") == "installed":
            windows.setdefault(str(row["fault"]), []).append(row)
    return {fault: _distribution(found) for fault, found in sorted(windows.items())}


def _distribution(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    windows = [{**row, "caught_up_ms": (row.get("caught_up") or {}).get("last_ms")} for row in rows]
    record: dict[str, Any] = {
        "windows": len(windows),
        "never_recovered": sum(map(never_recovered, windows)),
        "never_caught_up": sum(bool(row.get("caught_up")) and row["caught_up_ms"] is None for row in windows),
    }
    for name in SUMMED:
        known = [row[name] for row in windows if row.get(name) is not None]
        if known:
            record[name] = {"least": min(known), "median": statistics.median(known), "most": max(known)}
    return record


def _next_start(receipt: Receipt, receipts: Sequence[Receipt]) -> int | None:
    """When the next fault starts after this one was healed."""
    if receipt.healed is None:
        return None
    later = [other.started for other in receipts if other.state != "skipped" and other.started >= receipt.healed]
    return min(later, default=None)


def _between(probes: Sequence[Probe], moments: Sequence[int], receipt: Receipt, later: int | None) -> Sequence[Probe]:
    if receipt.healed is None:
        return ()
    end = len(probes) if later is None else bisect_left(moments, later)
    return probes[bisect_left(moments, receipt.healed - FRESH_NS) : end]
