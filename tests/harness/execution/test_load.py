"""The load: what counts as served, what is recorded of each operation, and how well the times were kept."""

from __future__ import annotations

import asyncio
import gc
import random
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count, cycle, pairwise
from pathlib import Path

import pytest
from msgspec import Struct

from harness.errors import HarnessError
from harness.execution import load
from harness.execution.histogram import Histogram
from harness.execution.interpreter import follow
from harness.execution.load import Load, Tally
from harness.execution.standstills import Standstills
from harness.generators import (
    EXHAUSTED,
    NOTHING,
    PENDING,
    Generator,
    GeneratorContext,
    Invocation,
    Op,
    Stream,
    concurrent_keys,
    each_worker,
    fixed_rate,
    limit,
    log,
    mix,
    operations,
    phases,
    repeat,
    stagger,
    time_limit,
)
from harness.plan import Plan
from harness.systems.law import Outcome
from history import UNAPPLIED, Event, Header, HistoryFile, HistoryWriter, Operation, pair, read_history
from history.records.operations import NEVER_MADE

PLAN = Plan(seed=1, concurrency=3, rate=200.0)
READ = Invocation("read", "k0")
OK = Outcome("ok", 1, "n1")


@dataclass
class ToyClient:
    """Answers after a while, which it spends waiting or (``block_s``) keeping everybody from anything."""

    outcome: Outcome = OK
    after_s: float = 0.0
    block_s: float = 0.0
    home: str = "n1"
    busy: bool = False
    #: Whether anything but a read is answered with what was asked.
    echoes: bool = True
    #: When each operation really began and ended.
    spans: list[tuple[int, int]] = field(default_factory=list)

    async def perform(self, invocation: Invocation) -> Outcome:
        began, self.busy = time.monotonic_ns(), True
        if self.after_s:
            await asyncio.sleep(self.after_s)
        time.sleep(self.block_s)
        self.spans.append((began, time.monotonic_ns()))
        return replace(self.outcome, value=invocation.value) if self.echoes and invocation.f != "read" else self.outcome

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass


class Bench:
    """A load with toy clients, its history, and the time it began."""

    def __init__(self, path: Path, plan: Plan = PLAN, tally: Tally | None = None, **client: object) -> None:
        self.plan, self.path, self.started = plan, path, time.monotonic_ns()
        self.history = HistoryWriter(path, Header(), started_ns=self.started, clock=time.monotonic_ns)
        self.clients = [ToyClient(**client) for _ in range(plan.concurrency)]  # type: ignore[arg-type]  # (its fields)
        self.load = Load(
            plan, self.clients, history=self.history, tally=tally or Tally(phase="main"), stopped=lambda: False,
            standstills=Standstills(),
        )  # fmt: skip

    def drive(self, generator: Generator) -> dict[str, float]:
        began = time.monotonic()
        asyncio.run(follow(self.load, generator))
        lags = Histogram()
        lags.add(0)
        lags.add(2_000_000)
        return self.load.pace(time.monotonic() - began, lags)

    def paced(self, seconds: float, *, is_open: bool = False) -> dict[str, float]:
        stream = Stream(random.Random(1))
        return self.drive(time_limit(seconds, stagger(self.plan.rate, stream, repeat(READ), open=is_open)))

    def read(self) -> HistoryFile:
        self.history.sync()
        return read_history(self.path)

    @property
    def operations(self) -> list[Operation]:
        return pair(self.read().events)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def bench(*args: object, **more: object) -> Bench:
        made.append(Bench(tmp_path / f"{len(made)}.jsonl", *args, **more))  # type: ignore[arg-type]  # (passed on)
        return made[-1]

    yield bench
    for one in made:
        one.history.close()


# -- one operation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "served"),
    [
        (Outcome("ok", 1, "n1"), True),
        (Outcome("ok", 1, "n1", UNAPPLIED), False),
        (Outcome("ok", None, "n1", NEVER_MADE), False),
        (Outcome("fail", None, "n1", "no answer"), False),
        (Outcome("info", None, "n1", "no answer"), False),
    ],
)
def test_only_what_was_applied_was_served(make: Callable[..., Bench], outcome: Outcome, served: bool) -> None:
    bench = make(outcome=outcome)
    bench.drive(limit(1, repeat(READ)))
    assert bench.load.served == ({("read", "n1")} if served else set())
    assert bench.load.asked == {("read", "n1")}
    (operation,) = bench.operations
    assert operation.outcome == outcome.type


