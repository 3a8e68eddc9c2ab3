"""Registers of which nearly every value was swapped in for the one before: counterexamples stay a few operations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from checker import MODELS, CasRegister, as_events, check, check_operations
from checker.core.calls import Call, calls_of, made_by
from checker.core.result import Limits
from checker.counterexamples.cas_chains import chain_core, known_of
from checker.engines.cas_chains import decide_by_chains, new_values_unique, suspects
from history import Operation, pair
from tests.support.checker.columns import columns_of
from tests.support.checker.counterexamples import assert_good, op
from tests.support.checker.oracle import Sampler
from tests.support.checker.written import written

NO_LIMITS = Limits(lambda: 0.0)
LENGTH = 600
AFTER = 10 * LENGTH
CAS_REGISTERS = ("cas-register", "cas-register-strict", "cas-register-unknown")


def chain(length: int = LENGTH) -> list[Operation]:
    return [op(n % 5, "cas", [n or None, n + 1], 10 * n, 10 * n + 5) for n in range(length)]


#: What is wrong near the end of the chain, and what is said of it: kind, number of operations, and a part of the story.
LIES: dict[str, tuple[list[Operation], str, int, str]] = {
    "stale": (
        [op(7, "read", 597, AFTER, AFTER + 2)], "stale-read", 3, "In between, process 2 on n1 swapped in 598"
    ),
    "twice": (
        [op(7, "cas", [597, 9000], AFTER, AFTER + 2)], "double-cas", 3,
        "process 2 on n1 swapped 597 for 598 (5.970–5.975 s) and process 7 on n1 swapped 597 for 9000",
    ),
    "overwritten": (
        [op(7, "write", 9000, AFTER, AFTER + 2), op(8, "read", 600, AFTER + 3, AFTER + 5)], "lost-write", 3,
        "that answer missed the write of 9000",
    ),
    "back": (
        [op(7, "cas", [600, 601], AFTER, AFTER + 9), op(8, "read", 601, AFTER + 1, AFTER + 2),
         op(9, "read", 600, AFTER + 3, AFTER + 4)], "read-inversion", 4, "a read went back in time",
    ),
    "future": (
        [op(7, "read", 597, 5936, 5938)], "future-read", 2,
        "no process had begun to write 597 by then; process 1 on n1 was the first, at 5.960 s",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CAS_REGISTERS)
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_at_the_end_of_a_long_chain(lie: str, name: str, tmp_path: Path) -> None:
    operations, kind, size, part = LIES[lie]
    history = sorted([*chain(), *operations], key=lambda o: o.invoke_index)
    assert check_operations(chain(), name).verdict == "valid"
    verdict = check_operations(history, name)
    (example,) = verdict.counterexamples
    assert (verdict.verdict, verdict.violations, verdict.reason) == ("invalid", 1, None)
    assert_good(example, history, MODELS[name]())
    if lie != "future" or name != "cas-register-unknown":  # whatever it held at the start, 597 may have been it
        assert (example.kind, len(example.operations)) == (kind, size)
        assert part in example.sentence
    again = check(written(tmp_path / "small.jsonl", as_events(example)), name)
    assert (again.verdict, len(again.counterexamples[0].operations)) == ("invalid", len(example.operations))


def test_a_swap_of_which_only_the_new_value_matters_is_shown_as_a_write() -> None:
    (example,) = check_operations([*chain(), *LIES["stale"][0]], "cas-register").counterexamples
    assert [(o.f, o.value) for o in example.operations] == [("write", 597), ("cas", [597, 598]), ("read", None)]
    assert example.sentence.startswith("the register had been 597 by 5.965 s (when process 1 on n1 had swapped in 597)")
    assert example.sentence.endswith(
        "(Shown as a write, because the value that it found plays no part: the cas of 596 to 597 by process 1 on n1.)"
    )


def test_every_lie_of_a_long_chain_is_reported() -> None:
    stale = [op(7 + n, "read", value, AFTER + 3 * n, AFTER + 3 * n + 1) for n, value in enumerate((597, 300, 5))]
    # A clock that stands: how soon the others are found is another matter.
    verdict = check_operations([*chain(), *stale], "cas-register", clock=lambda: 0.0)
    assert [len(example.operations) for example in verdict.counterexamples] == [3, 3, 3]
    assert verdict.violations == 3


@pytest.mark.parametrize("name", ["register", "cas-register"])
def test_a_read_before_the_first_of_several_writes_is_no_value_out_of_nowhere(name: str) -> None:
    """Values repeat, so that it is not the zones that find it."""
    filler = [op(0, "write", 1 + n % 2, 2 * n, 2 * n + 1) for n in range(600)]
    later = [op(1, "write", 7, 2000, 2001), op(1, "write", 7, 2002, 2003)]
    history = [*filler, op(2, "read", 7, 1300, 1301), *later]
    by_columns = check(columns_of([history], Random(1)), name).keys[0]
    for verdict in (check_operations(history, name), by_columns):
        (example,) = verdict.counterexamples
        assert (example.kind, len(example.operations)) == ("future-read", 2)
        assert "no process had begun to write 7 by then" in example.sentence


def test_a_written_counterexample_is_read_again_whichever_process_went_on_and_whatever_was_refused() -> None:
    """A process whose first operation another violation has made unanswered; a swap that was refused."""
    history = [op(0, "write", 1, 0, 1), op(1, "cas", [1, 2], 2, 3, "fail"), op(2, "read", 1, 4, 5)]
    (example,) = check_operations(history, "cas-register-strict").counterexamples
    assert check(pair(as_events(example)), "cas-register-strict").verdict == "invalid"
    random = Random(5)
    goes_on = 0
    while goes_on < 5:
        history = Sampler(random, values=3, cas=True, truth=0.7).history(20, 3)
        for example in check_operations(history, "cas-register").counterexamples:
            goes_on += overtaken(example.operations)
            if example.kind != "failed-write-read":
                assert check(pair(as_events(example)), "cas-register").verdict == "invalid", example


def overtaken(operations: Sequence[Operation]) -> bool:
    """Does a process go on after an operation without an answer?"""
    return any(one.process == two.process and one.outcome == "info" for one, two in pairwise(operations))


def busy(random: Random, length: int) -> list[Operation]:
    """A true chain of five clients whose swaps overlap, and one read of an older value."""
    starts = [8 * n + random.randint(0, 7) for n in range(length)]
    history = [
        op(n % 5, "cas", [n or None, n + 1], start, max(start + 1, 8 * n + random.randint(8, 30)))
        for n, start in enumerate(starts)
    ]
    moment = random.randint(8 * length // 2, 8 * length)
    value = max(1, moment // 8 - random.randint(6, 30))
    ranks = sorted({(m, o.invoke_index) for o in history for m in (o.invoke_index, o.return_index or 0)})
    place = {key: 2 * number for number, key in enumerate(ranks)}
    spread = [
        op(o.process, "cas", o.value, place[o.invoke_index, o.invoke_index], place[o.return_index or 0, o.invoke_index])
        for o in history
    ]
    at = next(place[key] for key in ranks if key[0] >= moment)
    return sorted([*spread, op(9, "read", value, at - 1, at + 1)], key=lambda o: o.invoke_index)


@pytest.mark.parametrize("name", ["cas-register", "cas-register-unknown"])
def test_overlapping_swaps_make_it_no_longer(name: str) -> None:
    random, model = Random(3), MODELS[name]()
    for _ in range(20):
        history = busy(random, 120)
        for example in check_operations(history, name).counterexamples:
            assert len(example.operations) <= 6
            assert_good(example, history, model)


@pytest.mark.slow
def test_the_chains_name_a_few_calls_that_contradict_each_other_whatever_the_others_did() -> None:
    random, model, reported = Random(3), CasRegister(), 0
    while reported < 150:
        sampler = Sampler(random, values=None, cas=True, truth=random.choice([0.9, 0.97]))
        calls = calls_of(sampler.history(random.randint(5, 40), random.randint(2, 6)), model)
        if not new_values_unique(calls, None):
            continue
        makers = {made_by(call): call for call in calls if call.f != "read"}

        def contradict(part: Sequence[Call], makers: dict[Any, Call] = makers) -> bool:
            return decide_by_chains(known_of(part, makers), model, NO_LIMITS).verdict == "invalid"

        wrong = decide_by_chains(calls, model, NO_LIMITS).verdict == "invalid"
        few = suspects(calls, model, NO_LIMITS)
        assert len(few) <= 4
        assert contradict(few) == bool(few)
        assert wrong or not few
        if wrong:
            reported += bool(few)
            core = chain_core(calls, model, NO_LIMITS)
            assert contradict(core)
            assert not any(contradict([call for call in core if call is not gone]) for gone in core)
