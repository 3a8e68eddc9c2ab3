"""No recovery is the system's finding only where nothing of it is our doing, and names the nodes at fault."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.judge.damage import damages_of
from harness.judge.judge import judge
from harness.judge.recorded import Recorded
from harness.judge.service import services_since
from harness.runstate import RunState
from history import Check, KeyVerdict, Operation, Probe, Receipt
from history.columns.operations import from_operations
from history.records.finding import Comeback
from history.records.operations import NEVER_MADE, UNAPPLIED
from history.records.probes import WRONG_TYPE
from history.records.recovery import Service
from tests.support.draws import draws
from tests.support.harness.findings import only
from tests.support.harness.good_run import MOMENTS, NODES, asked_in_vain, check_named, good, operation, receipt, replace

S = 1_000_000_000
LATE = {**MOMENTS, "healed": 61 * S, "final-reads": 122 * S, "end": 124 * S}
OPERATIONS = (
    *good().operations[:3],
    *(operation(62, f, phase="final") for f in ("read", "write")),
    operation(123, "read", phase="final"),
)


def probes_of(stuck: tuple[str, ...] = (), silent: tuple[str, ...] = ()) -> tuple[Probe, ...]:
    """Four times a second from 0 to 124 s; who is stuck or silent is so from 20 s on."""
    found = []
    for quarter in range(124 * 4):
        time = quarter * S // 4
        index = quarter
        for node in NODES:
            gone = quarter > 80
            if node in silent and gone:
                found.append(Probe(time, node, error="no connection"))
                continue
            at = 80 if node in stuck and gone else index
            role: Any = "leader" if node == "n2" else "follower"
            found.append(Probe(time, node, role, 1, "n2", 0, at, at, at, pid=7))
    return tuple(found)


def recorded(probes: tuple[Probe, ...] = probes_of(), **state: Any) -> Recorded:
    whole = RunState(moments=dict(LATE), ended=True, **state)
    return replace(good(), operations=OPERATIONS, probes=probes, state=whole)


def check_of(run: Recorded, name: str = "recovery") -> Check:
    return check_named(name, judge(run, (KeyVerdict("k0", "valid", "zones", 5, 0.1),), [], {}))


def test_a_cluster_that_comes_back_is_valid_and_one_that_does_not_is_not() -> None:
    assert check_of(recorded()).verdict == "valid"
    stuck = check_of(recorded(probes_of(stuck=("n3",))))
    assert (stuck.verdict, stuck.seen, list(stuck.findings[0].nodes)) == (
        "invalid",
        "n3 stuck at 80 of 124 (495 by the end)",
        ["n3"],
    )
    last = (124 * 4 - 1) * S // 4
    assert (only(stuck, Comeback).last_commit_ns, only(stuck, Comeback).end_ns) == (last, last)
    assert only(stuck, Comeback).last_served_ns == OPERATIONS[-1].returned
    silent = check_of(recorded(probes_of(silent=("n3",))))
    assert (silent.verdict, silent.seen) == ("invalid", "n3 silent since 20.0 s, before the heal")


def test_a_node_is_silent_since_its_last_answer_and_since_the_heal_only_where_it_answered_then() -> None:
    heal = good().receipts[0].healed
    assert heal is not None
    later = [one if one.node != "n3" or one.time < heal else Probe(one.time, "n3", error="gone") for one in probes_of()]
    assert check_of(recorded(tuple(later))).seen == "n3 silent since the heal"
    never = [one if one.node != "n3" else Probe(one.time, "n3", error="gone") for one in probes_of(silent=("n1",))]
    assert check_of(recorded(tuple(never))).seen == "n1 silent since 20.0 s, before the heal; n3 never answered a probe"


def test_a_fault_that_could_not_be_healed_has_no_heal_to_count_from() -> None:
    run = recorded(probes_of(silent=("n3",)))
    healed = check_of(run)
    assert (healed.asked.partition(" every kind")[0], healed.seen) == (
        "within 60 s of the last heal",
        "n3 silent since 20.0 s, before the heal",
    )
    tried = check_of(replace(run, receipts=(replace(run.receipts[0], healed=None),)))
    assert (tried.asked.partition(" every kind")[0], tried.seen) == (
        "within 60 s of the last attempt to heal",
        "n3 silent since 20.0 s, before the attempt to heal",
    )
    back = check_of(replace(recorded(), receipts=(replace(run.receipts[0], healed=None),)))
    assert back.seen.endswith("s after the attempt to heal")


def test_of_a_cluster_that_lacks_a_node_and_served_late_both_are_reported() -> None:
    """After the heal at 31 s nothing succeeds before 101 s; the twin's operations do so at once."""
    probes = probes_of(silent=("n3",))
    gone = "n3 silent since 20.0 s, before the heal"

    def served(at: float) -> tuple[Operation, ...]:
        return tuple(operation(at, f, phase="final") for f in ("read", "write"))

    vain = asked_in_vain(range(31, 101), "read", "write")
    late = replace(recorded(probes), operations=(*OPERATIONS[:3], *vain, *served(101)))
    assert check_of(late).seen == f"{gone}; operations succeeded again only 70.1 s after the heal"
    at_once = replace(recorded(probes), operations=(*OPERATIONS[:3], *served(40)))
    assert check_of(at_once).seen == gone
    unasked = replace(recorded(probes), operations=(*OPERATIONS[:3], *served(101)))
    assert check_of(unasked).seen == gone, "that nobody asked before is ours"


