"""Known systems: those that installed packages announce, including this package (``history.system_entry_points``).

A file whose name ends in ``.toml`` is a system as well.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from harness.errors import UsageError
from harness.systems.api import System
from harness.systems.declared import check_declared
from harness.systems.program.system import system_of
from history.extras import missing_extra
from history.schema import hint
from history.system_entry_points import system_entry_points
from history.toml_file import read_text, read_toml

#: The system that is tested if none is named.
DEFAULT: Final = "dledger"
#: The suffix of files that describe a system.
FILE: Final = ".toml"


def system_names() -> tuple[str, ...]:
    """Return the names of all systems, the default one first."""
    return tuple(sorted(system_entry_points(), key=lambda name: (name != DEFAULT, name)))


@cache
def find_system(name: str) -> System:
    """Return the system with this name, or the one in this file (``….toml``).

    Raises UsageError if there is none, if its package cannot be loaded, or if a declaration of it is wrong.
    """
    if name.endswith(FILE):
        mine = system_of(Path(name))
        if mine.name in system_entry_points():
            raise UsageError(f"--system {name}: name: an installed system is called {mine.name}; choose another name")
        return _checked(mine, f"--system {name}")
    announced = system_entry_points()
    if name not in announced:
        raise UsageError(f"--system: there is no system {name!r}; {hint(name, announced)}")
    point = announced[name]
    try:
        system = point.load()
    except Exception as error:  # noqa: BLE001 (a third party's module may fail in any way)
        if isinstance(error, ModuleNotFoundError) and (missing := missing_extra(error)) is not None:
            raise UsageError(f"--system {name}: {missing}") from None
        raise UsageError(f"--system {name}: {point.value} cannot be loaded: {type(error).__name__}: {error}") from None
    if not isinstance(system, System) or system.name != name:
        raise UsageError(f"--system {name}: {point.value} is not a System of that name")
    return _checked(system, f"--system {name}: {point.value}")


def _checked(system: System, where: str) -> System:
    try:
        check_declared(system)
    except (ValueError, TypeError, AttributeError) as error:  # a third party may have declared anything
        raise UsageError(f"{where}: {error}") from None
    return system


def usable_systems() -> tuple[list[System], dict[str, str]]:
    """Return the systems that can be loaded, default first, and the reason for each of the others, by name."""
    usable, unusable = [], {}
    for name in system_names():
        try:
            usable.append(find_system(name))
        except UsageError as error:
            unusable[name] = str(error)
    return usable, unusable


def installed(name: str) -> System | None:
    """Return the system with this name or in this file; None if it is not installed here.

    Raises UsageError if it is unusable.
    """
    there = Path(name).is_file() if name.endswith(FILE) else name in system_entry_points()
    return find_system(name) if there else None


def kept_text(name: str) -> str | None:
    """Return the text of a system's file as a run keeps it, or None for a system without a file.

    If the file does not name the system, the file's own name is added.  Raises UsageError if the file cannot be read.
    """
    if not name.endswith(FILE):
        return None
    path = Path(name)
    try:
        return read_text(path) if "name" in read_toml(path) else f'name = "{path.stem}"\n{read_text(path)}'
    except (OSError, ValueError) as error:
        raise UsageError(f"--system {name}: cannot be read: {error}") from None


def split_version(text: str) -> tuple[str, str]:
    """Split ``NAME`` or ``NAME@VERSION`` into name and version.  Without a version, that part is empty.

    In a file's path, an @ has no special meaning.  Raises UsageError if nothing comes after the @.
    """
    if text.endswith(FILE):
        return text, ""
    name, at, version = text.rpartition("@") if f"{FILE}@" in text else text.partition("@")
    if at and not version:
        raise UsageError(f"--system {text}: the version after the @ is missing")
    return name, version
