"""Counterexamples of every model: a contradiction by the definition, without a part to leave out, truly explained."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from checker import MODELS, Register, check_operations
from checker.counterexamples import enumerate as enumeration
from history import Counterexample, Operation
from history.records.operations import Outcome
from reports.analysis.counterexample import picture_of
from tests.support.checker.counterexamples import (
    OF_THE_WHOLE,
    assert_good,
    contradicts,
    op,
)
from tests.support.checker.oracle import Sampler
from tests.support.checker.oracle_objects import OBJECTS, object_history

REGISTERS = ("register", "cas-register", "register-unknown", "cas-register-unknown", "cas-register-strict")


def history_of(name: str, random: Random, size: int) -> list[Operation]:
    truth = random.choice([0.7, 0.9])
    if name in OBJECTS:
        return object_history(random, name, size, random.randint(2, 4), truth)
    cas = name.startswith("cas")
    return Sampler(random, values=random.choice([None, None, 2, 4]), cas=cas, truth=truth).history(size, 4)


@pytest.mark.parametrize("name", [*REGISTERS, *OBJECTS])
def test_counterexamples_are_minimal_and_their_sentences_true(name: str) -> None:
    quality(name, 40, 5)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*REGISTERS, *OBJECTS])
def test_ten_thousand_counterexamples_of_each(name: str) -> None:
    quality(name, 10_000, 6)


def quality(name: str, wanted: int, seed: int) -> None:
    random, model, found = Random(seed), MODELS[name](), Counter[str]()
    while found.total() < wanted:
        history = history_of(name, random, random.randint(3, 8))
        verdict = check_operations(history, model)
        if verdict.verdict != "invalid":
            continue
        assert verdict.counterexamples
        assert verdict.violations >= len(verdict.counterexamples)
        assert verdict.certificate == len(verdict.counterexamples[0].operations)
        for example in verdict.counterexamples:
            found[example.kind] += 1
            assert_good(example, history, model)
        ends = [max(o.return_index or 0 for o in e.operations if o.outcome != "info") for e in verdict.counterexamples]
        assert ends == sorted(ends)
    assert found


def on(node: str, operation: Operation) -> Operation:
    return replace(operation, node=node)


#: Two writes at once; then one node answers with the one, another with the other.
CONTRADICTION = (
    op(2, "write", 41, 1, 20),
    op(0, "write", 44, 10, 30),
    op(2, "read", 41, 40, 50),
    op(5, "read", 44, 60, 70),
)


def example_on(*nodes: str) -> Counterexample:
    history = [on(node, operation) for node, operation in zip(nodes, CONTRADICTION, strict=True)]
    (example,) = check_operations(history, "register").counterexamples
    assert_good(example, history, Register())
    return example


def test_answers_that_contradict_each_other_accuse_both_and_are_no_split_brain() -> None:
    example = example_on("n1", "n1", "n3", "n1")
    assert example.kind == "stale-read"
    assert "either that of process 2 on n3 or that of process 5 on n1 is stale" in example.sentence
    assert example_on("n1", "n2", "n2", "n1").kind == "stale-read"


def test_a_split_brain_has_two_sides_each_with_a_write_of_its_own() -> None:
    example = example_on("n1", "n2", "n1", "n2")
    assert example.kind == "split-brain"
    assert example.sentence.endswith("n1 went on with 41, n2 with 44.")
    assert example_on("n1", "n2", "n3", "n4").sentence.endswith("n1 and n3 went on with 41, n2 and n4 with 44.")


@pytest.mark.parametrize("seen", [True, False])
def test_a_write_that_one_read_missed_is_reported_as_that_and_not_as_lost(seen: bool) -> None:
    later = [op(3, "read", 15, 5, 6)] if seen else []
    history = [op(0, "write", 15, 1, 2), op(1, "read", None, 3, 4), *later]
    (example,) = check_operations(history, "register").counterexamples
    assert example.kind == ("stale-read" if seen else "lost-write")
    assert ("that answer missed the write of 15, which no read ever returned" in example.sentence) != seen
    assert_good(example, history, Register())


@pytest.mark.parametrize("overwritten", ["seen", "unseen", "no"])
def test_a_write_that_may_have_been_overwritten_is_not_reported_as_lost(overwritten: str) -> None:
    """If what was written after it was seen, it may have been there until then."""
    later = {
        "seen": [op(2, "write", 16, 5, 6), op(3, "read", 16, 7, 8)],
        "unseen": [op(2, "write", 16, 5, 6)],
        "no": [],
    }
    history = [op(0, "write", 15, 1, 2), op(1, "read", None, 3, 4), *later[overwritten]]
    (example,) = check_operations(history, "register").counterexamples
    assert example.kind == ("stale-read" if overwritten == "seen" else "lost-write")
    assert ("which others may have overwritten since" in example.sentence) == (overwritten == "seen")
    assert_good(example, history, Register())


def test_a_write_that_failed_and_was_read_may_have_overwritten_too() -> None:
    history = [
        op(0, "write", 15, 1, 2),
        op(2, "write", 16, 3, 4, "fail"),
        op(3, "read", 16, 5, 6),
        op(1, "read", None, 7, 8),
    ]
    missed = [e for e in check_operations(history, "register").counterexamples if "missed the write" in e.sentence]
    assert [example.kind for example in missed] == ["stale-read"]
    assert "which others may have overwritten since" in missed[0].sentence


def test_a_value_that_only_a_failed_write_wrote_puts_the_mapping_of_outcomes_in_doubt() -> None:
    history = [op(0, "write", 7, 0, 1, "fail"), op(1, "read", 7, 2, 3)]
    (example,) = check_operations(history, "register").counterexamples
    assert example.kind == "failed-write-read"
    assert "the client's mapping of outcomes may be wrong" in example.sentence
    swap = [op(0, "cas", [None, 7], 0, 1, "fail"), op(1, "read", 7, 2, 3)]
    (example,) = check_operations(swap, "cas-register").counterexamples
    assert "the client's mapping of outcomes may be wrong" in example.sentence
    added = [op(0, "add", 7, 0, 1, "fail"), op(1, "read", [7], 2, 3)]
    (example,) = check_operations(added, "set").counterexamples
    assert "the client's mapping of outcomes may be wrong" in example.sentence
    appended = [op(0, "append", 7, 0, 1, "fail"), op(1, "list", [7], 2, 3)]
    (example,) = check_operations(appended, "log").counterexamples
    assert "client's mapping of outcomes may be wrong" in example.sentence
    wrote = [op(0, "write", 7, 0, 1, "info"), op(1, "read", 7, 2, 3)]
    assert check_operations(wrote, "register").verdict == "valid"


def apart(name: str, count: int) -> tuple[list[Operation], int]:
    """A valid history of an object with ``count`` lies in it that have nothing to do with each other."""
    stories: dict[str, Any] = {
        "cas-register": lambda n, t: [op(0, "write", 3 * n, t, t + 1), op(0, "cas", [3 * n, 3 * n + 1], t + 2, t + 3),
                                      op(1, "cas", [3 * n, 3 * n + 2], t + 4, t + 5)],
        "queue": lambda n, t: [op(0, "enqueue", n, t, t + 1), op(1, "dequeue", n, t + 2, t + 3),
                               op(2, "dequeue", n, t + 4, t + 5)],
        "mutex": lambda n, t: [op(0, "acquire", None, t, t + 1), op(1, "acquire", None, t + 2, t + 3),
                               op(0, "release", None, t + 4, t + 5)],
        "counter": lambda n, t: [op(0, "add", 1, t, t + 1), op(1, "read", 100 + n, t + 2, t + 3)],
        "log": lambda n, t: [op(0, "append", n, t, t + 1, result=n), op(1, "list", list(range(n)), t + 2, t + 3)],
        "set": lambda n, t: [op(0, "add", n, t, t + 1), op(1, "read", list(range(n)), t + 2, t + 3)],
        "register": lambda n, t: [op(0, "write", n % 3, t, t + 1), op(1, "write", (n + 1) % 3, t + 2, t + 3),
                                  op(2, "read", n % 3, t + 4, t + 5)],
    }  # fmt: skip
    return [o for n in range(count) for o in stories[name](n, 10 * n)], count


@pytest.mark.parametrize("engine", [None, "search", "python-search", "wgl"])
@pytest.mark.parametrize("name", ["cas-register", "queue", "mutex", "counter", "log", "set", "register"])
def test_all_violations_are_reported_earliest_first(name: str, engine: str | None) -> None:
    history, lies = apart(name, 4)
    verdict = check_operations(
        history, name, engine=engine, clock=lambda: 0.0
    )  # for the first few seconds, and compiles
    assert (verdict.verdict, len(verdict.counterexamples)) == ("invalid", lies), verdict
    assert verdict.violations == lies
    model = MODELS[name]()
    for example in verdict.counterexamples:
        assert example.kind in OF_THE_WHOLE or contradicts(example.operations, model)
    ends = [max(o.return_index or 0 for o in e.operations) for e in verdict.counterexamples]
    assert ends == sorted(ends)


def test_a_stuck_replica_is_one_violation_and_the_number_is_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand reads of one overwritten swap, then so many different lies that not all of them are looked for."""
    stuck = [op(0, "cas", [None, 1], 0, 1), op(0, "cas", [1, 2], 2, 3)]
    stuck += [op(1, "read", 1, 4 + 2 * n, 5 + 2 * n) for n in range(1000)]
    verdict = check_operations(stuck, "cas-register")
    assert (verdict.violations, len(verdict.counterexamples), verdict.reason) == (1, 1, None)
    history, _ = apart("cas-register", 12)
    verdict = check_operations(history, "cas-register", engine="search")
    assert (verdict.violations, len(verdict.counterexamples), verdict.more) == (12, 8, False)
    monkeypatch.setattr(enumeration, "MAX_EXPLAINED", 8)
    verdict = check_operations(history, "cas-register", engine="search")
    assert (verdict.violations, len(verdict.counterexamples), verdict.more) == (8, 8, True)
    assert "there may be more than the first 8 violations" in str(verdict.reason)