def test_indexes_with_epochs_are_written_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = recorded(probes_of(stuck=("n3",)))
    assert check_of(stuck).seen == "n3 stuck at 80 of 124 (495 by the end)"
    system = replace(stuck.plan.under_test, epoch_bits=32)
    monkeypatch.setattr(type(stuck.plan), "under_test", property(lambda _plan: system))
    assert check_of(stuck).seen == "n3 stuck at 0x50 of 0x7c (0x1ef by the end)"
    assert check_of(recorded()).seen.startswith("all nodes at 0x7c, ")


def test_a_run_without_faults_has_no_heal() -> None:
    calm = check_of(replace(recorded(), receipts=()))
    assert calm.asked.startswith("within 60 s of the end of the load every kind of operation succeeds")
    assert calm.seen == "no fault was injected; all nodes at 244, 1.1 s after the load"
    struck = check_of(recorded())
    assert struck.asked.startswith("within 60 s of the last heal ")
    assert struck.seen.endswith(" after the heal")
    assert "no fault" not in struck.seen


def test_a_node_on_which_nothing_runs_has_nothing_to_recover() -> None:
    probes = tuple(one for one in probes_of() if one.node != "n3")
    roles = {"n1": ["server"], "n2": ["server"], "n3": []}
    assert check_of(recorded(probes, environment={"roles": roles})).verdict == "valid"
    assert check_of(recorded(probes)).verdict == "unknown"


def of_arbiter(probe: Probe) -> Probe:
    """What n3 would say if it kept no log."""
    bare = replace(probe, log_begin=-1, log_end=-1, committed=-1, applied=-1)
    return bare if probe.node == "n3" and probe.answered else probe


def test_a_member_without_a_log_must_answer_and_has_nothing_to_apply() -> None:
    probes = tuple(map(of_arbiter, probes_of()))
    arbiter = check_of(recorded(probes, logless=["n3"]))
    assert (arbiter.verdict, "of which n3 without a log" in arbiter.seen) == ("valid", True)
    empty = check_of(recorded(probes))
    assert (empty.verdict, list(empty.findings[0].nodes)) == ("invalid", ["n3"])
    gone = check_of(recorded(tuple(map(of_arbiter, probes_of(silent=("n3",)))), logless=["n3"]))
    assert (gone.verdict, list(gone.findings[0].nodes)) == ("invalid", ["n3"])


def test_contents_are_not_asked_of_a_member_without_a_log() -> None:
    held = tuple(replace(one, state_index=one.applied, digest=f"of {one.applied}") for one in probes_of())
    bare = tuple(replace(of_arbiter(one), state_index=-1, digest=None) if one.node == "n3" else one for one in held)
    assert check_of(recorded(bare, logless=["n3"]), "replicas-agree").verdict == "valid"
    assert check_of(recorded(bare), "replicas-agree").verdict == "valid"  # it did not recover, which is said elsewhere
    mute = tuple(replace(one, state_index=-1, digest=None) if one.node == "n3" else one for one in held)
    assert check_of(recorded(mute), "replicas-agree").verdict == "unknown"


@pytest.mark.parametrize(("declared", "verdict"), [(True, "invalid"), (None, "valid"), (False, "valid")])
@pytest.mark.parametrize("sides", [("read", "write"), ("write",)])
@pytest.mark.parametrize("home", ["n3", "primary"])
def test_a_node_that_catches_up_must_serve_its_own_clients_where_every_node_serves(
    monkeypatch: pytest.MonkeyPatch, declared: bool | None, verdict: str, sides: tuple[str, ...], home: str
) -> None:
    """Its probes say that it applied everything; only its clients notice that it answers nothing.

    The same holds for clients that look for the primary, wherever it is.
    """
    run = recorded()
    system = replace(run.plan.under_test, every_node_serves=declared)
    monkeypatch.setattr(type(run.plan), "under_test", property(lambda _plan: system))
    both = ("read", "write")
    served = tuple(
        replace(operation(at, f, phase="final"), node=node)
        for at in (62, 123)
        for f in both
        for node in ("n1", "n2", home)
    )
    mute = tuple(one for one in served if one.node != home or one.f not in sides)
    vain = tuple(replace(one, node=home) for one in asked_in_vain(range(62, 124), *sides))
    check = check_of(replace(run, operations=(*OPERATIONS[:3], *mute, *vain)))
    assert check.verdict == verdict
    assert [one.nodes for one in check.findings] == [(home,) if declared else ()]
    assert check_of(replace(run, operations=(*OPERATIONS[:3], *served))).verdict == "valid"


