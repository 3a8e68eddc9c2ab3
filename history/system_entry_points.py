"""The systems under test that installed packages declare, as entry points in the group ``harness.systems``.

In a source tree its ``pyproject.toml`` is also read, so a newly added entry point works without reinstalling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "harness.systems"
_PYPROJECT: Final = Path(__file__).resolve().parents[1] / "pyproject.toml"


@cache
def system_entry_points() -> Mapping[str, EntryPoint]:
    """Return the entry points by name.

    Cached, because a suite asks thousands of times and each search reads the metadata of every installed package.
    """
    from importlib.metadata import entry_points

    return {point.name: point for point in (*entry_points(group=GROUP), *of_source_tree(_PYPROJECT))}


def of_source_tree(pyproject: Path) -> Iterable[EntryPoint]:
    """Return the entry points in a source tree's ``pyproject.toml``; none if the file does not exist."""
    if not pyproject.is_file():
        return ()
    import tomllib
    from importlib.metadata import EntryPoint

    groups = tomllib.loads(pyproject.read_text(encoding="utf-8")).get("project", {}).get("entry-points", {})
    return [EntryPoint(name, value, GROUP) for name, value in groups.get(GROUP, {}).items()]
