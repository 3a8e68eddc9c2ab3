"""Every check and every gate with a good and a bad twin.

``good()`` is a run without any blemish; each test changes the one thing that its check must notice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

import pytest

from harness.judge import fault_windows
from harness.judge.damage import NONE
from harness.judge.fault_windows import led_since, windows_of, with_quorum
from harness.judge.gates import required_count
from harness.judge.judge import planted_bug_prefix
from harness.judge.logs.committed_prefix import check_committed_prefix, falls
from harness.judge.recorded import Recorded
from harness.judge.recovery import last_heal
from harness.judge.recovery_check import recovery_of
from harness.plan import Plan
from harness.runstate import RunState
from harness.systems.dledger.alarms import ALARMS
from harness.systems.dledger.options import OPTIONS
from history import Check, Counterexample, KeyVerdict, Operation, Probe, Receipt, Results
from history.columns.operations import from_operations
from history.records.finding import Comeback, EntriesDeleted, Fall, TermForgotten, TwoLeaders, UnderFault
from history.records.operations import UNAPPLIED
from reports.words.of_nodes import fall_text
from tests.support.harness.findings import only
from tests.support.harness.good_run import (
    KEYS,
    MOMENTS,
    NODES,
    OPERATIONS,
    PROBES,
    S,
    asked_in_vain,
    check_named,
    good,
    judged,
    operation,
    probe,
    receipt,
    replace,
)

AT_ONCE = tuple(operation(31, f) for f in ("read", "write"))


def with_state(**changes: Any) -> Recorded:
    return replace(good(), state=replace(good().state, **changes))


def without(moment: str) -> Recorded:
    return with_state(moments={name: time for name, time in MOMENTS.items() if name != moment})


def test_every_word_on_a_run_with_a_planted_bug_begins_with_it() -> None:
    plan = replace(good().plan, planted_bug="stale-reads", unsafe_test_mode=True)
    wrong = replace(good(), plan=plan)
    missed = "the planted bug stale-reads was not found; linearizable: yes"
    assert judged(wrong).sentence.startswith(missed)
    caught = judged(wrong, (KeyVerdict("k0", "invalid", "zones", 5, 0.1, 1),)).sentence
    assert caught.startswith("the planted bug stale-reads was found, as intended; linearizable: no")


def test_a_planted_bug_is_found_by_a_check_that_looks_for_it_and_by_no_other() -> None:
    twice = replace(good().plan, planted_bug="vote-twice", unsafe_test_mode=True)
    lost = Check("linearizable", "check", "invalid", "", "")
    two = Check("election-safety", "check", "invalid", "", "")
    assert planted_bug_prefix(twice, (lost,)) == "the planted bug vote-twice was not found; "
    assert planted_bug_prefix(twice, (lost, two)) == "the planted bug vote-twice was found, as intended; "
    unknown = replace(two, verdict="unknown")
    assert planted_bug_prefix(twice, (lost, unknown)) == "the planted bug vote-twice was not found; "


def test_the_results_say_what_a_planted_bug_does() -> None:
    run = replace(good(), plan=replace(good().plan, planted_bug="vote-twice", unsafe_test_mode=True))
    does = judged(run).environment["planted_bug"]
    assert does == "a node forgets its vote within a millisecond, even on disk, and votes again in that term"
    assert "planted_bug" not in judged(good()).environment


def test_the_results_say_what_the_system_promises_of_these_operations_and_who_says_so() -> None:
    promises = judged(good()).environment["promises"]
    assert promises[0]["of"] == ("read", "write"), "of the others this workload has none"
    assert promises[0]["claim"].startswith("reads, writes and compare-and-sets of a register are linearizable")
    assert promises[0]["source"].endswith("2014, section 8")
    assert not any("append" in one["of"] for one in promises), "this workload has none"
    leaders = [one for one in promises if "leader-complete" in one["checks"]]
    assert [one["claim"].partition(":")[0] for one in leaders] == ["Leader Completeness"]


def test_a_run_without_blemish_is_valid() -> None:
    results = judged(good())
    assert results.verdict == "valid"
    assert results.harness_failure is None
    assert [check.name for check in results.checks if check.verdict != "valid"] == []
    assert results.sentence == "linearizable: yes; recovery: yes, all nodes at 40, 31.1 s after the heal"
    logs = good().plan.under_test.log_words.to_environment()
    words = {"words": {one.name: one.help for one in OPTIONS}}
    assert {**results.environment, "promises": []} == {"java": "21", "promises": [], **logs, **words}
    assert results.warnings == ("w",)


def test_each_check_is_there_once_and_gates_are_called_gates() -> None:
    kinds = {check.name: check.kind for check in judged(good()).checks}
    gates = ("operations", "under-fault", "read-back", "faults", "final-reads", "kept-pace", "whole")
    checks = ["linearizable", "recovery", "replicas-agree", "election-safety", "terms-kept", "leader-complete"]
    checks += ["log-order", "committed-kept", "node-logs"]
    assert kinds == {**dict.fromkeys(checks, "check"), **dict.fromkeys(gates, "gate")}


# -- linearizability ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("other", "verdict"), [("valid", "unknown"), ("invalid", "invalid")])
def test_a_checker_that_breaks_down_on_one_key_is_ours_and_hides_no_violation(other: Any, verdict: str) -> None:
    failed = KeyVerdict.of_failure("k1", 3, ZeroDivisionError("a bug"))
    results = judged(good(), (KeyVerdict("k0", other, "zones", 5, 0.1, 1), failed))
    assert results.verdict == verdict
    assert results.harness_failure == "the checker failed on k1: builtins.ZeroDivisionError: a bug"
    ours = f"the harness failed ({results.harness_failure})"
    assert results.sentence.startswith("linearizable: no" if verdict == "invalid" else ours), "what is proven leads"
    assert ours in results.sentence
    assert KeyVerdict.from_json(failed.to_json()) == failed


def test_a_violation_on_one_key_makes_the_run_invalid() -> None:
    example = Counterexample("lost-write", "A write was lost.", (OPERATIONS[1],))
    results = judged(good(), (*KEYS, KeyVerdict("k1", "invalid", "zones", 3, 0.1, 2, (example,))))
    assert results.verdict == "invalid"
    seen = "8 operations on 2 keys, 2 violations on k1: 1 of these is dated: 1 in the main phase; "
    seen += "for none of them was a fault active between the contradicted change and the answer"
    assert check_named("linearizable", results).seen == seen
    assert results.sentence.startswith("linearizable: no (lost-write: A write was lost); recovery: yes")


def test_a_verdict_says_since_when_nothing_was_read() -> None:
    """Clients went on to ask for ten seconds and more."""
    last = max(o.returned or 0 for o in OPERATIONS if o.f == "read" and o.outcome == "ok")
    late = replace(OPERATIONS[-1], f="write", invoked=last + 10 * S, returned=None, outcome="info")
    quiet = judged(replace(good(), operations=(*OPERATIONS, late)))
    assert check_named("linearizable", quiet).seen.endswith(f", but no read succeeded after {last / S:.1f} s")
    soon = replace(late, invoked=last + 9 * S)
    assert "no read" not in check_named("linearizable", judged(replace(good(), operations=(*OPERATIONS, soon)))).seen


@pytest.mark.parametrize(
    ("checked", "seen"),
    [
        (6, "6 operations"),
        (4, "6 operations on 1 key (left out: 2 failed operations"),
        (5, "6 operations on 1 key (left out: 1 failed operation,"),
    ],
)
def test_operations_without_effect_are_counted_and_said_to_be_left_out(checked: int, seen: str) -> None:
    results = judged(good(), (KeyVerdict("k0", "valid", "zones", checked, 0.1),))
    assert check_named("linearizable", results).seen.startswith(seen)
    assert results.counts["all"] == 6


def test_a_key_that_could_not_be_decided_makes_the_run_unknown() -> None:
    results = judged(good(), (*KEYS, KeyVerdict("k1", "unknown", "search", 3, 60.0, reason="deadline at 2 of 3")))
    assert results.verdict == "unknown"
    assert "undecided: k1: deadline at 2 of 3" in check_named("linearizable", results).seen
    assert results.sentence.startswith("linearizable: undecided")


# -- recovery ----------------------------------------------------------------------------------------------------------


def test_a_node_that_stays_behind_is_a_finding_of_its_own() -> None:
    stuck = tuple(probe(63, node, 101 if node == "n2" else 24) for node in NODES)
    results = judged(replace(good(), probes=(PROBES[0], *stuck)))
    check = check_named("recovery", results)
    assert (results.verdict, check.verdict, check.findings[0].kind) == ("invalid", "invalid", "no-recovery")
    assert list(only(check, Comeback).behind) == ["n1", "n3"]
    assert check_named("linearizable", results).verdict == "valid"
    assert results.sentence.startswith(
        "linearizable: yes; recovery: no, n1 and n3 stuck at 24 of 40 (101 by the end); "
    )
    assert (only(check, Comeback).healed_ns, only(check, Comeback).target) == (31 * S, 40)


def test_recovery_is_timed_and_counted_from_the_last_heal_and_not_from_the_end_of_the_load() -> None:
    receipts = (receipt(), replace(receipt(), id=1, started=40 * S, stood=40 * S, heal_started=50 * S, healed=55 * S))
    probes = (*PROBES[:4], probe(54.9, "n1", 70, "leader"), *(probe(57.5, node, 75) for node in NODES), *PROBES[4:])
    check = check_named("recovery", judged(replace(good(), receipts=receipts, probes=probes)))
    # Invoked after that heal is only the read at 62 s.
    assert check.seen == "all nodes at 70, 7.1 s after the heal"
    both = [operation(56, f) for f in ("read", "write")]
    again = replace(good(), receipts=receipts, probes=probes, operations=(*OPERATIONS, *both))
    check = check_named("recovery", judged(again))
    assert (check.seen, only(check, Comeback).healed_ns, only(check, Comeback).target) == (
        "all nodes at 70, 2.5 s after the heal", 55 * S, 70,
    )  # fmt: skip


@pytest.mark.parametrize("limit", [1.0, 5.0])
def test_back_before_the_load_ended_is_too_late_all_the_same(limit: float) -> None:
    plan = replace(good().plan, recovery_time=limit)
    late = (*PROBES[:3], probe(35, "n3", 41), *PROBES[4:])
    check = check_named("recovery", judged(replace(good(), plan=plan, probes=late, operations=(*OPERATIONS, *AT_ONCE))))
    assert (check.verdict, check.seen) == ("valid" if limit > 4 else "invalid", "all nodes at 40, 4.0 s after the heal")


def test_a_node_that_falls_behind_again_under_load_has_not_recovered() -> None:
    behind = (*PROBES[:-1], probe(63, "n3", 41))
    results = judged(replace(good(), probes=behind))
    check = check_named("recovery", results)
    assert (check.verdict, list(only(check, Comeback).behind), only(check, Comeback).target) == ("invalid", ["n3"], 100)
    given = "all nodes at 40, 31.1 s after the heal, but after the load n3 stuck at 41 of 100 (101 by the end)"
    assert check.seen == given


def test_a_fault_that_was_not_seen_healed_counts_from_the_sweep() -> None:
    unseen = replace(receipt(), id=1, started=40 * S, healed=None)
    skipped = replace(receipt(), id=2, state="skipped", healed=None, witness={})
    assert last_heal((receipt(), unseen), 61 * S) == 61 * S
    assert last_heal((receipt(), skipped), 61 * S) == 31 * S
    assert last_heal((replace(receipt(), healed=65 * S),), 61 * S) == 61 * S
    assert last_heal((), 61 * S) == 61 * S


def test_a_read_is_no_sign_of_changes_wherever_it_was_answered() -> None:
    found = recovery_of(replace(good(), operations=(*OPERATIONS, operation(32, "read"))), NONE)
    assert found is not None
    assert found.since_heal.served_again == round((31 + 31.1) * S)


def in_vain_after_the_load(recorded: Recorded) -> Recorded:
    """Nothing is served after the load, though clients ask for all the time that there is to recover."""
    state = replace(recorded.state, moments={**MOMENTS, "final-reads": 122 * S, "end": 123 * S})
    main = [op for op in recorded.operations if op.phase != "final"]
    return replace(recorded, state=state, operations=(*main, *asked_in_vain(range(61, 122), "read", "write")))


def test_nothing_served_after_the_heal_is_no_recovery() -> None:
    check = check_named("recovery", judged(in_vain_after_the_load(good())))
    assert (check.verdict, check.seen) == ("invalid", "no read and no write succeeded after the heal")
    until_then = replace(good(), operations=(*OPERATIONS[:3], *AT_ONCE))
    check = check_named("recovery", judged(in_vain_after_the_load(until_then)))
    assert check.verdict == "invalid"
    assert check.seen.endswith(", but after the load no read and no write succeeded after the heal")


def test_what_nobody_asked_for_after_the_heal_shows_nothing() -> None:
    check = check_named("recovery", judged(replace(good(), operations=OPERATIONS[:3])))
    assert (check.verdict, check.seen) == ("unknown", "read, write and changes not requested again")
    reads = [op for op in OPERATIONS if (op.f, op.phase) != ("write", "final")]
    check = check_named("recovery", judged(replace(good(), operations=tuple(reads))))
    assert (check.verdict, check.seen) == ("unknown", "write and changes not requested again")


@pytest.mark.parametrize(
    "changes",
    [{"invoked": 60 * S}, {"outcome": "info"}, {"phase": "main"}, {"outcome": "fail"}],
    ids=["invoked before the heal", "in doubt", "of the main phase", "failed"],
)
def test_what_does_not_count_as_served_after_the_heal(changes: dict[str, Any]) -> None:
    vain = in_vain_after_the_load(good())
    write = operation(62, "write", phase="final")
    well = replace(vain, operations=(*vain.operations, OPERATIONS[3], write))
    assert check_named("recovery", judged(well)).verdict == "valid"
    doubtful = replace(vain, operations=(*vain.operations, replace(OPERATIONS[3], **changes), write))
    check = check_named("recovery", judged(doubtful))
    assert (check.verdict, list(only(check, Comeback).unserved)) == ("invalid", ["read"])


@pytest.mark.parametrize(("at", "verdict"), [(121.5, "valid"), (122.5, "invalid")])
def test_too_late_is_no_recovery(at: float, verdict: str) -> None:
    late = (*PROBES[:-1], probe(at, "n3", 101))
    assert check_named("recovery", judged(replace(good(), probes=late))).verdict == verdict


@pytest.mark.parametrize("recorded", [without("healed"), without("final-reads"), with_state(interrupted=True)])
def test_a_run_that_was_cut_says_nothing_about_recovery(recorded: Recorded) -> None:
    results = judged(recorded)
    assert check_named("recovery", results).verdict == "unknown"
    assert "recovery" not in results.sentence
    assert results.verdict == "unknown"


# -- election safety, node logs ----------------------------------------------------------------------------------------


def test_two_leaders_of_one_term_are_a_violation() -> None:
    both = [probe(at, node, 9, "leader", 7) for at in (3, 4) for node in ("n1", "n2")]
    check = check_named("election-safety", judged(replace(good(), probes=(*both, *PROBES))))
    assert (check.verdict, check.seen, check.findings[0].kind) == ("invalid", "term 7: n1 and n2", "two-leaders")


def test_two_leaders_are_dated_by_the_second_of_them() -> None:
    late = [probe(at, "n1", 9, "leader", 7) for at in (5, 6)]
    probes = (*(probe(at, "n2", 9, "leader", 7) for at in (3, 4)), *late, *PROBES)
    found = only(check_named("election-safety", judged(replace(good(), probes=probes))), TwoLeaders)
    assert [(one.node, one.time / S) for one in found.moments] == [("n2", 3), ("n1", 5)]
    assert found.since == 5 * S


def test_a_node_that_is_in_an_earlier_term_again_is_a_violation() -> None:
    """Also when its machine went down in between: the term is to be on stable storage."""
    back = [probe(3, "n1", 9, "follower", 7), replace(probe(4, "n1", 9), error="no connection")]
    back += [probe(5, "n1", 9, "follower", 0), probe(6, "n1", 9, "follower", 7), probe(7, "n1", 9, "follower", 2)]
    check = check_named("terms-kept", judged(replace(good(), probes=tuple(back))))
    assert (check.verdict, check.findings[0].kind) == ("invalid", "term-forgotten")
    assert check.seen == "n1 was in term 7 at 3.0 s, and in term 0 at 5.0 s"
    assert [(one.before, one.term) for one in only(check, TermForgotten).moments] == [(7, 0), (7, 2)]


def test_terms_that_grow_and_nodes_that_differ_forget_nothing() -> None:
    fine = [probe(3, "n1", 9, "follower", 7), probe(4, "n2", 9, "follower", 2), probe(5, "n1", 9, "follower", 7)]
    fine += [replace(probe(6, "n1", 9, "unknown", 0), error="gone"), probe(7, "n1", 9, "follower", 9)]
    assert check_named("terms-kept", judged(replace(good(), probes=tuple(fine)))).verdict == "valid"


def test_leaders_of_different_terms_and_a_single_torn_answer_are_none() -> None:
    fine = [probe(3, "n1", 9, "leader", 7), probe(4, "n1", 9, "leader", 7), probe(5, "n2", 9, "leader", 7)]
    fine += [probe(6, "n2", 9, "leader", 8), probe(7, "n2", 9, "leader", 8)]
    assert check_named("election-safety", judged(replace(good(), probes=(*fine, *PROBES)))).verdict == "valid"


def alarms(follows: str) -> list[tuple[str, str]]:
    return [(alarm.pattern, alarm.meaning) for alarm in ALARMS if alarm.follows == follows]


@pytest.mark.parametrize("alarm", alarms("violation"), ids=lambda alarm: alarm[0])
def test_an_alarm_of_the_system_makes_the_run_invalid(alarm: tuple[str, str]) -> None:
    results = judged(replace(good(), log_hits={**good().log_hits, "n2": {alarm[0]: 3}}))
    check = check_named("node-logs", results)
    assert (results.verdict, check.seen) == ("invalid", f"{alarm[0]!r} 3 times on n2 ({alarm[1]})")


@pytest.mark.parametrize("alarm", alarms("note"), ids=lambda alarm: alarm[0])
def test_an_error_that_the_library_retries_is_reported_and_proves_nothing(alarm: tuple[str, str]) -> None:
    results = judged(replace(good(), log_hits={**good().log_hits, "n2": {alarm[0]: 3}}))
    check = check_named("node-logs", results)
    assert (results.verdict, check.verdict) == ("valid", "valid")
    assert f"{alarm[0]!r} 3 times on n2 ({alarm[1]})" in check.seen


def with_probes(*more: Probe) -> Results:
    probes = sorted([*good().probes, *more], key=lambda probe: probe.time)
    return judged(replace(good(), probes=probes))


def test_a_log_that_ends_before_what_was_committed_there_is_a_violation() -> None:
    shrunk = [Probe((65 + n) * S, "n2", "follower", 4, log_end=60, committed=200, applied=200) for n in range(2)]
    check = check_named("committed-kept", with_probes(*shrunk))
    assert check.verdict == "invalid"
    assert "n2's log ended at 60" in check.seen
    assert check.findings[0].kind == "committed-entries-deleted"
    entries = only(check, EntriesDeleted).entries
    assert entries is not None
    assert (entries.fate, entries.short) == ("missing", {"n2": 60})


def test_logs_of_which_no_node_says_a_word_are_not_judged() -> None:
    """As those of ZooKeeper, whose answers have a commit index and no end of a log."""
    results = judged(replace(good(), probes=tuple(replace(one, log_end=-1) for one in good().probes)))
    names = {check.name for check in results.checks}
    assert results.verdict == "valid"
    assert names == {check.name for check in judged(good()).checks} - {"leader-complete", "log-order", "committed-kept"}
    assert any("where logs end was not reported" in warning for warning in results.warnings)
    assert not any("not reported" in warning for warning in judged(good()).warnings)


def test_entries_that_another_log_still_reaches_are_missing_and_not_lost() -> None:
    shrunk = [Probe((65 + n) * S, "n2", "follower", 4, log_end=60, committed=200, applied=200) for n in range(2)]
    holder = Probe(66 * S, "n3", "leader", 4, log_end=200, committed=200, applied=200)
    check = check_named("committed-kept", with_probes(*shrunk, holder))
    assert check.verdict == "invalid"
    assert only(check, EntriesDeleted).severity == "missing on nodes"


def test_a_restarted_process_that_forgot_its_commit_index_is_no_violation() -> None:
    restarted = Probe(65 * S, "n2", "follower", 4, log_end=60, committed=-1, applied=-1)
    assert check_named("committed-kept", with_probes(restarted)).verdict == "valid"


KEPT = (
    Probe(5 * S, "n1", "follower", 1, log_end=90, committed=90, applied=90),
    Probe(5 * S, "n2", "leader", 1, log_end=91, committed=90, applied=90, pid=7),
    Probe(6 * S, "n1", "follower", 2, log_end=10, committed=90, applied=90),
    Probe(7 * S, "n1", "follower", 2, log_end=30, committed=90, applied=90),
    Probe(8 * S, "n1", "follower", 2, log_end=190, committed=190, applied=190),
    Probe(9 * S, "n1", "follower", 3, log_end=20, committed=190, applied=190),
    Probe(9 * S, "n2", "follower", 1, log_end=91, committed=-1, applied=-1, pid=8),
    Probe(10 * S, "n1", "follower", 3, log_end=20, committed=190, applied=190),
    Probe(10 * S, "n2", "follower", 3, log_end=15, committed=15, applied=15, pid=8),
)


def test_every_fall_of_every_node_is_reported_also_that_of_one_that_was_restarted() -> None:
    check = check_committed_prefix(KEPT)
    assert only(check, EntriesDeleted).moments == (
        Fall("n1", 6 * S, 10, 90, restarted=False),
        Fall("n1", 9 * S, 20, 190, restarted=False),
        Fall("n2", 10 * S, 15, 90, restarted=True),
    )
    assert check.seen.startswith("n1's log ended at 10 at 6.0 s although 90 had been committed there")
    assert ", and 2 more like it (n1 at 9.0 s, n2 at 10.0 s)" in check.seen


@pytest.mark.parametrize("pids", [(7, 7), (0, 0), (7, 0)])
def test_a_commit_index_that_fell_is_no_restart_unless_the_pid_shows_one(pids: tuple[int, int]) -> None:
    was = Probe(5 * S, "n2", "leader", 1, log_end=27, committed=27, applied=27, pid=pids[0])
    now = Probe(6 * S, "n2", "follower", 2, log_end=3, committed=3, applied=3, pid=pids[1])
    (fall,) = falls([was, now])
    assert (fall.restarted, fall.index_fell, fall.committed, fall.proves) == (False, (27, 3), 27, False)
    assert fall_text(fall).endswith("27 had been committed there; its commit index itself fell from 27 to 3")
    assert check_committed_prefix([was, now]).verdict == "valid"
    (again,) = falls([replace(was, pid=7), replace(now, pid=8)])
    assert (again.restarted, again.index_fell) == (True, None)
    assert fall_text(again).endswith("27 had been committed there before it was restarted")


def test_a_fall_after_a_restart_alone_proves_nothing() -> None:
    check = check_committed_prefix([probe for probe in KEPT if probe.node == "n2"])
    assert (check.verdict, check.findings) == ("valid", ())


def test_a_log_that_only_grows_never_falls() -> None:
    assert falls([probe for probe in KEPT[:2] for _ in range(3)]) == []


def test_one_answer_is_several_reads_and_proves_no_deletion_by_itself() -> None:
    later = Probe(65 * S, "n2", "follower", 4, log_end=300, committed=301, applied=301)
    assert check_named("committed-kept", with_probes(later)).verdict == "valid"


@pytest.mark.parametrize("alarm", alarms("harness"), ids=lambda alarm: alarm[0])
def test_an_alarm_about_our_own_setup_is_a_failure_of_the_harness(alarm: tuple[str, str]) -> None:
    results = judged(replace(good(), log_hits={**good().log_hits, "n2": {alarm[0]: 1}}))
    assert results.harness_failure == f"{alarm[0]!r} once on n2 ({alarm[1]})"
    assert check_named("node-logs", results).verdict == "valid"
    assert results.sentence.startswith(f"the harness failed ({results.harness_failure})")


def test_logs_that_were_not_collected_say_nothing() -> None:
    assert check_named("node-logs", judged(replace(good(), log_hits={}))).verdict == "unknown"


# -- gates -------------------------------------------------------------------------------------------------------------


def unknown_because(name: str, recorded: Recorded) -> str:
    """What the named gate saw; it must be the only one that objects."""
    results = judged(recorded)
    assert [check.name for check in results.checks if check.verdict != "valid"] == [name]
    assert results.verdict == "unknown"
    check = check_named(name, results)
    assert f"{name}: {check.seen}" in results.sentence
    return check.seen


@pytest.mark.parametrize("changes", [{"outcome": "fail"}, {"outcome": "info"}, {"phase": "warm-up"}])
def test_gate_operations_wants_every_kind_in_the_main_phase(changes: dict[str, Any]) -> None:
    operations = (OPERATIONS[0], replace(OPERATIONS[1], **changes), *OPERATIONS[2:])
    assert unknown_because("operations", replace(good(), operations=operations)) == f"0 reads{ONE}, 1 write"


def test_gate_operations_does_not_count_what_was_never_applied() -> None:
    swept = replace(OPERATIONS[1], error=UNAPPLIED)
    operations = (OPERATIONS[0], swept, *OPERATIONS[2:])
    left_out = "1 more acknowledged without having been applied"
    assert unknown_because("operations", replace(good(), operations=operations)) == f"0 reads{ONE}, 1 write; {left_out}"
    warm = (replace(OPERATIONS[0], error=UNAPPLIED), *OPERATIONS[1:])
    assert check_named("operations", judged(replace(good(), operations=warm))).seen == "1 read, 1 write"


def test_gate_operations_says_of_which_kinds_it_asks_where_the_clients_asked_others_too() -> None:
    every = check_named("operations", judged(good()))
    assert (every.asked, every.seen) == ("at least 1 ok operation of every kind in the main phase", "1 read, 1 write")
    closes = tuple(operation(40 + n, "close", outcome="ok" if n else "info") for n in range(3))
    some = check_named("operations", judged(replace(good(), operations=(*OPERATIONS, *closes))))
    assert some.verdict == "valid"
    assert some.asked == "at least 1 ok operation of each kind that counts (read, write) in the main phase"
    assert some.seen == "1 read, 1 write; not required: 2 closes"


def test_gate_operations_wants_a_share_of_what_was_asked_for() -> None:
    """Of 10 a second for 58 s, 1 in 100 of each kind: five reads are enough, four are not."""
    fast = replace(good(), plan=replace(good().plan, rate=10.0, nemesis=()), receipts=())
    writes = tuple(operation(24 + n / 10, "write") for n in range(5))
    five = tuple(operation(40 + n, "read") for n in range(4))
    assert judged(replace(fast, operations=(*OPERATIONS, *writes, *five))).verdict == "valid"
    few = replace(fast, operations=(*OPERATIONS, *writes, *five[:3]))
    assert unknown_because("operations", few) == "4 reads of at least 5 required, 6 writes"


@pytest.mark.parametrize(("silent", "verdict"), [(1, "valid"), (2, "unknown")])
def test_gate_operations_wants_them_on_half_of_the_keys_that_were_asked_throughout(silent: int, verdict: str) -> None:
    """Keys on which nothing was ever ok are read at the end, and show nothing all the same."""
    operations = [*OPERATIONS, operation(59.5, "read", outcome="info")]
    for key in [f"k{number + 1}" for number in range(silent)]:
        operations += [replace(operation(at, "write", outcome="info"), key=key) for at in (4, 30, 59)]
        operations += [replace(one, key=key) for one in OPERATIONS if one.phase == "final"]
    results = judged(replace(good(), operations=tuple(operations)))
    assert results.verdict == verdict
    said = f"on {silent} of {silent + 1} keys"
    assert said in check_named("operations", results).seen
    churn = [replace(one, key=f"{one.key}-{one.invoked}") if one.outcome == "info" else one for one in operations]
    assert check_named("operations", judged(replace(good(), operations=tuple(churn)))).verdict == "valid"


def test_gate_operations_wants_a_cas_where_the_workload_has_them() -> None:
    plan = replace(good().plan, workload="cas-register")
    final = (*OPERATIONS, operation(62, "cas", phase="final"))
    assert unknown_because("operations", replace(good(), plan=plan, operations=final)) == f"1 read, 1 write, 0 cas{ONE}"
    whole = replace(good(), plan=plan, operations=(*final, operation(6, "cas")))
    assert judged(whole).verdict == "valid"


ONE = " of at least 1 required"
KILLED = "#0 kill-one (in effect 20.0 to 30.0 s)"
WANTED = ", at least 1 required"
READ = "each key needs a read that was answered by a node that had applied it"


def under_fault(*receipts: Receipt, operations: tuple[Operation, ...] = OPERATIONS, **changes: Any) -> Check:
    recorded = replace(good(), receipts=receipts, operations=operations, **changes)
    return check_named("under-fault", judged(recorded))


@pytest.mark.parametrize(
    "at",
    [19.8, 19.95, 29.95, 30.05],
    ids=["returned before the fault stood", "invoked before", "returned after healing had begun", "invoked after"],
)
def test_gate_under_fault_wants_an_ok_that_began_and_ended_while_the_fault_stood(at: float) -> None:
    operations = (*OPERATIONS[:2], operation(at, "write"), *OPERATIONS[3:])
    check = under_fault(receipt(), operations=operations)
    assert (check.verdict, check.seen) == (
        "unknown",
        f"no operation was ok; too few ok operations under {KILLED}: 0 of at least 1 required",
    )


def test_gate_under_fault_says_that_it_counts_what_was_ok() -> None:
    """Hundreds that failed stand in the charts beside it."""
    failed = tuple(operation(21 + n / 10, "write", outcome="fail") for n in range(50))
    check = under_fault(receipt(), operations=(*OPERATIONS, *failed))
    assert (check.verdict, check.seen) == ("valid", "1 ok operation")


@pytest.mark.parametrize("at", [20, 25, 29.9])
def test_gate_under_fault_counts_what_began_and_ended_meanwhile(at: float) -> None:
    operations = (*OPERATIONS[:2], operation(at, "write"), *OPERATIONS[3:])
    assert judged(replace(good(), operations=operations)).verdict == "valid"


def test_gate_under_fault_does_not_count_what_was_never_applied() -> None:
    operations = (*OPERATIONS[:2], replace(OPERATIONS[2], error=UNAPPLIED), *OPERATIONS[3:])
    check = under_fault(receipt(), operations=operations)
    assert check.verdict == "unknown"
    assert "; 1 more acknowledged" in check.seen


def test_gate_under_fault_wants_them_under_every_fault_and_names_the_bare_one() -> None:
    second = receipt(id=1, started=40 * S, stood=40 * S, heal_started=50 * S, healed=51 * S)
    check = under_fault(receipt(), second)
    assert (check.verdict, check.seen) == (
        "unknown",
        "1 ok operation; too few ok operations under #1 kill-one (in effect 40.0 to 50.0 s): 0 of at least 1 required",
    )  # fmt: skip
    assert under_fault(receipt(), second, operations=(*OPERATIONS, operation(45, "read"))).verdict == "valid"


def test_gate_under_fault_wants_a_share_of_what_was_asked_for() -> None:
    """Of 60 a second for 10 s, 1 in 100: six are enough, five are not; and five of a kind that is half of them."""
    plan = replace(good().plan, rate=60.0)
    writes = tuple(operation(20.5 + 2 * n, "write") for n in range(5))
    check = under_fault(receipt(), operations=(*OPERATIONS[:2], *writes, *OPERATIONS[3:]), plan=plan)
    assert check.verdict == "unknown"
    assert check.seen.startswith(
        f"5 ok operations; too few ok operations under {KILLED}: 5 of at least 6 required; 0 reads of at least"
    )
    reads = tuple(operation(20.6 + 2 * n, "read") for n in range(5))
    check = under_fault(receipt(), operations=(*OPERATIONS, *writes, *reads), plan=plan)
    assert "required" not in check.seen


@pytest.mark.parametrize(("rate", "needed"), [(0.05, 1), (0.5, 1), (1.0, 2), (2.0, 4), (20.0, 5), (50.0, 5), (51.0, 5)])
def test_a_gate_is_not_met_by_a_single_operation_unless_hardly_any_were_asked_for(rate: float, needed: int) -> None:
    assert required_count(replace(good(), plan=replace(good().plan, rate=rate)), 10.0) == needed


def test_a_rate_beyond_all_numbers_requires_a_number() -> None:
    """No operations can meet it, and the run is not judged worthy."""
    endless = replace(good(), plan=replace(good().plan, rate=1e308))
    assert required_count(endless, 1e9) > len(OPERATIONS)


BOTH = ("read", "write")
THREE = tuple(
    receipt(id=number, started=at * S, stood=at * S, heal_started=(at + 10) * S, healed=(at + 10) * S)
    for number, at in enumerate((15, 30, 45))
)
FAST = replace(good().plan, rate=24.0)


def spread(*spans: tuple[float, float, str], outcome: str = "ok") -> tuple[Operation, ...]:
    """Operations of a kind, twelve a second, between two times after the begin of each of the three faults."""
    return tuple(
        operation(begin + since + number / 12, f, outcome=outcome)
        for begin in (15, 30, 45)
        for since, until, f in spans
        for number in range(math.ceil((until - since - 0.1) * 12))
    )


def test_gate_under_fault_is_not_met_by_operations_at_the_begin_of_a_fault_alone() -> None:
    """240 operations in its first 0.2 s, and nothing for the rest of it."""
    at_first = tuple(operation(begin + n / 2400, f) for begin in (15, 30, 45) for n in range(240) for f in BOTH)
    check = under_fault(*THREE, operations=(*OPERATIONS, *at_first), plan=FAST)
    assert check.verdict == "unknown"
    assert "no operation was under way in the second third of #0 kill-one" in check.seen
    assert "no operation was under way in the last third of #0" in check.seen
    assert "in the first third" not in check.seen
    assert "exempt: the first and second third of #0, #1, #2" in check.seen
    throughout = spread((0, 10, "read"), (0, 10, "write"))
    assert under_fault(*THREE, operations=(*OPERATIONS, *throughout), plan=FAST).verdict == "valid"


def test_gate_under_fault_wants_every_kind_and_not_reads_alone() -> None:
    """Writes end soon after the fault began, and then each of them fails, while reads are served."""
    dead = spread((2, 10, "write"), outcome="fail")
    reads = spread((0, 10, "read"))
    check = under_fault(*THREE, operations=(*OPERATIONS, *reads, *spread((0, 2, "write")), *dead), plan=FAST)
    assert check.verdict == "unknown"
    assert "no write succeeded in the last third of #0 kill-one" in check.seen
    all_dead = spread((0, 10, "write"), outcome="fail")
    never = under_fault(*THREE, operations=(*OPERATIONS, *reads, *all_dead), plan=FAST)
    assert "0 writes of at least 5 required under #0 kill-one" in never.seen


def test_gate_under_fault_wants_some_operation_in_a_third_in_which_no_single_kind_is_due() -> None:
    """At six operations a second, twelve are due in the two seconds that count, but only six of each kind."""
    slow = replace(FAST, rate=6.0)
    asked = spread((0, 10, "write"), outcome="fail")
    early, late = (spread((since, since + 1, "read"), (since, since + 1, "write")) for since in (2, 8))
    check = under_fault(*THREE, operations=(*OPERATIONS, *asked, *early), plan=slow)
    assert check.verdict == "unknown"
    assert "no operation succeeded in the last third of #0 kill-one" in check.seen
    assert under_fault(*THREE, operations=(*OPERATIONS, *asked, *late), plan=slow).verdict == "valid"


def test_gate_under_fault_lets_an_election_take_its_time_while_clients_ask() -> None:
    """Seven seconds of ten without an answer: clients wait all the while, and are served at the end."""
    waiting = tuple(
        replace(operation(begin + since, "write", outcome="info"), returned=round((begin + since + 3.5) * S))
        for begin in (15, 30, 45)
        for since in (0, 3.5)
    )
    after = spread((7, 10, "read"), (7, 10, "write"))
    assert under_fault(*THREE, operations=(*OPERATIONS, *waiting, *after), plan=FAST).verdict == "valid"
    unasked = under_fault(*THREE, operations=(*OPERATIONS, *after), plan=FAST)
    assert "no operation was under way in the first third of #0" in unasked.seen


def leads(node: str, begin: float, end: float, term: int = 1) -> list[Probe]:
    """A node's answers, four a second, in which it leads."""
    count = round((end - begin) * 4)
    return [Probe(round((begin + n / 4) * S), node, role="leader", term=term) for n in range(count)]


