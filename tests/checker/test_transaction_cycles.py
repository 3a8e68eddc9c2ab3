"""Short cycles of dependencies, against all simple cycles of random graphs."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from random import Random

import networkx as nx
import numpy as np
import pytest

from checker.kernels import transaction_loops as loops
from checker.transactions import graph as graphs
from checker.transactions.graph import FoundCycle, Graph, cycles_of
from tests.support.draws import draws

WW, WR, RW = loops.WW, loops.WR, loops.RW


def random_edges(random: Random) -> set[tuple[int, int, int]]:
    size = random.randint(2, 7)
    kinds = random.choice([(WW,), (WW, WR), (WW, WR, RW), (WR, RW), (RW,), (WW, RW, RW, RW)])
    pairs = [random.sample(range(size), 2) for _ in range(random.randint(size, 2 * size))]
    return {(source, target, random.choice(kinds)) for source, target in pairs}


def found_in(edges: set[tuple[int, int, int]]) -> dict[str, list[FoundCycle]]:
    columns = np.array(sorted(edges), np.int32).T
    nodes = int(columns[:2].max()) + 1
    graph = Graph.of(loops, [(columns[0], columns[1], columns[2].astype(np.int8))], nodes, np.ones(nodes, np.bool_))
    by_name = defaultdict(list)
    for cycle in cycles_of(graph)[0]:
        by_name[cycle.name].append(cycle)
    return by_name


def name_of(kinds: tuple[int, ...]) -> str:
    anti = [kind == RW for kind in kinds]
    if any(here and after for here, after in zip(anti, [*anti[1:], anti[0]], strict=True)):
        return "G2-item"
    return ("G1c" if WR in kinds else "G0") if not any(anti) else "G-single" if sum(anti) == 1 else "G-nonadjacent"


def shortest_of(edges: set[tuple[int, int, int]]) -> dict[str, int]:
    """Return the length of the shortest simple cycle of each name."""
    kinds = defaultdict(set)
    for source, target, kind in edges:
        kinds[source, target].add(kind)
    lengths: dict[str, int] = {}
    for nodes in nx.simple_cycles(nx.DiGraph(list(kinds))):
        steps = zip(nodes, [*nodes[1:], nodes[0]], strict=True)
        for chosen in product(*(kinds[step] for step in steps)):
            name = name_of(chosen)
            lengths[name] = min(lengths.get(name, len(nodes)), len(nodes))
    return lengths


@pytest.mark.parametrize("effort", [graphs._EFFORT, 0])
def test_each_cycle_is_true_and_the_shortest_of_its_name(monkeypatch: pytest.MonkeyPatch, effort: int) -> None:
    """Without any effort left, a cycle is still true, and there is one wherever one is the only explanation."""
    monkeypatch.setattr(graphs, "_EFFORT", effort)
    names = set()
    for seed in range(draws(300, 100_000)):
        edges = random_edges(Random(seed))
        lengths, found = shortest_of(edges), found_in(edges)
        assert bool(found) == bool(lengths), seed
        for name, cycles in found.items():
            for cycle in cycles:
                steps = zip(cycle.nodes, [*cycle.nodes[1:], cycle.nodes[0]], cycle.kinds, strict=True)
                assert all(step in edges for step in steps), seed
                assert len(set(cycle.nodes)) == len(cycle.nodes), seed
                assert name_of(cycle.kinds) == name, seed
            if effort:
                assert min(len(cycle.nodes) for cycle in cycles) == lengths[name], (seed, name)
            names.add(name)
    assert names == {"G0", "G1c", "G-single", "G-nonadjacent", "G2-item"}
