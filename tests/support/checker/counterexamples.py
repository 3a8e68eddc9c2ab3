"""Properties that every counterexample must have."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from checker import Model, Register
from checker.core.calls import Call, calls_of
from checker.core.definition import linearizable
from checker.core.scene import Scene
from checker.core.wording import who
from checker.counterexamples.any_state import from_any_state
from checker.counterexamples.enumerate import part_of_log, part_of_set
from checker.explain.points import with_points
from checker.models.objects import GrowSet, Log, SparseLog
from history import Counterexample, Operation
from tests.support.checker.oracle import is_linearizable
from tests.support.checker.oracle_objects import is_part_of

OF_THE_WHOLE = ("never-written", "failed-write-read", "log-hole")


#: What the sentence says of one operation: who, where, and from when to when.
SPAN = re.compile(r"process (\d+)(?: on (\w+))?[^()]*? \((\d+\.\d+)–(\d+\.\d+) s\)")


def placed(example: Counterexample, model: Model) -> Counterexample:
    """Return the counterexample with linearization points, made of calls that all count as they were answered."""
    return with_points(example, calls_of(example.operations, model), Scene(example.operations, model))


def contradicts(operations: Sequence[Operation], model: Model) -> bool:
    """Return whether the answers of these operations cannot all be right.

    Logs and sets are judged only by what the counterexample mentions.
    """
    if type(model) is Register:
        return (
            not is_linearizable(operations, initial=model.initial)
            if model.initial is None
            else _none(operations, model)
        )
    if isinstance(model, Log):
        return not linearizable(part_of_log(calls_of(operations, model)), SparseLog())
    if isinstance(model, GrowSet):
        return not linearizable(part_of_set(calls_of(operations, model)), model)
    return _none(operations, model)


def unanswered(operation: Operation) -> Operation:
    """Return the operation that another violation includes, with an unknown answer."""
    return replace(operation, outcome="info", result=None, returned=None, return_index=None)


def in_part(operation: Operation) -> list[Operation]:
    """Return an operation as it was recorded; a CAS may be shown as a write."""
    written = [replace(operation, f="write", value=operation.value[1], result=None)] if operation.f == "cas" else []
    return [operation, *written]


def as_counted(example: Counterexample) -> Counterexample:
    """Return the counterexample without the answers that are set aside."""
    counted = (unanswered(o) if place in example.set_aside else o for place, o in enumerate(example.operations))
    return replace(example, operations=tuple(counted))


def _none(operations: Sequence[Operation], model: Model) -> bool:
    return not linearizable(calls_of(operations, model), model)


def any_state(model: Model, calls: Sequence[Call]) -> Model | None:
    return None if model.one_value else from_any_state(model, calls)


#: Models whose engines find counterexamples by themselves.
ENGINES = ("log", "set")


def smaller(example: Counterexample, model: Model, history: Sequence[Operation] = ()) -> list[tuple[Operation, ...]]:
    """Return the smaller parts of a counterexample that still contradict themselves.

    A part counts only if no operations outside it resolve the contradiction.  A write or swap stays as long as an
    operation needs its value, because otherwise the value would come from nowhere.
    """
    places = range(len(example.operations))
    parts = [frozenset(part) for size in range(len(places) + 1) for part in combinations(places, size)]
    # The engines of logs and sets keep what made a value, so their examples are judged from the start.
    anywhere = any_state(model, calls_of([*example.operations, *history], model)) if model.name not in ENGINES else None
    if anywhere is not None and _none(example.operations, anywhere):
        model = anywhere  # it needs nothing that was before
    wrong = {part: contradicts(pick(example, part), model) for part in parts}
    enough = [part for part in parts if wrong[part] and len(part) < len(places)]
    sound = [part for part in enough if not any(wrong[other & part] and not wrong[other] for other in parts)]
    return [tuple(pick(example, part)) for part in sound if not starved(example, part)]


def with_what_explains(example: Counterexample, history: list[Operation]) -> list[Operation]:
    """Return the example and everything in its history that wrote a value that it needs: this must not explain it."""
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
    assert all(example.operations[place].outcome == "ok" for place in example.set_aside), example
    assert ("Set aside" in example.sentence) == bool(example.set_aside), example
    recorded, example = example, as_counted(example)
    if example.kind in OF_THE_WHOLE:
        assert len(example.operations) <= 2, example
    else:
        assert contradicts(example.operations, model), example
        # ``test_counter_cores`` and ``test_one_register`` leave out what may go of counters and transactions.
        assert model.name in ("counter", "multi-register") or not smaller(example, model, history), example
        assert contradicts(with_what_explains(example, history), model), example
    example = recorded
    moments = {moment for o in example.operations for moment in (o.invoked, o.returned) if moment is not None}
    moments |= {o.invoked for o in history if example.kind == "failed-write-read"}
    answered = {round(float(text) * 1e9) for text in re.findall(r"(\d+\.\d{3,})", example.sentence)}
    assert answered <= moments, example
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
    """Check what a kind, and the words at the end of a sentence, say apart from times."""
    if missed := MISSED.search(example.sentence):
        read = [json.dumps(o.result) for o in history if (o.f, o.outcome) == ("read", "ok")]
        assert missed[1] not in read, example
        if model.name == "register":
            made = max(o.invoked for o in history if o.f == "write" and json.dumps(o.value) == missed[1])
            assert not any(o.f == "write" and o.invoked > made and json.dumps(o.value) in read for o in history), (
                example
            )
    assert (example.kind == "lost-write") == bool(missed) or not isinstance(model, Register), example
    if either := EITHER.search(example.sentence):
        for suspect in either.groups():
            accused = [o for o in example.operations if who(o) == suspect]
            rest = [[other for other in example.operations if other is not one] for one in accused]
            assert any(not contradicts(others, model) for others in rest), (example, suspect)
    if example.kind == "never-written" and isinstance(model, Register) and "no process ever wrote" in example.sentence:
        asked = touched(example.operations[0])[0]
        assert all(touched(o)[1] != asked for o in history if o.outcome != "fail"), example
    if example.kind == "split-brain":
        assert_two_sides(example)


SIDES = re.compile(r": ([\w ]+) went on with (\S+), ([\w ]+) with (\S+)\.(?: \(|$)")


def assert_two_sides(example: Counterexample) -> None:
    answered = SIDES.search(example.sentence)
    assert answered, example
    sides = {answered[2]: set(answered[1].split(" and ")), answered[4]: set(answered[3].split(" and "))}
    for value, nodes in sides.items():
        name = example.sentence.split()[0]
        reads, writes = ([o for o in example.operations if value in touched(o, name)[kind]] for kind in (0, 1))
        assert {o.node for o in reads + writes} == nodes, example
        assert writes, example
    assert set.intersection(*sides.values()) == set(), example


def touched(operation: Operation, name: str = "") -> tuple[list[str], list[str]]:
    """Return what an operation saw and what it wrote; for a transaction, in the register with that name."""
    if operation.f == "txn":
        steps = [step for step in operation.result or operation.value if step[1] == name]
        read, written = ([json.dumps(value) for f, _, value in steps if f == kind] for kind in ("read", "write"))
        return read, written
    if operation.f == "cas":
        return [json.dumps(operation.value[0])], [json.dumps(operation.value[1])]
    if operation.f == "write":
        return [], [json.dumps(operation.value)]
    return [json.dumps(operation.result)], []


def op(process: int, f: str, value: Any, start: int, end: int, outcome: str = "ok", result: Any = None) -> Operation:
    asked, answered = (None, value) if f in ("read", "list", "dequeue", "get") else (value, result)
    return Operation(process, f, None, asked, answered, outcome, start * 10**6, end * 10**6, start, end, "n1")  # type: ignore[arg-type]
