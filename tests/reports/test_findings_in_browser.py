"""Going from a finding to what shows it: violations, search, errors, pins, points of the charts; in Chromium."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import reports
from history import RunFiles
from history.records.finding import Comeback, EntriesDeleted, Fall
from tests.support.reports.browser import Tab, tab
from tests.support.reports.checks import count_again, recorded
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import recorded_run

pytestmark = pytest.mark.browser


def said(found: Tab) -> str:
    return str(found.page.inner_text("#f-said"))


def search(found: Tab, text: str) -> None:
    found.page.fill("#f-search", text)
    found.page.keyboard.press("Enter")
    found.settle()


#: A number that is both a written value and the index of another operation.
AMBIGUOUS = """(() => { const { ops } = page.Timeline.data, values = new Set();
    for (let i = 0; i < ops.t.length; i++) if (ops.vk[i] === 1) values.add(ops.va[i]);
    for (let i = 0; i < ops.t.length; i++) if (values.has(ops.i[i]) && ops.va[i] !== ops.i[i]) return ops.i[i]; })()"""

HOLDS = (
    "(n) => { const { ops } = page.Timeline.data, i = page.View.selected; return ops.va[i] === n || ops.qa[i] === n; }"
)


def test_a_number_is_a_value_first_and_an_index_with_a_hash(shown: Tab) -> None:
    number = shown.js(AMBIGUOUS)
    search(shown, str(number))
    assert "by value" in said(shown)
    assert shown.page.evaluate(HOLDS, number)
    search(shown, f"#{number}")
    assert shown.js("page.Timeline.data.ops.i[page.View.selected]") == number


def test_search_goes_round_among_what_passes_the_filters(shown: Tab) -> None:
    number, key = shown.js(
        "(({ops}) => { const i = ops.vk.indexOf(1, 900); return [ops.va[i], ops.k[i]]; })(page.Timeline.data)"
    )
    shown.page.select_option("#f-key", str(key))
    search(shown, str(number))
    first, many = shown.js("page.View.selected"), int(said(shown).split(" of ")[1].split()[0])
    places = {first}
    for _ in range(many):
        shown.page.keyboard.press("Enter")
        places.add(shown.js("page.View.selected"))
    assert len(places) == many
    assert shown.js("page.View.selected") == first
    shown.page.select_option("#f-key", str((key + 1) % 5))
    search(shown, str(number))
    assert "filters" in said(shown)


def test_a_number_that_no_operation_holds_is_an_index_and_one_that_is_neither_is_said_to_be(shown: Tab) -> None:
    index = shown.js("page.Timeline.data.ops.i.at(-1)")
    search(shown, str(index))
    assert shown.js("page.Timeline.data.ops.i[page.View.selected]") == index
    search(shown, "987654321")
    assert said(shown) == "no match"


def test_show_in_the_timeline_pins_the_violation_and_filters_its_key(shown: Tab) -> None:
    violation = shown.js("page.Timeline.data.violations[0]")
    shown.page.click("button.go[data-violation='0']")
    shown.settle()
    assert shown.js("page.Selection.pins.map((i) => page.Timeline.data.ops.i[i])") == violation["ops"]
    assert shown.js("page.Timeline.data.ops.i[page.View.selected]") == violation["culprit"]
    assert shown.page.locator("#pinned .pin").count() == len(violation["ops"])
    assert shown.page.locator("#pinned .pin.culprit").count() == 1
    assert shown.js("new Set([...page.Timeline.data.ops.k].filter((_, i) => page.Timeline.mask[i])).size") == 1
    assert "violation 1 of 1" in said(shown)
    assert shown.js("page.View.cursor") == pytest.approx(shown.js("page.Timeline.data.ops.t[page.View.selected] / 1e6"))
    shown.page.click("#b-clear")
    assert shown.js("page.Timeline.mask.every((m) => m)")
    shown.page.keyboard.press("Escape")
    assert shown.page.locator("#pinned .pin").count() == 0
    assert shown.js("page.Timeline.focus") is None


def test_errors_and_violations_are_stepped_through_apart_and_pin_nothing_by_themselves(shown: Tab) -> None:
    for _ in range(4):
        shown.page.keyboard.press("n")
        assert shown.js("page.Timeline.data.ops.o[page.View.selected]") != 0
    assert shown.page.locator("#pinned .pin").count() == 1
    assert shown.js("page.Selection.pins.length") == 0
    shown.page.click("#pinned button:text('Pin')")
    shown.page.keyboard.press("n")
    assert shown.page.locator("#pinned .pin").count() == 2
    shown.page.keyboard.press("v")
    assert shown.js("page.Timeline.data.violations[0].culprit === page.Timeline.data.ops.i[page.View.selected]")
    shown.page.click("#pinned > button")
    assert shown.page.locator("#pinned .pin").count() == 0


def test_a_key_from_elsewhere_on_the_page_brings_the_timeline_into_view(shown: Tab) -> None:
    shown.js("scrollTo(0, 0)")
    shown.page.keyboard.press("n")
    shown.until("document.getElementById('timeline').getBoundingClientRect().top < innerHeight / 2")


def test_escape_works_from_a_field_too(shown: Tab) -> None:
    search(shown, "404 NOT_LEADER")
    assert shown.js("page.View.selected") is not None
    assert shown.js("document.activeElement.id") == "f-search"
    shown.page.keyboard.press("Escape")
    assert shown.js("page.View.selected") is None


#: Where the mark of some operation is among the latencies, and which one it is.
POINT = """(() => { const { plot } = page.Charts.plots.find(({ host }) => host.id === 'c-scatter');
    const { ops } = page.Timeline.data;
    const box = plot.over.getBoundingClientRect();
    let i = page.lowerBound(ops.t, (page.View.from + page.View.to) / 2 * 1e6);
    while (ops.o[i] !== 0 || ops.d[i] < 1000) i++;
    return [box.left + plot.valToPos(ops.t[i] / 1e6, "x"), box.top + plot.valToPos(ops.d[i] / 1000, "y"), i]; })()"""


def test_a_point_of_the_latencies_names_its_operation_and_a_click_pins_it(shown: Tab) -> None:
    shown.js("page.View.set(8, 8.2)")
    shown.page.locator("#c-scatter").scroll_into_view_if_needed()
    shown.settle()
    x, y, place = shown.js(POINT)
    shown.page.mouse.move(x, y)
    assert "completed" in shown.page.inner_text("#card")
    shown.page.mouse.click(x, y)
    assert shown.js("page.Selection.pins") == [place]
    assert "leader then" in shown.page.inner_text("#pinned")


def test_the_strip_of_leaders_can_be_read(shown: Tab) -> None:
    shown.page.locator("#c-leaders").scroll_into_view_if_needed()
    box = shown.page.locator("#c-leaders").bounding_box()
    shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 18 * 1.5)
    text = shown.page.inner_text("#card")
    assert "n1" in text
    assert "follower" in text or "leader" in text
    shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 9)
    assert "operations" in shown.page.inner_text("#card")


def test_the_network_at_the_cursor_stays_beside_the_charts_and_follows_the_keys(shown: Tab) -> None:
    start = shown.js("page.Timeline.data.faults[0].start + 1")
    shown.js(f"page.View.set({start}, {start} + 0.5)")
    shown.page.locator("#c-timeline").scroll_into_view_if_needed()
    shown.page.keyboard.press("n")
    top, bottom = shown.js(
        "(({top, bottom}) => [top, bottom])(document.getElementById('live').getBoundingClientRect())"
    )
    assert 0 <= top < bottom <= 900
    assert f"{shown.js('page.Timeline.data.ops.t[page.View.selected] / 1e6'):.2f} s" in shown.page.inner_text(
        "#live-said"
    )


def test_no_chart_is_wider_than_its_column(shown: Tab) -> None:
    for width in (1400, 1000, 420):
        shown.look("light", width)
        shown.until("[...document.querySelectorAll('.chart')].every((c) => c.scrollWidth <= c.clientWidth + 1)")


def test_a_row_of_the_fault_table_leads_to_its_stretch(shown: Tab) -> None:
    shown.page.click("#fault-1 td:nth-child(5)")
    start, stop = shown.js("[page.View.from, page.View.to]")
    assert 0 < start < shown.js("page.Timeline.data.faults[1].start") < stop


def test_rows_by_key_stand_in_the_order_that_people_count(with_page: Maker, browser: Any) -> None:
    files = with_page("valid", keys=12)
    with tab(browser, files.report.as_uri()) as found:
        found.page.select_option("#f-rows", "key")
        named = found.js("page.Timeline.rows.filter((row) => row.first).map((row) => row.label)")
        assert named == [f"k{n}" for n in range(12)]
        options = found.js("[...document.querySelectorAll('#f-key option')].slice(1).map((o) => o.textContent)")
        assert options == named
        assert found.complaints == []


def test_a_deletion_leads_to_the_end_of_the_log_and_each_has_its_excerpt(fresh: Maker, browser: Any) -> None:
    files = fresh("valid")
    results = json.loads(files.results.read_text())
    moments = tuple(Fall(f"n{n}", n * 10**9, 5, 90) for n in (1, 2, 3, 4, 5))
    check = {"name": "committed-kept", "kind": "check", "verdict": "invalid", "asked": "a", "seen": "b"}
    results["checks"].append({**check, **recorded(EntriesDeleted(moments=moments))})
    files.results.write_text(json.dumps(results))
    reports.write_report(files)
    with tab(browser, files.report.as_uri()) as found:
        assert found.page.locator(".invariant details.excerpt").count() == len(moments)
        assert found.page.locator(".invariant tr.event").count() == len(moments)
        found.page.click("#invariant-1 button.go")
        assert found.page.input_value("#progress-kind") == "log_end"
        found.until(
            "(() => { const { top, bottom } = document.getElementById('c-applied').getBoundingClientRect();"
            " return top >= 0 && bottom <= innerHeight; })()"
        )
        assert found.complaints == []
        for width in (1400, 390):
            found.look("light", width)
            assert found.js("document.documentElement.scrollWidth") <= width
            assert found.js("[...document.querySelectorAll('.stack')].every(t => t.scrollWidth <= innerWidth - 24)")
            assert found.page.locator(".invariant .ends li").first.is_visible() == (width == 390)
            named = found.page.locator(".invariant .sketch > svg text:is(.late, .well)").first
            assert named.is_visible() == (width == 1400)


def test_no_recovery_leads_to_the_lag(with_page: Maker, browser: Any) -> None:
    files = with_page("no-recovery")
    with tab(browser, files.report.as_uri()) as found:
        found.page.click("#recovery button.go")
        found.until(
            "(() => { const { top, bottom } = document.getElementById('c-lag').getBoundingClientRect();"
            " return top >= 0 && bottom <= innerHeight; })()"
        )
        assert found.complaints == []


def rows_of(found: Tab, selector: str) -> list[str]:
    return [str(text) for text in found.page.locator(f"{selector} tbody tr").all_inner_texts()]


#: How many operations of the violation's key lie in a scope, counted one by one.
CONCURRENT = """(scope) => { const { data } = page.Timeline, { ops } = data, v = data.violations[0];
    const end = (i) => page.endOf(data, i);
    const members = (scope === "culprit" ? [v.culprit] : v.ops)
        .map(page.placeOfIndex), key = ops.k[members[0]];
    const from = Math.min(...members.map((i) => ops.t[i])), to = Math.max(...members.map(end));
    let n = 0;
    for (let i = 0; i < ops.t.length; i++)
        n += ops.k[i] === key && (scope === "all" || (ops.t[i] <= to && end(i) >= from));
    return n; }"""


def test_the_history_of_the_key_can_be_read_as_text(shown: Tab) -> None:
    fold = shown.page.locator("details.key-history").first
    fold.locator("summary").click()
    fold.locator("tbody tr.culprit").wait_for()
    assert fold.locator("tbody tr.member").count() == 4
    for scope in ("violation", "culprit", "all"):
        fold.locator("select").select_option(scope)
        wanted = shown.page.evaluate(CONCURRENT, scope)
        count = fold.locator("tbody tr:not(.nemesis)").count()
        faults = fold.locator("tbody tr.nemesis").count()
        if wanted + faults <= 30:
            assert count == wanted
        else:
            assert count + faults == 30
            fold.locator("button:text('500 more')").click()
            assert fold.locator("tbody tr").count() == min(530, wanted + 4)
    index = shown.js("page.Timeline.data.violations[0].ops[0]")
    fold.locator("tbody button", has_text=str(index)).first.click()
    assert shown.js("page.Timeline.data.ops.i[page.View.selected]") == index


def test_the_operations_in_view_can_be_read_as_text_with_the_faults(shown: Tab) -> None:
    start = shown.js("page.Timeline.data.faults[0].start")
    shown.js(f"page.View.set({start - 0.1}, {start + 0.2})")
    shown.page.click("#as-text summary")
    shown.page.locator("#as-text tr.nemesis").wait_for()
    wide = len(rows_of(shown, "#as-text"))
    shown.page.select_option("#f-kind", "0")
    shown.until(f"document.querySelectorAll('#as-text tbody tr').length < {wide}")
    kind = shown.js("page.Timeline.data.names.f[0]")
    assert all(kind in row or "nemesis" in row for row in rows_of(shown, "#as-text"))


@pytest.mark.parametrize(("width", "drawn"), [(1400, ".proof.broad"), (420, ".proof.slim")])
def test_the_whole_counterexample_is_seen_in_every_width(shown: Tab, width: int, drawn: str) -> None:
    shown.look("light", width)
    assert shown.js("[...document.querySelectorAll('article .proof')].filter((e) => e.checkVisibility()).length") == 1
    box = shown.page.locator(drawn).bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    for bar in shown.page.locator(f"{drawn} .op").all():
        inner = bar.bounding_box()
        assert box["x"] <= inner["x"] < inner["x"] + inner["width"] <= box["x"] + box["width"]


@pytest.mark.parametrize("selector", ["#faults td", "#verdict .checks dd", ".bar nav"])
def test_nothing_of_a_narrow_page_is_out_of_sight(shown: Tab, selector: str) -> None:
    shown.look("light", 420)
    wide = shown.page.evaluate(
        "(s) => [...document.querySelectorAll(s)].filter((e) => e.checkVisibility()"
        " && e.getBoundingClientRect().right > innerWidth).map((e) => e.textContent)",
        selector,
    )
    assert wide == []
    assert shown.js("document.querySelector('header.bar').offsetHeight") < 60


def test_a_link_to_the_words_opens_them(shown: Tab) -> None:
    assert not shown.page.locator("#words dl").is_visible()
    shown.page.click("#faults a[href='#words']")
    shown.page.locator("#words dl").wait_for()
    named = shown.page.locator("#faults .does dt").all_inner_texts()
    assert "partition-majorities-ring" in named


def test_next_opens_the_fold_that_it_speaks_of(fresh: Maker, browser: Any) -> None:
    """The log lines nearest to its moment; of a counterexample its own fold, and of the first none."""
    files = fresh("no-recovery")
    results = json.loads(files.results.read_text())
    (recovery,) = [check for check in results["checks"] if check["name"] == "recovery"]
    recovery |= recorded(Comeback(healed_ns=0, nodes=("n1", "n3"), behind=("n1", "n3")))
    files.results.write_text(json.dumps(results))
    reports.write_report(files)
    seen = "(() => { const d = document.querySelector('#recovery details.excerpt'); "
    seen += "const { top } = d.getBoundingClientRect(); return [d.open, top >= 0 && top < innerHeight]; })()"
    with tab(browser, files.report.as_uri()) as found:
        assert found.js(seen)[0] is False
        found.page.click(".next a")
        found.settle()
        assert found.js(seen) == [True, True]
        assert found.complaints == []


def test_a_sentence_opens_its_counterexample(fresh: Maker, browser: Any) -> None:
    files = fresh("invalid")
    results = json.loads(files.results.read_text())
    first = results["keys"][0] if results["keys"][0].get("counterexamples") else next(
        key for key in results["keys"] if key.get("counterexamples")
    )  # fmt: skip
    later = json.loads(json.dumps(first["counterexamples"][0]))
    for operation in later["operations"]:
        operation["invoked"] += 10**6
        operation["returned"] = operation["returned"] and operation["returned"] + 10**6
    first["counterexamples"].append({**later, "kind": "lost-write"})
    count_again(results)
    files.results.write_text(json.dumps(results))
    reports.write_report(files)
    with tab(browser, files.report.as_uri()) as found:
        assert found.page.get_attribute(".next a", "href") == "#violation-2"
        is_open = "document.querySelector('#violation-2').closest('details').open"
        assert found.js(is_open) is False
        found.page.click(".next a")
        found.settle()
        assert found.js(is_open) is True


@pytest.mark.parametrize(("name", "index"), [("replica-behind", "applied"), ("logs-cut", "log_end")])
def test_next_opens_the_charts_where_the_run_holds_no_logs(name: str, index: str, tmp_path: Path, browser: Any) -> None:
    files = RunFiles(recorded_run(name, tmp_path))
    reports.write_report(files)
    chart = "(() => { const { top } = document.getElementById('chart-progress').getBoundingClientRect(); "
    chart += "return top >= -1 && top < innerHeight; })()"
    with tab(browser, files.report.as_uri()) as found:
        assert found.js(chart) is False
        found.page.click(".next a.go")
        found.settle()
        assert found.js(chart) is True
        assert found.page.input_value("#progress-kind") == index
        begin, end = found.js("[page.View.from, page.View.to]")
        link = found.page.locator(".next a.go")
        assert begin == pytest.approx(float(link.get_attribute("data-from")), abs=0.01)
        assert end == pytest.approx(float(link.get_attribute("data-to")), abs=0.01)
        assert found.complaints == []
