"""Leader Completeness, from answers that are several reads each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from harness.judge.damage import NONE, Damage, Damages
from harness.judge.logs.leader_complete import leader_complete, short_leaders
from history import Check, Probe
from history.records.finding import LeaderLacksCommitted
from history.records.violations import state_of
from tests.support.draws import draws
from tests.support.harness.findings import only

S = 1_000_000_000


def probe(at: float, node: str, *, end: int, committed: int, role: Any = "follower", term: int = 2) -> Probe:
    return Probe(round(at * S), node, role, term, log_begin=0, log_end=end, committed=committed, pid=7)


def leads(begin: float, *, end: int = 40, term: int = 3, answers: int = 3) -> list[Probe]:
    return [
        probe(begin + n / 4, "n4", end=end, committed=end, role="leader", term=term) for n in range(answers)
    ]  # fmt: skip


KNOWN = [probe(at, "n1", end=90, committed=90) for at in (1, 1.25)]


def reported(*probes: Probe, damages: Damages = NONE) -> Check:
    return leader_complete(sorted(probes, key=lambda one: one.time), damages)


def test_a_leader_whose_log_lacks_what_was_committed_is_a_violation() -> None:
    check = reported(*KNOWN, *leads(5))
    assert (check.verdict, check.findings[0].kind, list(check.findings[0].nodes)) == (
        "invalid", "leader-lacks-committed", ["n4"],
    )  # fmt: skip
    assert check.seen == (
        "n4 led in term 3 at 5.2 s with a log that ended at 40 although 90 had been committed (on n1)"
    )
    (moment,) = only(check, LeaderLacksCommitted).moments
    assert (moment.log_end, moment.committed, moment.told_by) == (40, 90, "n1")


def test_a_leader_that_holds_it_all_is_valid() -> None:
    check = reported(*KNOWN, *leads(5, end=90))
    assert (check.verdict, check.seen) == ("valid", "1 leader tracked")


def test_a_leader_whose_log_is_all_in_a_snapshot_holds_it_all() -> None:
    def emptied(applied: int) -> list[Probe]:
        before = probe(2, "n4", end=90, committed=90)
        return [
            before,
            *(replace(one, log_begin=-1, applied=applied, snapshots_saved=1) for one in leads(5, end=-1)),
        ]

    assert reported(*KNOWN, *emptied(90)).verdict == "valid"
    assert reported(*KNOWN, *emptied(-1)).verdict == "invalid"


def test_a_leader_of_an_earlier_term_does_not_know_yet_that_it_was_succeeded() -> None:
    assert reported(*KNOWN, *leads(5, term=1)).verdict == "valid"
    assert reported(*KNOWN, *leads(5, term=2)).verdict == "invalid"


def test_the_term_of_a_commit_index_is_at_most_that_of_the_next_answer() -> None:
    """The answer's term was read before its commit index: the entry is of term 4."""
    torn = [KNOWN[0], replace(KNOWN[1], term=4)]
    assert reported(*torn, *leads(5)).verdict == "valid"
    assert reported(KNOWN[0], *leads(5)).verdict == "valid"


def test_one_answer_as_leader_is_no_instant() -> None:
    """It said leader of its old term, and read its new one afterwards."""
    assert (
        reported(*KNOWN, *leads(5, answers=1), *[replace(one, role="follower") for one in leads(5.25)]).verdict
        == "unknown"
    )


def test_what_is_committed_later_need_not_be_there_before() -> None:
    assert reported(*leads(0), *KNOWN).verdict == "valid"


def test_entries_in_a_snapshot_are_not_missing() -> None:
    first, second, third = leads(5)
    assert reported(*KNOWN, first, second, replace(third, log_begin=91)).verdict == "valid"
    assert reported(*KNOWN, first, second, replace(third, log_begin=90)).verdict == "invalid"


@pytest.mark.parametrize(("kind", "verdict"), [("data", "valid"), ("term", "valid"), ("snapshot", "invalid")])
def test_after_a_fault_of_ours_cut_a_log_nothing_is_asked(kind: Any, verdict: str) -> None:
    damages = Damages((Damage("n3", "f", kind, 3 * S, 4 * S),))
    assert reported(*KNOWN, *leads(5), damages=damages).verdict == verdict
    late = Damages((replace(damages.all[0], begin=8 * S, end=9 * S),))
    assert reported(*KNOWN, *leads(5), damages=late).verdict == "invalid"


def test_leaders_are_followed_until_a_fault_of_ours_cut_a_log_and_without_one_nothing_was_judged() -> None:
    damages = Damages((Damage("n3", "f", "data", 3 * S, 4 * S),))
    cut = "until an injected fault damaged a log or a term at 3.0 s"
    none = reported(*KNOWN, *leads(5, end=90), damages=damages)
    assert (state_of(none.to_json()), none.seen) == ("skipped", f"0 leaders tracked {cut}")
    one = reported(*KNOWN, *leads(2, end=90), *leads(5, end=90, term=4), damages=damages)
    assert (state_of(one.to_json()), one.seen) == ("valid", f"1 leader tracked {cut}")


@pytest.mark.slow
@settings(deadline=None, max_examples=draws(50, 500), phases=[Phase.explicit, Phase.generate])
@given(st.data())
def test_a_raft_cluster_is_never_accused(data: st.DataObject) -> None:
    """Three nodes, each read figure by figure while entries are committed and leaders change, as Raft allows."""
    ends, committed, terms, leader = [0] * 3, [-1] * 3, [1] * 3, 0
    probes = []

    def happen() -> None:
        nonlocal leader
        what = data.draw(st.sampled_from(("commit", "hear", "append", "elect", "wait")))
        other = data.draw(st.integers(0, 2))
        if what == "append":
            ends[leader] += 1
        elif what == "commit" and other != leader and terms[other] <= terms[leader]:
            ends[other], terms[other] = ends[leader], terms[leader]
            committed[leader] = ends[leader]
        elif what == "hear" and other != leader and terms[other] <= terms[leader]:
            ends[other], terms[other] = min(ends[other], ends[leader]), terms[leader]
            committed[other] = max(committed[other], min(committed[leader], ends[other]))
        elif what == "elect" and ends[other] >= max(committed):
            third = data.draw(st.integers(0, 2))
            terms[other] = terms[third] = max(terms) + 1
            leader = other

    for number in range(data.draw(st.integers(0, 24))):
        node = data.draw(st.integers(0, 2))
        figures: dict[str, Any] = {}
        for figure in data.draw(st.permutations(("role", "term", "log_end", "committed"))):
            happen()
            figures[figure] = {
                "role": "leader" if leader == node else "follower",
                "term": terms[node], "log_end": ends[node], "committed": committed[node],
            }[figure]  # fmt: skip
        probes.append(Probe(number * S // 12, f"n{node}", log_begin=0, pid=7, **figures))
    assert short_leaders(probes) == []
