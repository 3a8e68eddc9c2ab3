"""How a deadline is shared out among keys: in steps first, and then in time."""

from __future__ import annotations

from random import Random

import pytest

from checker import check
from checker.core.engine import NODE_BYTES, PLAIN_SEARCH_CALLS
from checker.core.options import CheckOptions
from checker.search import compiled
from checker.turns import FIRST_MEMORY, LEAST_S, in_turns
from history import KeyVerdict, Operation


class World:
    """Keys that cost so many seconds each, on a clock of their own; hard ones need more memory, too.

    Small keys have ``size`` operations; by steps, their verdict takes its time.
    """

    def __init__(
        self,
        costs: list[float],
        hard: frozenset[int] = frozenset(),
        wrong: int | None = None,
        size: int = PLAIN_SEARCH_CALLS + 1,
    ) -> None:
        self.now, self.costs, self.hard, self.wrong, self.size = 0.0, costs, hard, wrong, size
        self.tried: list[int] = []
        self.explained: list[float] = []

    def attempt(self, key: int, options: CheckOptions) -> KeyVerdict:
        self.tried.append(key)
        assert options.deadline_s is not None
        enough = options.by_steps or options.deadline_s >= self.costs[key]
        enough = enough and (key not in self.hard or options.memory_cap > FIRST_MEMORY)
        self.now += self.costs[key] if options.by_steps else min(self.costs[key], options.deadline_s)
        if key == self.wrong:
            self.explained.append(options.deadline_s)
        verdict = "unknown" if not enough else "invalid" if key == self.wrong else "valid"
        return KeyVerdict(key, verdict, "none", 1, 0.0)  # type: ignore[arg-type]

    def decide(self, deadline: float, *, every: bool = False) -> list[str]:
        options = CheckOptions(deadline_s=deadline, clock=lambda: self.now)
        keys = range(len(self.costs))
        found = in_turns(keys, options, self.attempt, size=lambda _: self.size, started=0.0, every=every)
        return [found[key].verdict for key in range(len(self.costs))]


def test_a_pause_costs_no_key_of_thousands_its_verdict() -> None:
    costs = [0.001] * 20_000
    costs[7] = costs[15_000] = 0.4
    assert set(World(costs).decide(60.0)) == {"valid"}


def test_small_keys_get_their_steps_after_the_deadline_and_large_ones_do_not() -> None:
    costs = [0.01] * 10_000
    assert set(World(costs, size=PLAIN_SEARCH_CALLS).decide(60.0)) == {"valid"}
    assert World(costs).decide(60.0).count("valid") == 6_000


@pytest.mark.parametrize("second", [1e-6, 1.0, 1000.0])
def test_what_small_keys_end_with_does_not_depend_on_how_fast_the_machine_is(second: float) -> None:
    """All but the hard ones are decided, and those get what is left of the deadline: nothing, or all they need."""
    world = World([second] * 50, hard=frozenset({3, 40}), size=20)
    hard = "valid" if second == 1e-6 else "unknown"
    assert world.decide(2.0) == [hard if key in (3, 40) else "valid" for key in range(50)]


