"""Multi-registers decided by dependencies: an order is a proof, a cycle refutes, and all else goes to the search."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from checker import check, check_operations
from checker.core.calls import Call, calls_of
from checker.core.definition import is_linearization, linearizable
from checker.core.result import EngineResult, Limits
from checker.dispatch import decide
from checker.engines import transactions
from checker.engines.transactions import ENGINE
from checker.kernels import transaction_loops as loops
from checker.models.objects import MultiRegister
from checker.search.jit import ENGINE as SEARCH
from checker.transactions import anomalies
from history import Operation
from tests.support.checker.transaction_histories import STORES, Shape, history_of
from tests.support.draws import draws

MODEL = MultiRegister()
NO_LIMITS = Limits(lambda: 0.0)


def txn(process: int, steps: list[list[Any]], start: int, end: int | None) -> Operation:
    asked = [[f, key, None if f == "r" else value] for f, key, value in steps]
    outcome, result = ("info", None) if end is None else ("ok", steps)
    return Operation(process, "txn", None, asked, result, outcome, start, end, start, end)  # type: ignore[arg-type]


def decided(calls: list[Call]) -> EngineResult:
    return decide(calls, MODEL, NO_LIMITS, engine="dependencies")


def small(seed: int) -> list[Operation]:
    """Up to nine transactions of up to eight clients on few registers, of which many overlap or are in doubt."""
    random = Random(seed)
    shape = Shape(
        random.randint(2, 9), random.randint(1, 3), random.randint(2, 8), doubts=random.choice([0.0, 0.2, 0.4])
    )
    return history_of(random, random.choice(STORES), "rw-register", shape)


def test_the_dependencies_agree_with_the_definition() -> None:
    seen: Counter[str] = Counter()
    for seed in range(samples := draws(600, 40_000)):
        calls = calls_of(small(seed), MODEL)
        found = decided(calls)
        seen[found.verdict] += 1
        if found.verdict != "unknown":
            assert (found.verdict == "valid") == linearizable(calls, MODEL), seed
        assert found.order is None or is_linearization(found.order, calls, MODEL)
    assert seen["valid"] > samples / 4
    assert seen["invalid"] > samples / 8
    assert seen["unknown"] < samples / 100


@pytest.mark.parametrize("proofs", [True, False])
@pytest.mark.parametrize("right", [True, False])
def test_many_busy_clients_are_decided_without_the_search(right: bool, proofs: bool) -> None:
    history = busy(Random(1), 500, 20, 50)
    if not right:
        # Two registers as they were at the start.
        steps = [["r", 0, None], ["r", 1, None]]
        history.append(txn(0, steps, 9998, 9999))
    verdict = check_operations(history, MODEL, proofs=proofs)
    assert (verdict.verdict, verdict.engine) == ("valid" if right else "invalid", ENGINE)
    assert bool(verdict.counterexamples) == (proofs and not right)


def busy(random: Random, size: int, clients: int, keys: int) -> list[Operation]:
    """Clients that are always busy; each transaction takes effect at some moment before it returns, or is in doubt."""
    registers: dict[int, int] = {}
    done: list[Operation] = []
    under_way: list[tuple[int, list[list[Any]]]] = []
    now = value = 0
    while len(done) < size:
        if len(under_way) < clients:
            under_way.append((now, []))
            now += 1
        begun, steps = under_way[place := random.randrange(len(under_way))]
        if steps:
            del under_way[place]
            done.append(txn(begun, steps, begun, now if random.random() < 0.95 else None))
        else:
            for key in random.sample(range(keys), 2):
                if write := random.random() < 0.5:
                    registers[key] = value = value + 1
                steps.append(["w" if write else "r", key, registers.get(key)])
        now += 1
    done += [txn(begun, steps, begun, None) for begun, steps in under_way if steps]
    return sorted(done, key=lambda one: one.invoke_index)


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([["w", "x", 1]], "written to a register twice"),
        ([["w", "x", None]], "steps other than"),
        ([["w", "x", 1.0]], "twice"),
        ([["w", "x", 2.5]], "steps other than"),
        ([["w", "x", False]], "steps other than"),
    ],
)
@pytest.mark.parametrize("beside", [0, 500])
def test_what_the_dependencies_cannot_judge_goes_to_the_search_which_says_so(
    steps: list[Any], why: str, beside: int
) -> None:
    others = [txn(n, [["w", f"y{n}", n]], 100 + 2 * n, 101 + 2 * n) for n in range(beside)]
    history = [txn(0, [["w", "x", 1]], 0, 1), txn(1, steps, 2, 3), *others]
    for read, verdict in ((steps[0][2], "valid"), (7, "invalid")):
        judged = [*history, txn(2, [["r", "x", read]], 50, 51)]
        judged.sort(key=lambda one: one.invoke_index)
        found = check_operations(judged, MODEL)
        assert (found.verdict, found.engine) == (verdict, SEARCH)
        assert f"the engine {ENGINE} did not decide" in str(found.reason)
        assert why in str(found.reason)


def test_a_register_of_which_a_transaction_in_doubt_was_read_is_ordered() -> None:
    doubt = txn(0, [["w", "x", 1], ["w", "y", 1]], 0, None)
    good = [doubt, txn(1, [["r", "x", None]], 1, 2), txn(2, [["r", "y", 1]], 3, 4), txn(1, [["r", "x", 1]], 5, 6)]
    bad = [*good[:3], txn(1, [["r", "x", None]], 5, 6)]
    for history, verdict in ((good, "valid"), (bad, "invalid")):
        assert decided(calls_of(history, MODEL)).verdict == verdict
        assert check(history, "multi-register").verdict == verdict


# -- Each rule that keeps a verdict sound: without it, some history is judged wrongly. ---------------------------------


def mutant(*changes: tuple[str, str]) -> Any:
    """The search for an order with changes to its text."""
    text = inspect.getsource(loops.serial_order)
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    names = vars(loops).copy()
    exec(text, names)
    return names["serial_order"]


NEVER_BLOCKED = ("unread[version] > (1 if needs[at] == version else 0)", "False")


def blind(patch: pytest.MonkeyPatch) -> None:
    """Reads are not replayed."""
    patch.setattr(loops, "serial_order", mutant(NEVER_BLOCKED))
    patch.setattr(loops, "is_legal", lambda *_: True)


def timeless(patch: pytest.MonkeyPatch) -> None:
    """The order need not keep real time."""
    patch.setattr(loops, "realtime_edges", lambda *given: (given[0][:0], given[0][:0], given[-1]))
    patch.setattr(loops, "realtime_versions", lambda *given: (given[0][:0], given[0][:0], given[-1]))
    patch.setattr(transactions, "keeps_time", lambda order, invoke, _: order.size == invoke.size)


def guesses_prove(patch: pytest.MonkeyPatch) -> None:
    """An order that was only tried counts as known."""
    patch.setattr(loops, "serial_order", mutant(("sure = min(sure, added)\n                latest", "latest")))


def reads_are_writes(patch: pytest.MonkeyPatch) -> None:
    """Reads of a register, too, come before the writer of the version that another one read."""
    patch.setattr(loops, "serial_order", mutant(("key[at] == register and makes[at] >= 0", "key[at] == register")))


def doubts_are_left_out(patch: pytest.MonkeyPatch) -> None:
    """A transaction in doubt did not take effect, even if it was read."""
    patch.setattr(anomalies.Steps, "committed", lambda self, _: self.columns.outcome == 0)


MUTANTS = (blind, timeless, reads_are_writes, doubts_are_left_out)


@pytest.mark.parametrize("break_rule", MUTANTS)
def test_each_rule_is_needed(break_rule: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    break_rule(monkeypatch)
    wrong = 0
    for seed in range(3000):
        calls = calls_of(small(seed), MODEL)
        try:
            found = decided(calls).verdict
        except IndexError:
            found = "unknown"
        wrong += found != "unknown" and (found == "valid") != linearizable(calls, MODEL)
        if wrong:
            return
    raise AssertionError("no history shows the broken rule")


def test_only_a_known_order_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histories that are right by construction, and too large for the definition."""
    histories = [calls_of(busy(Random(seed), 60, 20, 4), MODEL) for seed in range(2)]
    assert not any(decided(calls).verdict == "invalid" for calls in histories)
    guesses_prove(monkeypatch)
    assert any(decided(calls).verdict == "invalid" for calls in histories)
