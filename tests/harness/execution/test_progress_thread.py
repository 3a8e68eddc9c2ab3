"""Progress from a thread of its own: a reader, or none, never holds a run up."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.execution import progress_thread
from harness.execution.load import Tally
from harness.execution.progress import Progress
from harness.execution.progress_thread import ProgressThread

PROBES: Any = SimpleNamespace(leader=lambda: "n3")


class Terminal(io.StringIO):
    """Takes nothing while it is blocked, as one does after Ctrl-S."""

    def __init__(self) -> None:
        super().__init__()
        self.free = threading.Event()
        self.free.set()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        assert self.free.wait(20)
        return super().write(text)


def test_everything_said_is_written_by_the_end_in_its_order() -> None:
    stream = io.StringIO()
    with ProgressThread(Progress(stream)) as progress:
        for number in range(100):
            progress.say(f"{number}")
        progress.warn(["w"])
    assert stream.getvalue().split("\n") == [*map(str, range(100)), "warning: w", ""]


def test_a_blocked_terminal_holds_nothing_up_and_loses_no_line_that_stays() -> None:
    terminal = Terminal()
    with ProgressThread(Progress(terminal)) as progress:
        terminal.free.clear()
        began = time.monotonic()
        progress.say("first")
        for number in range(10_000):
            progress.show(Tally(note=f"note {number}"), PROBES, float(number))
        progress.say("last")
        assert time.monotonic() - began < 10
        assert progress._calls.qsize() <= 4, "of the living lines one waits at most"
        terminal.free.set()
    text = terminal.getvalue()
    assert "first" in text
    assert "last" in text
    assert text.count("note") <= 3
    assert "note 9999" in text


def test_what_is_shown_is_what_was_so_when_it_was_reported() -> None:
    """The tally goes on changing while it is written."""
    terminal, tally = Terminal(), Tally()
    with ProgressThread(Progress(terminal)) as progress:
        terminal.free.clear()
        progress.show(tally, PROBES, 1.0)
        for number in range(1000):
            tally.completions["main", f"f{number}", "ok"] += 1
        terminal.free.set()
    assert " ok 0 " in terminal.getvalue()


def test_a_step_is_shown_again_and_again_while_it_lasts_and_not_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_thread, "AGAIN_S", 0.001)
    shown, enough = list[tuple[str, float]](), threading.Event()

    class Noting(Progress):
        def show_step(self, name: str, seconds: float) -> None:
            super().show_step(name, seconds)
            shown.append((name, seconds))
            if len(shown) == 3:
                enough.set()

    terminal = Terminal()
    with ProgressThread(Noting(terminal)) as progress, progress.step("judging"):
        assert enough.wait(20)
    names, times = zip(*shown, strict=True)
    assert set(names) == {"judging"}
    assert list(times) == sorted(times)
    assert "judging  0 s" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K"), "nothing stays on the screen"


class Gone(io.StringIO):
    tries = 0

    def write(self, text: str) -> int:
        self.tries += 1
        raise OSError(5, "Input/output error")


def test_after_the_reader_has_gone_nothing_is_tried_any_more() -> None:
    stream = Gone()
    with ProgressThread(Progress(stream)) as progress:
        for _ in range(10):
            progress.say("x")
            progress.show(Tally(), PROBES, 1.0)
    assert stream.tries == 1


class Buggy(Progress):
    def show(self, *_: Any) -> None:
        raise ZeroDivisionError


def test_a_bug_in_what_is_shown_is_no_end_of_it() -> None:
    stream = io.StringIO()
    with ProgressThread(Buggy(stream)) as progress:
        progress.show(Tally(), PROBES, 1.0)
        progress.say("still here")
    assert stream.getvalue() == "still here\n"


SCRIPT = """
import sys, time
from harness.execution.progress import Progress
from harness.execution.progress_thread import ProgressThread
from harness.terminal.streams import safe_streams
safe_streams()
with ProgressThread(Progress()) as progress:
    for number in range(200):
        progress.say("line")
        time.sleep(0.005)
print("verdict", flush=True)
sys.exit(7)
"""


def test_a_pipe_that_is_closed_leaves_the_exit_code_alone() -> None:
    """Python itself ends with 120 when it cannot flush, and what is said later must not fail either."""
    root = Path(__file__).parents[3]
    command = f"{{ '{sys.executable}' -c '{SCRIPT}'; echo $? >&3; }} 2>&1 | head -n 1 >/dev/null"
    done = subprocess.run(
        ["bash", "-c", f"exec 3>&1; {command}"], cwd=root, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "7\n"


def test_a_line_that_is_put_where_the_last_one_is_just_taken_is_shown() -> None:
    """The writer takes its line in the very moment in which the next one finds it still there."""
    shown: list[float] = []

    class Noting(Progress):
        def show(self, tally: Tally, probes: Any, seconds: float) -> None:
            shown.append(seconds)

    class Hurried(ProgressThread):
        hurry = False
        taker: threading.Thread | None = None

        @property
        def _newest(self) -> Any:
            found = self.kept
            if self.hurry:
                self.hurry = False
                take = self._calls.get()
                assert take is not None
                self.taker = threading.Thread(target=take)
                self.taker.start()
                self.taker.join(0.2)  # as far as it comes
            return found

        @_newest.setter
        def _newest(self, call: Any) -> None:
            self.kept = call

    progress = Hurried(Noting(io.StringIO()))
    progress.show(Tally(), PROBES, 1.0)  # not entered: nothing takes it yet
    progress.hurry = True
    progress.show(Tally(), PROBES, 2.0)
    assert progress.taker is not None
    progress.taker.join()
    progress.show(Tally(), PROBES, 3.0)
    with progress:
        pass
    assert shown[-1] == 3.0
