"""The load while a cluster recovers, in virtual time."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Iterable
from itertools import count, cycle, pairwise

import pytest
from msgspec.structs import replace

from harness.execution.light_load import left_of, light_load
from harness.generators import (
    NOTHING,
    PENDING,
    Completion,
    Generator,
    GeneratorContext,
    Invocation,
    Op,
    Pending,
    Stream,
    log,
    operations,
    phases,
    simulate,
    time_limit,
)
from harness.generators.plain import Plain
from harness.systems.workloads import LOCK, REGISTER
from harness.workloads.transactions import Beside
from harness.workloads.transactions import mixed as mixed_transactions
from history import Event
from history.records.operations import READ_ONLY, called

READS = [Invocation("read", key) for key in "ab"]
NODES = 3
HOMES = ["n1", "n2", "n3"] * 3
TIMEOUT_S = 2.4


def load(workload: Generator) -> Generator:
    return light_load(READS, workload, REGISTER, HOMES, Stream(random.Random("load")))


def mixed() -> Iterable[Invocation]:
    """As a workload's: more reads than writes, in runs."""
    written = count()
    return (Invocation("write", "a", next(written)) if f == "w" else Invocation("read", "a") for f in cycle("rrrrww"))


def mute_node(invocation: Invocation, stream: Stream) -> tuple[Completion, Stream]:
    mute = invocation.worker % NODES == 2
    return (Completion(TIMEOUT_S, "info", error="timeout") if mute else Completion(0.01, value=0)), stream


@pytest.mark.parametrize("of_a_node", [1, 2, 3])
def test_clients_of_a_mute_node_ask_for_reads_and_changes_the_whole_time(of_a_node: int) -> None:
    run = simulate(time_limit(10, load(operations(mixed()))), workers=NODES * of_a_node, answers=mute_node)
    for kind in ("read", "write"):
        asked = [one.time / 1e9 for one in run.issued if one.f == kind and one.worker % NODES == 2]
        begun = [0.0, *asked, 10.0]
        gaps = [after - before for before, after in pairwise(begun)]
        assert max(gaps) < 2 * TIMEOUT_S + 1, kind


@pytest.mark.parametrize("of_a_node", [1, 2, 4])
def test_clients_of_a_replica_that_only_reads_are_asked_too_and_those_of_the_primary_for_changes(
    of_a_node: int,
) -> None:
    workers = NODES * of_a_node
    readers = frozenset(worker for worker in range(workers) if worker % NODES)
    homes = ["primary", "n2", "n3"] * of_a_node
    finals = [Invocation("txn", None, [["r", 1, None]])]
    stream = Stream(random.Random("load"))
    kind = dataclasses.replace(REGISTER, name="append", reads=frozenset({READ_ONLY}))
    light = light_load(finals, Beside(mixed_transactions(3, "append"), readers), kind, homes, stream)
    run = simulate(time_limit(10, light), workers=workers)
    asked = Counter((homes[one.worker], called(one.f, one.value)) for one in run.issued)
    assert asked.keys() == {("primary", "txn"), *((home, READ_ONLY) for home in ("primary", "n2", "n3"))}
    assert min(asked.values()) >= 10


def issue(generator: Generator, number: int) -> tuple[list[Invocation], Generator]:
    """The first operations of idle workers, and the generator after them."""
    issued: list[Invocation] = []
    ctx = GeneratorContext(0, free=tuple(range(NODES)), workers=tuple(range(NODES)), processes=tuple(range(NODES)))
    while len(issued) < number:
        op, generator = generator.op(replace(ctx, free=ctx.free[1:] + ctx.free[:1]))
        if isinstance(op, Invocation):
            issued.append(op)
        else:
            assert isinstance(op, Pending)
            assert op.until is not None
            ctx = replace(ctx, time=op.until)
    return issued, generator


def test_what_is_left_goes_on_where_it_stopped() -> None:
    workload = operations(Invocation("write", "a", value) for value in count())
    first, generator = issue(load(workload), 12)
    second, _ = issue(load(left_of(generator)), 12)
    written = [one for one in first + second if one.f == "write"]
    assert [one.value for one in written] == [*range(len(written))]
    assert len(written) == 12
    assert all(one.final for one in written)


