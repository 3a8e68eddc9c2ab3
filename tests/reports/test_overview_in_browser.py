"""The first screen: a headline, the whole run in one picture, the moment of the break, checks that passed folded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import reports
from history import RunFiles
from tests.support.reports.browser import tab
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import recorded_run

pytestmark = pytest.mark.browser

IN_VIEW = """(() => { const { top } = document.getElementById("timeline").getBoundingClientRect();
    return top > -2 && top < innerHeight; })()"""
INKED = """(() => { const c = document.getElementById("c-overview"), d = c.getContext("2d")
    .getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0;
    return n; })()"""


@pytest.mark.parametrize(("name", "broke"), [("element-lost", 33.0), ("logs-cut", 23.5)])
def test_the_moment_of_the_break_leads_to_the_timeline_at_that_time(
    name: str, broke: float, tmp_path: Path, browser: Any
) -> None:
    files = RunFiles(recorded_run(name, tmp_path))
    reports.write_report(files)
    for width, height in ((1440, 900), (390, 844)):
        with tab(browser, files.report.as_uri(), width=width) as found:
            found.page.set_viewport_size({"width": width, "height": height})
            found.settle()
            picture = found.page.locator("#overview").bounding_box()
            assert picture["y"] + picture["height"] < height
            assert found.js(INKED) > 5000
            assert len(found.page.inner_text(".sentence").split(": ", 1)[1].split()) <= 25
            marks = found.page.locator("#overview .moment")
            (mark,) = [one for one in marks.all() if abs(float(one.get_attribute("data-at")) - broke) < 0.05]
            axis = found.js("[page.GUTTER, page.MARGIN, page.View.end]")
            x = picture["x"] + axis[0] + (picture["width"] - axis[0] - axis[1]) * broke / axis[2]
            box = mark.bounding_box()
            assert box["x"] - 2 <= x <= box["x"] + box["width"] + 2
            assert not found.js(IN_VIEW)
            mark.click()
            found.settle()
            assert found.js(IN_VIEW)
            begin, end = found.js("[page.View.from, page.View.to]")
            assert begin < broke <= end + 0.05
            assert end - begin < axis[2]
            assert found.complaints == []


def test_a_click_into_the_picture_leads_to_the_timeline_at_that_time(with_page: Maker, browser: Any) -> None:
    with tab(browser, with_page("valid").report.as_uri()) as found:
        box = found.page.locator("#c-overview").bounding_box()
        gutter, margin, end = found.js("[page.GUTTER, page.MARGIN, page.View.end]")
        x = gutter + (box["width"] - gutter - margin) / 2
        found.page.mouse.move(box["x"] + x, box["y"] + box["height"] / 2)
        assert f"{end / 2:.1f} s" in found.page.inner_text("#card")
        found.page.mouse.click(box["x"] + x, box["y"] + box["height"] / 2)
        found.settle()
        assert found.js(IN_VIEW)
        assert sum(found.js("[page.View.from, page.View.to]")) / 2 == pytest.approx(end / 2, abs=0.1)


def test_checks_that_passed_are_folded_and_those_that_failed_are_open(tmp_path: Path, browser: Any) -> None:
    files = RunFiles(recorded_run("data-lost", tmp_path))
    reports.write_report(files)
    with tab(browser, files.report.as_uri(), width=1440) as found:
        for state, is_open in (("invalid", True), ("unknown", True), ("valid", False)):
            chips = found.page.locator(f"details.chip.{state} dl").all()
            assert chips
            assert [chip.is_visible() for chip in chips] == [is_open] * len(chips)
        found.page.click(".folded.valid > summary")
        chip = found.page.locator(".folded .chip.valid").first
        chip.locator("summary").first.click()
        assert chip.locator("dt").all_inner_texts()[:2] == ["asked", "seen"]


# Rows of pixels above the first mark in which the line of a mark would be drawn in its colour.
CROSSED = """(() => { const c = document.getElementById("c-overview"), context = c.getContext("2d");
    const dpr = c.width / c.clientWidth, marks = [...document.querySelectorAll("#overview .moment")];
    const red = getComputedStyle(document.documentElement).getPropertyValue("--mark").match(/[0-9a-f]{2}/gi)
        .map((one) => parseInt(one, 16));
    const above = Math.floor(Math.min(...marks.map((one) => one.offsetTop)) * dpr);
    const like = (x, y, h) => { const d = context.getImageData(x, y, 1, h).data; let n = 0;
        for (let i = 0; i < d.length; i += 4) n += red.every((v, k) => Math.abs(d[i + k] - v) < 2); return n; };
    const toX = (at) => page.GUTTER + (c.clientWidth - page.GUTTER - page.MARGIN) * at / page.View.end;
    return marks.map((one) => { const x = Math.round(toX(Number(one.dataset.at))) * dpr;
        return [above, like(x, 0, above), like(x, above, c.height - above)]; }); })()"""


@pytest.mark.parametrize("name", ["data-lost", "element-lost", "logs-cut", "replica-behind", "three-losses"])
def test_the_line_of_a_break_crosses_no_name_of_a_fault(name: str, tmp_path: Path, browser: Any) -> None:
    files = RunFiles(recorded_run(name, tmp_path))
    reports.write_report(files)
    for width in (1440, 768, 390):
        with tab(browser, files.report.as_uri(), width=width) as found:
            found.settle()
            for above, crossing, below in found.js(CROSSED):
                assert above > 0, "the faults stand above the marks"
                assert crossing == 0
                assert below > 40, "the line is drawn"
