"""Indexes with epochs, as ZooKeeper's: hexadecimal on every chart, axis and sketch, as in the tables."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import reports
from history import Probe, RunFiles
from reports.analysis.node_timeline import timelines_of
from reports.analysis.sketch import LEFT, sketch_of
from reports.style.index_axis import ROOM, IndexAxis
from tests.support.reports.browser import tab
from tests.support.reports.made import Maker

S = 10**9
FIRST, SECOND = 0x400000000, 0x600000000


def with_epochs(files: RunFiles) -> int:
    """Give a run's probes indexes of epoch 4, from its middle on of epoch 6; returns the highest of all."""
    results = json.loads(files.results.read_text())
    results["environment"] = {**(results.get("environment") or {}), "epoch_bits": 32}
    files.results.write_text(json.dumps(results))
    head, *lines = files.probes.read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    middle, highest = max(row["time"] for row in rows) // 2, -1
    for row in rows:
        for name in ("log_end", "committed", "applied"):
            if (row.get(name) or -1) >= 0:
                row[name] += FIRST if row["time"] < middle else SECOND
                highest = max(highest, row[name]) if name == "applied" else highest
    files.probes.write_text("\n".join([head, *map(json.dumps, rows)]) + "\n")
    return highest


def test_an_axis_puts_one_epoch_beside_the_next_and_names_its_levels() -> None:
    rows = np.array([[FIRST + 1.0, FIRST + 0x2CA, SECOND + 5.0, np.nan], [FIRST + 3.0, FIRST, SECOND + 0x5EE, SECOND]])
    axis = IndexAxis.of([rows], 32)
    assert list(axis.begins) == [(0.0, FIRST), (0x2CB, SECOND)]
    placed = axis.places(rows)
    assert placed[0][:3].tolist() == [1, 0x2CA, 0x2CB + 5]
    assert np.isnan(placed[0][3])
    assert placed[1][3] == 0x2CB
    top = float(np.nanmax(placed))
    levels = axis.levels(top)
    assert [text for _, text in levels] == ["epoch 4", "epoch 6", "+0x400"]
    assert [text for _, text in axis.levels(top, 8)] == ["epoch 4", "+0x200", "epoch 6", "+0x200", "+0x400"]
    assert all(b - a >= top / ROOM for (a, _), (b, _) in pairwise(levels))
    plain = IndexAxis.of([rows], 0)
    assert (plain.places(rows) is rows, [text for _, text in plain.levels(4000)]) == (
        True,
        ["0", "1,000", "2,000", "3,000", "4,000"],
    )


def test_many_short_epochs_have_labels_that_keep_apart() -> None:
    rows = np.array([[float((epoch << 32) + 10) for epoch in range(1, 40)]])
    axis = IndexAxis.of([rows], 32)
    top = float(axis.places(rows).max())
    places = [place for place, _ in axis.levels(top)]
    assert 3 < len(places) <= ROOM + 1
    assert min(b - a for a, b in pairwise(places)) >= top / ROOM


def test_the_sketch_writes_such_an_index_as_the_table_does() -> None:
    probes = [Probe(t * S // 4, "n1", "leader", 1, committed=FIRST + t, applied=FIRST + t) for t in range(40)]
    probes += [Probe(t * S // 4, "n2", "follower", 1, committed=FIRST, applied=FIRST) for t in range(40)]
    picture = sketch_of(timelines_of(probes, ("n1", "n2"), epoch_bits=32), [], 10.0, ["n2"])
    assert picture is not None
    assert [line.label for line in picture.lines] == ["n1 0x400000027", "n2 0x400000000"]
    assert picture.levels[0][1] == "epoch 4"
    assert all(len(text) * 6.6 < LEFT for _, text in picture.levels)


@pytest.mark.browser
def test_charts_write_such_an_index_as_the_tables_do(fresh: Maker, browser: Any) -> None:
    files = fresh("valid")
    highest = with_epochs(files)
    assert reports.write_report(files).warnings == []
    html = files.report.read_text()
    assert f"{highest:#x}" in html
    assert not re.search(r"\b(17|25)[, ]\d{3}", html.partition("</script>")[0])
    with tab(browser, files.report.as_uri()) as found:
        axis = found.js(
            "(() => { const { plot } = page.Charts.plots.find(({ host }) => host.id === 'c-applied');"
            "return plot.axes[1]._values ?? plot.axes[1].values(plot, plot.axes[1]._splits); })()"
        )
        assert axis[0] == "epoch 4"
        assert "epoch 6" in axis
        assert all(text.startswith(("epoch ", "+0x")) for text in axis)
        last = found.js(
            "(() => { const { plot } = page.Charts.plots.find(({ host }) => host.id === 'c-applied');"
            "return plot.series.slice(1).map((one, i) => one.value(plot, Math.max(...plot.data[i + 1]))); })()"
        )
        assert max(int(text, 16) for text in last) == highest
        assert all(text.startswith("0x60000") for text in last)