def test_a_workload_that_needs_its_own_reads_has_them() -> None:
    class LookFirst(Plain, frozen=True):
        """As a compare-and-set: each write wants a read that was answered before."""

        seen: bool = False

        def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
            if not ctx.free:
                return PENDING, self
            if not self.seen:
                return Invocation("read", "mine").by(ctx.free[0], ctx.time), self
            return Invocation("write", "mine").by(ctx.free[0], ctx.time), LookFirst()

        def update(self, ctx: GeneratorContext, event: Event) -> LookFirst:
            return LookFirst(seen=True) if event.f == "read" and event.key == "mine" else self

    run = simulate(time_limit(10, load(LookFirst())))
    assert sum(one.f == "write" for one in run.issued) > 20


def test_of_a_workload_that_has_nothing_left_the_reads_go_on() -> None:
    run = simulate(time_limit(10, load(NOTHING)), answers=mute_node)
    assert {one.worker % NODES for one in run.issued} == {0, 1, 2}
    assert len(run.issued) > 50


def test_lines_for_the_log_come_through() -> None:
    run = simulate(time_limit(1, load(phases(log("now the writes"), operations(mixed())))))
    assert run.messages == ["now the writes"]
    assert any(one.f == "write" for one in run.issued)


def test_of_nothing_nothing_is_left() -> None:
    assert left_of(load(NOTHING)) is NOTHING
    assert left_of(NOTHING) is NOTHING


def test_a_generator_that_waits_for_an_idle_group_goes_on() -> None:
    """As the ledgers of BookKeeper: the next begins when no worker of the group is busy with the last."""

    class Whole(Plain, frozen=True):
        def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
            if len(ctx.free) < len(ctx.workers):
                return PENDING, self
            return Invocation("write", "a").by(ctx.free[0], ctx.time), self

    run = simulate(time_limit(10, load(Whole())))
    assert sum(one.f == "write" for one in run.issued) > 50


@pytest.mark.parametrize("lost", [(), (3,), tuple(range(8))])
def test_keys_that_failed_are_asked_for_again_at_once_and_the_others_go_on(lost: tuple[int, ...]) -> None:
    """For 3 s nothing is served, and the keys that are lost never are."""
    keys = range(200)
    draws = random.Random("keys")
    writes = operations(Invocation("write", draws.choice(keys), value) for value in count())
    reads = [Invocation("read", key) for key in keys]

    def answer(invocation: Invocation, stream: Stream) -> tuple[Completion, Stream]:
        dead = invocation.key in lost or invocation.time < 3e9
        return (Completion(TIMEOUT_S, "info", error="timeout") if dead else Completion(0.01, value=0)), stream

    vain_before = [("reads", 7), *(("changes", key) for key in lost)]
    light = light_load(reads, writes, REGISTER, HOMES, Stream(random.Random("load")), vain_before)
    run = simulate(time_limit(60, light), workers=9, answers=answer)
    assert next(one.key for one in run.issued if one.f == "read") == 7
    vain: dict[tuple[str, object], float] = {}
    served_at: list[float] = []
    for event in run.events:
        one, at = (event.f, event.key), event.time / 1e9
        if event.type == "info":
            vain.setdefault(one, at)
        elif event.type == "ok":
            served_at.append(at)
            assert at - vain.pop(one, at) < 12
    assert {key for _, key in vain} <= {*lost}
    for f in ("read", "write") if lost else ():
        asked = [one.time / 1e9 for one in run.issued if (one.f, one.key) == (f, lost[0])]
        assert max(after - before for before, after in pairwise([*asked, 60])) < 12
    assert max(after - before for before, after in pairwise(served_at)) < TIMEOUT_S
    written = [one.value for one in run.issued if one.f == "write"]
    assert written == [*range(len(written))]


def test_a_release_stays_at_the_lock_whose_token_it_has() -> None:
    """The lock k1 is dead; acquires are redirected to it, and releases go on at k0."""
    reads = [Invocation("read", key) for key in ("k0", "k1")]
    changes = (Invocation(f, "k0", token) for f, token in cycle([("acquire", None), ("release", 7)]))
    light = light_load(reads, operations(changes), LOCK, HOMES, Stream(random.Random("load")), [("changes", "k1")])

    def answer(invocation: Invocation, stream: Stream) -> tuple[Completion, Stream]:
        dead = invocation.key == "k1" and invocation.f != "read"
        return Completion(0.01, "info" if dead else "ok", value=["held", 7]), stream

    issued = simulate(time_limit(20, light), workers=len(HOMES), answers=answer).issued
    asked = Counter((one.f, one.key) for one in issued)
    assert asked["acquire", "k1"] > 10
    assert asked["release", "k0"] > 10
    assert asked["release", "k1"] == 0
