"""Data of the comparison page, which draws two runs on top of each other.

Time starts at each run's main phase, so that runs line up even if their clusters took different times to come up.  The
curves are those of the run's own page (``series``) without its operations, a few kilobytes per run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from history import RunFiles
from history.columns.operations import Operations
from history.metrics.awake_clock import AwakeClock
from history.safe_open import UnsafeFileError, require_plain
from reports.analysis import faults, figures, node_timeline
from reports.analysis.faults import FaultWindow
from reports.load.cut_record import is_cut
from reports.load.run import LoadedRun, commands_of, phase_bounds, read_run
from reports.load.run_row import RunRow
from reports.page.pack import clean
from reports.page.series import fault_data, still_data
from reports.style.palette import FAULT_COLOURS
from reports.text.recovery import way_back

#: How many of the newest runs have their curves in a static comparison page.
DRAWN: Final = 60
#: Limit of points per curve.
POINTS: Final = 1200


#: Range around a heal in which the rate is drawn, in seconds.
RECOVERY_S: Final = (-5.0, 20.0)
STEP_S: Final = 0.5
#: Clock of a run without standstills.
AWAKE: Final = AwakeClock()


def comparison(
    store: Path, rows: Iterable[RunRow], links: Mapping[str, str], choices: Iterable[RunRow] = ()
) -> dict[str, Any]:
    """Collect rows and curves of runs; ``links`` maps a run's place to its page.

    ``choices`` are further runs that can be chosen, whose curves the page's server has.  A run whose files cannot
    be read keeps its row but has no curves.
    """
    return {
        "faultColours": FAULT_COLOURS,
        "choices": [[row.place, row.shown] for row in choices],
        "runs": [
            {
                **{name: getattr(row, name) for name in RunRow.__slots__},
                "verdict": row.shown,
                "place": row.place,
                "href": links[row.place],
                "curves": curves_of(RunFiles(store / row.test / row.run)),
            }
            for row in rows
        ],
    }


def curves_of(files: RunFiles) -> dict[str, Any] | None:
    """Compute the curves of a run, in seconds since its main phase began; None unless all its files are plain.

    Rates and availability are left out if the history was cut.
    """
    try:
        require_plain(files.root)
    except UnsafeFileError:
        return None
    run = read_run(files)
    curves: dict[str, Any] | None = run.notes.attempt("curves", lambda: clean(_curves(run)), None)
    return curves


def _curves(run: LoadedRun) -> dict[str, Any] | None:
    operations, end = run.operations, run.end
    if not len(operations):
        return None
    main = phase_bounds(operations, "main")
    origin = (main[0] if main else 0) / 1e9
    rates, quantiles = figures.rates_of(operations, end), figures.quantiles_of(operations, end)
    width, cells = figures.availability_of(operations, end)
    windows = faults.fault_windows(run, node_timeline.timelines_of(run.probes, run.nodes, run.receipts, run.members))
    ok = rates.rows[0]
    if is_cut(run):
        ok, cells = np.full(len(ok), np.nan), cells[:0]
    stride = -(-len(rates.time) // POINTS)
    return {
        "command": next(iter(commands_of(run.plan, faults=False)), None),
        "start": -origin,
        "end": end / 1e9 - origin,
        "main_end": (main[1] if main else end) / 1e9 - origin,
        "time": rates.time[::stride] - origin,
        "width": rates.width,
        "ok": ok[::stride],
        "p50": quantiles.rows[0][::stride],
        "p99": quantiles.rows[2][::stride],
        "available": [width, _lengths(cells)],
        "recovery": recovery_of(operations, windows, run.clock, cut=is_cut(run)),
        "faults": [_fault(window, origin, end / 1e9) for window in windows],
        "still": [[moment - origin for moment in span] for span in still_data(run)],
    }


def recovery_of(
    operations: Operations, windows: Sequence[FaultWindow], clock: AwakeClock = AWAKE, *, cut: bool = False
) -> dict[str, Any]:
    """Compute the rate around the heals, as a share of the rate before each fault, averaged over its windows.

    ``time`` is in seconds from the heal.  ``why`` says why no window counts; empty if one does.  A window counts until
    the next fault begins, and only while clients send requests at the usual rate, because the few reads after the load
    say nothing about the cluster's speed.  A window healed after the load does not count.  Times when the harness
    itself was stalled are removed by ``clock``.
    """
    edges = np.arange(RECOVERY_S[0], RECOVERY_S[1] + STEP_S / 2, STEP_S)
    load_end = float(operations.invoked[operations.in_main].max(initial=0)) / 1e9
    oks = clock.times(operations.applied_at()) / 1e9

    def awake(moment: float) -> float:
        return clock.at(round(moment * 1e9)) / 1e9

    rows = []
    for window in windows:
        if not window.installed or window.healed is None or not window.rate_before:
            continue
        after = [other.started for other in windows if other.state != "skipped" and other.started >= window.healed]
        healed = awake(window.healed)
        until = awake(min([*after, load_end])) - healed
        if until <= 0:
            continue
        share = np.histogram(oks - healed, edges)[0] / STEP_S / window.rate_before
        rows.append(np.where(edges[1:] <= until, share, np.nan))
    why = "" if rows else _without_curve(windows, load_end, cut=cut)
    shares = np.array(rows).reshape(len(rows), len(edges) - 1)
    known = (~np.isnan(shares)).sum(axis=0)
    mean = np.nansum(shares, axis=0) / np.where(known, known, 1)
    return {"time": edges[:-1] + STEP_S / 2, "share": np.where(known, mean, np.nan), "faults": len(rows), "why": why}


def _without_curve(windows: Sequence[FaultWindow], load_end: float, *, cut: bool) -> str:
    """Say why no fault of a run shows how its rate recovered: the first requirement that none of them met."""
    installed = [window for window in windows if window.installed]
    healed = [window for window in installed if window.healed is not None]
    if not installed:
        return "no fault was installed"
    if cut:
        return "the history was cut, so it gives no rates"
    if not healed:
        return "no fault was healed"
    if all(window.healed is not None and window.healed >= load_end for window in healed):
        return "no fault was healed before the load ended"
    return "no fault has a rate before it and was healed under load"


def _lengths(cells: Any) -> list[list[int]]:
    """Run-length encode the cells of the availability strip as (value, count)."""
    if not len(cells):
        return []
    edges = np.concatenate(([0], np.nonzero(np.diff(cells))[0] + 1, [len(cells)]))
    return [[int(cells[start]), int(stop - start)] for start, stop in pairwise(edges)]


def _fault(window: FaultWindow, origin: float, end: float) -> dict[str, Any]:
    drawn = fault_data(window, end)
    moments = ("start", "stood", "heal", "end")
    return {
        **drawn,
        **{name: None if drawn[name] is None else drawn[name] - origin for name in moments},
        "gap_s": None if window.longest_gap_ms is None else window.longest_gap_ms / 1000,
        "first_ok_ms": window.first_ok_ms,
        "back": way_back(asdict(window), asked=bool(window.asked))[1],
    }