@pytest.mark.parametrize("answer", [float("nan"), [1, float("inf")], pytest.param(10**5000, id="long"), {1, 2}, b"1"])
@pytest.mark.parametrize(("f", "outcome"), [("read", "fail"), ("take", "info")])
def test_an_answer_that_no_file_can_hold_is_that_operations_error(
    make: Callable[..., Bench], answer: object, f: str, outcome: str
) -> None:
    bench = make(outcome=Outcome("ok", answer, "n1"), echoes=False)
    bench.drive(limit(2, repeat(Invocation(f, "k0"))))
    assert [one.outcome for one in bench.operations] == [outcome] * 2
    assert all("cannot be written to a history" in (one.error or "") for one in bench.operations)
    assert not bench.load.served


def test_after_a_doubt_a_worker_goes_on_as_another_process(make: Callable[..., Bench]) -> None:
    bench = make(outcome=Outcome("info", None, "n1", "no answer"))
    bench.drive(each_worker(limit(3, repeat(READ))))
    assert sorted(operation.process for operation in bench.operations) == list(range(9))


@pytest.mark.parametrize("after_s", [0.0, 0.003])
def test_the_recorded_interval_contains_the_true_one(make: Callable[..., Bench], after_s: float) -> None:
    """Every client notes when it really sent and received."""
    bench = make(replace(PLAN, concurrency=8), after_s=after_s)
    bench.drive(limit(400, repeat(READ)))
    true = sorted(span for client in bench.clients for span in client.spans)
    recorded = {number: [op for op in bench.operations if op.process == number] for number in range(8)}
    assert len(true) == 400
    for number, client in enumerate(bench.clients):
        assert len(client.spans) == len(recorded[number])
        for operation, (sent, received) in zip(recorded[number], client.spans, strict=True):
            assert operation.returned is not None
            assert operation.invoked <= sent - bench.started
            assert received - bench.started <= operation.returned


class NoClient:
    """Answers at once, and remembers nothing."""

    home = "n1"

    async def perform(self, invocation: Invocation) -> Outcome:
        return OK

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_operations(tmp_path: Path) -> None:
    grown: list[int] = []
    history = HistoryWriter(tmp_path / "h", Header(), started_ns=0, clock=time.monotonic_ns)
    load = Load(
        PLAN, [NoClient()] * 3, history=history, tally=Tally(phase="main"), stopped=lambda: False,
        standstills=Standstills(),
    )  # fmt: skip

    def reads_with_a_look() -> Iterator[Invocation]:
        for number in count(1):
            if number % 500 == 0:
                history.sync()
                gc.collect()
                grown.append(tracemalloc.get_traced_memory()[0])
            yield READ

    def generator() -> Generator:  # a name for it would keep its lazy sequences in memory
        reads = mix(Stream(random.Random(2)), (1, operations(reads_with_a_look())), (1, operations(cycle([READ]))))
        return limit(4500, stagger(1e9, Stream(random.Random(1)), reads, open=True))

    tracemalloc.start()
    try:
        asyncio.run(follow(load, generator()))
    finally:
        tracemalloc.stop()
        history.close()
    assert len(grown) == 4
    assert max(grown[1:]) - min(grown[1:]) < 50_000


# -- generators -------------------------------------------------------------------------------------------------------


def test_the_operations_of_a_generator_in_its_order(make: Callable[..., Bench]) -> None:
    bench = make()
    bench.drive(operations(Invocation("write", "k0", number) for number in range(100)))
    assert sorted(operation.value for operation in bench.operations) == list(range(100))
    assert {operation.process for operation in bench.operations} == {0, 1, 2}


def test_phases_wait_for_open_operations(make: Callable[..., Bench]) -> None:
    bench = make(after_s=0.02)
    bench.drive(phases(limit(5, repeat(READ)), log("now"), limit(5, repeat(Invocation("write", "k0", 1)))))
    reads = [operation for operation in bench.operations if operation.f == "read"]
    writes = [operation for operation in bench.operations if operation.f == "write"]
    assert (len(reads), len(writes)) == (5, 5)
    assert max(op.returned or 0 for op in reads) <= min(op.invoked for op in writes)


def test_keys_of_groups_end_and_are_replaced(make: Callable[..., Bench]) -> None:
    bench = make(replace(PLAN, concurrency=6), after_s=0.001)
    bench.drive(concurrent_keys(2, range(9), lambda key: limit(4, repeat(Invocation("read", key)))))
    keys = [operation.key for operation in bench.operations]
    assert {key: keys.count(key) for key in keys} == dict.fromkeys(range(9), 4)


