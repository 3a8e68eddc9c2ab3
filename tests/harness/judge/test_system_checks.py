"""What a system declares is what is judged: its invariants, its rule of recovery, the check of a workload."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.errors import UsageError
from harness.judge.judge import judge
from harness.judge.recorded import Recorded
from harness.judge.service import services_since
from harness.plan import Plan, require_watchable
from harness.systems import workloads
from harness.systems.api import Alarm, Evidence, Workload
from harness.systems.dledger import SYSTEM as DLEDGER
from history import Check, KeyVerdict, Operation, Probe, Results
from history.columns.operations import from_operations
from history.records.finding import Comeback, Finding
from tests.support.harness.findings import only
from tests.support.harness.good_run import (
    KEYS,
    MOMENTS,
    NODES,
    OPERATIONS,
    S,
    asked_in_vain,
    check_named,
    good,
    judged,
    operation,
    receipt,
    replace,
)

Tested = Callable[..., Recorded]


@pytest.fixture
def tested(monkeypatch: pytest.MonkeyPatch) -> Tested:
    """The good run of another system, like the default one but for what is given; ``run`` are parts of the record."""

    def recorded(run: dict[str, Any] | None = None, **parts: Any) -> Recorded:
        system = replace(DLEDGER, **{"name": "other", **parts})
        monkeypatch.setattr("harness.plan.installed", lambda name: system)
        monkeypatch.setattr("harness.plan.find_system", lambda name: system)
        plan = Plan(seed=1, nemesis=("kill-one",), rate=0.05, system="other")
        return replace(good(), plan=plan, **(run or {}))

    return recorded


def without(*names: str) -> dict[str, Any]:
    """The run's probes as of a system that does not report these fields."""
    nothing = {field: getattr(Probe(0, "n1"), field) for field in names}
    return {"probes": tuple(replace(one, **nothing) for one in good().probes)}


def names(results: Results) -> list[str]:
    return [check.name for check in results.checks]


def test_the_checks_of_the_workloads_have_names_by_which_a_failure_of_theirs_is_known() -> None:
    known = [one for one in vars(workloads).values() if isinstance(one, Workload)]
    functions = [one for workload in known for one in (*workload.checks, workload.model) if callable(one)]
    assert len(functions) > 2
    assert not [one for one in functions if "lambda" in one.__name__]


# -- invariants --------------------------------------------------------------------------------------------------------


def balanced(evidence: Evidence) -> Check:
    odd = [one.node for one in evidence.probes if one.applied == 13]
    findings = (Finding(check="balanced", kind="unlucky", nodes=tuple(odd)),) if odd else ()
    return Check("balanced", "check", "invalid" if odd else "valid", "nothing is 13", f"{len(odd)} are", findings)


def broken(_: Evidence) -> Check:
    raise KeyError("n7")


def details(evidence: Evidence) -> Check:
    """As a check was written before findings were typed."""
    return Check("details", "check", "invalid", "asked", "seen", {"kind": "unlucky"})  # type: ignore[arg-type]


def nothing(_: Evidence) -> Any:
    return True


def test_an_invariant_is_a_check_among_the_others(tested: Tested) -> None:
    results = judged(tested(invariants=(balanced,)))
    assert (results.verdict, check_named("balanced", results).seen) == ("valid", "0 are")
    unlucky = Probe(64 * S, "n2", applied=13)
    results = judged(tested({"probes": (*good().probes, unlucky)}, invariants=(balanced,)))
    assert (results.verdict, check_named("balanced", results).findings[0].kind) == ("invalid", "unlucky")
    assert "balanced: 1 are" in results.sentence


@pytest.mark.parametrize(
    ("invariant", "seen"),
    [
        (broken, "broken failed: KeyError: 'n7'"),
        (nothing, "nothing returned no check: True"),
        (details, "details returned findings of another type: {'kind': 'unlucky'}"),
    ],
)
def test_an_invariant_that_fails_is_an_unknown_check_that_names_it(tested: Tested, invariant: Any, seen: str) -> None:
    results = judged(tested(invariants=(invariant, balanced)))
    assert (results.verdict, check_named(seen.split()[0], results).seen) == ("unknown", seen)
    assert check_named("balanced", results).verdict == "valid"


