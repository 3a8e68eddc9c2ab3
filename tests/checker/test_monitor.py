"""The monitor says on every prefix what the check of that prefix says, and forgets what cannot matter."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import checker.monitor
from checker import check_operations
from checker.monitor import Monitor
from history import Event, pair
from tests.support.checker.events import events_of
from tests.support.checker.oracle import Sampler
from tests.support.draws import draws


def first_bad_prefix(events: list[Event]) -> int | None:
    for count in range(1, len(events) + 1):
        if check_operations(pair(events[:count]), "register").verdict == "invalid":
            return events[count - 1].index
    return None


@pytest.mark.slow
@pytest.mark.parametrize("sweep", [1, 64])
def test_the_earliest_event_of_all(sweep: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where what is dead is forgotten at once."""
    monkeypatch.setattr(checker.monitor, "_SWEEP", sweep)
    random, found = Random(11), 0
    for _ in range(samples := draws(120, 350)):
        sampler = Sampler(random, values=None, truth=random.choice([0.7, 0.95, 1.0]))
        events = events_of(sampler.history(random.randint(2, 30), random.randint(2, 5)))
        monitor = Monitor()
        seen = [violation.index for event in events if (violation := monitor.feed(event)) is not None]
        truth = first_bad_prefix(events)
        assert seen == ([] if truth is None else [truth])
        found += truth is not None
    assert found > samples / 6


def test_memory_is_bounded_by_what_is_open_and_alive() -> None:
    events = events_of(Sampler(Random(2), values=None, truth=1.0).history(4000, 6))
    certain = [event for event in events if not (event.type == "info" and event.f == "write")]
    monitor, largest = Monitor(), 0
    pending = len(events) - len(certain)
    for event in events:
        assert monitor.feed(event) is None
        largest = max(largest, monitor.size())
    assert largest < pending + 200


def endless(operations: int, processes: int) -> Iterator[Event]:
    """A register that counts: event by event, never a history in memory; now and then a write that ends as info."""
    random, state, asked = Random(4), None, dict[int, tuple[str, Any]]()
    for index in range(2 * operations):
        process = random.randrange(processes)
        if process not in asked:
            f, value = ("write", index) if random.random() < 0.5 else ("read", None)
            asked[process] = (f, value)
            yield Event(index, index, "invoke", process, f, value, "k0")
        else:
            f, value = asked.pop(process)
            lost = f == "write" and random.random() < 0.0005
            state = value if f == "write" and not lost else state
            yield Event(index, index, "info" if lost else "ok", process, f, value if f == "write" else state, "k0")


@pytest.mark.slow
def test_a_hundred_thousand_operations_fit_into_what_is_open_and_alive() -> None:
    monitor, largest, lost, fed = Monitor(), 0, 0, 0
    for event in endless(100_000, 10):
        lost += event.type == "info"
        fed += 1
        assert monitor.feed(event) is None
        largest = max(largest, monitor.size())
    assert (fed, lost > 10) == (200_000, True)
    assert largest <= 10 + lost + 100


@pytest.mark.parametrize("seen", [None, 3, 98])
def test_a_read_of_what_was_current_long_ago_is_found(seen: int | None) -> None:
    """The initial value, too, which was not written: alone its read is legal."""
    asked = [("write", number, number) for number in range(100)] + [("read", None, seen)]
    events = [
        Event(2 * number + done, 2 * number + done, "ok" if done else "invoke", 0, f, result if done else value, "k0")
        for number, (f, value, result) in enumerate(asked)
        for done in (0, 1)
    ]
    monitor = Monitor()
    assert [monitor.feed(event) for event in events[:-1]] == [None] * 201
    violation = monitor.feed(events[-1])
    assert violation is not None
    assert violation.index == 201
    assert check_operations(violation.counterexample.operations, "register").verdict == "invalid"


def test_keys_that_it_cannot_judge_are_named() -> None:
    monitor = Monitor()
    for index, process in enumerate((0, 1)):
        monitor.feed(Event(index, index, "invoke", process, "write", 5, "k"))
    assert monitor.unwatched == ("k",)


def test_a_violation_has_a_counterexample() -> None:
    monitor = Monitor()
    story = [
        Event(0, 0, "invoke", 0, "write", 1), Event(1, 10, "ok", 0, "write", 1),
        Event(2, 20, "invoke", 1, "read", None), Event(3, 30, "ok", 1, "read", None),
    ]  # fmt: skip
    violations = [monitor.feed(event) for event in story]
    assert violations[:3] == [None] * 3
    assert violations[3] is not None
    assert violations[3].counterexample.kind == "lost-write"
