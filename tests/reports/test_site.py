"""The site: rows of a store, pages, trends, the static copy."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reports
from history import RunFiles
from history.node_logs import log_files
from history.records.finding import SEVERITIES
from history.records.settings import options_of
from reports.analysis import trends
from reports.load.run import read_run
from reports.load.run_row import RunRow, row_of
from reports.load.store_index import INDEX_NAME, StoreIndex, runs_of
from reports.page.compare import curves_of
from reports.page.context import facts_of
from reports.site import site
from reports.site.coverage import matrix_of
from tests.support.reports.checks import count_again
from tests.support.reports.recorded_runs import recorded_run
from tests.support.reports.run_rows import row
from tests.support.reports.runs import make
from tests.support.reports.shapes import KINDS, Shape
from tests.support.reports.stores import many_runs

EVIL = "a'b\"&<img src=x onerror=alert(1)>#?%2e"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of every kind, a hostile one, links, and things that are no runs."""
    root = tmp_path_factory.mktemp("store")
    for place, kind in enumerate(KINDS):
        shape = Shape(kind=kind, operations=600, rate=60.0, interval_s=2.0)
        reports.write_report(make(root / "register" / f"20260301T02000{place}.000Z-7", shape))
    make(root / EVIL / f"{EVIL}\n", Shape(operations=300, rate=60.0, hostile=True))
    (root / os.fsdecode(b"bad\xff") / "run").mkdir(parents=True)
    (root / os.fsdecode(b"bad\xff") / "run" / "plan.json").write_text("[]")
    (root / "latest").symlink_to("register")
    (root / "register" / "latest").symlink_to("20260301T020000.000Z-7")
    (root / "warehouse").mkdir()
    (root / "empty" / "nothing").mkdir(parents=True)
    return root


def test_rows_tell_what_the_files_tell(store: Path) -> None:
    rows = {row.run: row for row in StoreIndex(store, remember=False).rows()}
    assert len(rows) == len(KINDS) + 2
    verdicts = [rows[f"20260301T02000{place}.000Z-7"].verdict for place in range(len(KINDS))]
    assert verdicts == ["valid", "invalid", "unknown", "harness failure", "invalid"]
    assert rows["20260301T020001.000Z-7"].kind == "stale read"
    assert rows["20260301T020001.000Z-7"].finding == "inconsistent: stale read"
    assert rows["20260301T020004.000Z-7"].finding == "replica behind"
    assert rows["20260301T020002.000Z-7"].finding == "faults installed"
    assert rows["20260301T020003.000Z-7"].sentence.startswith("SSH to n3 was lost")
    assert rows["20260301T020000.000Z-7"].started == "2026-03-01T02:00:00Z"
    assert rows["20260301T020000.000Z-7"].version == "0.4.0"


def test_the_index_is_remembered_and_follows_changes(store: Path) -> None:
    index = StoreIndex(store)
    before = index.rows()
    assert (store / INDEX_NAME).is_file()
    again = StoreIndex(store)
    assert again.rows() == before
    results = store / "register" / "20260301T020000.000Z-7" / "results.json"
    kept = results.read_text()
    results.write_text(json.dumps({**json.loads(kept), "sentence": "changed"}))
    assert any(row.sentence.endswith("changed") for row in again.rows())
    results.write_text(kept)
    assert again.rows() == before
    (store / INDEX_NAME).write_text("{nonsense")
    assert StoreIndex(store).rows() == before
    (store / INDEX_NAME).unlink()


def test_a_run_that_broke_off_is_reported_as_that(tmp_path: Path) -> None:
    many_runs(tmp_path, 1)
    (files,) = runs_of(tmp_path)
    verdict = row_of(files)
    files.results.write_text("{")
    assert (row_of(files).verdict, row_of(files).finding) == ("unknown", "results not readable")
    files.results.unlink()
    files.history.write_text("{}\n")
    index = StoreIndex(tmp_path)
    for state, now, said in (
        ({}, True, ("unknown", "under way", "under way, or interrupted in the last few minutes")),
        ({}, False, ("harness failure", "broke off", "the harness broke off at its start")),
        (
            {"moments": {"warm-up": 1, "main": 7}},
            False,
            ("harness failure", "broke off", "the harness broke off in the m"),
        ),
        ({"moments": {"main-end": 7}}, False, ("harness failure", "broke off", "the harness broke off after the load")),
        ({"interrupted": True}, False, ("unknown", "interrupted", "interrupted, and not judged; harness check")),
        ({"ended": True}, False, ("unknown", "not judged", "the run ended and was not judged; harness check")),
        ({"failures": ["no SSH"]}, False, ("harness failure", "", "no SSH")),
    ):
        files.state.write_text(json.dumps(state))
        for path in (files.plan, files.state, files.history):
            os.utime(path, None if now else (10**9, 10**9))
        (row,) = index.rows()
        assert (row.verdict, row.finding) == said[:2]
        assert row.sentence.startswith(said[2])
        run = read_run(files)
        assert (run.verdict, run.sentence) == (row.verdict, row.sentence), "the page says the same"
    assert verdict.verdict == "valid"


