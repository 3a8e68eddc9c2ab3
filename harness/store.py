"""The run store: ``store/<test name>/<UTC start>-<seed>/``, and the links to the latest runs."""

from __future__ import annotations

import json
import os
import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import StoreError, UsageError
from history import RunFiles

if TYPE_CHECKING:
    from harness.plan import Plan


def create_run(store: Path, plan: Plan, started: datetime) -> RunFiles:
    """Make the directory of a new run, write ``plan.json`` and point the ``latest`` links at it.

    Raises StoreError when the disk refuses.
    """
    name = f"{started:%Y%m%dT%H%M%S.%f}"[:-3] + f"Z-{plan.seed}"
    run = RunFiles(store / plan.test / name)
    try:
        run.root.mkdir(parents=True)
        commands = {
            "command": plan.command(str(run.plan)),
            "replay_command": shlex.join(["harness", "replay", str(run.root)]),
        }
        write_json(run.plan, {**plan.to_json(), **commands})
        point_link(store / plan.test / "latest", Path(name))
        point_link(store / "latest", Path(plan.test) / name)
    except OSError as error:
        raise StoreError(
            f"cannot write to the store {store}: {error.strerror}; name another one with --store"
        ) from None
    return run


def find_run(text: str, store: Path) -> RunFiles:
    """The run that a user named: a directory, a history file in one, ``latest``, or a path below the store.

    Raises UsageError when there is none.
    """
    for candidate in (Path(text), store / text):
        root = candidate.parent if candidate.name == "history.jsonl" else candidate
        if _is_file(root / "history.jsonl") or _is_file(root / "plan.json"):
            return RunFiles(root.resolve())
    raise UsageError(f"{text}: no run there; give a run's directory, or `latest` (the store is {store})")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, a directory that we may not look into
        return False


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; an empty one where there is no file, or one that cannot be read."""
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def write_json(path: Path, record: dict[str, Any]) -> None:
    """Write a JSON file whole or not at all: to a neighbour first, synced, then renamed.  Raises OSError."""
    neighbour = path.with_name(path.name + ".part")
    with neighbour.open("w") as file:
        json.dump(record, file, indent=1, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    neighbour.replace(path)


def point_link(link: Path, target: Path) -> None:
    """Let a link lead to ``target``, whatever it led to before, without a moment in which it is not there."""
    neighbour = link.with_name(f".{link.name}.{os.getpid()}")
    neighbour.unlink(missing_ok=True)
    neighbour.symlink_to(target)
    neighbour.replace(link)
