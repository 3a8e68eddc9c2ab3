"""Verdicts: their order, what a gate may not say, and the JSON of it all."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from history import Check, Counterexample, KeyVerdict, Linearization, Operation, OperationRole, Results, Verdict, worst
from history.records.finding import Skipped, contradictions, findings_in
from history.records.results import MAX_SHOWN
from history.records.verdicts import WITHOUT_KIND, KindCount, count_kinds
from history.records.violations import OF_KEYS, counterexamples_of, counts_of


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], "valid"),
        (["valid", "valid"], "valid"),
        (["valid", "unknown"], "unknown"),
        (["unknown", "invalid", "valid"], "invalid"),
    ],
)
def test_the_worst_verdict(verdicts: list[Verdict], expected: str) -> None:
    assert worst(verdicts) == expected


def test_a_gate_cannot_make_a_run_invalid() -> None:
    with pytest.raises(ValueError, match="the gate g cannot make a run invalid"):
        Check("g", "gate", "invalid", "asked", "seen")
    assert Check("c", "check", "invalid", "asked", "seen").verdict == "invalid"


def test_a_counterexample_can_be_seen_from_its_last_invocation_on() -> None:
    operations = tuple(
        Operation(0, "read", "k0", None, None, "ok", invoked, 90, invoked, 90) for invoked in (5, 30, 20)
    )
    assert Counterexample("stale-read", "so it is.", operations).shown_at == 30
    assert Counterexample("stale-read", "it is unknown which.", ()).shown_at == 0


def test_a_contradiction_is_complete_with_the_last_answer_of_its_suspects_or_else_of_all() -> None:
    ends = ((1, 50), (5, 90), (30, 40), (60, None))
    operations = tuple(Operation(0, "read", "k0", None, None, "ok", at, end, at, end) for at, end in ends)
    timed_out = Operation(0, "write", "k0", 7, None, "info", 2, 100, 2, 100)
    whole = Counterexample("stale-read", "so it is.", (*operations, timed_out))
    assert (whole.completing, whole.completed_at) == (operations[1], 90)
    blamed = replace(whole, linearization=Linearization(None, (), (0, 2)))
    assert (blamed.completing, blamed.completed_at) == (operations[0], 50)
    never = Counterexample("stale-read", "so it is.", operations[3:])
    assert (never.completing, never.completed_at) == (operations[3], 60)
    nothing = Counterexample("stale-read", "it is unknown which.", ())
    assert (nothing.completing, nothing.completed_at) == (None, 0)


def test_json_round_trip_with_a_counterexample() -> None:
    operation = Operation(0, "read", "k0", None, 3, "ok", 1, 2, 0, 1)
    verdict = KeyVerdict(
        "k0", "invalid", "zones", 1, 0.5, 1, (Counterexample("stale-read", "so it is.", (operation,)),)
    )
    assert KeyVerdict.from_json(json.loads(json.dumps(verdict.to_json()))) == verdict


ADD = Operation(0, "add", "k0", 7, 7, "ok", 10, 20, 0, 1)
READ = Operation(1, "read", "k0", None, [], "ok", 30, 40, 2, 3)


def broken(kind: str = "lost-element", *, other: Operation = ADD) -> Counterexample:
    return Counterexample.of_promise(kind, "it is gone", (READ, "is asked"), (other, "adds 7"), (READ, "holds nothing"))


def test_of_a_broken_promise_each_operation_says_its_part_once_and_the_last_contradicts() -> None:
    found = broken()
    assert (found.operations, found.suspects, found.key) == ((ADD, READ), (READ,), "k0")
    assert found.roles == (OperationRole("adds 7"), OperationRole("is asked; holds nothing", contradicts=True))
    assert broken(other=replace(ADD, key="k1")).key is None
    record = json.loads(json.dumps(found.to_json()))
    assert Counterexample.from_json(record) == found
    assert "roles" not in Counterexample("stale-read", "so it is.", (READ,)).to_json()


def test_counterexamples_of_other_checks_stand_behind_those_of_the_keys_that_say_the_same() -> None:
    key = KeyVerdict("k0", "invalid", "sets", 2, 0.1, 5, (Counterexample("lost-element", "of the key", (ADD, READ)),))
    examples = [broken(), broken("duplicate"), *[broken("order")] * MAX_SHOWN]
    checks = (
        failed("elements", *examples),
        replace(failed("other", broken("no violation of a valid check")), verdict="valid"),
    )
    results = json.loads(json.dumps(Results("invalid", "", checks, (key,), {}, (), ()).to_json()))
    found = counterexamples_of(results)
    assert [(one.check, one.example.kind) for one in found[:2]] == [
        (OF_KEYS, "lost-element"),
        ("elements", "duplicate"),
    ]
    assert len(found) == MAX_SHOWN
    assert counts_of(results) == {OF_KEYS: 5, "elements": len(examples) - 1}


def failed(name: str, *examples: Counterexample) -> Check:
    return Check(name, "check", "invalid", "asked", "seen", contradictions(name, examples), examples)


def test_kinds_are_counted_with_their_times_and_the_rest_without() -> None:
    assert count_kinds([("late", 30), ("early", 10), ("late", 40)], 5) == (
        KindCount("early", 1, 10, 10), KindCount("late", 2, 30, 40), KindCount(WITHOUT_KIND, 2),
    )  # fmt: skip
    assert count_kinds([(WITHOUT_KIND, 30)], 3) == (KindCount(WITHOUT_KIND, 3, 30, 30),)
    assert count_kinds((), 0) == ()


def test_results_are_plain_json() -> None:
    verdict = KeyVerdict(None, "valid", "zones", 0, 0.0)
    check = Check("linearizable", "check", "valid", "asked", "seen", (Skipped(check="linearizable", why="nothing"),))
    record = json.loads(json.dumps(Results("valid", "fine", (check,), (verdict,), {}, (), ()).to_json()))
    assert (record["format"], record["version"]) == ("harness-results", 2)
    assert findings_in(record["checks"][0]) == check.findings
