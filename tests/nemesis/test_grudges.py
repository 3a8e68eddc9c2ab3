from __future__ import annotations

import random
from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nemesis.core import grudges

sizes = st.integers(3, 9)
seeds = st.integers(0, 2**32)
quick = settings(max_examples=60)


def names(n: int) -> list[str]:
    return [f"n{i}" for i in range(1, n + 1)]


def symmetric(grudge: nx.DiGraph) -> bool:
    return all(grudge.has_edge(b, a) for a, b in grudge.edges)


def view(grudge: nx.DiGraph, node: str) -> frozenset[str]:
    return frozenset(grudge) - frozenset(grudge[node])


def sides(grudge: nx.DiGraph) -> list[set[str]]:
    """Groups that hear each other, for a symmetric grudge."""
    hears = nx.complement(grudge.to_undirected())
    return sorted(nx.connected_components(hears), key=len)


@given(sizes, seeds)
@quick
def test_no_node_drops_its_own_packets_and_every_node_is_in_the_graph(n, seed):
    for shape in (grudges.random_node, grudges.random_halves, grudges.bridge, grudges.majorities_ring):
        grudge = shape(names(n), random.Random(seed))
        assert set(grudge) == set(names(n))
        assert not list(nx.selfloop_edges(grudge))


@given(sizes, seeds)
@quick
def test_random_node_is_alone_against_all_others(n, seed):
    grudge = grudges.random_node(names(n), random.Random(seed))
    assert symmetric(grudge)
    assert [len(side) for side in sides(grudge)] == [1, n - 1]


@given(sizes, seeds)
@quick
def test_random_halves_leave_one_side_a_quorum(n, seed):
    grudge = grudges.random_halves(names(n), random.Random(seed))
    smaller, larger = sides(grudge)
    assert symmetric(grudge)
    assert (len(smaller), len(larger)) == (n // 2, n - n // 2)
    assert len(larger) >= grudges.majority(n) or n % 2 == 0
    assert grudge.number_of_edges() == 2 * len(smaller) * len(larger)


@given(sizes, seeds)
@quick
def test_bridge_is_one_node_of_the_larger_half_that_everybody_hears(n, seed):
    grudge = grudges.bridge(names(n), random.Random(seed))
    assert symmetric(grudge)
    bridges = [node for node in grudge if not grudge[node]]
    assert len(bridges) == 1
    without = grudge.subgraph(set(grudge) - set(bridges))
    assert [len(side) for side in sides(without)] == sorted([n // 2, n - n // 2 - 1])


@given(seeds)
@quick
def test_over_a_bridge_of_five_everyone_sees_a_majority_and_the_views_share_only_the_bridge(seed):
    grudge = grudges.bridge(names(5), random.Random(seed))
    views = {view(grudge, node) for node in grudge if grudge[node]}
    assert {len(one) for one in views} == {3}
    one, other = views
    assert len(one & other) == 1


@given(sizes, seeds)
@quick
def test_in_the_ring_every_node_sees_a_majority(n, seed):
    grudge = grudges.majorities_ring(names(n), random.Random(seed))
    assert all(len(view(grudge, node)) >= grudges.majority(n) for node in grudge)


@given(st.integers(3, 5), seeds)
@quick
def test_up_to_five_nodes_no_two_see_the_same_majority(n, seed):
    grudge = grudges.majorities_ring(names(n), random.Random(seed))
    views = [view(grudge, node) for node in grudge]
    assert len(set(views)) == n
    assert {len(one) for one in views} == {grudges.majority(n)}


@given(seeds)
@quick
def test_the_ring_of_five_is_symmetric_and_everyone_sees_both_neighbours(seed):
    grudge = grudges.majorities_ring(names(5), random.Random(seed))
    assert symmetric(grudge)
    hears = nx.complement(grudge.to_undirected())
    assert nx.is_isomorphic(hears, nx.cycle_graph(5))


@given(seeds)
@quick
def test_the_ring_of_three_has_one_way_links_only(seed):
    grudge = grudges.majorities_ring(names(3), random.Random(seed))
    assert nx.is_isomorphic(grudge, nx.cycle_graph(3, create_using=nx.DiGraph))
    assert not any(grudge.has_edge(b, a) for a, b in grudge.edges)


@given(st.integers(6, 9), seeds)
@quick
def test_the_grown_ring_is_symmetric_and_no_one_sees_everybody_needlessly(n, seed):
    grudge = grudges.majorities_ring(names(n), random.Random(seed))
    assert symmetric(grudge)
    sizes_of_views = [len(view(grudge, node)) for node in grudge]
    assert min(sizes_of_views) == grudges.majority(n)
    assert max(sizes_of_views) <= grudges.majority(n) + 1


@pytest.mark.parametrize("n", [6, 7, 9])
def test_grown_rings_have_distinct_views_in_most_draws(n):
    distinct = 0
    for seed in range(200):
        grudge = grudges.majorities_ring(names(n), random.Random(seed))
        distinct += len({view(grudge, node) for node in grudge}) == n
    assert distinct > 100


@given(sizes, seeds)
@quick
def test_the_same_seed_gives_the_same_grudge_and_seeds_differ(n, seed):
    for shape in (grudges.random_node, grudges.random_halves, grudges.bridge, grudges.majorities_ring):
        first = grudges.to_mapping(shape(names(n), random.Random(seed)))
        assert first == grudges.to_mapping(shape(names(n), random.Random(seed)))
        others = [grudges.to_mapping(shape(names(n), random.Random(seed + more))) for more in range(1, 30)]
        assert any(other != first for other in others)


@given(sizes, seeds, st.data())
@quick
def test_the_leaders_side_has_the_leader_and_the_size_asked_for(n, seed, data):
    leader = data.draw(st.sampled_from(names(n)))
    size = data.draw(st.integers(1, n - 1))
    grudge = grudges.leader_side(names(n), leader, size, random.Random(seed))
    assert symmetric(grudge)
    assert len(view(grudge, leader)) == size


def test_one_way_cuts_one_direction():
    grudge = grudges.one_way(names(3), deaf=["n1"], mute=["n2", "n3"])
    assert set(grudge.edges) == {("n1", "n2"), ("n1", "n3")}


def test_every_pair_across_is_cut_both_ways():
    grudge = grudges.separate(names(4), ["n1", "n2"], ["n3", "n4"])
    assert all(
        grudge.has_edge(a, b) == ((a in ("n1", "n2")) != (b in ("n1", "n2")))
        for x, y in combinations(names(4), 2)
        for a, b in ((x, y), (y, x))
    )


def test_the_mapping_lists_droppers_in_the_clusters_order():
    grudge = grudges.separate(names(3), ["n3"], ["n2", "n1"])
    assert grudges.to_mapping(grudge) == {"n1": ("n3",), "n2": ("n3",), "n3": ("n1", "n2")}
    assert list(grudges.to_mapping(grudge)) == ["n1", "n2", "n3"]
