"""Fault windows: what each fault did to the cluster's links and to its clients.

The pipeline's table ``faults`` is taken where it exists; otherwise the same columns are derived here from the
operations, so that a run without tables has its fault table too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from history import Receipt
from reports.columns import OK, Ints, Operations
from reports.palette import family_of
from reports.run import Run, phase_bounds
from reports.tracks import Track, leader_at

SECOND = 10**9


@dataclass(frozen=True, slots=True)
class FaultWindow:
    """One fault.  Times in seconds since the run's start, rates in ok operations a second, the rest in ms.


    None is unknown, but ``recovered_ms`` None means that the rate never came back, unless ``healed`` is None too.
    ``leader_cut`` tells whether the leader could not reach a majority (None: unknown).
    """

    id: int
    fault: str
    family: str
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

    @property
    def installed(self) -> bool:
        return self.state == "installed"

    @property
    def never_recovered(self) -> bool:
        """It was healed, there was load before and after, and the rate did not come back."""
        compared = bool(self.rate_before) and self.rate_after is not None
        return self.installed and self.healed is not None and compared and self.recovered_ms is None


def fault_windows(run: Run, tracks: Sequence[Track]) -> list[FaultWindow]:
    """The faults in the order in which they were started."""
    oks = _ok_times(run.operations)
    main = phase_bounds(run.operations, "main") or (0, run.end)
    receipts = sorted(run.receipts, key=lambda receipt: receipt.started)
    found = []
    for place, receipt in enumerate(receipts):
        before = receipts[place - 1].healed or receipts[place - 1].started if place else main[0]
        after = receipts[place + 1].started if place + 1 < len(receipts) else max(main[1], receipt.healed or 0)
        figures = _figures(receipt, oks, before, after, run.end)
        figures.update(_recorded(run.fault_rows.get(receipt.id)))
        found.append(_window(receipt, figures, tracks, run.nodes))
    return found


def _window(
    receipt: Receipt, figures: Mapping[str, float | None], tracks: Sequence[Track], nodes: Sequence[str]
) -> FaultWindow:
    grudge = grudge_of(receipt)
    leader = receipt.leader or leader_at(tracks, receipt.started / SECOND)
    return FaultWindow(
        id=receipt.id,
        fault=receipt.fault,
        family=family_of(receipt.fault),
        state=receipt.state,
        nodes=receipt.nodes,
        grudge=grudge,
        leader=leader,
        leader_cut=leader_cut(leader, grudge, nodes) if grudge else None,
        started=receipt.started / SECOND,
        stood=_seconds(receipt.stood),
        heal_started=_seconds(receipt.heal_started),
        healed=_seconds(receipt.healed),
        reason=receipt.reason if receipt.state != "installed" else None,
        witness=receipt.witness if isinstance(receipt.witness, dict) else {"seen": receipt.witness},
        **figures,
    )


def grudge_of(receipt: Receipt) -> dict[str, tuple[str, ...]]:
    """Who drops packets from whom, if the receipt's targets hold a grudge."""
    grudge = receipt.targets.get("grudge") if isinstance(receipt.targets, dict) else None
    if not isinstance(grudge, dict):
        return {}
    return {str(node): tuple(map(str, peers)) for node, peers in grudge.items() if isinstance(peers, list | tuple)}


def leader_cut(leader: str | None, grudge: Mapping[str, Sequence[str]], nodes: Sequence[str]) -> bool | None:
    """Whether the leader exchanges packets both ways with too few nodes for a majority (itself counted)."""
    if leader is None or not nodes:
        return None
    dropped = set(grudge.get(leader, ())) | {node for node, peers in grudge.items() if leader in peers}
    return len(set(nodes) - dropped) < len(nodes) // 2 + 1


def _ok_times(operations: Operations) -> Ints:
    return np.sort(operations.returned[operations.which(OK)])


def _figures(receipt: Receipt, oks: Ints, before: int, after: int, end: int) -> dict[str, float | None]:
    if receipt.state != "installed":
        return dict.fromkeys(
            ("rate_before", "rate_during", "rate_after", "longest_gap_ms", "first_ok_ms", "recovered_ms")
        )
    stood, healing = receipt.stood or receipt.started, receipt.heal_started or receipt.healed or end
    rate_before = _rate(oks, before, receipt.started)
    return {
        "rate_before": rate_before,
        "rate_during": _rate(oks, stood, healing),
        "rate_after": _rate(oks, receipt.healed, after) if receipt.healed is not None else None,
        "longest_gap_ms": _longest_gap(oks, receipt.started, max(after, healing)) / 1e6,
        "first_ok_ms": _first_ok(oks, receipt.healed),
        "recovered_ms": _recovered(oks, receipt.healed, rate_before, end),
    }


def _rate(oks: Ints, start: int, end: int) -> float | None:
    if end <= start:
        return None
    return float(np.searchsorted(oks, end) - np.searchsorted(oks, start)) * SECOND / (end - start)


def _longest_gap(oks: Ints, start: int, end: int) -> float:
    inside = oks[np.searchsorted(oks, start) : np.searchsorted(oks, end)]
    edges = np.concatenate(([start], inside, [max(end, start)]))
    return float(np.diff(edges).max())


def _first_ok(oks: Ints, healed: int | None) -> float | None:
    if healed is None:
        return None
    place = int(np.searchsorted(oks, healed))
    return float(oks[place] - healed) / 1e6 if place < len(oks) else None


def _recovered(oks: Ints, healed: int | None, rate: float | None, end: int) -> float | None:
    """The first moment after healing from which one second holds 95 % of the rate before, in steps of 100 ms."""
    if healed is None or not rate:
        return None
    starts = np.arange(healed, max(end - SECOND, healed) + 1, SECOND // 10)
    counts = np.searchsorted(oks, starts + SECOND) - np.searchsorted(oks, starts)
    good = np.nonzero(counts >= 0.95 * rate)[0]
    return float(starts[good[0]] - healed) / 1e6 if len(good) else None


def _recorded(row: Mapping[str, Any] | None) -> dict[str, float | None]:
    """The pipeline's figures for the same fault; it saw the same data and is the authority."""
    names = ("rate_before", "rate_during", "rate_after", "longest_gap_ms", "first_ok_ms", "recovered_ms")
    return {} if row is None else {name: row.get(name) for name in names}


def _seconds(time: int | None) -> float | None:
    return None if time is None else time / SECOND