@pytest.mark.parametrize(
    ("probes", "since"),
    [
        (leads("n2", 0, 70), 15.0),
        (leads("n2", 18, 70), 18.0),
        (leads("n2", 0, 16) + leads("n3", 18, 70, 2), 18.0),
        # The old leader does not know that it was replaced; without a fresh claim nobody leads.
        (leads("n1", 0, 70) + leads("n3", 18.125, 70, 2), 18.125),
        (leads("n2", 0, 22), None),
        # The node that leads is down, or nobody says that it leads.
        (leads("n1", 0, 70), None),
        ([], None),
    ],
)
def test_since_when_a_node_with_a_quorum_led(probes: list[Probe], since: float | None) -> None:
    ordered = sorted(probes, key=lambda probe: probe.time)
    found = led_since(ordered, ("n1", "n2", "n3"), {"n2", "n3"}, 15 * S, 25 * S)
    assert found == (None if since is None else round(since * S))


def test_gate_under_fault_asks_of_the_second_third_too_where_probes_show_that_no_election_lasted() -> None:
    """Of ten seconds nothing is served in the second third; elections need four."""
    gap = spread((0, 3.3, "read"), (0, 3.3, "write"), (8, 10, "read"), (8, 10, "write"))
    asked = spread((3.3, 8, "write"), outcome="fail")

    def seen(probes: list[Probe]) -> Check:
        ordered = tuple(sorted(probes, key=lambda probe: probe.time))
        return under_fault(*THREE, operations=(*OPERATIONS, *gap, *asked), plan=FAST, probes=ordered)

    check = seen(leads("n2", 0, 60))
    assert check.verdict == "unknown"
    assert "no operation succeeded in the second third of #0 kill-one" in check.seen
    (under,) = (one for one in check.findings if isinstance(one, UnderFault))
    assert under.faults[0].thirds == ("election", "", "")
    elections = [probe for begin in (15, 30, 45) for probe in leads("n2", begin + 4, begin + 14, begin)]
    assert seen(elections).verdict == seen([]).verdict == "valid"


