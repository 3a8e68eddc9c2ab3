"""What the probes tell over time: leaders, terms, replicas, snapshots; on inputs worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from history import Probe, Receipt, RunFiles
from history.columns.operations import from_operations
from reports.analysis import faults, snapshots
from reports.analysis import node_timeline as timelines
from reports.analysis.elections import claims_of, contested_of, elections_of, leaderships_of
from reports.analysis.findings import prepare
from reports.analysis.lagging_nodes import lagging_nodes
from reports.analysis.progress import progress_at, progress_of
from reports.analysis.sketch import sketch_of
from reports.load.run import read_run
from reports.page.page import environment
from reports.page.series import WITHOUT
from reports.page.series import stretches_of as stretches_drawn
from tests.support.reports.recorded_runs import recorded_run

S = 10**9


NODES = ("n1", "n2", "n3", "n4", "n5")


def probe(
    time_s: float, node: str, role: str = "follower", term: int = 1, applied: int = 0, committed: int = 0
) -> Probe:
    return Probe(int(time_s * S), node, role, term, committed=committed, applied=applied)  # type: ignore[arg-type]


def test_leader_stretches_and_elections() -> None:
    probes = [probe(t / 4, "n1", "leader" if t < 8 else "follower", 1 if t < 8 else 2) for t in range(16)]
    probes += [probe(t / 4, "n2", "follower" if t < 10 else "leader", 1 if t < 10 else 2) for t in range(16)]
    found = timelines.timelines_of(probes, ("n1", "n2"))
    assert [(s.role, s.term, s.start, s.end) for s in timelines.stretches(found[0])] == [
        ("leader", 1, 0.0, 2.0),
        ("follower", 2, 2.0, 4.0),
    ]
    assert [timelines.leader_at(found, t) for t in (0.1, 1.9, 2.1, 2.6)] == ["n1", "n1", None, "n2"]
    assert timelines.term_at(found, 2.1) == 2
    elections = elections_of(found)
    assert (elections.leader_changes, elections.first_term, elections.last_term, elections.again) == (1, 1, 2, ())
    assert elections.since == 0.0
    assert [(claim.node, claim.term, claim.start, claim.rivals) for claim in claims_of(found)] == [
        ("n1", 1, 0.0, ()),
        ("n2", 2, 2.5, ()),
    ]
    assert contested_of(found) == []


def test_two_nodes_that_say_in_one_round_that_they_lead_are_rivals_in_the_order_of_their_terms() -> None:
    """n2's claim of the newer term is seen a moment before n1's of the older one, which had not been probed before."""
    probes = [probe(1.00, "n2", "leader", 4), probe(1.05, "n1", "leader", 3), probe(1.1, "n3", "follower", 4)]
    probes += [probe(1.25, "n2", "leader", 4), probe(1.3, "n1", "follower", 4), probe(2.0, "n1", "leader", 5)]
    found = timelines.timelines_of(probes, ("n1", "n2", "n3"))
    assert [(claim.node, claim.term, claim.rivals) for claim in claims_of(found)] == [
        ("n1", 3, (("n2", 4),)),
        ("n2", 4, (("n1", 3),)),
        ("n1", 5, ()),
    ]
    assert contested_of(found) == [("n1", 0.925, 1.175), ("n2", 0.875, 1.125)]
    assert elections_of(found).leader_changes == 2


def test_who_leads_in_a_term_that_was_seen_before_leads_in_that_term() -> None:
    probes = [probe(0, "n1", "leader", 3), probe(2, "n1", "follower", 2), probe(2, "n2", "leader", 2)]
    found = timelines.timelines_of(probes, ("n1", "n2"))
    assert [(timelines.leader_at(found, t), timelines.term_at(found, t)) for t in (0.5, 1.9, 2.5)] == [
        ("n1", 3),
        (None, 3),
        ("n2", 2),
    ]


def claim(time_s: float, node: str, leader: str, term: int = -1) -> Probe:
    return Probe(int(time_s * S), node, "leader" if leader == node else "follower", term, leader)


def test_of_two_that_claim_to_lead_without_a_term_the_majority_names_the_leader_or_none_leads() -> None:
    names = ("n1", "n2", "n3", "n4", "n5")
    split = {"n1": "n1", "n2": "n2", "n3": "n1", "n4": "n2", "n5": "n4"}
    voted = {**split, "n3": "n2", "n5": "n2"}
    probes = [claim(at, node, led) for at, said in ((0, split), (1, voted)) for node, led in said.items()]
    found = timelines.timelines_of(probes, names)
    assert [timelines.leader_at(found, at) for at in (0.5, 1.5)] == [None, "n2"]
    assert [(one.node, one.start) for one in leaderships_of(found)] == [("n2", 1.0)]
    # Of the members n1, n3 and n4 only n1 says that it leads.
    of_members = timelines.timelines_of(probes, names, members=("n1", "n3", "n4"))
    assert timelines.leader_at(of_members, 0.5) == "n1"
    with_terms = timelines.timelines_of([claim(0, "n1", "n1", 1), claim(0, "n2", "n2", 2)], names)
    assert timelines.leader_at(with_terms, 0.5) == "n2"


def test_silence_ends_a_stretch() -> None:
    found = timelines.timelines_of([probe(0, "n1", "leader"), probe(10, "n1", "leader")], ("n1",))
    assert [(s.start, s.end) for s in timelines.stretches(found[0])] == [(0.0, timelines.STALE_S), (10.0, 10.25)]
    assert timelines.leader_at(found, 5.0) is None


def test_a_leader_that_answers_no_more_leads_until_it_was_asked_again_and_not_until_the_timeout() -> None:
    """The timeout of a node that was killed at 0.5 s comes a second later; a slow answer is no silence."""
    said = [probe(at / 4, "n1", "leader") for at in range(3)]
    (died,) = timelines.timelines_of([*said, Probe(int(1.5 * S), "n1", error="no answer within 1 s")], ("n1",))
    assert [(s.role, s.start, s.end) for s in timelines.stretches(died)] == [
        ("leader", 0.0, 0.75),
        ("silent", 0.75, 1.75),
    ]
    assert [(one.start, one.end) for one in leaderships_of([died])] == [(0.0, 0.75)]
    assert [timelines.leader_at([died], at) for at in (0.7, 0.8, 1.4)] == ["n1", None, None]
    assert [timelines.role_at([died], "n1", at) for at in (0.7, 0.8, 1.6)] == ["leader", None, None]
    (slow,) = timelines.timelines_of([*said, probe(1.5, "n1", "leader")], ("n1",))
    assert [(s.role, s.start, s.end) for s in timelines.stretches(slow)] == [("leader", 0.0, 1.75)]
    assert timelines.leader_at([slow], 1.4) == "n1"


def test_replica_progress_and_last_words() -> None:
    probes = [probe(t / 4, "n1", "leader", applied=t * 10, committed=t * 10) for t in range(40)]
    probes += [probe(t / 4, "n2", applied=min(t, 5) * 10, committed=min(t, 5) * 10) for t in range(40)]
    probes += [probe(t / 4, "n3", applied=t * 10 - 3, committed=t * 10) for t in range(40)]
    found = timelines.timelines_of(probes, ("n1", "n2", "n3"))
    progress = progress_of(found, 9.75)
    assert progress.lag[0].max() == 0
    assert progress.lag[1][39] == 340
    late = {word.node: (word.behind, word.late) for word in timelines.last_statuses(found)}
    assert late == {"n1": (0, False), "n2": (340, True), "n3": (3, False)}


@pytest.mark.parametrize("name", ["element-lost", "stale-reads", "replica-behind"])
def test_what_was_committed_since_the_round_of_probes_before_is_no_lag(name: str, tmp_path: Path) -> None:
    """By the raw probes: at each answer, what any node had said a round before; the rest is the probes' own noise."""
    root = recorded_run(name, tmp_path)
    run = read_run(RunFiles(root))
    records = [json.loads(line) for line in (root / "probes.jsonl").read_text().splitlines()[1:]]
    said = [one for one in records if one.get("committed", -1) >= 0]
    found = {one.node: one for one in timelines.timelines_of(run.probes, run.nodes, run.receipts, run.members)}
    drawn = progress_at(list(found.values()), np.array([one["time"] / 1e9 + 1e-6 for one in said])).lag
    nodes, noise = list(found), 0
    for place, one in enumerate(said):
        known = [other["committed"] for other in said if other["time"] <= one["time"] - 0.25e9]
        held = one["applied"] if one["log_end"] < 0 else min(one["applied"], one["log_end"])
        if known and max(known) <= held:
            assert drawn[nodes.index(one["node"])][place] == 0, (one["node"], one["time"])
            noise += max(other["committed"] for other in said[: place + 1]) > held
    assert noise > 1