@pytest.mark.parametrize("stays_away", [{"stuck": ("n3",)}, {"silent": ("n3",)}])
def test_a_node_that_is_no_member_has_nothing_to_recover(stays_away: dict[str, tuple[str, ...]]) -> None:
    run = recorded(probes_of(**stays_away))
    assert check_of(run).verdict == "invalid"
    assert check_of(replace(run, members=("n1", "n2"))).verdict == "valid"


# -- what is ours ------------------------------------------------------------------------------------------------------


def test_what_we_could_not_heal_makes_recovery_unknown_and_never_invalid() -> None:
    reason = "disk-full on n3: umount: target is busy"
    check = check_of(recorded(probes_of(silent=("n3",)), unhealed=[reason]))
    assert (check.verdict, check.seen) == ("unknown", f"could not be healed by the harness: {reason}")
    cut = recorded(probes_of(silent=("n3",)), unhealed=[reason])
    cut.state.moments.pop("final-reads")
    assert check_of(cut).verdict == "unknown"


def test_a_time_in_which_the_harness_asked_no_node_accuses_no_node() -> None:
    """It is not recorded that it stood still: 65 s without any probe after the heal, then the last words."""
    seen = tuple(one for one in probes_of(stuck=("n3",)) if not 50 * S < one.time < 115 * S)
    check = check_of(recorded(seen))
    assert (check.verdict, check.seen) == (
        "unknown", "n3 stuck at 80 of 124 (495 by the end), but the harness probed no node for 65.0 s of that time",
    )  # fmt: skip
    assert check_of(recorded(tuple(one for one in probes_of() if not 50 * S < one.time < 115 * S))).verdict != "invalid"


def test_a_node_that_was_not_asked_since_the_heal_is_not_silent() -> None:
    unasked = tuple(one for one in probes_of() if one.node != "n3" or one.time < 20 * S)
    check = check_of(recorded(unasked))
    assert (check.verdict, check.seen) == (
        "unknown", "n3 silent since 19.8 s, before the heal, but the harness never probed n3 after the heal",
    )  # fmt: skip


def test_a_standstill_is_taken_out_of_the_time_that_a_node_is_given() -> None:
    """Back 70 s after the heal, 65 of which the harness slept through."""
    back = tuple(one for one in probes_of() if not 32 * S < one.time < 97 * S)
    slow = recorded(back, standstills=[(32 * S, 97 * S)])
    back_again = [operation(101, f, phase="final") for f in ("read", "write")]
    slow = replace(slow, operations=(*OPERATIONS[:3], *back_again, OPERATIONS[-1]))
    check = check_of(slow)
    assert (check.verdict, check.seen) == ("valid", "all nodes at 124, 5.1 s after the heal")
    assert only(check, Comeback).healed_ns == 31 * S
    assert only(check, Comeback).seconds == pytest.approx(5.1, abs=0.2)


def test_what_counts_as_within_the_limit_says_why() -> None:
    """n3 is seen to be back 60.8 s after the heal, and probes report late."""
    late = tuple(
        behind if one.time < 91.6 * S else one
        for one, behind in zip(probes_of(), probes_of(stuck=("n3",)), strict=True)
    )
    check = check_of(recorded(late))
    assert (check.verdict, check.seen) == (
        "valid",
        "all nodes at 124, 60.8 s after the heal, which counts as within 60 s: probes report up to 1 s late",
    )


def test_a_node_is_given_its_whole_time_awake() -> None:
    stuck = tuple(one for one in probes_of(stuck=("n3",)) if not 32 * S < one.time < 97 * S)
    check = check_of(recorded(stuck, standstills=[(32 * S, 97 * S)]))
    assert (check.verdict, check.seen) == (
        "unknown", "n3 stuck at 80 of 124 (495 by the end), but the harness was awake for only 27.8 s of the 60 s",
    )  # fmt: skip


def test_after_a_standstill_a_node_that_had_its_time_is_accused_all_the_same() -> None:
    stuck = tuple(one for one in probes_of(stuck=("n3",)) if not 40 * S < one.time < 50 * S)
    assert check_of(recorded(stuck, standstills=[(40 * S, 50 * S)])).verdict == "invalid"


@overload
def later(moment: int, at: int, by: int) -> int: ...
@overload
def later(moment: None, at: int, by: int) -> None: ...
def later(moment: int | None, at: int, by: int) -> int | None:
    return None if moment is None else moment + by if moment > at else moment


