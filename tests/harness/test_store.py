"""The run store: new runs, the latest links, finding a run again, files whole or not at all."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness import store as store_module
from harness.errors import StoreError, UsageError
from harness.plan import Plan
from harness.store import create_run, find_run, read_object, write_json

PLAN = Plan(seed=42, nemesis=("kill-one",))
STARTED = datetime(2026, 2, 3, 4, 5, 6, 789_000, tzinfo=UTC)


def test_a_new_run_has_its_plan_and_both_links(tmp_path: Path) -> None:
    run = create_run(tmp_path, PLAN, STARTED)
    assert run.root == tmp_path / "register-kill-one-0.4.0" / "20260203T040506.789Z-42"
    assert Plan.read(run.plan) == PLAN
    assert (tmp_path / "latest").resolve() == run.root
    assert (tmp_path / PLAN.test / "latest").resolve() == run.root


def test_the_links_move_on_and_survive_a_moved_store(tmp_path: Path) -> None:
    create_run(tmp_path / "a", PLAN, STARTED)
    run = create_run(tmp_path / "a", PLAN, STARTED.replace(second=7))
    (tmp_path / "a").rename(tmp_path / "b")
    assert find_run("latest", tmp_path / "b").root == tmp_path / "b" / run.root.relative_to(tmp_path / "a")


def test_a_store_that_cannot_be_written_is_named_with_the_mend(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"cannot write to the store .*file: Not a directory; .* --store"):
        create_run(tmp_path / "file", PLAN, STARTED)


def test_a_run_is_found_by_every_name_that_people_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = create_run(tmp_path / "store", PLAN, STARTED)
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

    monkeypatch.setattr(store_module.os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        write_json(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": "ü"}


def test_a_json_object_is_read_or_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert read_object(path) == {}
    write_json(path, {"a": "ü"})
    assert read_object(path) == {"a": "ü"}
    for content in (b"", b'{"a": 1', b"[1]", b"null", b"\xff"):
        path.write_bytes(content)
        assert read_object(path) == {}
    assert read_object(tmp_path) == {}


def test_a_link_that_a_killed_process_left_half_made_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / f".latest.{os.getpid()}").symlink_to("gone")
    create_run(tmp_path, PLAN, STARTED)
    assert (tmp_path / "latest").exists()