@pytest.mark.parametrize(
    ("keys", "size", "deadline", "steps"),
    [(50_000, 8, 2.0, 64), (50_000, 20, 2.0, 160), (1000, 8, 2.0, 100), (1000, 8, 4.0, 200), (2, 8, 60.0, 32263)],
)
def test_a_small_key_gets_steps_for_its_operations_or_an_even_share(
    keys: int, size: int, deadline: float, steps: int
) -> None:
    got = set[tuple[bool, int]]()

    def attempt(key: int, options: CheckOptions) -> KeyVerdict:
        got.add((options.by_steps, options.memory_cap // NODE_BYTES))
        return KeyVerdict(key, "valid", "none", 1, 0.0)

    in_turns(range(keys), CheckOptions(deadline_s=deadline), attempt, size=lambda _: size, started=0.0)
    assert got == {(True, steps)}


def test_steps_that_take_very_long_end_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes 2 ms an operation: one beyond those that they may take, and the deadline's second is spent."""
    world = World([0.2] * 100, size=100)
    monkeypatch.setattr("checker.turns.thread_time", lambda: world.now)
    assert world.decide(1.0).count("valid") == 11


def test_a_busy_machine_does_not_end_them() -> None:
    """By a clock that runs fast; the processor has hardly been used."""
    assert set(World([0.9] * 2000, size=PLAIN_SEARCH_CALLS).decide(60.0)) == {"valid"}


def test_counterexamples_take_no_steps_from_later_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World([1e-4] * 100, size=8, wrong=0)
    world.costs[0] = 1000.0
    monkeypatch.setattr("checker.turns.thread_time", lambda: world.now)
    assert world.decide(1.0, every=True) == ["invalid", *["valid"] * 99]


def test_the_first_violation_is_explained_however_late_it_is_found() -> None:
    world = World([0.6] * 4, wrong=2, size=PLAIN_SEARCH_CALLS)
    assert world.decide(1.0, every=True) == ["valid", "valid", "invalid", "valid"]
    assert world.explained == [LEAST_S]


def test_a_violation_leaves_small_keys_to_their_steps_and_large_ones_to_the_deadline() -> None:
    for size, later in ((PLAIN_SEARCH_CALLS, "valid"), (PLAIN_SEARCH_CALLS + 1, "unknown")):
        world = World([0.6] * 4, wrong=1, size=size)
        assert world.decide(1.5) == ["valid", "invalid", later, later]


@pytest.mark.parametrize(("every", "third"), [(False, "unknown"), (True, "valid")])
def test_an_invalid_key_ends_the_check_of_a_history_and_not_that_of_a_run(every: bool, third: str) -> None:
    world = World([0.5] * 3, hard=frozenset({2}), wrong=0)
    assert world.decide(60.0, every=every) == ["invalid", "valid", third]


def test_an_invalid_key_of_a_run_is_searched_for_all_its_violations() -> None:
    def attempt(key: int, options: CheckOptions) -> KeyVerdict:
        more = options.memory_cap <= FIRST_MEMORY
        return KeyVerdict(key, "invalid", "none", 1, 0.0, violations=1 if more else 5, more=more)

    for every, violations in ((True, [5, 5]), (False, [1, 1])):
        found = in_turns(range(2), CheckOptions(), attempt, size=lambda _: 1, started=0.0, every=every)
        assert [found[key].violations for key in (0, 1)] == violations


def test_a_search_for_more_that_comes_to_nothing_takes_no_violation_back() -> None:
    def attempt(key: int, options: CheckOptions) -> KeyVerdict:
        if options.memory_cap > FIRST_MEMORY:
            return KeyVerdict(key, "unknown", "none", 1, 0.0)
        return KeyVerdict(key, "invalid", "none", 1, 0.0, violations=1, more=True)

    found = in_turns(range(2), CheckOptions(), attempt, size=lambda _: 1, started=0.0, every=True)
    assert [verdict.verdict for verdict in found.values()] == ["invalid", "invalid"]


def test_hard_keys_come_last_and_share_what_is_left() -> None:
    world = World([0.5, 8.0, 0.5, 8.0], hard=frozenset({1, 3}))
    assert world.decide(60.0) == ["valid"] * 4
    assert world.tried == [0, 1, 2, 3, 1, 3]


def test_one_hard_key_leaves_the_others_theirs() -> None:
    assert World([1000.0, 0.5, 0.5], hard=frozenset({0})).decide(20.0) == ["unknown", "valid", "valid"]


def test_an_invalid_key_decides_and_ends_the_second_round() -> None:
    world = World([0.5, 0.5, 0.5], hard=frozenset({0}), wrong=1)
    assert world.decide(10.0) == ["unknown", "invalid", "valid"]
    assert world.tried == [0, 1, 2]


def test_a_single_key_has_everything_at_once() -> None:
    assert World([9.0], hard=frozenset({0})).decide(10.0) == ["valid"]


@pytest.mark.parametrize("proofs", [True, False])
def test_a_proof_that_takes_too_long_leaves_the_verdict(proofs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What looks ahead knows that there is an order; the search, which would find it, comes to nothing in its time."""
    now = iter(range(10**6))
    monkeypatch.setattr(compiled, "BUDGET", 1)
    monkeypatch.setattr(compiled._Run, "answer", lambda _run, _limits: True)
    random = Random(1)
    operations = [
        Operation(n, "transfer", None, [random.choice("ab"), "c", 1], None, "ok", n, n + 9, 10 * n, 10 * n + 95)
        for n in range(450)
    ]
    report = check(operations, "bank-unknown", deadline_s=10**5, proofs=proofs, clock=lambda: float(next(now)))
    assert (report.verdict, report.keys[0].certificate) == ("valid", None)
