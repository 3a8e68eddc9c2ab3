"""Causes that the story names, each on a recorded run and on a twin of it in which the records do not prove it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reports
from history import RunFiles
from reports.analysis.findings import prepare
from reports.load.run import read_run
from reports.story.breaks import Break
from reports.story.diagnosis import diagnosis_of
from tests.support.reports.raw import Raw, S
from tests.support.reports.recorded_runs import recorded_run

Record = dict[str, Any]


def breaks(root: Path) -> tuple[Break, ...]:
    run = read_run(RunFiles(root))
    found = diagnosis_of(prepare(run))
    assert found is not None
    assert run.notes.warnings == []
    return found.breaks


def rewrite(path: Path, change: Callable[[Record], Record]) -> None:
    """Change every record but the header of a file of lines."""
    head, *lines = path.read_text().splitlines()
    path.write_text("\n".join([head, *(json.dumps(change(json.loads(line))) for line in lines)]) + "\n")


# -- the snapshot at which a replica stopped --------------------------------------------------------------------------


def test_replicas_that_stopped_at_a_snapshot_are_said_to(tmp_path: Path) -> None:
    (one,) = breaks(recorded_run("replica-behind", tmp_path))
    assert one.detail == (
        "n3 and n5 stopped where a snapshot from the leader had put them (n3 at 2,001 by 29.3 s, n5 at 2,001 by "
        "29.9 s): they applied no entry after it. n3 and n5 fell behind earlier, when #1 kill-followers "
        "struck them, at 14.2 s."
    )


@pytest.mark.parametrize(("node", "left"), [("n3", "n5"), ("n5", "n3")])
def test_a_replica_that_applied_something_after_its_snapshot_is_not(node: str, left: str, tmp_path: Path) -> None:
    root = recorded_run("replica-behind", tmp_path)
    moved = Raw(root).last_rise(node, "applied") * S

    def later(probe: Record) -> Record:
        return probe | {"applied": 2002, "log_end": 2002} if probe["node"] == node and (
            "applied" in probe and probe["time"] > moved
        ) else probe  # fmt: skip

    rewrite(root / "probes.jsonl", later)
    (one,) = breaks(root)
    assert one.detail.startswith(f"{left} stopped where a snapshot from the leader had put it ({left} at 2,001 by ")
    assert f"{node} " not in one.detail.partition(" no entry after it.")[0]


def test_a_snapshot_that_a_process_loads_at_its_start_is_not_one_from_the_leader(tmp_path: Path) -> None:
    root = recorded_run("replica-behind", tmp_path)
    rewrite(root / "probes.jsonl", lambda probe: probe | {"snapshots_loaded": 1} if "role" in probe else probe)
    (one,) = breaks(root)
    assert one.detail == "n3 and n5 fell behind earlier, when #1 kill-followers struck them, at 14.2 s."


# -- a majority with replicas in it that had stopped ------------------------------------------------------------------

QUORUM = "no quorum was left, and nothing was committed meanwhile."


def test_an_outage_under_a_majority_with_a_stopped_replica_is_explained(tmp_path: Path) -> None:
    (one,) = breaks(recorded_run("stuck-in-ring", tmp_path))
    assert one.detail.startswith(
        "Under #1 partition-majorities-ring leader n1 reached only n4 and n5, and n4 no longer applied entries; "
        "under #2 partition-majorities-ring leader n1 reached only n3 and n5, and n3 no longer applied entries: "
        f"{QUORUM}"
    )


@pytest.mark.slow
def test_nothing_is_said_where_a_quorum_was_left(tmp_path: Path) -> None:
    """In the twin n1 reached n2 as well under #1, and clients were answered all through #2."""
    root = recorded_run("stuck-in-ring", tmp_path)

    def reached(event: Record) -> Record:
        value = event["value"] if event["process"] == "nemesis" else {}
        if value.get("id") == 1 and "targets" in value:
            value["targets"]["grudge"] |= {"n1": ["n3"], "n2": ["n5"]}
        return event

    rewrite(root / "history.jsonl", reached)
    (one,) = breaks(root)
    assert one.detail.startswith("Under #2 ")
    assert "#1" not in one.detail

    def answered(event: Record) -> Record:
        failed = event["process"] != "nemesis" and event["type"] == "fail"
        return event | {"type": "ok", "error": None} if failed and 43 * S < event["time"] < 56 * S else event

    rewrite(root / "history.jsonl", answered)
    (one,) = breaks(root)
    assert QUORUM not in one.detail


