"""Bars of faults and marks of violations in the static plots."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from history import Receipt
from history.records.receipts import FaultState
from reports.analysis import faults
from reports.analysis.faults import FaultWindow
from reports.analysis.findings import Drawn, prepare
from reports.analysis.marks import Marks, marks_of
from reports.load.columns import from_operations
from reports.load.run import read_run
from reports.plots import plots
from reports.plots.frame import LETTER, MARK, MAX_ROWS, STYLE, bars_of
from tests.support.reports.checks import DELETED, with_checks
from tests.support.reports.made import Maker

S = 10**9
PANELS: list[Callable[[Drawn, Marks], Figure | None]] = [plots.scatter, plots.quantiles, plots.rate, plots.leaders]


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
        operations=from_operations([]), receipts=receipts, end=int(end * S), fault_rows={}, nodes=("n1",)
    )
    return faults.fault_windows(run, [])  # type: ignore[arg-type]


def test_faults_at_the_same_time_have_rows_and_names_of_their_own() -> None:
    bars = bars_of(windows_of([(10, 40), (20, 30), (25, 60), (70, None)], 100), 100)
    assert [(bar.text, bar.row) for bar in bars] == [
        ("#0 bridge", 0),
        ("#1 bridge", 1),
        ("#2 bridge", 2),
        ("#3 bridge", 0),
    ]
    assert bars[3].stop == 100


def test_a_name_at_the_right_edge_begins_before_its_bar() -> None:
    (bar,) = bars_of(windows_of([(99, 99.5)], 100), 100)
    assert bar.text_at < 99
    assert bar.text_at + len(bar.text) * 100 * LETTER <= 100


def test_names_give_way_to_numbers_and_numbers_to_nothing() -> None:
    some = bars_of(windows_of([(20.0 + 6 * n, 21.0 + 6 * n) for n in range(20)], 1000), 1000)
    assert {bar.text for bar in some} == {f"#{n}" for n in range(20)}
    crowd = bars_of(windows_of([(10.0, 90.0)] * 50, 100), 100)
    assert {bar.text for bar in crowd} == {""}
    assert max(bar.row for bar in crowd) == MAX_ROWS - 1


def test_a_skipped_fault_has_no_bar_and_an_indeterminate_one_says_so() -> None:
    assert bars_of(windows_of([(1, None)], 10, "skipped"), 10) == []
    assert [bar.text for bar in bars_of(windows_of([(1, 2)], 100, "indeterminate"), 100)] == [
        "#0 bridge, indeterminate"
    ]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 30)), max_size=12))
def test_nothing_in_a_row_lies_on_anything_else(spans: list[tuple[int, int]]) -> None:
    bars = bars_of(windows_of([(float(a), float(min(a + b, 100))) for a, b in spans], 100), 100)
    for row in {bar.row for bar in bars}:
        mine = sorted(
            (min(b.text_at, b.start), max(b.stop, b.text_at + len(b.text) * 100 * LETTER)) for b in bars if b.row == row
        )
        assert all(before[1] <= after[0] for before, after in pairwise(mine))


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
