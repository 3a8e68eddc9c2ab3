"""What our faults destroyed is judged by contract, and nothing else is excused for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checker import check_operations
from harness.judge.damage import NONE, Damage, Damages, damages_of
from harness.judge.election_safety import check_terms, election_safety
from harness.judge.judge import excused, linearizability
from harness.judge.logs.committed_prefix import check_committed_prefix
from harness.judge.logs.log_order import log_order
from harness.plan import Plan
from history import Check, Counterexample, KeyVerdict, Operation, Probe, Receipt
from history.records.finding import EntriesDeleted, Fall, TermForgotten, contradictions
from history.records.verdicts import MAX_COUNTEREXAMPLES, count_kinds
from tests.support.harness.findings import only
from tests.support.harness.good_run import operation

S = 1_000_000_000
PLAN = Plan(seed=1)
TERM = Damages((Damage("n1", "currterm", "term", 10 * S, 11 * S),))


def probe(at: float, node: str, term: int, role: Any = "follower") -> Probe:
    return Probe(round(at * S), node, role, term, log_end=9, committed=9, applied=9)


def truncated(*, witness: dict[str, Any], **changes: Any) -> Receipt:
    whole = {"fault": "file-truncate", "state": "installed", "nodes": ("n1",), "stood": 11 * S, **changes}
    return Receipt(id=0, started=10 * S, witness=witness, **whole)


def test_the_class_that_a_receipt_names_counts() -> None:
    (one,) = damages_of([truncated(witness={"damaged": {"n1": {"file": "/x/currterm", "class": "data"}}})], PLAN).all
    assert (one.kind, one.file) == ("data", "/x/currterm")


def test_a_fault_whose_witness_never_spoke_may_have_damaged_anything() -> None:
    (one,) = damages_of([truncated(witness={}, state="indeterminate")], PLAN).all
    assert one.may_be("term")
    assert one.may_be("data")
    assert damages_of([truncated(witness={}, state="skipped")], PLAN).all == ()
    assert damages_of([truncated(witness={"pid": 1}, fault="kill-one")], PLAN).all == ()


# -- terms -------------------------------------------------------------------------------------------------------------

FORGOT = [probe(9, "n1", 5), probe(15, "n1", 0)]


def test_a_term_whose_file_we_destroyed_is_forgotten_and_that_is_no_violation() -> None:
    check = check_terms(FORGOT, TERM)
    assert check.verdict == "valid"
    assert "n1 forgot a term" in check.seen
    assert check_terms(FORGOT).verdict == "invalid"


@pytest.mark.parametrize(
    "changes", [{"node": "n2"}, {"kind": "data"}, {"begin": 16 * S, "end": 17 * S}, {"begin": 1, "end": 2}]
)
def test_nothing_else_excuses_a_forgotten_term(changes: dict[str, Any]) -> None:
    assert check_terms(FORGOT, Damages((replace(TERM.all[0], **changes),))).verdict == "invalid"


def test_an_answer_of_before_may_arrive_when_the_term_is_destroyed_already() -> None:
    late = [probe(11.3, "n1", 5), probe(15, "n1", 0)]
    assert check_terms(late, TERM).verdict == "valid"
    assert check_terms([replace(late[0], time=13 * S), late[1]], TERM).verdict == "invalid"


def test_a_second_step_back_is_not_excused_by_the_first() -> None:
    again = [*FORGOT, probe(20, "n1", 6), probe(21, "n1", 2)]
    assert [one.term for one in only(check_terms(again, TERM), TermForgotten).moments] == [2]


def two_leaders(term: int = 5) -> list[Probe]:
    first = [probe(at, "n2", term, "leader") for at in (8, 8.25)]
    return [*first, *(probe(at, "n3", term, "leader") for at in (15, 15.25))]


def test_a_vote_that_we_destroyed_may_be_given_twice() -> None:
    check = election_safety(two_leaders(), TERM)
    assert check.verdict == "valid"
    assert "two in term 5" in check.seen
    assert election_safety(two_leaders()).verdict == "invalid"


def test_two_leaders_of_a_term_that_came_after_the_damage_are_a_violation() -> None:
    late = [replace(one, time=one.time + 20 * S, term=9) for one in two_leaders()]
    assert election_safety(late, TERM).verdict == "invalid"
    early = Damages((replace(TERM.all[0], begin=16 * S, end=17 * S),))
    assert election_safety(two_leaders(), early).verdict == "invalid"


# -- data --------------------------------------------------------------------------------------------------------------


def test_more_damage_than_a_minority_is_reported() -> None:
    two = Damages((TERM.all[0], replace(TERM.all[0], node="n2")))
    assert two.warnings(("n1", "n2", "n3", "n4", "n5")) == []
    (line,) = two.warnings(("n1", "n2", "n3"))
    assert "n1, n2" in line
    assert NONE.warnings(("n1",), lost=True) == []


def test_where_clients_lost_data_a_log_that_we_cut_is_reported() -> None:
    """An entry is safe on a majority; a bare one that holds a cut log is none any more."""
    cut = Damages((replace(TERM.all[0], kind="data"),))
    nodes = ("n1", "n2", "n3", "n4", "n5")
    assert cut.warnings(nodes) == TERM.warnings(nodes, lost=True) == []
    (line,) = cut.warnings(nodes, lost=True)
    assert line.startswith("a fault cut the log on n1")


# -- data lost by our own damage --------------------------------------------------------------------------------------


def cut(*nodes: str) -> Damages:
    return Damages(tuple(Damage(node, "data/0", "data", (40 + n) * S, (41 + n) * S) for n, node in enumerate(nodes)))


def holding(ends: dict[str, int], at: float = 40.2) -> list[Probe]:
    return [
        Probe(round(at * S), node, "follower", 1, log_end=end, committed=min(end, 90)) for node, end in ends.items()
    ]


def test_a_cut_log_loses_nothing_that_a_majority_holds_on_others() -> None:
    assert cut("n1").voided(("n1", "n2", "n3"), holding({"n1": 90, "n2": 90, "n3": 95})) is None


def test_an_entry_that_was_on_a_bare_majority_with_the_cut_log_may_be_lost_by_that() -> None:
    found = cut("n1").voided(("n1", "n2", "n3"), holding({"n1": 90, "n2": 90, "n3": 60}))
    assert found is not None
    assert (found.since, found.nodes, found.whole, found.members) == (40 * S, ("n1",), 1, 3)
    later = [*holding({"n1": 90, "n2": 90, "n3": 60}), *holding({"n3": 90}, at=44)]
    assert cut("n1").voided(("n1", "n2", "n3"), later) == found, "what was copied later may have been lost before"


def test_two_cut_logs_of_three_leave_no_majority_whichever_holds_what() -> None:
    full = [*holding({"n1": 90, "n2": 90, "n3": 90}), *holding({"n1": 90, "n2": 90, "n3": 90}, at=41.5)]
    found = cut("n1", "n2").voided(("n1", "n2", "n3"), full)
    assert found is not None
    assert (found.since, found.whole) == (41 * S, 1)


def test_where_nodes_do_not_say_what_is_committed_nothing_can_be_shown() -> None:
    silent = [Probe(41 * S, node, log_end=9) for node in ("n1", "n2", "n3")]
    assert cut("n1", "n2").voided(("n1", "n2", "n3"), silent) is None


def valued(at: float, f: str, value: int) -> Operation:
    made = operation(at, f)
    return replace(made, value=value) if f == "write" else replace(made, result=value)


def stale_read(number: int, at: float) -> list[Operation]:
    """Two writes, and a read that misses the second, which nobody reads."""
    first, second = 2 * number + 1, 2 * number + 2
    return [valued(at, "write", first), valued(at + 0.2, "write", second), valued(at + 0.4, "read", first)]


def numbered(history: list[Operation]) -> list[Operation]:
    """The operations one after the other, in the order of their times."""
    ordered = sorted(history, key=lambda one: one.invoked)
    return [replace(one, invoke_index=2 * n, return_index=2 * n + 1) for n, one in enumerate(ordered)]


VOIDED = cut("n1").voided(("n1", "n2", "n3"), holding({"n1": 90, "n2": 90, "n3": 60}))


def lost(at: float, kind: str = "lost-write") -> KeyVerdict:
    example = Counterexample(kind, "A write was lost.", (operation(at, "read"),))
    kinds = count_kinds([(kind, example.completed_at)], 1)
    return KeyVerdict("k0", "invalid", "zones", 5, 0.1, 1, (example,), kinds=kinds)


@pytest.mark.parametrize(
    ("name", "key", "verdict"),
    [
        ("linearizable", lost(45), "unknown"),
        ("linearizable", lost(20), "invalid"),
        ("linearizable", lost(45, "never-written"), "invalid"),
        ("elements", lost(45), "unknown"),
        ("election-safety", lost(45), "invalid"),
        ("node-logs", lost(45), "invalid"),
    ],
)
def test_a_loss_after_such_a_cut_is_undecided_and_nothing_else_is(name: str, key: KeyVerdict, verdict: str) -> None:
    check = replace(linearizability((key,), 5, None), name=name)
    found = excused(check, VOIDED)
    assert found.verdict == verdict
    assert ("n1 at 40.0 s, and at most 1 of 3 members" in found.seen) == (verdict == "unknown")
    assert excused(check, None) is check


@pytest.mark.parametrize("stale", [3, 10, 300])
def test_a_value_that_nobody_wrote_is_a_violation_however_many_others_came_before(stale: int) -> None:
    """The checker counts all kinds, also of those violations that it does not show."""
    history = list[Operation]()
    for number in range(stale):
        history += stale_read(number, 50 + number)
    keys = [check_operations(numbered(history), "register")]
    assert keys[0].violations == stale
    assert excused(linearizability(keys, len(history), None), VOIDED).verdict == "unknown"
    keys = [check_operations(numbered([*history, valued(9999, "read", 99_999)]), "register")]
    found = linearizability(keys, len(history) + 1, None)
    assert (excused(found, VOIDED).verdict, keys[0].violations) == ("invalid", stale + 1)
    assert "never-written" in {one.kind for one in found.findings}
    assert len(keys[0].counterexamples) <= MAX_COUNTEREXAMPLES


def test_a_violation_before_the_damage_is_not_swallowed_by_later_ones() -> None:
    history = stale_read(0, 5)
    for number in range(10):
        history += stale_read(1 + number, 50 + number)
    early = linearizability([check_operations(numbered(history), "register")], len(history), None)
    late = linearizability([check_operations(numbered(history[3:]), "register")], len(history), None)
    assert excused(early, VOIDED).verdict == "invalid"
    assert excused(late, VOIDED).verdict == "unknown"


@pytest.mark.parametrize("name", ["log-order", "committed-kept"])
@pytest.mark.parametrize(("at", "verdict"), [(20, "invalid"), (45, "unknown")])
def test_a_node_that_lost_entries_before_such_a_cut_had_lost_them_by_itself(name: str, at: int, verdict: str) -> None:
    short = ((at, 90), (at + 0.25, 50), (at + 0.5, 50))
    lost_by_itself = [Probe(round(time * S), "n2", "follower", 1, None, 0, end, 90, 90, pid=7) for time, end in short]
    check = log_order(lost_by_itself, NONE) if name == "log-order" else check_committed_prefix(lost_by_itself)
    assert (check.name, check.verdict) == (name, "invalid")
    assert excused(check, VOIDED).verdict == verdict


def test_a_log_that_a_restart_left_short_before_such_a_cut_proves_nothing() -> None:
    moments = (Fall("n1", 20 * S, 1, 9, restarted=True), Fall("n1", 45 * S, 1, 9))
    found = EntriesDeleted(since=45 * S, moments=moments)
    check = Check("committed-kept", "check", "invalid", "all is kept", "one is lost", (found,))
    assert excused(check, VOIDED).verdict == "unknown"


@pytest.mark.parametrize(
    ("kind", "at", "verdict"),
    [
        ("lost-element", 45, "unknown"),
        ("lost-element", 20, "invalid"),  # before the damage
        ("never-written", 45, "invalid"),
        ("failed-write-read", 45, "invalid"),
        ("wrong-total", 45, "invalid"),
        ("session-went-back", 45, "unknown"),
        ("granted-twice", 45, "unknown"),  # the entry that granted the lock first may be gone
        ("granted-twice", 20, "invalid"),
        ("overcount", 45, "invalid"),
    ],
)
def test_a_check_of_the_workload_is_excused_by_its_own_counterexamples(kind: str, at: float, verdict: str) -> None:
    example = Counterexample.of_promise(kind, "A promise was broken.", (operation(at, "read"), "breaks it"))
    check = Check("elements", "check", "invalid", "all is kept", "one is lost", contradictions("elements", [example]))
    assert excused(check, VOIDED).verdict == verdict
