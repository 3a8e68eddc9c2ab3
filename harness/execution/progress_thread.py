"""Write progress from a thread, so that a terminal that is stopped (Ctrl-S) or gone never delays the run.

Permanent lines are queued until they can be written. Of the lines that are redrawn, only the newest is kept.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from harness.execution.load import Tally
    from harness.execution.probes import ProbeLog
    from harness.execution.progress import Progress

log = logging.getLogger("harness.execution.progress")

Call = Callable[[], Any]

#: How often a step that takes its time is shown again (s).
AGAIN_S: Final = 0.5


class ProgressThread:
    """A progress display that writes from a thread.

    Its methods never block or raise, so signal handlers may call them.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._newest: Call | None = None
        self._lock = threading.Lock()
        self._step: tuple[str, float] | None = None
        self._thread = threading.Thread(target=self._write, name="progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Wait until all lines that stay are written; here, that delays nothing else."""
        self._calls.put(None)
        self._thread.join()

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._calls.put(lambda: self._progress.say(text))

    def warn(self, warnings: Iterable[str]) -> None:
        """Print a line for each warning."""
        lines = list(warnings)
        self._calls.put(lambda: self._progress.warn(lines))

    def result(self, text: str) -> None:
        """Print a result on standard output."""
        self._calls.put(lambda: self._progress.result(text))

    @property
    def columns(self) -> int | None:
        """The width of a result; None for any width."""
        return self._progress.columns

    @property
    def coloured(self) -> bool:
        """Whether a result may be coloured."""
        return self._progress.coloured

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show that a step is under way, and for how long, while the block runs."""
        self._step = name, time.monotonic()
        try:
            yield
        finally:
            self._step = None

    def show(self, tally: Tally, probes: ProbeLog, seconds: float) -> None:
        """Show the state of the run, ``seconds`` after its start."""
        now = replace(tally, completions=Counter(tally.completions))  # a copy, because the tally keeps changing
        with self._lock:  # otherwise this could replace a line that was just taken, and nothing more would be shown
            waiting, self._newest = self._newest, lambda: self._progress.show(now, probes, seconds)
        if waiting is None:
            self._calls.put(self._show_newest)

    def _show_newest(self) -> None:
        with self._lock:
            newest, self._newest = self._newest, None
        if newest is not None:
            newest()

    def _write(self) -> None:
        call: Call | None = self._show_step
        while call is not None:
            try:
                call()
            except Exception:
                log.exception("progress could not be shown")
            try:
                call = self._calls.get(timeout=AGAIN_S)
            except queue.Empty:
                call = self._show_step
        self._progress.clear()

    def _show_step(self) -> None:
        if (step := self._step) is not None:
            self._progress.show_step(step[0], time.monotonic() - step[1])
