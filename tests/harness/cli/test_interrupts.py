"""An interrupt ends the command with 130 in every phase, and never with 1, which is a violation."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.cli import main as main_module

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before, hook = signal.signal(signal.SIGINT, signal.default_int_handler), sys.unraisablehook
    yield
    signal.signal(signal.SIGINT, before)
    sys.unraisablehook = hook


def test_one_that_comes_before_python_is_ready_waits_and_is_130() -> None:
    launcher = ROOT / "scripts" / "launcher.py"
    command = subprocess.Popen(
        [sys.executable, "-SP", str(launcher), "--version"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) and None,
    )  # fmt: skip
    command.send_signal(signal.SIGINT)
    assert (*command.communicate(), command.returncode) == ("", "", 130)


def test_the_command_of_a_source_tree_starts_with_interrupts_blocked() -> None:
    bootstrap = (ROOT / "scripts" / "bootstrap").read_text()
    assert '#!/usr/bin/env -S --block-signal=INT \\"$root/.venv/bin/python\\" -SP' in bootstrap
    done = subprocess.run(
        ["/usr/bin/env", "--block-signal=INT", sys.executable, "-SP", "-c",
         "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "True\n"


def test_one_while_the_rest_is_imported_is_130_without_a_traceback() -> None:
    program = "import harness.start, os, signal; os.kill(os.getpid(), signal.SIGINT); print('went on')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def ended(monkeypatch: pytest.MonkeyPatch, body: Callable[[], int]) -> object:
    """The exit code of a command with this body."""
    monkeypatch.setattr(main_module, "run_command", lambda arguments, interrupt: body())
    with pytest.raises(SystemExit) as exited:
        main_module.main([])
    return exited.value.code


def interrupt() -> int:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)
    return 1


def swallowed() -> int:
    try:
        interrupt()
    except KeyboardInterrupt:
        return 1
    return 0


class Careless:
    def __del__(self) -> None:
        interrupt()


def lost() -> int:
    careless = Careless()
    del careless  # what is raised there goes nowhere
    time.sleep(10)
    return 1


@pytest.mark.parametrize("body", [interrupt, swallowed, lost], ids=["raised", "swallowed", "lost"])
def test_whatever_becomes_of_the_exception(monkeypatch: pytest.MonkeyPatch, body: Callable[[], int]) -> None:
    began = time.monotonic()
    assert ended(monkeypatch, body) == 130
    assert time.monotonic() - began < 9


def test_one_that_a_library_made_an_error_of_is_no_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def get_command(*_: object) -> None:
        try:
            interrupt()
        except KeyboardInterrupt as error:
            raise ImportError("numpy.core.multiarray failed to import") from error

    monkeypatch.setattr(main_module.Verbs, "get_command", get_command)
    with pytest.raises(SystemExit) as exited:
        main_module.main(["doctor"])
    assert (exited.value.code, capsys.readouterr().err) == (130, "")


def test_a_verdict_without_an_interrupt_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ended(monkeypatch, lambda: 1) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("ctypes.CDLL(None).exit(1)", 255),  # as OpenBLAS does without memory
        ("sys.exit(1)", 1),
        ("sys.exit(0)", 0),
        ("1 / 0", 255),
    ],
)
def test_a_library_that_ends_the_process_claims_no_violation(body: str, code: int) -> None:
    program = (
        "import ctypes, sys, harness.cli.main as command; from harness.start import main\n"
        f"def body(): {body}\n"
        "command.main = body; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == code
