"""The table of faults: receipts with their recovery figures, which ``history.metrics.recovery`` defines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from history import Receipt
from history.metrics.recovery import Load, Times, figures, moment_or, surroundings
from history.tables.schemas import FAULTS
from pipeline.tables.columns import clean, json_text


def fault_table(receipts: Sequence[Receipt], ok: Times, load: Load) -> pa.Table:
    """Rows of ``faults.parquet``.  ``ok`` holds the completion times of ok operations in ascending order."""
    around = surroundings(receipts, load)
    rows = [{**_facts(receipt), **figures(receipt, around.get(receipt.id), ok, load)} for receipt in receipts]
    return pa.Table.from_pylist(rows, schema=FAULTS)


def installed_spans(receipts: Sequence[Receipt], load: Load) -> list[tuple[int, int]]:
    """When some fault stood for certain (from ``stood`` to ``heal_started``), merged and in order."""
    spans = sorted(
        (receipt.stood, moment_or(receipt.heal_started, load.last))
        for receipt in receipts
        if receipt.state == "installed" and receipt.stood is not None
    )
    merged: list[tuple[int, int]] = []
    for begin, end in spans:
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def _facts(receipt: Receipt) -> dict[str, Any]:
    return {
        "id": receipt.id,
        "fault": clean(receipt.fault),
        "state": receipt.state,
        "nodes": json_text(list(receipt.nodes)),
        "leader": receipt.leader,
        "started": receipt.started,
        "stood": receipt.stood,
        "heal_started": receipt.heal_started,
        "healed": receipt.healed,
    }
