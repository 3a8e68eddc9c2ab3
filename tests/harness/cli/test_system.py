"""``harness system new``: a system that can be run as it stands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.cli.main import run_command
from harness.systems.program.file_type import read_system_file


def test_it_writes_a_system_that_can_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "a" / "mine"
    assert run_command(["system", "new", str(directory)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        str(directory / name) for name in ("client.py", "client.sh", "kv.toml", "server.py")
    ]
    found = read_system_file(directory / "kv.toml")
    assert found.options["replication"].default == "sync"
    assert "#:schema" not in (directory / "kv.toml").read_text()
    assert os.access(directory / "client.sh", os.X_OK)


def test_what_is_there_is_never_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kv.toml").write_text("mine")
    assert run_command(["system", "new", str(tmp_path)]) == 254
    assert capsys.readouterr().err == f"harness: {tmp_path} is not empty: name a new directory\n"
    assert (tmp_path / "kv.toml").read_text() == "mine"


def test_a_place_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert run_command(["system", "new", str(tmp_path / "file" / "below")]) == 254
    assert "Not a directory" in capsys.readouterr().err
