"""A suite from its command line to its exit code, with toys for cluster and runs; and a night around it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from harness.cli.main import run_command
from harness.errors import ClusterBusyError, ClusterError
from harness.suite import session
from harness.suite.cell_process import Attempt
from harness.suite.cells import Cell
from harness.suite.journal import alone
from history import extras
from tests.support.harness.suite_toys import attempt, leave_run
from tests.support.mutations import ODD, changed_at, places

SUITE = """\
budget = "1h"
retries = 1
[[matrix]]
nemesis = ["bridge", "hammer-time", "bridge,hammer-time"]
version = ["0.3.2", "0.4.0"]
"""


class World:
    """``ends`` maps a cell's place to its outcome; all others pass."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ends: dict[str, str] = {}
        self.ran: list[Cell] = []
        self.clusters: list[str] = []
        self.ours: list[bool] = []
        self.broken = ""

    def run_cell(self, cell: Cell, store: Path, log: Path, look: Callable[[], bool]) -> Attempt:
        self.ran.append(cell)
        look()
        outcome: Any = self.ends.get(cell.name, "passed")
        if outcome == "interrupted":
            return Attempt(cell.name, "not-run", 130)
        known = {"passed": "valid", "violation": "invalid"}
        root = leave_run(store, cell.plan, verdict=known.get(outcome, "unknown"), sentence=outcome,
                         name=f"2026010{len(self.ran)}T000000.000Z-{cell.plan.seed}")  # fmt: skip
        return attempt(cell.name, outcome, run=str(root.relative_to(store)))

    def cluster(self, plan: Any, say: Any, *, ours: bool) -> Any:
        world = self
        self.ours.append(ours)

        class Warm:
            renewed = 0
            ours = True

            def __enter__(self) -> Self:
                if world.broken:
                    raise ClusterError(world.broken)
                world.clusters.append(plan.cluster)
                return self

            def __exit__(self, *_: object) -> None: ...

            def reset(self) -> tuple[str, ...]:
                return ()

        return Warm()

    def __call__(self, *words: str, verb: str = "suite") -> int:
        return run_command([verb, str(self.path / "toy.toml"), "--store", str(self.path / "store"), *words])

    @property
    def folder(self) -> Path:
        return self.path / "store" / "suites" / "toy" / "latest"

    @property
    def results(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "results.json").read_text())
        return found


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path)
    (tmp_path / "toy.toml").write_text(SUITE)
    monkeypatch.setattr(session, "run_cell", world.run_cell)
    monkeypatch.setattr(session, "WarmCluster", world.cluster)
    monkeypatch.setattr(session, "fetch", lambda *_: {})
    monkeypatch.setattr(session, "require_usable", lambda spec: None)
    return world


BRIDGE = "register-bridge-0.3.2"


