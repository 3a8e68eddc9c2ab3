"""The suites that come with the project: they can be run, and hold what they promise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.plan import Plan
from harness.suite.cells import Cell, likely_seconds
from harness.suite.runner import OVERHEAD_S
from harness.suite.suitefile import Suite, read_suite
from harness.systems import DEFAULT
from harness.systems.dledger.options import PLANTED_BUGS as DECLARED
from history import RunFiles
from history.metrics.recovery import LoadSpan
from history.recording import Recording
from history.tables.schemas import ALL_TABLES
from nemesis.faults.registry import FAULTS
from nemesis.schedule.conditions import AFTER_HEARTBEAT
from nemesis.schedule.steps import fault_names
from pipeline.tables.load_figures import OfLoad
from pipeline.tables.runs import run_row
from reports.load.run_row import row_of

PLANTED_BUGS = tuple(bug.name for bug in DECLARED)
FOLDER = Path(__file__).resolve().parents[3] / "suites"
UPSTREAM = {
    "partition-random-node", "partition-random-halves", "kill-random-processes", "crash-random-nodes", "hammer-time",
    "bridge", "partition-majorities-ring",
}  # fmt: skip

#: Planted bugs that show in every short run, or nearly; of the others ``bench.planted`` makes a table.
SEEN_BY_CLIENTS = {"stale-reads", "ack-before-commit"}
SHOWN_AT_ONCE = {*SEEN_BY_CLIENTS, "apply-twice", "skip-entry", "vote-twice"}


def suite(name: str) -> tuple[Suite, list[Cell]]:
    found = read_suite(FOLDER / f"{name}.toml")
    return found, found.cells(1, "netns")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_a_suite_is_described_and_likely_to_end_within_its_budget(path: Path) -> None:
    found, cells = suite(path.stem)
    assert found.description
    assert found.budget_s is not None
    assert sum(likely_seconds(cell.plan, OVERHEAD_S) for cell in cells if not cell.skip) < found.budget_s
    assert all(cell.expected.why for cell in cells if "invalid" in cell.expected.verdicts)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_no_cell_waits_for_heartbeats_that_cannot_be_recognized(path: Path) -> None:
    """The run would be refused."""
    waiting = [cell.plan for cell in suite(path.stem)[1] if AFTER_HEARTBEAT in str(cell.plan.schedule)]
    assert [plan.setup() for plan in waiting if not plan.under_test.surface(plan.setup()).heartbeat] == []
    assert waiting or path.stem != "rocketmq"


#: What these have in no journal, or on a disk that is emptied, a restart of all bookies loses by itself.
LOST_BY_A_RESTART = {"unjournaled", "wiped-bookies", "replaced-bookies"}
#: One is to be short, and a restart cuts the queues of the other's brokers by itself.
NOT_ALWAYS_RESTARTED = ("smoke", "rocketmq-brokers")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_all_nodes_are_restarted_at_the_end_and_read_again(path: Path) -> None:
    restarted = {True: set[str](), False: set[str]()}
    for cell in suite(path.stem)[1]:
        restarted[cell.plan.restart_at_end].add(cell.plan.planted_bug)
    assert "" in restarted[True] or path.stem == "planted-bugs"
    assert path.stem in NOT_ALWAYS_RESTARTED or restarted[False] <= LOST_BY_A_RESTART
    assert not restarted[True] & LOST_BY_A_RESTART


def test_smoke_is_short_and_has_both_twins() -> None:
    _, cells = suite("smoke")
    assert sum(likely_seconds(cell.plan, OVERHEAD_S) for cell in cells) < 200
    control, snapshots, planted = (cell.expected for cell in cells)
    assert planted.verdicts == ("invalid",)
    for good in (control, snapshots):
        assert (good.verdicts, good.kinds) == (("valid", "invalid"), ()), "invalid only by a known defect"
    assert any(cell.plan.planted_bug for cell in cells)
    assert any(cell.plan.options["snapshot"] for cell in cells)


def test_nightly_has_every_nemesis_on_both_versions_with_and_without_snapshots_and_the_planted_bugs() -> None:
    found, cells = suite("nightly")
    assert found.budget_s is not None
    assert found.budget_s < 3 * 3600
    assert "kill-one-process" in {name for cell in cells for name in fault_names(cell.plan.nemesis)}
    cells = [cell for cell in cells if cell.plan.system == DEFAULT]
    every = set(FAULTS) - {"kill-one-process", "promote-follower"}  # its server is one process, and it elects
    snapshots_only = {"isolate-until-snapshot"}
    for version, snapshot in (("0.3.2", False), ("0.4.0", False), ("0.4.0", True)):
        mode = [
            cell.plan for cell in cells if (cell.plan.version, cell.plan.options.get("snapshot")) == (version, snapshot)
        ]
        there = set(fault_names(turn for plan in mode for turn in plan.nemesis))
        assert there >= every - (set() if snapshot else snapshots_only), (version, snapshot)
    assert {cell.plan.planted_bug for cell in cells} >= SEEN_BY_CLIENTS
    assert [cell.expected.verdicts for cell in cells if cell.plan.planted_bug] == [("invalid",)] * 2


def test_upstream_has_the_seven_with_the_options_that_upstream_uses() -> None:
    _, cells = suite("upstream")
    assert {name for cell in cells for name in cell.plan.nemesis} == UPSTREAM
    assert {(cell.plan.rate, cell.plan.interval, cell.plan.time_limit) for cell in cells} == {(50.0, 15.0, 60.0)}
    assert {cell.plan.options["snapshot"] for cell in cells} == {False, True}


def test_every_planted_bug_must_be_found() -> None:
    _, cells = suite("planted-bugs")
    assert {cell.plan.planted_bug for cell in cells} == SHOWN_AT_ONCE
    assert {cell.expected.verdicts for cell in cells} == {("invalid",)}


@pytest.mark.parametrize("planted_bug", ["", *PLANTED_BUGS])
def test_runs_with_a_planted_bug_are_a_kind_of_their_own_in_every_trend(tmp_path: Path, planted_bug: str) -> None:
    plan = Plan(seed=1, version="0.3.2", options={"snapshot": True}, planted_bug=planted_bug).to_json()
    root = tmp_path / "toy" / "20260101T000000.000Z-1"
    root.mkdir(parents=True)
    (root / "plan.json").write_text(json.dumps(plan))
    wanted = f"0.3.2 snapshot planted-bug {planted_bug}" if planted_bug else "0.3.2 snapshot"
    assert row_of(RunFiles(root)).version == wanted
    empty = {name: schema.empty_table() for name, schema in ALL_TABLES.items()}
    assert (
        run_row(Recording(root), "toy/1", OfLoad({}, LoadSpan(0, 0, 0), []), empty, "x", 0)["system_version"] == wanted
    )
