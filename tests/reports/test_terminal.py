"""``harness show``'s text: every kind of run in 80 columns, plain when piped, hostile text harmless."""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

import reports
from history import SECOND, Counterexample, Operation, RunFiles
from reports.analysis.findings import prepare
from reports.analysis.invariant_violations import invariant_violations
from reports.analysis.marks import marks_of
from reports.load.run import read_run
from reports.page.series import data_of
from reports.plots.plots import quantiles
from reports.story.diagnosis import diagnosis_of
from reports.text import terminal, text_diagram
from reports.text.parts import spark
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import recorded_run
from tests.support.reports.shapes import KINDS

WORDS = {"valid": "VALID", "unknown": "UNKNOWN", "harness-failure": "HARNESS FAILURE"}


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_fits(made: Maker, kind: str, columns: int) -> None:
    text = reports.render_run(made(kind), columns)
    assert text.splitlines()[0] == WORDS.get(kind, "INVALID")
    assert "\x1b" not in text
    body = text.partition("run again:")[0]
    assert max(map(len, body.splitlines())) <= columns
    assert max(map(len, body.splitlines())) > columns - 6
    for piece in ("Faults", "ok/s", "▒", "█", "write", "run again: harness run", "replay the faults:"):
        assert piece in text


def test_a_violation_is_drawn_with_its_leader_and_fault(made: Maker) -> None:
    text = reports.render_run(made("invalid"))
    head = " ".join(text.partition("✕ linearizability")[0].split())
    assert head.startswith("INVALID inconsistent: stale read on k3: n1 answered “read ")
    for piece in ("✕ linearizability", "asked: every key linearizable", "├", "●", "it holds", "Leader then: n"):
        assert piece in text
    assert "Counterexamples: 1 violation, 1 shown" in text


def test_what_is_not_as_it_should_be_comes_first(made: Maker) -> None:
    assert "replica behind: n1 and n3 stuck at 2465 of 11924" in reports.render_run(made("no-recovery"))
    assert "faults installed: kill-random-processes was never installed" in reports.render_run(made("unknown"))
    assert reports.render_run(made("harness-failure")).splitlines()[1].startswith("SSH to n3 was lost")


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("name", ["data-lost", "logs-cut", "replica-behind", "stale-reads"])
def test_recorded_runs_are_reported_whole(name: str, columns: int, tmp_path: Path) -> None:
    files = RunFiles(recorded_run(name, tmp_path))
    text = reports.render_run(files, columns)
    body, words = text.partition("run again:")[0], " ".join(text.split())
    assert max(map(len, body.splitlines())) <= columns
    checks = json.loads(files.results.read_text())["checks"]
    for check in checks:
        assert " ".join(check["seen"].split()) in words, "not cut: its end may say what was not tested"
    diagnosed = diagnosis_of(prepare(read_run(files)))
    assert diagnosed is not None
    order = [*(one.text for one in diagnosed.breaks), diagnosed.after, f"Next: {diagnosed.step}"]
    places = [words.index(" ".join(sentence.split())) for sentence in order if sentence]
    assert places == sorted(places)
    for violation in invariant_violations(prepare(read_run(files))):
        listed = text.partition(f"{violation.name}, when\n")[2].partition("\n\n")[0]
        shown = re.findall(r"^  [\d.]+ s n\d: ", listed, re.MULTILINE)
        left = re.search(r"^  (\d+) more$", listed, re.MULTILINE)
        (about,) = next(check["findings"] for check in checks if check["name"] == violation.name)
        assert len(shown) + int(left[1] if left else 0) == about["count"]


