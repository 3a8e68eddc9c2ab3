"""The site in headless Chromium: from files and from the server."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import reports
from reports.site import site
from tests.support.reports.browser import Pictures, Tab, serious_faults, tab
from tests.support.reports.runs import make
from tests.support.reports.served import served
from tests.support.reports.shapes import HOSTILE, KINDS, Shape

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("store")
    for place, kind in enumerate(KINDS):
        shape = Shape(kind=kind, operations=600, rate=60.0, interval_s=2.0, fault=("bridge", "kill-leader")[place % 2])
        reports.write_report(make(root / "register" / f"20260301T02000{place}.000Z-7", shape))
    evil = HOSTILE.replace("/", "_").replace("\x1b", "")
    reports.write_report(make(root / evil / "run#1?", Shape(operations=300, rate=60.0, hostile=True)))
    return root


@pytest.fixture(scope="module")
def written(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    site.write_site(store, folder)
    return folder


@pytest.fixture
def listed(written: Path, browser: Any) -> Iterator[Tab]:
    with tab(browser, (written / "index.html").as_uri()) as found:
        yield found
        assert found.complaints == []
        assert found.js("window.__hacked") is None


def shown_rows(found: Tab) -> int:
    return int(found.page.locator("#runs tbody tr").count())


def test_filters_search_and_sorting(listed: Tab) -> None:
    assert shown_rows(listed) == len(KINDS) + 1
    listed.page.select_option("#s-verdict", "invalid")
    assert shown_rows(listed) == 2
    listed.page.select_option("#s-verdict", "")
    listed.page.fill("#s-search", "stale read")
    assert shown_rows(listed) == 1
    assert "1 of 6" in listed.page.inner_text("#s-said")
    listed.page.fill("#s-search", "")
    listed.page.click("#runs th[data-sort=verdict] button")
    verdicts = listed.page.locator("#runs tbody td.verdict").all_inner_texts()
    assert verdicts == sorted(verdicts)


def test_findings_are_filtered_and_sorted_by_severity(listed: Tab) -> None:
    groups = listed.js("[...document.querySelectorAll('#s-group option')].map(o => o.value)")
    assert groups == ["", "inconsistent", "replica behind", "faults installed", "–"]
    listed.page.click("#runs th[data-sort=finding] button")
    cells = listed.page.locator("#runs tbody td:nth-child(4)").all_inner_texts()
    assert cells[:3] == ["inconsistent: stale read", "replica behind", "faults installed"]
    listed.page.select_option("#s-group", "replica behind")
    assert shown_rows(listed) == 1
    assert "group=replica+behind" in listed.page.url


def test_a_cell_of_the_coverage_leads_to_its_runs(listed: Tab) -> None:
    listed.page.click("nav a:has-text('Coverage')")
    listed.page.wait_for_selector("html[data-ready=yes]")
    cell = listed.page.locator("tr:has(th:text-is('kill-leader')) td:has(a)").first
    assert "2 runs" in cell.inner_text()
    cell.locator("a").click()
    listed.page.wait_for_selector("html[data-ready=yes] #runs tbody tr")
    assert listed.page.input_value("#s-fault") == "kill-leader"
    assert shown_rows(listed) == 2
    listed.js("location.hash = '#verdict=invalid'")
    listed.page.wait_for_function("document.querySelectorAll('#runs tbody tr').length === 2")
    assert listed.page.input_value("#s-fault") == ""
    listed.complaints[:] = [text for text in listed.complaints if "coverage.html" not in text]


def test_a_narrow_list_shows_every_sentence(listed: Tab) -> None:
    listed.look("light", 390)
    for cell in listed.page.locator("#runs tbody td").all():
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= 390
    assert listed.page.locator("#runs tbody td.what").first.is_visible()


def test_two_runs_are_compared(listed: Tab) -> None:
    assert listed.page.is_disabled("#s-compare")
    valid, invalid = "register/20260301T020000.000Z-7", "register/20260301T020001.000Z-7"
    for place in (valid, invalid):
        listed.page.check(f'#runs input[aria-label="Compare {place.partition("/")[2]}"]')
    listed.page.click("#s-compare")
    listed.page.wait_for_url(re.compile("compare.html"))
    listed.page.wait_for_selector("html[data-ready=yes]")
    listed.settle()
    assert [listed.js(f"page.Compare.{letter}.place") for letter in "ab"] == [valid, invalid]
    assert listed.page.locator(".versus-run .verdict").all_inner_texts() == ["valid", "invalid"]
    legend = listed.page.inner_text("#cmp-legend")
    for reported in ("some ok", "answers, none of them ok", "no answer"):
        assert reported in legend
    assert "linearizability" in listed.page.inner_text("#cmp-checks tr.differs")
    drawn = "page.Charts.plots.map(({plot}) => plot.data.slice(1).map(row => row.filter(v => v > 0).length))"
    assert all(points > 5 for rows in listed.js(drawn) for points in rows)
    assert listed.js("document.querySelector('#c-availability').width") > 500
    compare_by_keyboard(listed)
    standstills_are_drawn(listed)
    listed.complaints[:] = [text for text in listed.complaints if "compare.html" not in text]


def standstills_are_drawn(listed: Tab) -> None:
    """The times in which the harness was stalled are bands of the run that has them, and the legend names them."""
    picture = "document.querySelector('#c-availability').toDataURL()"
    assert "was stalled" not in listed.page.inner_text("#cmp-legend")
    listed.page.click("#cmp-swap")
    before = listed.js(picture)
    listed.js("page.Compare.a.curves.still = [[1, 4]]")
    for _ in range(2):
        listed.page.click("#cmp-swap")
    assert "the harness itself was stalled" in listed.page.inner_text("#cmp-legend")
    assert listed.js(picture) != before
    listed.page.click("#cmp-swap")


def compare_by_keyboard(listed: Tab) -> None:
    """Zoom, move, back, swap, and another run, without a mouse."""
    whole = listed.js("[page.View.from, page.View.to]")
    assert whole[0] < 0 < whole[1]
    listed.page.focus("#c-availability")
    for key in ("+", "+", "ArrowRight"):
        listed.page.keyboard.press(key)
    start, stop = listed.js("[page.View.from, page.View.to]")
    assert whole[0] < start < stop <= whole[1]
    listed.page.keyboard.press("0")
    assert listed.js("[page.View.from, page.View.to]") == pytest.approx(whole)
    before = listed.js("[page.Compare.a.place, page.Compare.b.place]")
    listed.page.focus("#cmp-swap")
    listed.page.keyboard.press("Enter")
    assert listed.js("[page.Compare.b.place, page.Compare.a.place]") == before
    listed.page.focus("#cmp-a")
    listed.page.keyboard.press("Home")
    listed.settle()
    assert listed.js("page.Compare.a.place") == listed.js("page.Compare.data.runs[0].place")


def test_every_link_of_the_static_site_leads_somewhere(listed: Tab) -> None:
    links = listed.js("[...document.querySelectorAll('a')].map(a => a.href)")
    assert len(links) > 10
    for link in links:
        assert Path(unquote(urlsplit(link).path)).exists(), link


@pytest.mark.parametrize(
    "name", ["index", "coverage", "trends", "compare", "runs/register/20260301T020001.000Z-7/index"]
)
def test_accessible_and_looked_at(written: Path, browser: Any, pictures: Pictures, name: str) -> None:
    with tab(browser, (written / f"{name}.html").as_uri()) as found:
        for theme, width in product(("light", "dark"), (390, 1400)):
            found.look(theme, width)
            pictures.take(found, f"site-{name.replace('/', '-')}-{theme}-{width}.png")
            assert found.js("document.documentElement.scrollWidth") <= width
        assert serious_faults(found) == []
        found.look("light", 1400)
        assert serious_faults(found, colours_only=True) == []
        assert found.complaints == []


def test_the_list_by_keyboard_alone(listed: Tab) -> None:
    listed.page.focus("#s-search")
    listed.page.keyboard.type("stale read")
    assert shown_rows(listed) == 1
    listed.page.keyboard.press("Control+a")
    listed.page.keyboard.press("Delete")
    listed.page.keyboard.press("Tab")
    listed.page.keyboard.type("inv")
    assert listed.page.input_value("#s-verdict") == "invalid"
    assert shown_rows(listed) == 2
    listed.page.focus("#runs th[data-sort=seed] button")
    listed.page.keyboard.press("Enter")
    assert listed.page.get_attribute("#runs th[data-sort=seed]", "aria-sort")
    listed.page.focus("#runs tbody input")
    listed.page.keyboard.press("Space")
    listed.page.keyboard.press("Tab")
    listed.page.keyboard.press("Enter")
    listed.page.wait_for_selector("#verdict-word")
    listed.complaints[:] = [text for text in listed.complaints if "report.html" not in text]


#: What a report of a stranger may try: to read another page, to open a window, to reach the page that led to it.
EVIL = """<!doctype html><html><title>waiting</title><script>
(async () => {
  const found = [self.origin];
  found.push(await fetch("/").then(r => r.text(), () => "no fetch"));
  const request = new XMLHttpRequest();
  try { request.open("GET", "/", false); request.send(); found.push("a request"); } catch { found.push("no request"); }
  const opened = window.open("/");
  found.push(opened ? "a window" : "no window");
  try { found.push(document.cookie + localStorage.length); } catch { found.push("no storage"); }
  try { found.push(window.opener ? window.opener.document.title : "no opener"); } catch { found.push("no opener"); }
  document.title = JSON.stringify(found);
})();
</script></html>"""


def test_a_report_of_a_stranger_reaches_nothing_of_the_site(store: Path, browser: Any, tmp_path: Path) -> None:
    shutil.copytree(store, tmp_path / "store", symlinks=True)
    run = next((tmp_path / "store" / "register").glob("2*"))
    (run / "report.html").write_text(EVIL)
    with served(tmp_path / "store") as host, closing(browser.new_page()) as page:
        page.goto(f"{host}/runs/register/{run.name}/report.html")
        page.wait_for_function("document.title.startsWith('[')")
        seen = json.loads(page.title())
        assert seen == ["null", "no fetch", "no request", "no window", "no storage", "no opener"]


def test_served_pages_work_under_their_headers(store: Path, browser: Any) -> None:
    with served(store) as host, tab(browser, f"{host}/") as found:
        address = f"{host}/"
        found.page.locator("#runs tbody a", has_text="2026-03-01T02:00:01Z").click()
        found.page.wait_for_selector("html[data-ready=yes]")
        found.settle()
        assert found.page.inner_text("#verdict-word") == "Invalid"
        found.page.keyboard.press("v")
        found.settle()
        assert found.js("page.View.selected") is not None
        for path in ("coverage.html", "trends.html", "compare.html", "runs/register/20260301T020001.000Z-7/"):
            found.page.goto(address + path)
            found.page.wait_for_selector("html[data-ready=yes]")
        found.page.goto(address)
        found.page.wait_for_selector("html[data-ready=yes]")
        for link in found.js("[...document.querySelectorAll('#runs a')].map(a => a.href)"):
            assert found.page.request.get(link).status == 200, link
        complaints = [text for text in found.complaints if "favicon" not in text]
        assert complaints == []
