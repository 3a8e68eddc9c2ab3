"""A page says what the system promises of the operations that its verdict is about, and who says that it does."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

import reports
from checker.models.levels import REFUTES
from harness.systems.bookkeeper.fenced_ledgers import KINDS as OF_LEDGERS
from harness.systems.promise import Promise
from harness.systems.registry import usable_systems
from harness.systems.rocketmq_brokers.words import LOG_KINDS, QUEUE_KINDS, REPLICATION_KINDS
from history import RunFiles
from history.records.violations import OF_NODES
from reports.load.promises import promises_of
from reports.load.run import read_run
from reports.page.words import KINDS
from tests.support.reports.recorded_runs import recorded_run

BROADCAST = "https://zookeeper.apache.org/doc/r3.9.4/zookeeperInternals.html#sc_guaranteesPropertiesDefinitions"
PROTOCOL = "https://bookkeeper.apache.org/docs/development/protocol/"
GUARANTEES = "https://zookeeper.apache.org/doc/r3.9.4/zookeeperProgrammers.html#ch_zkGuarantees"


def page_of(root: Path) -> str:
    assert reports.write_report(RunFiles(root)).warnings == []
    return unescape(RunFiles(root).report.read_text())


def row_of(page: str, check: str) -> str:
    (row,) = re.findall(rf'id="check-{check}".*?</dl>', page, re.DOTALL)
    return str(row)


def part_of(page: str, place: str) -> str:
    return page.partition(f'id="{place}"')[2].partition("</section>")[0].partition("</article>")[0]


def claims_in(part: str) -> list[str]:
    return re.findall(r"<li>(.*?)</li>", part.partition('<ul class="promised">')[2].partition("</ul>")[0])


def test_beside_a_read_that_fits_nowhere_stands_what_is_promised_of_reads_and_nothing_else(tmp_path: Path) -> None:
    """A read of ZooKeeper alone is not linearizable: this one follows a write of its own session."""
    page = page_of(recorded_run("element-lost", tmp_path))
    row, shown = row_of(page, "linearizable"), part_of(page, "violation-1")
    assert "what ZooKeeper 3.9.3 promises" in row
    assert '<a href="#check-linearizable">what ZooKeeper 3.9.3 promises</a>' in shown
    (claim,) = claims_in(row)
    assert claim.startswith("of read: requests of one session take effect in their order, and a read here is a write")
    assert f'(<a href="{GUARANTEES}">source</a>)' in claim
    assert page.count(claim) == 1
    assert "never goes back" not in page, "that is of peek, which this workload has not"


@pytest.mark.parametrize(
    ("name", "check", "begins", "source"),
    [
        ("element-lost", "elements", "what was acknowledged is kept while a majority of disks is", BROADCAST),
        ("three-losses", "node-logs", "all servers apply the same transactions in one order", BROADCAST),
        ("data-lost", "leader-complete", "Leader Completeness: ", "figure 3)"),
        ("data-lost", "log-order", "a node takes as committed only what is in its log", "figure 2)"),
        ("logs-cut", "committed-kept", "Leader Completeness and Log Matching: ", "figure 3 and section 5.3)"),
        ("replica-behind", "recovery", "a cluster of which a majority can talk serves again", "sections 2 and 5.3)"),
        ("stale-reads", "linearizable", "of read, write: reads, writes and compare-and-sets", "2014, section 8)"),
    ],
)
def test_beside_every_failed_check_stands_the_one_promise_that_is_broken(
    name: str, check: str, begins: str, source: str, tmp_path: Path
) -> None:
    (claim,) = claims_in(row_of(page_of(recorded_run(name, tmp_path)), check))
    assert claim.startswith(begins)
    assert source in claim


def test_a_promise_that_names_neither_operations_nor_checks_is_behind_what_clients_were_answered(
    tmp_path: Path,
) -> None:
    """As those in the file of any program are: sentences."""
    root = recorded_run("stale-reads", tmp_path)
    plain = {"claim": "what was acknowledged is kept", "of": [], "source": "", "checks": [], "kinds": []}
    for name in ("run.json", "results.json"):
        record = json.loads((root / name).read_text())
        record["environment"] = {**record.get("environment", {}), "promises": [plain]}
        (root / name).write_text(json.dumps(record))
    page = page_of(root)
    assert [claim.strip() for claim in claims_in(row_of(page, "linearizable"))] == [plain["claim"]]
    assert not claims_in(row_of(page, "log-order"))


def test_sections_of_nodes_and_of_the_recovery_lead_to_it(tmp_path: Path) -> None:
    page = page_of(recorded_run("data-lost", tmp_path))
    assert 'href="#check-leader-complete"' in part_of(page, "invariant-1")
    (claim,) = claims_in(row_of(page, "leader-complete"))
    assert claim.startswith("Leader Completeness: an entry that is committed is in the logs of all leaders")
    assert 'href="#check-recovery"' in part_of(page, "recovery")
    (claim,) = claims_in(row_of(page, "recovery"))
    assert "how long that may take is not promised: this harness asks for it within a time" in claim


def test_of_six_promises_of_a_ledger_only_that_of_the_kind_of_violation_is_named(tmp_path: Path) -> None:
    page = page_of(recorded_run("ledgers-lost", tmp_path))
    for place in range(1, page.count('<article class="violation"') + 1):
        (claim,) = claims_in(part_of(page, f"violation-{place}"))
        assert PROTOCOL in claim or "Javadoc" in claim
    assert len(claims_in(row_of(page, "ledgers"))) == 3, "of as many kinds of violation"
    kept = page_of(recorded_run("ledgers-kept", tmp_path))
    assert len(claims_in(row_of(kept, "ledgers"))) == 6, "a check that passed rests on all of them"


def test_every_check_and_kind_that_a_promise_names_is_one() -> None:
    checks = {
        "linearizable", "isolation", "recovery", "elements", "total", "sessions", "epochs", "ledgers", "queues",
        "acknowledged", "logs", "replication",
    } | OF_NODES  # fmt: skip
    for system in usable_systems()[0]:
        for one in system.promises:
            if isinstance(one, Promise):
                assert set(one.checks) <= checks, one
                assert set(one.kinds) <= {
                    *KINDS,
                    *OF_LEDGERS,
                    *QUEUE_KINDS,
                    *REPLICATION_KINDS,
                    *LOG_KINDS,
                    *REFUTES,
                }, one
                assert one.checks or not one.kinds, one


def test_the_source_of_a_promise_is_a_link_only_where_it_is_an_address(tmp_path: Path) -> None:
    root = recorded_run("element-lost", tmp_path)
    results = json.loads((root / "results.json").read_text())
    results["environment"]["promises"] = [
        {"claim": "all <b>is</b> well", "of": ["read"], "source": "javascript:alert(1)"},
        "no record",
        {"claim": "x", "of": ["cas"], "source": "a book"},
    ]
    (root / "results.json").write_text(json.dumps(results))
    assert [one["claim"] for one in promises_of(read_run(RunFiles(root)))] == ["all <b>is</b> well", "x"]
    reports.write_report(RunFiles(root))
    page = RunFiles(root).report.read_text()
    assert 'href="javascript' not in page
    assert "all &lt;b&gt;is&lt;/b&gt; well (javascript:alert(1))" in page
    assert "x (a book)" not in page, "no operation of this run is a cas"


def test_of_a_system_that_promises_nothing_nothing_is_said(tmp_path: Path) -> None:
    root = recorded_run("element-lost", tmp_path)
    results = json.loads((root / "results.json").read_text())
    del results["environment"]["promises"]
    (root / "results.json").write_text(json.dumps(results))
    page = page_of(root)
    assert "why it is a violation" not in page.lower()
    assert ">what ZooKeeper 3.9.3 promises<" not in page


def test_a_planted_bug_promises_nothing(tmp_path: Path) -> None:
    page = page_of(recorded_run("stale-reads", tmp_path))
    assert ">what DLedger 0.4.0 promises<" in page
    assert "of read, write: reads, writes and compare-and-sets of a register are linearizable" in page
    assert "2014, section 8)" in page
