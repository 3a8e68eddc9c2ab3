"""What a person sees: one living line on a terminal, plain lines elsewhere and not too many."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

from harness.load import Tally
from harness.progress import PLAIN_EVERY_S, Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


PROBES: Any = SimpleNamespace(leader=lambda: "n3")
NOBODY: Any = SimpleNamespace(leader=lambda: None)


def tally(ok: int = 0, **changes: Any) -> Tally:
    tally = Tally(**changes)
    tally.completions["main", "read", "ok"] += ok
    tally.completions["main", "write", "info"] += 2
    return tally


def test_the_line_says_what_matters() -> None:
    line = Progress(io.StringIO()).line(tally(38, phase="main", fault="kill-one"), PROBES, 12.34)
    assert " ".join(line.split()) == "12.3 s main 0/s ok 38 fail 0 info 2 leader n3 kill-one"
    assert len(line) <= 110


def test_the_rate_is_that_since_the_last_line() -> None:
    progress = Progress(io.StringIO())
    progress.line(tally(10), PROBES, 1.0)
    assert " 45/s" in progress.line(tally(100), PROBES, 3.0)
    assert " 0/s" in progress.line(tally(100), PROBES, 3.0)


def test_calm_note_or_fault() -> None:
    progress = Progress(io.StringIO())
    assert progress.line(tally(), NOBODY, 0).endswith("leader none  calm")
    assert progress.line(tally(note="final reads"), NOBODY, 0).endswith("final reads")
    assert progress.line(tally(note="final reads", fault="kill-one"), NOBODY, 0).endswith("kill-one")


def test_a_violation_is_said_once_and_stays() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    for _ in range(3):
        progress.show(tally(invalid="event 7, k0: stale-read"), PROBES, 1)
    assert stream.getvalue().startswith("a violation: the run is stopped in order.  event 7, k0: stale-read\n")
    assert stream.getvalue().count("stale-read") == 1


def test_plain_lines_are_few_and_a_new_phase_shows_at_once() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress(stream, clock)
    for _ in range(100):
        progress.show(tally(), PROBES, clock.now)
        clock.now += PLAIN_EVERY_S / 25
    assert stream.getvalue().count("\n") == 4
    progress.show(tally(phase="main"), PROBES, clock.now)
    assert stream.getvalue().count("\n") == 5
    assert "\x1b" not in stream.getvalue()


def test_a_living_line_is_drawn_over_and_makes_room_for_lines_that_stay() -> None:
    stream = Terminal()
    progress = Progress(stream)
    progress.show(tally(), PROBES, 1)
    progress.show(tally(), PROBES, 2)
    assert stream.getvalue().count("\r\x1b[K") == 2
    assert "\n" not in stream.getvalue()
    progress.say("leader n1")
    progress.say("more")
    assert stream.getvalue().endswith("\r\x1b[Kleader n1\nmore\n")
    assert stream.getvalue().count("\r\x1b[K") == 3
