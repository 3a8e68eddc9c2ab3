"""Format indexes of log entries: plain numbers, or an epoch in the upper bits and a counter in the lower ones.

Indexes with epochs (such as ZooKeeper's zxid) order the entries, but the number of entries between two indexes is known
only within one epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def epoch_bits_in(results: Mapping[str, Any]) -> int:
    """Return how many low bits of an index count within an epoch, from ``results.json``; 0 if there are no epochs."""
    bits = (results.get("environment") or {}).get("epoch_bits")
    return bits if isinstance(bits, int) and 0 < bits < 63 else 0


def index_text(index: int, epoch_bits: int = 0) -> str:
    """Format an index.  One with an epoch is in hexadecimal, as its system writes it: ``0x200000c2f``."""
    return f"{index:#x}" if epoch_bits and index >= 0 else str(index)


def between(front: int, index: int, epoch_bits: int = 0) -> int | None:
    """Return how many entries lie between ``index`` and ``front``; None if their epochs differ."""
    if epoch_bits and max(front, 0) >> epoch_bits != max(index, 0) >> epoch_bits:
        return None
    return front - index