def stood_still(run: Recorded, at: int, by: int) -> Recorded:
    """The same run, in which the harness was stalled for ``by`` ns at ``at``."""
    operations = tuple(
        replace(op, invoked=later(op.invoked, at, by), returned=later(op.returned, at, by)) for op in run.operations
    )
    receipts = tuple(
        replace(
            one, started=later(one.started, at, by), stood=later(one.stood, at, by),
            heal_started=later(one.heal_started, at, by), healed=later(one.healed, at, by),
        )
        for one in run.receipts
    )  # fmt: skip
    probes = tuple(replace(one, time=later(one.time, at, by)) for one in run.probes)
    moments = {name: later(moment, at, by) for name, moment in run.state.moments.items()}
    state = replace(run.state, moments=moments, standstills=[(at, at + by)])
    return replace(run, operations=operations, receipts=receipts, probes=probes, state=state)


@settings(deadline=None, max_examples=draws(12, 200))
@given(st.integers(0, 124 * S), st.integers(1, 200 * S))
def test_a_standstill_of_any_length_at_any_time_never_makes_a_valid_run_invalid(at: int, by: int) -> None:
    run = stood_still(recorded(), at, by)
    results = judge(run, (KeyVerdict("k0", "valid", "zones", 5, 0.1),), [], {})
    assert [check.name for check in results.checks if check.verdict == "invalid"] == []
    assert check_named("recovery", results).verdict == "valid"


@settings(deadline=None, max_examples=draws(8, 100))
@given(st.integers(0, 124 * S), st.integers(1, 200 * S))
def test_nor_does_one_that_was_not_written_down(at: int, by: int) -> None:
    run = stood_still(recorded(), at, by)
    unknown = replace(run, state=replace(run.state, standstills=[]))
    assert check_of(unknown).verdict != "invalid"


@settings(deadline=None, max_examples=draws(8, 100))
@given(st.integers(0, 124 * S), st.integers(1, 200 * S))
def test_a_standstill_hides_no_node_that_had_its_time(at: int, by: int) -> None:
    run = stood_still(recorded(probes_of(stuck=("n3",))), at, by)
    assert check_of(run).verdict == "invalid"


# -- what shows no recovery --------------------------------------------------------------------------------------------


def test_an_acknowledgement_of_what_was_never_applied_is_no_commit() -> None:
    vain = asked_in_vain(range(61, 122), "read", "write")
    swept = [replace(op, outcome="ok", error=UNAPPLIED) if op.phase == "final" else op for op in (*OPERATIONS, *vain)]
    check = check_of(replace(recorded(), operations=swept))
    assert (check.verdict, check.seen) == ("invalid", "no read and no write succeeded after the heal")


