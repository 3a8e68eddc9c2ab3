"""The page as text: complete for every kind of run, safe against hostile text, there for broken runs too."""

from __future__ import annotations

import json
import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import checker
import reports
from history import RunFiles
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.page.links import links_of
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import recorded_run
from tests.support.reports.shapes import HOSTILE, KINDS
from tests.support.reports.unpack import unpack


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_run_has_its_page(made: Maker, kind: str) -> None:
    files = made(kind)
    outcome = reports.write_report(files)
    assert outcome.paths == [files.report]
    assert outcome.warnings == []
    page = files.report.read_text()
    words = {"valid": "Valid", "unknown": "Unknown", "harness-failure": "Harness failure"}
    assert f'<h1 id="verdict-word">{words.get(kind, "Invalid")}</h1>' in page
    assert ('id="counterexample"' in page) == (kind == "invalid")
    if kind == "no-recovery":
        assert "n1 and n3 stuck at 2465 of 11924" in page
    if kind != "harness-failure":
        assert "<span>harness</span> <span>run</span> <span>--nemesis</span>" in page


def test_a_run_that_recorded_nothing_has_neither_a_length_nor_faults_to_replay(fresh: Maker) -> None:
    files = fresh("valid")
    for path in (files.history, files.probes, files.results):
        path.unlink()
    reports.write_report(files)
    page = files.report.read_text()
    assert "<span>harness</span> <span>run</span> <span>--nemesis</span>" in page
    assert "harness replay" not in page.partition('id="settings"')[0]
    assert "<dt>length</dt>" not in page
    assert "nothing to draw" in page