def test_pages_escape_names(store: Path) -> None:
    rows = StoreIndex(store, remember=False).rows()
    found = trends.trends_of(store, rows)
    folder = site.folder_page(rows[0], [(EVIL, 3)], "../")
    for page in (site.list_page(rows), site.coverage_page(rows), site.trends_page(rows, found), folder):
        assert "<img" not in page
        assert "onerror=alert(1)>" not in page
        assert page.count("<script>") == 1


def test_static_site(store: Path, tmp_path: Path) -> None:
    written = site.write_site(store, tmp_path / "site")
    assert {"index.html", "coverage.html", "trends.html"} <= {path.name for path in written}
    assert all(path.is_file() for path in written)
    names = {path.relative_to(tmp_path / "site").parts[0] for path in written}
    assert names == {
        "index.html", "coverage.html", "trends.html", "compare.html", "subjects.html", "nemesis", "fault", "runs"
    }  # fmt: skip
    assert (tmp_path / "site" / "runs" / "register" / "20260301T020001.000Z-7" / "report.html").is_file()
    assert not list((tmp_path / "site").rglob("history.jsonl"))
    assert site.write_site(store, tmp_path / "site") == written


def test_slugs_differ_where_names_differ() -> None:
    names = ["", "a", "A", "a b", "a_b", "../..", EVIL, "x" * 300, "x" * 301]
    slugs = [site.slug(name) for name in names]
    assert len(set(slugs)) == len(names)
    assert all(set(text) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") for text in slugs)
    assert all(not text.startswith(".") and len(text) < 80 for text in slugs)


def nights(first: int, count: int, **changes: object) -> list[RunRow]:
    started = [f"2026-{1 + day // 28:02d}-{1 + day % 28:02d}" for day in range(first, first + count)]
    return [row(first + n, started=day, rate=200.0 + n % 3, **changes) for n, day in enumerate(started)]


def test_without_a_warehouse_the_same_rule_finds_regressions() -> None:
    calm = nights(0, 60)
    assert trends.regressions_of([*calm, row(99, rate=150.0, started="2027")]) == ()
    slow = [replace(one, recovery_s=9.0, rate=150.0) for one in nights(60, 4)]
    rate, recovery = trends.regressions_of([*calm, *slow])
    assert (rate.metric, rate.onset, rate.median_before, rate.median_since) == ("rate", "t/r60", 201, 150)
    assert (recovery.metric, recovery.median_since) == ("time until the rate was back", 9.0)
    assert trends.regressions_of([*calm, *(replace(one, settings="another plan") for one in slow)]) == ()
    named = [replace(one, machine="EPYC") for one in slow]
    before = [replace(one, machine="EPYC") for one in calm]
    assert [found.onset for found in trends.regressions_of([*before, *named])] == ["t/r60", "t/r60"]
    assert trends.regressions_of([*(replace(one, machine="Xeon") for one in calm), *named]) == ()
    never = [replace(one, never=1, recovery_s=None) for one in nights(60, 4)]
    (gone,) = trends.regressions_of([*calm, *never])
    assert (gone.metric, gone.median_since) == ("time until the rate was back", None)


def test_groups_count_and_call_flaky() -> None:
    (group,) = trends.groups_of([row(1), row(2, verdict="invalid", violations=3, never=1), row(3, recovery_s=None)])
    assert group.verdicts == {"valid": 2, "invalid": 1, "unknown": 0, "harness failure": 0}
    assert (group.flaky, group.violations, group.never, group.recovery_s) == ("flaky", 3, 1, 2.0)
    dots, top = trends.strip(group)
    assert [dot.y is None for dot in dots] == [False, False, True]
    assert top == 2.0


def test_runs_that_never_recovered_count_in_the_median() -> None:
    never = [row(day, never=1, recovery_s=None) for day in (3, 4, 5)]
    (group,) = trends.groups_of([row(1), row(2, recovery_s=4.0), *never])
    assert (group.recovery_s, group.worst_recovery_s, group.never) == (None, 4.0, 3)
    (group,) = trends.groups_of([row(1), row(2, recovery_s=4.0), *never[:2]])
    assert group.recovery_s == 4.0


def test_an_empty_store_has_a_page(tmp_path: Path) -> None:
    trend = site.trends_page([], trends.trends_of(tmp_path, []))
    assert "harness ingest" in trend
    for page in (site.list_page(StoreIndex(tmp_path).rows()), site.coverage_page([]), trend):
        assert "no run in this store" in page
        for command in ("harness doctor", "harness run --nemesis ", "harness list faults", "harness serve --store"):
            assert f"<code>{command}" in page


def test_links_in_a_run_are_neither_read_nor_copied(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "plan.json").write_text('{"nemesis": ["secret-nemesis"]}')
    (outside / "summary.txt").write_text("secret")
    (outside / "n1.log").write_text("2026-03-01T02:00:01Z ERROR secret\n")
    (outside / "rate.png").write_bytes(b"secret")
    files = make(tmp_path / "store" / "t" / "run", Shape(operations=60, rate=10.0, interval_s=1.0))
    files.plan.unlink()
    files.plan.symlink_to(outside / "plan.json")
    (files.root / "summary.txt").symlink_to(outside / "summary.txt")
    (files.root / "report.html").symlink_to(outside / "summary.txt")
    files.plots.symlink_to(outside)
    (files.nodes / "n9").symlink_to(outside)
    (row,) = StoreIndex(tmp_path / "store", remember=False).rows()
    assert (row.nemesis, "report.html" in row.files) == ("", False)
    assert "n9" not in {node for node, _ in log_files(files)}
    assert curves_of(files) is None
    for path in site.write_site(tmp_path / "store", tmp_path / "site"):
        assert b"secret" not in path.read_bytes(), path


VERSIONS, WORKLOADS, FAULTS = ("0.4.0", "zk 3.9", ""), ("register", ""), ("kill", "kill@n1+bridge", "bridge,kill", "")
drawn_rows = st.lists(st.tuples(*map(st.sampled_from, (VERSIONS, WORKLOADS, FAULTS))), max_size=12)


@given(drawn_rows)
def test_the_coverage_has_every_run_and_the_last_in_front(drawn: list[tuple[str, str, str]]) -> None:
    rows = [row(n, version=v, workload=w, nemesis=f) for n, (v, w, f) in enumerate(drawn)]
    rows.reverse()  # newest first
    found = matrix_of(rows)
    for fault, cells in found.rows:
        for (version, workload), cell in zip(found.columns, cells, strict=True):
            mine = [
                one
                for one in rows
                if (one.version, one.workload) == (version, workload)
                and (fault in one.nemesis if fault else one.nemesis == "")
            ]
            assert (cell.runs, cell.last) == (len(mine), mine[0]) if cell else not mine
    assert {fault for fault, _ in found.rows} == {part for one in rows for part in one.faults or [""]}
    assert sum(count for _, count in found.systems) == len(found.columns)


def test_a_cell_of_the_coverage_shows_the_last_result_and_leads_to_its_runs() -> None:
    lost = row(3, verdict="invalid", severity="data lost", kind="lost-write", workload="register")
    page = site.coverage_page([lost, row(2, workload="register"), row(1, version="0.3.2", workload="register")])
    cell = page.partition('href="index.html#fault=kill&amp;version=0.4.0&amp;workload=register"')[2].partition("</td>")[
        0
    ]
    assert ">invalid<" in cell
    assert '<span class="lost">data lost: lost-write</span>' in cell
    assert "2 runs, 2026-03-03" in cell


def test_lost_data_is_seen_above_the_list() -> None:
    lost = row(3, verdict="invalid", severity="data lost", kind="lost-write", lost=True)
    page = site.list_page([lost, row(2), replace(lost, planted_bug="found")])
    assert '<a href="#group=data+lost">2 runs lost data</a>, 1 of them with a planted bug' in page
    assert page.count('<td class="lost">data lost: lost-write</td>') == 1
    assert "as intended: data lost: lost-write" in page
    assert "lost data" not in site.list_page([row(1)])


def attributes_of(page: str) -> set[str]:
    """The names of all attributes in a page, as a browser would find them."""
    found: set[str] = set()
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.update(name for name, _ in attrs)  # type: ignore[method-assign]
    parser.feed(page)
    return found


def test_the_pages_of_the_site_name_their_scripts_and_load_nothing(store: Path) -> None:
    rows = StoreIndex(store, remember=False).rows()
    found = trends.trends_of(store, rows)
    pages = [site.list_page(rows), site.coverage_page(rows), site.trends_page(rows, found)]
    pages.append(site.compare_page(store, rows[:2]))
    for page in [*pages, site.folder_page(rows[0], [("a", 1)]), site.nemesis_page(rows, found, rows[0].nemesis)]:
        head, _, rest = page.partition("<title>")
        assert "default-src &#39;none&#39;; script-src &#39;sha256-" in head
        assert "unsafe" not in head
        (script,) = re.findall(r"<script>(.*?)</script>", rest, re.DOTALL)
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in head
        assert attributes_of(rest) & {"style", "src", "srcset"} == set()
        assert not any(name.startswith("on") for name in attributes_of(rest))


@pytest.mark.parametrize(
    ("kind", "reported"),
    [
        ("valid", "linearizable: yes"),
        ("unknown", "faults installed: "),
        ("no-recovery", "recovery: no, n1 and n3 stuck"),
    ],
)
def test_a_run_is_listed_with_what_was_wrong_first(tmp_path: Path, kind: str, reported: str) -> None:
    files = make(tmp_path / "register" / "one", Shape(kind=kind, operations=600, rate=60.0, interval_s=2.0))
    results = json.loads(files.results.read_text())
    results["sentence"] = "linearizable: yes; all else at length"
    files.results.write_text(json.dumps(results))
    sentence = row_of(files).sentence
    assert sentence.startswith(reported)
    assert ("linearizable: yes" if kind == "valid" else "linearizability: yes") in sentence


def test_a_run_is_listed_with_the_kind_of_the_violation_that_its_sentence_names(tmp_path: Path) -> None:
    files = make(tmp_path / "register" / "one", Shape(kind="invalid", operations=600, rate=60.0, interval_s=2.0))
    results = json.loads(files.results.read_text())
    bad = next(key for key in results["keys"] if key["counterexamples"])
    (late,) = bad["counterexamples"]
    first = {**late, "kind": "lost-write", "operations": [{**late["operations"][0], "invoked": 1}]}
    results["keys"] = [bad, {**bad, "key": "k99", "counterexamples": [{**first, "kind": "dirty-read"}]}]
    count_again(results)
    files.results.write_text(json.dumps(results))
    assert row_of(files).finding == "inconsistent: dirty-read"
    results["keys"][1]["counterexamples"] = [{**first, "kind": "lost-write", "operations": late["operations"]}]
    count_again(results)
    files.results.write_text(json.dumps(results))
    assert row_of(files).finding == "data lost: lost-write", "the worst, though it was seen later"
    results["keys"][1]["counterexamples"] = [{"kind": "odd", "operations": [3]}, {"kind": "odd", "operations": None}]
    files.results.write_text(json.dumps(results))
    assert row_of(files).finding == "data lost: lost-write", "whatever became of the counterexamples"


def test_a_run_is_shown_with_the_options_of_its_own_system(tmp_path: Path) -> None:
    named = {
        "stale-reads": "snapshot=false snapshot_threshold=1000 timers=fast store_type=FILE read_mode=log "
        "client_follows=leader",
        "element-lost": "peeks=plain commit_log=20000",
    }
    for name, options in named.items():
        files = RunFiles(recorded_run(name, tmp_path))
        assert row_of(files).options == options
        assert ("options", options) in facts_of(read_run(files))


def test_options_that_are_none_are_empty() -> None:
    assert options_of({"options": 7}) == options_of({"options": {}, "timers": "fast"}) == options_of({}) == ""


def test_without_a_warehouse_runs_are_grouped_by_their_workload_too() -> None:
    groups = trends.groups_of([row(1, workload="set"), row(2, workload="register"), row(3, workload="set")])
    assert [(one.workload, len(one.samples)) for one in groups] == [("register", 1), ("set", 2)]


def test_the_list_names_every_severity_in_its_order() -> None:
    assert f"by the order {', '.join(SEVERITIES)};" in site.list_page([row(1)])
