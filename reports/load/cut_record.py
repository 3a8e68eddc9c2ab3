"""Detect cut histories by comparing the number of operations in a history with the harness's own count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from history.codes import OK
from history.metrics.awake_clock import AwakeClock
from history.records.finding import OkCounts
from history.records.violations import found_in
from reports.load.run import LoadedRun
from reports.style.format import number

#: Histories that hold less than this share of the operations begun count as cut; whole histories hold all.
_MIN_KEPT: Final = 0.5


def is_cut(run: LoadedRun) -> bool:
    """Return whether a history holds far fewer operations than the harness counted during the run.

    Rates, gaps and recovery times of such a history would describe the cut, so they are not shown.
    """
    held, begun = _held_of(run)
    return held < _MIN_KEPT * begun


def cut_of(run: LoadedRun) -> str:
    """Describe how much of a history was cut and what that affects; empty if nothing was cut."""
    held, begun = _held_of(run)
    if not is_cut(run):
        return ""
    whole = judged_whole(run)
    gates = "Gates counted before the cut; counts" if whole else "Gates, counts"
    return (
        f"The history was cut: it holds {number(held)} of about {number(round(begun))} operations that began in "
        "the main phase. The harness records every one, so the others were removed after the run; who removed them, "
        f"and how they were chosen, is not recorded. {gates}, tables and charts cover what is left, and there are no "
        f"rates, gaps or recovery times.{_not_left(run, whole=whole)}"
    )


def judged_whole(run: LoadedRun) -> bool:
    """Return whether the gate that counts operations saw more of some kind than the history now holds."""
    left = {_ok_in_main(run, kind) for kind in run.operations.f.names}
    counted = found_in(run.results, OkCounts)
    return counted is not None and bool(set(counted.ok.values()) - left)


def _held_of(run: LoadedRun) -> tuple[int, float]:
    """Return how many main-phase operations a history holds, and about how many were begun (0 if unknown)."""
    return int(np.count_nonzero(run.operations.phase.equals("main"))), _begun(run.state)


def _begun(state: Mapping[str, Any]) -> float:
    """Return roughly how many operations were begun in the main phase, from the harness's own rate; 0 if unknown."""
    pace, moments = state.get("pace"), state.get("moments")
    if not isinstance(pace, Mapping) or not isinstance(moments, Mapping):
        return 0.0
    rate, start, end = pace.get("invoked_per_s"), moments.get("main"), moments.get("main-end")
    if not isinstance(rate, int | float) or not isinstance(start, int) or not isinstance(end, int):
        return 0.0
    clock = AwakeClock.recorded(state)  # the clock that measured the rate
    return rate * (clock.at(end) - clock.at(start)) / 1e9


def counts_cut(results: Mapping[str, Any], state: Mapping[str, Any]) -> bool:
    """Return whether the counts in the results come from a cut history.

    Like :func:`is_cut`, but does not need the history.
    """
    counts = results.get("counts")
    phases = counts.get("phases") if isinstance(counts, Mapping) else None
    if not isinstance(phases, Mapping):
        return False
    kinds = phases.get("main") or {}
    outcomes = kinds.values() if isinstance(kinds, Mapping) else ()
    numbers = [number for outcome in outcomes if isinstance(outcome, Mapping) for number in outcome.values()]
    return sum(number for number in numbers if isinstance(number, int)) < _MIN_KEPT * _begun(state)


def _ok_in_main(run: LoadedRun, kind: str) -> int:
    operations = run.operations
    mine = operations.phase.equals("main") & operations.f.equals(kind)
    return int(np.count_nonzero(mine & operations.which(OK)))


def _not_left(run: LoadedRun, *, whole: bool) -> str:
    """Name the kinds of operation and the faults for which no ok operation is left, so nothing tests them."""
    operations = run.operations
    phase, ok = operations.phase, operations.which(OK)
    main = ok & phase.equals("main")
    of_kind = {kind: operations.f.equals(kind) for kind in operations.f.names}
    load = ~phase.equals("final")
    bare = [kind for kind, mine in of_kind.items() if (load & mine).any() and not (main & mine).any()]
    parts = [f"ok operations of the kind {' or '.join(bare)} in the main phase"] if bare else []
    begun, ended = operations.invoked, operations.returned
    faults = [
        f"#{receipt.id} {receipt.fault}"
        for receipt in run.receipts
        if receipt.state == "installed"
        and receipt.stood is not None
        and not (ok & (begun >= receipt.stood) & (ended <= (receipt.heal_started or run.end))).any()
    ]
    parts += [f"any ok operation under {', '.join(faults)}"] if faults else []
    gates = ", although gates may have seen some" if whole else ""
    return f" What is left does not include {', nor '.join(parts)}, so it tests nothing there{gates}." if parts else ""
