"""Fault windows, their families and words, topology, and the commands that repeat a run."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import reports
from history import UNAPPLIED, Event, Operation, Receipt, RunFiles, receipts_of
from history.columns.operations import from_operations
from history.metrics.recovery import CALM_S
from history.records.events import Phase
from reports.analysis import faults, topology
from reports.analysis.faults import late_of
from reports.load.run import commands_of, read_run
from reports.page.series import fault_data
from reports.style.palette import FAULT_COLOURS, family_of, fault_styles
from reports.text.recovery import way_back
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import recorded_run

S = 10**9


NODES = ("n1", "n2", "n3", "n4", "n5")


def ok(at_s: float, process: int = 0, outcome: str = "ok", took_ms: float = 1) -> Operation:
    start, stop = int(at_s * S - took_ms * 1e6), int(at_s * S)
    return Operation(process, "read", "k", None, 1, outcome, start, stop, start, stop, "n1", None, "main")  # type: ignore[arg-type]


def test_figures_are_of_operations_that_were_applied_whatever_a_table_says() -> None:
    operations = [ok(0.1 * n) for n in range(1, 50)] + [ok(7.5)] + [ok(10 + 0.1 * n) for n in range(30)]
    operations += [replace(ok(8 + 0.01 * n, process=1), error=UNAPPLIED) for n in range(100)]
    receipt = Receipt(3, "bridge", "installed", 5 * S, stood=5 * S, heal_started=8 * S, healed=8 * S, witness={"a": 1})
    skipped = Receipt(4, "bridge", "skipped", 9 * S)
    run = SimpleNamespace(
        operations=from_operations(operations),
        receipts=[receipt, skipped],
        end=13 * S,
        fault_rows={},
        state={},
        nodes=NODES,
    )
    window, other = faults.fault_windows(run, [])  # type: ignore[arg-type]
    assert window.rate_before == pytest.approx(10, rel=0.05)
    assert window.rate_during == pytest.approx(1 / 3)
    assert window.longest_gap_ms == pytest.approx(2500)
    assert window.first_ok_ms == pytest.approx(2000)
    assert window.recovered_ms == pytest.approx(2000)
    assert (other.rate_before, other.first_ok_ms) == (None, None)
    assert window.kinds["read"]["recovered_ms"] == window.recovered_ms
    run.fault_rows = {3: {"rate_before": 99.0}}
    assert faults.fault_windows(run, [])[0].rate_before == window.rate_before  # type: ignore[arg-type]
    run.operations = from_operations([])
    assert faults.fault_windows(run, [])[0].rate_before == 99.0  # type: ignore[arg-type]


@pytest.mark.parametrize(("phase", "kinds"), [("main", {"read", "write"}), ("final", {"read"})])
def test_a_kind_that_is_requested_only_at_the_end_has_no_figures(phase: Phase, kinds: set[str]) -> None:
    """Else it would seem not to have come back before the end."""
    reads = [ok(0.1 * n) for n in range(1, 150)]
    others = [replace(ok(20 + 0.1 * n, process=1), f="write", phase=phase) for n in range(20)]
    receipt = Receipt(3, "bridge", "installed", 5 * S, stood=5 * S, heal_started=8 * S, healed=8 * S, witness={"a": 1})
    run = SimpleNamespace(
        operations=from_operations([*reads, *others]),
        receipts=[receipt],
        end=25 * S,
        fault_rows={},
        state={},
        nodes=NODES,
    )
    (window,) = faults.fault_windows(run, [])  # type: ignore[arg-type]
    assert set(window.kinds) == kinds


@pytest.mark.parametrize(
    ("healed", "last_answer", "measured"),
    [(11.0, 20.0, None), (19.0, 20.0, 3.0), (11.0, 6.5, 0.5), (11.0, 5.5, None)],
)
def test_a_rate_during_a_small_part_of_a_fault_says_so(
    healed: float, last_answer: float, measured: float | None
) -> None:
    """It is taken from ``stood`` to the first command of the healing, while clients asked."""
    receipt = Receipt(
        1, "bridge", "installed", 5 * S, stood=6 * S, heal_started=9 * S, healed=int(healed * S), witness={"a": 1}
    )
    asked = from_operations([ok(1), ok(last_answer)])
    run = SimpleNamespace(operations=asked, receipts=[receipt], end=30 * S, fault_rows={}, state={}, nodes=NODES)
    (window,) = faults.fault_windows(run, [])  # type: ignore[arg-type]
    assert window.measured_s == (None if measured is None else pytest.approx(measured))


@pytest.mark.parametrize(
    ("grudge", "leader", "cut"),
    [
        ({"n1": ["n2", "n3", "n4"]}, "n1", True),
        ({"n1": ["n2", "n3"], "n2": ["n1"], "n3": ["n1"]}, "n1", False),
        ({n: ["n1"] for n in NODES[1:]}, "n1", True),
        ({n: ["n1"] for n in NODES[1:]}, "n2", False),
        ({}, None, None),
    ],
)
def test_whether_the_leader_still_reaches_a_majority(
    grudge: dict[str, list[str]], leader: str | None, cut: bool | None
) -> None:
    assert faults.leader_cut(leader, grudge, NODES) is cut


def test_the_leaders_majority_is_one_of_the_members() -> None:
    grudge = {"n3": ["n4", "n5"]}
    assert faults.leader_cut("n3", grudge, NODES) is False  # with n1 and n2 three of five
    assert faults.leader_cut("n3", grudge, NODES[1:]) is True  # n1 keeps no data: with n2 two of four


def test_links_are_kept_cut_or_one_way() -> None:
    network = topology.network(NODES, {"n1": ("n2",), "n2": ("n1",), "n3": ("n4",)}, ("n5", "n9"))
    states = {frozenset((link.source, link.target)): link for link in network.links}
    assert len(states) == 10
    assert states[frozenset(("n1", "n2"))].state == "cut"
    one_way = states[frozenset(("n3", "n4"))]
    assert (one_way.state, one_way.source, one_way.target) == ("one-way", "n3", "n4")
    assert sum(link.state == "kept" for link in network.links) == 8
    assert network.struck == ("n5",)


@pytest.mark.parametrize("count", range(10))
def test_positions_are_on_the_unit_circle_from_the_top(count: int) -> None:
    places = topology.positions(tuple(f"n{n}" for n in range(count)))
    assert len(places) == count
    if count > 1:
        assert places["n0"][0] == pytest.approx(0.5)
        assert places["n0"][1] == pytest.approx(0.0, abs=1e-6)
        assert all(abs((x - 0.5) ** 2 + (y - 0.5) ** 2 - 0.25) < 1e-6 for x, y in places.values())


@pytest.mark.parametrize(
    ("recorded", "family"), [("kill", "kill"), ("disk", "disk"), ("", "other"), ("a family of later", "other")]
)
def test_the_family_of_a_fault_is_its_receipts_or_neutral(recorded: str, family: str) -> None:
    assert family_of(recorded) == family
    assert f".f-{family} {{ fill: {FAULT_COLOURS[family]}; }}" in fault_styles()


def test_receipts_become_windows_even_without_a_healing() -> None:
    value = {"action": "inject", "id": 0, "nodes": ["n1"], "targets": {"grudge": {"n1": ["n2"]}}}
    events = [Event(0, S, "invoke", "nemesis", "bridge", value)]
    (receipt,) = receipts_of(events)
    assert faults.grudge_of(receipt) == {"n1": ("n2",)}
    assert receipt.state == "indeterminate"


@pytest.mark.parametrize(
    ("witness", "nodes"),
    [({"successor": "n1"}, ("n5", "n1")), ({"successor": "n5"}, ("n5",)), ({"successor": 3}, ("n5",)), ({}, ("n5",))],
)
def test_a_successor_that_was_killed_is_named_as_struck(witness: dict[str, object], nodes: tuple[str, ...]) -> None:
    receipt = Receipt(0, "kill-leader-then-successor", "installed", S, ("n5",), witness={"pids_gone": 2, **witness})
    run = SimpleNamespace(operations=from_operations([ok(1)]), receipts=[receipt], fault_rows={}, state={}, nodes=NODES)
    (window,) = faults.fault_windows(run, [])  # type: ignore[arg-type]
    assert window.nodes == nodes


def test_what_a_fault_does_is_reported_in_the_words_of_its_receipt(fresh: Maker) -> None:
    files = fresh("valid")
    history = files.history.read_text()
    own = '"family":"partition","summary":"what a partition-majorities-ring does"'
    assert own in history

    def page(reported: str) -> str:
        files.history.write_text(history.replace(own, reported))
        reports.write_report(files)
        return files.report.read_text()

    reported = page('"family":"disk","summary":"cuts <all> links"')
    assert reported.count('<dd class="quiet">cuts &lt;all&gt; links</dd>') == 1
    assert 'class="f-disk"' in reported
    older = page('"older":true')
    assert 'class="does"' not in older
    assert 'class="f-other"' in older


def test_a_fault_that_was_aimed_at_several_targets_says_what_it_does_to_each() -> None:
    said = ["stops all", "here aimed at n1; by default: stops all", "stops all", ""]
    receipts = [Receipt(n, "kill", "installed", n * S, summary=text, witness={"a": 1}) for n, text in enumerate(said)]
    run = SimpleNamespace(operations=from_operations([ok(1)]), receipts=receipts, fault_rows={}, state={}, nodes=NODES)
    windows = faults.fault_windows(run, [])  # type: ignore[arg-type]
    assert faults.summaries_of(windows) == [("kill", said[0]), ("kill", said[1])]


@pytest.mark.parametrize(
    ("plan", "reported"),
    [
        ({"command": "harness run --seed 1"}, [("run again", "harness run --seed 1")]),
        (
            {"command": "harness run --system zk@3", "version": "3", "replay_command": "harness replay r"},
            [("run again", "harness run --system zk@3"), ("replay the faults", "harness replay r")],
        ),
        (
            {"command": "harness run --schedule r/plan.json --dledger-version 0.3.2", "schedule": [{"at_s": 1}]},
            [("run again", "harness run --schedule r/plan.json --dledger-version 0.3.2")],
        ),
        ({}, []),
    ],
)
def test_a_command_says_what_it_repeats(plan: dict[str, object], reported: list[tuple[str, str]]) -> None:
    assert commands_of(plan) == reported
    assert commands_of(plan, faults=False) == [one for one in reported if one[0] != "replay the faults"]


@pytest.mark.parametrize(
    ("cut", "text"),
    [
        ((("n1", "n5"), ("n2", "n3", "n4")), "n2 n3 n4 | n1 n5"),
        ((("n1", "n5"), ("n2", "n3")), "n2 n3 | n1 n5, n4 meets all"),
        ((("n1",), ("n2", "n3")), "n2 n3 | n1, n4 n5 meet all"),
        ((), ""),
    ],
)
def test_who_meets_all_sides_of_a_cut_is_reported_beside_them(cut: tuple[tuple[str, ...], ...], text: str) -> None:
    grudge = {node: [peer for other in cut if other != side for peer in other] for side in cut for node in side}
    assert faults.sides_text(grudge, ["n1", "n2", "n3", "n4", "n5"], "n2") == text


def test_charts_know_when_a_fault_stood_for_certain_and_when_it_was_installed_and_healed() -> None:
    operations = from_operations([ok(0.1 * n) for n in range(1, 130)])
    receipt = Receipt(3, "bridge", "installed", 5 * S, stood=6 * S, heal_started=8 * S, healed=9 * S, witness={"a": 1})
    unhealed = Receipt(4, "bridge", "indeterminate", 10 * S)
    run = SimpleNamespace(
        operations=operations, receipts=[receipt, unhealed], end=13 * S, fault_rows={}, state={}, nodes=NODES
    )
    drawn = [fault_data(window, 13.0) for window in faults.fault_windows(run, [])]  # type: ignore[arg-type]
    assert [[one[name] for name in ("start", "stood", "heal", "end")] for one in drawn] == [
        [5, 6, 8, 9],
        [10, None, None, 10],
    ]


@pytest.mark.parametrize(
    ("after", "until"), [("installed", "before the next"), ("skipped", "by the end"), (None, "by the end")]
)
def test_the_table_of_faults_shows_sides_and_who_was_late(fresh: Maker, after: str | None, until: str) -> None:
    files = fresh("valid")
    results = json.loads(files.results.read_text())
    (window,) = results["windows"][:1]
    if after:
        begun = {"id": window["id"] + 1, "started": window["healed"], "state": after, "behind": [], "silent": []}
        results["windows"].append({**window, **begun})
    window |= {"caught_up": {"nodes": {"n1": 3.0, "n2": None, "n3": None, "n4": None}}, "behind": ["n2", "n4"]}
    window["silent"] = ["n4"]
    files.results.write_text(json.dumps(results))
    run = read_run(files)
    assert late_of(run) == {0: f"not caught up {until}: n2; never answered again: n4"}
    reports.write_report(files)
    assert f"not caught up {until}: n2; never answered again: n4" in files.report.read_text()


@pytest.mark.parametrize(
    ("first", "healed", "given"),
    [
        ("n1", 30, "not caught up by the end: n5; n1 still under #7"),
        ("n1", None, "not caught up by the end: n5; n1 still under #7"),
        ("n1", 8, "not caught up by the end: n1 n5"),
        ("n2", 30, "not caught up by the end: n1 n5"),
    ],
)
def test_a_node_still_down_from_an_earlier_fault_is_not_late_for_a_later_one(
    first: str, healed: int | None, given: str
) -> None:
    """n1 was killed by a fault that stood from 4 to 30 s, and another one struck n5 from 6 to 10 s."""
    struck = (first,)
    earlier = Receipt(7, "kill", "installed", 4 * S, healed=healed and healed * S, nodes=struck, witness={"pid": 1})
    later = Receipt(8, "kill", "installed", 6 * S, healed=10 * S, nodes=("n5",), witness={"pid": 1})
    window = {"id": 8, "state": "installed", "started": 6 * S, "healed": 10 * S, "behind": ["n1", "n5"], "silent": []}
    run = SimpleNamespace(results={"windows": [window]}, receipts=[earlier, later])
    assert late_of(run) == {8: given}  # type: ignore[arg-type]


FIGURES = {"rate_before": 80.0, "rate_after": 0.0, "first_ok_ms": None, "recovered_ms": None}


@pytest.mark.parametrize(
    ("row", "asked", "given"),
    [
        ({"first_ok_ms": 4.0, "recovered_ms": 900.0}, True, ("4", "900")),
        ({"first_ok_ms": 4.0, "recovered_ms": 900.0, "rate_before": 0.0}, True, ("4", "no rate before")),
        ({"first_ok_ms": 4.0, "recovered_ms": 900.0, "rate_before": 1.3}, True, ("4", "too few to tell")),
        ({"first_ok_ms": 4.0, "recovered_ms": 900.0, "rate_before": 6.3}, True, ("4", "too few to tell")),
        ({"first_ok_ms": 4.0, "recovered_ms": 900.0, "rate_before": 6.4}, True, ("4", "900")),
        ({"rate_before": 1.3}, True, ("never", "never")),
        ({"first_ok_ms": 4.0}, True, ("4", "never")),
        ({"rate_after": None}, True, ("never", "never")),
        ({"rate_before": None}, True, ("never", "never")),
        ({"rate_after": None}, False, ("not asked", "no rate after")),
        ({"rate_after": None}, None, ("none", "no rate after")),
        ({"rate_before": None, "first_ok_ms": 4.0}, True, ("4", "no rate before")),
        ({"first_ok_ms": 4.0, "state": "indeterminate"}, True, ("4", "not back")),
        ({"healed": None}, False, ("not healed", "not healed")),
        ({"state": "skipped"}, True, ("–", "–")),
    ],
)
def test_never_unknown_and_not_asked_read_differently(
    row: dict[str, Any], asked: bool | None, given: tuple[str, str]
) -> None:
    """p02 had an untinted dash beside two faults after which nothing ever succeeded, and a red *never* beside one."""
    assert way_back({"state": "installed", "healed": 9, **FIGURES, **row}, asked=asked) == given


@pytest.mark.parametrize(
    ("outcome", "given"), [("ok", ("1,000", "no rate after")), ("fail", ("never", "never")), (None, ("not asked",) * 2)]
)
def test_a_row_says_never_also_where_the_next_fault_came_at_once(outcome: str | None, given: tuple[str, str]) -> None:
    operations = [ok(0.1 * n) for n in range(1, 50)]
    operations += [ok(10 + 0.1 * n, outcome=outcome) for n in range(30)] if outcome else []
    first = Receipt(1, "kill", "installed", 5 * S, stood=5 * S, heal_started=8 * S, healed=9 * S, witness={"a": 1})
    second = Receipt(2, "kill", "installed", 9 * S + S // 10, witness={"a": 1})
    run = SimpleNamespace(
        operations=from_operations(operations),
        receipts=[first, second],
        end=13 * S,
        fault_rows={},
        state={},
        nodes=NODES,
    )
    window, unhealed = faults.fault_windows(run, [])  # type: ignore[arg-type]
    back = way_back(asdict(window), asked=bool(window.asked))
    assert back == given if outcome else back[0] == given[0]
    assert way_back(asdict(unhealed), asked=bool(unhealed.asked)) == ("not healed", "not healed")


def test_of_results_that_do_not_say_whom_a_probe_asked_no_node_is_late(fresh: Maker) -> None:
    files = fresh("valid")
    results = json.loads(files.results.read_text())
    results["windows"][0]["caught_up"] = {"nodes": {"n1": 3.0, "n2": None}}
    files.results.write_text(json.dumps(results))
    assert late_of(read_run(files)) == {}


def test_every_rate_of_the_table_of_faults_says_over_which_span_it_was_taken(tmp_path: Path) -> None:
    """A run without a fault has no rates, and says nothing of spans."""
    files = RunFiles(recorded_run("stale-reads", tmp_path))
    reports.write_report(files)
    page = files.report.read_text()
    assert '<a href="#words">' in page.partition('<table class="faults">')[0].rpartition('<section id="faults"')[2]
    words = page.partition('<section id="words"')[2]
    assert f"<em>before</em>: over the {CALM_S} s before the fault" in words
    assert "<em>after</em>: from when it was healed until the next fault or the end of the load" in words
    calm = RunFiles(tmp_path / "calm")
    shutil.copytree(files.root, calm.root)
    lines = [line for line in calm.history.read_text().splitlines(keepends=True) if '"process":"nemesis"' not in line]
    calm.history.write_text("".join(lines))
    results = json.loads(calm.results.read_text())
    calm.results.write_text(json.dumps(results | {"receipts": [], "windows": []}))
    reports.write_report(calm)
    assert "No fault was started." in calm.report.read_text()
    assert 'id="rates-span"' not in calm.report.read_text()


@pytest.mark.slow
def test_the_moments_of_a_fault_have_one_word_each_on_page_and_terminal(tmp_path: Path) -> None:
    """Begun at its first command, standing when all of it is in place, healed when all is undone, by the raw file."""
    root = recorded_run("data-lost", tmp_path)
    files = RunFiles(root)
    reports.write_report(files)
    steps: dict[int, dict[str, float]] = {}
    for line in files.history.read_text().splitlines()[1:]:
        event = json.loads(line)
        if event["process"] == "nemesis" and "id" in (event.get("value") or {}):
            step = (event["value"]["action"], event["type"])
            steps.setdefault(event["value"]["id"], {}).setdefault("/".join(step), event["time"] / S)
    rows = re.findall(r'<tr id="fault-(\d+)".*?</tr>', files.report.read_text(), re.DOTALL)
    assert rows == [str(one) for one in steps]
    shown = reports.render_run(files)
    for number, moments in steps.items():
        row = files.report.read_text().partition(f'<tr id="fault-{number}"')[2].partition("</tr>")[0]
        cells = dict(re.findall(r'data-label="((?:begun|in effect|healed)[^"]*)">(.*?)</td>', row))
        begun, *_, healed = moments.values()
        assert float(cells["begun, s"]) == pytest.approx(begun, abs=0.006)
        assert float(cells["healed, s"]) == pytest.approx(healed, abs=0.006)
        stood, until = map(float, cells["in effect, s"].split(" –<br>"))
        assert begun < stood < until < healed
        (figures,) = [one.split() for one in shown.splitlines() if re.match(rf" *{number} kill-", one)]
        assert (f"{begun:.1f}", f"{healed:.1f}") == (figures[3], figures[4])
    assert "length" not in files.report.read_text().partition('id="faults"')[2].partition("</thead>")[0]
