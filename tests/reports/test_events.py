"""One sentence for each event: what is joined, what stands below its cause, and what stays beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reports
from history import RunFiles
from history.records.finding import defect_behind
from reports.analysis.findings import Drawn, prepare
from reports.analysis.invariant_violations import invariant_violations
from reports.load.run import read_run
from reports.page.context import sections_of
from reports.story.breaks import Break
from reports.story.diagnosis import diagnosis_of
from reports.story.events import together
from tests.support.reports.recorded_runs import recorded_run

NOTHING: Any = None
GRANTED = Break("inconsistent", "granted", 5.0, "counterexample", ("epochs",), answers=frozenset({3, 9}))
READ = Break("inconsistent", "read", 6.0, "violation-2", ("linearizable",), answers=frozenset({3, 9, 12}))


def drawn(name: str, below: Path) -> Drawn:
    return prepare(read_run(RunFiles(recorded_run(name, below))))


def shown(breaks: list[Break]) -> list[tuple[str, bool]]:
    return [(one.severity, one.below) for one in breaks]


def test_two_checks_that_show_the_same_operations_found_one_event() -> None:
    (one,) = together(NOTHING, [GRANTED, READ], frozenset())
    assert (one.text, one.checks) == ("granted", ("epochs", "linearizable"))
    assert one.detail.endswith(": ".join(["The check linearizable found it too", READ.detail]).strip())


@pytest.mark.parametrize(
    "other",
    [
        replace(READ, answers=frozenset({3, 12})),
        replace(READ, answers=frozenset()),
        replace(READ, severity="data lost"),
        replace(READ, place="invariant-1"),
    ],
    ids=["other operations", "none known", "worse", "of nodes"],
)
def test_what_shares_no_whole_counterexample_is_another_event(other: Break) -> None:
    assert [one.text for one in together(NOTHING, [GRANTED, other], frozenset())] == ["granted", "read"]


APART = replace(READ, answers=frozenset(), defect="two-on-one")
BEHIND = Break("replica behind", "behind", 2.0, "recovery", ("recovery",), defect="two-on-one")


def test_what_one_known_defect_explains_is_one_event() -> None:
    caused = replace(GRANTED, defect="two-on-one")
    assert [one.checks for one in together(NOTHING, [caused, APART], frozenset())] == [("epochs", "linearizable")]
    assert shown(together(NOTHING, [caused, BEHIND], frozenset())) == [
        ("inconsistent", False),
        ("replica behind", True),
    ]
    other = replace(APART, defect="another")
    assert [one.text for one in together(NOTHING, [caused, other], frozenset())] == ["granted", "read"]


def test_only_a_defect_that_alone_explains_all_kinds_is_behind_them() -> None:
    def behind(*known: tuple[str, ...]) -> str:
        records = [{"name": f"d{place}", "kinds": kinds, "why": ""} for place, kinds in enumerate(known)]
        return defect_behind({"known_defects": records}, {"lost-write", "no-recovery"})

    assert behind(("no-recovery", "lost-write", "stale-read")) == "d0"
    assert behind(("no-recovery",), ("lost-write", "no-recovery")) == "d1"
    assert behind(("no-recovery",), ("lost-write",)) == ""
    assert behind(("no-recovery", "lost-write"), ("no-recovery", "lost-write")) == ""
    assert defect_behind({"known_defects": [{"name": "d", "kinds": ["a"], "why": ""}]}, ()) == ""


def test_a_planted_bug_is_no_event_of_what_was_found_beside_it() -> None:
    assert len(together(NOTHING, [GRANTED, READ], frozenset({"epochs"}))) == 2


def test_what_a_check_says_is_missing_on_nodes_is_not_called_lost(tmp_path: Path) -> None:
    """A replica of RocketMQ's brokers that lacks a message which another one has."""
    files = RunFiles(recorded_run("ledgers-lost", tmp_path))
    text = files.results.read_text()
    for severity, changed in (
        ("data lost", text),
        (
            "missing on nodes",
            text.replace("unreadable-entry", "missing-on-replica").replace("data lost", "missing on nodes"),
        ),
    ):
        files.results.write_text(changed)
        found = diagnosis_of(prepare(read_run(files)))
        assert found is not None
        assert [one.severity for one in found.breaks] == [severity]


@pytest.mark.parametrize("name", ["element-lost", "three-losses"])
def test_an_alarm_of_a_node_that_lacks_elements_stands_below_that(name: str, tmp_path: Path) -> None:
    run = drawn(name, tmp_path)
    found = diagnosis_of(run)
    assert found is not None
    lost, alarm = found.breaks
    assert (lost.below, alarm.severity, alarm.below) == (False, "alarm", True)
    healthy = replace(lost, lost_on=("n9",))
    assert [one.below for one in together(run, [healthy, alarm], frozenset())] == [False, True], "as it was"
    beside = replace(alarm, below=False)
    assert [one.below for one in together(run, [healthy, beside], frozenset())] == [False, False], "of other nodes"


def test_an_outage_follows_from_lost_entries_only_if_its_leader_lacks_them(tmp_path: Path) -> None:
    run = drawn("data-lost", tmp_path)
    found = diagnosis_of(run)
    assert found is not None
    assert shown(list(found.breaks)) == [("missing on nodes", False), ("no commits", True)]
    assert reports.write_report(run).warnings == []
    assert '<li class="follows"><a href="#recovery">No commits' in run.run.files.report.read_text()
    high = max(one.committed.max() for one in run.timelines)
    whole = [replace(one, log_end=np.where(one.log_end >= 0, high, one.log_end)) for one in run.timelines]
    lost, outage = (replace(one, below=False) for one in found.breaks)
    after = together(replace(run, timelines=whole), [lost, outage], frozenset())
    assert shown(after) == [("missing on nodes", False), ("no commits", False)]


def test_replicas_that_hold_all_that_any_log_holds_are_behind_because_entries_are_gone(tmp_path: Path) -> None:
    """No node can apply entries that no log holds; a replica that another log could fill has its own sentence."""
    run = drawn("data-lost", tmp_path)
    gone = Break("data lost", "gone", 8.0, "invariant-1", ("log-order",), section="log-order")
    behind = Break("replica behind", "behind", None, "recovery", ("recovery",), ("n3", "n4", "n5"))
    cut = [
        replace(one, log_end=np.minimum(one.log_end, 150), applied=np.minimum(one.applied, 150))
        for one in run.timelines
    ]
    assert shown(together(replace(run, timelines=cut), [gone, behind], frozenset())) == [
        ("data lost", False), ("replica behind", True),
    ]  # fmt: skip
    filled = [replace(cut[0], log_end=np.where(cut[0].log_end >= 0, 5000, -1)), *cut[1:]]
    assert not any(one.below for one in together(replace(run, timelines=filled), [gone, behind], frozenset()))
    other = replace(gone, checks=("ledgers",))
    assert not any(one.below for one in together(replace(run, timelines=cut), [other, behind], frozenset()))


def test_sections_stand_in_the_order_of_the_sentences(tmp_path: Path) -> None:
    run = drawn("entries-lost", tmp_path)
    found = diagnosis_of(run)
    assert found is not None
    sections = invariant_violations(run)
    order = sections_of([("", list(found.breaks))], sections)
    assert order[0] == found.breaks[0].place
    of_logs = [f"invariant-{place}" for place, one in enumerate(sections, 1) if one.name in found.breaks[0].checks]
    assert set(order[: len(of_logs)]) == set(of_logs), "all that its checks found comes before the next sentence"
    assert order[len(of_logs)] == "counterexample"
    assert len(order) == len(set(order)) == len(sections) + 2
