"""A directory of Jepsen's store (``store/NAME/TIME``): its history, and Jepsen's own results."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

from checker import Report
from harness.errors import UsageError
from history import FormatError
from history.readers.read import unpacked
from history.records.text import and_listed
from history.safe_open import UnsafeFileError, open_below

#: The files that may hold a history, best first: EDN and blocks keep the values as they were, a log has them as printed
#: for people.
HISTORIES: Final = (
    "history.edn",
    "history.edn.gz",
    "test.jepsen",
    "history.txt",
    "history.txt.gz",
    "jepsen.log",
    "jepsen.log.gz",
)
_RESULTS: Final = "results.edn"
#: At most this many bytes of results are read: results are short compared to a history.
_MOST: Final = 64 << 20
_VERDICTS: Final = {True: "valid", False: "invalid", "unknown": "unknown"}
_MOST_NAMED: Final = 8


def history_in(directory: Path) -> Path | None:
    """Return the best history file in a directory of Jepsen's store, or None if it has none.

    Raises UsageError if a file with such a name is not regular.
    """
    return next((path for name in HISTORIES if _has(directory, path := directory / name)), None)


def client_files(directory: Path) -> list[Path]:
    """Return the files of each client's operations in a report of etcd's robustness tests.

    The list is empty if the directory is not such a report.  Raises UsageError if one of them is not regular.
    """
    try:
        clients = sorted(directory.glob("client-*"))
    except (OSError, ValueError):  # an impossible name
        return []
    return [path for client in clients if _has(directory, path := client / "operations.json")]


def notes_on(directory: Path, chosen: Path, report: Report) -> Iterator[str]:
    """Say which file was read, and compare Jepsen's own results with the report."""
    others = [name for name in HISTORIES if name != chosen.name and _has(directory, directory / name)]
    also = f", and not {and_listed(others)}" if others else ""
    yield f"{chosen.name} was read{also}"
    path = directory / _RESULTS
    if not _has(directory, path):
        yield f"there is no {_RESULTS} to compare with"
        return
    try:
        results = _read(path)
    except (FormatError, UnicodeDecodeError, OSError) as error:
        yield f"{_RESULTS} cannot be read, and was not compared: {error}"
        return
    valid = results.get("valid?")
    theirs = _VERDICTS.get(valid) if isinstance(valid, (bool, str)) else None
    if theirs is None:
        yield f"{_RESULTS} has no :valid? to compare with"
        return
    note = f"{_RESULTS} says {theirs}"
    if theirs == report.verdict:
        yield f"{note}, too"
    else:
        parts = [f"{name} {_VERDICTS[part['valid?']]}" for name, part in results.items() if _is_part(part)]
        more = f" (its checkers: {', '.join(parts)})" if parts else ""
        yield f"{note}{more}; the harness says {report.verdict}, perhaps because Jepsen's checkers check other things"
    yield from _keys(results, report)


def _keys(results: dict[str, Any], report: Report) -> Iterator[str]:
    """Name the keys on which the verdicts differ, if Jepsen's verdicts are per key."""
    failures = _failures(results)
    if failures is None:
        return
    mine = {str(key.key) for key in report.keys if key.verdict == "invalid"}
    theirs = set(map(str, failures))
    for names, where in ((mine - theirs, "here and not there"), (theirs - mine, "there and not here")):
        if names:
            listed = sorted(names)[:_MOST_NAMED]
            yield f"invalid {where}: key {and_listed(listed)}{' and others' if len(names) > len(listed) else ''}"


def _failures(results: Any) -> Collection[Any] | None:
    """Return the keys that jepsen.independent's checker lists, wherever it is in the results."""
    if not isinstance(results, dict):
        return None
    if isinstance(results.get("failures"), list) and isinstance(results.get("results"), dict):
        failures: list[Any] = results["failures"]
        return failures
    return next((keys for part in results.values() if (keys := _failures(part)) is not None), None)


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("valid?"), (bool, str)) and part["valid?"] in _VERDICTS


def _read(path: Path) -> dict[str, Any]:
    from history.readers.edn import EdnReader

    with unpacked(path) as plain, plain.open("rb") as file:
        data = file.read(_MOST + 1)
    if len(data) > _MOST:
        raise FormatError(str(path), f"byte {_MOST}", "expected results, found a file that is too large")
    form = next(EdnReader(data.decode("utf-8-sig"), str(path)).forms(), None)
    if form is None or not isinstance(form.value, dict):
        raise FormatError(str(path), "line 1", "expected a map")
    return form.value


def _has(directory: Path, path: Path) -> bool:
    """Return whether this file exists below a directory, whose content is not trusted.

    Raises UsageError if it is not regular, or if a link leads to it.
    """
    try:
        open_below(directory, path).close()
    except UnsafeFileError as error:
        raise UsageError(f"{error.source}: {error.message}") from None
    except (OSError, ValueError):  # an impossible name
        return False
    return True
