"""What holds for whatever is built from the combinators, under any latencies and outcomes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.generators import (
    EXHAUSTED,
    Completion,
    Generator,
    GeneratorContext,
    Invocation,
    Op,
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
    operations,
    phases,
    repeat,
    simulate,
    sleep,
    soonest,
    stagger,
    time_limit,
)
from history import Event
from tests.support.draws import draws

Recipe: TypeAlias = Callable[[], Generator]

WORKERS = 4
LEAVES = st.one_of(
    st.integers(0, 6).map(lambda n: lambda: operations(Invocation("add", value=i) for i in range(n))),
    st.just(lambda: repeat(Invocation("read"))),
    st.sampled_from([0.0, 0.02, 1.0]).map(lambda s: lambda: sleep(s)),
    st.just(lambda: log("a line")),
)


def extend(parts: st.SearchStrategy[Recipe]) -> st.SearchStrategy[Recipe]:
    """Recipes: functions that make the same generator anew, because a sequence is read once."""
    seeds, counts, rates = st.integers(0, 9), st.integers(0, 8), st.sampled_from([1.0, 30.0, 2000.0])
    loops = st.booleans()
    few = st.lists(parts, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(parts, counts).map(lambda a: lambda: limit(a[1], a[0]())),
        st.tuples(parts, st.sampled_from([0.05, 0.5])).map(lambda a: lambda: time_limit(a[1], a[0]())),
        st.tuples(parts, seeds, rates, loops).map(
            lambda a: lambda: stagger(a[2], Stream(random.Random(a[1])), a[0](), open=a[3])
        ),
        st.tuples(parts, rates, loops).map(lambda a: lambda: fixed_rate(a[1], a[0](), open=a[2])),
        few.map(lambda a: lambda: chain([one() for one in a])),
        few.map(lambda a: lambda: phases(*[one() for one in a])),
        few.map(lambda a: lambda: soonest(*[one() for one in a])),
        st.tuples(few, seeds).map(
            lambda a: lambda: mix(Stream(random.Random(a[1])), *[(1 + i, one()) for i, one in enumerate(a[0])])
        ),
        st.tuples(parts, counts).map(lambda a: lambda: cycle(a[0](), a[1])),
        st.tuples(parts, st.sets(st.integers(0, WORKERS - 1), min_size=1)).map(lambda a: lambda: on(a[1], a[0]())),
        parts.map(lambda a: lambda: each_worker(a())),
        st.tuples(parts, st.integers(1, 3), st.integers(0, 4)).map(
            lambda a: lambda: concurrent_keys(a[1], range(a[2]), lambda _key: limit(3, a[0]()))
        ),
    )


RECIPES = st.recursive(LEAVES, extend, max_leaves=8)


def answers(invocation: Invocation, stream: Stream) -> tuple[Completion, Stream]:
    kind, stream = stream.choose(("ok", "ok", "fail", "info"))
    after, stream = stream.choose((0.0, 0.001, 0.1, 3.0))
    return Completion(after, kind, invocation.value), stream  # type: ignore[arg-type]  # a type by name


class Checked:
    """Asks the one inside twice with the same context, and holds it to its word once it is exhausted."""

    def __init__(self, inner: Generator, over: bool = False) -> None:
        self._inner, self._over = inner, over

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        op, after = self._inner.op(ctx)
        again, _ = self._inner.op(ctx)
        assert again == op
        assert op == EXHAUSTED or not self._over
        if isinstance(op, Invocation):
            assert op.worker in ctx.free
            assert op.time <= ctx.time
        return op, Checked(after, op == EXHAUSTED)

    def update(self, ctx: GeneratorContext, event: Event) -> Generator:
        return Checked(self._inner.update(ctx, event), self._over)


@settings(max_examples=draws(100, 1000))
@given(RECIPES, st.integers(0, 99))
def test_protocol(recipe: Recipe, seed: int) -> None:
    """Never a busy worker or the future (the simulator refuses), asked twice the same, exhausted forever."""
    run = simulate(Checked(recipe()), workers=WORKERS, answers=answers, seed=seed, most=60)
    busy: set[object] = set()
    for event in run.events:
        if event.type == "invoke":
            assert event.process not in busy
            busy.add(event.process)
        else:
            busy.remove(event.process)
    assert not busy


@settings(max_examples=draws(40, 500))
@given(RECIPES, st.integers(0, 99))
def test_the_same_seed_gives_the_same_run(recipe: Recipe, seed: int) -> None:
    runs = [simulate(recipe(), workers=WORKERS, answers=answers, seed=seed, most=60) for _ in range(2)]
    assert runs[0] == runs[1]


@settings(max_examples=draws(40, 500))
@given(RECIPES, st.integers(0, 99), st.sampled_from([0.01, 0.3, 2.0]))
def test_a_time_limit_is_never_exceeded(recipe: Recipe, seed: int, seconds: float) -> None:
    run = simulate(time_limit(seconds, recipe()), workers=WORKERS, answers=answers, seed=seed, most=60)
    assert all(event.time < seconds * 1e9 for event in run.events if event.type == "invoke")


@settings(max_examples=draws(40, 500))
@given(RECIPES, st.integers(0, 99), st.integers(0, 20))
def test_a_limit_is_never_exceeded(recipe: Recipe, seed: int, count: int) -> None:
    run = simulate(limit(count, recipe()), workers=WORKERS, answers=answers, seed=seed, most=60)
    assert len(run.intended) <= count


@settings(max_examples=60)
@given(RECIPES, RECIPES, st.integers(0, 99))
def test_phases_do_not_overlap(first: Recipe, second: Recipe, seed: int) -> None:
    run = simulate(
        phases(limit(9, first()), log("then"), limit(9, second())), workers=WORKERS, answers=answers, seed=seed
    )
    alone = simulate(limit(9, first()), workers=WORKERS, answers=answers, seed=seed)
    if alone.exhausted:
        assert run.events[: len(alone.events)] == alone.events
