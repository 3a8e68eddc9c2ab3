"""Find suites and fault scripts by name, in this package and in the working directory."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from harness.errors import UsageError
from harness.judge.known_defects import suites_folder
from harness.ownership import require_own
from harness.store import is_file
from history.schema import hint

#: A project's own folder of suites, whose files take precedence over those of this package.  Root refuses a file that
#: another user can change.
OWN: Final = Path("suites")


def suites() -> dict[str, Path]:
    """Return all suites by name; those in ``suites`` of the working directory take precedence over ours."""
    return _found("*.toml")


def scenarios() -> dict[str, Path]:
    """Return all fault scripts by name."""
    return _found("scenarios/*.toml")


def find_suite(text: str | Path) -> Path:
    """Return the file of the named suite, or the path unchanged.  Raises UsageError for an unknown name."""
    return _find(Path(text), suites(), "suite")


def find_scenario(text: str | Path) -> Path:
    """Return the file of the named fault script, or the path unchanged.  Raises UsageError for an unknown name."""
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