def test_what_a_log_lost_below_the_applied_index_counts_as_behind_in_table_and_chart() -> None:
    """By one rule: n2 has applied what its log does not hold any more, n3 says nothing of its log, n4 holds more."""
    probes = [replace(probe(t / 4, "n1", "leader", applied=90, committed=90), log_end=95) for t in range(9)]
    probes += [replace(probe(t / 4, "n2", applied=90, committed=90), log_end=20 if t > 4 else 90) for t in range(9)]
    probes += [replace(probe(t / 4, "n3", applied=90, committed=90), log_end=-1) for t in range(9)]
    probes += [replace(probe(t / 4, "n4", applied=-1, committed=-1), log_end=95) for t in range(9)]
    found = timelines.timelines_of(probes, ("n1", "n2", "n3", "n4"))
    assert [(one.behind, one.late) for one in timelines.last_statuses(found)] == [
        (0, False), (70, True), (0, False), (90, True),
    ]  # fmt: skip
    assert [row[-1] for row in progress_of(found, 2.0).lag] == [0, 70, 0, 90]
    page = environment().get_template("last_statuses.html.j2")
    text = page.render(last_statuses=timelines.last_statuses(found), snapshots={}, nodes=())
    assert [cell.partition("<")[0] for cell in text.split('<td class="num red strong">')[1:]] == [
        "20", "70 by its log", "90",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "behind"), [({}, [0, 40]), ({"committed": -1}, [None, None]), ({"applied": -1}, [None, None])]
)
def test_who_is_behind_is_unknown_where_no_node_says_what_it_applied_or_what_is_committed(
    said: dict[str, Any], behind: list[int | None]
) -> None:
    """Unknown is a dash in the table and a gap in the chart, and not zero."""
    rows = [replace(probe(t / 4, "n1", "leader", applied=90, committed=90), **said) for t in range(9)]
    rows += [replace(probe(t / 4, "n2", applied=50, committed=50), **said) for t in range(9)]
    found = timelines.timelines_of(rows, ("n1", "n2"))
    assert [one.behind for one in timelines.last_statuses(found)] == behind
    assert [one.late for one in timelines.last_statuses(found)] == [False, behind[1] is not None]
    drawn = [None if np.isnan(row[-1]) else row[-1] for row in progress_of(found, 2.0).lag]
    assert drawn == behind
    text = (
        environment()
        .get_template("last_statuses.html.j2")
        .render(last_statuses=timelines.last_statuses(found), snapshots={}, nodes=())
    )
    assert (">behind</th>" in text) == (behind != [None, None]), "a column of which nothing is known is left out"


