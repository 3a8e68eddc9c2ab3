"""*Words*: every kind of violation and every headline that a page can show is explained on it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

import reports
from harness.systems.bookkeeper.fenced_ledgers import KINDS as OF_LEDGERS
from harness.systems.rocketmq.words import KIND as OF_EPOCHS
from harness.systems.rocketmq_brokers.words import LOG_KINDS, QUEUE_KINDS, REPLICATION_KINDS
from history import RunFiles
from history.records.finding import LOST, SEVERITIES, Finding, types_below
from history.records.violations import violations_of
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.page.words import HEADLINES, KINDS, words_of
from tests.support.reports.recorded_runs import RUNS, recorded_run

ROOT = Path(__file__).resolve().parents[2]
JUDGES = ("checker", "harness/judge", "harness/workloads", "harness/systems")
NAME = '"([a-z]+(?:-[a-z]+)+)"'
#: Kinds that a check of one system declares with their words: recordings of earlier releases do not have these.
DECLARED = {*OF_LEDGERS, *QUEUE_KINDS, *REPLICATION_KINDS, OF_EPOCHS, *LOG_KINDS} - set(KINDS)
OF_ANSWERS = ("client.py", "outcomes.py")
"""Of the systems: what becomes of an operation, and no violation."""
PLACES = (
    rf"(?:Counterexample|of_promise|broken|example|_counterexample|_conflict|_Disagreement|_invalid)\(\s*[^\"\n]*?{NAME}",
    rf"return {NAME}(?: if \w+ else {NAME})?, ",
    rf"\bkind = {NAME}|\bKIND: Final = {NAME}|\bkind={NAME}",
    rf"\bkind(?:, \w+)? = {NAME}",
    rf"\bkind = {NAME} if .* else {NAME}",
)
"""Where the judges' sources name a kind: where a counterexample is made, or a finding is."""


def kinds_in_the_sources() -> set[str]:
    paths = (path for folder in JUDGES for path in (ROOT / folder).rglob("*.py"))
    texts = [path.read_text() for path in paths if path.name not in OF_ANSWERS]
    found = (match for text in texts for place in PLACES for match in re.finditer(place, text))
    return kinds_of_findings() | {name for match in found for name in match.groups() if name}


def kinds_of_findings() -> set[str]:
    """The kinds of the types of findings that make a check invalid."""
    core = (
        kind for kind in types_below(Finding) if kind.__module__ == Finding.__module__ and not kind.__subclasses__()
    )
    fields = ({one.name: one.default for one in msgspec.structs.fields(kind)} for kind in core)
    return {one["kind"] for one in fields if one["verdict"] == "invalid" and isinstance(one["kind"], str)}


def test_every_kind_that_a_judge_can_name_has_its_words() -> None:
    named = kinds_in_the_sources()
    assert {"stale-read", "lost-write", "committed-entries-deleted", "not-linearizable", "wrong-total"} <= named
    of_gates = {"fault-states", "final-reads", "read-back", "run-end"}
    assert named - set(KINDS) - DECLARED == {"not-compared", *of_gates}, "which make no check invalid"
    assert LOST - set(KINDS) == set()


def test_every_headline_has_its_words() -> None:
    assert tuple(HEADLINES) == SEVERITIES


def test_no_entry_is_of_something_that_there_is_not() -> None:
    sources = "\n".join(path.read_text() for folder in (*JUDGES, "history") for path in (ROOT / folder).rglob("*.py"))
    assert [kind for kind in KINDS if f'"{kind}"' not in sources] == []


@pytest.mark.parametrize("name", RUNS)
def test_a_page_explains_what_stands_on_it_and_nothing_else(name: str, tmp_path: Path) -> None:
    files = RunFiles(recorded_run(name, tmp_path))
    reports.write_report(files)
    page = files.report.read_text()
    part = page.partition('id="words"')[2].partition("</section>")[0]
    explained = set(re.findall(r"<dt>(.*?)</dt>", part))
    results = json.loads(files.results.read_text())
    found = violations_of(results)
    assert {one.severity for one in found} == explained & set(SEVERITIES)
    shown = set(re.findall(r'<article class="violation" id="violation-\d+">\s*<h3>([a-z-]+)', page))
    kinds = (explained & set(KINDS)) - {check["name"] for check in results["checks"]}
    assert shown | {one.kind for one in found} >= kinds >= shown - DECLARED
    assert ("leader, follower" in explained) == ("candidate" in explained)


def test_what_only_one_system_has_is_explained_by_the_words_of_its_checks_which_replace_ours(tmp_path: Path) -> None:
    files = RunFiles(recorded_run("ledgers-lost", tmp_path))
    explained = dict(words_of(prepare(read_run(files))))
    assert "data lost" in explained
    assert {"tail", "unreadable-entry"} & set(explained) == set(), "this recording has no words, and the core none"
    results = json.loads(files.results.read_text())
    own = {"tail": "its operation", "unreadable-entry": "its kind", "data lost": "its own"}
    results["checks"][0]["words"] = own
    results["environment"]["words"] = {"quorum": "its option"}
    own["quorum"] = "its option"
    files.results.write_text(json.dumps(results))
    assert dict(words_of(prepare(read_run(files)))).items() >= own.items()


def test_no_commits_may_begin_under_a_fault_and_a_planted_bug_has_an_entry_for_each_outcome(tmp_path: Path) -> None:
    """It was *though nothing stood in the way*, of a stretch that began 0.0 s into a fault."""
    assert "though nothing stood in the way" not in HEADLINES["no commits"]
    assert "may have begun under a fault" in HEADLINES["no commits"]
    files = RunFiles(recorded_run("stale-reads", tmp_path))
    reports.write_report(files)
    words = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", files.report.read_text()))
    assert words["missed"].endswith("no check that looks for it failed.")
    assert words["as intended"].endswith("a check that looks for it failed, as it should.")
    assert "does not look for the planted bug" in words["more was found"]
