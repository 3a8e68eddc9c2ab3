"""Tables: a row is a line for a file or a pipe; on a terminal it is wrapped, and never wider than that."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.main import run_command
from harness.suite.session import SuiteOptions, list_cells
from harness.terminal.tables import COLOURS, fitted, render

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    ("disk:",),
    ("  without", "disk-slow", "-> no control groups, [red]or[/red] :none: that can be written to " * 3),
    ("  ok", "disk-full", "x" * 100),
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_width_a_row_is_a_line_as_it_is() -> None:
    lines = render(ROWS).splitlines()
    assert lines[0] == "disk:"
    assert lines[1] == f"  without  disk-slow  {ROWS[1][2]}".rstrip()
    assert lines[2] == f"  ok       disk-full  {'x' * 100}"


@pytest.mark.parametrize("columns", [60, 80])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_lost(columns: int) -> None:
    text = render(ROWS, columns)
    assert columns - 10 < max(map(len, text.splitlines())) <= columns
    assert text.count("x") == 100
    assert text.count(":none:") == 3
    assert render([]) == ""


@pytest.mark.parametrize(
    ("variables", "coloured"), [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False), ({"NO_COLOR": "1"}, False)]
)
def test_colours_on_a_terminal_that_shows_them(
    variables: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"TERM": "xterm", "FORCE_COLOR": "1", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert ("\x1b[33m  without" in fitted(ROWS)) == coloured
    assert ("\x1b" in fitted(ROWS)) == coloured
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert "\x1b" not in fitted(ROWS)
    assert set(COLOURS.values()) == {"green", "red", "yellow"}


@pytest.mark.parametrize("columns", [60, 80])
def test_the_cells_of_a_suite_fit(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stdout", Terminal())
    parts = list(list_cells(SuiteOptions(file=ROOT / "suites" / "nightly.toml", store=Path("store"))))
    assert max(len(line) for part in parts for line in part.splitlines()) <= columns
    assert "judged through Spark" in " ".join(parts[-1].split())


@pytest.mark.parametrize("columns", [60, 80])
def test_a_dry_run_fits_but_for_the_command_which_is_to_be_copied(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stdout", screen := Terminal())
    assert run_command(["run", "--seed", "5", "-n", "all", "--nodes", "20", "--dry-run"]) == 0
    command, *lines = screen.getvalue().splitlines()
    assert command.startswith("harness run ")
    assert max(map(len, lines)) <= columns
    assert "left out once it is up" in " ".join(screen.getvalue().split())


def test_who_draws_no_table_does_not_load_rich() -> None:
    program = (
        "import sys; from harness.cli.main import run_command; run_command(['--help']); "
        f"run_command(['check', {str(ROOT / 'tests/checker/porcupine/jepsen/etcd_000.log')!r}]); "
        "sys.exit('rich' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, timeout=120)
