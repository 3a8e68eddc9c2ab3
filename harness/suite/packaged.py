"""The suites and scripts of faults that this package brings, found by their names."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from harness.errors import UsageError
from harness.judge.known_defects import suites_folder
from harness.ownership import require_own
from harness.store import is_file
from history.schema import hint

#: Where a project keeps its own; they come before those of this package, but for those that root must not trust.
OWN: Final = Path("suites")


def suites() -> dict[str, Path]:
    """All suites by name, those in ``suites`` of the working directory before ours."""
    return _found("*.toml")


def scenarios() -> dict[str, Path]:
    """All scripts of faults by name."""
    return _found("scenarios/*.toml")


def find_suite(text: str | Path) -> Path:
    """The file of a suite that was named, or the path as it is.  Raises UsageError for an unknown name."""
    return _find(Path(text), suites(), "suite")


def find_scenario(text: str | Path) -> Path:
    """The file of a script that was named, or the path as it is.  Raises UsageError for an unknown name."""
    return _find(Path(text), scenarios(), "script of faults")


def _found(pattern: str) -> dict[str, Path]:
    return {path.stem: path for folder in (suites_folder(), OWN) for path in sorted(folder.glob(pattern))}


def _find(path: Path, known: dict[str, Path], noun: str) -> Path:
    if path.suffix or len(path.parts) != 1 or is_file(path):
        return path
    if path.name not in known:
        raise UsageError(f"there is no {noun} {path.name!r}; {hint(path.name, known)}, or give a file")
    require_own(known[path.name], f"give it as a path: ./{known[path.name]}")
    return known[path.name]
