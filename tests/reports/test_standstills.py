"""A time in which the harness itself was stalled is in no figure of the system, and a reader is shown that it was."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reports
from history import RunFiles
from history.columns.operations import from_operations
from history.metrics.awake_clock import AwakeClock
from history.records.operations import Operation
from reports.analysis.faults import FIGURES
from reports.analysis.findings import prepare
from reports.analysis.outages import Outage, services_of, total_outages
from reports.load.cut_record import cut_of
from reports.load.run import LoadedRun, phase_bounds, read_run
from reports.load.run_row import row_of
from reports.load.standstills import still_texts
from reports.page.compare import curves_of
from reports.story.aftermath import outages_text
from tests.support.draws import draws
from tests.support.reports.recorded_runs import recorded_run
from tests.support.reports.stood_still import stand_still

S = 10**9


def figures_of(run: LoadedRun) -> dict[str, Any]:
    """All that is said of how long something took, without the moments at which it was."""
    windows = prepare(run).windows
    services = services_of(run.operations, run.end, run.clock)
    return {
        "faults": [[getattr(one, name) for name in (*FIGURES, "measured_s", "kinds")] for one in windows],
        "outages": [(one.kind, round(one.longest.length, 6), round(one.total, 6)) for one in services],
        "rate": row_of(run.files).rate,
        "cut": cut_of(run),
    }


@pytest.mark.slow
@pytest.mark.parametrize("at", [12.0, 23.0, 31.5])
def test_a_standstill_changes_no_figure(at: float, tmp_path: Path) -> None:
    files = RunFiles(recorded_run("data-lost", tmp_path))
    before = figures_of(read_run(files))
    state = json.loads(files.state.read_text())
    main, end = state["moments"]["main"], state["moments"]["main-end"]
    held = int(np.count_nonzero(read_run(files).operations.phase.equals("main")))
    files.state.write_text(json.dumps(state | {"pace": {"invoked_per_s": held / (end - main) * S}}))
    stand_still(files, round(at * S), 200 * S)
    assert figures_of(read_run(files)) == before
    assert before["cut"] == ""


def test_a_reader_is_shown_when_the_harness_stood_still_and_hears_of_no_outage_then(tmp_path: Path) -> None:
    files = RunFiles(recorded_run("replica-behind", tmp_path))
    assert still_texts(read_run(files)) == []
    outages = outages_text(prepare(read_run(files)))
    stand_still(files, 12 * S, 9 * S)
    (text,) = still_texts(read_run(files))
    assert text.startswith("The harness itself was stalled for 9.0 s, from 12.0 to 21.0 s: ")
    lasted = re.compile(r"for [\d.]+ s")
    assert lasted.findall(outages_text(prepare(read_run(files)))) == lasted.findall(outages)
    assert text in " ".join(reports.render_run(files, 160).split())
    reports.write_report(files)
    assert text in files.report.read_text()


def test_the_comparison_draws_standstills_and_leaves_them_out_of_the_recovery(tmp_path: Path) -> None:
    files = RunFiles(recorded_run("logs-cut", tmp_path))
    run = read_run(files)
    healed = next(one.healed for one in prepare(run).windows if one.healed is not None)
    before = curves_of(files)
    assert before is not None
    assert before["still"] == []
    stand_still(files, round((healed + 1.2) * S), 30 * S)
    after = curves_of(files)
    assert after is not None
    assert after["recovery"]["share"] == pytest.approx(before["recovery"]["share"], nan_ok=True)
    main = phase_bounds(run.operations, "main")
    assert main is not None
    begin = healed + 1.2 - main[0] / 1e9
    assert after["still"] == [pytest.approx([begin, begin + 30], abs=1e-3)]


def test_a_time_without_probes_that_is_no_recorded_standstill_is_marked(tmp_path: Path) -> None:
    files = RunFiles(recorded_run("replica-behind", tmp_path))
    stand_still(files, 12 * S, 9 * S, recorded=False)
    (text,) = still_texts(read_run(files))
    assert "No node was probed for 9.2 s, from 11.8 to 21.0 s, and no standstill of the harness is recorded" in text


@pytest.mark.parametrize("found", [None, 5, {}, [5], [[1, 2, 3]], [["a", "b"]], [[None, 2]], [[3, 2]]])
def test_what_is_no_standstill_is_none(found: Any) -> None:
    assert AwakeClock.recorded({"standstills": found}).spans == []


def test_the_longest_of_several_is_named(tmp_path: Path) -> None:
    files = RunFiles(recorded_run("replica-behind", tmp_path))
    state = json.loads(files.state.read_text())
    files.state.write_text(json.dumps(state | {"standstills": [[S, 3 * S], [20 * S, 25 * S]]}))
    assert "for 7.0 s in all (2 times), the longest from 20.0 to 25.0 s" in still_texts(read_run(files))[0]


asks = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9), st.sampled_from(["ok", "info", "fail"])), min_size=1)


@settings(deadline=None, max_examples=draws(60, 600))
@given(asks, st.integers(0, 70), st.integers(1, 99))
def test_outages_are_those_of_the_run_without_the_standstill(
    asked: list[tuple[int, int, Any]], at: int, by: int
) -> None:
    def later(moment: int) -> int:
        return moment + by * S if moment >= at * S else moment

    def run(*, moved: bool) -> list[Operation]:
        move = later if moved else int
        return [
            Operation(
                0, "read", "k", 1, 1, outcome, move(begin * S), move((begin + took) * S), n, n, "n1", None, "main"
            )
            for n, (begin, took, outcome) in enumerate(asked)
        ]

    def lengths(found: list[Outage]) -> list[tuple[float, bool]]:
        return [(round(one.length, 6), one.ended) for one in found]

    clock = AwakeClock([(at * S, (at + by) * S)])
    before = total_outages(from_operations(run(moved=False)), 70 * S, AwakeClock())
    after = total_outages(from_operations(run(moved=True)), later(70 * S), clock)
    assert lengths(after) == lengths(before)
    assert [(clock.at(round(one.start * S)), clock.at(round(one.stop * S))) for one in after] == [
        (round(one.start * S), round(one.stop * S)) for one in before
    ]
