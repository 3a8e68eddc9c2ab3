"""The network during a fault: the nodes on a circle, and the links between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import cos, sin, tau
from typing import Literal, TypeAlias

from reports.analysis.faults import FaultWindow

State: TypeAlias = Literal["kept", "cut", "one-way"]


@dataclass(frozen=True, slots=True)
class DrawnLink:
    """Link between two nodes; if it is ``one-way``, packets still go from ``source`` to ``target``."""

    source: str
    target: str
    state: State


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes and links; positions are in the unit square, y downwards, with the first node on top."""

    positions: dict[str, tuple[float, float]]
    links: tuple[DrawnLink, ...]
    struck: tuple[str, ...]


def topology_of(window: FaultWindow, nodes: Sequence[str], windows: Sequence[FaultWindow] = ()) -> Topology:
    """Lay out the network while a fault was active; ``struck`` are the nodes killed, paused or delayed.

    Nodes struck by other ``windows`` that were still active are included.  Partitions strike only links, and a node
    that hands over its leadership keeps running, so neither counts.
    """
    moment = window.started if window.stood is None else window.stood
    others = (other for other in windows if other.installed and other.started < moment and other.stands(moment, moment))
    lasting = [other for other in others if other.heal_started is None or other.heal_started > moment]
    struck = dict.fromkeys(node for fault in (window, *lasting) if _strikes(fault) for node in fault.nodes)
    return network(nodes, window.grudge, tuple(struck))


def _strikes(window: FaultWindow) -> bool:
    return not window.grudge and window.family != "leadership"


def network(nodes: Sequence[str], grudge: Mapping[str, Sequence[str]], struck: Sequence[str]) -> Topology:
    """Lay out nodes and links under a grudge (node -> the nodes whose packets it drops)."""
    links = tuple(_link(a, b, grudge) for a, b in combinations(nodes, 2))
    return Topology(positions(nodes), links, tuple(node for node in struck if node in nodes))


def positions(nodes: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Place nodes on a circle that fills the square, clockwise from the top; a single one in the middle."""
    if len(nodes) < 2:
        return dict.fromkeys(nodes, (0.5, 0.5))
    angles = {node: tau * place / len(nodes) for place, node in enumerate(nodes)}
    return {node: (0.5 + 0.5 * sin(angle), 0.5 - 0.5 * cos(angle)) for node, angle in angles.items()}


def _link(a: str, b: str, grudge: Mapping[str, Sequence[str]]) -> DrawnLink:
    to_b, to_a = a not in grudge.get(b, ()), b not in grudge.get(a, ())
    if to_a and to_b:
        return DrawnLink(a, b, "kept")
    if not to_a and not to_b:
        return DrawnLink(a, b, "cut")
    return DrawnLink(a, b, "one-way") if to_b else DrawnLink(b, a, "one-way")