def test_a_node_of_an_earlier_epoch_is_behind_by_no_number() -> None:
    """The twin of the same indexes without epochs is behind by their difference."""
    first, second = 0x1000008C3, 0x20000000F
    probes = [probe(t / 4, "n1", "leader", applied=second - 8 + t, committed=second - 8 + t) for t in range(9)]
    probes += [probe(t / 4, "n2", applied=first, committed=first) for t in range(9)]
    probes += [probe(t / 4, "n3", applied=second - 10, committed=second - 10) for t in range(9)]
    found = timelines.timelines_of(probes, ("n1", "n2", "n3"), epoch_bits=32)
    shown = [(one.behind, one.late, one.earlier) for one in timelines.last_statuses(found)]
    assert shown == [(0, False, False), (None, True, True), (10, True, False)]
    assert [row[-1] for row in progress_of(found, 2.0).lag][::2] == [0, 10]
    assert np.isnan(progress_of(found, 2.0).lag[1][-1])
    text = (
        environment()
        .get_template("last_statuses.html.j2")
        .render(last_statuses=timelines.last_statuses(found), snapshots={}, nodes=())
    )
    assert "0x1000008c3" in text
    assert '<td class="num red strong">an earlier epoch</td>' in text
    assert next(one.sentence() for one in lagging_nodes(found, ())).endswith(": it is at 0x1000008c3")
    plain = timelines.last_statuses(timelines.timelines_of(probes, ("n1", "n2", "n3")))
    assert [(one.behind, one.earlier) for one in plain] == [(0, False), (second - first, False), (10, False)]