def test_nothing_is_said_where_something_was_committed_all_the_same(tmp_path: Path) -> None:
    root = recorded_run("stuck-in-ring", tmp_path)

    def committed(probe: Record) -> Record:
        more = probe["node"] == "n1" and "role" in probe and 28 * S < probe["time"] < 34 * S
        return probe | {"committed": probe["committed"] + 1} if more else probe

    rewrite(root / "probes.jsonl", committed)
    (one,) = breaks(root)
    assert one.detail.startswith("Under #2 ")


# -- when missing elements were acknowledged --------------------------------------------------------------------------

LACKS = (
    "What n1 lacks was acknowledged from 6.7 s, 0.6 s into #1 kill-random-processes, to 11.6 s by n2, n3 and n4, when "
    "n1 answered no probe, under #0 kill-followers."
)


def test_nodes_that_lack_the_same_are_named_together(tmp_path: Path) -> None:
    root = recorded_run("element-lost", tmp_path)
    events = [json.loads(line) for line in (root / "history.jsonl").read_text().splitlines()]
    results = json.loads((root / "results.json").read_text())
    (elements,) = [one["findings"][0] for one in results["checks"] if one["name"] == "elements"]
    (loss,) = elements["losses"]
    elements["losses"].append({**loss, "node": "n3", "seen_ns": loss["seen_ns"] + 1})
    (root / "results.json").write_text(json.dumps(results))
    reads = {e["node"]: e for e in events if (e.get("f"), e.get("type")) == ("read", "ok") and e.get("node")}
    reads["n3"]["value"] = reads["n1"]["value"]
    (root / "history.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    detail = " ".join(one.detail for one in breaks(root))
    assert (
        "What n1 and n3 lack was acknowledged from 6.7 s, 0.6 s into #1 kill-random-processes, to 11.6 s by " in detail
    )
    assert "; what n" not in detail


def test_what_a_node_lacks_is_dated_and_said_once(tmp_path: Path) -> None:
    files = RunFiles(recorded_run("element-lost", tmp_path))
    missing, alarm = breaks(files.root)
    assert (missing.title, missing.checks) == ("missing on n1", ("elements", "linearizable"))
    assert alarm.severity == "alarm"
    assert missing.detail.startswith(
        f"The last read of another node holds every one of them. {LACKS} n1's own log has an alarm before that read, "
        "at 31.6 s. One of them: process 6 on n2 added 122 "
    )
    assert reports.write_report(files).warnings == []
    page = files.report.read_text()
    head, _, counterexample = page.partition('<section id="counterexample"')
    assert head.count(">Missing on n1</a>") == head.count(">Alarm</a>") == 1
    assert page.count(LACKS) == counterexample.count(LACKS) == 1
    for name in ("elements", "linearizable"):
        assert '<a href="#counterexample">where</a>' in head.partition(f'id="check-{name}"')[2].partition("</dl>")[0]


def test_several_nodes_are_dated_one_by_one(tmp_path: Path) -> None:
    missing, _ = breaks(recorded_run("three-losses", tmp_path))
    assert (
        "What n1 lacks was acknowledged from 14.4 s to 16.6 s by n2, n3 and n4, when n1 answered no probe, under #0 "
        "rolling-kill; what n5 lacks from 33.6 s to 36.0 s by n1, n2 and n4, when n5 answered no probe, under #1 "
        "rolling-kill; what n3 lacks from 45.0 s to 46.4 s by n1, n2 and n5, when n3 answered no probe, under #2 "
        "rolling-kill."
    ) in missing.detail


def test_a_node_that_answered_then_is_not_called_silent(tmp_path: Path) -> None:
    root = recorded_run("element-lost", tmp_path)
    answer = next(probe for probe in Raw(root).of("n1"))

    def up(probe: Record) -> Record:
        return (
            answer | {"time": probe["time"], "pid": 0}
            if probe["node"] == "n1" and 8 * S < probe["time"] < 9 * S
            else probe
        )

    rewrite(root / "probes.jsonl", up)
    missing, *_ = breaks(root)
    assert " to 11.6 s by n2, n3 and n4. n1's own log" in missing.detail


def test_another_number_than_the_check_counted_is_not_dated(tmp_path: Path) -> None:
    root = recorded_run("element-lost", tmp_path)
    results = json.loads((root / "results.json").read_text())
    (check,) = [one for one in results["checks"] if one["name"] == "elements"]
    check["findings"][0]["losses"][0] |= {"lost": 60, "elsewhere": 60}
    (root / "results.json").write_text(json.dumps(results))
    missing, *_ = breaks(root)
    assert "was acknowledged from" not in missing.detail


def test_elements_were_added_while_nodes_were_down_only_if_the_probes_show_it_of_all(tmp_path: Path) -> None:
    root = recorded_run("three-losses", tmp_path)
    (whole,) = [one for one in breaks(root) if one.lost_on]
    assert "added while rolling-kill kept them down" in whole.headline

    answer = next(probe for probe in Raw(root).of("n3"))
    rewrite(
        root / "probes.jsonl",
        lambda probe: (
            answer | {"time": probe["time"], "pid": 0}
            if probe["node"] == "n3" and 45 * S < probe["time"] < 46 * S
            else probe
        ),
    )
    (partly,) = [one for one in breaks(root) if one.lost_on]
    assert "kept" not in f"{partly.headline} {partly.rest}"


def test_a_headline_gives_the_total_that_a_node_lacks_and_then_what_was_seen_when(tmp_path: Path) -> None:
    """Its first loss alone would contradict the totals of charts and checks; with one loss both are the same."""
    root = recorded_run("element-lost", tmp_path)
    (once,) = [one for one in breaks(root) if one.lost_on]
    results = json.loads((root / "results.json").read_text())
    elements = next(
        found
        for check in results["checks"]
        for found in check.get("findings", ())
        if found["type"] == "Elements" and found["losses"]
    )
    (loss,) = elements["losses"]
    total, first = loss["lost"], 20
    elements["losses"] = [
        {**loss, "lost": first, "elsewhere": first},
        {**loss, "lost": total - first, "elsewhere": total - first, "seen_ns": loss["seen_ns"] + int(S)},
    ]
    (root / "results.json").write_text(json.dumps(results))
    (twice,) = [one for one in breaks(root) if one.lost_on]
    assert f"lacks {total} acknowledged elements" in once.headline
    assert "of them" not in once.headline
    assert f"lacks {total} acknowledged elements" in twice.headline
    at = loss["seen_ns"] / S
    assert f"{first} seen from {at:.1f} s, all by {at + 1:.1f} s" in twice.headline
    assert f", seen from {at:.1f} s" in once.headline
    elements["losses"].append({**elements["losses"][1], "seen_ns": loss["seen_ns"] + int(2 * S)})
    elements["losses"][1] |= {"lost": 11, "elsewhere": 11}
    elements["losses"][2] |= {"lost": total - 31, "elsewhere": total - 31}
    (root / "results.json").write_text(json.dumps(results))
    (thrice,) = [one for one in breaks(root) if one.lost_on]
    assert f"{first} seen from {at:.1f} s, all by {at + 2:.1f} s" in thrice.headline
    assert f"11 of the {total} that n1 lacks were seen from {at + 1:.1f} s on" in thrice.whole
