"""When violations were seen: every one by its phase and the faults that stood, against the checker's own count."""

from __future__ import annotations

from random import Random
from typing import Any

from checker import check_operations
from checker.counterexamples.violation_times import sightings
from harness.judge.violation_times import violation_times
from history import Counterexample, KeyVerdict, Operation, Receipt
from history.columns.operations import from_operations
from history.records.finding import FaultCount, ViolationTimes
from reports.words.of_clients import violation_times_text
from tests.support.checker.oracle import Sampler

S = 10**9


def op(f: str, value: Any, start: float, end: float, phase: Any = "main") -> Operation:
    asked, answer = (None, value) if f == "read" else (value, None)
    begin, over = round(start * S), round(end * S)
    return Operation(0, f, "k0", asked, answer, "ok", begin, over, begin, over, phase=phase)


HISTORY = (
    op("write", 1, 1, 2, "warm-up"),
    op("read", None, 3, 4, "warm-up"),
    op("write", 2, 11, 12),
    op("write", 3, 13, 14),
    op("read", 2, 21, 22),
    op("write", 4, 30, 31),
    op("write", 5, 32, 33),
    op("read", 4, 40, 41, "final"),
)
FAULTS = (
    Receipt(0, "bridge", "installed", 15 * S, stood=15 * S, healed=18 * S, witness={"packets": 1}),
    Receipt(1, "kill-all", "skipped", 20 * S),
    Receipt(2, "pause", "indeterminate", 39 * S, healed=None),
)


def test_each_violation_has_its_phase_and_the_faults_from_the_missed_write_to_the_answer() -> None:
    verdict = check_operations(HISTORY, "register")
    found = violation_times(from_operations(HISTORY), [verdict], FAULTS)
    assert found == ViolationTimes(
        check="linearizable", of=3, counted=3, phases={"warm-up": 1, "main": 1, "final": 1},
        faults=(FaultCount(0, "bridge", 1), FaultCount(2, "pause", 1)), calm=1,
    )  # fmt: skip
    assert violation_times_text(found) == (
        "1 in the warm-up phase, 1 in the main phase, 1 in the final phase; "
        "between the contradicted change and the answer, #0 bridge was active for 1, #2 pause for 1, "
        "no fault for 1"
    )


def test_a_history_that_is_in_order_has_no_violation_times() -> None:
    verdict = check_operations(HISTORY[2:4], "register")
    assert violation_times(from_operations(HISTORY[2:4]), [verdict], FAULTS) is None


def test_where_not_all_are_known_it_says_of_how_many_it_speaks() -> None:
    example = Counterexample("stale-read", "so it is.", HISTORY[2:5])
    verdict = KeyVerdict("k0", "invalid", "wgl", 8, 0.1, 7, (example,))
    found = violation_times(from_operations([*HISTORY, op("cas", [5, 6], 50, 51)]), [verdict], FAULTS)
    assert found is not None
    assert (found.of, found.counted) == (7, 1)
    assert violation_times_text(found) == (
        "1 of these is dated: 1 in the main phase; "
        "between the contradicted change and the answer, #0 bridge was active for 1"
    )


def test_an_answer_after_a_fault_was_healed_is_not_said_to_be_of_its_time() -> None:
    """The lost write was made under the fault, and the final read that lacks it came after the heal."""
    fault = Receipt(0, "bridge", "installed", 10 * S, stood=10 * S, healed=20 * S, witness={"packets": 1})
    history = (op("write", 1, 1, 2), op("write", 2, 11, 12), op("read", 1, 30, 31, "final"))
    times = violation_times(from_operations(history), [check_operations(history, "register")], [fault])
    assert times is not None
    text = violation_times_text(times)
    stood = "between the contradicted change and the answer, #0 bridge was active for 1"
    assert text == f"1 in the final phase; {stood}"


def test_where_one_fell_under_two_faults_it_says_that_the_numbers_have_it_twice() -> None:
    faults = (FaultCount(0, "rolling-kill", 3), FaultCount(1, "rolling-kill", 1))
    text = violation_times_text(
        ViolationTimes(check="linearizable", of=3, counted=3, phases={"main": 3}, faults=faults, calm=0)
    )
    assert text.endswith("#0 rolling-kill was active for 3, #1 rolling-kill for 1, several for some")


def test_as_many_are_seen_as_the_checker_counts() -> None:
    random, violations = Random(11), 0
    while violations < 200:
        history = Sampler(random, values=None, cas=False, truth=0.6).history(8, 4)
        verdict = check_operations(history, "register")
        found = sightings(history, verdict)
        assert len(found) == (verdict.violations if verdict.engine == "zones" else len(verdict.counterexamples))
        assert all(sighting.begin <= sighting.end for sighting in found)
        for example in verdict.counterexamples:
            if example.kind in ("stale-read", "lost-write"):
                assert any(sighting.by in example.operations for sighting in found), example
        violations += len(found)
