"""The load: what counts as served, and how well the rate was kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest

from harness.execution.load import Load, Tally
from harness.plan import Plan
from harness.systems.dledger.client import RegisterClient
from harness.systems.law import Outcome
from harness.workloads import Invocation
from history import UNAPPLIED, Header, HistoryWriter, pair, read_history

PLAN = Plan(seed=1, concurrency=3, rate=200.0)
READS = [Invocation("read", "k0")]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Load]]:
    histories: list[HistoryWriter] = []

    def load(plan: Plan = PLAN, tally: Tally | None = None) -> Load:
        path = tmp_path / f"{len(histories)}.jsonl"
        histories.append(HistoryWriter(path, Header(), started_ns=time.monotonic_ns(), clock=time.monotonic_ns))
        endpoints = {"n1": ("127.0.0.1", 1)}
        clients = [RegisterClient(endpoints, "n1", follows="leader", timeout=4.0) for _ in range(plan.concurrency)]
        return Load(
            plan, clients, history=histories[-1], tally=tally or Tally(phase="main"),
            stopped=lambda: False, active_s=time.monotonic,
        )  # fmt: skip

    yield load
    for history in histories:
        history.close()


def answering(monkeypatch: pytest.MonkeyPatch, outcome: Outcome, after_s: float = 0.0, block_s: float = 0.0) -> None:
    async def perform(client: RegisterClient, invocation: Invocation) -> Outcome:
        await asyncio.sleep(after_s)
        time.sleep(block_s)
        return outcome

    monkeypatch.setattr(RegisterClient, "perform", perform)


def drive(load: Load, seconds: float) -> dict[str, float]:
    end = time.monotonic() + seconds
    asyncio.run(load.drive(cycle(READS), load._plan.rate, lambda: time.monotonic() >= end))
    return load.pace(seconds, [0.0, 0.002])


@pytest.mark.parametrize(
    ("outcome", "served"),
    [
        (Outcome("ok", 1, "n1"), True),
        (Outcome("ok", 1, "n1", UNAPPLIED), False),
        (Outcome("fail", None, "n1", "no answer"), False),
        (Outcome("info", None, "n1", "no answer"), False),
    ],
)
def test_only_what_was_applied_was_served(
    make: Callable[..., Load], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, outcome: Outcome, served: bool
) -> None:
    answering(monkeypatch, outcome)
    load = make()
    assert asyncio.run(load.perform(load.workers[0], READS[0])) is served
    assert load.served is served
    (operation,) = pair(read_history(tmp_path / "0.jsonl").events)
    assert operation.outcome == outcome.type


def test_a_rate_that_is_kept(make: Callable[..., Load], monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, Outcome("ok", 1, "n1"))
    pace = drive(make(), 1.5)
    assert pace["asked_per_s"] == 200
    assert 100 < pace["invoked_per_s"] <= 260
    assert pace["waited_share"] < 0.3
    assert pace["late_p50_ms"] <= pace["late_p99_ms"] <= pace["late_max_ms"]
    assert (pace["lag_p99_ms"], pace["lag_max_ms"]) == (2.0, 2.0)


def test_a_slow_system_is_told_from_a_slow_harness(make: Callable[..., Load], monkeypatch: pytest.MonkeyPatch) -> None:
    """All clients wait for its answers most of the time: that is the share waited, and no lateness of ours."""
    answering(monkeypatch, Outcome("ok", 1, "n1"), after_s=0.2)
    pace = drive(make(), 1.5)
    assert pace["invoked_per_s"] < 40
    assert pace["waited_share"] > 0.7


def test_a_loop_that_is_kept_busy_issues_late(make: Callable[..., Load], monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, Outcome("ok", 1, "n1"), block_s=0.05)
    busy = drive(make(replace(PLAN, concurrency=20, rate=20.0)), 1.5)
    assert busy["late_p99_ms"] > 20


def test_only_the_main_phase_counts(make: Callable[..., Load], monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, Outcome("ok", 1, "n1"))
    pace = drive(make(tally=Tally(phase="warm-up")), 0.2)
    assert (pace["invoked_per_s"], pace["late_max_ms"], pace["waited_share"]) == (0, 0, 0)
