"""A page of very many operations: what shows most is held whole, all else counts in the buckets."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reports
from history import Operation
from history.codes import OUTCOMES
from history.columns.operations import from_operations
from reports.analysis.figures import lanes_of
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.page import pyramid
from reports.page.pyramid import WORST, pyramid_of, taken
from reports.page.series import operations_of
from tests.support.reports.browser import tab
from tests.support.reports.large_runs import make_large
from tests.support.reports.made import Maker

END = 1000
drawn_operations = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, END - 1), st.one_of(st.none(), st.integers(0, 50)), st.sampled_from(OUTCOMES)
    ),
    max_size=40,
)


def made_of(drawn: list[tuple[int, int, int | None, str]]) -> list[Operation]:
    return [
        Operation(
            process, "write", "k", place, place if outcome == "ok" else None, outcome, begin,  # type: ignore[arg-type]
            None if took is None else begin + took, 2 * place, None if took is None else 2 * place + 1, "n1", None,
            "main",
        )
        for place, (process, begin, took, outcome) in enumerate(sorted(drawn, key=lambda one: one[1]))
    ]  # fmt: skip


@given(drawn_operations, st.integers(1, 30), st.data())
def test_what_shows_most_is_held_and_the_buckets_know_all(drawn: Any, most: int, data: st.DataObject) -> None:
    rows = made_of(drawn)
    operations = from_operations(rows)
    lanes, count = lanes_of(operations, END)
    indexes = [row.invoke_index for row in rows]
    marked = set(data.draw(st.lists(st.sampled_from(indexes), max_size=most // 2))) if rows else set()
    found = pyramid_of(operations, lanes, count, END, marked, most)
    if len(rows) <= most:
        assert found is None
        return
    assert found is not None
    held = found.held.tolist()
    assert held == sorted(set(held))
    assert len(held) <= most
    assert marked <= {rows[place].invoke_index for place in held}
    errors = [place for place, row in enumerate(rows) if row.outcome != "ok"]
    assert (found.errors, found.errors_held) == (len(errors), len(set(errors) & set(held)))
    if len(set(errors) | {indexes.index(index) for index in marked}) <= most // 2:
        assert set(errors) <= set(held)
    buckets = found.worst.shape[1]
    wanted = np.zeros((count, buckets), dtype=np.int64)
    for lane, row in zip(lanes.tolist(), rows, strict=True):
        place = min(row.invoked * buckets // END, buckets - 1)
        wanted[lane, place] = max(wanted[lane, place], WORST[OUTCOMES.index(row.outcome)])
    assert (found.worst == wanted).all()
    kept = taken(operations, found.held)
    assert kept.invoke_index.tolist() == [rows[place].invoke_index for place in held]
    assert kept.value.to_pylist() == [str(rows[place].value) for place in held]
    assert [kept.node.name(place) for place in range(len(kept))] == ["n1"] * len(held)


def test_a_page_of_few_operations_is_as_it_was(made: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = prepare(read_run(made("valid")))
    whole = operations_of(drawn)
    monkeypatch.setattr(pyramid, "BUCKETS", 7)
    assert operations_of(drawn) == whole


COLOURED = """(() => { const c = document.getElementById('c-timeline'), d = c.getContext('2d')
    .getImageData(Math.floor(c.width * 0.15), 0, Math.floor(c.width * 0.8), Math.floor(c.height * 0.6)).data;
    let n = 0; for (let i = 0; i < d.length; i += 4) if (d[i + 2] - d[i] > 60) n++; return n; })()"""


@pytest.mark.browser
def test_the_page_shows_all_rows_full_and_says_what_it_holds(
    fresh: Maker, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = fresh("invalid", operations=6000, rate=200.0)
    seen = {}
    for most in (10_000, 600):
        monkeypatch.setattr("reports.page.series.pyramid_of", partial(pyramid_of, most=most))
        reports.write_report(files)
        with tab(browser, files.report.as_uri()) as page:
            page.settle()
            seen[most] = page.js(COLOURED)
            count = page.js("page.Timeline.data.ops.t.length")
            if most == 600:
                assert count == 600
                assert "holds 600 of 3," in page.page.inner_text("#held")
                page.js("page.View.set(10, 10.2)")
                page.settle()
                assert page.js(COLOURED) > 0
                page.page.keyboard.press("v")
                page.settle()
                assert page.js("page.View.selected") is not None
            else:
                assert count > 3000
                assert page.page.locator("#held").count() == 0
            assert page.complaints == []
    assert seen[600] > 0.8 * seen[10_000] > 0


@pytest.mark.nightly
@pytest.mark.browser
def test_a_page_of_two_million_operations_is_no_larger_than_one_of_a_million(tmp_path: Path, browser: Any) -> None:
    files = make_large(tmp_path / "register" / "run", 2_000_000)
    assert reports.write_report(files).warnings == []
    assert files.report.stat().st_size < 20e6
    with tab(browser, files.report.as_uri()) as page:
        assert page.js("page.Timeline.data.ops.t.length") == 1_000_000
        assert "all 20," in page.page.inner_text("#held")
        assert page.complaints == []
