"""A page says what the system promises of the operations that its verdict is about, and who says that it does."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import reports
from history import RunFiles
from reports.load.check_rows import promises_of
from reports.load.run import read_run
from tests.support.reports.recorded_runs import recorded_run

GUARANTEES = "https://zookeeper.apache.org/doc/r3.9.4/zookeeperProgrammers.html#ch_zkGuarantees"


def page_of(root: Path) -> str:
    assert reports.write_report(RunFiles(root)).warnings == []
    return unescape(RunFiles(root).report.read_text())


def test_why_a_read_of_a_set_must_be_linearizable_is_said_beside_the_verdict(tmp_path: Path) -> None:
    """A read of ZooKeeper alone is not: this one follows a write of its own session."""
    page = page_of(recorded_run("element-lost", tmp_path))
    (row,) = re.findall(r'<tr class="invalid">(?:(?!</tr>).)*?>linearizable<.*?</tr>', page, re.DOTALL)
    assert "why that is asked: what ZooKeeper 3.9.3 promises" in row
    read = "of read, list: requests of one session take effect in their order, and a read here is a write to a znode"
    assert read in row
    assert f'<a href="{GUARANTEES}">source</a>' in row
    shown = page.partition('id="violation-1"')[2].partition("</article>")[0]
    assert "Why it is a violation: ZooKeeper 3.9.3 promises" in shown
    assert read in shown
    assert "of add, append, write, cas, acquire, release: writes are linearizable" in shown
    assert "never goes back" not in page, "that is of peek, which this workload has not"


def test_the_source_of_a_promise_is_a_link_only_where_it_is_an_address(tmp_path: Path) -> None:
    root = recorded_run("element-lost", tmp_path)
    results = json.loads((root / "results.json").read_text())
    results["environment"]["promises"] = [
        {"claim": "all <b>is</b> well", "of": [], "source": "javascript:alert(1)"},
        "no record",
        {"claim": "x", "of": ["cas"], "source": "a book"},
    ]
    (root / "results.json").write_text(json.dumps(results))
    assert [one["claim"] for one in promises_of(read_run(RunFiles(root)))] == ["all <b>is</b> well", "x"]
    reports.write_report(RunFiles(root))
    page = RunFiles(root).report.read_text()
    assert 'href="javascript' not in page
    assert "all &lt;b&gt;is&lt;/b&gt; well (javascript:alert(1))" in page
    assert "of cas: x (a book)" not in page.partition('id="violation-1"')[2].partition("</article>")[0]


def test_of_a_system_that_promises_nothing_nothing_is_said(tmp_path: Path) -> None:
    root = recorded_run("element-lost", tmp_path)
    results = json.loads((root / "results.json").read_text())
    del results["environment"]["promises"]
    (root / "results.json").write_text(json.dumps(results))
    page = page_of(root)
    assert "Why it is a violation" not in page
    assert "why that is asked" not in page


def test_a_planted_bug_promises_nothing(tmp_path: Path) -> None:
    page = page_of(recorded_run("stale-reads", tmp_path))
    assert "why that is asked: what DLedger 0.4.0 promises<" in page
    assert "of read, write, cas: reads, writes and compare-and-sets of a register are linearizable" in page
    assert "2014, section 8)" in page
