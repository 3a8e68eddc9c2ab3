"""Did the cluster come back?  The target is what the leader had committed at the heal; every node must pass it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.judge.recovery import FRESH_NS, CatchingUp, assess
from history import Probe
from history.records.probes import Role
from history.records.recovery import CHANGES, Service
from reports.words.of_recovery import recovery_text

NODES = ("n1", "n2", "n3")
S = 1_000_000_000
HEAL = 100 * S


def probe(at: float, node: str, applied: int, *, role: Role = "follower", term: int = 3, committed: int = 0) -> Probe:
    return Probe(HEAL + round(at * S), node, role, term, committed=committed or applied, applied=applied)


LEADER = probe(-0.2, "n2", 49, role="leader", committed=50)


def test_all_nodes_pass_the_target_and_something_is_committed() -> None:
    probes = [LEADER, probe(1, "n1", 50), probe(2, "n2", 60), probe(3, "n3", 40), probe(4, "n3", 55)]
    recovery = assess(probes, NODES, HEAL)
    assert (recovery.target, recovery.leader, recovery.complete) == (50, "n2", True)
    assert recovery.reached == {"n1": HEAL + S, "n2": HEAL + 2 * S, "n3": HEAL + 4 * S}
    assert recovery.finished_at == HEAL + 4 * S
    assert recovery_text(recovery) == ""


def test_a_node_that_stays_behind_is_named_with_its_figures() -> None:
    probes = [LEADER, probe(1, "n1", 24), probe(2, "n2", 60), probe(3, "n3", 30)]
    recovery = assess(probes, NODES, HEAL)
    assert (recovery.behind, recovery.complete, recovery.finished_at) == (("n1", "n3"), False, None)
    assert recovery_text(recovery) == "n1 and n3 stuck at 24 and 30 of 50 (60 by the end)"


def test_a_silent_node_is_behind() -> None:
    silent = Probe(HEAL + S, "n3", error="no connection")
    recovery = assess([LEADER, probe(1, "n1", 50), probe(1, "n2", 50), silent], NODES, HEAL)
    assert recovery.behind == ("n3",)
    assert recovery_text(recovery) == "n3 silent since the heal"


def test_some_silent_and_some_stuck() -> None:
    recovery = assess([LEADER, probe(1, "n1", 7)], NODES, HEAL)
    assert recovery_text(recovery) == "n1 stuck at 7 of 50; n2 and n3 silent since the heal"


def test_a_node_that_answers_and_applied_nothing_is_not_silent() -> None:
    recovery = assess([LEADER, probe(1, "n1", -1), probe(1, "n2", 50), probe(1, "n3", 7)], NODES, HEAL)
    assert recovery_text(recovery) == "n3 stuck at 7 of 50; n1 applied nothing of 50"


def test_a_kind_that_is_not_served_is_no_recovery_although_all_have_caught_up() -> None:
    probes = [LEADER, *(probe(1, node, 50) for node in NODES)]
    read, write = Service(S, HEAL + S), Service(60 * S, None)
    recovery = assess(probes, NODES, HEAL, {("read", None): read, ("write", None): write, (CHANGES, None): write})
    assert (recovery.complete, recovery.finished_at, recovery.failed) == (False, None, True)
    assert recovery_text(recovery) == "no write succeeded after the heal"
    served = assess(probes, NODES, HEAL, {("read", None): read, ("write", None): read})
    assert (served.complete, served.failed) == (True, False)


def test_what_a_node_had_applied_before_the_heal_proves_nothing() -> None:
    recovery = assess([LEADER, probe(-0.1, "n1", 50)], NODES, HEAL)
    assert recovery.reached["n1"] is None
    assert recovery.applied["n1"] is None


def test_a_node_that_passed_once_has_recovered_and_its_last_word_is_kept() -> None:
    recovery = assess([LEADER, probe(1, "n1", 51), probe(2, "n1", 3)], NODES, HEAL)
    assert (recovery.reached["n1"], recovery.applied["n1"]) == (HEAL + S, 3)


def test_the_leader_with_the_higher_term_counts() -> None:
    old = probe(-0.1, "n1", 90, role="leader", term=2, committed=99)
    assert assess([old, LEADER], NODES, HEAL).target == 50
    assert assess([LEADER, old], NODES, HEAL).leader == "n2"


@pytest.mark.parametrize("late", [-FRESH_NS - 1, 1])
def test_a_leader_known_too_early_or_too_late_is_none(late: int) -> None:
    probes = [Probe(HEAL + late, "n1", "leader", 9, committed=70), probe(-0.5, "n3", 20, committed=30)]
    recovery = assess(probes, NODES, HEAL)
    assert recovery.leader is None
    assert recovery.target == (70 if late < 0 else 30)


def test_without_a_leader_the_highest_commit_index_known_up_to_the_heal_is_the_target() -> None:
    probes = [probe(-9, "n1", 40), probe(0, "n2", 45), probe(0.5, "n3", 60)]
    assert assess(probes, NODES, HEAL).target == 45


def test_a_leader_that_has_committed_nothing_yet_does_not_make_the_target_empty() -> None:
    """After a power cut of all nodes the new leader's commit index is -1 until its first entry is acknowledged."""
    before, new = probe(-9, "n1", 49, role="leader", committed=550), Probe(HEAL - S, "n3", "leader", 4)
    assert new.committed == -1
    recovery = assess([before, new, probe(1, "n1", 550)], NODES, HEAL)
    assert (recovery.leader, recovery.target, recovery.behind) == ("n3", 550, ("n2", "n3"))