def test_all_green(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world("--cluster", "netns:x") == 0
    assert (len(world.ran), world.clusters) == (6, ["netns:x"])
    assert {cell.plan.cluster for cell in world.ran} == {"netns:x"}
    assert world.results["counts"] == {"passed": 6}
    for name in ("suite.json", "attempts.jsonl", "summary.txt", "summary.md", "junit.xml"):
        assert (world.folder / name).stat().st_size > 0, name
    assert (world.path / "store" / "site" / "index.html").exists()
    reported = capsys.readouterr().out
    assert "6 passed" in reported
    assert "0 judged through Spark, 6 in their own process" in reported


def test_without_spark_a_suite_whose_cells_need_it_is_refused_before_anything_starts(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world.ends = {BRIDGE: "interrupted"}
    (world.path / "toy.toml").write_text(f"{SUITE}spark = true\n")
    assert world("--no-site") == 130
    before = [*world.clusters]
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "pyspark" else object())
    capsys.readouterr()
    for words in ([], ["--resume"]):
        assert world("--no-site", *words) == 254
        said = capsys.readouterr().err
        assert "pyspark is not installed: pip install 'dledger-harness[spark]', or leave it out: --no-spark" in said
        assert said.count("\n") == 1
    assert world.clusters == before
    assert len(list(world.folder.parent.glob("2*"))) == 1
    for instead in ("spark = false", 'skip = "not now"'):
        (world.path / "toy.toml").write_text(f"{SUITE}{instead}\n")
        assert world("--no-site") != 254


def test_as_a_document_it_is_its_results_and_the_rows_go_to_standard_error(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.ends = {BRIDGE: "violation"}
    assert world("--no-site", "--json") == 1
    output = capsys.readouterr()
    assert json.loads(output.out) == {**world.results, "directory": str(world.folder.resolve())}
    assert output.out.count("\n") == 1
    assert "1 violation" in output.err
    assert world("--dry-run", "--json") == 254


@pytest.mark.parametrize(
    ("outcome", "code"), [("violation", 1), ("missing-violation", 1), ("unknown", 2), ("harness-failure", 255)]
)
def test_one_that_is_not(world: World, outcome: str, code: int) -> None:
    world.ends = {BRIDGE: outcome}
    assert world("--no-site") == code
    assert world.results["retried"] == (1 if outcome == "harness-failure" else 0)


def test_each_run_carries_how_it_ended(world: World) -> None:
    world.ends = {BRIDGE: "violation"}
    world("--no-site")
    notes = {
        note["cell"]: note["as_expected"]
        for path in (world.path / "store").glob("*/2*/suite.json")
        if (note := json.loads(path.read_text()))
    }
    assert len(notes) == 6
    assert [name for name, fine in notes.items() if not fine] == [BRIDGE]


def test_a_shard_a_nemesis_a_version_and_a_length_of_ones_own(world: World) -> None:
    assert world("--no-site", "--shard", "2/2") == 0
    assert [cell.plan.version for cell in world.ran] == ["0.4.0"] * 3
    world.ran.clear()
    assert world("--no-site", "--nemesis", "bridge", "--system", "dledger@0.3.2", "--time-limit", "33") == 0
    assert [(cell.name, cell.plan.time_limit) for cell in world.ran] == [(BRIDGE, 33.0)]
    world.ran.clear()
    assert world("--no-site", "--system", "dledger", "-n", "bridge, hammer-time", "-n", "hammer-time") == 0
    assert len(world.ran) == 4


def test_a_shard_that_no_cell_falls_to_has_nothing_to_say(world: World) -> None:
    assert world("--no-site", "--shard", "7/7") == 0
    assert (world.ran, world.clusters, world.results["cells"]) == ([], [], [])


def test_a_seed_decides_all_of_them(world: World) -> None:
    world("--no-site", "--seed", "5")
    first = [cell.plan.seed for cell in world.ran]
    world.ran.clear()
    world("--no-site", "--seed", "6")
    assert set(first).isdisjoint(cell.plan.seed for cell in world.ran)
    assert world.results["seed"] == 6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--shard", "3/2"], "expected I/N"),
        (["--nemesis", "kill-all"], "toml matches --nemesis kill-all; `harness suite"),
        (["--system", "dledger@0.9"], "toml matches --system dledger@0.9; `harness suite"),
        (["--system", "zookeeper"], "no cell of"),
        (["--budget", "soon"], "--budget must be a length of time"),
        (["--time-limit", "5"], "leaves no room for a calm and a fault"),
        (["--retries", "9"], "--retries"),
        (["--resume"], "no run of toy"),
        (["--cluster", "cloud"], "expected netns"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_touched(
    world: World, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert world(*words) == 254
    assert message in capsys.readouterr().err
    assert world.ran == []
    assert not (world.path / "store").exists()


def test_a_cut_suite_goes_on_where_it_was(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.ends = {"register-hammer-time-0.3.2": "interrupted"}
    assert world("--no-site", "--seed", "5") == 130
    assert world.results["counts"] == {"passed": 2, "not-run": 4}
    begun = [cell.name for cell in world.ran]
    world.ends, world.ran = {}, []
    assert world("--resume", "--shard", "1/2") == 254
    assert "started with --shard 1/1" in capsys.readouterr().err
    assert world("--resume", "--seed", "6") == 254
    assert "leave out --seed" in capsys.readouterr().err
    (world.path / "toy.toml").write_text(SUITE.replace('"bridge",', ""))
    assert world("--no-site", "--resume") == 0
    assert begun[-1] == world.ran[0].name
    assert len(world.ran) == 4
    assert world.results["seed"] == 5
    assert world.ours == [False, True]
    assert world("--resume") == 254
    assert "no run of toy" in capsys.readouterr().err


def test_a_run_that_was_under_way_when_the_suite_was_killed_keeps_its_violation(world: World) -> None:
    world.ends = {"register-hammer-time-0.3.2": "interrupted"}
    assert world("--no-site", "--seed", "5") == 130
    cut, ran = world.ran[-1], len(world.ran)
    run = leave_run(world.path / "store", cut.plan, name=f"29990101T000000.000Z-{cut.plan.seed}",
                    verdict="invalid", sentence="linearizable: no", checks=[], keys=[])  # fmt: skip
    assert world("--no-site", "--resume") == 1
    assert cut.name not in [cell.name for cell in world.ran[ran:]]
    found = next(row for row in world.results["cells"] if row["name"] == cut.name)
    assert (found["outcome"], found["run"]) == ("violation", str(run.relative_to(world.path / "store")))


def test_a_suite_is_run_by_one_session_at_a_time(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.ends = {"register-hammer-time-0.3.2": "interrupted"}
    assert world("--no-site") == 130
    before = world.results
    with alone(world.folder.resolve()):
        assert world("--no-site", "--resume") == 255
    assert f"the suite's run {world.folder.resolve()} is in use by pid" in capsys.readouterr().err
    assert world.results == before
    assert world("--resume", "--retries", "3") == 254
    assert "leave out --retries" in capsys.readouterr().err
    run_cell = world.run_cell

    def looked(*arguments: Any) -> Attempt:
        with pytest.raises(ClusterBusyError), alone(world.folder.resolve()):
            pass
        return run_cell(*arguments)

    world.ends, world.ran = {}, []
    monkeypatch.setattr(session, "run_cell", looked)
    assert world("--no-site", "--resume") == 0
    assert world("--no-site") == 0
    assert len(world.ran) == 4 + 6


def test_a_cluster_that_cannot_be_had_is_a_failure_of_the_harness(world: World) -> None:
    world.broken = "no root"
    assert world("--no-site") == 255
    assert world.results["harness_failure"] == "no root"
    assert world.results["counts"] == {"not-run": 6}


def test_a_site_that_cannot_be_drawn_changes_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.site.site.write_site", lambda *_: 1 / 0)
    assert world() == 0
    assert "the site cannot be written: ZeroDivisionError" in world.results["warnings"][0]


def test_dry_run_lists_the_cells_and_touches_nothing(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world("--dry-run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7
    assert "register-bridge+hammer-time-0.4.0" in lines[5]
    assert lines[-1].endswith("budget 60 min; 0 judged through Spark, 6 in their own process")
    assert not (world.path / "store").exists()


@pytest.mark.parametrize("every", [60, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_mutated_suite_costs_a_sentence_and_no_traceback_when_it_is_resumed(
    world: World, every: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (world.path / "toy.toml").write_text('[[matrix]]\nnemesis = ["bridge"]\n')
    world.ends = {"register-bridge-0.4.0": "interrupted"}
    assert world("--no-site") == 130
    assert world("--no-site", "--resume") == 130, capsys.readouterr().err
    root = world.folder.resolve()
    whole, wrong = json.loads((root / "suite.json").read_text()), list[str]()
    top = [(place, odd) for place in places(whole) if len(place) < 3 and place[:1] != ("cells",) for odd in ODD]
    inner = [(place, odd) for place in places(whole) if place[:1] == ("cells",) for odd in ODD]
    texts = [json.dumps(changed_at(whole, *case)) for case in [*top[:: max(1, every // 10)], *inner[::every]]]
    for text in [*texts, "{", "", "[" * 9000]:
        (root / "suite.json").write_text(text)
        for stream in (sys.stdout, sys.stderr):  # as the command does
            assert isinstance(stream, io.TextIOWrapper)
            stream.reconfigure(errors="backslashreplace")
        code = world("--no-site", "--resume")
        said = capsys.readouterr()
        lines = said.err.strip().splitlines()
        if code not in (0, 130, 254, 255) or "Traceback" in said.err or "bug of the harness" in said.err:
            wrong.append(f"{text[:90]}: {code}: {lines[-2:]}")
        if code == 254 and len(lines) != 1:
            wrong.append(f"{text[:90]}: {lines}")
        (root / "attempts.jsonl").unlink(missing_ok=True)
    assert wrong == []
