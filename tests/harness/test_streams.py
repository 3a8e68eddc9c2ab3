"""Readers that go away, closed streams, old terminals: real processes, because it is the process that has to live."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import run_command
from tests.support.harness.recorded_run import record

ROOT = Path(__file__).resolve().parents[2]


def harness(*words: str | Path, shell: str = "", **variables: str) -> subprocess.CompletedProcess[bytes]:
    """``harness WORDS``; ``shell`` are redirections."""
    program = f'exec "$0" -m harness "$@" {shell}'
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "", "COLUMNS": "80", **variables}
    done = subprocess.run(
        ["sh", "-c", program, sys.executable, *map(str, words)],
        capture_output=True, check=False, env=environment, cwd=ROOT, timeout=120,
    )  # fmt: skip
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    return done


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One judged run, invalid: its code is 1."""
    store = tmp_path_factory.mktemp("store")
    shutil.copy(record(store, last_read=1).history, store / "lone.jsonl")
    assert run_command(["check", "latest", "--store", str(store)]) == 1
    return store


def gone(words: list[Any], stream: str) -> tuple[int, bytes]:
    """The code and the other stream, when ``stream`` is not read any more from the beginning."""
    reading, writing = os.pipe()
    os.close(reading)
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: writing}
    done = subprocess.run(
        [sys.executable, "-m", "harness", *map(str, words)],
        check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=ROOT, timeout=120, **streams,
    )  # fmt: skip
    os.close(writing)
    other = done.stderr if stream == "stdout" else done.stdout
    assert isinstance(other, bytes)
    return done.returncode, other


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_goes_away_changes_no_exit_code(store: Path, stream: str) -> None:
    expected = {
        ("--help",): 0, ("show", "--store", store): 0, ("check", store / "lone.jsonl"): 1, ("run", "--keys", "0"): 254,
    }  # fmt: skip
    for words, code in expected.items():
        ended, said = gone([*words], stream)
        assert ended == code, said


@pytest.mark.slow
def test_a_reader_that_goes_away_is_reported_nowhere(store: Path) -> None:
    assert gone(["list", "faults"], "stdout") == (0, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("closed", "words", "code"),
    [
        (">&-", ["show"], 0),
        ("2>&-", ["report", "nowhere"], 254),
        ("<&-", ["show"], 0),
        ("<&- >&- 2>&-", ["check", "latest"], 1),
        (">&- 2>&-", ["ingest"], 0),
    ],
)
def test_closed_streams(store: Path, closed: str, words: list[str], code: int) -> None:
    assert harness(*words, "--store", store, shell=closed).returncode == code


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    """What a child prints would be written into it."""
    program = (
        "import os, sys; from harness.terminal.streams import safe_streams; safe_streams();"
        f"file = open({str(tmp_path / 'history')!r}, 'w'); assert file.fileno() > 2;"
        "os.system('echo from a child; echo from a child >&2')"
    )
    subprocess.run(["sh", "-c", 'exec "$0" -c "$1" >&- 2>&- <&-', sys.executable, program], check=True, cwd=ROOT)
    assert (tmp_path / "history").read_text() == ""


@pytest.mark.slow
def test_an_answer_that_could_not_be_written_is_our_failure_and_an_outlook_is_not(store: Path) -> None:
    lost = harness("show", "--store", store, shell=">/dev/full")
    assert (lost.returncode, lost.stderr) == (255, b"harness: [Errno 28] No space left on device\n")
    assert harness("check", "latest", "--store", store, shell=">/dev/full 2>/dev/full").returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_cannot_show_everything_gets_what_it_can(store: Path, encoding: str) -> None:
    shown = harness("show", "--verbose", "--store", store, PYTHONIOENCODING=encoding)
    text, whole = shown.stdout.decode(encoding), harness("show", "--verbose", "--store", store).stdout.decode()
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert "  x linearizable" in text
    assert "  + final-reads" in text
    lines = zip(text.splitlines(), whole.splitlines(), strict=True)
    assert [shown for shown, line in lines if len(shown) != len(line) and "→" not in line] == []


def test_two_values_that_differ_never_look_alike() -> None:
    program = "from harness.terminal.streams import safe_streams; safe_streams(); print('é ü \\udcff 日')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, cwd=ROOT, env=environment)
    assert done.stdout == b"\\xe9 \\xfc \\udcff \\u65e5\n"


@pytest.mark.slow
def test_in_another_locale_every_file_is_still_utf_8(tmp_path: Path) -> None:
    """PYTHONUTF8=0: else Python itself takes UTF-8 in this locale."""
    run = record(tmp_path, last_read=1)
    old = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = harness("check", "latest", "--store", tmp_path, **old)
    assert (done.returncode, done.stdout.isascii()) == (1, True)
    assert "✕" in run.summary.read_text(encoding="utf-8")
