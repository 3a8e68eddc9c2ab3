"""A line that is thinned keeps the lowest and the highest of every stretch: a short log is seen at any size."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from history import Probe, RunFiles
from reports.analysis.findings import prepare
from reports.analysis.node_timeline import timelines_of
from reports.analysis.progress import extremes, progress_of
from reports.analysis.sketch import BOTTOM, HEIGHT, sketch_of
from reports.load.run import read_run
from tests.support.reports.raw import Raw
from tests.support.reports.recorded_runs import recorded_run

S = 10**9


@given(st.lists(st.one_of(st.none(), st.integers(0, 50)), min_size=1, max_size=200), st.integers(1, 20))
def test_every_stretch_keeps_its_lowest_its_highest_and_its_gap(values: list[int | None], buckets: int) -> None:
    time = np.arange(len(values), dtype=np.float64)
    row = np.array([np.nan if one is None else one for one in values], dtype=np.float64)
    kept = extremes(time, row, buckets)
    assert kept.tolist() == sorted(set(kept.tolist()))
    assert len(kept) <= 5 * buckets
    edges = np.linspace(time[0], time[-1], buckets + 1)[1:-1]
    for part in np.split(np.arange(len(time)), np.searchsorted(time, edges)):
        mine = [place for place in kept.tolist() if place in part]
        known = part[np.isfinite(row[part])]
        if len(known):
            assert np.nanmin(row[mine]) == row[known].min()
            assert np.nanmax(row[mine]) == row[known].max()
        assert np.isnan(row[mine]).any() == np.isnan(row[part]).any()


@pytest.mark.parametrize("name", ["data-lost", "logs-cut"])
def test_the_small_chart_has_every_log_that_was_seen_to_be_cut(name: str, tmp_path: Path) -> None:
    """Drawn by points at even distances, it missed answers of a quarter of a second."""
    root = recorded_run(name, tmp_path)
    raw, drawn = Raw(root), prepare(read_run(RunFiles(root)))
    picture = sketch_of(drawn.timelines, drawn.windows, raw.end, [], "log_end")
    assert picture is not None
    top = max(probe["log_end"] for probe in raw.answers)
    heights = {line.node: [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", line.path)] for line in picture.lines}
    falls = raw.finding("committed-kept")["moments"]
    assert falls
    for fall in falls:
        height = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 10) * max(fall["log_end"], 0) / top
        assert any(abs(y - height) < 0.06 for y in heights[fall["node"]]), fall


def test_a_long_run_is_thinned_and_keeps_its_dips() -> None:
    """One answer of ten thousand shows a log that lost entries; every second point of the run was left out before."""
    dip = 4_001
    probes = [
        Probe(at * S // 4, node, "follower", 1, log_end=7 if at == dip and node == "n2" else at, applied=at)
        for at in range(10_000)
        for node in ("n1", "n2")
    ]
    progress = progress_of(timelines_of(probes, ("n1", "n2")), 2500.0, points=2000)
    assert len(progress.time) <= 2000
    assert (progress.log_end[1][(progress.time > 900) & (progress.time < 1100)] == 7).any()
