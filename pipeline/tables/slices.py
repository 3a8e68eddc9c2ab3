"""What is known of a slice of the operations when it comes to the load and to faults: some numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from history import Receipt
from history.metrics.recovery import Asked, Load, Times, load_of


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of the operations: how many, when clients asked (main phase; all phases), its last time (ns)."""

    operations: int
    phased: bool
    main: Asked | None
    all: Asked | None
    last: int

    @classmethod
    def of(cls, operations: pa.Table) -> Slice:
        """The slice with these rows of ``operations.parquet``."""
        return cls(
            operations=operations.num_rows,
            phased=operations["phase"].null_count < operations.num_rows,
            main=_asked(operations.filter(pc.fill_null(pc.equal(operations["phase"], "main"), fill_value=False))),
            all=_asked(operations),
            last=_last(operations),
        )

    @staticmethod
    def load(slices: Sequence[Slice], receipts: Sequence[Receipt]) -> Load:
        """When the clients were at work, as ``history.metrics.recovery`` defines it, of a history in slices."""
        phased = any(piece.phased for piece in slices)
        asked = [part for piece in slices if (part := piece.main if phased else piece.all) is not None]
        return load_of(asked, max((piece.last for piece in slices), default=0), receipts)


def _asked(rows: pa.Table) -> Asked | None:
    if not rows.num_rows:
        return None
    return Asked(pc.min(rows["invoked"]).as_py(), _last(rows), rows["returned"].null_count > 0)


def _last(rows: pa.Table) -> int:
    invoked, returned = (pc.max(rows[name]).as_py() for name in ("invoked", "returned"))
    return int(max(invoked or 0, returned or 0))


def ok_times(operations: pa.Table) -> Times:
    """Completion times of the ok operations, ascending, in nanoseconds."""
    ok = operations["returned"].filter(pc.equal(operations["outcome"], "ok"))
    return np.sort(ok.to_numpy())