def test_an_invariant_takes_no_other_checks_name_and_is_never_a_gate(tested: Tested) -> None:
    def sly(_: Evidence) -> Check:
        return Check("recovery", "gate", "unknown", "", "wrong")

    results = judged(tested(invariants=(sly, sly)))
    mine = [check for check in results.checks if check.seen == "wrong"]
    assert [(check.name, check.kind, check.verdict) for check in mine] == [
        ("recovery-2", "check", "unknown"), ("recovery-3", "check", "unknown"),
    ]  # fmt: skip
    assert check_named("recovery", results).verdict == "valid"


def test_the_evidence_is_all_that_was_recorded(tested: Tested) -> None:
    seen: list[Evidence] = []

    def look(evidence: Evidence) -> Check:
        seen.append(evidence)
        return Check("look", "check", "valid", "", "")

    run = tested(invariants=(look,))
    run.state.environment["nodes"] = {"n1": "10.0.0.1"}
    judge(run, KEYS, [], {})
    (evidence,) = seen
    assert (evidence.operations, evidence.probes, evidence.receipts) == (run.operations, run.probes, run.receipts)
    assert (evidence.nodes, evidence.recovered, evidence.moments["healed"]) == (NODES, NODES, 61 * S)
    assert (evidence.setup.node("n1").address, evidence.setup.version) == ("10.0.0.1", DLEDGER.versions[0])


# -- the check of a workload -------------------------------------------------------------------------------------------


def increasing(evidence: Evidence) -> Check:
    verdict: Any = "invalid" if any(one.result == "bad" for one in evidence.operations) else "valid"
    return Check("increasing", "check", verdict, "nothing decreases", f"{len(evidence.operations)} operations")


OWN = (replace(DLEDGER.workloads[0], name="own", model=increasing),)


def test_a_workload_with_a_check_of_its_own_is_judged_by_it_and_claims_no_linearizability(tested: Tested) -> None:
    run = tested(workloads=OWN)
    assert run.plan.model is None
    results = judged(run, ())
    assert (results.verdict, names(results)[:2]) == ("valid", ["increasing", "recovery"])
    assert "linearizable" not in names(results)
    assert results.sentence.startswith("increasing: yes; recovery: yes")
    bad = replace(OPERATIONS[1], result="bad")
    results = judged(tested({"operations": (bad, *OPERATIONS[1:])}, workloads=OWN), ())
    assert results.verdict == "invalid"
    assert results.sentence.startswith("increasing: no, 6 operations; recovery")


def test_a_workloads_check_that_fails_is_unknown(tested: Tested) -> None:
    results = judged(tested(workloads=(replace(OWN[0], model=broken),)), ())
    assert (results.verdict, names(results)[0]) == ("unknown", "broken")
    assert results.sentence.startswith("broken: undecided, broken failed: KeyError: 'n7'")


def test_a_run_without_any_operation_is_not_linearizable_by_that() -> None:
    results = judged(good(), (KeyVerdict("k0", "valid", "zones", 0, 0.1),))
    assert check_named("linearizable", results).verdict == "unknown"


# -- recovery ----------------------------------------------------------------------------------------------------------


def at_most_one_behind(probes: Sequence[Probe], nodes: Sequence[str], since: int) -> bool:
    newest = {probe.node: probe.applied for probe in probes if probe.time >= since and probe.answered}
    return all(newest.get(node, -1) >= 30 for node in nodes)


def test_a_systems_own_rule_decides_recovery(tested: Tested) -> None:
    check = check_named("recovery", judged(tested(recovered=at_most_one_behind)))
    assert (check.verdict, check.seen) == ("valid", "all nodes caught up, 31.1 s after the heal")
    short = [replace(one, applied=20) if one.node == "n2" else one for one in good().probes]
    check = check_named("recovery", judged(tested({"probes": tuple(short)}, recovered=at_most_one_behind)))
    assert (check.verdict, check.seen, list(check.findings[0].nodes)) == ("invalid", "n2 did not catch up", ["n2"])
    # By the nodes' own indexes it would have been none, for n3 stands at 41 of 100.
    behind = [replace(one, applied=41) if one.node == "n3" and one.time > 60 * S else one for one in good().probes]
    run = {"probes": tuple(behind)}
    assert check_named("recovery", judged(tested(run))).verdict == "invalid"
    assert check_named("recovery", judged(tested(run, recovered=at_most_one_behind))).verdict == "valid"


