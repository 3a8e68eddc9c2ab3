"""The page about nemeses and the code never drift apart."""

from __future__ import annotations

import re
from pathlib import Path

from nemesis.core.errors import ScheduleError
from nemesis.core.options import OPTIONS
from nemesis.faults.registry import FAULTS
from nemesis.schedule.script import read_script

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "nemeses.md").read_text()


def test_every_fault_stands_in_the_list_and_no_other():
    tables = PAGE[PAGE.index("## The list") : PAGE.index("### Fault options")]
    rows = [line.split("|")[1] for line in tables.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} == set(FAULTS)


def test_every_option_stands_there_with_its_default():
    section = PAGE[PAGE.index("### Fault options") : PAGE.index("## Aiming")]
    found: dict[str, float] = {}
    for line in section.splitlines():
        if line.startswith("| `"):
            _, names, defaults, _, _ = line.split("|", 4)
            found.update(zip(re.findall(r"`(\w+)`", names), map(float, defaults.split(",")), strict=True))
    assert found == {name: option.default for name, option in OPTIONS.items()}


def test_the_scenarios_are_scripts_that_fit_their_own_command():
    paths = sorted((ROOT / "suites" / "scenarios").glob("*.toml"))
    assert paths
    for path in paths:
        limit = re.search(r"--time-limit (\d+)", path.read_text())
        try:
            steps = read_script(path, float(limit[1]) if limit else 60.0, ("n1", "n2", "n3", "n4", "n5"))
        except ScheduleError as error:
            raise AssertionError(str(error)) from None
        assert {step.fault for step in steps} <= set(FAULTS)
