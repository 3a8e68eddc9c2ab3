"""The track of events: elections and lost entries against recorded runs' raw probes, and lines of logs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from history import Probe, RunFiles, node_logs
from reports.analysis.elections import claims_of, elections_of
from reports.analysis.findings import prepare
from reports.analysis.node_timeline import timelines_of
from reports.load.run import read_run
from reports.page import track
from tests.support.reports.log_words import declare
from tests.support.reports.made import Maker
from tests.support.reports.recorded_runs import recorded_run


@pytest.mark.parametrize("name", ["data-lost", "logs-cut", "replica-behind"])
def test_arrows_are_the_leaders_and_the_falls_of_the_raw_probes(name: str, tmp_path: Path) -> None:
    root = recorded_run(name, tmp_path)
    drawn = prepare(read_run(RunFiles(root)))
    arrows = track.track_of(drawn)["arrows"]
    probes = [json.loads(line) for line in (root / "probes.jsonl").read_text().splitlines()[1:]]
    answers = [probe for probe in probes if not probe.get("error")]
    names = [timeline.node for timeline in drawn.timelines]
    led = {(probe["term"], probe["node"]) for probe in answers if probe["role"] == "leader"}
    assert sum(kind == track.ELECTION for kind, *_ in arrows) == len(led)
    falls = []
    for node in names:
        mine = [probe for probe in answers if probe["node"] == node]
        falls += [(b["time"] / 1e9, node) for a, b in pairwise(mine) if b["log_end"] < a["log_end"]]
    pointed = [(at, names[to]) for kind, at, _, to, _ in arrows if kind in (track.LOST, track.CUT)]
    assert [node for _, node in pointed] == [node for _, node in sorted(falls)]
    assert [at for at, _ in pointed] == pytest.approx([at for at, _ in sorted(falls)], abs=1e-3)
    lost = [
        (at, node)
        for at, node in falls
        if _last(answers, node, at)["log_end"]
        < max(one["committed"] for one in answers if one["node"] == node and one["time"] / 1e9 < at)
    ]
    assert sorted(names[to] for kind, _, _, to, _ in arrows if kind == track.LOST) == sorted(node for _, node in lost)
    assert all(source != to for _, _, source, to, _ in arrows)
    claims = [(round(claim.start, 4), names.index(claim.node)) for claim in claims_of(drawn.timelines)]
    assert [(at, to) for kind, at, _, to, _ in arrows if kind == track.ELECTION] == sorted(claims)
    assert len(claims) == elections_of(drawn.timelines).leader_changes + 1
    assert arrows == sorted(arrows, key=lambda one: one[1])


def _last(answers: list[dict[str, Any]], node: str, at: float) -> dict[str, Any]:
    return next(one for one in answers if one["node"] == node and one["time"] / 1e9 >= at)


@pytest.mark.parametrize(("committed", "kind"), [(2654, track.CUT), (2655, track.LOST), (-1, track.CUT)])
def test_only_a_log_that_fell_below_what_its_node_had_committed_lost_entries(
    committed: int, kind: int, fresh: Maker
) -> None:
    """A follower that follows a new leader cuts what it had not committed: that breaks no rule, and is no red arrow."""
    drawn = prepare(read_run(fresh("valid")))
    probes = [Probe(10**9, "n1", "leader", 3, log_end=2654)]
    probes += [
        Probe(10**9 + at * 10**8, "n2", "follower", 3, committed=committed, log_end=end)
        for at, end in ((1, 2655), (3, 2654))
    ]
    found = track.track_of(replace(drawn, timelines=timelines_of(probes, ("n1", "n2"))))
    (arrow,) = [one for one in found["arrows"] if one[0] != track.ELECTION]
    assert arrow[:4] == [kind, 1.3, 0, 1]
    assert ("although" in arrow[4]) == (kind == track.LOST)
    assert ("still holds the 2" in arrow[4]) == (committed == 2654)


def test_no_arrow_leads_from_one_leader_of_a_term_to_another_and_both_claims_are_marked(fresh: Maker) -> None:
    drawn = prepare(read_run(fresh("valid")))
    probes = [Probe(10**9, "n1", "leader", 3), Probe(10**9 + 5 * 10**7, "n2", "leader", 3)]
    probes += [Probe(2 * 10**9, "n2", "leader", 4), Probe(3 * 10**9, "n1", "leader", 5)]
    found = track.track_of(replace(drawn, timelines=timelines_of(probes, ("n1", "n2"))))
    assert [(source, to) for _, _, source, to, _ in found["arrows"]] == [(None, 0), (None, 1), (None, 1), (1, 0)]
    assert [text for *_, text in found["arrows"]] == [
        "n1 leads in term 3; in the same round of probes, n2 (term 3) claimed so, too",
        "n2 leads in term 3; in the same round of probes, n1 (term 3) claimed so, too",
        "n2 leads in term 4",
        "n1 leads in term 5 after n2",
    ]
    assert [place for place, _, _ in found["contested"]] == [0, 1]


def test_lines_are_of_nodes_and_harness_each_kind_once_a_second(fresh: Maker) -> None:
    files = fresh("valid")
    run = read_run(files)
    start = datetime.fromisoformat(run.started).astimezone(UTC)

    def at(seconds: float) -> str:
        return (start + timedelta(seconds=seconds)).isoformat(sep=" ", timespec="milliseconds")[:23]

    pushes = [f"{at(3 + n / 10)} INFO  [Push-n3] Push - Change state from COMPARE to APPEND at {n}" for n in range(12)]
    (files.nodes / "n2" / "extra.log").write_text("\n".join([*pushes, f"{at(4.5)} ERROR x - broken"]) + "\n")
    files.log.write_text(f"{at(2.0)} WARNING harness.x: late\n{at(2.5)} ERROR   harness.x: lost\n")
    declare(files)
    found = track.track_of(prepare(read_run(files)))
    names = [timeline.node for timeline in prepare(run).timelines]
    mine = [line for line in found["lines"] if "Change state" in line[3]]
    assert [(int(line[0]), names[line[1]], line[2], line[4]) for line in mine] == [(3, "n2", 3, 10), (4, "n2", 3, 2)]
    assert [line[2] for line in found["lines"] if line[3].endswith("broken")] == [2]
    assert [line[1] for line in found["lines"] if line[3].endswith("lost")] == [track.HARNESS]
    assert found["lines"] == sorted(found["lines"], key=lambda line: line[0])


def test_long_logs_are_read_around_faults_and_findings_alone(fresh: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = prepare(read_run(fresh("valid")))
    monkeypatch.setattr(node_logs, "MAX_BYTES", 0)
    spans: list[tuple[float, float]] = []

    def noted(_files: RunFiles, _started: str, start: float, stop: float) -> list[node_logs.LogLine]:
        spans.append((start, stop))
        return []

    monkeypatch.setattr(node_logs, "by_second", noted)
    track.track_of(drawn)
    assert spans
    for window in drawn.windows:
        assert any(start <= window.started <= stop for start, stop in spans)
    assert all(a[1] < b[0] for a, b in pairwise(spans))
