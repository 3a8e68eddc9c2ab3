"""The page of the run that is under way: what it shows of growing files, and how it ends."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from history import Event, read_history
from history.recording import Recording
from history.under_way import under_way
from reports.site import live, site
from reports.site.live import Band, LiveRun, Overview
from reports.site.serve import Site
from tests.support.reports.answer import Answer
from tests.support.reports.recorded_runs import recorded_run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "t").mkdir()
    return recorded_run("logs-cut", tmp_path / "t")


def test_a_file_read_in_pieces_shows_what_the_whole_run_holds(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_READ", 200_000)
    run, whole = LiveRun(root), Recording(root)
    history = root / "history.jsonl"
    content = history.read_bytes()
    history.write_bytes(content[: len(content) // 2])  # which tears a line
    first = run.look()
    history.write_bytes(content)
    found = first
    for _ in range(len(content) // live.MAX_READ + 2):
        found = run.look()
    assert first.age_s < found.age_s
    ended = Counter((one.returned // 10**9, one.outcome) for one in whole.operations if one.returned is not None)
    for second in found.seconds:
        assert [second.ok, second.fail, second.info] == [ended[second.start, name] for name in live.OUTCOMES]
    assert sum(one.ok for one in found.seconds) == sum(count for (_, name), count in ended.items() if name == "ok")
    assert found.bands == [Band(one.fault, one.started / 1e9, (one.healed or 0) / 1e9) for one in whole.receipts]
    assert {one.node for one in found.nodes} == {probe.node for probe in whole.probes}


def test_a_fault_stands_until_it_is_healed(root: Path) -> None:
    history = root / "history.jsonl"
    lines = history.read_bytes().splitlines(keepends=True)
    heal = next(place for place, line in enumerate(lines) if b'"action":"heal"' in line)
    history.write_bytes(b"".join(lines[:heal]))
    assert LiveRun(root).look().standing == ["partition-majorities-ring"]


def test_a_bad_line_costs_no_other_line(root: Path) -> None:
    whole = LiveRun(root).look()
    for path in (root / "history.jsonl", root / "probes.jsonl"):
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([*lines[:3], b'{"time": "<b>"}\n', *lines[3:]]))
    found = LiveRun(root).look()
    assert found.unreadable[0] == 2
    assert "history.jsonl: line 4" in found.unreadable[1]
    assert replace(found, unreadable=(0, "")) == whole
    assert "2 lines could not be read" in site.live_page(found, None)


def test_a_violation_is_shown_from_when_it_is_complete(root: Path) -> None:
    def watch(event: Event) -> str | None:
        fed.append(event.index)
        return "<b>broken" if event.index == 100 else None

    fed = list[int]()
    found = LiveRun(root, watch).look()
    assert fed == list(range(101))
    assert found.violation == (read_history(root / "history.jsonl").events[100].time / 1e9, "<b>broken")
    assert "&lt;b&gt;broken" in site.live_page(found, None)


def test_the_site_shows_the_run_under_way_and_then_leads_to_its_page(root: Path) -> None:
    server = Site(root.parents[1])
    with under_way(root):
        results = (root / "results.json").read_bytes()
        (root / "results.json").unlink()
        answer = Answer(server, "/live.html")
        assert answer.status == 200
        assert "connect-src" in answer.body.decode()
        assert "data-live" in answer.body.decode()
    (root / "results.json").write_bytes(results)
    page = Answer(server, "/live.html").body.decode()
    assert 'id="under-way" data-live' not in page
    assert f'href="{site.href("t/logs-cut")}/index.html"' in page
    assert "connect-src" not in Answer(server, "/index.html").body.decode()


def test_an_empty_store_has_a_live_page(tmp_path: Path) -> None:
    assert Answer(Site(tmp_path), "/live.html").status == 200


def test_what_a_run_says_is_text(root: Path) -> None:
    hostile = "<img src=x>"
    (root / "run.json").write_text(json.dumps({"stopped": hostile}))
    probe = {"time": 1, "node": hostile, "role": "leader", "term": 1, "error": None}
    (root / "probes.jsonl").write_text('{"format":"harness-probes","version":3}\n' + json.dumps(probe) + "\n")
    found = LiveRun(root).look()
    assert (found.leaders, found.stopped) == ([(1e-9, hostile)], hostile)
    bands, leaders = [Band(hostile, 1, None)], [(1.0, hostile)]
    shown = Overview(hostile, 3, [], bands, leaders, found.nodes, (1, hostile), "", (1, hostile))
    page = site.live_page(shown, None) + site.live_page(replace(shown, stopped=hostile), None)
    assert hostile not in page
    assert page.count("&lt;img") >= 14
