"""applied <= committed <= end of the log: asked of pairs of answers, so that no healthy node is ever accused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.judge.answers_by_process import answers_by_process
from harness.judge.damage import Damage, Damages
from harness.judge.logs.committed_prefix import check_committed_prefix
from harness.judge.logs.log_order import MOMENTS, log_order, order_violations
from history import Check, Probe
from history.records.finding import CommitBeyondLog
from tests.support.draws import draws
from tests.support.harness.findings import only
from tests.support.harness.healthy_node import Node, S, answers, run_of, steps

NONE = Damages()


def probe(at: float, node: str = "n1", *, end: int, committed: int, applied: int | None = None, **rest: Any) -> Probe:
    applied = committed if applied is None else applied
    figures = {"log_begin": 0, "log_end": end, "committed": committed, "applied": applied, "pid": 7}
    return Probe(round(at * S), node, "follower", 1, **{**figures, **rest})


def reported(*probes: Probe, damages: Damages = NONE) -> Check:
    return log_order(probes, damages)


SHORT = (probe(1, end=90, committed=90), probe(1.25, end=40, committed=90), probe(1.5, end=45, committed=90))


def test_a_log_that_ends_below_its_own_commit_index_is_a_violation() -> None:
    check = reported(*SHORT, probe(1.75, end=91, committed=91))
    assert (check.verdict, check.findings[0].kind, list(check.findings[0].nodes)) == (
        "invalid",
        "commit-beyond-log",
        ["n1"],
    )
    assert [(one.index, one.bound) for one in only(check, CommitBeyondLog).moments] == [(90, 40), (90, 45)]
    first = "n1's log ended at 40 at 1.2 s with 90 committed"
    assert check.seen == f"broken in 2 of 3 pairs of answers: 2 such answers, the first: {first}"


def test_a_log_whose_entries_are_all_in_a_snapshot_lacks_none() -> None:
    """It says no begin and no end, such as after its leader's snapshot was installed, and had applied what is in it."""
    emptied = [probe(at, end=-1, committed=120, log_begin=-1, snapshots_loaded=1) for at in (1.25, 1.5, 1.75)]
    run = [probe(1, end=90, committed=90), *emptied]
    assert (reported(*run).verdict, check_committed_prefix(run).verdict) == ("valid", "valid")
    wrongs: tuple[dict[str, Any], ...] = ({"applied": 80}, {"snapshots_loaded": 0})
    for wrong in wrongs:
        lost = [replace(one, **wrong) for one in run]
        assert (reported(*lost).verdict, check_committed_prefix(lost).verdict) == ("invalid", "invalid")


def test_what_the_first_of_several_answers_said_is_not_said_of_all_and_a_single_one_has_no_count() -> None:
    """The second of two answers named another end of the log."""
    others = [replace(one, node="n2", time=one.time + 1) for one in (SHORT[0], SHORT[1])]
    whole = probe(1.6, "n2", end=90, committed=90)
    seen = reported(*sorted([*SHORT, *others, whole, probe(1.75, end=91, committed=91)], key=lambda one: one.time)).seen
    both = "2 such answers, the first: n1's log ended at 40 at 1.2 s with 90 committed"
    assert seen.endswith(f": {both}; n2's log ended at 40 at 1.3 s with 90 committed")


def test_every_node_that_breaks_it_is_named_and_no_other() -> None:
    other = [replace(one, node="n2", time=one.time + 1) for one in SHORT]
    fine = [probe(at, "n3", end=90, committed=90) for at in (1, 1.25, 1.5)]
    check = reported(*sorted([*SHORT, *other, *fine], key=lambda one: one.time))
    assert list(check.findings[0].nodes) == ["n1", "n2"]
    assert only(check, CommitBeyondLog).count == 2


def test_all_are_counted_and_some_are_kept() -> None:
    many = [probe(n / 4, end=40 if n else 90, committed=90) for n in range(MOMENTS + 20)]
    found = only(reported(*many), CommitBeyondLog)
    assert (found.count, len(found.moments)) == (MOMENTS + 18, MOMENTS)
    late = [probe(MOMENTS + n / 4, "n2", end=40 if n else 90, committed=90) for n in range(5)]
    found = only(reported(*many, *late), CommitBeyondLog)
    assert [one.node for one in found.moments] == ["n1"] * MOMENTS + ["n2"]


def test_one_answer_alone_proves_nothing() -> None:
    torn = probe(1.25, end=90, committed=95)
    assert reported(probe(1, end=80, committed=80), torn, probe(1.5, end=95, committed=95)).verdict == "valid"


def test_what_was_applied_beyond_what_was_committed_is_a_violation() -> None:
    check = reported(probe(1, end=90, committed=40, applied=60), probe(1.25, end=90, committed=50, applied=60))
    assert (check.verdict, check.seen[:8]) == ("invalid", "broken i")
    assert "n1 had applied 60 at 1.2 s with 50 committed" in check.seen


def test_a_commit_index_that_another_node_had_reported_covers_what_was_applied() -> None:
    leader = probe(1.1, "n2", end=90, committed=60)
    early = probe(1, end=90, committed=40, applied=60), leader, probe(1.25, end=90, committed=50, applied=60)
    assert reported(*early).verdict == "valid"
    assert reported(*early[:1], replace(leader, committed=59), *early[2:]).verdict == "invalid"


def test_a_snapshot_may_be_applied_before_its_index_is_known_to_be_committed() -> None:
    loaded = [probe(at, end=90, committed=-1, applied=60, snapshots_loaded=1) for at in (1, 1.25, 1.5)]
    loaded.append(probe(1.75, end=90, committed=60, applied=60, snapshots_loaded=1))
    assert reported(*loaded).verdict == "valid"
    assert reported(*(replace(one, snapshots_loaded=0) for one in loaded)).verdict == "invalid"


