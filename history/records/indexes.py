"""Write indexes of entries: plain numbers, or an epoch in the upper bits and a counter in the lower ones.

A system whose indexes have epochs (ZooKeeper's zxid) orders its entries by them; but how many lie between two of them
is known only within one epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def epoch_bits_in(results: Mapping[str, Any]) -> int:
    """The number of lower bits of an index that count within an epoch, by ``results.json``; 0: there are no epochs."""
    bits = (results.get("environment") or {}).get("epoch_bits")
    return bits if isinstance(bits, int) and 0 < bits < 63 else 0


def index_text(index: int, epoch_bits: int = 0) -> str:
    """Write an index; one with an epoch in hexadecimal, as such systems write it: ``0x200000c2f``."""
    return f"{index:#x}" if epoch_bits and index >= 0 else str(index)


def between(front: int, index: int, epoch_bits: int = 0) -> int | None:
    """Count the entries from an index up to another one; None where they are of different epochs."""
    if epoch_bits and max(front, 0) >> epoch_bits != max(index, 0) >> epoch_bits:
        return None
    return front - index
