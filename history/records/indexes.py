"""Write indexes of entries: plain numbers, or an epoch in the upper bits and a counter in the lower ones.

A system whose indexes have epochs (ZooKeeper's zxid) orders its entries by them; but how many lie between two of them
is known only within one epoch.
"""

from __future__ import annotations


def index_text(index: int, epoch_bits: int = 0) -> str:
    """Write an index; one with an epoch in hexadecimal, as such systems write it: ``0x200000c2f``."""
    return f"{index:#x}" if epoch_bits and index >= 0 else str(index)


def between(front: int, index: int, epoch_bits: int = 0) -> int | None:
    """Count the entries from an index up to another one; None where they are of different epochs."""
    if epoch_bits and max(front, 0) >> epoch_bits != max(index, 0) >> epoch_bits:
        return None
    return front - index