def test_a_leader_that_stepped_down_since_is_none() -> None:
    assert assess([LEADER, probe(-0.1, "n2", 49, committed=50)], NODES, HEAL).leader is None


def test_a_probe_at_the_very_moment_of_the_heal_counts_on_both_sides() -> None:
    recovery = assess([probe(0, "n1", 50, role="leader", committed=50)], ("n1",), HEAL)
    assert (recovery.target, recovery.reached, recovery.finished_at) == (50, {"n1": HEAL}, HEAL)


def test_without_any_probe_everybody_is_behind() -> None:
    recovery = assess([], NODES, HEAL)
    assert (recovery.target, recovery.behind) == (-1, NODES)


probes_of_runs = st.lists(
    st.builds(
        probe,
        st.floats(-3, 3),
        st.sampled_from([*NODES, "stranger"]),
        st.integers(0, 9),
        role=st.sampled_from(["leader", "follower"]),
        term=st.integers(1, 3),
    ),
    max_size=12,
)


@settings(max_examples=100)
@given(probes_of_runs, probes_of_runs)
def test_more_probes_never_undo_a_recovery(probes: list[Probe], more: list[Probe]) -> None:
    ordered = sorted(probes, key=lambda one: one.time)
    later = [probe(9, one.node, one.applied) for one in more]
    if assess(ordered, NODES, HEAL).complete:
        assert assess([*ordered, *later], NODES, HEAL).complete
    assert set(assess([*ordered, *later], NODES, HEAL).applied) == set(NODES)


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.sampled_from(NODES), st.integers(-1, 6), st.integers(-1, 6), st.booleans()), max_size=30),
    st.integers(0, 30),
    st.lists(st.integers(0, 30)),
)
def test_asked_again_and_again_it_says_what_is_said_at_the_end(
    reported: list[tuple[str, int, int, bool]], heal: int, asked: list[int]
) -> None:
    whole = [
        Probe(number, node, "leader" if leads else "follower", 1, committed=committed, applied=applied)
        for number, (node, committed, applied, leads) in enumerate(reported)
    ]
    so_far = whole[: heal + 1]
    catching_up = CatchingUp(so_far, NODES, heal)
    for number in range(len(so_far), len(whole)):
        if number in asked:
            assert catching_up.done() == (not assess(so_far, NODES, heal).behind)
        so_far.append(whole[number])
    assert catching_up.done() == (not assess(whole, NODES, heal).behind)


def test_each_probe_is_looked_at_once() -> None:
    class Counted(list[Probe]):
        taken = 0

        def __getitem__(self, part):
            found = super().__getitem__(part)
            self.taken += len(found)
            return found

    probes = Counted([LEADER])
    catching_up = CatchingUp(probes, NODES, HEAL)
    for number in range(1000):
        probes.append(probe(1 + number / 10, "n1", 10))
        assert not catching_up.done()
    assert probes.taken == len(probes)