def test_a_register_that_alone_is_not_served_has_not_come_back() -> None:
    def on_k1(seconds: Iterable[int], before: str = "ok", client: int = 0) -> Recorded:
        vain = asked_in_vain(range(61, 122), "read")
        kept = [replace(op, key="k1", process=client) for op in vain if op.invoked // S in seconds]
        others = [operation(at + 0.5, f, phase="final") for at in range(65, 120, 5) for f in ("read", "write")]
        had = operation(6, "read", key="k1", outcome=before)
        return replace(recorded(), operations=(*OPERATIONS, had, *kept, *others))

    lost = check_of(on_k1(range(61, 122)))
    assert (lost.verdict, lost.seen) == ("invalid", "no reads on k1 succeeded after the heal")
    assert check_of(on_k1([*range(61, 70), *range(90, 122)])).verdict == "invalid"
    assert check_of(on_k1([61, 81, 101, 121])).verdict == "invalid", "rarely, but to the end"
    briefly = check_of(on_k1(range(61, 70)))
    assert (briefly.verdict, briefly.seen) == (
        "unknown",
        "reads on k1 requested without success, but for less than the whole recovery time",
    )
    assert check_of(on_k1([61])).verdict == "unknown"
    assert check_of(on_k1([121])).verdict == "unknown", "never again"
    assert check_of(on_k1(range(61, 122), client=1)).verdict == "valid", "by a client that nobody served"
    assert check_of(on_k1(range(61, 122), before="fail")).verdict == "valid"


@pytest.mark.parametrize(
    ("workload", "change"),
    [("cas-register", "cas"), ("mixed-registers", "write"), ("counter", "add"), ("set", "add"), ("lock", "acquire")],
)
def test_one_of_many_objects_that_takes_no_changes_has_not_come_back(workload: str, change: str) -> None:
    def on_k1(change: str, seconds: range) -> Check:
        vain = [replace(op, key="k1") for op in asked_in_vain(seconds, change)]
        run = recorded()
        run = replace(run, plan=replace(run.plan, workload=workload))
        kinds = {*run.plan.load.kinds, "read", "write", change}
        others = [operation(at + 0.5, f, phase="final") for at in range(65, 120, 5) for f in sorted(kinds)]
        had = [operation(6, f, key="k1") for f in sorted(kinds)]
        return check_of(replace(run, operations=(*OPERATIONS, *had, *vain, *others)))

    lost = on_k1(change, range(61, 122))
    assert (lost.verdict, lost.seen) == ("invalid", "no changes on k1 succeeded after the heal")
    assert on_k1(change, range(0)).verdict == "valid"
    assert on_k1(change, range(61, 70)).verdict == "unknown"
    if workload == "lock":
        assert on_k1("release", range(61, 122)).verdict == "valid", "nobody had a token to release it with"


def test_a_register_is_not_lost_if_all_its_requests_began_before_the_others_were_served() -> None:
    """The time to recover is shorter than a request may take."""

    def asked_at(*times: float) -> Check:
        vain = [replace(operation(at, "read", key="k1", outcome="fail"), returned=round((at + 4) * S)) for at in times]
        ops = [replace(op, phase="final") for op in (*vain, *(operation(at, "read") for at in (63.5, 65.8)))]
        had = operation(6, "read", key="k1")
        run = recorded()
        run.state.moments["healed"] = 61 * S
        return check_of(replace(run, operations=(*OPERATIONS[:5], had, *ops), plan=replace(run.plan, recovery_time=5)))

    assert asked_at(61.1).verdict == "unknown"
    assert asked_at(61.1, 65.2).verdict == "invalid"


def test_a_time_in_which_clients_did_not_ask_is_not_held_against_the_system() -> None:
    """Asked at both ends of the time to recover, or all through it."""
    begin, end = asked_in_vain(range(61, 63), "read", "write"), asked_in_vain(range(119, 122), "read", "write")
    gap = check_of(replace(recorded(), operations=(*OPERATIONS[:3], *begin, *end)))
    assert (gap.verdict, gap.seen) == (
        "unknown",
        "read, write and changes requested without success, but for less than the whole recovery time",
    )
    whole = asked_in_vain(range(61, 122), "read", "write")
    assert check_of(replace(recorded(), operations=(*OPERATIONS[:3], *whole))).verdict == "invalid"


def test_nor_does_it_make_an_answer_late() -> None:
    def answered_at_101(asked: range) -> Check:
        back = [operation(101, f, phase="final") for f in ("read", "write")]
        vain = asked_in_vain(asked, "read", "write")
        return check_of(replace(recorded(), operations=(*OPERATIONS[:3], *vain, *back)))

    assert answered_at_101(range(31, 33)).verdict == "valid"
    assert answered_at_101(range(31, 101)).verdict == "invalid"


@pytest.mark.parametrize(("answered", "verdict"), [(101, "invalid"), (80, "unknown")])
def test_what_came_back_late_is_judged_although_something_else_was_left_open(answered: int, verdict: str) -> None:
    """Nobody asked for a write since the heal at 31 s; a read was asked for at once, and answered then."""
    reads = (*asked_in_vain(range(31, answered), "read"), operation(answered, "read", phase="final"))
    check = check_of(replace(recorded(), operations=(*OPERATIONS[:3], *reads)))
    assert check.verdict == verdict
    assert "write and changes not requested again" in check.seen


@settings(max_examples=draws(100, 2000))
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), min_size=1, max_size=5),
    st.integers(0, 26), st.integers(0, 6),
)  # fmt: skip
def test_the_time_asked_is_what_operations_cover_and_short_gaps(
    asked: list[tuple[int, int]], granted: int, pause: int
) -> None:
    spans = [(begin, begin + length) for begin, length in asked if begin <= granted]
    vain = [replace(operation(0, "read", outcome="fail"), invoked=b, returned=e) for b, e in spans]
    last = replace(operation(0, "read"), invoked=granted, returned=granted)
    spans.append((granted, granted))

    def counts(at: int) -> bool:
        before, after = [end for _, end in spans if end <= at], [begin for begin, _ in spans if begin > at]
        short = bool(before and after) and min(after) - max(before) <= pause
        return short or any(begin <= at < end for begin, end in spans)

    service = services_since(0, from_operations([*vain, last]), good().plan.load, pause)[("read", None)]
    assert service == Service(sum(map(counts, range(granted))), granted)


def test_a_read_of_what_was_never_made_is_no_sign_of_a_cluster_that_serves() -> None:
    """BookKeeper's gateways answer it though no bookie is up."""
    made = [op for op in OPERATIONS if op.phase != "final"]
    never = [replace(operation(at, "read", key="l1", phase="final"), error=NEVER_MADE) for at in range(61, 122)]
    check = check_of(replace(recorded(), operations=(*made, *never)))
    assert (check.verdict, check.seen) == ("invalid", "no read succeeded after the heal")
    assert only(check, Comeback).last_served_ns == made[-1].returned


def test_a_system_that_does_not_start_again_at_the_end_has_not_recovered() -> None:
    run = recorded()
    run.state.restart_failed = "n2 did not answer within 60 s"
    check = check_of(run)
    assert (check.verdict, check.findings[0].kind) == ("invalid", "no-recovery")
    assert check.seen == "the servers did not start again after the restart at the end: n2 did not answer within 60 s"


REFUSED = "n3 did not start again with its damaged data file /data/harness/register/dledger-n3/data/0, which is allowed"


