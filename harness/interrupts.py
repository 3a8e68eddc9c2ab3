"""Ctrl-C and SIGTERM: the run winds down in order, healed and collected, whatever it was doing."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupts:
    """While entered, the two signals call the registered reaction; with none registered they raise KeyboardInterrupt.

    Inside :meth:`held` they are only noted, so that healing and collecting cannot be torn in half.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._previous: dict[int, Any] = {}
        self._reaction: Callable[[], None] | None = None
        self._held = 0
        self.asked = False

    def __enter__(self) -> Interrupts:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)

    @contextmanager
    def reaction(self, react: Callable[[], None]) -> Iterator[None]:
        """Inside, a signal calls ``react`` instead of raising."""
        self._reaction = react
        try:
            yield
        finally:
            self._reaction = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, a signal is noted and nothing else."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        again = self.asked
        self.asked = True
        if self._held:
            self._say("stopping: what was begun is being healed and collected, a moment please")
            return
        if self._reaction is not None:
            if not again:
                self._say("stopping: no new operations; healing, then collecting")
            self._reaction()
            return
        raise KeyboardInterrupt
