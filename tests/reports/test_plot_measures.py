"""Plots as they are laid out: every panel has ink, no text lies on another, and none is cut by the edge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import pytest

from history import RunFiles
from reports.analysis.faults import restarts_of
from reports.analysis.findings import prepare
from reports.analysis.marks import marks_of
from reports.analysis.topology import topology_of
from reports.load.run import read_run
from reports.plots import plots
from reports.plots.frame import FRAME, STYLE, figure_of
from tests.support.reports.made import Maker
from tests.support.reports.plot_measures import empty_panels, outside, overlaps, texts_of
from tests.support.reports.raw import Raw, S
from tests.support.reports.recorded_runs import RUNS, recorded_run

#: What each kind of run must have a plot of, besides latencies and rates.
HAS = {
    "data-lost": {"leaders", "log-ends", "restarts", "topology"},
    "element-lost": {"leaders", "log-ends", "elements", "restarts", "topology", "counterexample"},
    "epoch-granted-twice": {"leaders", "topology", "counterexample"},
    "ledgers-lost": {"own-figures", "topology", "counterexample"},
}


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    with mpl.rc_context(STYLE):
        yield


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_every_plot_of_a_recorded_run_has_ink_and_legible_texts(name: str, tmp_path: Path) -> None:
    drawn = prepare(read_run(RunFiles(recorded_run(name, tmp_path))))
    marks = marks_of(drawn)
    figures = {one: plot(drawn, marks) for one, plot in plots.PLOTS.items()}
    assert HAS.get(name, set()) <= {one for one, figure in figures.items() if figure is not None}
    for one, figure in figures.items():
        if figure is not None:
            assert (one, empty_panels(figure)) == (one, [])
            texts = texts_of(figure)
            assert (one, overlaps(texts), outside(figure, texts)) == (one, [], [])


def test_what_nodes_do_not_report_has_no_panel(made: Maker) -> None:
    drawn = prepare(read_run(made("valid")))
    figure = plots.leaders(drawn, marks_of(drawn))
    assert figure is not None
    assert empty_panels(figure) == []
    silent = SimpleNamespace(run=drawn.run, timelines=[], windows=drawn.windows, snapshots=[])
    assert plots.leaders(silent, marks_of(drawn)) is None  # type: ignore[arg-type]


def test_the_measures_see_what_is_wrong() -> None:
    figure = figure_of(4.0, 3.0)
    good, bad = figure.subplots(2, 1)
    good.plot([0, 1], [0, 1])
    bad.set_ylabel("nothing")
    bad.plot([0.0, 1.0], [float("nan")] * 2)
    bad.axvspan(0, 1, label=FRAME)
    assert empty_panels(figure) == ["nothing"]
    texts = texts_of(figure)
    assert (overlaps(texts), outside(figure, texts)) == ([], [])
    good.text(0.5, 0.5, "one text")
    good.text(0.52, 0.5, "another text")
    figure.text(0.9, 0.97, "a text that is far too long for what is left")
    texts = texts_of(figure)
    assert overlaps(texts) == [("one text", "another text")]
    assert outside(figure, texts) == ["a text that is far too long for what is left"]


def test_a_node_that_hands_over_its_leadership_is_not_struck(made: Maker) -> None:
    window = prepare(read_run(made("valid", fault="kill-one"))).windows[0]
    struck, handed = (SimpleNamespace(**{name: getattr(window, name) for name in window.__slots__}) for _ in range(2))
    struck.grudge, struck.family, struck.nodes = {}, "kill", ("n1",)
    handed.grudge, handed.family, handed.nodes = {}, "leadership", ("n1",)
    assert topology_of(struck, ["n1", "n2"]).struck == ("n1",)  # type: ignore[arg-type]
    assert topology_of(handed, ["n1", "n2"]).struck == ()  # type: ignore[arg-type]


def test_restart_times_are_from_the_start_of_the_healing_to_the_first_answer(tmp_path: Path) -> None:
    """By the raw files; a node that answers when the healing begins was not restarted by it."""
    raw = Raw(recorded_run("data-lost", tmp_path))
    drawn = prepare(read_run(RunFiles(raw.root)))
    found = {
        (one.node, at): took
        for one in drawn.timelines
        for at, took in zip(*restarts_of(one, drawn.windows), strict=True)
    }
    assert {node for node, _ in found} == {"n1", "n2", "n4", "n5"}
    for (node, at), took in found.items():
        again = min(probe["time"] / S for probe in raw.of(node) if probe["time"] / S > at)
        assert took == pytest.approx(again - at)
        assert not [probe for probe in raw.of(node) if at - 1 < probe["time"] / S <= at]
    assert restarts_of(next(one for one in drawn.timelines if one.node == "n3"), drawn.windows) == ([], [])
