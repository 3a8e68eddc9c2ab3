"""The page on narrow and wide screens, under fingers, on paper, and its list of keys; in Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import reports
from history import RunFiles
from reports.site import site
from tests.support.reports.browser import Pictures, Tab, serious_faults, tab
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import recorded_run

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [360, 768, 2560])
def test_nothing_is_wider_than_the_screen_and_charts_fill_it(shown: Tab, pictures: Pictures, width: int) -> None:
    shown.look("light", width)
    pictures.take(shown, f"invalid-light-{width}.png")
    assert shown.js("document.documentElement.scrollWidth") <= width
    for chart in ("#c-rate canvas", "#c-leaders", "#c-timeline"):
        box = shown.page.locator(chart).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["width"] > min(width, 2560) * (0.75 if width != 768 else 0.9)


OPEN_ALL = "for (const fold of document.querySelectorAll('details')) fold.open = true"
LETTERS = (
    "[...new Set([...document.querySelectorAll('svg text')].filter((e) => e.checkVisibility()).map((e) =>"
    " Math.round(parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a * 10) / 10))]"
)
"""The heights of the letters of all drawings, in pixels of the screen: a drawing that is scaled scales its letters."""


@pytest.fixture(scope="module")
def drawings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The pages of two runs, and what compares them."""
    root = tmp_path_factory.mktemp("drawings")
    store = root / "store"
    for name in ("epoch-granted-twice", "stale-reads"):
        (store / name).mkdir(parents=True)
        reports.write_report(RunFiles(recorded_run(name, store / name)))
    site.write_site(store, root / "site")
    pages = [store / name / name / "report.html" for name in ("epoch-granted-twice", "stale-reads")]
    return [*pages, root / "site" / "compare.html"]


@pytest.mark.parametrize("width", [360, 1280, 2560])
def test_letters_are_as_high_in_every_drawing_on_every_screen(width: int, drawings: list[Path], browser: Any) -> None:
    for page in drawings:
        with tab(browser, page.as_uri(), width=width) as found:
            found.page.evaluate(OPEN_ALL)
            found.settle()
            letters = found.js(LETTERS)
            assert letters, page
            assert all(10 <= height <= 12.5 for height in letters), (page, letters)
            assert found.js("document.documentElement.scrollWidth") <= width, page


def test_the_lettering_of_every_drawing_has_one_size(shown: Tab) -> None:
    shown.page.evaluate(OPEN_ALL)
    sizes = shown.js(
        "[...new Set([...document.querySelectorAll('svg text, svg tspan, .uplot .u-legend')]"
        ".filter((e) => e.checkVisibility()).map((e) => getComputedStyle(e).fontSize))]"
    )
    assert sizes == ["12px"]
    assert shown.js("page.Charts.plots.every(({ plot }) => plot.axes.every((a) => a.font[0].includes('12px')))")