def test_a_rule_that_only_all_nodes_together_break_blames_no_single_one(tested: Tested) -> None:
    def alone(probes: Sequence[Probe], nodes: Sequence[str], since: int) -> bool:
        return len(nodes) == 1

    check = check_named("recovery", judged(tested(recovered=alone)))
    assert (check.verdict, check.seen) == ("invalid", "the nodes together did not catch up")


def test_a_rule_of_recovery_that_fails_is_unknown(tested: Tested) -> None:
    def bad(*_: Any) -> bool:
        raise IndexError("nothing there")

    check = check_named("recovery", judged(tested(recovered=bad)))
    assert check.verdict == "unknown"
    assert check.seen.endswith("IndexError: nothing there")


def test_a_rule_of_recovery_that_fails_after_the_restart_is_unknown_too(tested: Tested) -> None:
    def bad(_probes: Sequence[Probe], _nodes: Sequence[str], since: int) -> bool:
        if since >= 66 * S:
            raise IndexError("nothing there")
        return True

    moments = {**MOMENTS, "restarting": 65 * S, "restarted": 66 * S, "restarted-reads": 69 * S, "end": 70 * S}
    last = (*(operation(67, f, phase="final") for f in ("read", "write")), operation(69.5, "read", phase="final"))
    run = {
        "state": replace(good().state, moments=moments),
        "operations": (*OPERATIONS, *last),
        "probes": (*good().probes, Probe(68 * S, "n1", "leader", 2, "n1", 0, 101, 101, 101)),
    }
    check = check_named("recovery", judged(tested(run, recovered=bad)))
    assert check.verdict == "unknown"
    assert check.seen.endswith("IndexError: nothing there")


SILENT = {"probes": ()}


def test_without_probes_operations_must_succeed_again(tested: Tested) -> None:
    check = check_named("recovery", judged(tested(SILENT, prober=None)))
    assert (check.verdict, check.seen) == ("valid", "every kind of operation succeeded again, 31.1 s after the heal")
    assert check.asked == "within 60 s of the last heal every kind of operation succeeds"


def test_operations_that_never_succeed_again_are_no_recovery(tested: Tested) -> None:
    late = {**MOMENTS, "final-reads": 125 * S, "end": 130 * S}
    state = replace(good().state, moments=late)
    both = ("read", "write")
    run = {**SILENT, "operations": (*OPERATIONS[:3], *asked_in_vain(range(31, 126), *both)), "state": state}
    check = check_named("recovery", judged(tested(run, prober=None)))
    assert (check.verdict, check.findings[0].kind) == ("invalid", "no-recovery")
    assert check.seen == "no read and no write succeeded after the heal"
    few = {**run, "operations": (*OPERATIONS[:3], *asked_in_vain(range(31, 60), *both))}
    check = check_named("recovery", judged(tested(few, prober=None)))
    assert check.verdict == "unknown"
    briefly = "read, write and changes requested without success, but for less than the whole recovery time"
    assert check.seen.startswith(briefly)


def test_a_kind_that_dies_with_the_heal_is_no_recovery_however_well_others_are_served(tested: Tested) -> None:
    """With and without probes: reads prove that somebody answers, and nothing else."""
    state = replace(good().state, moments={**MOMENTS, "final-reads": 125 * S, "end": 130 * S})
    reads = [operation(at, "read", phase="final") for at in range(61, 129)]
    dead = {"state": state, "operations": (*OPERATIONS[:3], *reads, *asked_in_vain(range(61, 125), "write"))}
    for run, parts in ((dead, {}), ({**dead, **SILENT}, {"prober": None})):
        check = check_named("recovery", judged(tested(run, **parts)))
        assert (check.verdict, list(only(check, Comeback).unserved)) == ("invalid", ["write", "changes"])
        assert check.seen == "no write succeeded after the heal"
    once = {**dead, "operations": (*dead["operations"], operation(90, "write", phase="final"))}  # type: ignore[misc]
    assert check_named("recovery", judged(tested(once))).verdict == "valid"
    unasked = {**dead, "operations": (*OPERATIONS[:3], *reads)}
    check = check_named("recovery", judged(tested(unasked)))
    assert (check.verdict, check.seen) == ("unknown", "write and changes not requested again")


