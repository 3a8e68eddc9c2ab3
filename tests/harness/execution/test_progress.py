"""What a person sees: one living line on a terminal, plain lines elsewhere and not too many."""

from __future__ import annotations

import errno
import io
import logging
import os
from types import SimpleNamespace
from typing import Any

import pytest

from harness.execution.load import Tally
from harness.execution.progress import LONGEST, PLAIN_EVERY_S, Progress
from harness.terminal.screen import Screen


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def no_terminal_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "TERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


#: What removes a line that was drawn.
ERASED = "\r\x1b[2K"
PROBES: Any = SimpleNamespace(leader=lambda: "n3")
NO_LEADER: Any = SimpleNamespace(leader=lambda: None)


def tally(ok: int = 0, **changes: Any) -> Tally:
    tally = Tally(**changes)
    tally.completions["main", "read", "ok"] += ok
    tally.completions["main", "write", "info"] += 2
    return tally


def test_the_line_says_what_matters() -> None:
    line = Progress(io.StringIO()).line(tally(38, phase="main", fault="kill-one"), PROBES, 12.34)
    assert " ".join(line.split()) == "12.3 s main 0/s ok 38 fail 0 info 2 leader n3 kill-one"
    assert len(line) <= LONGEST


def test_the_rate_is_that_since_the_last_line() -> None:
    progress = Progress(io.StringIO())
    progress.line(tally(10), PROBES, 1.0)
    assert " 45/s" in progress.line(tally(100), PROBES, 3.0)
    assert " 0/s" in progress.line(tally(100), PROBES, 3.0)


def test_how_long_the_load_still_lasts_is_counted_anew_in_each_phase() -> None:
    progress = Progress(io.StringIO())
    progress.expect(2.0, 60.0)
    seen = [
        " ".join(progress.line(tally(phase=phase), PROBES, seconds).split())
        for phase, seconds in (("warm-up", 0.5), ("warm-up", 2.5), ("main", 4.0), ("main", 24.2), ("main", 70.0))
    ]
    assert [line.partition(" s ")[2].partition(" left")[0] for line in seen] == [
        "warm-up 62 s", "warm-up 60 s", "main 60 s", "main 40 s", "main 0 s",
    ]  # fmt: skip
    assert "left" not in progress.line(tally(phase="final"), PROBES, 71.0), "it is unknown how long it takes"
    assert progress.line(tally(phase="main"), PROBES, 80.0, room=40).startswith("80 s  main 60 s left  0/s  ok 0")


def test_calm_note_or_fault() -> None:
    progress = Progress(io.StringIO())
    assert progress.line(tally(), NO_LEADER, 0).endswith("leader none  calm")
    assert progress.line(tally(note="final reads"), NO_LEADER, 0).endswith("final reads")
    assert progress.line(tally(note="final reads", fault="kill-one"), NO_LEADER, 0).endswith("kill-one")


def test_a_violation_is_said_once_and_stays() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    for _ in range(3):
        progress.show(tally(invalid="event 7, k0: stale-read"), PROBES, 1)
    assert stream.getvalue().startswith("violation found, ending the run: event 7, k0: stale-read\n")
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
    assert stream.getvalue().count(ERASED) == 1
    assert "\n" not in stream.getvalue()
    progress.say("leader n1")
    progress.say("more")
    assert stream.getvalue().endswith(f"{ERASED}leader n1\nmore\n")
    assert stream.getvalue().count(ERASED) == 2


def test_a_step_that_lasts_has_a_plain_line_now_and_then() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress(stream, clock)
    for second in range(20):
        progress.show_step("judging", second / 2)
        clock.now += 0.5
    progress.show_step("drawing", 0.0)
    lines = stream.getvalue().splitlines()
    assert lines == ["judging", f"judging  {PLAIN_EVERY_S:.0f} s", "drawing"]


# -- terminals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [20, 60, 80, 120])
@pytest.mark.parametrize("fault", ["", "kill-one", "partition-majorities-ring+packet-loss+clock-skew"])
def test_a_living_line_is_never_as_wide_as_its_terminal(
    columns: int, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    Progress(stream).show(tally(1234567, phase="warm-up", fault=fault), PROBES, 1234.5)
    line = stream.getvalue()
    assert "\n" not in line
    assert len(line) < columns
    if columns >= 60 and fault == "kill-one":
        for piece in ("warm-up", "ok 1234567", "n3", "kill-one"):
            assert piece in line


def test_the_width_is_that_of_the_terminal_as_it_is_now() -> None:
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream, os.fdopen(ours):
        screen = Screen(stream)
        for columns, said in ((60, 60), (132, 132), (0, 80)):
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            assert screen.columns == said
            assert len(screen.cut("x" * 500)) == said - 1
            assert len(screen.cut("字" * 500)) == (said - 2) // 2 + 1  # two columns each, and the ellipsis


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    Progress(stream).show(tally(), PROBES, 1)
    assert stream.getvalue().endswith("calm\n")
    assert not set(stream.getvalue()) & {"\r", "\x1b"}


@pytest.mark.parametrize(
    ("variables", "living", "coloured"),
    [({}, True, True), ({"TERM": "xterm", "NO_COLOR": "1"}, True, False), ({"TERM": "dumb"}, False, False)],
)
def test_what_a_terminal_can_do(
    variables: dict[str, str], living: bool, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    screen, file = Screen(Terminal()), Screen(io.StringIO())
    assert (screen.is_terminal, screen.living, screen.coloured) == (True, living, coloured)
    assert (file.is_terminal, file.living, file.coloured) == (False, False, False)


# -- results, and readers that go away ---------------------------------------------------------------------------------


def test_results_go_to_standard_output_and_make_room_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    stream = Terminal()
    progress = Progress(stream)
    progress.show(tally(), PROBES, 1)
    progress.result("VALID")
    assert stream.getvalue().endswith(f"calm{ERASED}")
    assert capsys.readouterr().out == "VALID\n"
    assert progress.columns is None
    assert Progress(stream, results=Terminal()).columns == 80


class Broken(Terminal):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.tries = 0

    def write(self, text: str) -> int:
        self.tries += 1
        raise self.error


@pytest.mark.parametrize(
    "error",
    [
        BrokenPipeError(errno.EPIPE, "Broken pipe"),
        OSError(errno.EIO, "Input/output error"),
        OSError(errno.ENOSPC, "No space left on device"),
        ValueError("I/O operation on closed file."),
    ],
    ids=str,
)
def test_no_observer_can_raise(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    stream = Broken(error)
    progress = Progress(stream, results=Broken(error))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            progress.say("leader n1")
            progress.warn(["odd"])
            progress.show(tally(), PROBES, 1)
            progress.result("VALID")
    assert stream.tries == 1, "it goes silent for good"
    assert [record.getMessage() for record in caplog.records] == [f"output is dropped from now on: {error}"] * 2


def test_a_stream_that_is_closed_already_is_silent() -> None:
    stream = io.StringIO()
    stream.close()
    Progress(stream).say("leader n1")


def test_a_word_of_a_signals_handler_is_lost_and_no_more() -> None:
    """Python refuses to write on a stream that the interrupted thread is writing on."""
    stream = Broken(RuntimeError("reentrant call"))
    progress = Progress(stream)
    progress.say("stopping")
    progress.say("more")
    assert stream.tries == 2
