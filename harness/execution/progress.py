"""Show a run's progress on standard error and its result on standard output.

Progress is one line that is redrawn on a terminal, and plain lines elsewhere.  Nothing here raises if the reader goes
away.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TextIO

from harness.terminal.screen import Screen

if TYPE_CHECKING:
    from harness.execution.load import Tally
    from harness.execution.probes import ProbeLog

PLAIN_EVERY_S: Final = 5.0
LONGEST: Final = 110


class Progress:
    """The display of a run: its progress and its results.

    Progress goes to ``stream`` (None: standard error), results to ``results`` (None: standard output).  ``clock``
    returns seconds.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        results: TextIO | None = None,
    ) -> None:
        self._screen = Screen(stream if stream is not None else sys.stderr)
        self._results = Screen(results if results is not None else sys.stdout)
        self._clock = clock
        self._next_plain = 0.0
        self._last: tuple[float, int] | None = None
        self._phase = ""
        self._describe = ""
        self._lengths: dict[str, float] = {}
        self._ends: float | None = None
        self._counted = ""

    def expect(self, warm_up_s: float, main_s: float) -> None:
        """Set the lengths of the phases, from which the time left is computed."""
        self._lengths = {"warm-up": warm_up_s + main_s, "main": main_s}

    def say(self, text: str) -> None:
        """Print a line above the progress line."""
        self._screen.say(text)

    def warn(self, warnings: Iterable[str]) -> None:
        """Print a line for each warning."""
        for warning in warnings:
            self.say(f"warning: {warning}")

    def result(self, text: str) -> None:
        """Print a result on standard output."""
        self._screen.clear()
        self._results.say(text)

    def clear(self) -> None:
        """Clear the progress line."""
        self._screen.clear()

    @property
    def columns(self) -> int | None:
        """The width for a result; None for a file or a pipe, where any width will do."""
        return self._results.room

    @property
    def coloured(self) -> bool:
        """Whether a result may be coloured."""
        return self._results.coloured

    def show(self, tally: Tally, probes: ProbeLog, seconds: float) -> None:
        """Show the state of the run, ``seconds`` after its start."""
        if tally.invalid != self._describe:
            self._describe = tally.invalid
            self.say(f"violation found, ending the run: {tally.invalid}")
        changed = tally.phase != self._phase
        if not self._screen.living and not changed and self._clock() < self._next_plain:
            return
        self._phase = tally.phase
        self._next_plain = self._clock() + PLAIN_EVERY_S
        if self._screen.living:
            self._screen.draw(self.line(tally, probes, seconds, self._screen.columns - 1))
        else:
            self._screen.say(self.line(tally, probes, seconds))

    def show_step(self, name: str, seconds: float) -> None:
        """Show how long a step without figures has been under way."""
        if self._screen.living:
            self._screen.draw(f"{name}  {seconds:.0f} s")
        elif name != self._phase or self._clock() >= self._next_plain:
            self._next_plain = self._clock() + PLAIN_EVERY_S
            self._screen.say(f"{name}  {seconds:.0f} s" if name == self._phase else name)
        self._phase = name

    def line(self, tally: Tally, probes: ProbeLog, seconds: float, room: int = LONGEST) -> str:
        """Return one line of progress: about :data:`LONGEST` characters, or a shorter form if it exceeds ``room``."""
        done = sum(tally.completions.values())
        rate = 0.0
        if self._last is not None and seconds > self._last[0]:
            rate = (done - self._last[1]) / (seconds - self._last[0])
        self._last = (seconds, done)
        self._note_end(tally.phase, seconds)
        phase = f"{tally.phase:<7}" if self._ends is None else f"{tally.phase:<7} {self._ends - seconds:5.0f} s left"
        counts = [f"{kind} {tally.of_type(kind)}" for kind in ("ok", "fail", "info")]
        leader = probes.leader() or "none"
        state = tally.fault or tally.note or "calm"
        line = f"{seconds:6.1f} s  {phase}  {rate:5.0f}/s  {' '.join(counts)}  leader {leader}  {state}"
        if len(line) <= room:
            return line
        return f"{seconds:.0f} s  {' '.join(phase.split())}  {rate:.0f}/s  {counts[0]}  {leader}  {state}"

    def _note_end(self, phase: str, seconds: float) -> None:
        """Compute when the load ends, again at the start of each phase; the final phase has no known length."""
        if self._counted != phase:
            self._counted = phase
            self._ends = seconds + self._lengths[phase] if phase in self._lengths else None
        if self._ends is not None:
            self._ends = max(self._ends, seconds)
