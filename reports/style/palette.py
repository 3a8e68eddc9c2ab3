"""Colours, as in Jepsen's plots.

A colour can only mean an outcome, a fault family or a verdict.  Every outcome also has its own marker, so that nothing
depends on colour alone.
"""

from __future__ import annotations

from typing import Final

OUTCOME_COLOURS: Final = {"ok": "#6DB6FE", "info": "#FFAA26", "fail": "#FEB5DA"}
#: The same hues, dark enough for thin lines and small marks on white.
OUTCOME_INKS: Final = {"ok": "#2F7FCC", "info": "#C77700", "fail": "#D04C93"}

#: One colour per family of faults, as in receipts; ``other`` is for runs that did not record the family.  Families that
#: Jepsen lacks have colours that readers without red or green receptors can tell apart from all others.
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

#: Okabe and Ito's palette, which colour-blind readers can tell apart; one colour per node.
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
    """Return the family whose colour a fault gets, given the family in its receipt."""
    return recorded if recorded in FAULT_COLOURS else "other"


def fault_styles() -> str:
    """Return CSS rules that fill shapes of class ``f-<family>`` with the family's colour."""
    return "".join(f".f-{family} {{ fill: {colour}; }}\n" for family, colour in FAULT_COLOURS.items())


def node_colour(position: int) -> str:
    return NODE_COLOURS[position % len(NODE_COLOURS)]


def bright(colour: str) -> bool:
    """Return whether black text is easier to read than white on a ``#rrggbb`` colour."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return 0.3 * red + 0.59 * green + 0.11 * blue > 127
