"""Bars of faults and marks of violations in the static plots."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from history import Receipt, RunFiles
from history.columns.operations import from_operations
from history.records.receipts import FaultState
from reports.analysis import faults
from reports.analysis.faults import FaultWindow
from reports.analysis.findings import Drawn, prepare
from reports.analysis.marks import Marks, marks_of
from reports.analysis.node_timeline import SILENT
from reports.load.run import read_run
from reports.plots import plots
from reports.plots.frame import GREY, LETTER, MARK, MAX_ROWS, STYLE, bars_of
from reports.style.palette import FAULT_COLOURS
from tests.support.draws import draws
from tests.support.reports.checks import DELETED, with_checks
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import recorded_run

S = 10**9
PANELS: list[Callable[[Drawn, Marks], Figure | None]] = [
    plots.scatter, plots.quantiles, plots.rate, plots.leaders, plots.log_ends,
]  # fmt: skip


def windows_of(
    spans: list[tuple[float, float | None]], end: float, state: FaultState = "installed"
) -> list[FaultWindow]:
    receipts = [
        Receipt(
            number, "bridge", state, int(start * S), healed=None if stop is None else int(stop * S), witness={"a": 1}
        )
        for number, (start, stop) in enumerate(spans)
    ]
    run = SimpleNamespace(
        operations=from_operations([]), receipts=receipts, end=int(end * S), fault_rows={}, state={}, nodes=("n1",)
    )
    return faults.fault_windows(run, [])  # type: ignore[arg-type]


def test_faults_at_the_same_time_have_rows_of_their_own_and_names_inside_their_bars() -> None:
    bars = bars_of(windows_of([(10, 40), (20, 30), (25, 60), (70, None), (61, 66)], 100), 100)
    assert [(bar.text, bar.row) for bar in bars] == [
        ("#0 bridge", 0),
        ("#1 bridge", 1),
        ("#2 bridge", 2),
        ("#4", 0),
        ("#3 bridge", 0),
    ]
    assert bars[-1].stop == 100


def test_names_give_way_to_numbers_and_numbers_to_nothing() -> None:
    some = bars_of(windows_of([(20.0 + 60 * n, 60.0 + 60 * n) for n in range(10)], 1000), 1000)
    assert {bar.text for bar in some} == {f"#{n}" for n in range(10)}
    crowd = bars_of(windows_of([(10.0, 11.0)] * 50, 100), 100)
    assert {bar.text for bar in crowd} == {""}
    assert max(bar.row for bar in crowd) == MAX_ROWS - 1


def test_a_name_without_room_stands_in_the_legend(made: Maker) -> None:
    with mpl.rc_context(STYLE):
        drawn = prepare(read_run(made("valid", fault="partition-majorities-ring")))
        figure = plots.rate(drawn, marks_of(drawn))
    assert figure is not None
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "#0 #1 partition-majorities-ring" in [text.replace("\n", "") for text in legend]


def test_bands_are_grey_behind_points_that_carry_colours(made: Maker) -> None:
    """As in the first report on DLedger; the bars above them have the colours of the faults' families."""
    with mpl.rc_context(STYLE):
        drawn = prepare(read_run(made("valid", fault="partition-majorities-ring")))
        points, lines = plots.scatter(drawn, marks_of(drawn)), plots.rate(drawn, marks_of(drawn))
    assert points is not None
    assert lines is not None
    grey, coloured = ({to_hex(patch.get_facecolor()) for patch in one.axes[-1].patches} for one in (points, lines))
    assert (grey, coloured) == ({GREY}, {FAULT_COLOURS["partition"].lower()})
    named = [{text.get_text() for text in one.legends[0].get_texts()} for one in (points, lines)]
    assert ["while a fault was active" in one for one in named] == [True, False]
    assert ["partition fault" in one for one in named] == [False, True]


@pytest.mark.slow
def test_texts_lie_inside_their_bars_as_they_are_drawn(made: Maker) -> None:
    with mpl.rc_context(STYLE):
        drawn = prepare(read_run(made("valid", fault="bridge", operations=9000)))
        figure = plots.rate(drawn, marks_of(drawn))
        assert figure is not None
        figure.draw_without_rendering()
        strip = figure.axes[0]
        bars = {bar.text: bar for bar in bars_of(drawn.windows, drawn.run.end / 1e9) if bar.text}
        assert bars
        for text in strip.texts:
            if bar := bars.get(text.get_text().strip()):
                box = text.get_window_extent().transformed(strip.transData.inverted())
                assert bar.start - 1e-9 <= box.x0 < box.x1 <= bar.stop + 1e-9


