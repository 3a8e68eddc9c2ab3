"""The page of the testing kit names all of it; that its blocks do what they say is for ``tests/test_docs.py``."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from harness import testing
from harness.testing import QUIRKS, FakeNodes, world

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "testing-kit.md").read_text()


def rows(title: str) -> set[str]:
    """The names in the first column of the table with this title."""
    table = PAGE.split(f"| {title} |", 1)[1].split("\n\n", 1)[0]
    return {name for line in table.splitlines()[2:] for name in re.findall(r"`([\w-]+)`", line.split(" | ")[0])}


def test_every_name_is_explained() -> None:
    assert rows("name") == set(testing.__all__)


def test_every_quirk_of_the_nodes_and_of_the_registers_is_reported() -> None:
    held = {"names", "clock", "rules", "sent", "states", "own"}  # what they remember, not how they behave
    of_nodes = set(inspect.signature(FakeNodes).parameters) - held
    assert rows("argument of `world`") == {*of_nodes, "stop_at", *inspect.signature(world).parameters} - {"quirks"}
    assert rows("quirk") == {quirk for quirk in QUIRKS if quirk}
