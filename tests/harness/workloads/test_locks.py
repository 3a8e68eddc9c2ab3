"""Locks: who holds one gives it back, and one that no process is known to hold is freed by its token."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.generators import Completion, Simulated, Stream, simulate
from harness.testing import Objects
from harness.workloads import Invocation, Locks

WORKERS = 4


class Held:
    """Locks in memory, and which worker has got each token of theirs."""

    def __init__(self, doubts: float) -> None:
        self.doubts = doubts
        self.locks = Objects("fenced-lock")
        self.reported: dict[tuple[Any, int], int] = {}
        self.wrong: list[str] = []
        self.doubted: set[Any] = set()

    def __call__(self, invocation: Invocation, stream: Stream) -> tuple[Completion, Stream]:
        key, asked = invocation.key, invocation.value
        never = key not in self.doubted and self.reported.get((key, asked)) != invocation.worker
        if invocation.f == "release" and never:
            self.wrong.append(f"{invocation.worker} gave back {asked} of {key}, of which nothing was in doubt")
        answer, stream = self.locks(invocation, stream)
        draw, stream = stream.draw()
        if draw < self.doubts and invocation.f != "read":
            self.doubted.add(key)
            return replace(answer, type="info", value=asked), stream
        if invocation.f == "acquire" and answer.value[0] == "acquired":  # type: ignore[index]  # (any JSON)
            self.reported[key, answer.value[1]] = invocation.worker  # type: ignore[index]
        return answer, stream


def contended(held: Held, seed: int, most: int = 400) -> Simulated:
    return simulate(Locks(3).generator(), workers=WORKERS, answers=held, seed=seed, most=most)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.05, 0.3]))
def test_only_who_took_a_lock_gives_it_back_unless_an_answer_was_lost(seed: int, doubts: float) -> None:
    held = Held(doubts)
    contended(held, seed)
    assert not held.wrong


@pytest.mark.parametrize("doubts", [0.0, 0.05, 0.3])
def test_locks_are_taken_again_whatever_was_in_doubt(doubts: float) -> None:
    """Of the last hundred operations some take a lock, and every lock has been taken often."""
    run = contended(Held(doubts), 3, most=2000)
    ends = [event for event in run.events if event.type == "ok" and event.f == "acquire"]
    taken = Counter(event.key for event in ends if event.value[0] == "acquired")
    assert min(taken[f"lock-{number}"] for number in range(3)) > 50
    assert any(event.value[0] == "acquired" for event in ends[-100:])


def test_without_a_doubt_each_token_is_given_back_once() -> None:
    run = contended(Held(0.0), 5)
    given_back = Counter((one.key, one.value) for one in run.issued if one.f == "release")
    assert set(given_back.values()) == {1}


def test_every_lock_is_read_at_the_end() -> None:
    assert Locks(3).final_reads() == [Invocation("read", f"lock-{number}", final=True) for number in range(3)]
