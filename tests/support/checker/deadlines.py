"""A clock that is set by hand, and queues that take long."""

from __future__ import annotations

from collections.abc import Callable

from history import Operation


class Clock:
    """Stands still until looked at ``looks`` times, then the deadline has passed; notes the work at every look."""

    def __init__(self, looks: int, work: Callable[[], int] = lambda: 0) -> None:
        self.looks, self.work, self.seen = looks, work, [0]

    def __call__(self) -> float:
        self.seen.append(self.work())
        self.looks -= 1
        return 0.0 if self.looks >= 0 else 2.0

    @property
    def widest(self) -> int:
        return max(after - before for before, after in zip(self.seen, self.seen[1:], strict=False))


def queue_operation(number: int) -> Operation:
    """One after the other: an item is enqueued, and dequeued."""
    f, asked, answered = ("dequeue", None, number - 1) if number % 2 else ("enqueue", number, None)
    return Operation(0, f, None, asked, answered, "ok", 2 * number, 2 * number + 1, 2 * number, 2 * number + 1)
