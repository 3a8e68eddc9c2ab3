"""The table of faults: receipts with their recovery figures, which ``history.metrics.recovery`` defines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from history import Receipt
from history.metrics.recovery import Load, Times, figures, surroundings
from history.tables.schemas import FAULTS
from pipeline.tables.columns import clean


def fault_table(receipts: Sequence[Receipt], ok: Times, load: Load) -> pa.Table:
    """Rows of ``faults.parquet``.  ``ok`` holds the completion times of ok operations in ascending order."""
    around = surroundings(receipts, load)
    rows = [{**_facts(receipt), **figures(receipt, around.get(receipt.id), ok, load)} for receipt in receipts]
    return pa.Table.from_pylist(rows, schema=FAULTS)


def _facts(receipt: Receipt) -> dict[str, Any]:
    return {
        "id": receipt.id,
        "fault": clean(receipt.fault),
        "state": receipt.state,
        "family": clean(receipt.family) or None,
        "target_nodes": [clean(node) for node in receipt.nodes],
        "leader": receipt.leader,
        "reason": None if receipt.reason is None else clean(receipt.reason),
        "started": receipt.started,
        "stood": receipt.stood,
        "heal_started": receipt.heal_started,
        "healed": receipt.healed,
    }
