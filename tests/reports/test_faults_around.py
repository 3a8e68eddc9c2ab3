"""One rule for the fault of a moment: the one that stood, else the last that had been healed, everywhere alike."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import reports
from history import RunFiles
from reports.analysis import faults, topology
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.text import terminal
from tests.support.reports.made import Maker
from tests.support.reports.raw import Raw
from tests.support.reports.recorded_runs import recorded_run


def test_what_comes_right_after_a_heal_names_the_fault_in_the_table_as_in_the_first_sentence(tmp_path: Path) -> None:
    """Falls of logs 50 and 110 ms after the heal of #1 stood under "none"."""
    files = RunFiles(recorded_run("logs-cut", tmp_path))
    assert reports.write_report(files).warnings == []
    raw, page = Raw(files.root), html.unescape(files.report.read_text())
    rows = re.findall(r'<tr data-at="([\d.]+)">.*?data-label="fault then">(.*?)</td>', page, re.DOTALL)
    assert len(rows) > 3
    calm = 0
    for at, cell in rows:
        standing = [n for n in (0, 1) if raw.fault(n)[1] <= float(at) <= raw.fault(n)[2]]
        if standing:
            assert re.findall(r'href="#fault-(\d+)"', cell) == list(map(str, standing))
        else:
            calm += 1
            ago = float(at) - raw.fault(1)[2]
            assert cell == f"none; #1 partition-majorities-ring was healed {ago:.1f} s before"
    assert calm >= 2


def test_a_moment_before_all_faults_or_under_one_has_no_healed_one(tmp_path: Path) -> None:
    windows = prepare(read_run(RunFiles(recorded_run("logs-cut", tmp_path)))).windows
    first, second = windows
    assert faults.healed_before(first.started - 0.1, windows) == ""
    assert faults.healed_before(second.started + 0.1, windows) == ""
    between = faults.healed_before((first.healed or 0) + 0.5, windows)
    assert between == "#0 partition-majorities-ring was healed 0.5 s before"


def test_a_counterexample_names_it_on_page_and_terminal(made: Maker, tmp_path: Path) -> None:
    drawn = prepare(read_run(made("invalid")))
    (violation,) = drawn.violations
    healed = replace(violation, faults=[], earlier=[], healed="#0 bridge was healed 0.3 s before")
    text = " ".join(terminal.render(replace(drawn, violations=[healed]), 200).split())
    assert "No fault was installed then; #0 bridge was healed 0.3 s before." in text
    files = RunFiles(recorded_run("element-lost", tmp_path))
    assert reports.write_report(files).warnings == []
    raw = Raw(files.root)
    (example,) = [one for key in raw.results["keys"] for one in key["counterexamples"]]
    ago = max(one["returned"] for one in example["operations"]) / 1e9 - raw.fault(0)[2]
    page = " ".join(files.report.read_text().split())
    assert f"No fault was installed then; #0 kill-followers was healed {ago:.1f} s before." in page


def test_a_node_that_an_earlier_fault_still_keeps_down_is_drawn_so_under_later_ones(tmp_path: Path) -> None:
    """n1 was down from 4.1 to 29.9 s, and was drawn as running under #1 and #2."""
    files = RunFiles(recorded_run("element-lost", tmp_path))
    drawn = prepare(read_run(files))
    struck = [set(topology.topology_of(one, drawn.run.nodes, drawn.windows).struck) for one in drawn.windows]
    assert struck == [{"n1"}, {"n1", "n5"}, {"n1", "n4"}]
    assert reports.write_report(files).warnings == []
    page = files.report.read_text()
    for number, down in enumerate(struck):
        figure = page.partition(f'<figure class="network" data-fault="{number}">')[2].partition("</figure>")[0]
        assert set(re.findall(r'class="node struck[^"]*" data-node="(n\d)"', figure)) == down


def test_a_fault_that_was_healed_before_another_stood_strikes_nothing_there(tmp_path: Path) -> None:
    drawn = prepare(read_run(RunFiles(recorded_run("replica-behind", tmp_path))))
    struck = [topology.topology_of(one, drawn.run.nodes, drawn.windows).struck for one in drawn.windows]
    assert struck == [("n1", "n4"), ("n3", "n5")]
