"""Links that hold what was chosen, queries, tables of a stretch of time, the track of events; in Chromium."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reports
from history import RunFiles
from reports.site import serve
from tests.support.reports.browser import Tab, tab
from tests.support.reports.recorded_runs import recorded_run
from tests.support.reports.runs import make
from tests.support.reports.shapes import Shape

pytestmark = pytest.mark.browser

STATE = """(() => { const { data } = page.Timeline; return {
    view: [page.View.from, page.View.to].map((t) => t.toFixed(2)), focus: page.Timeline.focus,
    pins: page.Selection.pins.map((i) => data.ops.i[i]),
    chosen: page.View.selected === null ? null : data.ops.i[page.View.selected],
    shown: page.Timeline.mask.reduce((a, b) => a + b, 0), hits: page.Timeline.hits.length,
    rows: page.Timeline.by, index: document.getElementById('progress-kind').value }; })()"""


@pytest.fixture(scope="module")
def stale(tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    files = RunFiles(recorded_run("stale-reads", tmp_path_factory.mktemp("links")))
    reports.write_report(files)
    return files


@pytest.fixture
def page(stale: RunFiles, browser: Any) -> Any:
    with tab(browser, stale.report.as_uri()) as found:
        yield found
        assert found.complaints == []


def opened(found: Tab, address: str) -> None:
    found.page.goto("about:blank")
    found.page.goto(address)
    found.page.wait_for_selector("html[data-ready=yes]")
    found.settle()
    found.complaints[:] = [text for text in found.complaints if "about:blank" not in text]


def test_a_link_holds_violation_filters_query_pins_view_and_index_and_scrolls_there(page: Tab) -> None:
    page.page.select_option("#progress-kind", "log_end")
    page.page.select_option("#f-rows", "node")
    for _ in range(3):
        page.page.keyboard.press("v")
    page.page.select_option("#f-outcome", "0")
    page.page.fill("#f-search", "op=read & ok")
    page.page.press("#f-search", "Enter")
    page.js("page.View.set(page.View.from - 0.3, page.View.to + 0.2)")
    page.settle()
    page.until("location.hash.includes('q=')")
    page.page.wait_for_timeout(300)
    before, address = page.js(STATE), page.page.url
    assert before["focus"] == 2
    assert before["hits"] > 0
    opened(page, address)
    assert page.js(STATE) == before
    page.until("(({top}) => top >= 0 && top < 200)(document.getElementById('timeline').getBoundingClientRect())")


def test_a_link_to_a_section_changes_nothing_of_what_was_chosen(page: Tab) -> None:
    page.page.keyboard.press("v")
    before = page.js(STATE)
    page.page.click(".bar nav a[href='#faults']")
    page.settle()
    assert page.js(STATE) == before


@pytest.mark.parametrize(
    ("query", "test"),
    [
        ("op=write & ok & lat>50ms", "n.f[o.f[i]] === 'write' && o.o[i] === 0 && o.d[i] > 5e4"),
        ("node=n2|node=n3 & !ok", "n.n[o.n[i]] === 'n2' || (n.n[o.n[i]] === 'n3' && o.o[i] !== 0)"),
        ("key=k1 & t>2 & t<=4.5s", "n.k[o.k[i]] === '\"k1\"' && o.t[i] > 2e6 && o.t[i] <= 4.5e6"),
        ("during:#0", "d.faults[0].start * 1e6 <= page.endOf(d, i) && d.faults[0].end * 1e6 >= o.t[i]"),
        ("during:none", "!(d.faults[0].start * 1e6 <= page.endOf(d, i) && d.faults[0].end * 1e6 >= o.t[i])"),
        ("violation", "d.violations.some((v) => v.ops.includes(o.i[i]))"),
        ("value=24", "(o.vk[i] === 1 && o.va[i] === 24) || (o.qk[i] === 1 && o.qa[i] === 24)"),
        ("process != 3 & phase=main", "o.p[i] !== 3 && n.ph[o.ph[i]] === 'main'"),
    ],
)
def test_a_query_marks_what_a_loop_over_all_operations_finds(page: Tab, query: str, test: str) -> None:
    page.page.fill("#f-search", query)
    page.page.press("#f-search", "Enter")
    page.settle()
    wanted = page.js(
        "(() => { const d = page.Timeline.data, o = d.ops, n = d.names;"
        f" return [...o.t.keys()].filter((i) => {test}); }})()"
    )
    assert wanted
    assert page.js("page.Timeline.hits") == wanted
    first = page.js("page.View.selected")
    assert first in wanted
    page.page.click("#b-next-hit")
    assert page.js("page.View.selected") == wanted[(wanted.index(first) + 1) % len(wanted)]
    page.page.keyboard.press("H")
    assert page.js("page.View.selected") == first


def test_a_query_that_cannot_be_read_says_what_is_known(page: Tab) -> None:
    wrong = {"op=cas & foo=3": "“foo” is not known", "lat>soon": "no comparison", "ok & during:#9": "#9"}
    for text, said in wrong.items():
        page.page.fill("#f-search", text)
        page.page.press("#f-search", "Enter")
        assert said in page.page.inner_text("#f-said")
        assert page.js("page.Timeline.hits.length") == 0


def test_links_back_are_shown_where_the_page_lies_in_a_site(stale: RunFiles, tmp_path: Path, browser: Any) -> None:
    with tab(browser, stale.report.as_uri()) as found:
        assert not found.page.locator("header a[data-in-site]").is_visible()
    place = tmp_path / "runs" / stale.root.parent.name / stale.root.name
    place.mkdir(parents=True)
    shutil.copy(stale.report, place)
    with tab(browser, (place / "report.html").as_uri()) as found:
        link = found.page.locator("header a[data-in-site]")
        assert link.is_visible()
        assert found.js("document.querySelector('header a[data-in-site]').href") == (tmp_path / "index.html").as_uri()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = tmp_path_factory.mktemp("store")
    for number, kind in enumerate(("valid", "invalid", "valid"), start=1):
        shape = Shape(kind=kind, operations=1500, rate=100.0, interval_s=2.0, seed=number)
        make(store / "t" / f"2026030{number}T000000.000Z-{number}", shape)
    server = serve.make(store)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/compare.html"
    server.shutdown()
    server.server_close()
    thread.join()


def test_any_two_runs_can_be_chosen_and_what_does_not_differ_is_not_coloured(served: str, browser: Any) -> None:
    oldest = "t/20260301T000000.000Z-1"
    with tab(browser, served) as found:
        assert found.js("page.Compare.data.runs.length") == 2
        assert found.js("document.querySelectorAll('#c-recovery path').length") == 2
        with found.page.expect_navigation():
            found.page.select_option("#cmp-a", oldest)
        found.page.wait_for_selector("html[data-ready=yes]")
        assert found.js("page.Compare.a.place") == oldest
        found.page.select_option("#cmp-b", oldest)
        found.settle()
        changes = found.page.locator("#cmp-figures td:nth-child(4)").all_inner_texts()
        assert "0.00" in changes
        assert not any("+" in text for text in changes)
        found.js("page.Compare.b = { ...page.Compare.b, gap_s: page.Compare.a.gap_s + 0.001 }")
        found.page.click("#cmp-swap")
        found.page.click("#cmp-swap")
        assert found.page.locator("#cmp-figures .red").count() == 0
        assert found.page.locator("#cmp-figures .differs").count() == 0
        assert [text for text in found.complaints if "favicon" not in text and "compare.html?" not in text] == []