@pytest.mark.parametrize(("declared", "verdict"), [(True, "invalid"), (None, "unknown"), (False, "valid")])
@pytest.mark.parametrize("sides", [("read", "write"), ("write",)])
def test_a_node_that_serves_its_own_clients_no_more_is_judged_by_what_the_system_declares(
    tested: Tested, declared: bool | None, verdict: str, sides: tuple[str, ...]
) -> None:
    state = replace(good().state, moments={**MOMENTS, "final-reads": 125 * S, "end": 130 * S})
    before = [replace(operation(at, f), node=node) for at in (5, 25) for f in ("read", "write") for node in NODES]
    after = [
        replace(one, node=node)
        for node in NODES
        for f in ("read", "write")
        for one in (
            asked_in_vain(range(61, 129), f)
            if node == "n3" and f in sides
            else [operation(at, f, phase="final") for at in (62, 126)]
        )
    ]
    run = {**SILENT, "state": state, "operations": (*before, *after)}
    results = judged(tested(run, prober=None, every_node_serves=declared))
    check = check_named("recovery", results)
    assert check.verdict == verdict
    what = "reads and changes by n3's own clients" if len(sides) == 2 else "changes by n3's own clients"
    if declared is not False:
        assert check.seen.startswith(what)
        assert "own clients" in check.asked
    assert [one.nodes for one in check.findings] == ([("n3",)] if declared else [] if declared is None else [()])
    back = [replace(operation(127, f, phase="final"), node="n3") for f in sides]
    well = {**run, "operations": (*run["operations"], *back)}  # type: ignore[misc]
    late = check_named("recovery", judged(tested(well, prober=None, every_node_serves=declared)))
    assert late.verdict == ("invalid" if declared else "valid"), "66 s after it was asked first"


@pytest.mark.parametrize("home", ["n3", "primary"])
def test_a_node_without_probes_that_refuses_to_start_on_a_file_that_we_damaged_is_excused(
    tested: Tested, home: str
) -> None:
    """And so it is by the gate of final reads; a node that was not damaged is not.

    If clients name no node, theirs may be the damaged one.
    """
    state = replace(good().state, moments={**MOMENTS, "final-reads": 125 * S, "end": 130 * S})
    both = ("read", "write")
    before = [replace(operation(at, f), node=node) for at in (5, 25) for f in both for node in ("n1", "n2", home)]
    served = [
        replace(operation(at, f, phase="final"), node=node) for at in (62, 126) for f in both for node in ("n1", "n2")
    ]
    vain = [replace(one, node=home) for one in asked_in_vain(range(61, 129), *both)]
    damage = {"damaged": {"n3": {"file": "/data/x", "class": "term"}}}
    hit = receipt("file-truncate", nodes=("n3",), started=26 * S, stood=27 * S, witness=damage)
    run = {**SILENT, "state": state, "operations": (*before, *served, *vain), "receipts": (hit,)}
    for classes, verdicts in (({"term"}, ("valid", "valid")), ({"data"}, ("invalid", "unknown"))):
        system = {"prober": None, "every_node_serves": True, "may_refuse": frozenset(classes)}
        results = judged(tested(run, **system))
        assert tuple(check_named(name, results).verdict for name in ("recovery", "final-reads")) == verdicts
    seen = check_named("final-reads", judged(tested({**run, "receipts": ()}, prober=None, every_node_serves=None))).seen
    assert f"{home} answered its own clients on none of k0" in seen


def test_a_lock_that_is_only_refused_is_not_served(tested: Tested) -> None:
    """Whoever holds it is answered from what the server knew before it could no longer be changed."""
    wants = {("acquire", None): "held", ("release", None): "free"}
    held = [
        replace(operation(at, f, phase="final"), result=[word, 7])
        for at in range(61, 125)
        for (f, _), word in wants.items()
    ]
    lock = next(one for one in DLEDGER.workloads if one.name == "lock")
    assert {
        want: one.granted for want, one in services_since(61 * S, from_operations(held), lock).items() if want in wants
    } == (dict.fromkeys(wants))
    taken = replace(held[-2], result=["acquired", 8])
    assert services_since(61 * S, from_operations([*held, taken]), lock)[("acquire", None)].granted == taken.returned


