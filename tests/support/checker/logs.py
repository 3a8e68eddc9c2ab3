"""Operations of logs and sets."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from history import Operation


def op(process: int, f: str, value: Any, result: Any, start: int, end: int | None, outcome: str = "ok") -> Operation:
    return Operation(process, f, None, value, result, outcome, start, end, start, end)  # type: ignore[arg-type]


def _changed(order: Any, random: Random) -> Any:
    """Return the rows with two neighbours exchanged, or with one row left out, doubled, or moved."""
    rows = order.tolist()
    if not rows:
        return order
    at, to = random.randrange(len(rows)), random.randrange(len(rows))
    what = random.choice(["exchange", "drop", "double", "move"])
    if what == "exchange":
        near = min(at + 1, len(rows) - 1)
        rows[at], rows[near] = rows[near], rows[at]
    elif what == "drop":
        del rows[at]
    elif what == "double":
        rows.insert(to, rows[at])
    else:
        rows.insert(to, rows.pop(at))
    return np.array(rows, np.int64)
