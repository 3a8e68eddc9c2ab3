"""Find the last valid run of the same plan in a run's store."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from history import RunFiles
from history.json_object import read_object
from history.records.plans import nemesis_name, system_version
from history.records.settings import settings_of

#: At most this many earlier runs are read, newest first.
LOOKED_AT: Final = 100


def last_valid_run(files: RunFiles, plan: Mapping[str, Any]) -> str | None:
    """Return the name of the newest earlier valid run with the same test, system, faults and settings.

    Returns None if there is none.  Runs are named by their start, so their names sort by time.  Symbolic links are
    not followed.
    """
    here = files.root.resolve()
    names = (path.name for path in here.parent.iterdir() if path.is_dir() and not path.is_symlink())
    earlier = sorted((name for name in names if name < here.name and not name.startswith(".")), reverse=True)
    for name in earlier[:LOOKED_AT]:
        other = RunFiles(here.parent / name)
        with suppress(OSError, ValueError):  # a run that cannot be read is not valid
            if _is_valid(other) and _same(plan, read_object(other.plan, lenient=True)):
                return name
    return None


def _is_valid(files: RunFiles) -> bool:
    results = read_object(files.results, lenient=True)
    return results.get("verdict") == "valid" and not results.get("harness_failure")


def _same(plan: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(of(plan) == of(other) for of in (system_version, nemesis_name, settings_of))
