"""Links that hold what was chosen, queries, tables of a stretch of time, the track of events; in Chromium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reports
from history import RunFiles
from tests.support.reports.browser import Tab, tab
from tests.support.reports.recorded_runs import recorded_run
from tests.support.reports.runs import make
from tests.support.reports.served import served as serving
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


def test_a_link_holds_a_stretch_of_time_and_how_its_table_is_grouped(page: Tab) -> None:
    page.js("page.chooseRange([0.2, 0.5])")
    page.page.select_option("#by-table", "node")
    page.until("location.hash.includes('by=node')")
    said, address = page.page.inner_text("#said-table"), page.page.url
    assert "0.200 to 0.500 s, as selected" in said
    opened(page, address)
    assert page.page.input_value("#by-table") == "node"
    assert page.page.inner_text("#said-table") == said
    opened(page, address.replace("by=node", "by=nothing"))
    assert page.page.input_value("#by-table") == "kind"


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
    wrong = {"op=cas & foo=3": "“foo” is not known", "lat>soon": "number", "ok & during:#9": "#9"}
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
    with serving(store) as address:
        yield f"{address}/compare.html"


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


#: Counts and latencies in a stretch by a column of names, one operation after the other.
TABLE = """(([from, to, by]) => { const { data, mask } = page.Timeline, { ops, names } = data, found = {};
    for (let i = 0; i < ops.t.length; i++) {
        if (!mask[i] || ops.t[i] > to * 1e6 || page.endOf(data, i) < from * 1e6) continue;
        const row = found[names[by][ops[by][i]]] ??= { counts: [0, 0, 0], took: [] };
        row.counts[ops.o[i]]++;
        if (ops.o[i] === 0) row.took.push(ops.d[i] / 1000);
    }
    for (const row of Object.values(found)) row.took.sort((a, b) => a - b);
    return found; })"""


def test_a_stretch_of_time_is_a_table_of_counts_quantiles_and_errors(page: Tab) -> None:
    page.page.locator("#c-timeline").scroll_into_view_if_needed()
    box = page.page.locator("#c-timeline").bounding_box()
    page.page.keyboard.down("Shift")
    page.page.mouse.move(box["x"] + 300, box["y"] + 30)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + 700, box["y"] + 30, steps=4)
    page.page.mouse.up()
    page.page.keyboard.up("Shift")
    page.settle()
    start, stop = page.js("page.Timeline.range")
    assert page.js("page.View.from === 0 && page.View.to === page.View.end")
    for by, column in (("kind", "f"), ("node", "n")):
        page.page.select_option("#by-table", by)
        page.settle()
        wanted = page.page.evaluate(TABLE, [start, stop, column])
        rows = page.page.locator("#as-table tbody tr").all_inner_texts()
        assert [row.split("\t")[0] for row in rows] == sorted(wanted)
        for row in rows:
            name, count, ok, info, fail, p50, _, _, most, *_ = row.split("\t")
            counts, took = wanted[name]["counts"], wanted[name]["took"]
            assert [int(ok), int(info), int(fail), int(count)] == [*counts, sum(counts)]
            assert float(p50.replace(",", "")) == pytest.approx(took[-(-len(took) // 2) - 1], abs=0.06)
            assert float(most.replace(",", "")) == pytest.approx(took[-1], abs=0.06)
    page.page.click("#b-range")
    page.settle()
    assert "as in view" in page.page.inner_text("#said-table")
    for by in ("outcome", "client", "key", "phase"):
        page.page.select_option("#by-table", by)
        assert page.page.locator("#as-table tbody tr").count() > 1


def test_a_mark_in_a_chart_opens_its_evidence(page: Tab) -> None:
    at, left, width = page.js(
        "(() => { const { plot } = page.Charts.plots.find(({ host }) => host.id === 'c-rate');"
        " const box = plot.over.getBoundingClientRect();"
        " const at = page.Timeline.data.violations[1].at; page.View.set(at - 0.2, at + 0.2);"
        " return [at, box.left, box.width]; })()"
    )
    page.settle()
    page.page.locator("#c-rate").scroll_into_view_if_needed()
    top = page.page.locator("#c-rate .u-over").bounding_box()["y"]
    assert at > 0
    page.page.mouse.click(left + width / 2, top + 6)
    page.until("document.querySelectorAll('article.violation')[1].classList.contains('shown')")
    assert page.js("document.querySelectorAll('article.violation')[1].closest('details').open")


def middle_of_the_strip(found: Tab, down: float) -> tuple[float, float]:
    """Where the middle of the time window is on the screen, so far below the upper edge of the strip of roles."""
    found.page.locator("#c-leaders").scroll_into_view_if_needed()
    box = found.page.locator("#c-leaders").bounding_box()
    left, right = found.js("[page.GUTTER, page.MARGIN]")
    return box["x"] + left + (box["width"] - left - right) / 2, box["y"] + down


def test_a_mark_of_a_broken_rule_opens_the_moment_in_its_section(page: Tab) -> None:
    finding = page.js("page.Timeline.data.findings[0]")
    page.js(f"page.View.set({finding['at']} - 0.2, {finding['at']} + 0.2)")
    page.settle()
    page.page.mouse.click(*middle_of_the_strip(page, 8))
    page.until("document.querySelector('.invariant tr.shown') !== null")
    shown = page.js("[document.querySelector('tr.shown').dataset.at, document.querySelector('.shown th').textContent]")
    assert float(shown[0]) == pytest.approx(finding["at"], abs=1e-3)


def test_elections_and_lost_entries_can_be_read_in_the_strip(page: Tab) -> None:
    kind, at, _, to, text = page.js("page.Timeline.data.track.arrows.find(([kind]) => kind === 1)")
    assert kind == 1
    page.js(f"page.View.set({at} - 3, {at} + 3)")
    page.settle()
    page.page.mouse.move(*middle_of_the_strip(page, (to + 1.5) * 22))
    assert text in page.page.inner_text("#card")
