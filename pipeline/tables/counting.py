"""Counts for the gates and the coverage section: how much was tried, how it ended, and under which circumstances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

NO_PHASE: Final = "none"
UNDER_FAULT: Final = "ok under a fault"
UNFINISHED: Final = "unfinished"

Counts = Counter[tuple[str, str, str]]


def count(operations: pa.Table | pa.RecordBatch, spans: Sequence[tuple[int, int]]) -> Counts:
    """Operations by (phase, function, outcome), and two further outcomes that overlap with these.

    :data:`UNDER_FAULT` counts ok operations that were invoked and answered while a fault stood (``spans``: disjoint,
    ascending, in nanoseconds); :data:`UNFINISHED` counts the info operations that have no completion at all.
    """
    phase = pc.fill_null(operations.column("phase"), NO_PHASE)
    outcome = operations.column("outcome")
    found: Counts = Counter()
    found.update(_tally(phase, operations.column("f"), outcome))
    under = pc.and_(pc.equal(outcome, "ok"), pa.array(_within(operations, spans)))
    unfinished = pc.is_null(operations.column("returned"))
    for name, mask in ((UNDER_FAULT, under), (UNFINISHED, unfinished)):
        rows = pc.filter(operations.column("f"), mask)
        found.update(_tally(pc.filter(phase, mask), rows, pa.array([name] * len(rows), pa.string())))
    return found


def summary(counts: Counts) -> dict[str, Any]:
    """The counts as JSON: totals by outcome, and ``by`` phase, function and outcome."""
    by: dict[str, dict[str, dict[str, int]]] = {}
    totals: Counter[str] = Counter(ok=0, fail=0, info=0)
    for (phase, f, outcome), number in sorted(counts.items()):
        by.setdefault(phase, {}).setdefault(f, {})[outcome] = number
        totals[outcome] += number
    return {
        "operations": sum(totals[name] for name in ("ok", "fail", "info")),
        "ok": totals["ok"],
        "fail": totals["fail"],
        "info": totals["info"],
        "unfinished": totals[UNFINISHED],
        "ok_under_fault": totals[UNDER_FAULT],
        "by": by,
    }


def _tally(*columns: Any) -> Iterable[tuple[str, str, str]]:
    return zip(*(column.to_pylist() for column in columns), strict=True)


def _within(operations: pa.Table | pa.RecordBatch, spans: Sequence[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    invoked = operations.column("invoked").to_numpy()
    returned = pc.fill_null(operations.column("returned"), -1).to_numpy()
    if not spans:
        return np.zeros(len(invoked), dtype=bool)
    begins, ends = (np.array(side, dtype=np.int64) for side in zip(*spans, strict=True))
    place = np.searchsorted(begins, invoked, side="right") - 1
    within: npt.NDArray[np.bool_] = (place >= 0) & (returned <= ends[place])
    return within
