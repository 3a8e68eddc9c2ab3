"""Searches with many calls in doubt, and banks as numbers: the verdicts are those of the definition."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from checker.core.calls import Call, calls_of
from checker.core.definition import is_linearization, linearizable
from checker.core.model import UNKNOWN, CasRegister, Model
from checker.core.result import Limits
from checker.engines.searches import decide_operations
from checker.models.bank import Bank
from checker.models.objects import Counter, FifoQueue, MultiRegister
from checker.search import balances, compiled
from checker.search.compiled import compiled_search
from checker.search.jit import shapes_of
from history import Operation
from history.codes import NEVER
from tests.support.checker.oracle_objects import object_history
from tests.support.draws import draws

NO_LIMITS = Limits(lambda: 0.0)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """After one step the search looks for orders in which pending calls take effect soon."""
    for name, number in (("BUDGET", 1), ("_AT_FIRST", 0), ("_SOON", 5)):
        monkeypatch.setattr(compiled, name, number)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("name", "model"), [("counter", Counter()), ("multi-register", MultiRegister()), ("queue", FifoQueue())]
)
def test_windows_change_no_verdict(name: str, model: Model) -> None:
    random, seen = Random(3), set()
    for _ in range(draws(150, 3_000)):
        operations = object_history(random, name, random.randint(3, 8), 3, random.choice([0.8, 1.0]))
        calls = [one if random.random() < 0.7 or one.f in model.reads else one.made_pending()
                 for one in calls_of(operations, model)]  # fmt: skip
        answer = compiled_search(calls, model, NO_LIMITS)
        assert answer is not None
        assert answer.verdict == ("valid" if linearizable(calls, model) else "invalid"), calls
        assert answer.order is None or is_linearization(answer.order, calls, model), calls
        seen.add(answer.verdict)
    assert seen == {"valid", "invalid"}


def counted(random: Random, size: int) -> list[Call]:
    """True calls on a counter of four clients; nearly half of the adds were never answered, half of which happened."""
    calls: list[Call] = []
    busy: dict[int, tuple[int, str, int, bool]] = {}
    total = 0
    for moment in range(6 * size):
        client = random.randrange(4)
        if client not in busy:
            if len(calls) + len(busy) < size:
                busy[client] = (moment, random.choice(["add", "read"]), random.choice([1, 5, -3]), False)
            continue
        began, f, number, took = busy[client]
        lost = f == "add" and random.random() < 0.25
        if not took and not lost:
            total += number if f == "add" else 0
            busy[client] = (began, f, number if f == "add" else total, True)
            continue
        del busy[client]
        ret, result = (NEVER, UNKNOWN) if lost else (moment, number if f == "read" else None)
        calls.append(Call(f, number if f == "add" else None, result, began, ret, len(calls)))
    return calls


def test_more_pending_calls_than_bits() -> None:
    """Calls that begin far apart share a bit."""
    random = Random(4)
    for _ in range(draws(5, 200)):
        calls = counted(random, 500)
        assert sum(call.pending for call in calls) > 62
        answer = compiled_search(calls, Counter(), NO_LIMITS)
        assert answer is not None
        assert answer.verdict == "valid"
        assert answer.order is not None
        assert is_linearization(answer.order, calls, Counter())


def test_no_window_refutes() -> None:
    """A value that a late pending call explains, and one that none explains."""
    early = [Call("txn", (("write", "x", number),), UNKNOWN, number, NEVER, number) for number in range(100)]
    for value in (3, 1000):
        reads = [
            Call("txn", (("read", "x", None),), (("read", "x", item),), 1000 + 2 * at, 1001 + 2 * at, 200 + at)
            for at, item in enumerate([*range(99, 30, -1), value])
        ]
        # Without a bit for each pending call only the search in Python can tell.
        assert compiled_search([*early, *reads], MultiRegister(), NO_LIMITS) is None


def banked(random: Random) -> list[Operation]:
    """A few transfers and reads between three accounts, half-way honest, with odd answers."""
    now = {"a": 2, "b": 0, 3: 0}
    operations, moments = [], sorted(random.sample(range(100), 2 * (size := random.randint(2, 7))))
    for process in range(size):
        start, end = sorted(moments.pop(random.randrange(min(4, len(moments)))) for _ in range(2))
        value: Any = None
        result: Any = None
        if random.random() < 0.5:
            value = [random.choice(list(now)), random.choice(list(now)), random.randint(0, 2)]
            now[value[0]] -= value[2]
            now[value[1]] += value[2]
        else:
            shown = [[name, held + (random.random() < 0.05)] for name, held in now.items()]
            result = [pair for pair in shown if pair[1] or random.random() < 0.5]
            if result and random.random() < 0.05:
                result.append(result[0][:])
        outcome: Any = "info" if value and random.random() < 0.3 else "ok"
        f = "transfer" if value else "read"
        operations.append(Operation(process, f, None, value, result, outcome, start, end, start, end))
    return sorted(operations, key=lambda operation: operation.invoke_index)


@pytest.mark.parametrize("bits", [30, 1, 0])
def test_banks_are_decided_by_their_numbers(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where numbers of few bits confuse balances, the balances themselves decide."""
    monkeypatch.setattr(balances, "_BITS", bits)
    monkeypatch.setattr("checker.engines.searches.PLAIN_SEARCH_CALLS", 0)
    random, model, seen = Random(bits), Bank((("a", 2),)), set()
    for _ in range(draws(200, 5_000)):
        operations = banked(random)
        calls = calls_of(operations, model)
        truth = "valid" if linearizable(calls, model) else "invalid"
        answer = compiled_search(calls, model, NO_LIMITS)
        assert answer is not None
        assert answer.verdict == truth, operations
        assert answer.order is None or is_linearization(answer.order, calls, model), operations
        columns = decide_operations(operations, model, NO_LIMITS)
        assert columns is None or columns.result.verdict == truth, operations
        assert columns is not None or bits < 30
        seen.add(truth)
    assert seen == {"valid", "invalid"}


