"""Graph of dependencies between transactions: its components, and the names of the cycles in them.

The components alone decide the levels, in linear time.  The search for short cycles stays inside components.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checker.kernels import transaction_loops as k
from checker.models.levels import DATA, PROCESS, REALTIME, SUFFIXES

Nodes = NDArray[np.int32]
Flags = NDArray[np.bool_]
#: At most this many cycles of each name are shown.
MOST_SHOWN: Final = 8
#: All searches for the cycles of one name look at about this many edges; each starts from ``_FEWEST`` edges at least.
_EFFORT: Final = 40_000_000
_FEWEST: Final = 4
#: Finds a cycle through the edge (source, target) that passes at most a number of transactions.
Search: TypeAlias = "Callable[[int, int, int], FoundCycle | None]"
KINDS: Final = ("ww", "wr", "rw", "process", "realtime")


@dataclass(frozen=True, slots=True)
class FoundCycle:
    """Named cycle of dependencies.

    ``nodes`` include helpers; ``kinds`` are the kinds of the edges from each node to the next, around the cycle.
    """

    name: str
    nodes: tuple[int, ...]
    kinds: tuple[int, ...]
    in_doubt: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """Dependencies as edges, sorted by their source.

    ``nodes`` are the original numbers of the nodes; those from ``real`` on are helpers.  ``certain`` marks helpers
    and the nodes of ok transactions.
    """

    loops: ModuleType
    start: NDArray[np.int32]
    targets: Nodes
    kinds: NDArray[np.int8]
    nodes: Nodes
    real: int
    certain: Flags

    @classmethod
    def of(cls, loops: ModuleType, edges: list[tuple[Any, Any, Any]], nodes: int, ok: Flags) -> Graph:
        """Make a graph from pieces, each (sources, targets, kinds); one kind may stand for a whole piece."""
        source = np.concatenate([piece[0] for piece in edges]).astype(np.int32, copy=False)
        target = np.concatenate([piece[1] for piece in edges]).astype(np.int32, copy=False)
        kind = np.concatenate([np.broadcast_to(np.int8(piece[2]), len(piece[0])) for piece in edges])
        certain = np.concatenate([ok, np.ones(nodes - ok.size, np.bool_)])
        start, targets, kinds = loops.adjacency(source, target, np.ascontiguousarray(kind), nodes)
        return cls(loops, start, targets, kinds, np.arange(nodes, dtype=np.int32), ok.size, certain)

    @property
    def sources(self) -> Nodes:
        """The source of each edge."""
        return np.repeat(np.arange(self.nodes.size, dtype=np.int32), np.diff(self.start))

    def with_edges(self, sources: Nodes, targets: Nodes) -> Graph:
        """Return the graph with more edges between its nodes."""
        edges = [(self.sources, self.targets, self.kinds), (sources, targets, k.WW)]
        return Graph.of(self.loops, edges, self.nodes.size, self.certain[: self.real])

    def within(self, kept: Flags) -> Graph:
        """Return the part of the graph that consists of these nodes, renumbered."""
        number = np.cumsum(kept, dtype=np.int32) - 1
        source = self.sources
        inside = kept[source] & kept[self.targets]
        edges = number[source[inside]], number[self.targets[inside]], self.kinds[inside]
        start, targets, kinds = self.loops.adjacency(*edges, int(kept.sum()))
        real = int(kept[: self.real].sum())
        return Graph(self.loops, start, targets, kinds, self.nodes[kept], real, self.certain[kept])

    def components(self, counts: Flags, group: Nodes, *, layered: bool = False) -> Nodes:
        """Return the component of each node (or layer of a node); -1 for a node that is alone in its component."""
        component: Nodes = self.loops.components(self.start, self.targets, self.kinds, counts, group, layered)[0]
        return component

    def inside(self, component: Nodes, kind: int, *, layered: bool = False) -> list[list[tuple[int, int]]]:
        """Return the edges of a kind inside each component that has any, in ascending order."""
        edges = np.flatnonzero(self.kinds == kind)
        source, target = self.sources[edges], self.targets[edges]
        at, to = (2 * source, 2 * target + 1) if layered else (source, target)
        same = (component[at] >= 0) & (component[at] == component[to])
        of_component: dict[int, list[tuple[int, int]]] = {}
        for number, edge in zip(
            component[at[same]].tolist(), zip(source[same].tolist(), target[same].tolist(), strict=True), strict=True
        ):
            of_component.setdefault(number, []).append(edge)
        return list(of_component.values())


class Paths:
    """Searches for short paths and cycles in a graph, with the memory that they share."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        size = 2 * graph.nodes.size
        self._memory = (
            np.full(size, k.FAR, np.int32), np.zeros(size, np.bool_), np.empty(size, np.int32), np.empty(size, np.int8),
            np.empty(4 * size + 2, np.int32), np.empty(size, np.int32),
        )  # fmt: skip
        self._looked = 0

    def path(
        self, counts: Flags, component: Nodes, origin: int, goal: int, most: int, *,
        layers: int = 1, neighbours: bool = False, avoid: int = -1,
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:  # fmt: skip
        """Return the nodes of a shortest path and the kinds of its edges; both empty if there is none.

        The path may pass ``most`` transactions at most.
        """
        graph = self.graph
        # ``most`` includes the first node.
        most -= origin // layers < graph.real
        nodes, kinds, looked = graph.loops.shortest_path(
            graph.start, graph.targets, graph.kinds, counts, component, layers, neighbours, origin, goal, graph.real,
            avoid, most, *self._memory,
        )  # fmt: skip
        self._looked += looked
        return tuple(nodes.tolist()), tuple(kinds.tolist())

    def shortest(self, edges: list[tuple[int, int]], search: Search, share: int) -> FoundCycle | None:
        """Return the cycle with the fewest transactions through one of the edges; None if none is found.

        It is the shortest of all unless the search looked at its ``share`` of the edges that all may look at.
        """
        best, most, until = None, self.graph.real, self._looked + _EFFORT // share
        for number, (source, target) in enumerate(edges):
            if self._looked > until and number >= _FEWEST:
                break
            if (cycle := search(source, target, most)) is not None:
                best, most = cycle, sum(node < self.graph.real for node in cycle.nodes) - 1
                if most < 2:
                    break
        return best


def _counting(*kinds: int) -> Flags:
    counts = np.zeros(9, np.bool_)
    counts[list(kinds)] = True
    return counts


#: The kinds of edges that each variant adds to those of the data: always, and where stale reads count.
_ORDERS: Final[tuple[tuple[int, ...], ...]] = ((), (k.PROCESS,), (k.PROCESS, k.REALTIME))
_GUESSED: Final[tuple[tuple[int, ...], ...]] = ((), (k.CONT_PROCESS,), (k.CONT_PROCESS, k.CONT_REALTIME))


def cycles_of(graph: Graph) -> tuple[list[FoundCycle], dict[str, int]]:
    """Return the shortest cycles found, and the number of components with a cycle by name.

    There is one cycle for each component, but at most ``MOST_SHOWN`` of each name.  A name with -process is
    searched for only if the plain name was not found, and one with -realtime only if neither was.
    """
    everyone = np.zeros(graph.nodes.size, np.int32)
    whole = graph.components(np.ones(9, np.bool_), everyone)
    if not (whole >= 0).any():
        return [], {}
    graph, whole = graph.within(whole >= 0), whole[whole >= 0]
    paths = Paths(graph)
    cycles: list[FoundCycle] = []
    counts: dict[str, int] = {}
    for variant in (DATA, PROCESS, REALTIME):
        for name, shown, number in _of_variant(paths, whole, variant):
            if number and not any(name + suffix in counts for suffix in SUFFIXES[:variant]):
                counts[name + SUFFIXES[variant]] = number
                cycles += [replace(cycle, name=name + SUFFIXES[variant]) for cycle in shown]
    named = [replace(cycle, nodes=tuple(graph.nodes[list(cycle.nodes)].tolist())) for cycle in cycles]
    return named, counts


_Named: TypeAlias = tuple[str, list[FoundCycle], int]


def _of_variant(paths: Paths, whole: Nodes, variant: int) -> Iterator[_Named]:
    graph = paths.graph
    orders, guessed = _ORDERS[variant], _GUESSED[variant]
    written = _counting(k.WW, k.CONT, *orders)
    certain = graph.components(written, np.where(graph.certain, whole, -1).astype(np.int32))
    write_cycles = _through(paths, written, certain, k.WW, "G0")
    if not write_cycles[2]:
        shown, number = _through(paths, written, graph.components(written, whole), k.WW, "G0")[1:]
        write_cycles = "G0", [replace(cycle, in_doubt=True) for cycle in shown], number
    yield write_cycles
    known = _counting(k.WW, k.WR, k.CONT, k.CONT_COMMITTED, *orders)
    circular = graph.components(known, whole)
    yield _through(paths, known, circular, k.WR, "G1c")
    read = _counting(k.WW, k.WR, k.RW, k.CONT, k.CONT_COMMITTED, *orders, *guessed)
    layers = graph.components(read, whole, layered=True)
    yield from _without_neighbours(paths, read, whole, layers, circular >= 0)
    explained = (circular >= 0) | (layers[::2] >= 0) | (layers[1::2] >= 0)
    yield _with_neighbours(paths, read, graph.components(read, whole), explained)


def _through(paths: Paths, counts: Flags, component: Nodes, kind: int, name: str) -> _Named:
    """Find the components in which an edge of this kind lies on a cycle."""
    parts = paths.graph.inside(component, kind)

    def search(source: int, target: int, most: int) -> FoundCycle | None:
        nodes, kinds = paths.path(counts, component, target, source, most)
        return FoundCycle(name, nodes, (*kinds, kind)) if nodes else None

    shown = [paths.shortest(edges, search, MOST_SHOWN) for edges in parts[:MOST_SHOWN]]
    return name, [cycle for cycle in shown if cycle is not None], len(parts)


def _without_neighbours(
    paths: Paths, read: Flags, whole: Nodes, layers: Nodes, circular: Flags
) -> Iterator[_Named]:  # fmt: skip
    """Find the components with a cycle that has rw edges but no two of them next to each other.

    G-single has exactly one rw edge.  A component without any ``circular`` node (one on a cycle of ww and wr edges)
    certainly has such a cycle, even if the search gave up before it found one.
    """
    others = read.copy()
    others[k.RW] = False

    def with_one(source: int, target: int, most: int) -> FoundCycle | None:
        nodes, kinds = paths.path(others, whole, target, source, most)
        return FoundCycle("G-single", nodes, (*kinds, k.RW)) if nodes else None

    def with_several(source: int, target: int, most: int) -> FoundCycle | None:
        nodes, kinds = paths.path(read, layers, 2 * target + 1, 2 * source, most, layers=2)
        cycle = _simple(nodes, (*kinds, k.RW))
        return None if cycle is None else FoundCycle("G-nonadjacent", *cycle)

    single, several, unfound = list[FoundCycle](), list[FoundCycle](), 0
    parts = paths.graph.inside(layers, k.RW, layered=True)
    for edges in parts:
        if (cycle := paths.shortest(edges, with_one, len(parts))) is not None:
            single.append(cycle)
        elif (cycle := paths.shortest(edges, with_several, len(parts))) is not None:
            several.append(cycle)
        elif not circular[np.flatnonzero(layers == layers[2 * edges[0][0]]) // 2].any():
            unfound += 1
    yield "G-single", single[:MOST_SHOWN], len(single)
    yield "G-nonadjacent", several[:MOST_SHOWN], len(several) + unfound


def _simple(nodes: tuple[int, ...], kinds: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the cycle, or a simple part of it that has rw edges but no two next to each other.

    A part is needed if the cycle passes a node twice.  None means that the rest is a cycle without rw edges, which
    has its own name.
    """
    for place, node in enumerate(nodes):
        if node in nodes[place + 1 :]:
            again = nodes.index(node, place + 1)
            inner = nodes[place:again], kinds[place:again]
            outer = nodes[:place] + nodes[again:], kinds[:place] + kinds[again:]
            return next((cycle for part in (inner, outer) if (cycle := _simple(*part)) is not None), None)
    anti = [kind == k.RW for kind in kinds if kind < k.CONT]
    neighbours = any(here and after for here, after in zip(anti, [*anti[1:], anti[0]], strict=True)) if anti else True
    return None if neighbours or not any(anti) else (nodes, kinds)


def _with_neighbours(paths: Paths, read: Flags, component: Nodes, explained: Flags) -> _Named:
    """Find the components with a cycle that has two rw edges next to each other.

    Any other cycle has another name, so a component in which no node is ``explained`` certainly has such a cycle.
    """
    doubled = np.repeat(component, 2)

    def search(source: int, target: int, most: int) -> FoundCycle | None:
        nodes, kinds = paths.path(
            read, doubled, 2 * target + 1, 2 * source + 1, most, layers=2, neighbours=True, avoid=2 * source
        )
        return FoundCycle("G2-item", nodes, (*kinds, k.RW)) if nodes else None

    def through(source: int, target: int, most: int) -> FoundCycle | None:
        nodes, kinds = paths.path(read, component, target, source, most)
        return FoundCycle("G2-item", nodes, (*kinds, k.RW)) if nodes else None

    other_names = set(component[explained].tolist())
    shown, number = list[FoundCycle](), 0
    parts = paths.graph.inside(component, k.RW)
    for edges in parts:
        cycle = paths.shortest(edges, search, len(parts))
        if cycle is None and component[edges[0][0]] not in other_names:
            cycle = paths.shortest(edges, through, len(parts))
        number += cycle is not None
        if cycle is not None and len(shown) < MOST_SHOWN:
            shown.append(cycle)
    return "G2-item", shown, number