def test_operations_that_never_succeeded_at_all_show_nothing(tested: Tested) -> None:
    run = {**SILENT, "operations": asked_in_vain(range(1, 64), "read", "write")}
    check = check_named("recovery", judged(tested(run, prober=None), ()))
    seen = "read, write and changes never succeeded, so there is nothing to recover to"
    assert (check.verdict, check.seen) == ("unknown", seen)


def test_indexes_that_nodes_report_by_half_do_not_decide(tested: Tested) -> None:
    """A commit index without an applied one: no node could ever be seen to reach it."""
    check = check_named("recovery", judged(tested(without("applied"))))
    assert (check.verdict, check.seen) == ("valid", "every kind of operation succeeded again, 31.1 s after the heal")


# -- damage ------------------------------------------------------------------------------------------------------------


def test_a_node_may_refuse_to_start_only_on_what_its_system_says(tested: Tested) -> None:
    damage = {"damaged": {"n2": {"file": "/data/x", "class": "term"}}}
    hit = receipt("file-truncate", nodes=("n2",), witness=damage)
    gone = tuple(Probe(one.time, "n2", error="refused") if one.node == "n2" else one for one in good().probes)
    run = {"probes": gone, "receipts": (hit,)}
    assert check_named("recovery", judged(tested(run, may_refuse=frozenset({"term"})))).verdict == "valid"
    for classes in ({"data"}, set()):
        check = check_named("recovery", judged(tested(run, may_refuse=frozenset(classes))))
        assert (check.verdict, list(check.findings[0].nodes)) == ("invalid", ["n2"])


# -- what nodes do not say ---------------------------------------------------------------------------------------------

OF_NODES = ("replicas-agree", "election-safety", "terms-kept", "leader-complete", "log-order", "committed-kept")


def test_checks_of_nodes_that_say_nothing_are_left_out_and_never_valid(tested: Tested) -> None:
    results = judged(tested(SILENT, prober=None))
    assert set(OF_NODES) & set(names(results)) == set()
    assert results.warnings[-1] == (
        "replicas-agree, election-safety, terms-kept, leader-complete, log-order and committed-kept are left out: "
        "this system's nodes report nothing about themselves"
    )


def test_checks_of_nodes_that_never_answered_are_unknown(tested: Tested) -> None:
    silent = {"probes": tuple(Probe(at * S, node, error="timed out") for at in range(66) for node in NODES)}
    results = judged(tested(silent))
    assert {check_named(name, results).verdict for name in OF_NODES} == {"unknown"}
    assert results.verdict == "unknown"


@pytest.mark.parametrize(
    ("fields", "left_out"),
    [
        (("digest",), ["replicas-agree"]),
        (("state_index",), ["replicas-agree"]),
        (("role",), ["election-safety", "leader-complete"]),
        (("term",), ["election-safety", "terms-kept", "leader-complete"]),
        (("log_end",), ["leader-complete", "log-order", "committed-kept"]),
        (("committed", "applied"), ["leader-complete", "log-order", "committed-kept"]),
    ],
)
def test_a_check_of_what_no_node_reports_is_left_out_with_the_reason(
    tested: Tested, fields: tuple[str, ...], left_out: list[str]
) -> None:
    results = judged(tested(without(*fields)))
    assert [name for name in OF_NODES if name not in names(results)] == left_out
    assert {check.verdict for check in results.checks} == {"valid"}
    (said,) = [warning for warning in results.warnings if "left out" in warning]
    assert all(name in said for name in left_out)


def test_two_leaders_without_a_term_are_no_violation(tested: Tested) -> None:
    """A system whose probes have no term may have two that lead for a while."""
    both = tuple(
        Probe(round(at * S), node, "leader", state_index=1, digest="a") for at in (1, 1.2, 1.4) for node in ("n1", "n2")
    )
    assert "election-safety" not in names(judged(tested({"probes": both})))
    with_terms = tuple(replace(one, term=3) for one in both)
    assert check_named("election-safety", judged(tested({"probes": with_terms}))).verdict == "invalid"


def test_a_node_without_a_log_beside_others_that_have_one_is_not_accused(tested: Tested) -> None:
    gateway = tuple(replace(one, node="n9", role="leader", log_end=-1) for one in good().probes if one.node == "n1")
    run = {"probes": tuple(sorted([*good().probes, *gateway], key=lambda one: one.time))}
    results = judged(tested(run))
    for name in ("leader-complete", "log-order", "committed-kept"):
        assert check_named(name, results).verdict == "valid"


