"""The run store: new runs, the latest links, finding a run again, files whole or not at all."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.errors import StoreError, UsageError
from harness.plan import Plan
from harness.store import create_run, discard_run, find_run, link_latest, read_object_if_any, write_json
from history import RunFiles

PLAN = Plan(seed=42, nemesis=("kill-one",))
STARTED = datetime(2026, 2, 3, 4, 5, 6, 789_000, tzinfo=UTC)


def linked(store: Path, started: datetime = STARTED) -> RunFiles:
    run = create_run(store, PLAN, started)
    link_latest(run)
    return run


def test_a_new_run_has_its_plan_and_becomes_the_latest(tmp_path: Path) -> None:
    run = create_run(tmp_path, PLAN, STARTED)
    assert not (tmp_path / "latest").is_symlink()
    link_latest(run)
    assert run.root == tmp_path / "register-kill-one-0.4.0" / "20260203T040506.789Z-42"
    assert Plan.read(run.plan) == PLAN
    assert (tmp_path / "latest").resolve() == run.root
    assert (tmp_path / PLAN.test / "latest").resolve() == run.root


def test_the_links_move_on_and_survive_a_moved_store(tmp_path: Path) -> None:
    linked(tmp_path / "a")
    run = linked(tmp_path / "a", STARTED.replace(second=7))
    (tmp_path / "a").rename(tmp_path / "b")
    assert find_run("latest", tmp_path / "b").root == tmp_path / "b" / run.root.relative_to(tmp_path / "a")


def test_a_store_that_cannot_be_written_is_named_with_the_mend(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"cannot write to the store .*file: Not a directory; .* --store"):
        create_run(tmp_path / "file", PLAN, STARTED)


def test_a_run_that_was_refused_leaves_nothing_and_the_latest_is_what_it_was(tmp_path: Path) -> None:
    before = linked(tmp_path)
    discard_run(create_run(tmp_path, PLAN, STARTED.replace(second=7)))
    assert (tmp_path / "latest").resolve() == before.root
    assert sorted(path.name for path in before.root.parent.iterdir()) == [before.root.name, "latest"]
    other = create_run(tmp_path, replace(PLAN, nemesis=("bridge",)), STARTED)
    discard_run(other)
    assert not other.root.parent.exists()


@pytest.mark.parametrize("name", ["latest", f"{PLAN.test}/latest", "the run itself"])
def test_the_store_decides_and_not_what_lies_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    ours, other = linked(tmp_path / "store").root, linked(tmp_path / "other").root
    text = f"{PLAN.test}/{ours.name}" if name == "the run itself" else name
    monkeypatch.chdir(tmp_path / "other")
    assert find_run(text, tmp_path / "store").root == ours
    assert find_run(f"./{text}", tmp_path / "store").root == other


@pytest.mark.parametrize("place", ["results.json", "nodes/n1/server.log", "plots"])
def test_a_run_with_a_link_in_it_is_refused_by_the_name_of_the_link(tmp_path: Path, place: str) -> None:
    run = linked(tmp_path)
    (run.root / place).parent.mkdir(parents=True, exist_ok=True)
    (run.root / place).symlink_to(tmp_path)
    with pytest.raises(UsageError, match=rf"{re.escape(str(run.root.name))}/{place}: it is a symbolic link"):
        find_run("latest", tmp_path)


def test_the_latest_is_never_that_of_another_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linked(tmp_path / "other")
    monkeypatch.chdir(tmp_path / "other")
    for text in ("latest", "latest/history.jsonl"):
        with pytest.raises(UsageError, match="no run there"):
            find_run(text, tmp_path / "empty")


def test_a_run_is_found_by_every_name_that_people_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = linked(tmp_path / "store")
    run.history.touch()
    monkeypatch.chdir(tmp_path)
    below = str(run.root.relative_to(tmp_path / "store"))
    for text in (str(run.root), f"{run.root}/", str(run.history), below, "latest", f"{PLAN.test}/latest",
                 f"store/{below}"):  # fmt: skip
        assert find_run(text, Path("store")).root == run.root, text


@pytest.mark.parametrize(
    "text",
    ["nowhere", "latest", "", "x" * 5000, "a\0b", "/dev/null", "/dev/null/history.jsonl"],
    ids=["nowhere", "latest", "empty", "too long", "NUL", "device", "below a device"],
)
def test_a_run_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no run there"):
        find_run(text, tmp_path)


def test_a_json_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    write_json(path, {"a": "ü"})
    assert json.loads(path.read_text()) == {"a": "ü"}

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        write_json(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": "ü"}


def test_a_json_object_is_read_or_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert read_object_if_any(path) == {}
    write_json(path, {"a": "ü"})
    assert read_object_if_any(path) == {"a": "ü"}
    for content in (b"", b'{"a": 1', b"[1]", b"null", b"\xff"):
        path.write_bytes(content)
        assert read_object_if_any(path) == {}
    assert read_object_if_any(tmp_path) == {}


def test_a_link_that_a_killed_process_left_half_made_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / f".latest.{os.getpid()}").symlink_to("gone")
    linked(tmp_path)
    assert (tmp_path / "latest").exists()
