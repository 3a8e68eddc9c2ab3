"""A clock that tests set, and queues that take long to check."""

from __future__ import annotations

from collections.abc import Callable

from history import Operation


class Clock:
    """A clock that stands still for ``looks`` readings and then passes the deadline; it notes the work each time."""

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
    """Return one operation of a history in which one item after the other is enqueued and dequeued."""
    f, asked, answered = ("dequeue", None, number - 1) if number % 2 else ("enqueue", number, None)
    return Operation(0, f, None, asked, answered, "ok", 2 * number, 2 * number + 1, 2 * number, 2 * number + 1)
