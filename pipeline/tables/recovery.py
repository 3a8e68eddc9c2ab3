"""The table of faults: receipts with their recovery figures, which ``history.metrics.recovery`` defines.

The figures need only a few numbers from each slice of the history, whatever its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from history import UNAPPLIED, Receipt
from history.metrics.awake_clock import AwakeClock
from history.metrics.recovery import Asked, LoadSpan, Times, figures, load_of, surroundings
from history.tables.operations import table_of_rows
from history.tables.schemas import FAULTS


def fault_table(receipts: Sequence[Receipt], ok: Times, load: LoadSpan, clock: AwakeClock) -> pa.Table:
    """Return rows of ``faults.parquet``; ``ok`` holds the completion times of ok operations in ascending order.

    All times are those of the run; the figures are measured on ``clock``, which leaves out standstills.
    """
    awake, ok, load = clock.receipts(receipts), clock.times(ok), load.awake(clock)
    around = surroundings(awake, load)
    rows = [
        {**_facts(receipt), **figures(own, around.get(receipt.id), ok, load)}
        for receipt, own in zip(receipts, awake, strict=True)
    ]
    return table_of_rows(rows, FAULTS)


def _facts(receipt: Receipt) -> dict[str, Any]:
    same = ("id", "fault", "state", "leader", "reason", "started", "stood", "heal_started", "healed")
    return {
        **{name: getattr(receipt, name) for name in same},
        "family": receipt.family or None,
        "target_nodes": list(receipt.nodes),
    }


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of the operations: their number, when clients sent requests (main phase; all phases), last time (ns)."""

    operations: int
    phased: bool
    main: Asked | None
    all: Asked | None
    last: int

    @classmethod
    def of(cls, operations: pa.Table | pa.RecordBatch) -> Slice:
        """Return the slice with these rows of ``operations.parquet``."""
        return cls(
            operations=operations.num_rows,
            phased=operations["phase"].null_count < operations.num_rows,
            main=_asked(operations.filter(pc.equal(operations["phase"], "main"))),
            all=_asked(operations),
            last=_last(operations),
        )

    @staticmethod
    def asked_in(slices: Sequence[Slice]) -> list[Asked]:
        """Return when clients sent requests at the usual rate: in the main phase, or always without phases."""
        phased = any(piece.phased for piece in slices)
        return [part for piece in slices if (part := piece.main if phased else piece.all) is not None]

    @staticmethod
    def load(slices: Sequence[Slice], receipts: Sequence[Receipt], last: int = 0) -> LoadSpan:
        """Return the load of a history in slices, as ``history.metrics.recovery`` defines it."""
        return load_of(Slice.asked_in(slices), max([last, *(piece.last for piece in slices)]), receipts)


def _asked(rows: pa.Table | pa.RecordBatch) -> Asked | None:
    if not rows.num_rows:
        return None
    return Asked(pc.min(rows["invoked"]).as_py(), _last(rows), rows["returned"].null_count > 0)


def _last(rows: pa.Table | pa.RecordBatch) -> int:
    invoked, returned = (pc.max(rows[name]).as_py() for name in ("invoked", "returned"))
    return int(max(invoked or 0, returned or 0))


def ok_times(operations: pa.Table) -> Times:
    """Return the completion times of acknowledged and applied operations, ascending, in nanoseconds."""
    unapplied = pc.fill_null(pc.equal(operations["error"], UNAPPLIED), fill_value=False)
    served = pc.and_not(pc.equal(operations["outcome"], "ok"), unapplied)
    return np.sort(operations["returned"].filter(served).to_numpy())
