"""Colours, as in Jepsen's plots.

Colour carries three meanings only: outcome, fault family, verdict.  Every outcome has a marker as well, so that
nothing depends on colour alone.
"""

from __future__ import annotations

from typing import Final

OUTCOME_COLOURS: Final = {"ok": "#6DB6FE", "info": "#FFAA26", "fail": "#FEB5DA"}
#: The same hues, dark enough for thin lines and small marks on white.
OUTCOME_INKS: Final = {"ok": "#2F7FCC", "info": "#C77700", "fail": "#D04C93"}

#: One colour a family of faults, the families of their receipts; ``other`` is for runs that did not record it.  Any two
#: are told apart by readers without red or green receptors, too: those that Jepsen has not are chosen for that.
FAULT_COLOURS: Final = {
    "kill": "#E9A4A0",
    "pause": "#A0B1E9",
    "partition": "#E9DCA0",
    "packet": "#81C851",
    "clock": "#A0E9E3",
    "leadership": "#B370B7",
    "disk": "#BD9E68",
    "resource": "#C3ECCB",
    "other": "#8E8E8E",
}

#: Okabe and Ito's palette, legible for colour-blind readers, one colour a node.
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


def family_of(recorded: str) -> str:
    """Return the family in whose colour a fault is drawn, from the family in its receipt."""
    return recorded if recorded in FAULT_COLOURS else "other"


def fault_styles() -> str:
    """Write the rules that fill shapes of class ``f-<family>`` with the family's colour."""
    return "".join(f".f-{family} {{ fill: {colour}; }}\n" for family, colour in FAULT_COLOURS.items())


def node_colour(position: int) -> str:
    return NODE_COLOURS[position % len(NODE_COLOURS)]


def bright(colour: str) -> bool:
    """Check whether text on a ``#rrggbb`` is read better in black (perceived lightness above one half)."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return 0.3 * red + 0.59 * green + 0.11 * blue > 127
