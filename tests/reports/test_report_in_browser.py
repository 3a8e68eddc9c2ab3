"""The page in headless Chromium: drawn, quiet, usable by mouse and by keyboard alone, safe, quick enough."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import reports
from history import RunFiles
from tests.support.reports.browser import Pictures, Tab, serious_faults, tab
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import recorded_run
from tests.support.reports.runs import make
from tests.support.reports.shapes import KINDS, Shape

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("kind", KINDS)
def test_is_drawn_without_complaint_in_every_theme_and_width(
    with_page: Maker, browser: Any, pictures: Pictures, kind: str
) -> None:
    files = with_page(kind)
    with tab(browser, files.report.as_uri()) as found:
        outlined = found.js("getComputedStyle(document.querySelector('#verdict h1'), '::before').backgroundColor")
        assert (outlined == "rgba(0, 0, 0, 0)") == (kind == "harness-failure")
        for theme, width in product(("light", "dark"), (390, 1400)):
            found.look(theme, width)
            pictures.take(found, f"{kind}-{theme}-{width}.png")
            assert found.js("document.documentElement.scrollWidth") <= width
            assert painted(found, "#c-timeline") > 200
            assert painted(found, "#c-leaders") > 200
            assert painted(found, "#c-scatter canvas") > 200
        assert found.complaints == []
        assert serious_faults(found) == []
        found.look("light", 1400)
        assert serious_faults(found, colours_only=True) == []


def painted(found: Tab, selector: str) -> int:
    """How many pixels of a canvas are not empty, as far as a thousand."""
    script = """s => { const c = document.querySelector(s), context = c.getContext("2d");
        const d = context.getImageData(0, 0, c.width, c.height).data;
        let n = 0; for (let i = 3; i < d.length && n < 1000; i += 4) n += d[i] > 0; return n; }"""
    return int(found.page.evaluate(script, selector))


def test_hostile_values_do_nothing(with_page: Maker, browser: Any) -> None:
    files = with_page("invalid", hostile=True)
    with tab(browser, files.report.as_uri()) as found:
        found.page.fill("#f-search", "onerror")
        found.page.keyboard.press("Enter")
        found.settle()
        assert "onerror" in found.page.inner_text("#pinned")
        assert found.js("window.__hacked") is None
        assert found.js("document.images.length") == 0
        assert found.complaints == []


def test_faults_at_the_same_time_have_rows_of_their_own_with_names_that_can_be_read(
    with_page: Maker, browser: Any
) -> None:
    files = with_page("valid")
    rows = "page.Timeline.faultRows.map(row => row.map(({ fault }) => fault.id))"
    more = """{ const one = PAGE.faults[0];
        for (const id of [90, 91]) PAGE.faults.push({ ...one, id, start: one.start + 0.2 });
        page.Timeline.laidFor = null; page.drawTimeline(); }""".replace("PAGE", "page.Timeline.data")
    with tab(browser, files.report.as_uri()) as found:
        before = found.js(rows)
        assert sorted(number for row in before for number in row) == found.js(
            "page.Timeline.data.faults.map(f => f.id).sort()"
        )
        height = found.js("page.Timeline.canvas.clientHeight")
        found.js(more)
        after = found.js(rows)
        assert [sum(number in row for row in after) for number in (90, 91)] == [1, 1]
        assert not any({90, 91} <= set(row) for row in after)
        assert found.js("page.Timeline.canvas.clientHeight") >= height + 18
        assert found.complaints == []


def test_inline_script_is_refused(shown: Tab) -> None:
    shown.js(
        """{ const s = document.createElement("script"); s.textContent = "window.__hacked = 1";
        document.body.append(s); }"""
    )
    assert shown.js("window.__hacked") is None
    assert any("Content Security Policy" in text for text in shown.complaints)
    shown.complaints.clear()


def view(found: Tab) -> tuple[float, float]:
    found.settle()
    start, stop = found.js("[page.View.from, page.View.to]")
    return start, stop


def middle(found: Tab, selector: str) -> tuple[float, float]:
    found.page.locator(selector).scroll_into_view_if_needed()
    box = found.page.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_wheel_zooms_and_drag_moves_the_timeline(shown: Tab) -> None:
    shown.page.focus("#c-timeline")
    x, y = middle(shown, "#c-timeline")
    before = view(shown)
    shown.page.mouse.move(x, y)
    shown.page.mouse.wheel(0, -300)
    zoomed = view(shown)
    assert zoomed[1] - zoomed[0] < (before[1] - before[0]) * 0.6
    shown.page.mouse.down()
    shown.page.mouse.move(x + 120, y, steps=4)
    shown.page.mouse.up()
    moved = view(shown)
    assert moved[0] < zoomed[0]
    assert moved[1] - moved[0] == pytest.approx(zoomed[1] - zoomed[0])


@pytest.mark.parametrize(
    ("focused", "control", "zooms"), [(False, False, False), (True, False, True), (False, True, True)]
)
def test_the_wheel_scrolls_the_page_unless_the_timeline_was_asked_for(
    shown: Tab, focused: bool, control: bool, zooms: bool
) -> None:
    if focused:
        shown.page.focus("#c-timeline")
    before = view(shown)
    options = f"{{deltaY: -300, ctrlKey: {str(control).lower()}, bubbles: true, cancelable: true}}"
    taken = shown.js(f"!page.Timeline.canvas.dispatchEvent(new WheelEvent('wheel', {options}))")
    assert taken is zooms
    assert (view(shown) != before) is zooms


def test_the_wheel_scrolls_on_at_the_whole_run(shown: Tab) -> None:
    shown.page.focus("#c-timeline")
    wheel = (
        "page.Timeline.canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: 300, bubbles: true, cancelable: true}))"
    )
    assert shown.js(wheel) is True
    shown.js("page.View.set(2, 4)")
    assert shown.js(wheel) is False


def test_drag_on_a_chart_zooms_all_of_them_and_double_click_goes_back(shown: Tab) -> None:
    x, y = middle(shown, "#c-rate .u-over")
    shown.page.mouse.move(x, y)
    shown.page.mouse.down()
    shown.page.mouse.move(x + 150, y, steps=4)
    shown.page.mouse.up()
    start, stop = view(shown)
    assert 0 < start < stop < shown.js("page.View.end")
    for low, high in shown.js("page.Charts.plots.map(({plot}) => [plot.scales.x.min, plot.scales.x.max])"):
        assert (low, high) == (pytest.approx(start), pytest.approx(stop))
    shown.page.mouse.dblclick(x, y)
    assert view(shown) == (0, shown.js("page.View.end"))


def test_back_returns_to_each_window_before(shown: Tab) -> None:
    shown.js("page.View.set(2, 6)")
    shown.page.wait_for_timeout(450)
    shown.js("[3, 3.1, 3.2].forEach((start) => page.View.set(start, 4))")  # at once, as by a wheel: one step
    assert view(shown) == (3.2, 4)
    shown.page.keyboard.press("b")
    assert view(shown) == (2, 6)
    shown.page.click("#b-back")
    assert view(shown) == (0, shown.js("page.View.end"))
    shown.page.keyboard.press("b")
    assert view(shown) == (0, shown.js("page.View.end"))


def test_escape_leaves_the_search_field(shown: Tab) -> None:
    shown.page.keyboard.press("/")
    assert shown.js("document.activeElement.id") == "f-search"
    shown.page.keyboard.press("Escape")
    assert shown.js("document.activeElement.id") != "f-search"
    shown.page.keyboard.press("?")
    assert shown.page.locator("#keys").is_visible()
    shown.page.keyboard.press("Escape")


def test_minimap_moves_the_view(shown: Tab) -> None:
    shown.js("page.View.set(2, 4)")
    x, y = middle(shown, "#c-minimap")
    shown.page.mouse.click(x, y)
    start, stop = view(shown)
    assert stop - start == pytest.approx(2)
    assert start < shown.js("page.View.end") * 0.55 < stop + 2


#: Where the middle of some short operation is on the screen, and its index.
SPOT = """(() => { const { data, row, rowHeight, canvas } = page.Timeline, { ops } = data;
    const box = canvas.getBoundingClientRect(), width = box.width - page.GUTTER - page.MARGIN;
    const seconds = (i) => (ops.t[i] + ops.d[i] / 2) / 1e6;
    let i = page.lowerBound(ops.t, (page.View.from + page.View.to) / 2 * 1e6);
    while (ops.d[i] < 2000 || ops.d[i] > 30000) i++;
    const share = (seconds(i) - page.View.from) / (page.View.to - page.View.from);
    return [box.left + page.GUTTER + share * width, box.top + (row[i] + 0.6) * rowHeight, ops.i[i]]; })()"""


def test_hover_shows_a_card_click_pins_and_the_address_keeps_it(shown: Tab) -> None:
    shown.js("page.View.set(8, 8.2)")
    shown.settle()
    shown.page.locator("#c-timeline").scroll_into_view_if_needed()
    place = shown.js(SPOT)
    shown.page.mouse.move(place[0], place[1])
    assert "invoked" in shown.page.inner_text("#card")
    shown.page.mouse.click(place[0], place[1])
    assert str(place[2]) in shown.page.inner_text("#pinned")
    shown.page.wait_for_url(re.compile("op="))
    address = shown.page.url
    shown.page.goto("about:blank")
    shown.page.goto(address)
    shown.page.wait_for_selector("html[data-ready=yes]")
    assert view(shown) == pytest.approx((8, 8.2), abs=1e-3)
    assert str(place[2]) in shown.page.inner_text("#pinned")
    shown.complaints[:] = [text for text in shown.complaints if "about:blank" not in text]


def test_keyboard_alone(shown: Tab) -> None:
    shown.page.keyboard.press("n")
    first = shown.js("page.View.selected")
    assert shown.js("page.isError(page.View.selected)")
    shown.page.keyboard.press("n")
    assert shown.js("page.View.selected") > first
    shown.page.keyboard.press("p")
    assert shown.js("page.View.selected") == first
    shown.page.keyboard.press("Escape")
    assert shown.js("page.View.selected") is None
    shown.page.keyboard.press("0")
    assert view(shown) == (0, shown.js("page.View.end"))
    shown.page.focus("#c-timeline")
    shown.page.keyboard.press("+")
    zoomed = view(shown)
    shown.page.keyboard.press("ArrowRight")
    assert view(shown)[0] > zoomed[0]
    shown.page.keyboard.press("/")
    assert shown.js("document.activeElement.id") == "f-search"


def test_every_control_can_be_reached_by_tab(shown: Tab) -> None:
    reached = set()
    for _ in range(80):
        shown.page.keyboard.press("Tab")
        reached.add(shown.js("document.activeElement.id || document.activeElement.className"))
    assert {"theme", "f-rows", "f-search", "b-next", "c-timeline", "progress-kind"} <= reached


def test_search_by_index_and_by_value(shown: Tab) -> None:
    index, value = shown.js(
        "[page.Timeline.data.ops.i[700], page.Timeline.data.ops.va[page.Timeline.data.ops.vk.indexOf(1, 900)]]"
    )
    shown.page.fill("#f-search", f"#{index}")
    shown.page.keyboard.press("Enter")
    assert shown.js("page.Timeline.data.ops.i[page.View.selected]") == index
    shown.page.keyboard.press("Escape")
    shown.js("page.select(null), page.View.set(0, page.View.end)")
    shown.settle()
    shown.page.fill("#f-search", str(value))
    shown.page.keyboard.press("Enter")
    shown.page.keyboard.press("Enter")
    assert str(value) in shown.page.inner_text("#pinned")


def test_filters_and_rows(shown: Tab) -> None:
    shown.page.select_option("#f-outcome", "errors")
    assert " of " in shown.page.inner_text("#f-said")
    assert shown.js("page.Timeline.mask.reduce((a, b) => a + b, 0)") == shown.js(
        "page.Timeline.data.ops.o.filter((o) => o).length"
    )
    shown.page.select_option("#f-outcome", "")
    for rows in ("node", "key"):
        shown.page.select_option("#f-rows", rows)
        shown.settle()
        assert painted(shown, "#c-timeline") > 200
        assert shown.js("page.Timeline.rows.length") >= 5


def test_theme_button_and_progress_choice(shown: Tab) -> None:
    before = shown.js("getComputedStyle(document.body).backgroundColor")
    shown.page.click("#theme")
    shown.settle()
    assert shown.js("getComputedStyle(document.body).backgroundColor") != before
    shown.page.select_option("#progress-kind", "committed")
    shown.settle()


@pytest.mark.parametrize("chart", ["c-rate", "c-applied", "c-lag"])
def test_a_stepped_chart_reads_the_step_under_the_cursor(shown: Tab, chart: str) -> None:
    """Near its end too, where the beginning of the next step is nearer."""
    plot = f"page.Charts.plots.find(({{host}}) => host.id === '{chart}').plot"
    begun, after = shown.js(f"[...{plot}.data[0].slice(4, 6)]")
    for share in (0.1, 0.9):
        shown.js(f"page.View.point({begun + share * (after - begun)})")
        shown.settle()
        assert shown.js(f"[...{plot}.cursor.idxs]") == [4] * shown.js(f"{plot}.series.length")
        assert shown.js(f"document.querySelector('#{chart} .u-value').textContent") == f"{begun:.2f}"


def test_cursor_moves_the_live_network_and_marks_the_fault(shown: Tab) -> None:
    middle_of_fault = float(shown.page.locator("#fault-0 button.go").get_attribute("data-from")) + 3
    shown.js(f"page.View.point({middle_of_fault})")
    assert "hot" in (shown.page.get_attribute("#fault-0", "class") or "")
    assert "leader" in shown.page.inner_text("#live-said")
    assert shown.js("document.querySelectorAll('#live .link.cut').length") == 5


def test_a_leader_that_lives_is_never_drawn_as_killed(tmp_path: Path, browser: Any) -> None:
    """A fault kills a leader and its successor one after the other; between them the successor leads."""
    files = RunFiles(recorded_run("data-lost", tmp_path))
    reports.write_report(files)
    with tab(browser, files.report.as_uri()) as found:
        states = found.js(
            "[...Array(300).keys()].map((step) => { page.View.point(step / 4);"
            " return ['.leader', '.struck', '.leader.struck'].map((kind) =>"
            " document.querySelectorAll(`#live .node${kind}`).length); })"
        )
    assert max(leading for leading, _, _ in states) == 1
    assert max(struck for _, struck, _ in states) > 0
    assert max(both for _, _, both in states) == 0


def test_a_click_on_a_fault_zooms_to_it(shown: Tab) -> None:
    shown.page.click("#fault-1 button.go")
    start, stop = view(shown)
    assert stop - start < shown.js("page.View.end") * 0.8


@pytest.mark.parametrize("kind", KINDS)
def test_every_link_within_the_page_leads_somewhere(with_page: Maker, browser: Any, kind: str) -> None:
    files = with_page(kind)
    with tab(browser, files.report.as_uri()) as found:
        lost = found.js(
            "[...document.querySelectorAll('a[href^=\"#\"]')].map((a) => a.getAttribute('href').slice(1))"
            ".filter((id) => !document.getElementById(id))"
        )
        assert lost == []


def test_prints_on_white(shown: Tab, pictures: Pictures, tmp_path: Path) -> None:
    target = (pictures.folder or tmp_path) / "invalid.pdf"
    shown.page.pdf(path=target, format="A4", landscape=True, print_background=True)
    assert target.stat().st_size > 20_000


@pytest.mark.nightly
def test_a_large_run_is_quick(tmp_path: Path, browser: Any) -> None:
    files = make(
        tmp_path / "register" / "run", Shape(operations=100_000, rate=1000, clients=20, fault="all"), tables=True
    )
    reports.write_report(files)
    measure(browser, files.report, megabytes=5)


@pytest.mark.nightly
def test_a_huge_run_is_quick(tmp_path: Path, browser: Any) -> None:
    shape = Shape(operations=1_000_000, rate=2000, clients=50, fault="all", keys=20)
    files = make(tmp_path / "register" / "run", shape, tables=True)
    reports.write_report(files)
    measure(browser, files.report, megabytes=40)


def measure(browser: Any, report: Path, megabytes: float) -> None:
    """Size, first paint, time until it can be used, time to draw a frame; generous, for machines that are shared."""
    size = report.stat().st_size / 1e6
    with tab(browser, report.as_uri(), new=True) as found:
        paint = found.js("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        usable = found.js("performance.getEntriesByName('usable')[0].startTime")
        frame = found.js(
            "(() => { const t = performance.now(); page.drawTimeline(); return performance.now() - t; })()"
        )
        print(f"{size:.1f} MB, first paint {paint:.0f} ms, usable {usable:.0f} ms, timeline {frame:.0f} ms")
        assert size < megabytes
        assert paint < 10_000
        assert usable < 30_000
        assert frame < 2000
        assert found.complaints == []
