"""How bad a violation is: what the check that found it declares of its kind, else what is known of the kind."""

from __future__ import annotations

from typing import Any

from history import Check, Counterexample, Operation
from history.records.finding import Contradiction, Finding, Kind, contradictions, findings_in
from history.records.violations import violations_of

ADD = Operation(0, "push", "q", 7, 7, "ok", 10, 20, 0, 1, node="n1")


def broken(kind: str) -> Counterexample:
    return Counterexample.of_promise(kind, f"q: {kind}", (ADD, "pushes 7"))


def results_of(*checks: Check) -> dict[str, Any]:
    return {"checks": [one.to_json() for one in checks]}


def check(name: str, kinds: tuple[str, ...], *own: Kind) -> Check:
    examples = tuple(map(broken, kinds))
    return Check(name, "check", "invalid", "asked", "seen", contradictions(name, examples, own), examples)


def test_a_kind_of_a_check_of_its_own_is_as_bad_as_the_check_declares() -> None:
    own = (Kind("lost-push", "data lost"), Kind("late", "alarm"))
    found = violations_of(results_of(check("other", ("reordered",)), check("queue", ("shuffled", "lost-push"), *own)))
    assert [(one.kind, one.severity) for one in found] == [
        ("lost-push", "data lost"), ("reordered", "inconsistent"), ("shuffled", "inconsistent"),
    ]  # fmt: skip


def test_a_declaration_goes_before_what_is_known_of_a_kind() -> None:
    (found,) = contradictions("queue", [broken("lost-element")], [Kind("lost-element", "alarm")])
    assert found.severity == "alarm"
    (known,) = contradictions("queue", [broken("lost-element")])
    assert known.severity == "data lost"


def test_each_kind_is_counted_with_its_first_and_last_time() -> None:
    late = Counterexample.of_promise("shuffled", "q", (Operation(0, "push", "r", 7, 7, "ok", 50, 90, 2, 3), "late"))
    (found,) = contradictions("queue", [broken("shuffled"), late])
    assert (found.count, found.since, found.until, found.keys) == (2, 20, 90, ("q", "r"))


def test_what_is_no_finding_is_left_out_and_one_of_an_unknown_type_is_a_plain_one() -> None:
    wrong = [7, {}, {"type": "Contradiction", "check": "c", "kind": "k"}]
    own = {"type": "OfAnotherSystem", "check": "c", "kind": "own-kind", "severity": "data lost", "figure": 7}
    whole = {"type": "Contradiction", "check": "c", "kind": "k", "count": 3}
    found = findings_in({"findings": [*wrong, own, whole]})
    assert found == (
        Finding(check="c", kind="own-kind", severity="data lost"), Contradiction(check="c", kind="k", count=3),
    )  # fmt: skip
    assert findings_in({"findings": 7}) == findings_in({}) == ()
