"""Grudges: which node drops packets from which, as directed graphs.

An edge ``a -> b`` means that a drops every packet that comes from b.  All functions are pure: they take the names in
the cluster's order and a random generator, and return a graph over all names.  A shape is drawn among ``names`` only,
and these determine halves and majorities.  ``others`` are nodes that do not count; each of them joins some side.  The
shapes are those of Jepsen's nemesis (``partition-random-node``, ``partition-random-halves``, ``bridge``,
``majorities-ring``).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import networkx as nx

if TYPE_CHECKING:
    Grudge: TypeAlias = "nx.DiGraph[str]"
else:
    Grudge = nx.DiGraph

Shape: TypeAlias = Callable[[Sequence[str], random.Random, Sequence[str]], Grudge]

RING_LIMIT = 5


def majority(n: int) -> int:
    return n // 2 + 1


def empty(names: Sequence[str]) -> Grudge:
    grudge: Grudge = nx.DiGraph()
    grudge.add_nodes_from(names)
    return grudge


def one_way(names: Sequence[str], deaf: Iterable[str], mute: Iterable[str]) -> Grudge:
    """Return a grudge in which ``deaf`` nodes drop packets from ``mute`` nodes, but not the other way around."""
    grudge = empty(names)
    grudge.add_edges_from((a, b) for a, b in product(list(deaf), list(mute)) if a != b)
    return grudge


def separate(names: Sequence[str], side: Iterable[str], other: Iterable[str]) -> Grudge:
    """Return a grudge between two sides that do not hear each other."""
    left, right = list(side), list(other)
    return nx.compose(one_way(names, left, right), one_way(names, right, left))


def halves_of(names: Sequence[str], rng: random.Random) -> tuple[list[str], list[str]]:
    """Split the names into two random halves, the smaller one first."""
    shuffled = rng.sample(list(names), len(names))
    middle = len(names) // 2
    return shuffled[:middle], shuffled[middle:]


def joined(grudge: Grudge, others: Sequence[str], rng: random.Random) -> Grudge:
    """Add ``others`` to a grudge, each on the side of a randomly drawn node.

    An added node hears the same nodes as the drawn one, and is heard by the same nodes.  The two hear each other.
    """
    like = {name: name for name in grudge} | {other: rng.choice(list(grudge)) for other in others}
    whole = empty(list(like))
    whole.add_edges_from((a, b) for a, b in product(like, like) if grudge.has_edge(like[a], like[b]))
    return whole


def random_node(names: Sequence[str], rng: random.Random, others: Sequence[str] = ()) -> Grudge:
    """Separate a random one of ``names`` from all other nodes."""
    node, every = rng.choice(list(names)), [*names, *others]
    return separate(every, [node], [name for name in every if name != node])


def random_halves(names: Sequence[str], rng: random.Random, others: Sequence[str] = ()) -> Grudge:
    return joined(separate(names, *halves_of(names, rng)), others, rng)


def bridge(names: Sequence[str], rng: random.Random, others: Sequence[str] = ()) -> Grudge:
    """Separate two random halves, except for one node of the larger half that hears all nodes and is heard by all."""
    smaller, larger = halves_of(names, rng)
    return joined(separate(names, smaller, larger[1:]), others, rng)


def bridge_over(names: Sequence[str], node: str, rng: random.Random, others: Sequence[str] = ()) -> Grudge:
    """Connect two random halves of the other ``names`` only through ``node``, which need not be in ``names``."""
    halves = halves_of([name for name in names if name != node], rng)
    every = list(dict.fromkeys([*names, node]))
    return joined(separate(every, *halves), [name for name in others if name != node], rng)


def leader_side(names: Sequence[str], leader: str, size: int, rng: random.Random, others: Sequence[str] = ()) -> Grudge:
    """Separate the leader and ``size - 1`` random companions from the rest."""
    followers = [name for name in names if name != leader]
    side = [leader, *rng.sample(followers, size - 1)]
    return joined(separate(names, side, [name for name in names if name not in side]), others, rng)


def majorities_ring(names: Sequence[str], rng: random.Random, others: Sequence[str] = ()) -> Grudge:
    """Let every one of ``names`` hear a majority; with up to five of them, no two hear the same majority."""
    views = _ring_views(names, rng) if len(names) <= RING_LIMIT else _grown_views(names, rng)
    return joined(from_views(names, views), others, rng)


def from_views(names: Sequence[str], views: Mapping[str, Iterable[str]]) -> Grudge:
    """Return a grudge in which every node drops packets from outside its view.  A node without a view hears all."""
    grudge = empty(names)
    for name in names:
        view = {name, *views.get(name, names)}
        grudge.add_edges_from((name, other) for other in names if other not in view)
    return grudge


def _ring_views(names: Sequence[str], rng: random.Random) -> dict[str, list[str]]:
    """Return the view of each node: the window of a majority's width that is centred on it, on a shuffled ring."""
    ring, width = rng.sample(list(names), len(names)), majority(len(names))
    windows = ([ring[(start + step) % len(ring)] for step in range(width)] for start in range(len(ring)))
    return {window[width // 2]: window for window in windows}


def _grown_views(names: Sequence[str], rng: random.Random) -> dict[str, list[str]]:
    """Return views with at least a majority of nodes, grown step by step from views of just the node itself.

    In each step, the node with the smallest view meets the node outside it with the smallest view; ties are drawn.
    """
    graph = nx.Graph([(name, name) for name in names])
    width = majority(len(names))

    def views(name: str) -> int:
        return len(graph[name])

    while min(map(views, names)) < width:
        poorest = _lowest(list(names), views, rng)
        friend = _lowest([name for name in names if not graph.has_edge(poorest, name)], views, rng)
        graph.add_edge(poorest, friend)
    return {name: list(graph[name]) for name in names}


def _lowest(candidates: list[str], degree: Callable[[str], int], rng: random.Random) -> str:
    least = min(map(degree, candidates))
    return rng.choice([name for name in candidates if degree(name) == least])


def to_mapping(grudge: Grudge) -> dict[str, tuple[str, ...]]:
    """Map each node that drops packets to the nodes it drops them from, in the order of the graph's nodes."""
    order = list(grudge)
    drops = {node: tuple(other for other in order if grudge.has_edge(node, other)) for node in order}
    return {node: peers for node, peers in drops.items() if peers}
