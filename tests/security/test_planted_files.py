"""Links, pipes, sockets and devices in every place of a run: every verb refuses it by their name, and changes nothing.

So do the verbs that take another tool's directory, and those that write beside a file.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import run_command
from history import RunFiles
from reports.site.site import write_site
from tests.support.harness.recorded_run import record

PLACES = [
    "plan.json", "system.toml", "history.jsonl", "probes.jsonl", "run.json", "results.json", "suite.json",
    "summary.txt", "report.html", "junit.xml", "harness.log", "acknowledged", "other", "nodes", "nodes/n1",
    "nodes/n1/register.log", "nodes/n1/alarms-1.json", "plots", "plots/rate.svg", "tables",
    "tables/operations.parquet", "tables/manifest.json",
]  # fmt: skip
VERBS = [
    ["check"], ["show"], ["report"], ["export", "--format", "csv"], ["export", "--format", "perfetto"], ["ingest"],
    ["ack", "--reason", "x"], ["shrink"], ["replay"], ["report", "--plots"], ["diff", "."],
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


def socket(path: Path, _outside: Path) -> None:
    os.mknod(path, stat.S_IFSOCK | 0o600)


def device(path: Path, _outside: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes devices")
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero, which never ends


PLANTS = [to_a_file, to_a_directory, to_nothing, pipe, socket, device]
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
        others = [str(root) if word == "." else word for word in words[1:]]
        code = run_command([words[0], str(root), *others, "--store", str(tmp_path / "store")])
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


LOG = "INFO  [worker 0] jepsen.util: 0\t:invoke\t:write\t3\nINFO  [worker 0] jepsen.util: 0\t:ok\t:write\t3\n"
FILE_VERBS = [["check"], ["check", "--explain-format"], ["report"], ["shrink"], ["ingest"]]


@pytest.mark.parametrize("plant", [plant for plant in PLANTS if plant is not to_a_directory])
@pytest.mark.parametrize(
    "place", ["history.edn", "test.jepsen", "history.edn.gz", "results.edn", "client-1", "client-1/operations.json"]
)
def test_another_tools_directory_is_refused_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str, plant: Callable[[Path, Path], None]
) -> None:
    """Not even a history beside it is judged, which might be the worse one."""
    outside, root = tmp_path / "outside", tmp_path / "received"
    outside.mkdir()
    (outside / "secret").write_text(LOG)
    (outside / "operations.json").write_text(LOG)
    root.mkdir()
    (root / place).parent.mkdir(exist_ok=True)
    plant(root / place, outside)
    if not place.startswith("client"):
        (root / "history.txt").write_text(LOG)
    reading = FILE_VERBS[:1] if place == "results.edn" else FILE_VERBS  # which only checks compare
    for words in reading:
        code = run_command([words[0], str(root), *words[1:], "--store", str(tmp_path / "store")])
        said = capsys.readouterr()
        if place == "client-1" and plant in (pipe, socket, device):
            continue  # no client's directory
        assert (code, f"{root}/{place}" in said.err) == (254, True), (words, said.err)
    assert sorted(one.name for one in outside.iterdir()) == ["operations.json", "secret"]
    assert (outside / "secret").read_text() == LOG


@pytest.mark.parametrize("plant", [to_a_file, to_nothing, pipe, device])
def test_what_is_written_beside_a_file_follows_no_link(
    whole: RunFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str], plant: Callable[[Path, Path], None]
) -> None:
    outside, root = tmp_path / "outside", tmp_path / "received"
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    root.mkdir()
    shutil.copy(whole.history, root / "h.jsonl")
    plant(root / "h.jsonl.report.html", outside)
    before = sorted(root.rglob("*"))
    assert run_command(["report", str(root / "h.jsonl")]) == 255
    assert f"{root}/h.jsonl.report.html: it is " in capsys.readouterr().err
    require_untouched(root, before, outside)
