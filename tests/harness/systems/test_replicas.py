"""Replica contents: nodes that report the same index must report the same digest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.judge.replicas import MOMENTS, ComparisonPoint, differences, replicas_agree
from history import Check, Probe
from history.records.finding import ReplicasDiffer
from tests.support.draws import draws
from tests.support.harness.findings import only

S = 1_000_000_000
NODES = ("n1", "n2", "n3")


def probe(at: float, node: str, index: int, digest: str | None, *, applied: int | None = None, **rest: Any) -> Probe:
    applied = index if applied is None else applied
    return Probe(round(at * S), node, applied=applied, state_index=index, digest=digest, pid=7, **rest)


def check(*probes: Probe, quiet: float | None = None, since: float | None = 0, back: tuple[str, ...] = NODES) -> Check:
    ordered = sorted(probes, key=lambda one: one.time)
    in_ns = [None if moment is None else round(moment * S) for moment in (quiet, since)]
    ends = [] if in_ns[1] is None else [ComparisonPoint("the last heal", back, in_ns[1], in_ns[0])]
    return replicas_agree(ordered, quiet=in_ns[0], ends=ends)


def same(at: float, index: int = 9, digest: str = "a") -> list[Probe]:
    return [probe(at, node, index, digest) for node in NODES]


def indexes(found: Check) -> list[int]:
    return list(dict.fromkeys(one.index for one in only(found, ReplicasDiffer).moments))


def test_equal_contents_at_equal_indexes_are_valid() -> None:
    found = check(*same(1), *same(2, 20, "b"))
    assert (found.verdict, found.seen) == ("valid", "6 digests, 2 indexes that several nodes reported")


def test_a_replica_that_differs_is_a_violation_at_any_time_of_the_run() -> None:
    """Not even at the same time: n3 reports index 9 long after the others did."""
    found = check(*same(1)[:2], probe(30, "n3", 9, "x"), *same(60, 99, "z"))
    assert (found.verdict, found.findings[0].kind, list(found.findings[0].nodes)) == (
        "invalid",
        "replicas-differ",
        ["n3"],
    )
    assert found.seen == "at index 9 n3 differs from n1 and n2; at index 9 n3 held x, n1 and n2 held a"
    assert found.findings[0].since == 30 * S
    assert [(one.node, one.digest) for one in only(found, ReplicasDiffer).moments] == [
        ("n1", "a"),
        ("n2", "a"),
        ("n3", "x"),
    ]


def test_who_stands_against_how_many_is_counted_over_all_indexes() -> None:
    later = [probe(2, "n1", 20, "b"), probe(2, "n2", 20, "b"), probe(2, "n3", 20, "y")]
    found = check(*same(1)[:2], probe(1, "n3", 9, "x"), *later)
    assert only(found, ReplicasDiffer).by_node == {"n3": 2}
    assert indexes(found) == [9, 20]
    assert found.seen.startswith("at index 9 n3 differs from n1 and n2, and so at 1 more index; ")


def test_at_other_indexes_it_is_so_only_where_the_same_nodes_differ() -> None:
    def later(at: float, odd: str) -> list[Probe]:
        return [probe(at, node, round(at * 10), "y" if node == odd else "b") for node in NODES]

    first = [*same(1)[:2], probe(1, "n3", 9, "x")]
    sentence = "at index 9 n3 differs from n1 and n2, and "
    assert check(*first, *later(2, "n3"), *later(3, "n3")).seen.startswith(f"{sentence}so at 2 more indexes;")
    assert check(*first, *later(2, "n3"), *later(3, "n1")).seen.startswith(f"{sentence}contents differ at 2 more ind")


def test_the_differences_that_were_seen_first_and_last_are_listed_however_many_there_are() -> None:
    """The differences at lower indexes were seen later, as when a node goes through its log again."""
    later = [probe(60 + place, node, place, f"{node != 'n3'}") for place in range(150) for node in NODES]
    found = check(*[probe(1, node, 500, f"{node != 'n3'}") for node in NODES], *later)
    assert (only(found, ReplicasDiffer).count, len(indexes(found))) == (151, 100)
    assert indexes(found) == [*range(49), *range(100, 150), 500]
    assert "at index 500 n3 held False, n1 and n2 held True" in found.seen


def test_where_no_side_has_the_most_both_are_named() -> None:
    found = check(probe(1, "n1", 9, "a"), probe(1, "n2", 9, "x"), back=("n1", "n2"))
    assert (list(found.findings[0].nodes), found.seen[:28]) == (["n1", "n2"], "at index 9 n1 differs from n")


def test_of_two_that_differ_the_one_that_is_in_the_minority_elsewhere_is_blamed() -> None:
    rest = [probe(1, "n1", 9, "a"), probe(1, "n2", 9, "x"), probe(2, "n2", 12, "y"), probe(2, "n3", 12, "b")]
    at_the_end = [probe(60, "n1", 20, "c"), probe(60, "n2", 20, "z"), probe(60, "n3", 20, "c")]
    found = check(*rest, *at_the_end)
    assert (list(found.findings[0].nodes), only(found, ReplicasDiffer).by_node) == (["n2"], {"n2": 3})
    held = "at index 9 n2 held x, n1 held a"
    assert found.seen == f"at index 9 n2 differs from n1, and so at 2 more indexes; {held}"
    both = check(*rest, *at_the_end, probe(70, "n1", 30, "d"), probe(70, "n2", 30, "e"), probe(70, "n3", 30, "e"))
    assert only(both, ReplicasDiffer).by_node == {"n1": 2, "n2": 3}, "at index 9 both are suspects"


def test_a_node_that_differs_from_itself_after_a_restart_is_a_violation() -> None:
    found = check(*same(1), replace(probe(5, "n3", 9, "x"), pid=8))
    assert (found.verdict, list(found.findings[0].nodes)) == ("invalid", ["n3"])


def test_all_differences_are_counted_and_some_are_kept() -> None:
    many = [probe(n, node, n, node) for n in range(MOMENTS + 5) for node in ("n1", "n2")]
    found = check(*many)
    assert (only(found, ReplicasDiffer).count, len(indexes(found))) == (MOMENTS + 5, MOMENTS)


def test_a_system_that_reports_no_digest_is_reported_to_have_none() -> None:
    found = check(*(probe(1, node, 9, None) for node in NODES))
    assert (found.verdict, found.seen) == (
        "unknown",
        "not compared, because the servers report no digest of their contents",
    )


def test_a_digest_without_its_index_accuses_no_node_and_proves_nothing() -> None:
    changing = [probe(at, node, -1, f"{node} {at}") for at in (1, 2) for node in NODES]
    assert check(*changing, quiet=0).verdict == "unknown"


def test_contents_that_were_not_compared_after_the_heal_are_unknown() -> None:
    """They agreed before; but what a valid run needs to have seen is that they do at its end."""
    before, after = same(1), [probe(60, "n1", 50, "b"), probe(60, "n2", 50, "b"), probe(60, "n3", 51, "c")]
    found = check(*before, *after, since=30)
    assert (found.verdict, found.findings[0].nodes) == ("unknown", ("n3",))
    assert found.seen.startswith("after the last heal n3 reported no index that another node reported")
    assert check(*before, *after, since=0).verdict == "valid"
    assert check(*before, *after, probe(61, "n3", 50, "b"), since=30).verdict == "valid"


def test_only_nodes_that_came_back_need_to_be_compared() -> None:
    after = [probe(60, "n1", 50, "b"), probe(60, "n2", 50, "b"), probe(60, "n3", 12, "c")]
    assert check(*after, since=30, back=("n1", "n2")).verdict == "valid"
    assert check(*after, since=30).verdict == "unknown"
    assert check(*after, since=None).verdict == "valid"
    alone = check(probe(60, "n1", 50, "b"), since=30, back=("n1",))
    seen = "1 digest, none of an index that several nodes reported: not compared"
    assert (alone.verdict, alone.seen) == ("unknown", seen)


def test_a_node_that_reports_no_digest_where_others_do_was_not_compared() -> None:
    silent = [probe(60, "n1", 50, "b"), probe(60, "n2", 50, "b"), probe(60, "n3", 50, None)]
    assert check(*silent, since=30).findings[0].nodes == ("n3",)


# -- a library that goes back ------------------------------------------------------------------------------------------


def test_an_answer_in_the_midst_of_applying_again_accuses_no_node() -> None:
    """The machine stands at its furthest index with older contents for an instant."""
    torn = [probe(1, "n3", 8, "h"), probe(1.25, "n3", 9, "older", reapplied=3)]
    torn += [probe(at, "n3", 9, "a", reapplied=3) for at in (1.5, 1.75)]
    assert check(*same(1)[:2], *torn).verdict == "valid"


def test_contents_that_stay_different_after_applying_again_are_a_violation() -> None:
    """A cas that was applied twice, at rest."""
    stays = [probe(at, "n3", 9, "x", reapplied=1) for at in (1, 1.25)]
    found = check(*same(1)[:2], *stays)
    assert (found.verdict, list(found.findings[0].nodes)) == ("invalid", ["n3"])


# -- at quiescence -----------------------------------------------------------------------------------------------------


def at_rest(node: str, index: int, digest: str, applied: int = 30, begin: float = 60) -> list[Probe]:
    return [probe(begin + n / 4, node, index, digest, applied=applied) for n in range(2)]


def test_when_all_is_quiet_equal_applied_indexes_must_have_equal_contents() -> None:
    """n3 left an entry out, so that its state shows another index."""
    rest = [*at_rest("n1", 30, "a"), *at_rest("n2", 30, "a"), *at_rest("n3", 28, "x")]
    found = check(*rest, quiet=55)
    assert (found.verdict, list(found.findings[0].nodes)) == ("invalid", ["n3"])
    assert found.seen.startswith("at applied index 30 n3 differs from n1 and n2")
    fine = [*rest[:4], *at_rest("n3", 28, "a")]
    assert check(*fine, quiet=55).verdict == "valid"


def test_an_applied_index_that_moves_proves_nothing() -> None:
    torn = [probe(60, "n3", 25, "x", applied=30), probe(60.25, "n3", 30, "a", applied=31)]
    rest = [*at_rest("n1", 30, "a"), *at_rest("n2", 30, "a")]
    assert check(*rest, *torn, quiet=55).verdict == "valid"


def test_a_batch_that_is_being_applied_is_not_yet_its_applied_index() -> None:
    ahead = at_rest("n3", 35, "y")
    rest = [*at_rest("n1", 30, "a"), *at_rest("n2", 30, "a")]
    assert differences([*rest, *ahead], 55 * S) == []


def test_before_all_is_quiet_the_applied_index_is_not_compared() -> None:
    rest = [*at_rest("n1", 30, "a"), *at_rest("n2", 30, "a"), *at_rest("n3", 28, "x")]
    assert differences(rest, None) == []
    later = [probe(70 + n, node, 40 + n, "z", applied=40 + n) for n in range(2) for node in NODES]
    assert differences([*rest, *later], 72 * S) == []


def test_the_two_answers_by_which_all_was_seen_to_be_quiet_are_compared() -> None:
    """The final reads go on from there, so that nothing rests any more afterwards."""
    rest = [*at_rest("n1", 30, "a"), *at_rest("n2", 30, "a"), *at_rest("n3", 28, "x")]
    moving = [probe(61 + n, node, 31 + n, "a", applied=31 + n) for n in range(2) for node in NODES[:2]]
    ordered = sorted([*rest, *moving], key=lambda one: one.time)
    assert [one.against for one in differences(ordered, round(60.3 * S))] == [("n3",)]


def test_a_difference_is_reported_once() -> None:
    rest = [*at_rest("n1", 30, "a"), *at_rest("n2", 30, "a"), *at_rest("n3", 30, "x")]
    assert [one.of for one in differences(rest, 55 * S)] == ["index"]


# -- properties --------------------------------------------------------------------------------------------------------

looks = st.lists(st.tuples(st.sampled_from(NODES), st.integers(0, 12), st.integers(0, 3)), max_size=40)


def answers_of(script: list[tuple[str, int, int]]) -> list[Probe]:
    """Nodes that apply one log, each as far as the script says; the applied index lags behind a batch."""
    at, probes = dict.fromkeys(NODES, -1), []
    for number, (node, forward, batch) in enumerate(script):
        at[node] += forward
        applied = max(-1, at[node] - batch)
        probes.append(probe(number / 4, node, at[node], f"contents at {at[node]}", applied=applied))
    return probes


@settings(deadline=None, max_examples=draws(80, 1000))
@given(looks)
def test_nodes_that_apply_one_log_never_differ(script: list[tuple[str, int, int]]) -> None:
    assert differences(answers_of(script), 0) == []


@settings(deadline=None, max_examples=draws(80, 1000))
@given(looks, st.integers(0, 12))
def test_a_node_that_leaves_an_entry_out_differs_wherever_it_can_be_seen(
    script: list[tuple[str, int, int]], left_out: int
) -> None:
    probes = [
        replace(one, digest=f"{one.digest} without {left_out}")
        if one.node == "n3" and one.state_index >= left_out
        else one
        for one in answers_of(script)
    ]
    shown = {(one.node == "n3", one.state_index) for one in probes if one.state_index >= left_out}
    seen = any((not mine, index) in shown for mine, index in shown)
    assert bool(differences(probes, None)) == seen


def test_contents_are_compared_again_after_a_restart() -> None:
    """Digests from before it say nothing of what the servers read from their disks."""
    ends = [ComparisonPoint("the last heal", NODES, 10 * S, None), ComparisonPoint("the restart", NODES, 70 * S, None)]
    before = same(20)
    found = replicas_agree([*before, *same(80, 9)[:2], probe(80, "n3", 5, "old")], quiet=None, ends=ends)
    assert (found.verdict, list(found.findings[0].nodes)) == ("unknown", ["n3"])
    assert found.seen.startswith("after the restart n3 reported no index that another node reported")
    assert replicas_agree([*before, *same(80, 12, "b")], quiet=None, ends=ends).verdict == "valid"