def test_a_damaged_node_that_refuses_the_restart_at_the_end_has_answered() -> None:
    anew = [replace(one, pid=8) if one.pid and one.time > 123 * S else one for one in probes_of(silent=("n3",))]
    run = replace(recorded(tuple(anew)), receipts=(receipt(), damaged()))
    run.state.moments["restarting"] = 123 * S
    run.state.restart_failed = "n3 exited while starting"
    assert check_of(run).verdict == "valid"
    assert check_of(run).seen.endswith("; " + REFUSED)
    assert check_of(replace(run, receipts=(receipt(),))).verdict == "invalid"


def test_a_node_that_refuses_only_the_restart_at_the_end_is_named() -> None:
    """It had started on its damaged file before, and answered until then."""
    answers = [Probe(round(124.5 * S), node, "follower", 2, "n1", 0, 500, 500, 500, pid=9) for node in ("n1", "n2")]
    run = replace(recorded((*probes_of(), *answers)), receipts=(receipt(), damaged()))
    run.state.moments["restarting"] = 124 * S
    run.state.restart_failed = "n3 exited while starting"
    assert (check_of(run).verdict, check_of(run).seen.partition("; ")[2]) == ("valid", REFUSED)
    silent = replace(run, probes=run.probes[:-1])
    assert check_of(silent).verdict == "invalid", "n2 was not damaged"
    until_killed = [Probe(round(124.1 * S), node, "follower", 1, "n2", 0, 496, 496, 496, pid=7) for node in NODES]
    asked_on = replace(run, probes=(*probes_of(), *until_killed, *answers))
    assert check_of(asked_on).seen.endswith(REFUSED), "the old process answers until it is killed"
    silent = replace(run, probes=(*probes_of(), *until_killed, *answers[:-1]))
    assert check_of(silent).verdict == "invalid", "so that answer of n2 shows no start"


def test_a_node_that_is_well_only_after_all_were_started_anew_had_not_come_back() -> None:
    answers = [Probe(85 * S + 1, "n3", "follower", 1, "n2", 0, 500, 500, 500, pid=8)]
    probes = tuple(sorted([*probes_of(stuck=("n3",)), *answers], key=lambda one: one.time))
    assert check_of(recorded(probes)).verdict == "valid"
    run = recorded(probes)
    run.state.moments |= {"final-reads": 84 * S, "restarting": 85 * S}
    assert (check_of(run).verdict, list(check_of(run).findings[0].nodes)) == ("invalid", ["n3"])


def test_no_node_is_blamed_for_a_recovery_beside_a_failure_of_the_set_up() -> None:
    stuck = recorded(probes_of(stuck=("n3",)))
    wrong = replace(stuck, log_hits={**stuck.log_hits, "n1": {"IllegalAccessError": 1}})
    assert check_of(wrong).verdict == "unknown"
    assert (
        "n3 stuck at 80 of 124 (495 by the end), but the harness failed ('IllegalAccessError' once on n1"
        in check_of(wrong).seen
    )


# -- damage ------------------------------------------------------------------------------------------------------------


def damaged(kind: str = "data") -> Receipt:
    damage = {"file": f"/data/harness/register/dledger-n3/{kind}/0", "class": kind}
    return receipt(
        "file-truncate",
        id=1,
        nodes=("n3",),
        started=20 * S,
        stood=21 * S,
        healed=None,
        witness={"damaged": {"n3": damage}},
    )


def test_a_server_that_refuses_to_start_on_its_damaged_file_has_answered() -> None:
    run = replace(recorded(probes_of(silent=("n3",))), receipts=(receipt(), damaged()))
    check = check_of(run)
    refused = (
        "n3 did not start again with its damaged data file /data/harness/register/dledger-n3/data/0, which is allowed"
    )
    assert (check.verdict, check.seen.partition("; ")[2]) == ("valid", refused)


def test_an_answer_that_arrives_after_the_kill_is_no_start_on_the_damaged_file() -> None:
    late = Probe(round(21.2 * S), "n3", "follower", 1, "n2", 0, 80, 80, 80, pid=7)
    probes = [one for one in probes_of(silent=("n3",)) if one.node != "n3" or not 20 * S < one.time < 21.2 * S]
    run = recorded(tuple(sorted([*probes, late], key=lambda one: one.time)))
    check = check_of(replace(run, receipts=(receipt(), damaged())))
    assert (check.verdict, check.seen.partition("; ")[2]) == ("valid", REFUSED)


def test_a_node_that_had_started_again_and_is_silent_later_is_not_excused() -> None:
    answers = [Probe(25 * S, "n3", "follower", 1, "n2", 0, 90, 90, 90, pid=8)]
    probes = sorted([*probes_of(silent=("n3",)), *answers], key=lambda one: one.time)
    run = replace(recorded(tuple(probes)), receipts=(receipt(), damaged()))
    check = check_of(run)
    assert (check.verdict, check.seen) == ("invalid", "n3 silent since 25.0 s, before the attempt to heal")


