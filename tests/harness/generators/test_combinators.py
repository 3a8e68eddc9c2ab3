"""Every combinator, in virtual time."""

from __future__ import annotations

import random
from collections import Counter
from itertools import count, pairwise
from statistics import mean, pstdev

import pytest

from harness.generators import (
    NOTHING,
    Completion,
    Generator,
    Invocation,
    Simulated,
    Stream,
    chain,
    concurrent_keys,
    cycle,
    each_worker,
    fixed_rate,
    limit,
    log,
    mix,
    on,
    once,
    operations,
    phases,
    repeat,
    simulate,
    sleep,
    soonest,
    stagger,
    then,
    time_limit,
)
from harness.generators.simulate import Answers, after

S = 1_000_000_000
READ, WRITE = Invocation("read"), Invocation("write", value=1)


def draws(seed: int = 1) -> Stream:
    return Stream(random.Random(seed))


def numbered(f: str, size: int) -> Generator:
    return operations(Invocation(f, value=number) for number in range(size))


def invoked(run: Simulated) -> list[tuple[float, int | str, str, object]]:
    return [(event.time / S, event.process, event.f, event.value) for event in run.events if event.type == "invoke"]


def fs(run: Simulated) -> str:
    return "".join(f[0] for _, _, f, _ in invoked(run))


def ends(*types: str, after_s: float = 1.0) -> Answers:
    """Operations end as listed, those after them with ok."""
    left = iter(types)
    return lambda invocation, stream: (Completion(after_s, next(left, "ok"), invocation.value), stream)  # type: ignore[arg-type]  # (types by name)


# -- plain ------------------------------------------------------------------------------------------------------------


def test_operations_go_to_the_worker_that_has_been_free_for_longest() -> None:
    run = simulate(numbered("add", 5), workers=2, answers=after(1))
    assert invoked(run) == [(0, 0, "add", 0), (0, 1, "add", 1), (1, 0, "add", 2), (1, 1, "add", 3), (2, 0, "add", 4)]
    assert run.exhausted


def test_an_operation_again_and_again() -> None:
    assert fs(simulate(repeat(READ), most=7)) == "rrrrrrr"
    assert fs(simulate(once(READ))) == "r"
    assert simulate(NOTHING).exhausted


def test_sleep_and_log() -> None:
    run = simulate(chain([log("a"), once(READ), sleep(2.5), log("b"), once(READ)]))
    assert [time for time, *_ in invoked(run)] == [0, 2.5]
    assert run.messages == ["a", "b"]


def test_a_process_goes_on_under_another_number_after_info() -> None:
    run = simulate(numbered("add", 3), workers=1, answers=ends("info", "fail"))
    assert [process for _, process, *_ in invoked(run)] == [0, 1, 1]


# -- pacing -----------------------------------------------------------------------------------------------------------


def test_a_fixed_rate_is_equally_far_apart() -> None:
    run = simulate(fixed_rate(4, limit(5, repeat(READ))), answers=after(0.01))
    assert [time for time, *_ in invoked(run)] == [0, 0.25, 0.5, 0.75, 1.0]
    assert run.intended == [time * S for time in (0, 0.25, 0.5, 0.75, 1.0)]


@pytest.mark.parametrize("rate", [0.5, 20.0, 5000.0])
@pytest.mark.parametrize("is_open", [False, True])
def test_a_staggered_rate_is_a_poisson_process(rate: float, is_open: bool) -> None:
    run = simulate(stagger(rate, draws(), limit(8000, repeat(READ)), open=is_open), workers=20, answers=after(0.001))
    gaps = [(after_ - before) / S for before, after_ in pairwise(run.intended)]
    assert mean(gaps) == pytest.approx(1 / rate, rel=0.045)  # four standard errors
    assert pstdev(gaps) == pytest.approx(mean(gaps), rel=0.06)
    assert sum(gap > 1 / rate for gap in gaps) / len(gaps) == pytest.approx(0.3679, abs=0.022)


def outage(is_open: bool) -> Simulated:
    """10 a second on 3 workers, and an outage of 10 s."""
    left = count()
    answers: Answers = lambda op, stream: (Completion(10.0 if 30 <= next(left) < 33 else 0.001), stream)  # noqa: E731
    return simulate(time_limit(20, fixed_rate(10, repeat(READ), open=is_open)), answers=answers)