def test_swaps_in_doubt_that_only_need_each_other_are_left_out() -> None:
    """A circle of unanswered swaps, around a stale read that has nothing to do with them."""
    circle = [op(n, "cas", [n, (n + 1) % 12], 10 + n, 90 + n, "info") for n in range(2, 12)]
    stale = [op(20, "write", 30, 0, 1), *circle, op(20, "write", 31, 40, 41), op(21, "read", 30, 42, 43)]
    (example,) = check_operations(stale, "cas-register").counterexamples
    assert [operation.f for operation in example.operations] == ["write", "write", "read"]


def after_a_contradiction(outcome: Outcome) -> tuple[list[Operation], list[Counterexample]]:
    """Two swaps of one value, and then a swap that a write in between rules out; the second ended in this outcome."""
    history = [
        op(0, "write", 3, 0, 1),
        op(1, "cas", [3, 4], 2, 3),
        op(2, "cas", [3, 5], 4, 5, outcome),
        op(3, "write", 6, 6, 7),
        op(4, "cas", [5, 8], 8, 9),
    ]
    return history, list(check_operations(history, "cas-register").counterexamples)


def test_an_answer_that_an_earlier_counterexample_contradicts_is_shown_as_recorded_and_set_aside() -> None:
    history, (first, second) = after_a_contradiction("ok")
    assert (first.set_aside, first.completing) == ((), history[2])
    assert [second.operations[place] for place in second.set_aside] == [history[2]]
    assert all(operation in history for operation in second.operations)
    assert second.completing == history[4]
    assert "answer of process 2 on n1 (0.004–0.005 s)" in second.sentence
    assert Counterexample.from_json(second.to_json()) == second
    picture = picture_of(second)
    assert picture is not None
    assert [(box.aside, box.open_end) for box in picture.boxes] == [(o is history[2], False) for o in second.operations]


def test_an_operation_that_was_never_answered_is_shown_as_that_and_not_set_aside() -> None:
    history, (example,) = after_a_contradiction("info")
    assert (history[2] in example.operations, example.set_aside) == (True, ())
    picture = picture_of(example)
    assert picture is not None
    assert [(box.aside, box.open_end) for box in picture.boxes] == [
        (False, o is history[2]) for o in example.operations
    ]
