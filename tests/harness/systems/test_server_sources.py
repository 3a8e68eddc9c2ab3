"""What the harness and the server's sources have to agree on by word."""

from __future__ import annotations

import re
from pathlib import Path

from harness.systems.dledger.options import PLANTED_BUGS as DECLARED

PLANTED_BUGS = tuple(bug.name for bug in DECLARED)
SNAPSHOT_PLANTED_BUGS = tuple(bug.name for bug in DECLARED if bug.options)
ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "dledger_register" / "core" / "src" / "main" / "java" / "register"


def labels(text: str) -> tuple[str, ...]:
    return tuple(name.lower().replace("_", "-") for name in re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", text))


def test_the_server_knows_every_planted_bug_by_its_name() -> None:
    text = (SOURCES / "options" / "PlantedBug.java").read_text()
    assert labels(" ".join(re.findall(r"^    ([A-Z_]+)[,;]$", text, re.M))) == PLANTED_BUGS
    (needing,) = re.findall(r"boolean needsSnapshots.*?\{(.*?)\}", text, re.S)
    assert labels(needing) == SNAPSHOT_PLANTED_BUGS


def test_every_line_that_the_server_counts_is_one_that_the_harness_judges() -> None:
    (listed,) = re.findall(r"PATTERNS = List\.of\((.*?)\);", (SOURCES / "server" / "Alarms.java").read_text(), re.S)
    patterns = re.findall(r'"([^"]+)"', listed)
    judged = "".join(path.read_text() for path in (ROOT / "harness").rglob("*.py"))
    assert len(patterns) == 6
    for pattern in patterns:
        assert f'pattern="{pattern}"' in judged, pattern
