from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nemesis.core.errors import ScheduleError
from nemesis.schedule.steps import CALM, Step, checked, cycle, steps_of, turns_of

quick = settings(max_examples=60)


@given(st.integers(0, 2**32))
@quick
def test_the_default_run_has_three_whole_cycles_whatever_is_drawn(seed):
    steps = cycle(["bridge"], 10, 60, random.Random(seed))
    assert sum(step.action == "inject" for step in steps) >= 3
    assert steps[-1].action == "heal"
    assert steps[-1].at_s < 60


@given(st.integers(0, 2**32), st.floats(0.5, 30), st.integers(2, 20))
@quick
def test_every_fault_stands_for_the_interval_and_is_healed_in_time(seed, interval, intervals):
    steps = cycle(["a", "b+c"], interval, interval * intervals, random.Random(seed))
    begun = {step.id: step for step in steps if step.action == "inject"}
    for heal in (step for step in steps if step.action == "heal"):
        start = begun.pop(heal.id)
        assert start.fault == heal.fault
        assert heal.at_s - start.at_s == pytest.approx(interval, abs=0.002)
        assert heal.at_s < interval * intervals
    assert not begun
    assert checked(steps, interval * intervals) == steps


@given(st.integers(0, 2**32), st.floats(0.01, 10))
@settings(deadline=None)
def test_lengths_are_drawn_between_the_shortest_and_the_interval(seed, shortest):
    steps = cycle(["a"], 10.0, 200.0, random.Random(seed), shortest_s=shortest)
    began = {step.id: step.at_s for step in steps if step.action == "inject"}
    lengths = [step.at_s - began[step.id] for step in steps if step.action == "heal"]
    assert len(lengths) == len(began) >= 10
    assert all(shortest - 0.002 <= length <= 10.002 for length in lengths)


def test_each_magnitude_of_length_is_as_likely_as_the_next():
    steps = cycle(["a"], 10.0, 20_000.0, random.Random(1), shortest_s=0.1)
    began = {step.id: step.at_s for step in steps if step.action == "inject"}
    lengths = sorted(step.at_s - began[step.id] for step in steps if step.action == "heal")
    assert lengths[len(lengths) // 2] == pytest.approx(1.0, rel=0.15)


def test_the_same_seed_gives_the_same_schedule():
    first = cycle(["a", "b", "c"], 10, 300, random.Random(7))
    assert first == cycle(["a", "b", "c"], 10, 300, random.Random(7))
    assert first != cycle(["a", "b", "c"], 10, 300, random.Random(8))


def test_starts_are_jittered_by_more_than_a_heartbeat():
    first = [cycle(["a"], 10, 60, random.Random(seed))[0].at_s for seed in range(100)]
    slowest_heartbeat_s = 2.0
    assert max(first) - min(first) > 1.5 * slowest_heartbeat_s
    assert min(first) >= CALM[0] * 10
    assert max(first) <= CALM[1] * 10


def test_all_faults_take_turns_before_one_comes_again():
    steps = [step for step in cycle(["a", "b", "c"], 10, 200, random.Random(3)) if step.action == "inject"]
    rounds = [{step.fault for step in steps[at : at + 3]} for at in range(0, len(steps) - 2, 3)]
    assert len(rounds) >= 3
    assert all(one == {"a", "b", "c"} for one in rounds)


def test_two_at_once_start_and_end_together():
    start_a, start_b, end_a, end_b = cycle(["a+b"], 10, 21, random.Random(3))
    assert start_a.at_s == start_b.at_s
    assert end_a.at_s == end_b.at_s
    assert {start_a.id, start_b.id} == {0, 1}


@pytest.mark.parametrize(("interval", "limit"), [(10, 14), (0, 60), (-1, 60)])
def test_a_schedule_that_cannot_be_is_refused(interval, limit):
    with pytest.raises(ScheduleError):
        cycle(["a"], interval, limit, random.Random(0))
    with pytest.raises(ScheduleError):
        cycle([], 10, 60, random.Random(0))


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        ([Step(70, "inject", "a", 0)], "outside the time limit"),
        (
            [Step(40, "inject", "a", 0, when="n1 leads", within_s=20, for_s=10)],
            "a at 40 s, which may last until 70 s, is outside the time limit of 60 s",
        ),
        ([Step(1, "inject", "a", 0), Step(2, "inject", "b", 0)], "injected twice"),
        ([Step(1, "heal", "a", 0)], "not injected before"),
    ],
)
def test_given_schedules_are_checked(steps, complaint):
    with pytest.raises(ScheduleError, match=complaint):
        checked(steps, 60)


STEP = {"at_s": 1.0, "action": "inject", "fault": "a", "id": 0}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"at_s": None}, r"schedule\[1\].at_s must be a number, not None"),
        ({"at_s": "soon"}, "at_s must be a number, not 'soon'"),
        ({"for_s": True}, "for_s must be a number, not True"),
        ({"action": "hurt"}, "action must be one of 'heal', 'inject', not 'hurt'"),
        ({"id": None}, "id must be a whole number, not None"),
        ({"when_": "x"}, r"schedule\[1\]: there is no key 'when_'; did you mean when"),
    ],
)
def test_a_step_of_a_plan_that_cannot_be_is_named(changes, complaint):
    with pytest.raises(ScheduleError, match=complaint):
        steps_of([STEP, {**STEP, "id": 1, **changes}], 60)


def test_a_step_without_a_time_is_refused():
    with pytest.raises(ScheduleError, match=r"schedule\[0\].at_s is missing: it must be a number"):
        steps_of([{name: value for name, value in STEP.items() if name != "at_s"}], 60)
    assert steps_of([STEP], 60) == [Step(1.0, "inject", "a", 0)]


@pytest.mark.parametrize("text", [",", "a,", "a,,b", " , "])
def test_a_word_that_was_lost_between_commas_is_missed(text):
    with pytest.raises(ScheduleError, match="a fault's name is missing"):
        turns_of(text, ())


def test_nothing_written_is_no_fault():
    assert turns_of("", ("a",)) == turns_of(" ", ("a",)) == ()
    assert turns_of("all, a+b", ("a", "c")) == ("a", "c", "a+b")
