"""The timer of the interpreter: never early, once for each time it is set, and finer than a millisecond."""

from __future__ import annotations

import asyncio
import time
from statistics import median

from harness.execution.precise_timer import PreciseTimer


def rung(*after_ns: int, wait_s: float = 0.05) -> list[int]:
    """When it rang, in ns since it was set last; it is set so often without a pause."""

    async def run() -> list[int]:
        times: list[int] = []
        timer = PreciseTimer(asyncio.get_running_loop(), lambda: times.append(time.monotonic_ns()))
        for one in after_ns:
            began = time.monotonic_ns()  # before: this process may be held up at any moment
            timer.set(one)
        await asyncio.sleep(wait_s)
        timer.close()
        return [moment - began for moment in times]

    return asyncio.run(run())


def test_it_rings_once_and_not_before_its_time() -> None:
    (after,) = rung(5_000_000, wait_s=0.5)
    assert after >= 5_000_000


def test_it_rings_at_once_for_what_is_past() -> None:
    assert len(rung(-7, wait_s=0.3)) == 1


def test_only_the_last_time_counts() -> None:
    (after,) = rung(1_000, 30_000_000, wait_s=0.5)
    assert after >= 30_000_000
    (after,) = rung(10_000_000_000, 1_000_000, wait_s=0.5)
    assert after < 500_000_000


def test_it_is_finer_than_a_millisecond() -> None:
    """The loop's own timers would make it a whole one; on a busy machine most of these are late, and some are not."""
    times = [after for _ in range(40) for after in rung(100_000, wait_s=0.005)]
    assert min(times) < 900_000
    assert median(times) >= 50_000


def test_closed_it_does_not_ring() -> None:
    assert rung(400_000_000, wait_s=0.01) == []
