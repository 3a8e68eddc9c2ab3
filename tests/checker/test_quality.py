"""Counterexamples of every model: a contradiction by the definition, from which nothing can be left out, truly told."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any

import pytest

from checker import MODELS, Model, Register, check_operations
from checker.core.calls import calls_of
from checker.core.definition import linearizable
from checker.core.wording import who
from checker.counterexamples.enumerate import part_of_set
from checker.models.objects import GrowSet, Log, SparseLog
from history import Counterexample, Operation
from tests.checker.oracle import Sampler, is_linearizable
from tests.checker.oracle_objects import OBJECTS, is_part_of, object_history

REGISTERS = ("register", "cas-register", "register-unknown", "cas-register-unknown", "cas-register-strict")
OF_THE_WHOLE = ("never-written", "failed-write-read", "log-hole")
# What the sentence says of one operation: who, where, and from when to when.
SPAN = re.compile(r"process (\d+)(?: on (\w+))?[^()]*? \((\d+\.\d+)–(\d+\.\d+) s\)")


def history_of(name: str, random: Random, size: int) -> list[Operation]:
    truth = random.choice([0.7, 0.9])
    if name in OBJECTS:
        return object_history(random, name, size, random.randint(2, 4), truth)
    cas = name.startswith("cas")
    return Sampler(random, values=random.choice([None, None, 2, 4]), cas=cas, truth=truth).history(size, 4)


def contradicts(operations: Sequence[Operation], model: Model) -> bool:
    """Can these operations not all be true?  Logs and sets are judged by what the counterexample speaks of."""
    if type(model) is Register:
        return (
            not is_linearizable(operations, initial=model.initial)
            if model.initial is None
            else _none(operations, model)
        )
    if isinstance(model, Log):
        return not linearizable(calls_of(operations, model), SparseLog())
    if isinstance(model, GrowSet):
        return not linearizable(part_of_set(calls_of(operations, model)), model)
    return _none(operations, model)


def unanswered(operation: Operation) -> Operation:
    """What another violation has made of an operation: nobody knows any more what it answered."""
    return replace(operation, outcome="info", result=None, returned=None, return_index=None)


def in_part(operation: Operation) -> list[Operation]:
    """An operation, or what may be left of it in a counterexample."""
    forms = [operation, unanswered(operation)]
    if operation.f == "cas":
        written = replace(operation, f="write", value=operation.value[1], result=None)
        forms += [written, unanswered(written)]
    return forms


def _none(operations: Sequence[Operation], model: Model) -> bool:
    return not linearizable(calls_of(operations, model), model)


def smaller(example: Counterexample, model: Model) -> list[tuple[Operation, ...]]:
    """Parts that are contradiction enough: whatever contradicts itself within them did so within the whole.

    A write or swap stays as long as its value is asked for: without it the value would be out of nowhere.
    """
    places = range(len(example.operations))
    parts = [frozenset(part) for size in range(len(places) + 1) for part in combinations(places, size)]
    wrong = {part: contradicts(pick(example, part), model) for part in parts}
    enough = [part for part in parts if wrong[part] and len(part) < len(places)]
    sound = [part for part in enough if not any(wrong[other & part] and not wrong[other] for other in parts)]
    return [tuple(pick(example, part)) for part in sound if not starved(example, part)]


def with_what_explains(example: Counterexample, history: list[Operation]) -> list[Operation]:
    """The example and everything in its history that wrote a value which is asked for: that must not explain it."""
    kept, wanted = {o.invoke_index: o for o in example.operations}, list(example.operations)
    while wanted:
        asking = wanted.pop()
        for other in history:
            makes = other.f in ("write", "cas") and other.outcome != "fail"
            if makes and other.invoke_index not in kept and asks(asking, other):
                kept[other.invoke_index] = other
                wanted.append(other)
    return sorted(kept.values(), key=lambda o: o.invoke_index)


def asks(operation: Operation, made: Operation) -> bool:
    new = made.value if made.f == "write" else made.value[1]
    return operation.result == new if operation.f == "read" else operation.f == "cas" and operation.value[0] == new


def pick(example: Counterexample, part: frozenset[int]) -> list[Operation]:
    return [operation for place, operation in enumerate(example.operations) if place in part]


def starved(example: Counterexample, part: frozenset[int]) -> bool:
    asked = [o.value[0] if o.f == "cas" else o.result for o in pick(example, part) if o.f in ("read", "cas", "dequeue")]
    gone = [o for place, o in enumerate(example.operations) if place not in part]
    made = [o.value[1] if o.f == "cas" else o.value for o in gone if o.f in ("write", "cas", "enqueue")]
    return any(value in asked for value in made)


def assert_good(example: Counterexample, history: list[Operation], model: Model) -> None:
    whole = {o.invoke_index: o for o in history}
    assert all(is_part_of(o, whole[o.invoke_index]) if o.f == "txn" else o in in_part(whole[o.invoke_index])
               for o in example.operations)  # fmt: skip
    if example.kind in OF_THE_WHOLE:
        assert len(example.operations) <= 2, example
    else:
        assert contradicts(example.operations, model), example
        # ``test_counter_cores`` and ``test_one_register`` leave out what may go of counters and transactions.
        assert model.name in ("counter", "multi-register") or not smaller(example, model), example
        assert contradicts(with_what_explains(example, history), model), example
    moments = {moment for o in example.operations for moment in (o.invoked, o.returned) if moment is not None}
    moments |= {o.invoked for o in history if example.kind == "failed-write-read"}
    told = {round(float(text) * 1e9) for text in re.findall(r"(\d+\.\d{3,})", example.sentence)}
    assert told <= moments, example
    for process, node, begun, ended in SPAN.findall(example.sentence):
        span = round(float(begun) * 1e9), round(float(ended) * 1e9)
        assert any(
            (str(o.process), o.node if node else "", o.invoked, o.returned) == (process, node, *span)
            for o in example.operations
        ), example

    assert_true_claims(example, history, model)


MISSED = re.compile(r"that answer missed the write of (.+), which no read ever returned")
EITHER = re.compile(r"either that of (process \d+(?: on \w+)?) or that of (process \d+(?: on \w+)?) is stale")


def assert_true_claims(example: Counterexample, history: list[Operation], model: Model) -> None:
    """What a kind, and the words at the end of a sentence, say beyond the moments."""
    if missed := MISSED.search(example.sentence):
        assert all(json.dumps(o.result) != missed[1] for o in history if (o.f, o.outcome) == ("read", "ok")), example
    assert (example.kind == "lost-write") == bool(missed) or not isinstance(model, Register), example
    if either := EITHER.search(example.sentence):
        for suspect in either.groups():
            accused = [o for o in example.operations if who(o) == suspect]
            rest = [[other for other in example.operations if other is not one] for one in accused]
            assert any(not contradicts(others, model) for others in rest), (example, suspect)
    if example.kind == "never-written" and isinstance(model, Register) and "nobody ever wrote" in example.sentence:
        asked = touched(example.operations[0])[0]
        assert all(touched(o)[1] != asked for o in history if o.outcome != "fail"), example
    if example.kind == "split-brain":
        assert_two_sides(example)


SIDES = re.compile(r": ([\w ]+) went on with (\S+), ([\w ]+) with (\S+)\.(?: \(|$)")


def assert_two_sides(example: Counterexample) -> None:
    told = SIDES.search(example.sentence)
    assert told, example
    sides = {told[2]: set(told[1].split(" and ")), told[4]: set(told[3].split(" and "))}
    for value, nodes in sides.items():
        reads, writes = ([o for o in example.operations if value in touched(o)[kind]] for kind in (0, 1))
        assert {o.node for o in reads + writes} == nodes, example
        assert writes, example
    assert set.intersection(*sides.values()) == set(), example


def touched(operation: Operation) -> tuple[list[str], list[str]]:
    """What an operation saw, and what it wrote."""
    if operation.f == "cas":
        return [json.dumps(operation.value[0])], [json.dumps(operation.value[1])]
    if operation.f == "write":
        return [], [json.dumps(operation.value)]
    return [json.dumps(operation.result)], []


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


def op(process: int, f: str, value: Any, start: int, end: int, outcome: str = "ok", result: Any = None) -> Operation:
    asked, told = (None, value) if f in ("read", "list", "dequeue", "get") else (value, result)
    return Operation(process, f, None, asked, told, outcome, start * 10**6, end * 10**6, start, end, "n1")  # type: ignore[arg-type]


def on(node: str, operation: Operation) -> Operation:
    return replace(operation, node=node)


# Two writes at once; then one node answers with the one, another with the other.
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
def test_a_write_that_one_read_missed_is_told_as_that_and_not_as_lost(seen: bool) -> None:
    later = [op(3, "read", 15, 5, 6)] if seen else []
    history = [op(0, "write", 15, 1, 2), op(1, "read", None, 3, 4), *later]
    (example,) = check_operations(history, "register").counterexamples
    assert example.kind == ("stale-read" if seen else "lost-write")
    assert ("that answer missed the write of 15, which no read ever returned" in example.sentence) != seen
    assert_good(example, history, Register())


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
    verdict = check_operations(history, name, engine=engine)
    assert (verdict.verdict, len(verdict.counterexamples)) == ("invalid", lies), verdict
    assert verdict.violations == lies
    model = MODELS[name]()
    for example in verdict.counterexamples:
        assert example.kind in OF_THE_WHOLE or contradicts(example.operations, model)
    ends = [max(o.return_index or 0 for o in e.operations) for e in verdict.counterexamples]
    assert ends == sorted(ends)


def test_a_stuck_replica_is_one_violation_and_the_number_is_capped() -> None:
    """A thousand reads of one overwritten swap, then so many different lies that not all of them are looked for."""
    stuck = [op(0, "cas", [None, 1], 0, 1), op(0, "cas", [1, 2], 2, 3)]
    stuck += [op(1, "read", 1, 4 + 2 * n, 5 + 2 * n) for n in range(1000)]
    verdict = check_operations(stuck, "cas-register")
    assert (verdict.violations, len(verdict.counterexamples), verdict.reason) == (1, 1, None)
    history, _ = apart("cas-register", 12)
    verdict = check_operations(history, "cas-register", engine="search")
    assert (verdict.violations, len(verdict.counterexamples)) == (8, 8)
    assert "there may be more than the first 8 violations" in str(verdict.reason)


def test_swaps_in_doubt_that_only_need_each_other_are_left_out() -> None:
    """A circle of unanswered swaps, around a stale read that has nothing to do with them."""
    circle = [op(n, "cas", [n, (n + 1) % 12], 10 + n, 90 + n, "info") for n in range(2, 12)]
    stale = [op(20, "write", 30, 0, 1), *circle, op(20, "write", 31, 40, 41), op(21, "read", 30, 42, 43)]
    (example,) = check_operations(stale, "cas-register").counterexamples
    assert [operation.f for operation in example.operations] == ["write", "write", "read"]
