"""Handle Ctrl-C, SIGTERM and SIGHUP, so that a run ends in an orderly way: healed, with its files collected."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Handler of the signals that end a run: inside this context, they call the registered reaction.

    Without a reaction they raise KeyboardInterrupt.  Inside :meth:`held` they are only noted, so that healing and
    collecting are not cut short.  A SIGHUP that was ignored at the start (``nohup``) stays ignored.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._previous: dict[int, Any] = {}
        self._reaction: Callable[[], None] | None = None
        self._held = 0
        self._unwatched = False
        self.asked = False

    def __enter__(self) -> Interrupts:
        for number in SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)

    @contextmanager
    def reaction(self, react: Callable[[], None]) -> Iterator[None]:
        """Call ``react`` on a signal, instead of raising, while the block runs."""
        self._reaction = react
        try:
            yield
        finally:
            self._reaction = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Only note signals while the block runs."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1

    def go_on_unwatched(self) -> None:
        """Ignore SIGHUP from now on: the nodes are no longer in use, and the verdict is written to disk anyway."""
        self._unwatched = True

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        # When a terminal closes, both the kernel and the shell send SIGHUP.
        if number == signal.SIGHUP and (self._unwatched or self.asked):
            return
        again = self.asked
        self.asked = True
        if self._held:
            self._say("stopping: healing the nodes and collecting what there is, please wait")
            return
        if self._reaction is not None:
            if not again:
                self._say("stopping: no new operations; healing, then collecting")
            self._reaction()
            return
        raise KeyboardInterrupt
