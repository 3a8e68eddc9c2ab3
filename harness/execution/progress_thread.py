"""Progress from a thread of its own: a terminal that takes nothing more (Ctrl-S), or is gone, never holds a run up.

What stays is kept until it can be written; of the living lines only the newest is.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from harness.execution.load import Tally
    from harness.execution.probes import ProbeLog
    from harness.execution.progress import Progress

log = logging.getLogger("harness.execution.progress")

Call = Callable[[], Any]


class ProgressThread:
    """Shows on ``progress`` while entered; its methods never block and never raise, also in a signal handler."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._newest: Call | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._write, name="progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Wait until everything that stays is written: here, where nothing else is held up by it."""
        self._calls.put(None)
        self._thread.join()

    def say(self, text: str) -> None:
        """A line that stays."""
        self._calls.put(lambda: self._progress.say(text))

    def warn(self, warnings: Iterable[str]) -> None:
        """A line each that stays."""
        told = list(warnings)
        self._calls.put(lambda: self._progress.warn(told))

    def result(self, text: str) -> None:
        """What the verb was asked for."""
        self._calls.put(lambda: self._progress.result(text))

    @property
    def columns(self) -> int | None:
        """How wide a result may be; None where any width will do."""
        return self._progress.columns

    def show(self, tally: Tally, probes: ProbeLog, seconds: float) -> None:
        """The state of the run, ``seconds`` after its start."""
        now = replace(tally, completions=Counter(tally.completions))  # it changes while it is written
        with self._lock:  # a line put where the writer has just taken one would wait for ever, and all later ones
            waiting, self._newest = self._newest, lambda: self._progress.show(now, probes, seconds)
        if waiting is None:
            self._calls.put(self._show_newest)

    def _show_newest(self) -> None:
        with self._lock:
            newest, self._newest = self._newest, None
        if newest is not None:
            newest()

    def _write(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                call()
            except Exception:
                log.exception("progress could not be shown")
