"""The last valid run of the same plan, and the links to it and to the comparison with it."""

from __future__ import annotations

import json
from pathlib import Path

import reports
from history import RunFiles
from reports.load.last_valid import last_valid_run
from tests.support.reports.runs import make
from tests.support.reports.shapes import Shape

TINY = Shape(operations=60, rate=10.0)


def run_of(store: Path, name: str, verdict: str = "valid", **plan: object) -> RunFiles:
    files = RunFiles(store / "t" / name)
    files.root.mkdir(parents=True)
    common = {"nemesis": ["kill"], "version": "0.4.0", "rate": 10.0, "seed": len(name)}
    files.plan.write_text(json.dumps({**common, **plan}))
    files.results.write_text(json.dumps({"verdict": verdict}))
    return files


def test_it_is_the_newest_valid_one_before_it_with_the_same_system_faults_and_settings(tmp_path: Path) -> None:
    run_of(tmp_path, "20260301T000000.000Z-1")
    run_of(tmp_path, "20260302T000000.000Z-1")
    run_of(tmp_path, "20260303T000000.000Z-1", "invalid")
    run_of(tmp_path, "20260304T000000.000Z-1", rate=20.0)
    run_of(tmp_path, "20260305T000000.000Z-1", nemesis=["pause"])
    run_of(tmp_path, "20260306T000000.000Z-1", planted_bug="stale-reads", label="0.4.0 planted-bug stale-reads")
    mine = run_of(tmp_path, "20260307T000000.000Z-1", "invalid")
    run_of(tmp_path, "20260308T000000.000Z-1")
    (tmp_path / "t" / "20260306T900000.000Z-1").symlink_to(tmp_path / "t" / "20260301T000000.000Z-1")
    (tmp_path / "t" / "latest").symlink_to(mine.root)
    plan = json.loads(mine.plan.read_text())
    assert last_valid_run(mine, plan) == "20260302T000000.000Z-1"
    assert last_valid_run(RunFiles(tmp_path / "t" / "20260301T000000.000Z-1"), plan) is None


def test_the_page_links_to_it_and_to_the_comparison(tmp_path: Path) -> None:
    earlier = make(tmp_path / "t" / "20260301T000000.000Z-1", TINY)
    mine = make(tmp_path / "t" / "20260302T000000.000Z-1", TINY)
    for files in (earlier, mine):
        reports.write_report(files)
    assert 'class="before"' not in earlier.report.read_text()
    page = mine.report.read_text()
    assert 'href="../20260301T000000.000Z-1/report.html"' in page
    pair = "a=t%2F20260301T000000.000Z-1&amp;b=t%2F20260302T000000.000Z-1"
    assert f'href="../../../compare.html?{pair}"' in page
    assert (mine.root / ".." / "20260301T000000.000Z-1" / "report.html").is_file()