RUN_OFF = (
    "[...document.querySelectorAll('svg.slim text')].filter((e) => e.checkVisibility() &&"
    " e.getBoundingClientRect().right > e.ownerSVGElement.getBoundingClientRect().right + 1).map((e) => e.textContent)"
    ".concat([...document.querySelectorAll('.sketch > svg text')].filter((e) => e.checkVisibility() &&"
    " e.getBoundingClientRect().left < e.closest('.sketch').getBoundingClientRect().left).map((e) => e.textContent))"
)
"""Texts of the narrow drawings that end beyond them, and of the sketches that begin before them."""
OVERLAPS = (Path(__file__).parents[1] / "support" / "reports" / "overlaps.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["data-lost", "stale-reads", "ledgers-lost", "element-lost", "epoch-granted-twice"])
def test_nothing_lies_over_anything_else_on_any_screen_or_on_paper(name: str, tmp_path: Path, browser: Any) -> None:
    files = RunFiles(recorded_run(name, tmp_path))
    reports.write_report(files)
    with tab(browser, files.report.as_uri()) as found:
        for width in (360, 768, 2560):
            found.look("light", width)
            assert found.js("document.documentElement.scrollWidth") <= width
            assert found.js(f"({OVERLAPS})()") == [], width
        found.look("light", 360)
        found.page.evaluate(OPEN_ALL)
        found.settle()
        assert found.js("document.documentElement.scrollWidth") <= 360, "with every fold open"
        assert found.js(RUN_OFF) == []
        found.page.evaluate(OPEN_ALL.replace("true", "false"))
        found.look("light", 718)  # as wide as what an A4 sheet holds
        found.page.emulate_media(media="print")
        found.js("dispatchEvent(new Event('beforeprint'))")
        found.settle()
        assert found.js("document.documentElement.scrollWidth") <= 718
        assert found.js(f"({OVERLAPS})()") == [], "paper"


def touch(found: Tab, kind: str, number: int, x: float, y: float, selector: str) -> None:
    options = (
        f"{{pointerType: 'touch', pointerId: {number}, clientX: {x}, clientY: {y}, bubbles: true, cancelable: true,"
        f" isPrimary: {str(number == 1).lower()}, buttons: 1}}"
    )
    found.js(f"document.querySelector('{selector}').dispatchEvent(new PointerEvent('{kind}', {options})); 0")


@pytest.mark.parametrize("selector", ["#c-timeline", "#c-rate .u-over", "#c-leaders"])
def test_two_fingers_zoom(shown: Tab, selector: str) -> None:
    shown.js("Element.prototype.setPointerCapture = () => {}; 0")
    shown.page.locator(selector).scroll_into_view_if_needed()
    box = shown.page.locator(selector).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + 30
    before = shown.js("page.View.to - page.View.from")
    for number, at in ((1, x - 50), (2, x + 50)):
        touch(shown, "pointerdown", number, at, y, selector)
    for number, at in ((1, x - 150), (2, x + 150)):
        touch(shown, "pointermove", number, at, y, selector)
    for number, at in ((1, x - 150), (2, x + 150)):
        touch(shown, "pointerup", number, at, y, selector)
    shown.settle()
    assert shown.js("page.View.to - page.View.from") == pytest.approx(before / 3, rel=0.1)
    assert shown.js("page.Selection.pins.length") == 0


def test_a_finger_that_stays_down_reads(shown: Tab) -> None:
    shown.js("Element.prototype.setPointerCapture = () => {}; 0")
    shown.page.locator("#c-leaders").scroll_into_view_if_needed()
    box = shown.page.locator("#c-leaders").bounding_box()
    touch(shown, "pointerdown", 1, box["x"] + box["width"] / 2, box["y"] + 30, "#c-leaders")
    shown.until("!document.getElementById('card').hidden")
    assert "n1" in shown.page.inner_text("#card")
    touch(shown, "pointerup", 1, box["x"] + box["width"] / 2, box["y"] + 30, "#c-leaders")


def test_a_screen_without_a_pointer_shows_what_fingers_do(with_page: Maker, browser: Any) -> None:
    files = with_page("invalid")
    context = browser.new_context(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(files.report.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    assert page.locator("#h-timeline .by-touch").is_visible()
    assert not page.locator("#h-timeline .by-mouse").is_visible()
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_paper_is_white_and_as_wide_as_a_sheet_whatever_the_theme(
    shown: Tab, pictures: Pictures, tmp_path: Path, theme: str
) -> None:
    shown.look(theme, 1400)
    shown.js("document.fonts.ready.then(() => 0)")
    ink = (
        "(() => { const c = document.querySelector('#c-rate canvas'), d = c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data; let least = 255;"
        " for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 250) least = Math.min(least, d[i]); return least; })()"
    )
    shown.js("dispatchEvent(new Event('beforeprint'))")
    assert shown.js("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for chart in ("#c-rate canvas", "#c-leaders", "#c-timeline"):
        assert shown.js(f"document.querySelector('{chart}').getBoundingClientRect().width") <= 696
    assert shown.js(ink) < 110
    shown.js("dispatchEvent(new Event('afterprint'))")
    dark = shown.js("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    assert dark == (theme == "dark")
    assert shown.js("document.querySelector('#c-timeline').getBoundingClientRect().width") > 900
    target = (pictures.folder or tmp_path) / f"invalid-a4-{theme}.pdf"
    shown.page.pdf(path=target, format="A4", print_background=True)
    assert target.stat().st_size > 20_000
    assert shown.js("document.documentElement.classList.contains('paper')") is False


ON_PAPER = (
    "[...document.querySelectorAll('.excerpt, .further, #words details')].filter((fold) => !fold.open).length",
    (
        "[...document.querySelectorAll('.u-legend .u-value, #live, .key-history')]"
        ".filter((e) => e.checkVisibility()).length"
    ),
)


def test_paper_has_the_folds_that_are_evidence_open_and_no_empty_widgets(tmp_path: Path, browser: Any) -> None:
    """The log lines, seven of eight counterexamples and the words did not get to paper; *point at a chart* did."""
    files = RunFiles(recorded_run("element-lost", tmp_path))
    reports.write_report(files)
    with tab(browser, files.report.as_uri(), width=718) as found:
        before = found.js(ON_PAPER[0])
        assert before >= 2
        found.page.emulate_media(media="print")
        found.js("dispatchEvent(new Event('beforeprint'))")
        found.settle()
        assert [found.js(one) for one in ON_PAPER] == [0, 0]
        assert found.page.locator("#progress-kind").is_visible(), "which index is drawn"
        assert found.page.locator("article.violation .proof.slim").first.is_visible()
        assert found.js("document.documentElement.scrollWidth") <= 718
        found.js("dispatchEvent(new Event('afterprint'))")
        assert found.js(ON_PAPER[0]) == before


@pytest.mark.parametrize(("width", "drawn"), [(560, "slim"), (768, "slim"), (1024, "broad")])
def test_a_counterexample_is_drawn_for_a_phone_on_a_phone_alone(
    width: int, drawn: str, tmp_path: Path, browser: Any
) -> None:
    files = RunFiles(recorded_run("element-lost", tmp_path))
    reports.write_report(files)
    with tab(browser, files.report.as_uri(), width=width) as found:
        assert found.page.locator(f"#violation-1 .proof.{drawn}").is_visible()
        assert found.js("document.documentElement.scrollWidth") <= width


CUT_OFF = (
    "[...document.querySelectorAll('#faults .scroll, .excerpt pre, .excerpt table, td.witness *')].filter((e) =>"
    " e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && e.clientWidth).map((e) => e.outerHTML.slice(0, 80))"
)


@pytest.mark.parametrize("name", ["element-lost", "data-lost"])
def test_neither_log_lines_nor_witnesses_are_cut_off_on_a_small_desk(name: str, tmp_path: Path, browser: Any) -> None:
    files = RunFiles(recorded_run(name, tmp_path))
    reports.write_report(files)
    with tab(browser, files.report.as_uri(), width=1280) as found:
        found.page.evaluate(OPEN_ALL.replace("details", ".excerpt"))
        found.settle()
        assert found.js(CUT_OFF) == []


def test_what_a_run_did_not_test_is_smaller_than_what_it_found_and_comes_after_it(tmp_path: Path, browser: Any) -> None:
    files = RunFiles(recorded_run("data-lost", tmp_path))
    reports.write_report(files)
    with tab(browser, files.report.as_uri(), width=1280) as found:
        finding, gate, step = (
            found.page.locator(one).first for one in (".sentence", ".chip.unknown dd", "#verdict .next")
        )
        size = "e => parseFloat(getComputedStyle(e).fontSize)"
        assert gate.evaluate(size) < finding.evaluate(size)
        assert finding.bounding_box()["y"] < step.bounding_box()["y"] < gate.bounding_box()["y"]


def test_a_question_mark_shows_the_keys_and_escape_puts_them_away(shown: Tab) -> None:
    shown.page.keyboard.press("?")
    assert shown.page.locator("#keys").is_visible()
    keys = shown.page.inner_text("#keys")
    for key in ("n", "p", "v", "V", "h", "H", "/", "Enter", "0", "Esc", "?"):
        assert key in keys
    assert serious_faults(shown) == []
    shown.page.keyboard.press("n")
    assert shown.js("page.View.selected") is None
    shown.page.keyboard.press("Escape")
    assert not shown.page.locator("#keys").is_visible()
    shown.page.click("#b-keys")
    assert shown.page.locator("#keys").is_visible()
    shown.page.click("#b-close-keys")
    assert not shown.page.locator("#keys").is_visible()


def test_a_recorded_run_is_looked_at_as_in_the_readme(tmp_path: Path, browser: Any, pictures: Pictures) -> None:
    """The part of the page that docs/images shows of another run."""
    files = RunFiles(recorded_run("replica-behind", tmp_path))
    reports.write_report(files)
    with tab(browser, files.report.as_uri(), width=1180) as found:
        part = {"x": 0, "y": 0, "width": 1180, "height": 1800}
        pictures.take(found, "report.png", clip=part)
        assert "stopped applying at" in found.page.inner_text(".sentence")
        assert found.complaints == []
