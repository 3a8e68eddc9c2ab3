"""What is said of the elements that sets lack at the end: how many each node's last read lacks, and since when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reports.analysis.faults import FaultWindow, when
from reports.style.format import number, one_line


class Lost(NamedTuple):
    """What nodes lack, as ``text`` without its full stop and since when (``onset``, s), and whether others hold it.

    ``lost_on`` are the nodes that alone lack elements, none if some are lost; reads of ``first`` lacked some first.
    """

    text: str
    held: str
    onset: float
    lost_on: tuple[str, ...]
    first: str


def lost_elements(losses: Sequence[Mapping[str, Any]], windows: Sequence[FaultWindow]) -> Lost:
    """Say what each node lacks, the first seen first, and whether last reads of other nodes hold it.

    ``losses`` are as ``history.records.violations.losses_of`` lists them; at least one.
    """
    ordered = sorted(losses, key=lambda one: int(one["seen_ns"]))
    names = [one_line(one["node"], 40) for one in ordered]
    first, *others = ordered
    onset = int(first["seen_ns"]) / 1e9
    elements = "element" if int(first["lost"]) == 1 else "elements"
    parts = [
        f"{names[0]} lacks {number(int(first['lost']))} acknowledged {elements}, seen since {when(onset, windows)}",
        *(
            f"{name} lacks {number(int(one['lost']))}, seen since {int(one['seen_ns']) / 1e9:.1f} s"
            for name, one in zip(names[1:], others, strict=True)
        ),
    ]
    total = sum(int(one["lost"]) for one in ordered)
    held = sum(int(one["elsewhere"]) for one in ordered)
    lost_on = tuple(sorted(names)) if held == total else ()
    return Lost("; ".join(parts), _held(total, held), onset, lost_on, names[0])


def _held(total: int, held: int) -> str:
    """Say how much of what is lost on some node the last read of another one holds."""
    if held == total:
        them = "it" if total == 1 else "every one of them"
        return f"The last read of another node holds {them}."
    return "No last read holds them." if not held else f"Of these {number(held)} are in the last read of another node."