def test_colour_is_added_and_nothing_else(made: Maker) -> None:
    plain, coloured = (reports.render_run(made("invalid"), colour=colour) for colour in (False, True))
    assert "\x1b[31mINVALID\x1b[0m" in coloured
    for code in ("31", "32", "33", "1", "2", "0"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert coloured == plain


def test_hostile_text_cannot_drive_the_terminal(fresh: Maker) -> None:
    files = fresh("invalid", hostile=True)
    results = json.loads(files.results.read_text())
    results["warnings"] = ["a\x1b]0;title\x07b\nc"]
    results["checks"][0]["seen"] = "\x1b[2J\r\nseen"
    files.results.write_text(json.dumps(results))
    text = reports.render_run(files)
    assert not set(text) & {chr(code) for code in [*range(9), *range(11, 32), 127]}
    assert "\ufffd]0;title\ufffdb c" in text


def test_a_run_of_which_nothing_is_known_is_unknown(fresh: Maker, tmp_path: Path) -> None:
    assert reports.render_run(RunFiles(tmp_path / "none")).startswith("UNKNOWN\nThere is no run here")
    files = fresh("valid")
    files.results.unlink()
    files.state.unlink()
    text = reports.render_run(files)
    assert "harness check" in text
    assert "ok/s" in text


def test_times_below_the_bars_never_touch() -> None:
    """The last one always stands; of those between, what has room."""

    def took(process: int, f: str, value: int, start: int, stop: int) -> Operation:
        return Operation(process, f, "k", value, value, "ok", start, stop, process, process, "n1", None, "main")

    cases = [
        [(0, 10), (20, 30), (9000, 9100)],
        [(0, 9000), (9010, 9011), (9020, 9021)],
        [(0, 1), (4000, 4001), (4500, 9000)],
    ]
    for spans in cases:
        operations = tuple(took(n, "write", n, a * 10**6, b * 10**6) for n, (a, b) in enumerate(spans))
        ticks = text_diagram.draw(Counterexample("odd", "odd", operations), 77).splitlines()[-1].split()
        assert all(len(tick) == len(f"{spans[-1][1] / 1000:.3f}") for tick in ticks[1:])
        assert ticks[1] == "0.000"
        assert ticks[-1] == f"{spans[-1][1] / 1000:.3f}"


def test_faults_during_the_operations_before_are_reported(made: Maker) -> None:
    drawn = prepare(read_run(made("invalid")))
    (violation,) = drawn.violations
    earlier = replace(violation, faults=[], earlier=drawn.windows[:1])
    text = " ".join(terminal.render(replace(drawn, violations=[earlier]), 100).split())
    assert violation.healed.startswith("#0 partition-majorities-ring was healed ")
    before = "During the operations before it: partition-majorities-ring on"
    assert f"No fault was installed then; {violation.healed}. {before}" in text


def test_the_response_is_reported_where_operations_waited_to_be_sent(made: Maker) -> None:
    drawn = prepare(read_run(made("valid")))
    operations = replace(drawn.run.operations, intended=drawn.run.operations.invoked - 5 * SECOND)
    late = replace(drawn, run=replace(drawn.run, operations=operations))
    for shown, wanted in ((drawn, False), (late, True)):
        assert ("p99 since due, ms" in terminal.render(shown, 100)) == wanted
        assert (b'"p99 since due"' in zlib.decompress(base64.b64decode(data_of(shown)))) == wanted
        figure = quantiles(shown, marks_of(shown))
        assert figure is not None
        lines = [line.get_label() for axes in figure.axes for line in axes.lines]
        assert ("p99 since due" in lines) == wanted


def test_zero_no_data_and_no_fault_look_different() -> None:
    assert spark([0, 5, math.nan, 10], 4) == "·▅ █"
    assert spark([math.nan, 2, math.nan, math.nan], 2) == "█ "
    assert spark([math.nan], 1) == " "


def test_a_run_without_faults_says_so_and_one_that_did_not_recover_names_who_fell_behind(made: Maker) -> None:
    files = made("no-recovery")
    shown = reports.render_run(files)
    assert "\nNo recovery\n  n" in shown
    assert "it is at" in " ".join(shown.split())
    line = next(line for line in shown.splitlines() if line.startswith("  faults "))
    assert set(line.split()[1]) <= set("–▒▓")
    assert all(len(line) <= 80 for line in shown.partition("run again")[0].splitlines())
