"""Retention: which old runs may be removed, first by age, then by total size, oldest first.

A failed run stays until someone acknowledges it (``harness ack``).  A run failed if it was not judged valid, was never
judged, or was cut short by a harness failure.  An expected violation, such as that of a planted bug, is not a failure.
A run that is under way has no results yet, so it counts as failed and stays.  Removing a run does not remove it from
the warehouse.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Literal, TypeAlias

from harness.errors import StoreError, UsageError
from harness.store import read_object_if_any
from harness.suite.journal import SUITES
from history import RunFiles
from history.records.layout import start_of
from history.safe_open import UnsafeFileError, read_below, write_below
from reports.load.store_index import runs_of

ACKNOWLEDGED: Final = "acknowledged"
GIB: Final = 2**30
_GOING: Final = ".going-"

Standing: TypeAlias = Literal["passed", "acknowledged", "failed"]


@dataclass(frozen=True, slots=True)
class Stored:
    """One run of a store: its start, its size on disk in bytes, and whether it failed."""

    root: Path
    started: datetime
    size: int
    standing: Standing


@dataclass(frozen=True, slots=True)
class Removal:
    """A run that may be removed, and the reason."""

    run: Stored
    why: str


#: The largest accepted number of days or GiB; larger values are almost certainly typos.
MAX_SETTING: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """Remove runs older than ``days``, then the oldest runs until the rest take at most ``gib``.

    None means no limit.
    """

    days: float | None = None
    gib: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("--keep-days", self.days), ("--keep-gib", self.gib)):
            if value is not None and not 0 <= value <= MAX_SETTING:
                raise UsageError(f"{name} must be from 0 to {MAX_SETTING}, not {value:g}")


def stored(store: Path) -> list[Stored]:
    """Return the runs of a store, oldest first; empty if there is no store.  Raises StoreError if it cannot be read."""
    try:
        runs = (
            Stored(files.root, _started(files.root), _size(files.root), _standing(files)) for files in runs_of(store)
        )
        return sorted(runs, key=lambda run: (run.started, run.root))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"cannot read the store {store}: {error.strerror}") from None


def removals(runs: Sequence[Stored], limits: RetentionLimits, now: datetime) -> list[Removal]:
    """Return the removals among ``runs`` (oldest first).  A pure function.

    Failed runs count towards the size but are never removed.
    """
    going: list[Removal] = []
    left = sum(run.size for run in runs)
    for run in runs:
        if run.standing == "failed":
            continue
        why = ""
        if limits.days is not None and now - run.started > timedelta(days=limits.days):
            why = f"older than {limits.days:g} days"
        elif limits.gib is not None and left > limits.gib * GIB:
            why = f"the runs take more than {limits.gib:g} GiB"
        if why:
            going.append(Removal(run, why))
            left -= run.size
    return going


def remove(removal: Removal, store: Path) -> None:
    """Remove a run and its pages on the site: rename it first, then delete it.  Raises StoreError.

    A run that counts as failed by now is kept.
    """
    root = removal.run.root
    aside = root.with_name(_GOING + root.name)
    try:
        if _standing(RunFiles(root)) == "failed":  # judged again, or its acknowledgement removed, since the listing
            return
        root.rename(aside)
        shutil.rmtree(aside)
        shutil.rmtree(store / "site" / "runs" / root.parent.name / root.name, ignore_errors=True)
        _drop_dangling(root.parent / "latest")
        _drop_dangling(store / "latest")
    except OSError as error:
        raise StoreError(f"cannot remove {root}: {error.strerror}") from None


def old_suites(store: Path, limits: RetentionLimits, now: datetime) -> list[Path]:
    """Return the directories of suites that are too old and have no runs left.  Raises StoreError."""
    if limits.days is None:
        return []
    try:
        paths = [path for path in sorted(store.glob(f"{SUITES}/*/2*")) if path.is_dir() and not path.is_symlink()]
        old = [path for path in paths if now - _started(path) > timedelta(days=limits.days)]
        return [path for path in old if not any(map(Path.exists, _runs_of_suite(store, path)))]
    except OSError as error:
        raise StoreError(f"cannot read {store / SUITES}: {error.strerror}") from None


def remove_suite(path: Path) -> None:
    """Remove the directory of a suite.  Raises StoreError."""
    try:
        shutil.rmtree(path)
        _drop_dangling(path.parent / "latest")
    except OSError as error:
        raise StoreError(f"cannot remove {path}: {error.strerror}") from None


def sweep(store: Path) -> None:
    """Finish removals that were interrupted when an earlier process was killed.  Raises StoreError."""
    try:
        for path in store.glob(f"*/{_GOING}*"):
            shutil.rmtree(path)
    except OSError as error:
        raise StoreError(f"cannot remove {error.filename}: {error.strerror}") from None


def acknowledge(run: RunFiles, reason: str, now: datetime) -> Path:
    """Acknowledge a failed run.  Raises UsageError if the reason is empty, or StoreError."""
    if not reason.strip():
        raise UsageError("--reason is empty: say why the run failed, for later readers")
    path = run.root / ACKNOWLEDGED
    try:
        write_below(run.root, path, f"{now:%Y-%m-%dT%H:%M:%SZ} {' '.join(reason.split())}\n".encode(errors="replace"))
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from None
    return path


def describe(runs: Sequence[Stored], going: Sequence[Removal]) -> Iterator[str]:
    """Describe which runs are removed, and which stay until they are acknowledged."""
    for removal in going:
        run = removal.run
        yield f"removes: {run.root.parent.name}/{run.root.name}  {run.size / 2**20:.0f} MiB  {removal.why}"
    failed = [run for run in runs if run.standing == "failed"]
    size = sum(run.size for run in runs) - sum(removal.run.size for removal in going)
    yield f"{len(runs) - len(going)} of {len(runs)} runs stay, {size / GIB:.2f} GiB"
    if failed:
        of_these = sum(run.size for run in failed) / GIB
        yield f"of these, {len(failed)} ({of_these:.2f} GiB) failed and wait for `harness ack RUN --reason …`"


def _runs_of_suite(store: Path, suite: Path) -> list[Path]:
    """Return the runs of a suite's attempts.

    If the journal cannot be read, return a path that exists, so that the suite stays.
    """
    path = suite / "attempts.jsonl"
    if not path.exists():
        return []
    try:
        records = [json.loads(line) for line in path.read_text().splitlines()]
        return [store / record["run"] for record in records if record["run"]]
    except (ValueError, KeyError, TypeError):
        return [suite]


def _standing(files: RunFiles) -> Standing:
    try:
        if read_below(files.root, files.root / ACKNOWLEDGED).strip():
            return "acknowledged"
    except (OSError, UnsafeFileError):
        pass
    results, note = read_object_if_any(files.results), read_object_if_any(files.suite)
    if results.get("verdict") not in ("valid", "invalid", "unknown") or results.get("harness_failure"):
        return "failed"
    as_expected = note["as_expected"] is True if "as_expected" in note else results["verdict"] == "valid"
    return "passed" if as_expected else "failed"


def _started(root: Path) -> datetime:
    """Return when a run started, from its directory's name, or else from the directory's modification time."""
    return start_of(root.name) or datetime.fromtimestamp(root.stat().st_mtime, UTC)


def _size(root: Path) -> int:
    """Return the bytes used on disk, because the nodes' stores are sparse.  Links are not followed."""
    total = 0
    for folder, _, names in os.walk(root):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512  # noqa: PTH118 (a hundred thousand of them)
            except FileNotFoundError:
                continue
    return total


def _drop_dangling(link: Path) -> None:
    if link.is_symlink() and not link.exists():
        link.unlink(missing_ok=True)
