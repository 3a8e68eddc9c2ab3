"""Verdicts: their order, what a gate may not say, and the JSON of it all."""

from __future__ import annotations

import json

import pytest

from history import Check, Counterexample, KeyVerdict, Operation, Results, Verdict, worst


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
    assert Counterexample("stale-read", "nobody told which.", ()).shown_at == 0


def test_json_round_trip_with_a_counterexample() -> None:
    operation = Operation(0, "read", "k0", None, 3, "ok", 1, 2, 0, 1)
    verdict = KeyVerdict(
        "k0", "invalid", "zones", 1, 0.5, 1, (Counterexample("stale-read", "so it is.", (operation,)),)
    )
    assert KeyVerdict.from_json(json.loads(json.dumps(verdict.to_json()))) == verdict


def test_results_are_plain_json() -> None:
    verdict = KeyVerdict(None, "valid", "zones", 0, 0.0)
    check = Check("linearizable", "check", "valid", "asked", "seen", {"engines": {"zones": 1}})
    record = json.loads(json.dumps(Results("valid", "fine", (check,), (verdict,), {}, (), ()).to_json()))
    assert (record["format"], record["version"]) == ("harness-results", 1)
    assert record["checks"][0]["details"] == {"engines": {"zones": 1}}