def test_what_is_issued_next_may_depend_on_what_was_answered(make: Callable[..., Bench]) -> None:
    class Counting:
        def __init__(self, value: int = 0) -> None:
            self.value = value

        def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
            op = Invocation("write", "k0", self.value)
            return (op.by(ctx.free[0], ctx.time) if ctx.free else PENDING), self

        def update(self, ctx: GeneratorContext, event: Event) -> Generator:
            return Counting(event.value + 1)

    bench = make(replace(PLAN, concurrency=1))
    bench.drive(limit(5, Counting()))
    assert [operation.value for operation in bench.operations] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("after", [0, 5])
def test_a_defect_of_a_generator_ends_the_load_and_is_raised(make: Callable[..., Bench], after: int) -> None:
    def broken() -> Iterator[Invocation]:
        yield from [READ] * after
        raise KeyError("mine")

    bench = make(after_s=0.001)
    with pytest.raises(ExceptionGroup) as caught:
        bench.drive(operations(broken()))
    assert caught.group_contains(KeyError) if hasattr(caught, "group_contains") else "mine" in repr(caught.value)


class _ForABusyWorker(Struct, frozen=True):
    """Takes no notice of who is free."""

    worker: int

    def op(self, ctx: GeneratorContext) -> tuple[Op, Generator]:
        return (READ.by(self.worker, ctx.time), self) if ctx.issued < 5 else (EXHAUSTED, NOTHING)

    def update(self, ctx: GeneratorContext, event: Event) -> Generator:
        return self


@pytest.mark.parametrize("worker", [-1, 1, 3])
def test_an_operation_for_a_worker_that_is_not_free_ends_the_load_and_is_not_lost(
    make: Callable[..., Bench], worker: int
) -> None:
    bench = make(after_s=0.01)
    with pytest.raises(ExceptionGroup) as caught:
        bench.drive(_ForABusyWorker(worker))
    assert "is for a worker that is not free" in repr(caught.value)


def test_a_client_that_does_not_return_is_given_up_and_its_worker_goes_on(
    make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "OVERDUE_S", 0.1)
    bench = make(replace(PLAN, client_timeout=0.1))
    bench.clients[1].after_s = 3600.0
    write = Invocation("write", "k0", 7)
    began = time.monotonic()
    bench.drive(each_worker(operations([write, READ])))
    assert time.monotonic() - began < 60
    ended = {(one.process, one.f): (one.outcome, one.error) for one in bench.operations}
    why = "the client had not returned 0.1 s after its timeout"
    assert ended.pop((1, "write")) == ("info", why)
    assert ended.pop((4, "read")) == ("fail", why), "a read has no effect"
    assert set(ended.values()) == {("ok", None)}
    assert len(ended) == 4


def test_the_end_of_a_run_cancels_what_is_open_which_stays_open_in_the_history(make: Callable[..., Bench]) -> None:
    bench = make(after_s=3600.0)

    async def scene() -> None:
        driving = asyncio.create_task(follow(bench.load, repeat(READ)))
        await asyncio.sleep(0.05)
        driving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await driving

    asyncio.run(asyncio.wait_for(scene(), 30))
    assert [(one.outcome, one.returned) for one in bench.operations] == [("info", None)] * 3