def test_the_packed_columns_are_the_history(made: Maker) -> None:
    files = made("invalid")
    reports.write_report(files)
    columns, data = unpack(files.report.read_text())
    events = [json.loads(line) for line in files.history.read_text().splitlines()[1:]]
    clients = [event for event in events if event["process"] != "nemesis"]
    invocations = [event for event in clients if event["type"] == "invoke"]
    assert columns["i"].tolist() == [event["index"] for event in invocations]
    assert columns["t"].tolist() == [event["time"] // 1000 for event in invocations]
    assert columns["p"].tolist() == [event["process"] for event in invocations]
    kinds = [data["names"]["f"][code] for code in columns["f"]]
    assert kinds == [event["f"] for event in invocations]
    returns = {event["index"]: event for event in clients if event["type"] != "invoke"}
    for place in range(0, len(invocations), 37):
        completion = returns[int(columns["i"][place] + columns["r"][place])]
        assert completion["process"] == columns["p"][place]
        if completion["type"] == "ok" and completion["f"] == "read":
            expected = completion["value"]
            assert (columns["qk"][place], columns["qa"][place]) == ((0, 0) if expected is None else (1, expected))


def test_tables_and_history_give_the_same_page(fresh: Maker) -> None:
    files = fresh("valid", tables=True)
    reports.write_report(files)
    from_tables = files.report.read_text()
    shutil.rmtree(files.tables)
    reports.write_report(files)
    assert files.report.read_text() == from_tables


def test_hostile_text_stays_text(made: Maker) -> None:
    files = made("invalid", hostile=True)
    assert reports.write_report(files).warnings == []
    page = files.report.read_text()
    assert "<img src=x" not in page
    assert page.count("<script>") == 1
    assert page.count("</script>") == 3
    assert "\x1b" not in page
    assert "&lt;/script&gt;" in page


def test_values_that_utf8_cannot_hold_are_shown_escaped(fresh: Maker) -> None:
    files = fresh("valid")
    lines = files.history.read_text().splitlines()
    odd = f'"value":{json.dumps({"a": chr(0xD800), "b": [1, None, 10**40, 1.5, True]})}'
    lines[1:] = [re.sub(r'"value":[^,}]*', lambda _: odd, line) if '"write"' in line else line for line in lines[1:]]
    files.history.write_text("\n".join(lines) + "\n")
    assert reports.write_report(files).warnings == []
    columns, data = unpack(files.report.read_text())
    assert set(columns["vk"]) == {0, 3}
    assert data["names"]["texts"][0].startswith('{"a":"\\ud800","b":[1,null,1000')


def test_policy_names_the_script_and_forbids_the_rest(made: Maker) -> None:
    files = made("valid")
    reports.write_report(files)
    page = files.report.read_text()
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert "unsafe" not in page.split("<title>")[0]
    body = page.split("<style>")[1].split("</style>")[1]
    assert not re.search(r"<[^>]+\sstyle=", body.split('<script id="packed"')[0])
    assert not re.search(r'\bsrc="', page.split('<script id="packed"')[0])
    for address in re.findall(r'\bhref="([^#"][^"]*)"', page.split('<script id="packed"')[0]):
        if address == "../../../index.html":  # the list of runs, shown where the page lies in a site
            continue
        assert address.startswith("./")
        assert (files.root / unquote(address)).is_file()


def test_files_beside_the_page_are_linked_where_they_are_and_nothing_else(fresh: Maker) -> None:
    files = fresh("valid")
    odd = files.nodes / 'n1" onclick="x' / "a#b?c.log"
    odd.parent.mkdir()
    odd.write_text("2026-03-01T02:00:01Z INFO x\n")
    (files.nodes / "n1" / "out.log").symlink_to("/etc/passwd")
    links = dict(links_of(files))
    assert links["history.jsonl"] == "./history.jsonl"
    assert links["nodes/n1/register.log"] == "./nodes/n1/register.log"
    assert "nodes/n1/out.log" not in links
    assert "summary.txt" not in links
    reports.write_report(files)
    page = files.report.read_text()
    assert "onclick=" not in page.split("<style>")[0] + page.split("</style>")[1].split("<script>")[0].replace(
        "n1&#34; onclick=&#34;x", ""
    )
    assert 'href="./nodes/n1%22%20onclick%3D%22x/a%23b%3Fc.log"' in page


def test_violations_beyond_those_drawn_are_reported_and_those_beyond_the_results_counted(fresh: Maker) -> None:
    files = fresh("invalid")
    results = json.loads(files.results.read_text())
    (broken,) = [key for key in results["keys"] if key["counterexamples"]]
    broken["counterexamples"] *= 20
    broken["violations"] = 33
    files.results.write_text(json.dumps(results))
    assert reports.write_report(files).warnings == []
    page = files.report.read_text()
    assert "33 violations: 8 drawn, 12 more listed, 13 only counted; earliest first" in page
    assert "12 further violations, listed but not drawn; the check counted 13 more" in page
    assert page.count('class="key-history"') == 8
    assert len(re.findall(r'class="(?:link )?go" data-violation=', page)) == 20
    _, data = unpack(page)
    assert len(data["violations"]) == 20


@pytest.mark.parametrize("missing", ["plan", "history", "probes", "results"])
def test_a_missing_file_costs_its_part_only(fresh: Maker, missing: str) -> None:
    files = fresh("valid")
    getattr(files, missing).unlink()
    outcome = reports.write_report(files)
    assert files.report in outcome.paths
    assert [warning for warning in outcome.warnings if "history.jsonl" not in warning] == []


@pytest.mark.parametrize("spoilt", ["plan", "history", "probes", "results"])
def test_a_spoilt_file_is_a_warning_in_the_page(fresh: Maker, spoilt: str) -> None:
    files = fresh("valid")
    getattr(files, spoilt).write_bytes(b'{"what": [\n\xff\xfe nonsense\n')
    outcome = reports.write_report(files)
    assert files.report in outcome.paths
    assert any(getattr(files, spoilt).name in warning for warning in outcome.warnings)
    assert "warning" in files.report.read_text()


def test_an_empty_directory_still_has_a_page(tmp_path: Any) -> None:
    (tmp_path / "run").mkdir()
    files = RunFiles(tmp_path / "run")
    outcome = reports.write_report(files)
    assert files.report in outcome.paths
    assert "There is no run here" in files.report.read_text()


def test_results_of_odd_shapes_do_not_stop_the_page(fresh: Maker) -> None:
    files = fresh("valid")
    files.results.write_text(json.dumps({"verdict": 7, "checks": [{"name": None}, 3], "keys": "x", "warnings": 5}))
    outcome = reports.write_report(files)
    assert files.report in outcome.paths
    assert outcome.warnings


def test_a_history_cut_in_the_middle_is_drawn(fresh: Maker) -> None:
    files = fresh("valid")
    data = files.history.read_bytes()
    files.history.write_bytes(data[: len(data) // 2 - 7])
    assert reports.write_report(files).warnings == []
    columns, _ = unpack(files.report.read_text())
    assert 250 < len(columns["t"]) < 600
    assert HOSTILE not in files.report.read_text()


def test_recovery_by_kind_is_shown_and_by_node_and_fault_where_the_results_hold_it(fresh: Maker) -> None:
    files = fresh("valid")
    reports.write_report(files)
    assert files.report.read_text().partition('class="costs"')[2].partition("</details>")[0].count("<caption>") == 1
    results = json.loads(files.results.read_text())
    results["windows"][0]["caught_up"] = {"target": 512, "nodes": {"n1": 12.0, "n2": None, "n3": None}}
    results["windows"][0]["behind"] = ["n3"]
    spread = {"least": 1.0, "median": 2.0, "most": 30.0}
    results["fault_figures"] = {"bridge<b>": {"windows": 3, "longest_gap_ms": spread, "never_recovered": 1}}
    files.results.write_text(json.dumps(results))
    assert reports.write_report(files).warnings == []
    part = files.report.read_text().partition('class="costs"')[2].partition("</details>")[0]
    for piece in (
        "what was committed at the heal",
        ">write<",
        ">read<",
        ">512<",
        ">behind<",
        "1 / 2 / 30",
        "bridge&lt;b&gt;",
    ):
        assert piece in part, piece
    assert part.count(">behind<") == 1, "n2 was not seen in time"


def test_a_chip_explains_every_check_of_the_run_as_it_was_asked(fresh: Maker) -> None:
    files = fresh("valid")
    results = json.loads(files.results.read_text())
    results["checks"].append({"name": "own-rule", "kind": "check", "verdict": "valid", "asked": "a <b> of", "seen": ""})
    files.results.write_text(json.dumps(results))
    reports.write_report(files)
    page = files.report.read_text()
    assert len(results["checks"]) > 3
    for check in results["checks"]:
        assert page.count(f'id="check-{check["name"]}"') == 1, check["name"]
    assert "a &lt;b&gt; of" in page.partition('id="check-own-rule"')[2].partition("</dl>")[0]


def test_what_is_marked_of_all_violations_is_said(fresh: Maker) -> None:
    files = fresh("invalid")
    reports.write_report(files)
    assert "violations: it is marked</li>" in files.report.read_text()
    results = json.loads(files.results.read_text())
    next(key for key in results["keys"] if key["violations"])["violations"] = 47
    files.results.write_text(json.dumps(results))
    reports.write_report(files)
    assert "violations: 1 of 47 marked, the earliest of each key" in files.report.read_text()
    assert unpack(files.report.read_text())[1]["violated"] == 47


def test_all_violations_in_the_results_are_marked_those_beyond_the_listed_ones_by_the_time_of_one_of_many(
    fresh: Maker,
) -> None:
    files = fresh("invalid")
    results = json.loads(files.results.read_text())
    key = next(key for key in results["keys"] if key["violations"])
    (first,) = key["counterexamples"]

    def later(by_ms: int) -> dict[str, Any]:
        operations = [
            {**one, "invoked": one["invoked"] + by_ms * 10**6, "returned": one["returned"] + by_ms * 10**6}
            for one in first["operations"]
        ]
        return {**first, "operations": operations}

    key["counterexamples"] = [later(by_ms) for by_ms in range(250)]
    key["violations"] = 400
    files.results.write_text(json.dumps(results))
    reports.write_report(files)
    page = files.report.read_text()
    assert "250 of 400 marked, the earliest of each key; the results do not say when the others were" in page
    assert page.count("the operations of 100 are framed") == 2
    data = unpack(page)[1]
    first_at, marked = data["violations"][0]["at"], [one["at"] for one in data["violations"]]
    assert marked == pytest.approx([first_at + by / 1000 for by in range(100)])
    further = data["further"]["violations"]
    assert further[0] == pytest.approx(first_at + 0.1)
    assert first_at + 0.25 - data["end"] / 2000 <= further[-1] <= first_at + 0.25
    assert max(b - a for a, b in pairwise(further)) <= 2 * data["end"] / 2000
    assert len(further) < 150


def test_every_legal_answer_and_the_longest_linearizable_prefix_are_reported(tmp_path: Path) -> None:
    files = RunFiles(recorded_run("stale-reads", tmp_path))
    results = json.loads(files.results.read_text())
    results["keys"] = [verdict.to_json() for verdict in checker.check(files.history).keys]
    files.results.write_text(json.dumps(results))
    reports.write_report(files)
    page = files.report.read_text()
    assert "and nothing else." in page
    assert page.count("The longest linearizable prefix of") == len(
        {str(violation.key) for violation in prepare(read_run(files)).violations}
    )


def test_every_moment_of_a_broken_rule_is_within_a_mark_and_that_is_said(tmp_path: Path) -> None:
    files = RunFiles(recorded_run("data-lost", tmp_path))
    reports.write_report(files)
    page, seen = files.report.read_text(), 0
    data = unpack(page)[1]
    for check in json.loads(files.results.read_text())["checks"]:
        about: dict[str, Any] = next(iter(check["findings"]), {})
        if moments := about.get("moments"):
            assert f"{check['name']} (all {about['count']} " in page
            seen += len(moments)
            marks = [one for one in data["findings"] if one["check"] == check["name"]]
            for moment in moments:
                mine = [one for one in marks if one["node"] == moment["node"]]
                at = moment["time"] / 1e9
                assert any(one["at"] - 1e-3 <= at <= one.get("until", one["at"]) + 1e-3 for one in mine)
    assert seen > 100 > len(data["findings"])
    assert data["further"]["findings"] == []


def test_what_there_was_nothing_to_judge_of_is_grey_and_says_why(fresh: Maker) -> None:
    """And the same gate with something to judge is green."""
    files = fresh("valid")
    results = json.loads(files.results.read_text())
    gate = {"name": "read-back", "kind": "gate", "verdict": "valid", "asked": "asked", "seen": "nothing to read"}
    for skipped, mark in ([{"type": "Skipped", "check": "read-back", "why": "nothing to read"}], "–"), ([], "✓"):
        results["checks"] = [{**gate, "findings": skipped}]
        files.results.write_text(json.dumps(results))
        reports.write_report(files)
        state = "skipped" if skipped else "valid"
        chip = files.report.read_text().partition(f'<details class="chip {state}"')[2].partition("</details>")[0]
        assert f'aria-hidden="true">{mark}</span> read-back' in chip
        text = reports.render_run(files)
        assert re.search(rf"{mark} +read-back \(gate\) .*nothing to read", text), text