def test_what_is_applied_after_a_snapshot_was_loaded_must_be_committed() -> None:
    applied = [probe(1 + n / 4, end=90, committed=20, applied=60 + n, snapshots_loaded=1) for n in range(4)]
    check = reported(*applied)
    assert (check.verdict, check.seen) == (
        "invalid",
        "broken in 1 of 3 pairs of answers: n1 had applied 62 at 1.8 s with 20 committed",
    )
    assert reported(*applied[:-1]).verdict == "valid", "the snapshot may have been loaded after the first answer"
    assert reported(*applied[:-1], replace(applied[-1], snapshots_loaded=2)).verdict == "valid"


class Unraised(Node):
    """Does not raise its commit index when it loads a snapshot."""

    def step(self, kind: str, amount: int) -> None:
        known = self.committed
        if kind == "install" and amount > 3:
            self.committed = max(known, self.applied)
            super().step(kind, amount)
            self.committed = known
        elif kind == "truncate":
            self.log_end = max(self.log_end - amount, known, self.applied, self.log_begin - 1)
        elif kind != "apply" or self.applied < known:
            super().step(kind, amount)


@settings(deadline=None, max_examples=draws(50, 2000))
@given(st.lists(answers, max_size=12))
def test_no_node_that_loads_snapshots_is_accused_of_what_they_hold(script: Any) -> None:
    assert order_violations(run_of(Unraised(), script)) == []


def test_a_snapshot_that_takes_the_place_of_the_log_is_no_short_log() -> None:
    """Its begin was read before it was installed, its end afterwards: only the next answer shows the new begin."""
    before, torn = probe(1, end=90, committed=90), probe(1.25, end=-1, committed=200)
    assert reported(before, torn, probe(1.5, end=-1, committed=200, log_begin=201)).verdict == "valid"
    assert reported(before, torn, probe(1.5, end=-1, committed=200)).verdict == "invalid"
    assert reported(before, torn).verdict == "valid"


@pytest.mark.parametrize(
    "between",
    [
        [Probe(round(1.1 * S), "n1", error="no connection")],
        [probe(1.1, end=20, committed=-1)],
    ],
    ids=["a probe failed", "the commit index was forgotten"],
)
def test_a_process_that_may_be_another_owes_nothing_to_the_one_before(between: list[Probe]) -> None:
    one, *later = SHORT[0], probe(1.25, end=40, committed=90), probe(1.5, end=91, committed=91)
    assert reported(one, *between, *later).verdict == "valid"
    assert reported(one, *later).verdict == "invalid"


@pytest.mark.parametrize("changes", [{"pid": 8}, {"time": 4 * S}], ids=["another pid", "not asked for seconds"])
def test_another_pid_or_a_long_silence_is_another_process(changes: dict[str, Any]) -> None:
    first = SHORT[0]
    later = [replace(one, **({**changes, "time": 4 * S + one.time} if "time" in changes else changes)) for one in SHORT]
    whole = [replace(later[1], committed=40, applied=40), replace(later[2], committed=45, applied=45)]
    assert len(answers_by_process([first, *whole])) == 2
    assert reported(first, *whole).verdict == "valid"


CUT = Damages((Damage("n1", "f", "data", round(1.1 * S), round(1.2 * S)),))


def test_a_log_that_a_fault_of_ours_cut_is_left_out_until_it_is_whole_again() -> None:
    check = reported(*SHORT, damages=CUT)
    assert check.verdict == "valid"
    assert check.seen.endswith("(1 left out on n1: an injected fault had cut the log there)")
    whole = [probe(2, end=95, committed=95), probe(2.25, end=30, committed=95), probe(2.5, end=30, committed=95)]
    assert reported(*SHORT, probe(1.75, end=90, committed=90), *whole, damages=CUT).verdict == "invalid"
    assert check_committed_prefix(SHORT, CUT).verdict == "valid"
    assert check_committed_prefix(SHORT).verdict == "invalid"


def test_damage_of_another_node_or_another_file_excuses_nothing() -> None:
    for damage in (replace(CUT.all[0], node="n2"), replace(CUT.all[0], kind="snapshot")):
        assert reported(*SHORT, damages=Damages((damage,))).verdict == "invalid"
        assert check_committed_prefix(SHORT, Damages((damage,))).verdict == "invalid"


@pytest.mark.slow
@settings(deadline=None, max_examples=draws(80, 1000))
@given(st.lists(answers, max_size=12))
def test_a_healthy_node_is_never_accused_in_whatever_order_its_answer_is_read(script: list[Any]) -> None:
    probes = run_of(Node(), script)
    assert order_violations(probes) == []
    assert check_committed_prefix(probes).verdict != "invalid"


@settings(deadline=None, max_examples=draws(60, 500))
@given(st.lists(steps, max_size=20), st.integers(1, 5))
def test_a_log_that_was_cut_below_its_commit_index_is_found(script: list[tuple[str, int]], missing: int) -> None:
    node = Node()
    for kind, amount in script:
        node.step(kind, amount)
    node.log_end = node.committed = node.applied = max(node.committed, node.log_begin) + missing
    before = run_of(node, [(list(FIGURES_IN_ORDER), [[]] * 6, [])])
    node.log_end -= missing
    later = run_of(node, [(list(FIGURES_IN_ORDER), [[]] * 6, [])] * 2)
    probes = [*before, *(replace(one, time=one.time + S // 4) for one in later)]
    assert order_violations(probes)
    assert log_order(probes, NONE).verdict == check_committed_prefix(probes).verdict == "invalid"


FIGURES_IN_ORDER = ("role", "term", "log_begin", "log_end", "committed", "applied")
