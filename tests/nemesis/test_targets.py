from __future__ import annotations

import random

import pytest

from harness.testing import world
from history import Probe
from history.records.probes import leader_now
from nemesis.core.errors import NotYetError, ScheduleError, SkippedError
from nemesis.core.targets import check_words, choose, claimants, resolve

NAMES = ("n1", "n2", "n3", "n4", "n5")


def said(*leaders: str, named: dict[str, str], term: int = -1) -> dict[str, Probe]:
    """Probes of five nodes, of which some say that they lead, and the others name a leader."""
    return {
        name: Probe(0, name, "leader" if name in leaders else "follower", term, named.get(name, name)) for name in NAMES
    }


def test_of_two_that_claim_to_lead_without_a_term_the_majority_names_the_leader_or_none_leads():
    split = said("n1", "n2", named={"n3": "n1", "n4": "n2", "n5": "n4"})
    assert leader_now(split, NAMES) is None
    assert claimants(split) == ["n1", "n2"]
    named = said("n1", "n2", named={"n3": "n2", "n4": "n2", "n5": "n1"})
    assert leader_now(named, NAMES) == "n2"
    assert leader_now(named, ("n1", "n3", "n5")) == "n1"  # n2 is no member: it cannot lead
    assert leader_now({name: named[name] for name in ("n1", "n2", "n3")}, NAMES) is None  # two of five name n2
    # With a term the higher one decides, whatever the others know by then.
    assert leader_now({**split, "n2": Probe(0, "n2", "leader", 4, "n2")}, NAMES) == "n2"
    assert leader_now(said("n1", named=dict.fromkeys(NAMES, "n2")), NAMES) == "n1"


def test_no_leader_is_aimed_at_while_two_claim_to_lead_without_a_term():
    ctx, _, system, _ = world()
    system.probes = lambda: said("n1", "n2", named={"n3": "n1", "n4": "n2", "n5": "n4"})  # type: ignore[method-assign]
    with pytest.raises(NotYetError, match="n1 and n2 claim to lead, and no majority names any of them"):
        choose("leader", ctx, random.Random(0))
    system.probes = lambda: said("n1", "n2", named={"n3": "n2", "n4": "n2", "n5": "n1"})  # type: ignore[method-assign]
    assert choose("leader", ctx, random.Random(0)) == ("n2",)


def test_the_higher_term_leads_and_both_claimants_are_reported():
    probes = {
        "n1": Probe(0, "n1", "leader", 3, "n1"),
        "n2": Probe(0, "n2", "leader", 5, "n2"),
        "n3": Probe(0, "n3", "follower", 5, "n2"),
        "n4": Probe(0, "n4", error="timeout"),
    }
    assert claimants(probes) == ["n2", "n1"]
    assert leader_now(probes, NAMES) == "n2"
    assert leader_now({"n3": probes["n3"]}, NAMES) is None


@pytest.mark.parametrize(
    ("words", "size"),
    [("one", 1), ("minority", 2), ("majority", 3), ("all", 5), ("followers", 4), ("leader", 1), ("leader/one", 2),
     ("leader/minority", 3), ("n2/n4", 2), ("all/!leader", 4), ("all/!n1/!n2", 3), ("successor", 1)],
)  # fmt: skip
def test_words_choose_so_many(words, size):
    ctx, *_ = world()
    for seed in range(20):
        chosen = choose(words, ctx, random.Random(seed))
        assert len(chosen) == size
        assert list(chosen) == sorted(chosen)
        assert chosen == choose(words, ctx, random.Random(seed))


def test_aimed_words_hit_whom_they_name():
    ctx, _, system, _ = world()
    system.leader = "n3"
    system.said["n5"] = Probe(0, "n5", "follower", 1, "n3", log_end=99)
    assert choose("leader", ctx, random.Random(0)) == ("n3",)
    assert choose("successor", ctx, random.Random(0)) == ("n5",)
    assert choose("followers", ctx, random.Random(0)) == ("n1", "n2", "n4", "n5")


def test_a_subset_is_mostly_small():
    ctx, *_ = world()
    sizes = [len(choose("subset", ctx, random.Random(seed))) for seed in range(400)]
    assert set(sizes) == {1, 2, 3, 4, 5}
    assert sizes.count(1) > sizes.count(5) * 2


def test_no_nodes_and_unknown_nodes_are_refused():
    ctx, _, system, _ = world()
    with pytest.raises(SkippedError, match="n9"):
        choose("n9", ctx, random.Random(0))
    with pytest.raises(SkippedError, match="no node"):
        choose("n1/!n1", ctx, random.Random(0))
    system.leader = None
    with pytest.raises(NotYetError):
        choose("leader", ctx, random.Random(0))


def test_words_are_checked_beforehand():
    check_words("leader/!n3")
    check_words("leader/n3", ["n3"])
    with pytest.raises(ScheduleError, match="n9"):
        check_words("leader/n9", ["n1"])
    with pytest.raises(ScheduleError, match="did you mean leader"):
        check_words("leder", ["n1"])
    with pytest.raises(ScheduleError):
        check_words("leader/")


def test_a_wish_is_words_or_recorded_targets():
    ctx, *_ = world()
    assert resolve(None, ctx, random.Random(0)) is None
    chosen = resolve({"choose": "leader"}, ctx, random.Random(0))
    assert chosen is not None
    assert chosen.nodes == ("n1",)
    recorded = resolve({"nodes": ["n2"], "grudge": {"n2": ["n1"]}}, ctx, random.Random(0))
    assert recorded is not None
    assert recorded.grudge == {"n2": ("n1",)}