def test_an_open_loop_keeps_its_arrivals_through_an_outage() -> None:
    run = outage(is_open=True)
    assert run.intended == [number * S // 10 for number in range(200)]
    waits = [time - intended / S for (time, *_), intended in zip(invoked(run), run.intended, strict=True)]
    assert max(waits) == pytest.approx(9.7, abs=0.02)
    assert waits[0] == 0
    assert waits[-1] == 0


def test_a_closed_loop_goes_on_from_the_end_of_an_outage() -> None:
    run = outage(is_open=False)
    times = [time for time, *_ in invoked(run)]
    assert len(times) == pytest.approx(103, abs=2)
    back = [time for time in times if 13 <= time < 14]
    assert all(after_ - before >= 0.09 for before, after_ in pairwise(back))


def test_a_closed_loop_that_was_asked_late_catches_up() -> None:
    """Lateness of the one who asks is not the system's: only having had no worker moves the times on."""
    from harness.generators import GeneratorContext

    generator = fixed_rate(10, repeat(READ))
    ctx = GeneratorContext(0, (0, 1), (0, 1), (0, 1))
    op, generator = generator.op(ctx)
    late = GeneratorContext(S // 4, (0, 1), (0, 1), (0, 1))
    op, generator = generator.op(late)
    assert isinstance(op, Invocation)
    assert op.time == S // 10
    op, generator = generator.op(late)
    assert isinstance(op, Invocation)
    assert op.time == S // 5


def test_a_time_limit_counts_from_the_first_question() -> None:
    run = simulate(then(sleep(5), time_limit(1, fixed_rate(10, repeat(READ)))))
    times = [time for time, *_ in invoked(run)]
    assert (times[0], times[-1], len(times)) == (5, 5.9, 10)
    assert run.exhausted


def test_a_time_limit_ends_one_who_waits() -> None:
    run = simulate(then(time_limit(1, sleep(100)), once(READ)))
    assert [time for time, *_ in invoked(run)] == [1]


# -- order ------------------------------------------------------------------------------------------------------------


def test_then_does_not_wait_for_open_operations_and_phases_do() -> None:
    assert [time for time, *_ in invoked(simulate(then(once(READ), once(WRITE)), answers=after(1)))] == [0, 0]
    run = simulate(phases(numbered("read", 2), numbered("write", 2), once(READ)), answers=after(1))
    assert [(time, f) for time, _, f, _ in invoked(run)] == [
        (0, "read"), (0, "read"), (1, "write"), (1, "write"), (2, "read"),
    ]  # fmt: skip


def test_a_phase_waits_for_all_workers_once() -> None:
    run = simulate(phases(once(READ), numbered("write", 4)), workers=2, answers=after(1))
    assert [time for time, *_ in invoked(run)] == [0, 1, 1, 2, 2]


def test_limits_and_cycles() -> None:
    assert fs(simulate(limit(4, repeat(READ)))) == "rrrr"
    assert fs(simulate(cycle(then(once(READ), limit(2, repeat(WRITE))), 2))) == "rwwrww"
    assert fs(simulate(cycle(then(once(READ), once(WRITE))), most=5)) == "rwrwr"
    assert fs(simulate(cycle(once(READ), 0))) == ""
    assert simulate(cycle(NOTHING)).exhausted


# -- choice -----------------------------------------------------------------------------------------------------------


def test_a_mix_draws_by_weight() -> None:
    run = simulate(mix(draws(), (3, repeat(READ)), (1, repeat(WRITE))), most=4000)
    assert Counter(fs(run))["r"] == pytest.approx(3000, abs=120)


def test_a_mix_goes_on_without_an_exhausted_part() -> None:
    run = simulate(limit(200, mix(draws(), (5, limit(3, repeat(WRITE))), (1, repeat(READ)), (1, numbered("add", 4)))))
    assert Counter(fs(run)) == {"w": 3, "a": 4, "r": 193}
    assert simulate(mix(draws(), (1, numbered("add", 2)), (1, NOTHING))).exhausted


def test_whichever_is_due_soonest() -> None:
    run = simulate(time_limit(1, soonest(fixed_rate(4, repeat(READ)), then(sleep(0.3), fixed_rate(4, repeat(WRITE))))))
    assert fs(run) == "rrwrwrw"


# -- workers ----------------------------------------------------------------------------------------------------------


def workers_of(run: Simulated, workers: int) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for _, process, f, _ in invoked(run):
        assert isinstance(process, int)
        found.setdefault(f, set()).add(process % workers)
    return found


def test_on_some_of_the_workers() -> None:
    run = simulate(on({1, 3}, limit(20, repeat(READ))), workers=5)
    assert workers_of(run, 5) == {"read": {1, 3}}
    assert run.exhausted


def test_each_worker_has_the_whole_generator() -> None:
    run = simulate(each_worker(numbered("add", 3)), workers=3, answers=ends("info"))
    assert Counter(value for *_, value in invoked(run)) == {0: 3, 1: 3, 2: 3}
    assert run.exhausted


def test_keys_by_groups_of_workers_that_end_and_are_replaced() -> None:
    def of_key(key: str) -> Generator:
        return operations(Invocation("add", key, value=number) for number in range(4))

    run = simulate(concurrent_keys(2, ("a", "b", "c", "d", "e"), of_key), workers=5)
    asked = [event for event in run.events if event.type == "invoke"]
    assert Counter(event.key for event in asked) == dict.fromkeys("abcde", 4)
    for key in "abcde":
        group = {event.process for event in asked if event.key == key}
        assert group in ({0, 1}, {2, 3})
    assert run.exhausted


def test_endless_keys() -> None:
    run = simulate(concurrent_keys(1, count(), lambda key: limit(3, repeat(Invocation("read", key)))), most=60)
    keys = Counter(event.key for event in run.events if event.type == "invoke")
    assert set(keys.values()) == {2, 3}
    assert len(keys) in (20, 21)


def test_a_generator_reacts_to_what_was_answered() -> None:
    """A compare-and-set of the value that was read: state that grows in `update`, without a change to any value."""
    from harness.generators import PENDING, GeneratorContext, Op
    from history import Event

    class Seen:
        def __init__(self, value: object = None) -> None:
            self.value = value

        def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
            if not ctx.free:
                return PENDING, self
            op = Invocation("cas" if ctx.issued else "read", value=self.value)
            return op.by(ctx.free[0], ctx.time), self

        def update(self, ctx: GeneratorContext, event: Event) -> Generator:
            return Seen(event.value)

    run = simulate(limit(4, Seen()), workers=1, answers=lambda op, s: (Completion(1, value=(op.value or 0) + 1), s))
    assert [value for *_, value in invoked(run)] == [None, 1, 2, 3]


@pytest.mark.parametrize("rate", [0, -1, float("inf"), float("nan")])
def test_a_rate_is_above_0(rate: float) -> None:
    for make in (lambda: stagger(rate, draws(), repeat(READ)), lambda: fixed_rate(rate, repeat(READ))):
        with pytest.raises(ValueError, match="a rate must be above 0"):
            make()


@pytest.mark.parametrize("weight", [0, -1, float("nan")])
def test_a_weight_is_above_0(weight: float) -> None:
    with pytest.raises(ValueError, match="a weight must be above 0"):
        mix(draws(), (1, repeat(READ)), (weight, repeat(WRITE)))


def test_workers_that_are_not_there_are_said_and_not_waited_for() -> None:
    with pytest.raises(ValueError, match=r"the run has 3 workers, numbered from 0; none of \[7\] exists"):
        simulate(on([7], repeat(READ)), workers=3)
    with pytest.raises(ValueError, match="the run has 3 workers, too few for a group of 4"):
        simulate(concurrent_keys(4, count(), lambda key: repeat(READ)), workers=3)
    with pytest.raises(ValueError, match="a group needs at least one worker"):
        concurrent_keys(0, count(), lambda key: repeat(READ))


def test_a_cycle_of_messages_alone_ends() -> None:
    assert simulate(cycle(log("a"))).messages == ["a"]
    assert simulate(cycle(log("a"), 3)).messages == ["a"] * 3
    assert simulate(limit(2, cycle(then(log("a"), once(READ))))).messages == ["a", "a"]