def test_logs_in_which_nothing_is_looked_for_are_no_check(tested: Tested) -> None:
    assert "node-logs" not in names(judged(tested(alarms=())))
    assert "node-logs" in names(judged(tested(alarms=(Alarm(pattern="x", meaning="y", follows="note"),))))
    restarted = {"probes": (*good().probes, *(replace(good().probes[-1], time=at * S, pid=at) for at in (64, 65)))}
    assert check_named("node-logs", judged(tested(restarted, alarms=()))).verdict == "unknown"


def test_a_check_of_ones_own_says_since_when_nothing_was_read(tested: Tested) -> None:
    last = max(one.returned or 0 for one in good().operations if (one.f, one.outcome) == ("read", "ok"))
    late = replace(good().operations[-1], f="write", invoked=last + 10 * S, returned=None, outcome="info")
    quiet = {"operations": (*good().operations, late)}
    seen = f", but no read succeeded after {last / S:.1f} s"
    assert judged(tested(quiet, workloads=OWN), ()).checks[0].seen.endswith(seen)
    assert "no read" not in judged(tested(workloads=OWN), ()).checks[0].seen
    writes = (replace(OWN[0], reads=frozenset()),)
    assert "no read" not in judged(tested(quiet, workloads=writes), ()).checks[0].seen
    none = {"operations": tuple(one for one in quiet["operations"] if one.f != "read")}
    assert judged(tested(none, workloads=OWN), ()).checks[0].seen.endswith(", but no read succeeded")
    still = replace(good().state, standstills=[(last + S, last + 5 * S)])
    assert "no read" not in judged(tested({**quiet, "state": still}, workloads=OWN), ()).checks[0].seen


def test_each_check_of_a_workload_that_rests_on_reads_says_since_when_nothing_was_read(tested: Tested) -> None:
    """That a total was right is said up to the last read of it."""
    read = replace(operation(5, "read"), result=[["a", 1], ["b", -1]])
    run = {"operations": (read, operation(40, "transfer", outcome="info"))}
    results = judged(tested(run, workloads=(workloads.BANK,)))
    seen = f", but no read succeeded after {(read.returned or 0) / S:.1f} s"
    assert check_named("total", results).seen == f"1 read{seen}"
    assert check_named("linearizable", results).seen.endswith(seen)
    soon = {"operations": (read, operation(12, "transfer", outcome="info"))}
    assert check_named("total", judged(tested(soon, workloads=(workloads.BANK,)))).seen == "1 read"


# -- gates -------------------------------------------------------------------------------------------------------------

PEEKS = (replace(DLEDGER.workloads[0], kinds=("write", "peek"), reads=frozenset({"peek"})),)


def as_peeks(*operations: Operation) -> tuple[Operation, ...]:
    return tuple(replace(one, f="peek") if one.f == "read" else one for one in operations)


def test_gates_ask_the_workload_what_a_read_is(tested: Tested) -> None:
    peeked = {"operations": as_peeks(*good().operations)}
    assert judged(tested(peeked, workloads=PEEKS)).verdict == "valid"
    unread = tested({"operations": good().operations}, workloads=PEEKS)
    results = judged(unread)
    for gate in ("operations", "read-back", "final-reads"):
        assert check_named(gate, results).verdict == "unknown"


def test_a_plan_names_a_workload_that_there_is_not(tested: Tested) -> None:
    plan = replace(tested().plan, workload="regster")
    with pytest.raises(UsageError, match=r"--workload: other has no 'regster'; did you mean register"):
        _ = plan.model


@pytest.mark.parametrize("own", [OWN[0], workloads.SET, workloads.CAS_REGISTER])
def test_the_monitor_cannot_follow_a_workload_that_is_judged_as_no_register(tested: Tested, own: Workload) -> None:
    """The first read of an empty set, say, would be one of what was never written."""
    own = replace(own, name="own", written_once=True)
    plan = replace(tested(workloads=(own, DLEDGER.workloads[0])).plan, workload="own")
    with pytest.raises(UsageError, match="use --workload register, or drop the option"):
        require_watchable(plan)
    require_watchable(replace(plan, workload="register"))