def test_what_a_fault_struck_is_not_dated_before_any_fault() -> None:
    """Its last answer came just before the kill began; of a node that was not struck, or long before, it is not so."""
    kill = Receipt(0, "kill", "installed", 86 * S // 10, nodes=("n2",), healed=16 * S, witness={"a": 1})
    run = SimpleNamespace(
        operations=from_operations([]), receipts=[kill], end=20 * S, fault_rows={}, state={}, nodes=("n1", "n2")
    )
    windows = faults.fault_windows(run, [])  # type: ignore[arg-type]
    assert faults.when(8.5, windows, "n2") == "8.5 s, 0.1 s before #0 kill struck it"
    assert faults.when(8.5, windows, "n1") == faults.when(8.5, windows) == "8.5 s, before any fault"
    assert faults.when(8.0, windows, "n2") == "8.0 s, before any fault"
    assert faults.when(9.0, windows, "n2") == "9.0 s, 0.4 s into #0 kill"


def test_what_comes_while_a_fault_is_healed_is_not_said_to_come_into_it() -> None:
    kill = Receipt(0, "kill", "installed", 8 * S, nodes=("n2",), heal_started=16 * S, healed=20 * S, witness={"a": 1})
    run = SimpleNamespace(
        operations=from_operations([]), receipts=[kill], end=30 * S, fault_rows={}, state={}, nodes=("n1", "n2")
    )
    windows = faults.fault_windows(run, [])  # type: ignore[arg-type]
    assert faults.when(15.9, windows) == "15.9 s, 7.9 s into #0 kill"
    assert faults.when(16.3, windows) == "16.3 s, 0.3 s after #0 kill's healing began"
    assert faults.when(20.4, windows) == "20.4 s, 0.4 s after #0 kill was healed"


def test_a_fault_struck_a_killed_successor_no_sooner_than_is_known() -> None:
    """The fault's first command was the leader's; of the leader itself it is shown, as long as the fault is to come."""
    witness = {"pids_gone": {"n3": 7, "n1": 7}, "successor": "n1"}
    kill = Receipt(0, "kill-then", "installed", 86 * S // 10, nodes=("n3",), healed=16 * S, witness=witness)
    run = SimpleNamespace(
        operations=from_operations([]), receipts=[kill], end=20 * S, fault_rows={}, state={}, nodes=("n1", "n2", "n3")
    )
    windows = faults.fault_windows(run, [])  # type: ignore[arg-type]
    assert windows[0].nodes == ("n3", "n1")
    assert faults.when(8.4, windows, "n3") == "8.4 s, 0.2 s before #0 kill-then struck it"
    assert faults.when(8.4, windows, "n1") == faults.when(8.4, windows, "n2") == "8.4 s, before any fault"
    assert faults.when(9.0, windows, "n3") == faults.when(9.0, windows, "n1") == "9.0 s, 0.4 s into #0 kill-then"


def test_a_restarted_replica_without_anything_applied_is_drawn_at_zero() -> None:
    found = timelines.timelines_of(
        [probe(0, "n1", applied=-1, committed=-1), probe(0, "n2", applied=9, committed=9)], ("n1", "n2")
    )
    assert progress_of(found, 1.0).applied[0][0] == 0
    assert [word.behind for word in timelines.last_statuses(found)] == [9, 0]


def test_the_sketch_marks_the_late_nodes_and_keeps_labels_apart() -> None:
    probes = [
        probe(t / 4, f"n{n}", applied=t * 10 if n < 4 else 50, committed=t * 10) for t in range(40) for n in range(1, 6)
    ]
    found = timelines.timelines_of(probes, NODES)
    picture = sketch_of(found, [], 10.0, ["n4", "n5"])
    assert picture is not None
    assert [line.late for line in picture.lines] == [False, False, False, True, True]
    heights = sorted(line.label_y for line in picture.lines)
    assert all(b - a >= 13.9 for a, b in pairwise(heights))
    assert heights[0] > 0
    assert heights[-1] <= picture.height
    assert picture.lines[0].label == "n1 390"
    assert [text for _, text in picture.levels] == ["0", "100", "200", "300"]
    assert [height for height, _ in picture.levels] == sorted((height for height, _ in picture.levels), reverse=True)
    assert [line.width for line in picture.lines] == sorted((line.width for line in picture.lines), reverse=True)
    assert sketch_of([], [], 10.0, []) is None


def test_each_label_of_the_sketch_stands_beside_a_piece_of_its_line_and_ends_within_the_picture() -> None:
    """The lines have the nodes' colours and the labels are red or grey: without it no label shows its line."""
    names = ("server-1", "server-2", "server-3")
    last = (6 << 32) - 1
    probes = [
        Probe(t * S // 4, name, "follower", 1, committed=last - 40 + t, applied=last - 40 + t)
        for t in range(41)
        for name in names
    ]
    picture = sketch_of(timelines.timelines_of(probes, names, epoch_bits=32), [], 10.0, names[:2])
    assert picture is not None
    text = environment().get_template("sketch.html.j2").render(p=picture, caption="applied")
    drawn = text.partition("</svg>")[0]
    for line in picture.lines:
        before, _, _ = drawn.partition(f">{line.label}<")
        key = before.rpartition("<path ")[2]
        assert 'class="end-key"' in key
        assert f'stroke="{line.colour}"' in key
        assert f"{line.label_y - 4:.1f}h" in key
        assert picture.right + picture.key + 7 * len(line.label) <= picture.width
    assert len({line.colour for line in picture.lines}) == len(names)
    assert len(picture.lines[0].label) == 8 + 1 + 11


def snapshot_probe(
    time_s: float, saved: int, loaded: int, applied: int, node: str = "n1", error: str | None = None
) -> Probe:
    return Probe(
        int(time_s * S),
        node,
        "follower",
        1,
        applied=applied,
        snapshots_saved=saved,
        snapshots_loaded=loaded,
        error=error,
    )


def test_snapshots_are_saved_loaded_at_a_start_or_installed_by_the_leader() -> None:
    gone: dict[str, Any] = {"saved": 0, "loaded": 0, "applied": -1, "error": "ECONNREFUSED"}
    rows = [
        snapshot_probe(0.0, 0, 0, 10),
        snapshot_probe(0.25, 2, 0, 500),
        snapshot_probe(0.5, **gone),
        snapshot_probe(0.75, 0, 1, 490),
        snapshot_probe(1.0, 1, 1, 900),
        snapshot_probe(1.25, **gone),
        snapshot_probe(1.5, 1, 1, 900),
        snapshot_probe(1.75, 1, 2, 2000),
        snapshot_probe(0.0, 0, 0, 5, node="n2"),
    ]
    found = snapshots.snapshots_of(timelines.timelines_of(rows, ("n1", "n2", "n3")))
    assert [(s.time, s.kind, s.times, s.applied) for s in found] == [
        (0.25, "saved", 2, 500),
        (0.75, "loaded", 1, 490),
        (1.0, "saved", 1, 900),
        (1.75, "installed", 1, 2000),
    ]
    assert snapshots.counts_of(found) == {"n1": {"saved": 3, "loaded": 1, "installed": 1}}


def test_a_node_that_leads_again_in_its_term_is_reported_unless_it_was_only_silent() -> None:
    roles = ["leader", "leader", "candidate", "leader", "leader"]
    probes = [probe(place / 4, "n1", role, 1) for place, role in enumerate(roles)]
    assert elections_of(timelines.timelines_of(probes, ("n1",))).again == (("n1", 1, 0.75),)
    silent = Probe(S // 2, "n1", error="no connection")
    paused = [*probes[:2], silent, *probes[3:]]
    assert elections_of(timelines.timelines_of(paused, ("n1",))).again == ()
    later = [*probes[:3], probe(0.75, "n1", "leader", 2)]
    assert elections_of(timelines.timelines_of(later, ("n1",))).again == ()


def test_a_last_word_has_its_own_moment() -> None:
    found = timelines.last_statuses(
        timelines.timelines_of([probe(1.0, "n1"), probe(1.25, "n2"), probe(1.5, "n1")], ("n1", "n2"))
    )
    assert [(word.node, word.at, word.silent_s) for word in found] == [("n1", 1.5, 0.0), ("n2", 1.25, 0.25)]


def replica(moves: dict[float, int], end: float = 20.0) -> list[Probe]:
    """n1 commits a hundred a second; n2 applies what ``moves`` says from a moment on."""
    probes = []
    for tick in range(int(end * 4)):
        now = tick / 4
        mine = max((index for at, index in moves.items() if at <= now), default=int(now * 100))
        probes.append(probe(now, "n1", "leader", applied=int(now * 100), committed=int(now * 100)))
        probes.append(probe(now, "n2", applied=mine, committed=mine))
    return probes


def test_a_replica_that_stopped_is_reported_with_when_under_what_and_whether_it_moved() -> None:
    cut = Receipt(0, "bridge", "installed", 8 * S, stood=8 * S, heal_started=16 * S, healed=16 * S, witness={"a": 1})
    run = SimpleNamespace(
        operations=from_operations([]), receipts=[cut], end=20 * S, fault_rows={}, state={}, nodes=("n1", "n2")
    )
    windows = faults.fault_windows(run, [])  # type: ignore[arg-type]

    def reported(moves: dict[float, int]) -> list[str]:
        found = timelines.timelines_of(replica(moves), ("n1", "n2"))
        return [one.sentence() for one in lagging_nodes(found, windows)]

    assert reported({8.0: 800}) == ["n2 stopped applying at 8.0 s, 0.0 s into #0 bridge: it is at 800"]
    fell = "; it fell behind at 8.2 s, 0.2 s into #0 bridge, at 800"
    assert reported({8.0: 800, 14.0: 900}) == [
        "n2 stopped applying at 14.0 s, 6.0 s into #0 bridge: it is at 900" + fell
    ]
    assert reported({8.0: 800, 14.0: 900, 14.25: 950, 17.0: 999}) == [
        "n2 stopped applying at 17.0 s, 1.0 s after #0 bridge was healed: it is at 999" + fell
    ]
    assert reported({8.0: 800, 19.0: 1900}) == []
    assert reported({}) == []
    early = timelines.timelines_of(replica({2.0: 200}), ("n1", "n2"))
    assert lagging_nodes(early, windows)[0].sentence().startswith("n2 stopped applying at 2.0 s, before any fault")
    assert lagging_nodes([], []) == []


def test_a_replica_that_stood_still_with_all_others_falls_behind_with_the_first_commit_that_it_lacks() -> None:
    """Nothing is committed from 7 s to 12 s; the twin's n1 commits one more at 9 s."""

    def fell(more: float) -> float:
        probes = []
        for tick in range(80):
            now = tick / 4
            front = int(min(now, 7) * 10) + (now >= more) + int(max(now - 12, 0) * 10)
            probes.append(probe(now, "n1", "leader", applied=front, committed=front))
            mine = min(int(now * 10), 70) if now < 14 else 75
            probes.append(probe(now, "n2", applied=mine, committed=mine))
        (one,) = lagging_nodes(timelines.timelines_of(probes, ("n1", "n2")), ())
        assert one.at == 70
        assert one.sentence() == (
            f"n2 stopped applying at 14.0 s: it is at 75; it fell behind at {one.fell:.1f} s, at 70"
        )
        return one.fell

    assert (fell(99), fell(9)) == (12.25, 9.0)


def killed(stood: float, pid: int) -> Receipt:
    witness = {"pids_gone": {"n1": pid}}
    return Receipt(0, "kill", "installed", int(1.9 * S), ("n1",), stood=int(stood * S), witness=witness)


def test_a_killed_leader_leads_until_it_was_seen_gone_and_not_until_its_next_probe() -> None:
    probes = [replace(probe(t, "n1", "leader", 1), pid=7) for t in (1.0, 2.0)] + [Probe(int(3.2 * S), "n1", error="no")]
    found = timelines.timelines_of(probes, ("n1",), [killed(2.1, 7)])
    assert [(s.role, s.start, s.end) for s in timelines.stretches(found[0])][:2] == [
        ("leader", 1.0, 2.1),
        ("silent", 2.1, 3.45),
    ]
    assert [timelines.leader_at(found, t) for t in (2.05, 2.15)] == ["n1", None]


@pytest.mark.parametrize(("pid", "dead"), [(0, True), (8, False)])
def test_what_answers_while_a_server_is_killed_is_not_drawn_as_the_server(pid: int, dead: bool) -> None:
    """BookKeeper's probes are answered by a gateway, which goes on while the bookie beside it is killed.

    The twin names its process, which is another one than the killed: the server was started again.
    """
    probes = [replace(probe(t / 4, "n1", "unknown", -1), pid=pid) for t in range(40)]
    receipt = replace(killed(2.1, 7), heal_started=5 * S, healed=9 * S)
    (found,) = timelines.timelines_of(probes, ("n1",), [receipt])
    assert found.without == (((2.1, 5.0),) if dead else ())
    roles = [(role, start, end) for role, _, start, end in stretches_drawn(found)]
    if dead:
        assert roles == [(3, 0.0, 2.1), (WITHOUT, 2.1, 5.0), (3, 5.0, 10.0)]
    else:
        assert WITHOUT not in {role for role, *_ in roles}


def test_no_answer_and_an_answer_without_a_role_look_different_in_the_legend() -> None:
    empty: dict[str, Any] = dict.fromkeys(("windows", "violations", "invariant_violations", "snapshots"), ())
    empty |= {
        "last_statuses": (),
        "marked_text": "",
        "progress_known": False,
        "is_cut": False,
        "calm": None,
        "outcome": str,
    }
    empty |= {"unapplied": 0, "stood_still": False, "transactions": False}
    page = environment().get_template("charts.html.j2")
    text = page.render(**empty, roles_known=False, lag_known=False, dead=("n2", "n3"))
    legend = text.partition('aria-label="Legend of leader and term"')[2].partition("</ul>")[0]
    keys = {part.rpartition("</svg>")[2].partition("</li>")[0].strip(): part for part in legend.split("<li>")[1:]}
    shapes = {said: part.partition("<svg")[2].partition("</svg>")[0] for said, part in keys.items()}
    (role,) = (shape for said, shape in shapes.items() if "without a role" in said)
    silent = {shape for said, shape in shapes.items() if said in ("no answer", "did not answer the probe")}
    (killed_,) = (shape for said, shape in shapes.items() if "another process answers probes: n2, n3" in said)
    assert len(silent) == 1
    assert len({role, killed_, *silent}) == 3
    without = page.render(**empty, roles_known=False, lag_known=False, dead=())
    assert "another process" not in without


def test_a_leader_that_answers_is_not_killed_whatever_a_receipt_says() -> None:
    probes = [replace(probe(t / 4, "n1", "leader", 1), pid=7) for t in range(20)]
    found = timelines.timelines_of(probes, ("n1",), [killed(2.1, 7)])
    assert [(s.role, s.end) for s in timelines.stretches(found[0])] == [("leader", 5.0)]


def test_progress_stands_where_the_probes_were_answered() -> None:
    moments = [0.13, 0.41, 0.66, 5.02]
    probes = [probe(t, "n1", applied=n, committed=n) for n, t in enumerate(moments)]
    progress = progress_of(timelines.timelines_of(probes, ("n1",)), 6.0)
    first = {n: float(progress.time[progress.applied[0] == n][0]) for n in range(4)}
    assert [first[n] for n in range(4)] == moments
    assert np.isnan(progress.applied[0][(progress.time > 2.17) & (progress.time < 5.02)]).all()


@pytest.mark.parametrize("name", ["data-lost", "logs-cut", "replica-behind"])
def test_in_recorded_runs_strip_and_progress_are_what_the_probes_answered(name: str, tmp_path: Path) -> None:
    root = recorded_run(name, tmp_path)
    drawn = prepare(read_run(RunFiles(root)))
    progress = progress_of(drawn.timelines, drawn.run.end / S)
    answers = [json.loads(line) for line in (root / "probes.jsonl").read_text().splitlines()[1:]]
    for row, timeline in enumerate(drawn.timelines):
        mine = [answer for answer in answers if answer["node"] == timeline.node]
        found = timelines.stretches(timeline)
        for answer in mine:
            at = answer["time"] / S
            role = next(s.role for s in found if s.start <= at < s.end)
            assert role == ("silent" if answer.get("error") else answer["role"])
            if not answer.get("error"):
                place = int(np.searchsorted(progress.time, at))
                assert progress.time[place] - at < 1e-4
                assert progress.applied[row][place] == max(answer["applied"], 0)


@pytest.mark.parametrize(("nodes", "drawn"), [({"nodes": ["n1", "n2"]}, ("n1", "n2")), ({}, ("primary",))])
def test_a_primary_that_moves_is_no_node_of_its_own(nodes: Any, drawn: tuple[str, ...], tmp_path: Path) -> None:
    read = {"process": 0, "f": "read", "key": "x", "value": None, "node": "primary"}
    records = [
        {"format": "harness-history", "version": 1, "test": "t", "seed": 1, "started": "2026-03-01T02:00:00Z", **nodes},
        {"index": 0, "time": 1, "type": "invoke", **read},
        {"index": 1, "time": 2, "type": "ok", **read},
    ]
    (tmp_path / "history.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    assert read_run(RunFiles(tmp_path)).nodes == drawn
