"""Every engine against the definition on small histories, and against each other on larger ones."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from checker import ANY, CasRegister, Model, ModelError, Register, check_operations
from checker.core.calls import Call, calls_of
from checker.core.definition import is_linearization, linearizable
from checker.core.result import Limits
from checker.dispatch import NAMES, decide
from checker.kernels.cas_chains import INVALID, VALID, judge_chains
from checker.kernels.encode import gather
from checker.kernels.slots import SLOTS, earliest
from checker.search.compiled import compiled_search
from tests.support.checker.columns import columns_of
from tests.support.checker.oracle import (
    DISTINGUISHED,
    READ_TWICE,
    Sampler,
    after_another,
    dense_history,
    early_swap,
    either_pending_write,
    first_return_first,
    history_of,
    is_linearizable,
    late_pending,
    later_change,
    one_answer_changed,
    write_or_swap,
)
from tests.support.draws import draws

NO_LIMITS = Limits(lambda: 0.0)


class Tabled(Model):
    """A cas register that the engines know nothing about, so that they must ask it."""

    name = "tabled"

    def step(self, state: object, f: str, value: object, result: object) -> object:
        return CasRegister().step(state, f, value, result)


def verdicts(calls: list[Call], model: Model) -> dict[str, str]:
    answers: dict[str, str] = {}
    for engine in NAMES:
        try:
            answer = decide(calls, model, NO_LIMITS, engine=engine)
        except ModelError:
            continue
        assert answer.order is None or is_linearization(answer.order, calls, model)
        answers[engine] = answer.verdict
    return answers


def agree_with_the_definition(samples: int, seed: int) -> None:
    random = Random(seed)
    used: set[str] = set()
    for _ in range(samples):
        cas = random.random() < 0.5
        sampler = Sampler(random, values=random.choice([None, 1, 2, 3, 4]), cas=cas, truth=random.choice([0.6, 0.9]))
        history = sampler.history(random.randint(1, 8), random.randint(2, 5))
        model = random.choice([CasRegister(), CasRegister(), Tabled(), CasRegister(ANY), Register(ANY)])
        if cas and isinstance(model, Register) and not isinstance(model, CasRegister):
            continue
        calls = calls_of(history, model)
        truth = is_linearizable(history) if model.initial is None else linearizable(calls, model)
        found = verdicts(calls, model)
        used |= set(found)
        if model.initial is ANY:
            # One value that was not written is the initial one; zones leave the other possibilities to the caller.
            found.pop("zones", None)
        assert set(found.values()) == {"valid" if truth else "invalid"}, (found, truth, history)
    assert used == set(NAMES) - {"log", "set", "queue", "bag", "ids", "kv", "counter-bounds", "dependencies"}


@pytest.mark.slow
def test_engines_agree_with_the_definition() -> None:
    agree_with_the_definition(draws(1_200, 4_000), 1)


@pytest.mark.nightly
def test_engines_agree_with_the_definition_on_a_million() -> None:
    agree_with_the_definition(1_000_000, 2)


def agree_where_much_overlaps(samples: int, seed: int) -> None:
    random, seen = Random(seed), {True: 0, False: 0}
    for _ in range(samples):
        history = dense_history(
            random, random.randint(4, 9), values=random.randint(2, 4), doubt=random.choice([0.1, 0.5])
        )
        calls, truth = calls_of(history, Register()), is_linearizable(history)
        for engine in ("automaton", "search"):
            answer = decide(calls, Register(), NO_LIMITS, engine=engine)
            assert answer.verdict == ("valid" if truth else "invalid"), (engine, history)
            assert answer.order is None or is_linearization(answer.order, calls, Register())
        seen[truth] += 1
    assert min(seen.values()) > samples / 20


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("both", [False, True])
def test_a_dead_end_after_counting_pending_writes_together_proves_nothing(first: int, both: bool) -> None:
    history = either_pending_write(first, both=both)
    assert is_linearizable(history) == (not both)
    answer = decide(calls_of(history, Register()), Register(), NO_LIMITS, engine="automaton")
    assert answer.verdict == ("invalid" if both else "valid")


@pytest.mark.parametrize("flash", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_what_was_open_at_the_last_change_makes_a_difference(first: bool, flash: bool) -> None:
    history = later_change(first=first, flash=flash)
    assert is_linearizable(history) == flash
    answer = decide(calls_of(history, Register()), Register(), NO_LIMITS, engine="automaton")
    assert answer.verdict == ("valid" if flash else "invalid")


@pytest.mark.parametrize("valid", [False, True])
def test_a_swap_may_return_before_the_write_whose_value_it_took(valid: bool) -> None:
    history = early_swap(valid=valid)
    assert is_linearizable(history) == valid
    found = verdicts(calls_of(history, CasRegister()), CasRegister())
    assert found.pop("chains") == ("valid" if valid else "invalid")
    assert set(found.values()) == {"valid" if valid else "invalid"}
    columns = columns_of([history], Random(1))
    fields = (columns.kind, columns.outcome, columns.value, columns.old, columns.invoke, columns.ret)
    rows = gather(*fields)
    judged = judge_chains(rows.kind, rows.value, rows.old, rows.invoke, rows.ret, rows.names.size)
    assert judged == (VALID if valid else INVALID)


@pytest.mark.parametrize("how", READ_TWICE)
@pytest.mark.parametrize("writes", [1, 2])
@pytest.mark.parametrize("pending", [False, True])
def test_a_write_is_spent_once(how: str, writes: int, pending: bool) -> None:
    begin = [("write", 1, number, None if pending else 90 + number) for number in range(writes)]
    history = history_of([*begin, *READ_TWICE[how]])
    assert is_linearizable(history) == (writes == 2)
    for engine in ("automaton", "search", "wgl"):
        answer = decide(calls_of(history, Register()), Register(), NO_LIMITS, engine=engine)
        assert answer.verdict == ("valid" if writes == 2 else "invalid"), engine


@pytest.mark.parametrize(
    ("writes", "again", "valid"), [(1, None, False), (2, None, True), (2, 5, False), (2, 6, False)]
)
def test_pending_writes_are_not_taken_for_those_of_a_value_that_was_forgotten(
    writes: int, again: int | None, valid: bool
) -> None:
    history = after_another(writes, again)
    assert is_linearizable(history) == valid
    answer = decide(calls_of(history, Register()), Register(), NO_LIMITS, engine="automaton")
    assert answer.verdict == ("valid" if valid else "invalid")


@pytest.mark.parametrize("valid", [False, True])
def test_a_pending_swap_and_a_pending_write_of_one_value_are_two(valid: bool) -> None:
    history = write_or_swap(valid=valid)
    assert is_linearizable(history) == valid
    found = verdicts(calls_of(history, CasRegister()), CasRegister())
    assert set(found.values()) == {"valid" if valid else "invalid"}


@pytest.mark.parametrize("both", [False, True])
def test_of_two_writes_of_one_value_the_one_that_returns_first_is_used_first(both: bool) -> None:
    history = history_of(first_return_first(both=both))
    assert is_linearizable(history) == both
    found = verdicts(calls_of(history, CasRegister()), CasRegister())
    found.pop("zones", None)
    assert set(found.values()) == {"valid" if both else "invalid"}


@pytest.mark.parametrize("begun", [-1, 10])
def test_a_pending_write_is_seen_only_after_it_began(begun: int) -> None:
    history = late_pending(begun)
    assert is_linearizable(history) == (begun < 0)
    answer = decide(calls_of(history, Register()), Register(), NO_LIMITS, engine="automaton")
    assert answer.verdict == ("valid" if begun < 0 else "invalid")


@pytest.mark.parametrize("engine", ["automaton", "search", "wgl"])
@pytest.mark.parametrize("name", DISTINGUISHED)
def test_histories_that_tell_a_kernel_from_one_with_one_thing_wrong(name: str, engine: str) -> None:
    """And their twins, in which one read answers something else."""
    whole, *twins = one_answer_changed(DISTINGUISHED[name])
    assert is_linearizable(whole)
    assert not all(map(is_linearizable, twins))
    for history in (whole, *twins):
        answer = decide(calls_of(history, Register()), Register(), NO_LIMITS, engine=engine)
        assert answer.verdict == ("valid" if is_linearizable(history) else "invalid")


@pytest.mark.parametrize("count", [61, 62])
def test_sixty_two_operations_may_be_open_at_once(count: int) -> None:
    """One more than that is for the search in Python, which has no such bound."""
    writes = [("write", 1, place, 200 - place) for place in range(count)]
    calls = calls_of(history_of([*writes, ("read", 1, 100, 101)]), Register())
    assert decide(calls, Register(), NO_LIMITS, engine="automaton").verdict == ("valid" if count == 61 else "unknown")
    assert (compiled_search(calls, Register(), NO_LIMITS) is None) == (count == 62)
    assert decide(calls, Register(), NO_LIMITS, engine="search").verdict == "valid"


def test_of_the_slots_in_a_mask_the_one_that_returns_first_is_found() -> None:
    random = Random(2)
    returns = [random.sample(range(1000), SLOTS) for _ in range(20)]
    for slot_ret in map(np.array, returns):
        for slots in ([], [61], *(random.sample(range(SLOTS), random.randint(1, SLOTS)) for _ in range(30))):
            first = min(slots, key=lambda slot: slot_ret[slot], default=None)
            mask = np.int64(sum(1 << slot for slot in slots))
            assert earliest(mask, slot_ret) == (0 if first is None else 1 << first)


def test_engines_agree_with_the_definition_where_much_overlaps() -> None:
    agree_where_much_overlaps(draws(1_500, 3_000), 3)


@pytest.mark.nightly
def test_engines_agree_with_the_definition_on_a_million_where_much_overlaps() -> None:
    agree_where_much_overlaps(1_000_000, 4)


@pytest.mark.parametrize("cas", [False, True])
@pytest.mark.parametrize("values", [None, 3])
def test_engines_agree_on_mid_size_histories(cas: bool, values: int | None) -> None:
    random = Random(7)
    for _ in range(25):
        history = Sampler(random, values=values, cas=cas, truth=random.choice([0.97, 1.0])).history(40, 4)
        found = verdicts(calls_of(history, CasRegister()), CasRegister())
        assert len(set(found.values())) == 1, found


def test_a_forced_engine_that_cannot_decide_is_refused() -> None:
    history = Sampler(Random(1), values=2).history(12, 3)
    with pytest.raises(ModelError, match="the engine zones cannot decide"):
        check_operations(history, "register", engine="zones")
    with pytest.raises(ModelError, match="there is no engine 'zoned'; the engines are zones"):
        check_operations(history, "register", engine="zoned")


def test_the_zones_do_not_call_invalid_what_an_unknown_initial_value_explains() -> None:
    history = history_of([("read", 3, 0, 1), ("write", 3, 2, 3)])
    assert check_operations(history, "register-unknown").verdict == "valid"
    with pytest.raises(ModelError, match="the engine zones cannot decide"):
        check_operations(history, "register-unknown", engine="zones", proofs=False)


@pytest.mark.parametrize("engine", ["automaton", "search", "python-search", "wgl"])
def test_every_engine_keeps_its_deadline(engine: str) -> None:
    history = Sampler(Random(1), values=3, truth=1.0).history(2000, 8)
    ticks = iter(range(10**6))
    verdict = check_operations(history, "register", engine=engine, deadline_s=0.5, clock=lambda: float(next(ticks)))
    assert verdict.verdict == "unknown"
    assert "the deadline passed" in str(verdict.reason)


@pytest.mark.parametrize("engine", ["search", "python-search", "wgl"])
def test_every_search_keeps_its_memory_cap(engine: str) -> None:
    history = Sampler(Random(1), values=3, truth=1.0, cas=True).history(4000, 8)
    verdict = check_operations(history, "cas-register", engine=engine, memory_cap=100_000)
    assert verdict.verdict == "unknown"
    assert "the memory cap" in str(verdict.reason)