def test_a_damaged_node_that_starts_has_to_come_back() -> None:
    run = replace(recorded(probes_of(stuck=("n3",))), receipts=(receipt(), damaged()))
    assert check_of(run).verdict == "invalid"


def test_no_quorum_is_left_where_most_refuse_to_start_on_what_we_damaged() -> None:
    file = {"file": "/data/store/data/0", "class": "data"}
    both = replace(damaged(), nodes=("n1", "n3"), witness={"damaged": {"n1": file, "n3": file}})
    run = recorded(probes_of(stuck=("n2",), silent=("n1", "n3")))
    vain = asked_in_vain(range(61, 122), "read", "write")
    check = check_of(replace(run, operations=(*OPERATIONS[:3], *vain), receipts=(receipt(), both)))
    ours = "injected faults damaged files of n1 and n3, without which no quorum is left"
    assert (check.verdict, check.seen) == (
        "unknown",
        f"no read and no write succeeded after the attempt to heal, but {ours}",
    )


def test_a_node_that_was_not_damaged_is_not_excused() -> None:
    run = replace(recorded(probes_of(silent=("n1", "n3"))), receipts=(receipt(), damaged()))
    check = check_of(run)
    assert (check.verdict, list(check.findings[0].nodes)) == ("invalid", ["n1"])
    assert "n1 silent since 20.0 s, before the attempt to heal; n3 did not start again" in check.seen


# -- who is at fault ---------------------------------------------------------------------------------------------------


def lossy(leader_end: int) -> tuple[Probe, ...]:
    """As in a run of kill-leader-then-successor: n2 was elected with a log that ends at ``leader_end`` of 300 committed
    entries, goes on from there, and n1 and n3, which hold them all, cannot follow."""
    found = []
    for quarter in range(124 * 4):
        time, before = quarter * S // 4, quarter < 80
        for node in NODES:
            if before:
                role: Any = "leader" if node == "n1" else "follower"
                end = committed = 300
                term = 1
            elif node == "n2":
                role, term = "leader", 2
                end = leader_end + (quarter - 80)
                committed = max(end, 300) if leader_end >= 300 else end
            else:
                role, term, end, committed = "follower", 2, 300, 300
            forgets = node == "n2" and not before
            found.append(
                Probe(time, node, role, term, "n2", 0, end, committed, min(committed, end), pid=8 if forgets else 7)
            )
    return tuple(found)


def test_who_lost_its_log_is_named_and_not_who_still_holds_it() -> None:
    """The leader's log passes 300 again, with other entries; those who are whole stand at 300."""
    probes = tuple(
        replace(one, log_end=one.log_end + 200, committed=one.committed + 200, applied=one.applied + 200)
        if one.node == "n2" and one.time > 25 * S
        else one
        for one in lossy(270)
    )
    check = check_of(recorded(probes))
    assert (check.verdict, list(check.findings[0].nodes)) == ("invalid", ["n2"])
    assert list(only(check, Comeback).behind) == ["n1", "n3"]
    assert check.seen.startswith(
        "n2 led in term 2 at 20.2 s with a log that ended at 271 although 300 had been committed"
    )
    assert check.seen.endswith("n1 and n3 stuck at 300 of 514 (885 by the end) with whole logs: n1 and n3")


def test_followers_that_are_stuck_behind_a_whole_leader_are_the_ones_at_fault() -> None:
    check = check_of(recorded(lossy(300)))
    assert (check.verdict, list(check.findings[0].nodes)) == ("invalid", ["n1", "n3"])
    assert check.seen.startswith("n1 and n3 stuck at 300 of 344")


def test_the_damage_of_a_run_is_read_from_its_receipts() -> None:
    (one,) = damages_of([damaged(), receipt()], good().plan).all
    assert (one.node, one.kind, one.begin, one.end) == ("n3", "data", 20 * S, 21 * S)


# -- the restart at the end -------------------------------------------------------------------------------------------

RESTARTED = {**LATE, "restarting": 125 * S, "restarted": 127 * S, "restarted-reads": 190 * S, "end": 192 * S}
#: What was committed when all were killed.
COMMITTED = 495


