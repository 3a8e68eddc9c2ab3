"""Colours and shapes: the ones that people know from Jepsen's plots, and which family a fault belongs to.

Colour carries three meanings only: outcome, fault family, verdict.  Every outcome has a marker as well, so that
nothing depends on colour alone.
"""

from __future__ import annotations

from typing import Final

OUTCOME_COLOURS: Final = {"ok": "#6DB6FE", "info": "#FFAA26", "fail": "#FEB5DA"}
OUTCOME_INKS: Final = {"ok": "#2F7FCC", "info": "#C77700", "fail": "#D04C93"}
"""The same hues, dark enough for thin lines and small marks on white."""

FAULT_COLOURS: Final = {
    "kill": "#E9A4A0",
    "pause": "#A0B1E9",
    "partition": "#E9DCA0",
    "packet": "#D1E8A0",
    "clock": "#A0E9E3",
    "other": "#CFCFCF",
}

NODE_COLOURS: Final = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#D55E00",
    "#56B4E9",
    "#8C6BB1",
    "#7F7F7F",
    "#B8A000",
)
"""Okabe and Ito's palette, legible for colour-blind readers, one colour a node."""

F_MARKERS: Final = {"read": "o", "write": "s", "cas": "^"}

_FAMILY_WORDS: Final = (
    ("packet", ("packet", "slow-link", "loss", "delay", "reorder", "duplicate")),
    ("clock", ("clock", "skew", "strobe")),
    ("pause", ("pause", "hammer", "stop", "starve", "slow")),
    ("kill", ("kill", "crash", "power", "restart", "transfer")),
    ("partition", ("partition", "bridge", "isolate", "swizzle", "reset", "majorit", "ring", "halves", "cut")),
)


def family_of(fault: str) -> str:
    """The family whose colour a fault is drawn in; ``other`` when its name tells nothing."""
    name = fault.lower()
    for family, words in _FAMILY_WORDS:
        if any(word in name for word in words):
            return family
    return "other"


def node_colour(position: int) -> str:
    return NODE_COLOURS[position % len(NODE_COLOURS)]


def bright(colour: str) -> bool:
    """Whether text on a ``#rrggbb`` is read better in black (perceived lightness above one half)."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return 0.3 * red + 0.59 * green + 0.11 * blue > 127
