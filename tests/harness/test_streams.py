"""Readers that go away, closed streams, old terminals: real processes, because it is the process that has to live."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness.recorded_run import record

ROOT = Path(__file__).resolve().parents[2]
VALID = '{"format":"harness-history","version":1,"test":"t","model":"register","seed":1,"started":"x"}\n'


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
    record(store, last_read=1)
    done = harness("check", "latest", "--no-spark", "--store", store)
    assert done.returncode == 1
    return store


def gone(words: list[Any], stream: str) -> tuple[int, bytes]:
    """The code and the other stream, when nobody reads ``stream`` any more from the beginning."""
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


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_goes_away_changes_no_exit_code(store: Path, stream: str) -> None:
    run = next(store.glob("register*/2*"))
    assert gone(["list-nemeses"], stream)[0] == 0
    assert gone(["--help"], stream)[0] == 0
    assert gone(["show", "--store", store], stream)[0] == 0
    assert gone(["check", run / "history.jsonl", "--no-spark", "--store", store], stream)[0] == 1
    assert gone(["check", "latest", "--no-spark", "--store", store], stream)[0] == 1
    assert gone(["ingest", "--store", store], stream)[0] == 0
    assert gone(["run", "--keys", "0"], stream)[0] == 254


def test_a_reader_that_goes_away_is_told_nowhere(store: Path) -> None:
    code, said = gone(["show", "--store", store], "stdout")
    assert (code, said) == (0, b"")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--help"], 0),
        (["show", "latest"], 0),
        (["check", "latest", "--no-spark"], 1),
        (["ingest"], 0),
        (["report", "nowhere"], 254),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_closed_streams(store: Path, closed: str, words: list[str], code: int) -> None:
    where = [] if words == ["--help"] else ["--store", store]
    assert harness(*words, *where, shell=closed).returncode == code


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    """What a child prints would be written into it."""
    program = (
        "import os, sys; from harness.streams import safe_streams; safe_streams();"
        f"file = open({str(tmp_path / 'history')!r}, 'w'); assert file.fileno() > 2;"
        "os.system('echo from a child; echo from a child >&2')"
    )
    subprocess.run(["sh", "-c", 'exec "$0" -c "$1" >&- 2>&- <&-', sys.executable, program], check=True, cwd=ROOT)
    assert (tmp_path / "history").read_text() == ""


def test_an_answer_that_could_not_be_written_is_our_failure_and_an_outlook_is_not(store: Path) -> None:
    lost = harness("show", "--store", store, shell=">/dev/full")
    assert (lost.returncode, lost.stderr) == (255, b"harness: [Errno 28] No space left on device\n")
    assert harness("check", "latest", "--no-spark", "--store", store, shell="2>/dev/full").returncode == 1
    assert harness("check", "latest", "--no-spark", "--store", store, shell=">/dev/full").returncode == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_cannot_show_everything_gets_what_it_can(store: Path, encoding: str) -> None:
    shown = harness("show", "--store", store, PYTHONIOENCODING=encoding)
    text, whole = shown.stdout.decode(encoding), harness("show", "--store", store).stdout.decode()
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert "  x linearizable" in text
    assert "  + final-reads" in text
    assert [len(line) for line in text.splitlines()] == [len(line) for line in whole.splitlines()]


def test_in_another_locale_every_file_is_still_utf_8(tmp_path: Path) -> None:
    """PYTHONUTF8=0: else Python itself takes UTF-8 in this locale."""
    run = record(tmp_path, last_read=1)
    old = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = harness("check", "latest", "--no-spark", "--store", tmp_path, **old)
    assert (done.returncode, done.stdout.isascii()) == (1, True)
    assert "✕" in run.summary.read_text(encoding="utf-8")
    assert harness("check", "latest", "--no-spark", "--store", tmp_path).returncode == 1