def test_a_skipped_fault_has_no_bar_and_an_indeterminate_one_says_so() -> None:
    assert bars_of(windows_of([(1, None)], 10, "skipped"), 10) == []
    (bar,) = bars_of(windows_of([(1, 2)], 100, "indeterminate"), 100)
    assert (bar.text, bar.name) == ("", "#0 bridge, indeterminate")


@settings(max_examples=draws(30, 300))
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 30)), max_size=12))
def test_nothing_in_a_row_lies_on_anything_else(spans: list[tuple[int, int]]) -> None:
    bars = bars_of(windows_of([(float(a), float(min(a + b, 100))) for a, b in spans], 100), 100)
    assert all(len(bar.text) * 100 * LETTER <= bar.stop - bar.start for bar in bars)
    for row in {bar.row for bar in bars}:
        mine = sorted((bar.start, bar.stop) for bar in bars if bar.row == row)
        assert all(before[1] <= after[0] for before, after in pairwise(mine))


def test_a_band_shares_its_height_only_with_those_that_overlap_it() -> None:
    windows = windows_of([(10, 20), (30, 60), (40, 50), (55, 70), (80, None)], 100)
    assert faults.shares_of(windows, 100) == [(0, 1), (0, 0.5), (0.5, 1), (0.5, 1), (0, 1)]


@settings(max_examples=draws(30, 300))
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(1, 30)), max_size=12))
def test_no_band_mixes_with_another(spans: list[tuple[int, int]]) -> None:
    windows = windows_of([(float(start), float(start + long)) for start, long in spans], 130)
    bands = list(zip(windows, faults.shares_of(windows, 130), strict=True))
    for place, (one, (low, high)) in enumerate(bands):
        alone = True
        for other, (bottom, top) in bands[:place] + bands[place + 1 :]:
            at_once = max(one.started, other.started) < min(one.healed or 0, other.healed or 0)
            assert not at_once or high <= bottom or top <= low
            alone &= not at_once
        assert not alone or (low, high) == (0, 1)


def test_the_ends_of_logs_are_drawn_as_the_probes_answered(tmp_path: Path) -> None:
    with mpl.rc_context(STYLE):
        drawn = prepare(read_run(RunFiles(recorded_run("logs-cut", tmp_path))))
        figure = plots.log_ends(drawn, marks_of(drawn))
    assert figure is not None
    ends, committed = figure.axes[-2:]
    assert (ends.get_ylabel(), committed.get_ylabel()) == ("end of the log", "commit index")
    lines = [line for line in ends.get_lines() if line.get_marker() != "v"]
    for line, timeline in zip(lines, drawn.timelines, strict=True):
        drawn_ends = np.asarray(line.get_ydata(), float)
        assert np.nanmax(drawn_ends) == timeline.log_end.max()
        fell = np.flatnonzero(np.diff(drawn_ends[~np.isnan(drawn_ends)]) < 0)
        assert len(fell) == np.count_nonzero(np.diff(timeline.log_end[timeline.role != SILENT]) < 0)


@pytest.mark.slow
def test_pictures_are_fine_enough_for_paper_and_their_text_is_text(fresh: Maker) -> None:
    files = fresh("invalid")
    plots.draw_all(prepare(read_run(files)))
    with (files.plots / "rate.png").open("rb") as picture:
        width = int.from_bytes(picture.read(20)[16:20])
    assert width == pytest.approx(9 * 300, rel=0.02)
    proof = (files.plots / "counterexample.svg").read_text()
    for text in ("process · node", "seconds of the run", "the register holds"):
        assert f">{text}</text>" in proof


def marks_in(figure: Figure | None) -> tuple[set[float], set[float], set[str]]:
    """Times of full and of hollow triangles of the last panel, and the legend's texts."""
    assert figure is not None
    lines = [line for line in figure.axes[-1].get_lines() if line.get_marker() == "v"]
    marks = [
        (line.get_markerfacecolor() == MARK, float(x)) for line in lines for x in np.asarray(line.get_xdata(), float)
    ]
    full = {x for filled, x in marks if filled}
    hollow = {x for filled, x in marks if not filled}
    return full, hollow, {text.get_text() for text in figure.legends[0].get_texts()}