def short(number: int) -> Receipt:
    at = (10 + 4 * number) * S
    return receipt(id=number, started=at, stood=at, heal_started=at + 3 * S, healed=at + 3 * S)


def test_faults_too_short_to_be_asked_one_by_one_are_asked_together() -> None:
    """Ten of 3 s at 2 operations a second: of the sixty that were due five are wanted, under whichever."""
    plan = replace(good().plan, rate=2.0)
    ten = tuple(short(number) for number in range(10))
    more = tuple(operation(10.5 + 4 * n, f) for n in range(2) for f in ("read", "write"))
    beside = tuple(operation(at / 4, f) for at in range(208, 228) for f in ("read", "write"))
    check = under_fault(*ten, operations=(*OPERATIONS, *more, *beside), plan=plan)
    assert check.verdict == "unknown"
    assert check.seen.startswith("4 ok operations; 4 of at least 5 required under those that were too short to be")
    writes = tuple(operation(at, "write") for at in (18.5, 22.5, 26.5))
    met = replace(good(), receipts=ten, operations=(*OPERATIONS, *more, *writes, *beside), plan=plan)
    assert [check.name for check in judged(met).checks if check.verdict != "valid"] == []
    assert {window.together for window in windows_of(met)} == {True}
    beside_long = replace(good(), receipts=(receipt(id=11), ten[0]))
    assert [bool(window.exempt) for window in windows_of(beside_long)] == [False, True]
    alone = replace(good(), receipts=ten[:1])
    assert [window.together for window in windows_of(alone)] == [True], "or the run would have shown nothing"


