"""Failed checks of the nodes: when, who, which fault, who led; and what the banner says of a run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import reports
from history import Check, Counterexample, RunFiles
from history.records.finding import (
    BeyondLog,
    Claim,
    CommitBeyondLog,
    Digest,
    EntriesDeleted,
    Fall,
    LeaderLacksCommitted,
    OfNodes,
    ReplicasDiffer,
    ShortLeader,
    ShortLogs,
    StepBack,
    TermForgotten,
    TwoLeaders,
    contradictions,
)
from reports.analysis.findings import prepare
from reports.analysis.invariant_violations import MAX_MOMENTS, invariant_violations
from reports.analysis.marks import marks_of
from reports.load.check_rows import undecided_of
from reports.load.run import read_run
from reports.load.run_row import row_of
from reports.page.series import marks_data
from reports.story.diagnosis import diagnosis_of
from reports.story.planted_bug import failed_beside, meaning_of
from reports.text.junit import junit_of
from tests.support.reports.checks import DELETED, S, recorded, with_checks
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import recorded_run


def test_deleted_entries_are_reported_with_their_fault_and_leader(fresh: Maker) -> None:
    drawn = with_checks(fresh("valid"), DELETED)
    (broken,) = invariant_violations(drawn)
    assert [moment.node for moment in broken.moments] == ["n1", "n2"]
    during, before = broken.moments
    assert during.text == "log ends at 5, 90 had been committed there"
    assert [fault.fault for fault in during.faults] == ["partition-majorities-ring"]
    assert (before.faults, before.leader) == ([], "n1")
    assert during.term >= before.term > 0
    assert during.logged is not None
    assert during.logged.lines
    assert broken.counted == 2
    assert broken.picture is not None
    assert [line.node for line in broken.picture.lines if line.late] == ["n1", "n2"]
    reports.write_report(drawn.run.files)
    page = drawn.run.files.report.read_text()
    assert '<a href="#invariant-1">committed-kept</a>' in page
    assert 'id="invariant-1"' in page
    assert "clients may not have noticed" in page


def test_charts_mark_them_and_their_legend_says_so(fresh: Maker) -> None:
    drawn = with_checks(fresh("valid"), DELETED)
    assert marks_data(marks_of(drawn)) == {
        "violations": [],
        "violated": 0,
        "least": False,
        "further": {"violations": (), "findings": ()},
        "findings": [
            {"at": 2.0, "node": "n2", "check": "committed-kept"},
            {"at": 7.5, "node": "n1", "check": "committed-kept"},
        ],
    }
    reports.write_report(drawn.run.files)
    assert "committed-kept (all 2 falls of a log marked)" in drawn.run.files.report.read_text()


def test_what_failed_before_the_harness_did_is_a_finding_all_the_same(fresh: Maker) -> None:
    files = fresh("valid")
    drawn = with_checks(files, DELETED, {"name": "recovery", "verdict": "unknown", "seen": "cut"})
    files.results.write_text(json.dumps({**drawn.run.results, "harness_failure": "no SSH"}))
    drawn = prepare(read_run(files))
    diagnosed = diagnosis_of(drawn)
    assert diagnosed is not None
    assert [one.checks for one in diagnosed.breaks] == [("committed-kept",)]
    assert undecided_of(drawn.run) == []
    assert "a finding about the system under test all the same" in failed_beside(drawn.run)
    text = reports.render_run(files)
    led = "data lost: committed entries left n2's log by 2.0 s"
    beside = "The harness failed as well (no SSH). What was recorded was judged, and a check failed: that is a finding"
    results = {**drawn.run.results, **reports.story_of(files)._asdict()}
    files.results.write_text(json.dumps(results))
    assert text.startswith(f"INVALID\n{led}"), "what is proven leads"
    assert beside in " ".join(text.split())
    reports.write_report(files)
    page = files.report.read_text()
    assert '<h1 id="verdict-word">Invalid</h1>' in page
    assert page.index("committed entries left") < page.index(beside)
    row = row_of(files)
    assert (row.verdict, row.severity, row.failure) == ("invalid", "data lost", "no SSH")
    assert row.sentence.startswith(led)
    assert row.sentence.endswith("The harness failed (no SSH).")
    case = junit_of(prepare(read_run(files)).run).find(".//testcase[@name='harness']/error")
    assert case is not None, "and our failure is an error beside it"
    assert case.get("type") == "harness-failure"
    assert "says nothing about" in meaning_of(prepare(read_run(fresh("harness-failure"))).run)


def test_nodes_that_logged_nothing_have_no_fold(fresh: Maker) -> None:
    files = fresh("valid")
    for log in files.nodes.glob("*/*.log"):
        log.write_text("")
    drawn = with_checks(files, DELETED)
    reports.write_report(drawn.run.files)
    page = files.report.read_text()
    assert "logged nothing around 7.50 s, from 6.50 to 8.00 s" in page
    assert 'class="excerpt"' not in page


def test_a_fall_after_a_restart_says_so_and_what_is_not_listed_is_counted(fresh: Maker) -> None:
    many = [Fall("n1", 7 * S, 5, 90)] * (MAX_MOMENTS + 1)
    files = fresh("valid")
    falls = (Fall("n1", 7 * S, 5, 90, restarted=True), *many)
    drawn = with_checks(files, {**DELETED, **recorded(EntriesDeleted(moments=falls))})
    (broken,) = invariant_violations(drawn)
    assert broken.moments[0].text == "log ends at 5, 90 had been committed there before it was restarted"
    assert (len(broken.moments), broken.counted) == (MAX_MOMENTS, MAX_MOMENTS + 2)
    reports.write_report(files)
    page = drawn.run.files.report.read_text()
    assert "The table lists 12 of 14 falls of a log: the first of each node, and the earliest of the others." in page
    assert "The results hold" not in page


def test_a_commit_index_that_fell_is_reported_and_is_no_restart(fresh: Maker) -> None:
    falls = (Fall("n1", 7 * S, 3, 27, index_fell=(27, 3)), Fall("n1", 7 * S, 3, 27))
    found = recorded(EntriesDeleted(moments=falls))
    (broken,) = invariant_violations(with_checks(fresh("valid"), {**DELETED, **found}))
    text = "log ends at 3, 27 had been committed there"
    assert [one.text for one in broken.moments] == [f"{text}; its commit index itself fell from 27 to 3", text]


def test_a_list_that_was_cut_says_of_how_many_it_is_and_drops_no_node(fresh: Maker) -> None:
    early = [BeyondLog("n1", (5 + place) * S, "committed", 90, 5) for place in range(MAX_MOMENTS + 3)]
    moments = (*early, BeyondLog("n2", 50 * S, "committed", 90, 5))
    found = CommitBeyondLog(nodes=("n1", "n2", "n3"), count=143, moments=moments)
    seen = "broken in 143 of 1461 pairs of answers: 120 such answers, the first: n1's log ended at 5 at 5.0 s"
    drawn = with_checks(fresh("valid"), {"name": "log-order", "seen": seen, **recorded(found)})
    (broken,) = invariant_violations(drawn)
    assert [moment.node for moment in broken.moments] == ["n1"] * (MAX_MOMENTS - 1) + ["n2"]
    assert (broken.counted, broken.recorded, broken.unlisted) == (143, MAX_MOMENTS + 4, ("n3",))
    assert broken.picture is not None
    assert [line.node for line in broken.picture.lines if line.late] == ["n1", "n2", "n3"]
    reports.write_report(drawn.run.files)
    page = drawn.run.files.report.read_text()
    assert "broken in 143 of 1461 pairs of answers" in page
    assert "The table lists 12 of 143 answers: the first of each node, and the earliest of the others." in page
    assert "The results have the times of only the earliest 16, none of them from n3." in page
    assert "log-order (16 of 143 answers marked)" in page


def test_two_leaders_are_reported_with_their_times(fresh: Maker) -> None:
    files = fresh("valid")
    lines = files.probes.read_text().splitlines()
    records = [json.loads(line) for line in lines[1:]]
    for record in records:
        if record["node"] in ("n2", "n4") and 3 * S < record["time"] < 4 * S:
            record.update(role="leader", term=9)
    files.probes.write_text("\n".join([lines[0], *map(json.dumps, records)]) + "\n")
    found = recorded(TwoLeaders(terms={9: ("n2", "n4")}))
    drawn = with_checks(files, {"name": "election-safety", **found})
    (broken,) = invariant_violations(drawn)
    assert [moment.node for moment in broken.moments] == ["n2", "n4"]
    assert all(3 <= moment.seconds < 3.3 and "led in term 9 until" in moment.text for moment in broken.moments)


def test_the_second_leader_of_a_term_dates_it_and_is_looked_at_next(fresh: Maker) -> None:
    files = fresh("valid")
    lines = files.probes.read_text().splitlines()
    records = [json.loads(line) for line in lines[1:]]
    led = [record for record in records if record["node"] == "n4" and 3 * S < record["time"] < 4 * S]
    for record in led:
        record.update(role="leader", term=1)
    files.probes.write_text("\n".join([lines[0], *map(json.dumps, records)]) + "\n")
    since = led[0]["time"]
    led_twice = TwoLeaders(terms={1: ("n1", "n4")}, moments=(Claim("n1", S, 1), Claim("n4", since, 1)), since=since)
    found = diagnosis_of(with_checks(files, {"name": "election-safety", **recorded(led_twice)}))
    assert found is not None
    assert found.breaks[0].text.startswith("election-safety: seen")
    assert (found.breaks[0].onset, found.breaks[0].nodes) == (since / S, ("n4",))
    assert "n4" in found.step
    assert f"{since / S:.1f} s" in found.step
    assert "elected again" not in found.after, "n1 led before"


@pytest.mark.parametrize(
    ("held", "step"), [(True, "what the logs of n3 say around 2.0 s"), (False, "the section about replicas-agree")]
)
def test_of_contents_that_differ_next_is_their_section_or_the_log_of_the_node_at_fault(
    fresh: Maker, held: bool, step: str
) -> None:
    """No chart shows contents, and the first to answer is not the one that differs from most."""
    moments = tuple(Digest(node, S * 2 + place, "index", 9, "a") for place, node in enumerate(("n3", "n1", "n2")))
    differ = ReplicasDiffer(nodes=("n3",), moments=moments, since=2 * S + 1)
    files = fresh("valid")
    for log in () if held else (files.root / "nodes" / "n3").iterdir():
        log.unlink()
    found = diagnosis_of(with_checks(files, {"name": "replicas-agree", **recorded(differ)}))
    assert found is not None
    assert found.step == f"Look at {step}"
    assert found.charts is None


def test_a_forgotten_term_is_reported_with_its_moment(fresh: Maker) -> None:
    found = recorded(TermForgotten(nodes=("n3",), moments=(StepBack("n3", 4 * S, 0, 2, 3 * S),)))
    (broken,) = invariant_violations(with_checks(fresh("valid"), {"name": "terms-kept", **found}))
    assert [(m.seconds, m.node, m.text) for m in broken.moments] == [(4.0, "n3", "in term 0, after term 2")]
    assert broken.picture is None


@pytest.mark.parametrize("findings", [None, [], [{"type": "EntriesDeleted"}], [{"type": "OfNodes", "moments": 3}]])
def test_a_check_without_evidence_is_reported_in_its_own_words(fresh: Maker, findings: Any) -> None:
    drawn = with_checks(fresh("valid"), {"name": "node-logs", "seen": "3 times 'x'; on n1", "findings": findings})
    (broken,) = invariant_violations(drawn)
    assert (broken.moments, broken.text) == ([], "3 times 'x'; on n1")


def test_checks_with_sections_of_their_own_and_good_ones_are_not_listed(made: Maker) -> None:
    for kind in ("valid", "invalid", "unknown", "no-recovery", "harness-failure"):
        assert invariant_violations(prepare(read_run(made(kind)))) == []


@pytest.mark.parametrize(
    ("kind", "heads"),
    [
        ("valid", []),
        ("invalid", [("linearizability", "counterexample")]),
        ("no-recovery", [("recovery", "recovery")]),
        ("unknown", [("faults installed", "")]),
        ("harness-failure", []),
    ],
)
def test_the_banner_leads_to_what_failed(made: Maker, kind: str, heads: list[tuple[str, str]]) -> None:
    files = made(kind)
    drawn = prepare(read_run(files))
    diagnosed = diagnosis_of(drawn)
    found = [(*one.checks, one.place) for one in diagnosed.breaks] if diagnosed else []
    assert found + [(name, "") for name, _ in undecided_of(drawn.run)] == heads
    reports.write_report(files)
    page = files.report.read_text()
    assert all(f'id="{place}"' in page for _, place in heads if place)
    if kind == "invalid":
        assert diagnosed is not None
        assert diagnosed.breaks[0].text.startswith("stale read on k3: ")
    meanings = {"valid": "No violation was found", "unknown": "proves nothing", "harness-failure": "says nothing about"}
    assert meanings.get(kind, "") in page


def test_a_run_of_which_nothing_was_recorded_has_no_empty_charts(fresh: Maker) -> None:
    files = fresh("harness-failure")
    for path in (files.history, files.probes):
        path.unlink()
    reports.write_report(files)
    page = files.report.read_text()
    assert 'id="charts"' not in page
    assert "nothing to draw" in page
    assert "SSH to n3 was lost" in page


@pytest.mark.parametrize(
    ("found", "reported"),
    [
        (
            CommitBeyondLog(moments=(BeyondLog("n1", 7 * S, "committed", 13015, 4012),)),
            "log ends at 4,012, 13,015 committed there",
        ),
        (
            CommitBeyondLog(moments=(BeyondLog("n1", 7 * S, "applied", 60, 50),)),
            "committed at 50, 60 applied there",
        ),
        (
            LeaderLacksCommitted(moments=(ShortLeader("n1", 7 * S, 7, 40, 90, "n2"),)),
            "leads in term 7 with 40 of 90 committed entries",
        ),
        (
            ReplicasDiffer(moments=(Digest("n1", 7 * S, "index", 9, "0123456789abcdef"),)),
            "contents 0123456789ab at index 9",
        ),
    ],
)  # fmt: skip
def test_what_nodes_say_of_their_state_is_reported_with_its_moment(fresh: Maker, found: OfNodes, reported: str) -> None:
    (broken,) = invariant_violations(with_checks(fresh("valid"), {"name": found.check, **recorded(found)}))
    assert [one.text for one in broken.moments] == [reported]
    assert (broken.picture is not None) == isinstance(found, ShortLogs)


@pytest.mark.parametrize(("kind", "severity"), [("lost-element", "data lost"), ("duplicate", "inconsistent")])
def test_a_check_that_found_something_lost_says_so_first(fresh: Maker, kind: str, severity: str) -> None:
    found = contradictions("elements", [Counterexample(kind, "", ())])
    own = Check("elements", "check", "invalid", "asked", "5 of 7", found)
    diagnosed = diagnosis_of(with_checks(fresh("valid"), own.to_json()))
    assert diagnosed is not None
    assert [(one.severity, one.place, one.checks) for one in diagnosed.breaks] == [
        (severity, "invariant-1", ("elements",))
    ]


def test_a_failed_check_without_a_name_is_a_break_too(fresh: Maker) -> None:
    diagnosed = diagnosis_of(with_checks(fresh("valid"), {"name": None}))
    assert diagnosed is not None
    assert [one.severity for one in diagnosed.breaks] == ["inconsistent"]


def test_of_very_many_moments_the_later_ones_are_marked_by_parts_of_the_run(fresh: Maker) -> None:
    falls = tuple(Fall("n1", S + place * 10**6, 5, 90) for place in range(300))
    drawn = with_checks(fresh("valid"), {**DELETED, **recorded(EntriesDeleted(moments=falls))})
    marks = marks_of(drawn)
    assert len(marks.findings) == 100
    width, later = drawn.run.end / 1e9 / 2000, [1 + place / 1000 for place in range(100, 300)]
    assert 0 < len(marks.further_findings) < len(later)
    assert all(any(-1e-9 <= at - mark <= width for mark in marks.further_findings) for at in later)


def test_what_a_node_shows_in_answer_after_answer_is_one_moment_that_lasts(tmp_path: Path) -> None:
    """The judge counted every answer, and lists the first hundred: the stretches hold all of them, to the last."""
    root = recorded_run("data-lost", tmp_path)
    probes = [json.loads(line) for line in (root / "probes.jsonl").read_text().splitlines()[1:]]
    drawn = prepare(read_run(RunFiles(root)))
    sections = {one.name: one for one in invariant_violations(drawn)}
    leads, order, kept = (sections[name] for name in ("leader-complete", "log-order", "committed-kept"))
    checks = {one["name"]: one["findings"][0] for one in drawn.run.results["checks"] if one["findings"]}
    for one in (leads, order):
        assert one.recorded == one.counted == checks[one.name]["count"] > 100
        assert one.marked_text == f"all {one.counted}"
    last = [one for one in probes if one["node"] == "n5" and one.get("role") == "leader"][-2]
    marks = marks_of(drawn)
    assert not marks.further_findings
    assert len(marks.findings) == leads.stretches + order.stretches + kept.counted < 20
    (stands,) = [mark for mark in marks.findings if mark.check == "leader-complete"]
    assert stands.node == "n5"
    assert stands.until == pytest.approx(last["time"] / 1e9)
    assert stands.text.endswith(f"; the same in {leads.counted} answers until {last['time'] / 1e9:.2f} s")
    assert all(mark.until is None for mark in marks.findings if mark.check == "committed-kept")
    packed = marks_data(marks)["findings"]
    assert [one["until"] for one in packed if one["check"] == "leader-complete"] == [stands.until]
    assert leads.picture is not None
    assert (order.picture, order.drawn_in, kept.picture, kept.drawn_in) == (None, leads.name, None, leads.name)
    reports.write_report(drawn.run.files)
    page = drawn.run.files.report.read_text()
    assert page.count("one that loses entries falls") == 2, "one drawing, which has a name and a caption"
    assert "All 201 answers to probes are in the period that the row begins." in " ".join(page.split())


def test_of_contents_that_differ_the_first_and_the_last_difference_are_listed(fresh: Maker) -> None:
    """Each index was first reported long before the second side of it was: nothing differed then."""
    files = fresh("invalid")
    results = json.loads(files.results.read_text())
    moments = []
    for index in range(30):
        for node, digest, at in (("n1", "a", index), ("n2", "a", index), ("n3", "b", 40 + index)):
            moments.append(Digest(node, at * S, "index", index, digest))
    differ = ReplicasDiffer(nodes=("n3",), count=30, moments=tuple(moments), since=40 * S)
    check = {
        "name": "replicas-agree",
        "kind": "check",
        "verdict": "invalid",
        "asked": "",
        "seen": "",
        **recorded(differ),
    }
    results["checks"].append(check)
    results["keys"] = []
    files.results.write_text(json.dumps(results))
    *_, broken = invariant_violations(prepare(read_run(files)))
    listed = {int(re.search(r"index (\d+)", one.text)[1]) for one in broken.moments}  # type: ignore[index]
    assert {0, 29} <= listed
    assert len(broken.moments) == 3 * len(listed) <= MAX_MOMENTS
