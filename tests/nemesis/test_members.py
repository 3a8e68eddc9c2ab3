"""Faults draw from the members, the nodes where the system keeps its data; the others are hit by name alone."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.testing import world
from nemesis.core import grudges
from nemesis.core.errors import SkippedError
from nemesis.core.fault import Context, Settings, Targets
from nemesis.core.guard import objection
from nemesis.core.targets import choose
from nemesis.faults.registry import FAULTS, find

seeds = st.integers(0, 2**32)
quick = settings(max_examples=60, deadline=None)
SHAPES = (grudges.random_node, grudges.random_halves, grudges.bridge, grudges.majorities_ring)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Members, at least three of them, and other nodes."""
    names = [f"n{number}" for number in range(1, draw(st.integers(4, 9)) + 1)]
    members = draw(st.lists(st.sampled_from(names), min_size=3, max_size=len(names) - 1, unique=True))
    return sorted(members), [name for name in names if name not in members]


def with_members(n: int, members: list[str], **more: object) -> Context:
    ctx, *_ = world(n)
    return replace(ctx, settings=Settings(members=tuple(members), **more))  # type: ignore[arg-type]


def hears(grudge: grudges.Grudge, one: str, other: str) -> bool:
    return not grudge.has_edge(one, other) and not grudge.has_edge(other, one)


@given(clusters(), seeds)
@quick
def test_a_shape_among_the_members_is_as_if_there_were_no_other_nodes(cluster, seed):
    members, others = cluster
    for shape in SHAPES:
        alone, whole = shape(members, random.Random(seed)), shape(members, random.Random(seed), others)
        assert set(whole) == {*members, *others}
        assert nx.utils.graphs_equal(nx.DiGraph(whole.subgraph(members)), alone)
        assert not list(nx.selfloop_edges(whole))