@pytest.mark.parametrize("first", ["given up", "the end"])
def test_an_operation_that_is_given_up_as_the_run_ends_stays_open_in_the_history(
    make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """Both cancel its task in the same step of the loop: the end must not be lost, or the worker would go on."""
    monkeypatch.setattr(load, "OVERDUE_S", -1.0)
    bench = make(replace(PLAN, client_timeout=0.5), after_s=3600.0)

    async def scene() -> None:
        driving = asyncio.create_task(follow(bench.load, repeat(READ)))
        await asyncio.sleep(0)
        while any(worker.task is None or worker.asked is None for worker in bench.load.workers):
            await asyncio.sleep(0.001)
        tasks = [worker.task for worker in bench.load.workers if worker.task is not None]
        for step in ("given up", "the end") if first == "given up" else ("the end", "given up"):
            if step == "given up":
                bench.load.end_overdue()
                assert all(worker.given_up for worker in bench.load.workers)
            else:
                driving.cancel()
                for task in tasks:
                    task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await driving

    asyncio.run(asyncio.wait_for(scene(), 30))
    assert [(one.outcome, one.returned) for one in bench.operations] == [("info", None)] * 3


@pytest.mark.parametrize("what", ["open", "close"])
def test_a_client_that_never_opens_or_closes_is_a_failure_and_not_waited_for(
    make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(load, "OPENING_S", 0.1)
    bench = make()

    async def never() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(bench.clients[1], what, never)
    with pytest.raises(HarnessError, match=f"a client did not {what} within 0.1 s"):
        asyncio.run(asyncio.wait_for(getattr(bench.load, what)(), 30))


def test_a_load_ends_when_it_is_over_and_awaits_what_is_open(make: Callable[..., Bench]) -> None:
    bench = make(after_s=0.05)
    end = time.monotonic() + 0.2
    asyncio.run(follow(bench.load, repeat(READ), lambda: time.monotonic() >= end))
    assert {operation.outcome for operation in bench.operations} == {"ok"}
    assert len(bench.operations) >= 3


@pytest.mark.parametrize(("stopped", "issued"), [(False, 3), (True, 1)])
def test_what_was_given_when_a_load_is_over_is_still_issued_unless_the_run_is_stopped(
    make: Callable[..., Bench], stopped: bool, issued: int
) -> None:
    """All workers are given an operation at once; the first of them to begin ends the load."""
    bench = make(after_s=0.01)

    def begun() -> bool:
        return any(worker.busy for worker in bench.clients)

    if stopped:
        bench.load.stopped = begun
    asyncio.run(follow(bench.load, repeat(READ), begun))
    assert len(bench.operations) == issued


def test_a_generator_goes_on_where_an_earlier_load_left_it(make: Callable[..., Bench]) -> None:
    """Nothing that it gave is lost, and it knows of every completion."""
    bench = make(after_s=0.001)

    async def scene() -> None:
        left = operations(Invocation("write", "k0", number) for number in range(40))
        left = await follow(bench.load, left, lambda: len(bench.clients[0].spans) >= 4)
        left = await follow(bench.load, left, lambda: len(bench.clients[0].spans) >= 8)
        await follow(bench.load, left)

    asyncio.run(scene())
    assert [operation.value for operation in bench.operations] == list(range(40))


def test_a_generator_that_waits_for_ever_ends_with_the_load(make: Callable[..., Bench]) -> None:
    bench = make()
    end = time.monotonic() + 0.15
    asyncio.run(follow(bench.load, fixed_rate(0.01, repeat(READ)), lambda: time.monotonic() >= end))
    assert len(bench.operations) == 1


# -- pace -------------------------------------------------------------------------------------------------------------


def test_a_rate_that_is_kept(make: Callable[..., Bench]) -> None:
    pace = make().paced(1.5)
    assert pace["asked_per_s"] == 200
    assert 100 < pace["invoked_per_s"] <= 260
    assert pace["late_p50_ms"] <= pace["late_p99_ms"] <= pace["late_max_ms"]
    assert pace["lag_max_ms"] == 2.0
    assert pace["lag_p99_ms"] == pytest.approx(2.0, rel=0.011)


def test_a_slow_system_is_distinguished_from_a_slow_harness(make: Callable[..., Bench]) -> None:
    """All clients wait for its answers most of the time: that is the share waited, and no lateness of ours."""
    pace = make(after_s=0.2).paced(1.5)
    assert pace["invoked_per_s"] < 40
    assert pace["waited_share"] > 0.7
    assert pace["late_p50_ms"] < 100


def test_an_open_loop_measures_latency_from_the_time_at_which_operations_were_due(make: Callable[..., Bench]) -> None:
    bench = make(replace(PLAN, rate=50.0), after_s=0.1)  # 30 a second is what three clients can do
    pace = bench.paced(1.5, is_open=True)
    assert pace["service_p50_ms"] >= 100
    assert pace["response_p99_ms"] > pace["service_p99_ms"] + 100
    assert pace["waited_share"] > 0.5
    invoked = [event for event in bench.read().events if event.type == "invoke"]
    intended = [event.intended for event in invoked if event.intended is not None]
    assert len(intended) == len(invoked)
    # Workers that become free at the same moment may begin in either order.
    assert all(after - before > -50_000_000 for before, after in pairwise(intended))
    assert all(one <= event.time for one, event in zip(intended, invoked, strict=True))
    assert invoked[-1].time - intended[-1] > 100_000_000  # the queue grew


def test_a_closed_loop_has_no_queue(make: Callable[..., Bench]) -> None:
    bench = make(replace(PLAN, rate=50.0), after_s=0.1)
    bench.paced(1.5)
    waits = [event.time - event.intended for event in bench.read().events if event.intended is not None]
    assert sorted(waits)[len(waits) // 2] < 100_000_000


def test_a_loop_that_is_kept_busy_issues_late(make: Callable[..., Bench]) -> None:
    busy = make(replace(PLAN, concurrency=20, rate=20.0), block_s=0.05).paced(1.5)
    assert busy["late_p99_ms"] > 20


def test_only_the_main_phase_counts(make: Callable[..., Bench]) -> None:
    pace = make(tally=Tally(phase="warm-up")).paced(0.2)
    assert (pace["invoked_per_s"], pace["late_max_ms"], pace["waited_share"], pace["response_p99_ms"]) == (0, 0, 0, 0)
