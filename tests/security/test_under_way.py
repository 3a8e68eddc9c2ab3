"""A run under way is said to be under way, until its process ends, however that is."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.main import run_command
from history import RunFiles
from history.under_way import is_under_way, under_way
from tests.support.harness.recorded_run import record

HOLD = """
import sys
from pathlib import Path
from history.under_way import under_way
with under_way(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def run(tmp_path: Path) -> RunFiles:
    return record(tmp_path)


def test_it_is_known_for_as_long_as_its_process_lives(run: RunFiles) -> None:
    assert not is_under_way(run.root)
    words = [sys.executable, "-c", HOLD, str(run.root)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert is_under_way(run.root)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not is_under_way(run.root)


def test_there_is_no_run_under_way_where_there_is_none(tmp_path: Path) -> None:
    assert not is_under_way(tmp_path / "none")


def test_every_verb_says_it(run: RunFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(run.root.rglob("*"))
    with under_way(run.root):
        for words in (["check", str(run.root)], ["ingest", str(run.root)]):
            assert run_command([*words, "--store", str(tmp_path)]) == 254
            assert "the run is still going" in capsys.readouterr().err
        assert run_command(["ls", "--store", str(tmp_path)]) == 0
        assert "under way" in capsys.readouterr().out
        assert run_command(["ingest", "--store", str(tmp_path)]) == 0
        said = capsys.readouterr()
        assert run.root.name in said.err
        assert "0 added" in said.out
    assert sorted(run.root.rglob("*")) == before
    assert run_command(["ingest", str(run.root), "--store", str(tmp_path)]) == 0
    assert "1 added" in capsys.readouterr().out
