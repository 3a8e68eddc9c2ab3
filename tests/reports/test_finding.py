"""The finding of a run has one name: in lists, comparisons, JUnit and suites the one with which its page begins."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cli.main import run_command
from history import Check, Counterexample, RunFiles
from history.records.finding import LOST, SEVERITIES, Comeback, Finding, Severity, contradictions
from history.records.violations import violations_of
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.load.run_row import row_of
from reports.site import site
from reports.story.diagnosis import diagnosis_of
from reports.text import junit
from tests.support.reports.checks import recorded
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import recorded_run

FOUND = {
    "data-lost": "missing on nodes: leader-lacks-committed",
    "logs-cut": "log truncated: commit-beyond-log",
    "replica-behind": "replica behind",
    "stale-reads": "as intended, and more was found: log truncated: commit-beyond-log",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("recorded") / "store"
    (root / "recorded").mkdir(parents=True)
    for name in FOUND:
        recorded_run(name, root / "recorded")
    return root


@pytest.mark.parametrize("name", FOUND)
def test_it_is_the_first_thing_on_the_page(store: Path, name: str) -> None:
    files = RunFiles(store / "recorded" / name)
    diagnosed = diagnosis_of(prepare(read_run(files)))
    assert diagnosed is not None
    row = row_of(files)
    assert row.finding == FOUND[name]
    assert row.planted_bug or row.sentence.startswith(diagnosed.breaks[0].checks[0])
    assert row.severity == diagnosed.breaks[0].severity


def test_lists_show_it(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["ls", "--store", str(store)]) == 0
    listed = capsys.readouterr().out
    page = site.list_page([row_of(RunFiles(store / "recorded" / name)) for name in FOUND])
    for finding in FOUND.values():
        assert finding in listed
        assert f"{finding}<" in page
    assert run_command(["ls", "--store", str(store), "--json"]) == 0
    runs = {Path(run["run"]).name: run for run in json.loads(capsys.readouterr().out)["runs"]}
    assert (runs["data-lost"]["severity"], runs["data-lost"]["kind"]) == ("missing on nodes", "leader-lacks-committed")
    assert (runs["stale-reads"]["planted_bug"], runs["logs-cut"]["planted_bug"]) == ("found", "")


def test_junit_names_it(store: Path, tmp_path: Path) -> None:
    junit.write(read_run(RunFiles(store / "recorded" / "data-lost")), tmp_path / "junit.xml")
    finding = '<property name="finding" value="missing on nodes: leader-lacks-committed" />'
    assert finding in (tmp_path / "junit.xml").read_text()


def test_a_planted_bug_that_was_missed_is_the_finding(fresh: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    """The list finds it as missed, and no longer among the valid runs."""
    files = fresh("valid")
    store = str(files.root.parents[1])

    def listed(verdict: str) -> bool:
        assert run_command(["ls", "--verdict", verdict, "--store", store]) == 0
        return "planted bug not found" in capsys.readouterr().out

    assert (listed("missed"), listed("valid")) == (False, False)
    files.plan.write_text(json.dumps({**json.loads(files.plan.read_text()), "planted_bug": "stale-reads"}))
    assert row_of(files).finding == "planted bug not found"
    assert (listed("missed"), listed("valid"), listed("invalid")) == (True, False, False)


def test_a_planted_bug_that_was_found_is_listed_as_intended_and_not_among_the_invalid_runs(
    fresh: Maker, capsys: pytest.CaptureFixture[str]
) -> None:
    files = fresh("invalid")
    store = str(files.root.parents[1])

    def listed(*options: str) -> str:
        assert run_command(["ls", "--store", store, *options]) == 0
        return capsys.readouterr().out

    def verdicts() -> dict[str, int]:
        return {name: len(listed("--verdict", name).splitlines()) for name in ("as-intended", "invalid", "valid")}

    assert verdicts() == {"as-intended": 0, "invalid": 1, "valid": 0}
    files.plan.write_text(json.dumps({**json.loads(files.plan.read_text()), "planted_bug": "stale-reads"}))
    assert verdicts() == {"as-intended": 1, "invalid": 0, "valid": 0}
    assert re.search(r"^ *as intended +as intended: ", listed())
    (run,) = json.loads(listed("--json"))["runs"]
    assert (run["verdict"], run["planted_bug"]) == ("invalid", "found"), "what programs read stays"
    row = row_of(files)
    assert '<td class="verdict as-intended nowrap">as intended</td>' in site.list_page([row])
    assert site.packed_row(row)["verdict"] == "as intended"


CHECKS: dict[str, list[tuple[str, str | None]]] = {
    "data lost": [("committed-kept", "committed-entries-deleted")],
    "log truncated": [("log-order", "commit-beyond-log")],
    "inconsistent": [("election-safety", "two-leaders"), ("own-check", None)],
    "alarm": [("node-logs", "log-alarm"), ("node-logs", None)],
}
OF_RECOVERY: set[Severity] = {"no commits", "not served", "replica behind"}
EXAMPLES: dict[str, list[str]] = {
    "data lost": sorted(LOST - {"lost-element"}),
    "inconsistent": ["stale-read", "dirty-read"],
}


@given(st.lists(st.sampled_from(SEVERITIES), max_size=6), st.data())
def test_the_worst_comes_first_and_nothing_is_left_out(wanted: list[Severity], data: st.DataObject) -> None:
    checks, kinds = list[dict[str, Any]](), []
    wanted = [severity for severity in wanted if severity != "missing on nodes"]  # the judge says that
    of_recovery = [severity for severity in SEVERITIES if severity in OF_RECOVERY and severity in wanted]
    wanted = [severity for severity in wanted if severity not in of_recovery[1:]]  # one check has one severity
    for severity in wanted:
        if severity in EXAMPLES and data.draw(st.booleans()):
            kinds.append(data.draw(st.sampled_from(EXAMPLES[severity])))
        elif severity in CHECKS:
            name, kind = data.draw(st.sampled_from(CHECKS[severity]))
            found = recorded(Finding(check=name, kind=kind, severity=severity)) if kind else {}
            checks.append({"name": name, "verdict": "invalid", **found})
        else:
            end = (40 if severity == "no commits" else 2) * 10**9
            behind = ("n1",) if severity == "replica behind" else ()
            back = Comeback(healed_ns=0, last_commit_ns=10**9, end_ns=end, behind=behind).graded
            checks.append({"name": "recovery", "verdict": "invalid", **recorded(back)})
    if kinds:
        wrong = contradictions("linearizable", [Counterexample(kind, "", ()) for kind in kinds])
        checks.append(Check("linearizable", "check", "invalid", "", "", wrong).to_json())
    listed = [one.severity for one in violations_of({"checks": checks})]
    assert set(listed) == set(wanted)
    assert listed == sorted(listed, key=SEVERITIES.index)


@pytest.mark.parametrize(
    ("details", "outage"),
    [
        ({"last_commit_ns": 5, "last_served_ns": 4, "end_ns": 10**10 + 5}, True),
        ({"last_commit_ns": 5, "last_served_ns": None, "end_ns": 10**10 + 5}, True),
        ({"last_commit_ns": 5, "last_served_ns": 4, "end_ns": 10**10}, False),
        ({"last_commit_ns": 5, "last_served_ns": 2 * 10**9, "end_ns": 10**11}, False),
        ({"last_served_ns": 4, "end_ns": 10**11, "by_clients": True}, True),
        ({"last_served_ns": 4, "end_ns": 10**11, "by_clients": True, "served_ns": 3}, False),
        ({}, False),
    ],
)
def test_an_outage_lasts_until_the_end(details: dict[str, Any], outage: bool) -> None:
    assert Comeback(healed_ns=0, **details).is_outage == outage
