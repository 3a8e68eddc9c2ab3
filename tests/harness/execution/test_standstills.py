"""Standstills of this process: noticed by whichever looks first, and no part of any deadline."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.execution.standstills import Standstills

S = 1_000_000_000


class Clock:
    def __init__(self) -> None:
        self.now = 100 * S
        self.slept = 5 * S

    def __call__(self) -> int:
        return self.now

    def suspended(self) -> int:
        return self.slept

    def go(self, seconds: float, *, seen_by: Standstills | None = None) -> None:
        """With a thread that looks all the time, or without."""
        end = self.now + round(seconds * S)
        while seen_by is not None and self.now + S // 20 < end:
            self.now += S // 20
            seen_by.spans()
        self.now = end


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def still(clock: Clock) -> Standstills:
    return Standstills(clock, clock.suspended)


def test_a_process_that_goes_on_never_stands_still(clock: Clock, still: Standstills) -> None:
    over = still.deadline(60)
    clock.go(59.9, seen_by=still)
    assert not over()
    clock.go(0.2)
    assert over()
    assert still.spans() == []


def test_a_standstill_is_no_part_of_a_deadline_whichever_looks_first(clock: Clock, still: Standstills) -> None:
    over = still.deadline(60)
    clock.go(20, seen_by=still)
    clock.go(70)
    assert not over()
    ((begin, end),) = still.spans(100 * S)
    assert 19.9 * S <= begin <= 20 * S
    assert end == 90 * S
    clock.go(39, seen_by=still)
    assert not over()
    clock.go(2, seen_by=still)
    assert over()


def test_a_busy_machine_is_no_standstill(clock: Clock, still: Standstills) -> None:
    over = still.deadline(3)
    for _ in range(4):
        clock.go(0.9)
        assert still.spans() == []
    assert over()


def test_a_machine_that_slept_is_noticed_although_the_clock_stood(clock: Clock, still: Standstills) -> None:
    clock.go(1, seen_by=still)
    clock.go(0.05)
    clock.slept += 30 * S
    ((begin, end),) = still.spans()
    assert 0 < end - begin <= S // 10


def test_what_one_could_not_do_is_noted_and_overlapping_times_count_once(clock: Clock, still: Standstills) -> None:
    before = still.active_s()
    for begin, end in ((110, 113), (120, 121), (112, 115), (90, 95)):
        still.note(begin * S, end * S)
    assert still.spans() == [(90 * S, 95 * S), (110 * S, 115 * S), (120 * S, 121 * S)]
    assert still.spans(100 * S) == [(10 * S, 15 * S), (20 * S, 21 * S)]
    assert before - still.active_s() == pytest.approx(11)


def test_a_time_without_standstills_is_found_on_the_clock(clock: Clock, still: Standstills) -> None:
    due = still.active_ns() + 30 * S
    clock.go(20, seen_by=still)
    clock.go(70)
    assert still.active_ns() == pytest.approx(120 * S, abs=S // 10)
    assert still.on_clock(due) == pytest.approx(200 * S, abs=S // 10)
    assert still.on_clock(still.active_ns()) == clock.now


SCRIPT = """
import sys, time
from harness.execution.standstills import Standstills
with Standstills() as still:
    over = still.deadline(1.0)
    print("go", flush=True)
    while not over():
        time.sleep(0.01)
    print(*[round((end - begin) / 1e9, 1) for begin, end in still.spans()])
"""


@pytest.mark.slow
def test_a_process_that_was_stopped_by_a_signal() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "go\n"
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(1.5)
        os.kill(process.pid, signal.SIGCONT)
        lengths = process.communicate(timeout=20)[0].split()
    finally:
        process.kill()
        process.wait()
    assert len(lengths) == 1
    assert float(lengths[0]) >= 1.4
