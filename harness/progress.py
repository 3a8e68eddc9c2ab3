"""What a person sees while a run goes on: one living line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from harness.load import Tally
    from harness.probes import ProbeLog

PLAIN_EVERY_S: Final = 5.0


class Progress:
    """Writes to ``stream`` (None: standard error); ``clock`` reads seconds."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._clock = clock
        self._living = self._stream.isatty()
        self._drawn = False
        self._next_plain = 0.0
        self._last: tuple[float, int] | None = None
        self._phase = ""
        self._told = ""

    def say(self, text: str) -> None:
        """A line that stays."""
        self._clear()
        self._stream.write(text + "\n")
        self._stream.flush()

    def warn(self, warnings: Iterable[str]) -> None:
        """A line each that stays."""
        for warning in warnings:
            self.say(f"warning: {warning}")

    def show(self, tally: Tally, probes: ProbeLog, seconds: float) -> None:
        """The state of the run, ``seconds`` after its start."""
        if tally.invalid != self._told:
            self._told = tally.invalid
            self.say(f"a violation: the run is stopped in order.  {tally.invalid}")
        changed = tally.phase != self._phase
        if not self._living and not changed and self._clock() < self._next_plain:
            return
        self._phase = tally.phase
        self._next_plain = self._clock() + PLAIN_EVERY_S
        line = self.line(tally, probes, seconds)
        if self._living:
            self._stream.write("\r\x1b[K" + line)
            self._drawn = True
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def line(self, tally: Tally, probes: ProbeLog, seconds: float) -> str:
        """One line of at most about 110 characters."""
        done = sum(tally.completions.values())
        rate = 0.0
        if self._last is not None and seconds > self._last[0]:
            rate = (done - self._last[1]) / (seconds - self._last[0])
        self._last = (seconds, done)
        counts = " ".join(f"{kind} {tally.of_type(kind)}" for kind in ("ok", "fail", "info"))
        leader = probes.leader() or "none"
        state = tally.fault or tally.note or "calm"
        return f"{seconds:6.1f} s  {tally.phase:<7}  {rate:5.0f}/s  {counts}  leader {leader}  {state}"

    def _clear(self) -> None:
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._drawn = False
