"""The run store: ``store/<test name>/<UTC start>-<seed>/``, and the links to the latest runs."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness.errors import StoreError, UsageError
from harness.terminal.streams import commands_terminal
from history import RunFiles
from history.json_object import read_object
from history.records.layout import name_of_start
from history.safe_open import UnsafeFileError, open_below, replacing, require_plain
from history.under_way import is_under_way

if TYPE_CHECKING:
    from harness.plan import Plan

LATEST: Final = "latest"


def create_run(store: Path, plan: Plan, started: datetime) -> RunFiles:
    """Make the directory of a new run and write its ``plan.json``.

    ``link_latest`` makes it the latest run.  Raises StoreError if the directory cannot be written.
    """
    from harness.systems.registry import kept_text  # here, because lists of runs need no systems

    kept = kept_text(plan.system)
    run = RunFiles(store / plan.test / f"{name_of_start(started)}-{plan.seed}")
    try:
        run.root.mkdir(parents=True)
        commands = {
            "command": plan.command(str(run.plan)),
            "replay_command": shlex.join(["harness", "replay", str(run.root)]),
        }
        write_json(run.plan, {**plan.to_json(), **commands})
        if kept is not None:
            run.system.write_text(kept)
    except OSError as error:
        raise _cannot_write(store, error) from None
    return run


def link_latest(run: RunFiles) -> None:
    """Point the ``latest`` links of the store and of the test at a run.  Raises StoreError if the disk refuses."""
    test, store = run.root.parent, run.root.parents[1]
    try:
        point_link(test / LATEST, Path(run.root.name))
        point_link(store / LATEST, Path(test.name) / run.root.name)
    except OSError as error:
        raise _cannot_write(store, error) from None


def discard_run(run: RunFiles) -> None:
    """Remove a run that was refused before its first operation.  No ``latest`` link points to it yet."""
    shutil.rmtree(run.root, ignore_errors=True)
    with suppress(OSError):  # the folder may hold other runs of this test
        run.root.parent.rmdir()


def _cannot_write(store: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot write to the store {store}: {error.strerror}; name another one with --store")


def find_run(text: str, store: Path) -> RunFiles:
    """Find the run that a user named by a path in the store (such as ``latest``), its directory or its history file.

    Names that are not clearly paths (``/…``, ``./…``, ``../…``) are looked up in the store first and then in the
    working directory, ``latest`` only in the store.  Raises UsageError if there is no such run, or if it holds anything
    but plain files and directories.
    """
    places = [Path(text)] if text.startswith(("/", "./", "../")) else [store / text, Path(text)]
    for candidate in places[:1] if Path(text).parts[:1] == (LATEST,) else places:
        root = candidate.parent if candidate.name == "history.jsonl" else candidate
        if is_file(root / "history.jsonl") or is_file(root / "plan.json"):
            run = RunFiles(root.resolve())
            _require_printable(str(run.root))
            try:
                require_plain(run.root)
            except UnsafeFileError as error:
                raise UsageError(f"{error.source}: {error.message}") from None
            return run
    raise UsageError(f"{text}: no run there; give a run's directory, or `latest` (the store is {store})")


def is_history_file(text: str) -> bool:
    """Return whether a user named a history file, a pipe or another tool's directory rather than one of our runs."""
    from harness.files import file_type  # here, because the checker comes with it
    from harness.jepsen_store import client_files, history_in

    path = Path(text)
    if text == LATEST:
        return False
    if history_in(path) or client_files(path) or file_type(path) in (stat.S_IFREG, stat.S_IFIFO):
        _require_printable(text)
        return True
    return False


def _require_printable(path: str) -> None:
    """Check that a path has no characters that could control a terminal, because many lines end with it.

    Raises UsageError.
    """
    if commands_terminal(path):
        raise UsageError(f"{path!r}: control characters in a name could control the terminal; rename it")


def find_run_or_file(text: str, store: Path) -> RunFiles:
    """Find the run that a user named where a history file was also possible.  Raises UsageError that mentions both."""
    from harness.files import file_type  # here, because the checker comes with it

    try:
        return find_run(text, store)
    except UsageError:
        if file_type(Path(text)):
            raise
        raise UsageError(
            f"{text}: there is no such file or run; give a history file, a run's directory, or `latest` "
            f"(the store is {store})"
        ) from None


def require_ended(run: RunFiles) -> None:
    """Check that no process is working on a run.  Raises UsageError."""
    if is_under_way(run.root):
        raise UsageError(f"{run.root}: the run is still going: wait until it ends, or press Ctrl-C where it runs")


def has_history(run: RunFiles) -> bool:
    """Return whether a run got to its first operation, as its history shows, or its probes if the history was lost."""
    return _has_line(run.root, run.history) or _has_line(run.root, run.probes)


def require_history(run: RunFiles) -> None:
    """Check that a run got to its first operation, so that it can be judged.  Raises UsageError with the remedy."""
    if not has_history(run):
        again = f"; run it again: harness run --plan {shlex.quote(str(run.plan))}" if is_file(run.plan) else ""
        raise UsageError(
            f"{run.root}: the run ended before its first operation, or is still starting: there is nothing to judge"
            + again
        )


def _has_line(root: Path, path: Path) -> bool:
    """Return whether a file of a run has a complete line, or is unsafe to open, which its reader reports by name."""
    try:
        with open_below(root, path) as file:
            return b"\n" in file.read(1 << 16)
    except UnsafeFileError:
        return True
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """Return whether a file exists; False if its name is too long or its directory cannot be read."""
    try:
        return path.is_file()
    except OSError:
        return False


def require_store(store: Path) -> None:
    """Check that the store exists.  Raises UsageError."""
    if not os.path.isdir(store):  # noqa: PTH112 (which, unlike Path's, also takes a name that is too long)
        raise UsageError(f"{store} is not a store; name one with --store")


def read_object_if_any(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, or an empty one if the file is missing or cannot be read."""
    try:
        return read_object(path)
    except (OSError, ValueError):
        return {}


def write_json(path: Path, record: dict[str, Any]) -> None:
    """Write and sync a JSON file atomically.  Raises UnsafeFileError and OSError."""
    with replacing(path.parent, path, sync=True) as file:
        file.write(json_bytes(record))


def json_bytes(record: dict[str, Any]) -> bytes:
    """Return the content of a JSON file.

    A lone surrogate, which UTF-8 cannot encode, becomes a JSON escape.
    """
    return f"{json.dumps(record, indent=1, ensure_ascii=False)}\n".encode(errors="backslashreplace")


def point_link(link: Path, target: Path) -> None:
    """Point a symbolic link at ``target`` atomically."""
    neighbour = link.with_name(f".{link.name}.{os.getpid()}")
    neighbour.unlink(missing_ok=True)
    neighbour.symlink_to(target)
    neighbour.replace(link)
