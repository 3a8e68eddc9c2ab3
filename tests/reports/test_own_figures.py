"""The plot of what only a system's own nodes report."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import numpy as np

from reports.analysis.findings import prepare
from reports.analysis.marks import Marks
from reports.load.run import read_run
from reports.plots.frame import STYLE
from reports.plots.own_figures import own_figures
from tests.support.reports.made import Maker

NO_MARKS = Marks((), (), 0)


def test_each_number_has_a_panel_and_each_node_a_line_that_ends_where_it_says_nothing(made: Maker) -> None:
    run = read_run(made("valid"))
    probes = [
        replace(probe, own={"queue": place, "mode": "fast", "keys": 0.5} if place % 2 else {"mode": "slow"})
        for place, probe in enumerate(run.probes)
    ]
    drawn = prepare(replace(run, probes=probes))
    with mpl.rc_context(STYLE):
        figure = own_figures(drawn, NO_MARKS)
    assert figure is not None
    keys, queue = figure.axes[-2:]
    assert (keys.get_ylabel(), queue.get_ylabel()) == ("keys", "queue")
    for line, timeline in zip(queue.get_lines(), drawn.timelines, strict=True):
        mine = [place for place, probe in enumerate(probes) if probe.node == timeline.node]
        seen = np.asarray(line.get_ydata(), float)
        assert [None if np.isnan(value) else value for value in seen] == [one if one % 2 else None for one in mine]


def test_without_such_numbers_there_is_no_plot(made: Maker) -> None:
    run = read_run(made("valid"))
    texts = [replace(probe, own={"mode": "fast"}) for probe in run.probes]
    assert own_figures(prepare(run), NO_MARKS) is None
    assert own_figures(prepare(replace(run, probes=texts)), NO_MARKS) is None