@given(clusters(), seeds)
@quick
def test_every_other_node_goes_to_some_side(cluster, seed):
    members, others = cluster
    for shape in (*SHAPES, lambda names, rng, rest: grudges.leader_side(names, names[0], 2, rng, rest)):
        whole = shape(members, random.Random(seed), others)
        assert all(any(hears(whole, other, member) for member in members) for other in others)
    halves = grudges.random_halves(members, random.Random(seed), others)
    sides = list(nx.connected_components(nx.complement(halves.to_undirected())))
    assert sorted(len(side & set(members)) for side in sides) == [len(members) // 2, len(members) - len(members) // 2]


@given(clusters(), seeds)
@quick
def test_one_node_that_is_cut_off_hears_no_node_at_all(cluster, seed):
    members, others = cluster
    whole = grudges.random_node(members, random.Random(seed), others)
    (alone,) = [name for name in whole if not any(hears(whole, name, other) for other in whole if other != name)]
    assert alone in members


@given(clusters(), seeds)
@quick
def test_in_a_ring_every_member_sees_a_majority_of_the_members(cluster, seed):
    members, others = cluster
    whole = grudges.majorities_ring(members, random.Random(seed), others)
    for member in members:
        seen = [other for other in members if not whole.has_edge(member, other)]
        assert len(seen) >= grudges.majority(len(members))


@given(clusters(), seeds)
@quick
def test_words_draw_from_the_members_and_count_over_them(cluster, seed):
    members, others = cluster
    ctx, n, rng = with_members(len(members) + len(others), members), len(members), random.Random(seed)
    for words, size in {"one": 1, "minority": (n - 1) // 2, "majority": n // 2 + 1, "all": n}.items():
        if size:
            chosen = choose(words, ctx, rng)
            assert len(chosen) == size
            assert set(chosen) <= set(members)
    assert set(choose("subset", ctx, rng)) <= set(members)
    assert choose(others[0], ctx, rng) == (others[0],)
    assert set(choose(f"all/{others[0]}", ctx, rng)) == {*members, others[0]}


DRAWN = ("kill-random-processes", "kill-all", "hammer-time", "pause-majority")


@given(clusters(), seeds)
@quick
def test_faults_of_nodes_spare_the_others_and_leave_a_majority_of_the_members(cluster, seed):
    members, others = cluster
    ctx = with_members(len(members) + len(others), members)
    hit = {name: set(find(name).plan(ctx, random.Random(seed)).nodes) for name in DRAWN}
    assert all(nodes <= set(members) for nodes in hit.values())
    assert hit["kill-all"] == set(members)
    assert len(hit["pause-majority"]) == grudges.majority(len(members))
    assert len(hit["kill-random-processes"]) <= len(members) - grudges.majority(len(members))


@given(clusters(), seeds)
@quick
def test_the_halves_of_a_partition_that_is_installed_are_those_of_the_members(cluster, seed):
    members, others = cluster
    ctx = with_members(len(members) + len(others), members)
    for name in ("partition-random-halves", "packet-loss"):
        grudge = find(name).plan(ctx, random.Random(seed)).grudge
        cut = {other for other in members if members[0] in grudge.get(other, ())}
        assert len(cut) in (len(members) // 2, len(members) - len(members) // 2)


def test_no_summary_says_of_all_nodes_what_is_true_of_the_members():
    """Beside kill-all stands a row whose nodes are the members: a node that only holds metadata is spared."""
    hit = find("kill-all").plan(with_members(5, ["n2", "n3", "n4", "n5"]), random.Random(0)).nodes
    assert hit == ("n2", "n3", "n4", "n5")
    said = re.compile(r"\b(?:all|every) (?:nodes?|process(?:es)?|servers?)\b|\bone node after another\b")
    assert [fault.summary for fault in FAULTS.values() if said.search(fault.summary)] == []
    assert all("all members" in find(name).summary for name in ("kill-all", "crash-all"))


def test_a_node_that_is_no_member_is_hit_by_name_and_takes_nothing_from_the_quorum():
    ctx, kill = with_members(5, ["n2", "n3", "n4", "n5"]), find("kill-random-processes")
    other = kill.plan(replace(ctx, wanted=Targets(("n1",))), random.Random(0))
    assert other.nodes == ("n1",)
    both_down = {1: (find("hammer-time"), Targets(("n1",))), 2: (find("kill-followers"), Targets(("n2",)))}
    assert objection(ctx, both_down, kill, Targets(("n3",))) == "would leave 2 of 4 nodes up; 3 are needed"
    assert objection(ctx, {1: both_down[1]}, kill, Targets(("n3",))) is None
    assert objection(ctx, {2: both_down[2]}, kill, Targets(("n1",))) is None


def test_a_busy_node_that_is_no_member_does_not_lessen_what_can_be_spared():
    ctx = replace(with_members(6, ["n2", "n3", "n4", "n5", "n6"]), busy=frozenset({"n1"}))
    sizes = {len(find("kill-followers").plan(ctx_led(ctx), random.Random(seed)).nodes) for seed in range(9)}
    assert sizes == {2}


def ctx_led(ctx: Context) -> Context:
    ctx.system.leader = "n2"  # type: ignore[attr-defined]
    return ctx


@pytest.mark.parametrize(("name", "least"), [("rolling-kill", 5), ("restart-rolling", 3), ("bridge", 3)])
def test_a_fault_that_needs_so_many_nodes_counts_the_members(name, least):
    members = [f"n{number}" for number in range(2, least + 2)]
    assert find(name).precheck(with_members(least + 1, members)) is None
    assert f"needs at least {least} nodes" in (find(name).precheck(with_members(least + 1, members[1:])) or "")


def test_files_may_be_damaged_on_a_minority_of_the_members_whatever_was_damaged_elsewhere():
    flip, others = find("file-bitflip"), frozenset({"n1"})
    ctx = replace(with_members(6, ["n2", "n3", "n4", "n5", "n6"]), damaged=others | {"n2"})
    assert flip.plan(replace(ctx, wanted=Targets(("n3",))), random.Random(0)).nodes == ("n3",)
    third = replace(ctx, damaged=others | {"n2", "n3"}, wanted=Targets(("n4",)))
    with pytest.raises(SkippedError, match="more than a minority"):
        flip.plan(third, random.Random(0))