def after_restart(stays_at: dict[str, int | None], moments: dict[str, int] | None = None, **state: Any) -> Recorded:
    """All nodes come back at 127 s; these apply no more than that many entries, or (None) never answer."""
    found = list(probes_of())
    for quarter in range(127 * 4, 191 * 4):
        for node in NODES:
            applied = stays_at.get(node, COMMITTED + 5)
            if applied is None:
                found.append(Probe(quarter * S // 4, node, error="no connection"))
                continue
            role: Any = "leader" if node == "n1" else "follower"
            end = COMMITTED + 5
            found.append(Probe(quarter * S // 4, node, role, 2, "n1", 0, end, applied, applied, pid=9))
    run = recorded(tuple(found), **state)
    run.state.moments |= RESTARTED if moments is None else moments
    again = [operation(128, f, phase="final") for f in ("read", "write")]
    return replace(run, operations=(*OPERATIONS, *again, operation(190.5, "read", phase="final")))


def test_nodes_that_come_back_whole_from_the_restart_have_recovered() -> None:
    check = check_of(after_restart({}))
    seen = "all nodes at 124, 31.1 s after the heal; all nodes at 500, 1.1 s after the restart"
    assert (check.verdict, check.seen) == ("valid", seen)


@pytest.mark.parametrize(
    ("stays_at", "seen"),
    [
        ({"n3": 5}, "n3 stuck at 5 of 500"),
        ({"n2": None, "n3": 5}, "n3 stuck at 5 of 500; n2 silent since the restart"),
        (dict.fromkeys(NODES, 60), "n1, n2 and n3 stuck at 60 of 495"),
    ],
)
def test_a_node_that_the_restart_costs_what_it_had_applied_is_no_recovery(
    stays_at: dict[str, int | None], seen: str
) -> None:
    """Also where all of them lost it: what had been committed before stays committed."""
    check = check_of(after_restart(stays_at))
    assert (check.verdict, check.seen) == ("invalid", f"after all servers were restarted {seen}")
    assert list(check.findings[0].nodes) == sorted(stays_at)


def test_what_was_not_waited_for_after_the_restart_is_not_judged() -> None:
    """A recording of before, or one that was cut."""
    cut = {name: time for name, time in RESTARTED.items() if name != "restarted-reads"}
    assert check_of(after_restart({"n3": 5}, cut)).verdict == "valid"


def test_our_own_failure_after_the_restart_is_not_the_systems() -> None:
    check = check_of(after_restart({"n3": 5}, failures=["ssh broke"]))
    assert check.verdict == "unknown"
    assert check.seen.endswith(", but the harness failed (ssh broke)")


def test_a_damaged_node_that_refuses_that_restart_is_not_waited_for() -> None:
    witness = {"damaged": {"n3": {"file": "/data/store/data/0", "class": "data"}}}
    damage = receipt("file-bitflip", id=1, started=50 * S, stood=51 * S, healed=53 * S, nodes=("n3",), witness=witness)
    run = after_restart({"n3": None})
    check = check_of(replace(run, receipts=(*run.receipts, damage)))
    assert check.verdict == "valid"
    assert check.seen.endswith("n3 did not start again with its damaged data file /data/store/data/0, which is allowed")
    for_good = after_restart({"n3": None})
    gone = [one for one in for_good.probes if one.node != "n3" or one.time < 50 * S]
    twice = check_of(replace(for_good, probes=tuple(gone), receipts=(*run.receipts, damage)))
    assert (twice.verdict, twice.seen.count("n3 did not start again")) == ("valid", 1)


@pytest.mark.parametrize(("term", "blamed"), [(1, "election-safety"), (7, "recovery")])
def test_a_metadata_server_has_a_log_and_terms_of_its_own(term: int, blamed: str) -> None:
    """It leads a group of its own, far ahead.  The twin is a member of the group that it contradicts."""
    times = range(0, 124 * S, S // 4)
    own = [
        Probe(time, "n4", "leader", term, "n4", 0, 10**6, 10**6, 10**6, state_index=10**6, digest="other", pid=9)
        for time in times
    ]
    members = [replace(one, state_index=one.applied, digest=str(one.applied)) for one in probes_of()]
    run = recorded(tuple(sorted([*members, *own], key=lambda one: one.time)))
    run = replace(run, nodes=(*NODES, "n4"), log_hits={node: {} for node in (*NODES, "n4")})

    def wrong(members: tuple[str, ...]) -> tuple[set[str], list[str]]:
        keys = (KeyVerdict("k0", "valid", "zones", 5, 0.1),)
        results = judge(replace(run, members=members), keys, [{"id": run.receipts[0].id}], {})
        return {check.name for check in results.checks if check.verdict == "invalid"}, results.windows[0]["behind"]

    assert wrong(NODES) == (set(), [])
    checks, behind = wrong((*NODES, "n4"))
    assert blamed in checks
    assert behind == list(NODES)


def test_a_node_whose_answers_cannot_be_read_is_not_silent() -> None:
    """The program has a figure of its own with one of our names.  The twins do not answer, or are stuck."""
    error = f"{WRONG_TYPE}: fault 3"
    unreadable = [one if one.node != "n3" else Probe(one.time, "n3", error=error) for one in probes_of()]
    check = check_of(recorded(tuple(unreadable)))
    assert (check.verdict, check.seen) == (
        "unknown",
        f"n3 never answered a probe, but n3 answered probes with {error}",
    )
    end = Probe(124 * S, "n3", error="no connection")
    assert check_of(recorded((*unreadable, end))).verdict == "invalid"
    stuck = [Probe(one.time, "n3", error=error) if one.node == "n3" else one for one in probes_of(stuck=("n1",))]
    assert check_of(recorded(tuple(stuck))).verdict == "invalid"