def test_a_number_names_the_balances_that_have_it() -> None:
    model = Bank((("a", 2),))
    rows = [("transfer", ["a", "b", 1], None), ("read", None, [["b", 1], ["a", 1]])]
    operations = [Operation(0, f, None, v, r, "ok", n, n, 2 * n, 2 * n + 1) for n, (f, v, r) in enumerate(rows)]
    shapes = shapes_of(calls_of(operations, model))
    found = balances.balances_of(shapes, model)
    assert found is not None
    assert found.describe(int(found.value[1])) == "{a: 1, b: 1}"
    assert found.describe(found.initial) == "{a: 2}"
    assert found.confirms([0, 1])
    assert not found.confirms([1, 0])
    assert np.array_equal((found.initial + found.value[:1]) % (1 << 30), found.value[1:])


def test_transfers_that_answer_balances_are_no_numbers() -> None:
    operation = Operation(0, "transfer", None, ["a", "b", 1], [["a", -1]], "ok", 0, 1, 0, 1)
    assert balances.balances_of(shapes_of(calls_of([operation], Bank())), Bank()) is None


@pytest.mark.parametrize(("shown", "truth"), [(2**63, "valid"), (-(2**63), "invalid")])
def test_large_balances_do_not_wrap_around(shown: int, truth: str) -> None:
    rows: list[Any] = [("transfer", ["a", "b", 2**62], None)] * 2 + [("read", None, [["a", -(2**63)], ["b", shown]])]
    operations = [Operation(0, f, None, v, r, "ok", n, n, 2 * n, 2 * n + 1) for n, (f, v, r) in enumerate(rows)]
    answer = compiled_search(calls_of(operations, Bank()), Bank(), NO_LIMITS)
    assert answer is not None
    assert answer.verdict == truth


def test_an_amount_is_a_whole_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it moves nothing: the search over calls says what is wrong."""
    monkeypatch.setattr("checker.engines.searches.PLAIN_SEARCH_CALLS", 0)
    operation = Operation(0, "transfer", None, ["a", "a", True], None, "ok", 0, 1, 0, 1)
    assert decide_operations([operation], Bank(), NO_LIMITS) is None


@pytest.mark.usefixtures("impatient")
def test_windows_change_no_verdict_of_a_register() -> None:
    random, model, seen = Random(6), CasRegister(), set()
    for _ in range(draws(150, 3_000)):
        calls = []
        for source in range(random.randint(3, 9)):
            f = random.choice(["read", "write", "cas", "cas"])
            value: Any = {
                "read": None,
                "write": random.randrange(3),
                "cas": (random.randrange(3), random.randrange(3)),
            }[f]
            invoke = 10 * source + random.randrange(10)
            pending = f != "read" and random.random() < 0.4
            ret = NEVER if pending else 1000 * (invoke + random.randint(1, 40)) + source
            result = UNKNOWN if pending else random.choice([None, 0, 1, 2]) if f == "read" else None
            calls.append(Call(f, value, result, 1000 * invoke + source + 500, ret, source))
        answer = compiled_search(calls, model, NO_LIMITS)
        assert answer is not None
        assert answer.verdict == ("valid" if linearizable(calls, model) else "invalid"), calls
        assert answer.order is None or is_linearization(answer.order, calls, model), calls
        seen.add(answer.verdict)
    assert seen == {"valid", "invalid"}


#: More than one step of the search may write, and a number that it never writes.
_BEYOND, _UNTOUCHED = 256, -77


def test_the_search_writes_nothing_beyond_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code checks no index, so each array gets neighbours, which must stay as they are.

    Many open calls, none like another, fill the stack long before there are many configurations.
    """
    whole: list[tuple[Any, int]] = []
    room = compiled._Run._room

    def with_neighbours(run: Any, size: int, steps: int) -> Any:
        nodes = room(run, size, steps)
        views = {}
        for name, array in nodes._asdict().items():
            larger = np.concatenate([array, np.full(_BEYOND, _UNTOUCHED, array.dtype)])
            whole.append((larger, array.size))
            views[name] = larger[: array.size]
        return nodes._replace(**views)

    monkeypatch.setattr(compiled._Run, "_room", with_neighbours)
    monkeypatch.setattr(compiled, "ROOM", 2)
    monkeypatch.setattr(compiled, "AHEAD", 0)
    for pending in (0, 20):
        writes = [Call("write", place, None, place, NEVER if place < pending else 100 + place, place)
                  for place in range(60)]  # fmt: skip
        # Pending writes count only if they were read.
        reads = [Call("read", None, place, 60 + place, 200 + place, 60 + place) for place in range(pending)]
        wrong = Call("read", None, -1, 300, 301, 300)
        answer = compiled_search([*writes, *reads, wrong], CasRegister(), replace(NO_LIMITS, memory=1 << 20))
        assert answer is not None
        assert answer.verdict != "valid"
    sizes = {size for _, size in whole}
    assert {2, 4, 512} <= sizes
    assert all((larger[size:] == _UNTOUCHED).all() for larger, size in whole)