def test_a_fault_of_three_seconds_in_which_clients_soon_stop_asking_shows_nothing() -> None:
    """All operations are in its first 0.2 s; the twin's clients wait for answers until its end."""
    begun = (operation(14 + n / 100, f) for n in range(20) for f in ("read", "write"))
    at_once = tuple(replace(op, returned=op.invoked + S // 1000) for op in begun)
    stopped = under_fault(short(1), operations=(*OPERATIONS, *at_once), plan=FAST)
    assert stopped.verdict == "unknown"
    assert "no operation was under way in the last third of #1" in stopped.seen
    waiting = replace(operation(14.1, "write", outcome="info"), returned=18 * S)
    assert under_fault(short(1), operations=(*OPERATIONS, *at_once, waiting), plan=FAST).verdict == "valid"


STRUCK = receipt("kill-all", id=1, nodes=NODES, started=40 * S, stood=40 * S, heal_started=50 * S, healed=51 * S)


def test_gate_under_fault_asks_nothing_of_a_fault_that_stops_everybody_and_names_it() -> None:
    check = under_fault(receipt(), STRUCK)
    stopped = "exempt: #1 kill-all (in effect 40.0 to 50.0 s): no quorum could have answered"
    assert (check.verdict, check.seen) == ("valid", f"1 ok operation; {stopped}")
    after = (operation(5, "read"), operation(45, "read"), operation(55, "write"))
    alone = under_fault(STRUCK, operations=after)
    nothing = "0 writes acknowledged before #1 (at least 1 required), so this proves nothing"
    assert (alone.verdict, alone.seen) == ("unknown", f"1 ok operation; {stopped}; {nothing}")


def test_a_fault_that_stops_everybody_is_enough_where_writes_were_acknowledged_before_it() -> None:
    """The final reads show whether it cost any of them: of 40 a second for 35 s, half of them writes, 1 in 100."""
    plan = replace(good().plan, rate=40.0)

    def written(number: int, error: str | None = None) -> Check:
        pairs = [operation(10 + n, f) for n in range(number) for f in ("read", "write")]
        writes = [replace(op, error=error) if op.f == "write" else op for op in pairs]
        return under_fault(STRUCK, operations=(*writes, *OPERATIONS[-2:]), plan=plan)

    enough = written(10)
    assert enough.verdict == "valid"
    assert enough.seen.endswith("; 10 writes acknowledged before #1")
    assert written(2).verdict == "unknown"
    assert written(10, UNAPPLIED).verdict == "unknown", "an acknowledgement that was never applied shows nothing"


def test_gate_under_fault_counts_as_down_only_who_is_down_at_the_same_time() -> None:
    """Of five members n1 is down for long, and n2 and n3 one after the other meanwhile: three are always up."""
    long = receipt("kill-leader", id=1, nodes=("n1",), started=20 * S, stood=20 * S, heal_started=50 * S, healed=51 * S)

    def short(number: int, node: str, at: int, until: int) -> Receipt:
        moments = {"started": at * S, "stood": at * S, "heal_started": until * S, "healed": until * S}
        return receipt("kill-leader", id=number, nodes=(node,), **moments)

    members = ("n1", "n2", "n3", "n4", "n5")
    in_turn = replace(good(), receipts=(long, short(2, "n2", 22, 30), short(3, "n3", 32, 40)), members=members)
    assert [window.exempt for window in windows_of(in_turn)] == ["", "", ""]
    at_once = replace(in_turn, receipts=(long, short(2, "n2", 20, 50), short(3, "n3", 20, 50)))
    assert {window.exempt for window in windows_of(at_once)} == {"no quorum"}
    asked = short(4, "n1", 5, 15)
    nearly = replace(in_turn, receipts=(long, short(2, "n2", 20, 48), short(3, "n3", 20, 48), asked))
    assert (windows_of(nearly)[0].exempt, windows_of(nearly)[0].exempt_s) == ("brief quorum", 2.0)


def test_quorums_are_counted_once_for_each_stretch_however_many_faults_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A received run may have any number of faults, each over all the others."""
    calls = count()

    def counted(members: Sequence[str], receipts: Iterable[Receipt]) -> set[str]:
        next(calls)
        return with_quorum(members, receipts)

    monkeypatch.setattr(fault_windows, "with_quorum", counted)
    many = tuple(receipt(id=n, started=(5 + n) * S // 4, stood=(5 + n) * S // 4, healed=45 * S) for n in range(60))
    assert len(windows_of(replace(good(), receipts=many))) == 60
    assert next(calls) <= 2 * 60 + 1


@pytest.mark.parametrize(
    ("grudge", "left"),
    [
        ({"n1": ["n2", "n3"], "n2": ["n1"], "n3": ["n1"]}, True),
        ({"n1": ["n2"]}, True),
        ({"n1": ["n2", "n3"], "n2": ["n3"]}, False),
    ],
    ids=["one cut off", "one link, one way", "everybody alone"],
)
def test_whether_a_partition_leaves_a_quorum(grudge: dict[str, list[str]], left: bool) -> None:
    assert bool(with_quorum(NODES, [receipt("partition", nodes=NODES, targets={"grudge": grudge})])) is left


def test_a_quorum_is_one_of_the_members_whatever_else_is_up() -> None:
    """Of four members two and two are parted, and the other node is with two of them: three of five, and no quorum."""
    halves = {"n1": ["n4", "n5"], "n2": ["n4", "n5"], "n3": ["n4", "n5"]}
    cut = [receipt("partition", nodes=NODES, targets={"grudge": halves})]
    names = ("n1", "n2", "n3", "n4", "n5")
    assert with_quorum(names, cut)
    assert not with_quorum(names[1:], cut)
    assert with_quorum(names[1:], [receipt("kill-random-processes", nodes=("n1", "n2"))])
    assert not with_quorum(names[1:], [receipt("kill-all", nodes=names[1:])])


def test_two_faults_at_once_may_leave_no_quorum_where_each_does() -> None:
    cut = receipt("partition", id=1, nodes=NODES, targets={"grudge": {"n2": ["n3"]}})
    assert with_quorum(NODES, [receipt("kill-leader")])
    assert not with_quorum(NODES, [receipt("kill-leader"), cut])


def test_a_successor_that_was_killed_is_down_though_it_was_no_target() -> None:
    names = ("n1", "n2", "n3", "n4", "n5")
    both = receipt("kill-leader-then-successor", nodes=("n1",), witness={"pids_gone": {"n1": 4, "n2": 5}})
    cut = receipt("partition", id=1, nodes=names, targets={"grudge": {"n3": ["n4", "n5"]}})
    assert with_quorum(names, [both])
    assert not with_quorum(names, [both, cut])


def test_a_restart_of_one_node_after_another_leaves_a_quorum() -> None:
    assert with_quorum(NODES, [receipt("restart-rolling", nodes=NODES)])
    assert with_quorum(NODES, [receipt("rolling-kill", nodes=NODES)])
    assert not with_quorum(NODES, [receipt("kill-all", nodes=NODES)])


def test_gate_under_fault_asks_nothing_of_a_fault_that_stood_for_less_than_an_election() -> None:
    short = receipt(id=1, started=40 * S, stood=40 * S, heal_started=43 * S, healed=44 * S)
    check = under_fault(receipt(), short)
    assert (check.verdict, check.seen) == (
        "valid",
        "1 ok operation; exempt: #1 kill-one (in effect 40.0 to 43.0 s): in effect for only 3.00 s of the load",
    )


def test_gate_under_fault_counts_nothing_after_a_fault_that_has_passed() -> None:
    """All nodes are back by then: what is answered until the healing was answered by a whole cluster."""
    passed = {"lasted_ms": 7000.0}
    long = receipt("restart-rolling", nodes=NODES, started=20 * S, stood=20 * S, heal_started=40 * S, witness=passed)
    recorded = replace(good(), receipts=(long,))
    assert [(window.begin, window.end) for window in windows_of(recorded)] == [(20 * S, 27 * S)]
    never = replace(long, heal_started=None, healed=None)
    assert [window.end for window in windows_of(replace(good(), receipts=(never,)))] == [27 * S]


def test_the_length_of_a_fault_that_stood_too_shortly_does_not_contradict_its_ends() -> None:
    """From 6.45 to 11.32 s is 6.5 to 11.3 s, which 4.9 s would contradict."""
    short = receipt(id=1, started=40 * S, stood=40_451 * S // 1000, heal_started=44_320 * S // 1000, healed=45 * S)
    assert "(in effect 40.5 to 44.3 s): in effect for only 3.87 s" in under_fault(receipt(), short).seen


def test_gate_under_fault_asks_nothing_after_the_load() -> None:
    late = receipt(id=1, started=58 * S, stood=58 * S, heal_started=61 * S, healed=61 * S)
    assert under_fault(receipt(), late).verdict == "valid"


def test_gate_under_fault_takes_a_fault_that_was_never_healed_as_standing() -> None:
    assert judged(replace(good(), receipts=(receipt(heal_started=None, healed=None),))).verdict == "valid"


def test_gate_under_fault_says_when_no_fault_stood() -> None:
    check = under_fault(receipt(state="skipped", witness={}))
    assert (check.verdict, check.seen) == ("unknown", "no operation was ok: no fault was in effect")


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"f": "read"}, "no write was acknowledged and applied under a fault"),
        ({"f": "cas", "value": [1, 2], "result": [1, 2, 3]}, "no write was acknowledged and applied under a fault"),
        ({"error": UNAPPLIED}, "no write was acknowledged and applied under a fault"),
        ({"key": "k1"}, "on 1 key, read on 0, not on k1; a read of each is required"),
    ],
)
def test_gate_read_back_wants_a_write_under_a_fault_to_be_read_afterwards(changes: dict[str, Any], seen: str) -> None:
    operations = (*OPERATIONS[:2], replace(OPERATIONS[2], **changes), operation(10, "write"), *OPERATIONS[3:])
    check = check_named("read-back", judged(replace(good(), operations=operations)))
    assert (check.verdict, check.seen) == ("unknown", seen)
    assert check_named("read-back", judged(good())).seen == "on 1 key, read on 1"


def test_gate_read_back_does_not_count_a_read_of_a_node_that_had_not_applied_it() -> None:
    reads = [replace(one, error=UNAPPLIED) if one.f == "read" else one for one in OPERATIONS]
    check = check_named("read-back", judged(replace(good(), operations=tuple(reads))))
    assert (check.verdict, check.seen.partition(",")[0]) == ("unknown", "on 1 key")


def test_gate_read_back_wants_as_many_writes_as_are_due_under_faults() -> None:
    """Of 2 a second, half of them writes, in 10 s: two are wanted."""
    plan = replace(good().plan, rate=2.0)
    main = tuple(operation(at / 2, f) for at in range(70, 100) for f in ("read", "write"))
    reads = tuple(operation(at / 2, "read") for at in range(41, 58))
    few = replace(good(), plan=plan, operations=(*OPERATIONS, *main, *reads, operation(34, "write")))
    assert unknown_because("read-back", few) == "1 write acknowledged under faults (at least 2 required)"
    assert judged(replace(few, operations=(*few.operations, operation(26, "write")))).verdict == "valid"


def test_gates_about_faults_ask_nothing_of_a_run_without_any() -> None:
    calm = replace(good(), plan=Plan(seed=1, rate=0.05), receipts=())
    assert judged(calm).verdict == "valid"


@pytest.mark.parametrize(
    ("receipts", "seen"),
    [
        ((), f"kill-one: never tried{WANTED}"),
        ((receipt(state="skipped", witness={}),), f"kill-one: 1 skipped{WANTED}"),
        ((receipt(state="skipped", reason="no node leads"),), f"kill-one: 1 skipped{WANTED} (no node leads)"),
        ((receipt(state="indeterminate"), receipt(state="indeterminate")), f"kill-one: 2 indeterminate{WANTED}"),
        ((receipt("pause-one"),), f"kill-one: never tried{WANTED}; pause-one: 1 installed"),
    ],
)
def test_gate_faults_wants_every_fault_installed_with_a_witness(receipts: tuple[Receipt, ...], seen: str) -> None:
    assert check_named("faults", judged(replace(good(), receipts=receipts))).verdict == "unknown"
    assert check_named("faults", judged(replace(good(), receipts=receipts))).seen == seen


def test_gate_faults_gives_each_reason_once() -> None:
    left_out = tuple(
        receipt(id=place, state="skipped", witness={}, reason=why) for place, why in enumerate(("busy", "gone", "busy"))
    )
    seen = check_named("faults", judged(replace(good(), receipts=left_out))).seen
    assert seen == f"kill-one: 3 skipped{WANTED} (busy; gone)"


def test_gate_faults_once_is_enough_and_all_must_be() -> None:
    twice = replace(good(), receipts=(receipt(state="skipped", witness={}), receipt()))
    assert judged(twice).verdict == "valid"
    two = replace(good(), plan=replace(good().plan, nemesis=("kill-one", "pause-one")))
    assert unknown_because("faults", two) == f"kill-one: 1 installed; pause-one: never tried{WANTED}"


def test_gate_faults_wants_a_fault_that_stood_while_clients_asked() -> None:
    two = replace(good(), plan=replace(good().plan, nemesis=("kill-one", "pause-one")))
    late = receipt("pause-one", id=1, started=59 * S, stood=60 * S + 1, heal_started=61 * S)
    run = replace(two, receipts=(receipt(), late))
    assert unknown_because("faults", run) == f"kill-one: 1 installed; pause-one: 1 installed after the load{WANTED}"
    assert judged(replace(run, receipts=(receipt(), replace(late, stood=60 * S)))).verdict == "valid"
    every = replace(run, plan=replace(run.plan, nemesis=("all",)))
    assert check_named("faults", judged(every)).verdict == "valid", "its turn had not come"


def test_gate_faults_knows_an_aimed_fault_by_its_name() -> None:
    aimed = replace(good(), plan=Plan(seed=1, nemesis=("kill-one@leader/!n2",), rate=1.0))
    assert check_named("faults", judged(aimed)).verdict == "valid"


def test_gate_faults_wants_of_all_those_whose_turn_came() -> None:
    every = replace(good(), plan=Plan(seed=1, nemesis=("all",)))
    assert check_named("faults", judged(every)).verdict == "valid"
    assert check_named("faults", judged(replace(every, receipts=()))).verdict == "unknown"
    skipped = replace(every, receipts=(receipt(), receipt("pause-one", state="skipped", stood=None, witness={})))
    assert check_named("faults", judged(skipped)).verdict == "unknown"


def test_gate_faults_wants_what_was_named_besides_all() -> None:
    both = replace(good(), plan=Plan(seed=1, nemesis=("all", "pause-one")))
    assert check_named("faults", judged(both)).verdict == "unknown"


def test_gate_faults_two_at_once_are_two_faults() -> None:
    both = replace(good(), plan=replace(good().plan, nemesis=("kill-one+pause-one",)))
    assert unknown_because("faults", both) == f"kill-one: 1 installed; pause-one: never tried{WANTED}"
    assert judged(replace(both, receipts=(receipt(), receipt("pause-one", id=1)))).verdict == "valid"


@pytest.mark.parametrize("changes", [{"outcome": "fail"}, {"f": "write"}, {"invoked": 63 * S}])
def test_gate_final_reads_wants_every_register_read_at_the_end(changes: dict[str, Any]) -> None:
    operations = (*OPERATIONS[:-1], replace(OPERATIONS[-1], **changes))
    assert unknown_because("final-reads", replace(good(), operations=operations)) == f"0 of 1 key; {READ}"


def test_gate_final_reads_names_the_registers_that_were_not() -> None:
    more = replace(good(), operations=(operation(5, "write", key="k1"), *OPERATIONS))
    assert unknown_because("final-reads", more) == f"1 of 2 keys, not k1; {READ}"


def test_gate_final_reads_wants_every_register_read_again_after_a_restart() -> None:
    moments = {**MOMENTS, "restarting": 65 * S, "restarted": 66 * S, "end": 70 * S}
    run = replace(good(), state=replace(good().state, moments=moments))
    assert unknown_because("final-reads", run) == f"1 of 1 key at the end; 0 of 1 key after the restart; {READ}"
    again = replace(run, operations=(*OPERATIONS, operation(67, "read", phase="final")))
    assert check_named("final-reads", judged(again)).verdict == "valid"


def test_gate_operations_wants_a_cas_that_swapped() -> None:
    plan = replace(good().plan, workload="cas-register")
    cas = replace(operation(6, "cas"), value=[1, 2], result=[1, 2])
    later = (*OPERATIONS[2:], operation(62, "cas", phase="final"))
    run = replace(good(), plan=plan, operations=(*OPERATIONS[:2], cas, *later))
    assert check_named("operations", judged(run)).verdict == "valid"
    refused = replace(run, operations=(*OPERATIONS[:2], replace(cas, result=[1, 2, 3]), *later))
    assert unknown_because("operations", refused) == f"1 read, 1 write, 0 cas{ONE}; 1 more refused by the register"


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"ended": False}, "the harness was killed"),
        ({"failures": ["disk full"], "ended": False}, "the harness failed"),
        ({"stopped": "event 7"}, "stopped at the first violation, as requested"),
    ],
)
def test_gate_whole_wants_a_run_that_came_to_its_end(changes: dict[str, Any], seen: str) -> None:
    assert unknown_because("whole", with_state(**changes)) == seen


def test_gate_whole_reports_an_interruption() -> None:
    assert check_named("whole", judged(with_state(interrupted=True, ended=False))).seen == "interrupted"


def test_the_check_and_not_the_monitor_decides() -> None:
    stopped = with_state(stopped="event 7, k0: stale-read")
    assert any("does not confirm (event 7, k0" in warning for warning in judged(stopped).warnings)
    confirmed = judged(stopped, (KeyVerdict("k0", "invalid", "zones", 5, 0.1, 1),))
    assert confirmed.verdict == "invalid"
    assert confirmed.warnings == ("w",)


PACE = {
    "asked_per_s": 200.0, "invoked_per_s": 120.4, "late_p50_ms": 1.0, "late_p99_ms": 20.0, "late_max_ms": 900.0,
    "waited_share": 0.4, "lag_p99_ms": 12.0, "lag_max_ms": 800.0,
}  # fmt: skip


def test_gate_kept_pace_reports_a_rate_that_the_system_did_not_serve_and_holds_it_against_no_node() -> None:
    check = check_named("kept-pace", judged(with_state(pace=PACE)))
    assert check.verdict == "valid"
    assert check.seen == (
        "120 of 200 operations a second in the main phase; all clients were busy 40 % of the time; "
        "99 % of operations were at most 20 ms late"
    )
    assert check_named("kept-pace", judged(good())).seen == "not recorded"


@pytest.mark.parametrize("name", ["late_p99_ms", "lag_p99_ms"])
def test_gate_kept_pace_wants_a_harness_that_was_on_time(name: str) -> None:
    assert "99 % of operations were at most 1001 ms late (at most 1000 are allowed)" in unknown_because(
        "kept-pace", with_state(pace={**PACE, name: 1001.0})
    )
    assert judged(with_state(pace={**PACE, name: 1000.0})).verdict == "valid"


@pytest.mark.parametrize(("a_second", "verdict"), [(200.0, "valid"), (185.0, "valid"), (160.0, "unknown")])
def test_gate_kept_pace_wants_an_open_loop_to_issue_what_was_due(a_second: float, verdict: str) -> None:
    """A closed loop of the same figures is the system's doing."""
    pace = {**PACE, "invoked_per_s": a_second, "response_p99_ms": 900.4, "service_p99_ms": 31.0}
    recorded = replace(with_state(pace=pace), plan=replace(good().plan, loop="open"))
    check = check_named("kept-pace", judged(recorded))
    assert check.verdict == verdict
    assert ("--concurrency" in check.seen) == (verdict == "unknown")
    assert "99 % were answered within 900 ms of when they were due, 31 ms of when they were sent" in check.seen
    assert check_named("kept-pace", judged(with_state(pace=pace))).verdict == "valid"


@pytest.mark.parametrize(("seconds", "verdict"), [(5, "valid"), (7, "unknown")])
def test_gate_kept_pace_wants_a_harness_that_did_not_stand_still(seconds: int, verdict: str) -> None:
    check = check_named("kept-pace", judged(with_state(pace=PACE, standstills=[(10 * S, (10 + seconds) * S)])))
    assert check.verdict == verdict
    assert f"the harness was stalled for {math.ceil(100 * seconds / 58)} % of the main phase" in check.seen


def test_what_is_too_late_or_too_long_does_not_read_like_the_limit() -> None:
    late = with_state(pace={**PACE, "late_p99_ms": 1000.2})
    assert "at most 1001 ms late (at most 1000 are allowed)" in unknown_because("kept-pace", late)
    still = with_state(standstills=[(10 * S, 16 * S)])  # of 58 s
    assert "was stalled for 11 % of the main phase (at most 10 % are" in unknown_because("kept-pace", still)


# -- all together ------------------------------------------------------------------------------------------------------


def test_a_violation_outranks_every_gate() -> None:
    broken = with_state(ended=False, failures=["disk full", "later"])
    results = judged(broken, (KeyVerdict("k0", "invalid", "zones", 5, 0.1, 1),))
    assert results.verdict == "invalid"
    assert results.harness_failure == "disk full; later"
    assert results.sentence.startswith("linearizable: no; ")
    assert results.sentence.endswith("; the harness failed (disk full)")


def test_nothing_recorded_is_unknown_and_never_valid() -> None:
    empty = Recorded(Plan(seed=1), from_operations([]), (), (), RunState(), NODES, NODES, {})
    assert judged(empty, ()).verdict == "unknown"


def test_counts_by_phase_kind_and_outcome() -> None:
    counts = judged(good()).counts
    assert (counts["ok"], counts["fail"], counts["info"], counts["all"]) == (6, 0, 0, 6)
    assert counts["phases"]["main"]["write"] == {"ok": 1, "fail": 0, "info": 0}
    assert counts["phases"]["final"]["read"]["ok"] == 2


def test_gate_under_fault_asks_for_one_stretch_in_which_clients_could_notice() -> None:
    """A majority is paused for two of every three seconds: no second in which it runs is long enough."""
    long = receipt("kill-leader", id=1, nodes=("n1",), started=20 * S, stood=20 * S, heal_started=50 * S, healed=51 * S)
    pauses = tuple(
        receipt(
            "pause-majority", id=number + 2, nodes=("n2", "n3", "n4"), started=at * S, stood=at * S,
            heal_started=(at + 2) * S, healed=(at + 2) * S,
        )
        for number, at in enumerate(range(20, 50, 3))
    )  # fmt: skip
    asked = receipt(id=20, started=5 * S, stood=5 * S, heal_started=15 * S, healed=16 * S)
    struck = replace(good(), receipts=(long, *pauses, asked), members=("n1", "n2", "n3", "n4", "n5"))
    assert (windows_of(struck)[0].exempt, windows_of(struck)[0].exempt_s) == ("brief quorum", 1.0)
    assert windows_of(replace(struck, receipts=(long, pauses[0])))[0].answerable_s == 28.0