@pytest.mark.parametrize("panel", PANELS)
def test_plots_mark_the_moments_of_violations(made: Maker, panel: Callable[[Drawn, Marks], Figure | None]) -> None:
    with mpl.rc_context(STYLE):
        drawn = prepare(read_run(made("invalid")))
        marks = marks_of(drawn)
        full, hollow, legend = marks_in(panel(drawn, marks))
        assert full == {drawn.violations[0].since} == {marks.violations[0].at}
        assert "1 violation" in legend
        assert hollow == set()
        calm = prepare(read_run(made("valid")))
        full, hollow, legend = marks_in(panel(calm, marks_of(calm)))
        assert (full, hollow) == (set(), set())
        assert not any("violation" in text for text in legend)


def test_plots_mark_what_nodes_did_hollow(fresh: Maker) -> None:
    with mpl.rc_context(STYLE):
        drawn = with_checks(fresh("valid"), DELETED)
        full, hollow, legend = marks_in(plots.rate(drawn, marks_of(drawn)))
    assert (full, hollow) == (set(), {2.0, 7.5})
    assert "a node broke a rule" in legend


def test_a_legend_says_how_many_violations_have_no_mark(fresh: Maker) -> None:
    files = fresh("invalid")
    results = json.loads(files.results.read_text())
    key = next(key for key in results["keys"] if key["violations"])
    key["violations"] = 12
    files.results.write_text(json.dumps(results))
    with mpl.rc_context(STYLE):
        drawn = prepare(read_run(files))
        _, _, legend = marks_in(plots.rate(drawn, marks_of(drawn)))
    assert "1 of 12 violations" in legend


def test_of_very_many_points_each_cell_has_one_so_that_none_is_alone_where_nothing_is_drawn(
    fresh: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = prepare(read_run(fresh("valid")))
    latency = (drawn.run.operations.returned - drawn.run.operations.invoked) / 1e6
    ok = latency[drawn.run.operations.which(0)]
    monkeypatch.setattr(plots, "MAX_POINTS", 100)
    monkeypatch.setattr(plots, "CELLS", (20, 10))
    with mpl.rc_context(STYLE):
        figure = plots.scatter(drawn, marks_of(drawn))
    assert figure is not None
    lines = [line for axes in figure.axes for line in axes.lines]
    (points,) = [line for line in lines if line.get_marker() == "o" and len(np.array(line.get_xdata())) > 1]
    x, y = np.array(points.get_xdata()), np.array(points.get_ydata())
    assert len(x) <= 200 < len(ok)
    begun = drawn.run.operations.invoked[drawn.run.operations.which(0)] / 1e9
    width, height = np.ptp(begun) / 20, np.ptp(np.log(ok)) / 10
    for at, took in zip(begun, np.log(ok), strict=True):
        assert ((np.abs(x - at) <= width) & (np.abs(np.log(y) - took) <= height)).any()


@pytest.mark.parametrize(("nodes", "whole"), [(9, True), (70, False)])
def test_networks_are_drawn_with_a_bounded_number_of_links(tmp_path: Path, nodes: int, whole: bool) -> None:
    """A patch each, which takes milliseconds: what is left out is said, and cut links are drawn first."""
    names = [f"n{number}" for number in range(nodes)]
    cut = {names[0]: names[1:4]}
    spans = [(number * S, number * S + S // 2) for number in range(plots.MAX_TOPOLOGIES + 3)]
    receipts = [
        Receipt(
            number, "bridge", "installed", start, targets={"grudge": cut}, stood=start, healed=stop, witness={"a": 1}
        )
        for number, (start, stop) in enumerate(spans)
    ]
    run = SimpleNamespace(
        operations=from_operations([]), receipts=receipts, end=20 * S, fault_rows={}, state={}, nodes=tuple(names),
        members=tuple(names),
    )  # fmt: skip
    windows = faults.fault_windows(run, [])  # type: ignore[arg-type]
    drawn = SimpleNamespace(run=run, windows=windows)
    figure = plots.networks(drawn, Marks((), (), 0))  # type: ignore[arg-type]
    assert figure is not None
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert len(panels) == plots.MAX_TOPOLOGIES
    links = [[patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)] for axes in panels]
    assert sum(map(len, links)) <= plots.MAX_LINKS
    assert {("links" in axes.get_title(), len(mine)) for axes, mine in zip(panels, links, strict=True)} == {
        (not whole, nodes * (nodes - 1) // 2 if whole else plots.MAX_LINKS // plots.MAX_TOPOLOGIES)
    }
    assert all(sum(to_hex(patch.get_edgecolor()) == "#1b1f24" for patch in mine) == 3 for mine in links)
