"""Links, pipes and devices in every place of a run: every verb refuses the run by their name, and changes nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import run_command
from history import RunFiles
from reports.site.site import write_site
from tests.support.harness.recorded_run import record

PLACES = [
    "plan.json", "history.jsonl", "probes.jsonl", "run.json", "results.json", "suite.json", "summary.txt",
    "report.html", "junit.xml", "harness.log", "acknowledged", "nodes", "nodes/n1", "nodes/n1/register.log",
    "nodes/n1/alarms-1.json", "plots", "plots/rate.svg", "tables", "tables/operations.parquet", "tables/manifest.json",
]  # fmt: skip
VERBS = [
    ["check"], ["show"], ["report"], ["export", "--format", "csv"], ["export", "--format", "perfetto"], ["ingest"],
    ["ack", "--reason", "x"], ["shrink"], ["replay"],
]  # fmt: skip
SECRET = "a secret of this machine\n"


def to_a_file(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "secret")


def to_a_directory(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def to_nothing(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "new")


def pipe(path: Path, _outside: Path) -> None:
    os.mkfifo(path)


PLANTS = [to_a_file, to_a_directory, to_nothing, pipe]
#: Each place with one thing in it, by turns.
SAMPLE = {(place, PLANTS[turn % len(PLANTS)]) for turn, place in enumerate(PLACES)}


def cases(quick: Container[tuple[str, object]]) -> list[Any]:
    """Every place with everything in it; those that are not quick are for the nightly tests."""
    return [
        pytest.param(place, plant, marks=() if (place, plant) in quick else pytest.mark.nightly)
        for place in PLACES
        for plant in PLANTS
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    return record(tmp_path_factory.mktemp("whole"))


def planted(whole: RunFiles, tmp_path: Path, place: str, plant: Callable[[Path, Path], None]) -> tuple[Path, Path]:
    """A copy of the run in a store with what was planted there, and the directory that it leads to."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    root = tmp_path / "store" / whole.root.parent.name / whole.root.name
    shutil.copytree(whole.root, root)
    path = root / place
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    plant(path, outside)
    return root, outside


def require_untouched(root: Path, before: list[Path], outside: Path) -> None:
    assert sorted(root.rglob("*")) == before
    assert [one.name for one in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == SECRET


@pytest.mark.parametrize(("place", "plant"), cases(SAMPLE))
def test_every_verb_refuses_the_run_by_its_name(
    whole: RunFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    place: str, plant: Callable[[Path, Path], None],
) -> None:  # fmt: skip
    root, outside = planted(whole, tmp_path, place, plant)
    monkeypatch.chdir(outside)
    before = sorted(root.rglob("*"))
    for words in VERBS:
        code = run_command([words[0], str(root), *words[1:], "--store", str(tmp_path / "store")])
        said = capsys.readouterr()
        assert (code, f"/{place}: it is " in said.err) == (254, True), (words, said.err)
        assert SECRET.strip() not in said.out + said.err
    require_untouched(root, before, outside)


@pytest.mark.parametrize(("place", "plant"), cases({("plan.json", to_a_file), ("history.jsonl", pipe)}))
def test_its_store_is_listed_brought_and_served_without_it(
    whole: RunFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, plant: Callable[[Path, Path], None]
) -> None:
    root, outside = planted(whole, tmp_path, place, plant)
    monkeypatch.chdir(outside)
    before = sorted(root.rglob("*"))
    assert run_command(["ls", "--store", str(tmp_path / "store")]) == 0
    assert run_command(["ingest", "--store", str(tmp_path / "store")]) in (0, 255)
    write_site(tmp_path / "store", tmp_path / "site")
    served = [one.read_text(errors="replace") for one in (tmp_path / "site").rglob("*") if one.is_file()]
    assert not any(SECRET.strip() in text for text in served)
    require_untouched(root, before, outside)
