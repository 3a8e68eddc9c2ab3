"""The drawing of a broken promise in the browser: its bars open the details of their operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import reports
from history import RunFiles
from tests.support.reports.browser import Tab, serious_faults, tab
from tests.support.reports.recorded_runs import recorded_run

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFiles]:
    below = tmp_path_factory.mktemp("promises")
    found = {name: RunFiles(recorded_run(name, below)) for name in ("ledgers-lost", "ledgers-kept")}
    for files in found.values():
        reports.write_report(files)
    return found


@pytest.fixture
def broken(pages: dict[str, RunFiles], browser: Any) -> Iterator[Tab]:
    with tab(browser, pages["ledgers-lost"].report.as_uri(), width=1280) as found:
        yield found
        assert found.complaints == []


BARS = "[...document.querySelector('article.violation .proof.broad').querySelectorAll('.op')]"


def test_the_drawing_shows_the_operations_of_the_violation(broken: Tab) -> None:
    marked = broken.js(
        f"{BARS}.filter((bar) => bar.matches('.contradicted, .culprit')).map((bar) => +bar.dataset.index)"
    )
    assert marked == broken.js("page.Timeline.data.violations[0].ops")
    assert broken.js(f"{BARS}.filter((bar) => bar.matches('.culprit')).length") == 1
    assert broken.js(f"{BARS}.filter((bar) => bar.matches('.beside')).length") > 2
    assert broken.page.locator(".proof.broad text.culprit").first.text_content().startswith("read: finds no entry 1")


@pytest.mark.parametrize("bar", [".contradicted", ".culprit", ".beside"])
def test_a_bar_names_its_operation_and_a_click_shows_it_in_the_timeline(broken: Tab, bar: str) -> None:
    drawn = broken.page.locator(f"article.violation .proof.broad .op{bar}").first
    index = int(drawn.get_attribute("data-index"))
    drawn.scroll_into_view_if_needed()
    drawn.hover()
    card = broken.page.inner_text("#card")
    assert "completed" in card
    assert ("unreadable-entry (1): " in card) == (bar != ".beside")
    drawn.click()
    broken.settle()
    assert broken.js("page.Timeline.data.ops.i[page.View.selected]") == index
    pinned = broken.js("page.Selection.pins.map((i) => page.Timeline.data.ops.i[i])")
    assert pinned == broken.js("page.Timeline.data.violations[0].ops")
    assert broken.page.locator("#pinned .pin").count() == len({*pinned, index})
    assert "violation 1 of 3, unreadable-entry; only l0 is shown" in broken.page.inner_text("#f-said")


def test_the_keys_go_through_the_broken_promises(broken: Tab) -> None:
    for place in (0, 1, 2, 0):
        broken.page.keyboard.press("v")
        assert broken.js("page.Timeline.focus") == place


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everybody_can_read_it_in_every_width(broken: Tab, theme: str) -> None:
    for width in (1280, 400):
        broken.look(theme, width)
        assert broken.js("document.documentElement.scrollWidth") <= width
        assert broken.js(
            "[...document.querySelectorAll('article.violation .proof')].filter((e) => e.checkVisibility())"
            ".every((e) => [...e.querySelectorAll('text')].every("
            "(t) => t.getBoundingClientRect().right <= e.getBoundingClientRect().right + 1))"
        )
    assert serious_faults(broken) == []


def test_ledgers_that_were_kept_have_no_drawing(pages: dict[str, RunFiles], browser: Any) -> None:
    with tab(browser, pages["ledgers-kept"].report.as_uri(), width=1280) as found:
        assert found.page.locator(".proof").count() == 0
        assert found.js("page.Timeline.data.violations.length") == 0
        assert not found.page.locator("#b-next-violation").is_visible()
        assert found.complaints == []
