"""Fault windows, topology, tracks, figures, logs: each on small inputs that can be worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import reports
from history import Event, Operation, Probe, Receipt, RunFiles, receipts_of
from nemesis.catalogue import FAULTS
from reports import fault_words, faults, figures, logs, snapshots, topology, tracks
from reports.columns import from_operations
from reports.page import late_of
from reports.palette import FAULT_COLOURS, family_of
from reports.run import commands_of, read_run
from reports.series import fault_data
from reports.sketch import sketch_of
from reports.stuck import stuck_of
from tests.reports.conftest import Maker

S = 10**9
NODES = ("n1", "n2", "n3", "n4", "n5")


def ok(at_s: float, process: int = 0, outcome: str = "ok", took_ms: float = 1) -> Operation:
    start, stop = int(at_s * S - took_ms * 1e6), int(at_s * S)
    return Operation(process, "read", "k", None, 1, outcome, start, stop, start, stop, "n1", None, "main")  # type: ignore[arg-type]


def test_a_run_without_tables_has_the_same_figures_as_the_table() -> None:
    operations = [ok(0.1 * n) for n in range(1, 50)] + [ok(7.5)] + [ok(10 + 0.1 * n) for n in range(30)]
    receipt = Receipt(3, "bridge", "installed", 5 * S, stood=5 * S, heal_started=8 * S, healed=8 * S, witness={"a": 1})
    skipped = Receipt(4, "bridge", "skipped", 9 * S)
    run = SimpleNamespace(
        operations=from_operations(operations), receipts=[receipt, skipped], end=13 * S, fault_rows={}, nodes=NODES
    )
    window, other = faults.fault_windows(run, [])  # type: ignore[arg-type]
    assert (window.rate_before, window.rate_during) == (pytest.approx(10, rel=0.05), pytest.approx(1 / 3))
    assert window.longest_gap_ms == pytest.approx(2500)
    assert window.first_ok_ms == pytest.approx(2000)
    assert window.recovered_ms == pytest.approx(1300)
    assert (other.rate_before, other.first_ok_ms) == (None, None)
    run.fault_rows = {3: {"rate_before": 99.0}}
    assert faults.fault_windows(run, [])[0].rate_before == 99.0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("grudge", "leader", "cut"),
    [
        ({"n1": ["n2", "n3", "n4"]}, "n1", True),
        ({"n1": ["n2", "n3"], "n2": ["n1"], "n3": ["n1"]}, "n1", False),
        ({n: ["n1"] for n in NODES[1:]}, "n1", True),
        ({n: ["n1"] for n in NODES[1:]}, "n2", False),
        ({}, None, None),
    ],
)
def test_whether_the_leader_still_reaches_a_majority(
    grudge: dict[str, list[str]], leader: str | None, cut: bool | None
) -> None:
    assert faults.leader_cut(leader, grudge, NODES) is cut


def test_links_are_kept_cut_or_one_way() -> None:
    network = topology.network(NODES, {"n1": ("n2",), "n2": ("n1",), "n3": ("n4",)}, ("n5", "n9"))
    states = {frozenset((link.source, link.target)): link for link in network.links}
    assert len(states) == 10
    assert states[frozenset(("n1", "n2"))].state == "cut"
    one_way = states[frozenset(("n3", "n4"))]
    assert (one_way.state, one_way.source, one_way.target) == ("one-way", "n3", "n4")
    assert sum(link.state == "kept" for link in network.links) == 8
    assert network.struck == ("n5",)


@pytest.mark.parametrize("count", range(10))
def test_positions_are_on_the_unit_circle_from_the_top(count: int) -> None:
    places = topology.positions(tuple(f"n{n}" for n in range(count)))
    assert len(places) == count
    if count > 1:
        assert places["n0"] == (pytest.approx(0.5), pytest.approx(0.0, abs=1e-6))
        assert all(abs((x - 0.5) ** 2 + (y - 0.5) ** 2 - 0.25) < 1e-6 for x, y in places.values())


def probe(
    time_s: float, node: str, role: str = "follower", term: int = 1, applied: int = 0, committed: int = 0
) -> Probe:
    return Probe(int(time_s * S), node, role, term, committed=committed, applied=applied)  # type: ignore[arg-type]


def test_leader_stretches_and_elections() -> None:
    probes = [probe(t / 4, "n1", "leader" if t < 8 else "follower", 1 if t < 8 else 2) for t in range(16)]
    probes += [probe(t / 4, "n2", "follower" if t < 10 else "leader", 1 if t < 10 else 2) for t in range(16)]
    found = tracks.tracks_of(probes, ("n1", "n2"))
    assert [(s.role, s.term, s.start, s.end) for s in tracks.stretches(found[0])] == [
        ("leader", 1, 0.0, 2.0),
        ("follower", 2, 2.0, 4.0),
    ]
    assert [tracks.leader_at(found, t) for t in (0.1, 1.9, 2.1, 2.6)] == ["n1", "n1", None, "n2"]
    assert tracks.term_at(found, 2.1) == 2
    elections = tracks.elections_of(found)
    assert (elections.leader_changes, elections.first_term, elections.last_term, elections.again) == (1, 1, 2, ())


def test_silence_ends_a_stretch() -> None:
    found = tracks.tracks_of([probe(0, "n1", "leader"), probe(10, "n1", "leader")], ("n1",))
    assert [(s.start, s.end) for s in tracks.stretches(found[0])] == [(0.0, tracks.STALE_S), (10.0, 10.25)]
    assert tracks.leader_at(found, 5.0) is None


def test_replica_progress_and_last_words() -> None:
    probes = [probe(t / 4, "n1", "leader", applied=t * 10, committed=t * 10) for t in range(40)]
    probes += [probe(t / 4, "n2", applied=min(t, 5) * 10, committed=min(t, 5) * 10) for t in range(40)]
    probes += [probe(t / 4, "n3", applied=t * 10 - 3, committed=t * 10) for t in range(40)]
    found = tracks.tracks_of(probes, ("n1", "n2", "n3"))
    progress = tracks.progress_of(found, 9.75)
    assert progress.lag[0].max() == 0
    assert progress.lag[1][39] == 340
    late = {word.node: (word.behind, word.late) for word in tracks.last_words(found)}
    assert late == {"n1": (0, False), "n2": (340, True), "n3": (3, False)}


def test_a_restarted_replica_without_anything_applied_is_drawn_at_zero() -> None:
    found = tracks.tracks_of(
        [probe(0, "n1", applied=-1, committed=-1), probe(0, "n2", applied=9, committed=9)], ("n1", "n2")
    )
    assert tracks.progress_of(found, 1.0).applied[0][0] == 0
    assert [word.behind for word in tracks.last_words(found)] == [9, 0]


def test_rates_quantiles_and_availability() -> None:
    operations = from_operations([ok(0.5, took_ms=1), ok(0.6, took_ms=3), ok(2.2, outcome="fail"), ok(2.4, took_ms=9)])
    rates = figures.rates_of(operations, 3 * S)
    assert rates.rows[0].tolist() == [2, 0, 1, 0]
    assert rates.rows[2].tolist() == [0, 0, 1, 0]
    quantiles = figures.quantiles_of(operations, 3 * S)
    assert quantiles.rows[0][0] == pytest.approx(1)
    assert quantiles.rows[3][0] == pytest.approx(3)
    assert np.isnan(quantiles.rows[0][1])
    width, cells = figures.availability_of(operations, 3 * S)
    assert width == 0.25
    assert cells[:10].tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 2, 1]
    assert figures.longest_gap(operations, 0, 3 * S) == (pytest.approx(0.6), pytest.approx(1.8))


def test_errors_that_differ_in_a_duration_are_one() -> None:
    texts = [
        "no answer within 4 s",
        "no answer within 3.99912 s",
        "NOT_LEADER (404)",
        "NOT_LEADER (405)",
        "3 ms or 4 ms",
    ]
    rows = [replace(ok(n, outcome="fail"), error=text) for n, text in enumerate([*texts, texts[0], "5 ms or 4 ms"], 1)]
    rows.append(replace(ok(9, outcome="info"), error="no answer within 4 s"))
    assert figures.errors_of(from_operations(rows)) == [
        ("fail", "no answer within 3.99912 – 4 s", 3),
        ("fail", "3 ms or 4 ms", 2),
        ("info", "no answer within 4 s", 1),
        ("fail", "NOT_LEADER (404)", 1),
        ("fail", "NOT_LEADER (405)", 1),
    ]


def test_retired_processes_share_a_lane() -> None:
    rows = [
        ok(1, process=0),
        ok(1.1, process=1, took_ms=200),
        ok(2, process=10, outcome="info"),
        ok(3, process=20),
        ok(3.1, process=1),
    ]
    lanes, count = figures.lanes_of(from_operations(rows), 4 * S)
    assert count == 2
    assert lanes.tolist() == [1, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("fault", "family"),
    [
        ("partition-majorities-ring", "partition"),
        ("bridge", "partition"),
        ("kill-leader-then-successor", "kill"),
        ("crash-random-nodes", "kill"),
        ("hammer-time", "pause"),
        ("packet-delay", "packet"),
        ("slow-link", "packet"),
        ("clock-strobe", "clock"),
        ("disk-full", "other"),
    ],
)
def test_families(fault: str, family: str) -> None:
    assert family_of(fault) == family
    assert family in FAULT_COLOURS


LOG = """2026-03-01T02:00:01.000Z INFO  [a] early
2026-03-01 02:00:10,500 WARN  [b] [n1] [HeartBeatTimeOut]
    at some.Class
2026-03-01T02:00:10.600Z INFO  [c] Complete closure, term=1
no time at all
2026-03-01T02:00:11.000Z ERROR [d] broken
2026-03-01T02:01:00.000Z INFO  [e] late
"""


def test_log_excerpts_are_tied_to_the_run_and_free_of_noise(tmp_path: Path) -> None:
    (tmp_path / "nodes" / "n1").mkdir(parents=True)
    (tmp_path / "nodes" / "n1" / "register.log").write_text(LOG)
    found = logs.excerpt(RunFiles(tmp_path), "2026-03-01T02:00:00Z", 10, 12)
    assert [(line.seconds, line.level) for line in found] == [
        (pytest.approx(10.5), "WARN"),
        (pytest.approx(10.5), ""),
        (pytest.approx(10.6), ""),
        (pytest.approx(11), "ERROR"),
    ]
    assert logs.excerpt(RunFiles(tmp_path), "not a time", 10, 12) == []
    assert [line.level for line in logs.excerpt(RunFiles(tmp_path), "2026-03-01T02:00:00Z", 10, 12, limit=2)] == [
        "WARN",
        "ERROR",
    ]


def test_a_long_log_is_searched_by_bisection(tmp_path: Path) -> None:
    (tmp_path / "nodes" / "n1").mkdir(parents=True)
    lines = [
        f"2026-03-01T02:{n // 60000:02d}:{n // 1000 % 60:02d}.{n % 1000:03d}Z INFO line {n} {'x' * 90}"
        for n in range(0, 300_000, 20)
    ]
    (tmp_path / "nodes" / "n1" / "register.log").write_text("\n".join(lines) + "\n")
    found = logs.excerpt(RunFiles(tmp_path), "2026-03-01T02:00:00Z", 200.0, 200.1)
    (line,) = found
    assert (round(line.seconds, 3), line.times) == (200.0, 6)


def test_rotated_logs_are_searched_too(tmp_path: Path) -> None:
    (tmp_path / "nodes" / "n1").mkdir(parents=True)
    for name, clock in (("register.log.1", "10"), ("register.log", "11"), ("register.log.gz", "11")):
        (tmp_path / "nodes" / "n1" / name).write_text(f"2026-03-01T02:00:{clock}.000Z WARN  [x] in {name}\n")
    found = logs.excerpt(RunFiles(tmp_path), "2026-03-01T02:00:00Z", 9, 12)
    assert [line.file for line in found] == ["register.log.1", "register.log"]


def test_receipts_become_windows_even_without_a_healing() -> None:
    value = {"action": "inject", "id": 0, "nodes": ["n1"], "targets": {"grudge": {"n1": ["n2"]}}}
    events = [Event(0, S, "invoke", "nemesis", "bridge", value)]
    (receipt,) = receipts_of(events)
    assert faults.grudge_of(receipt) == {"n1": ("n2",)}
    assert receipt.state == "indeterminate"


def test_the_sketch_marks_the_late_nodes_and_keeps_labels_apart() -> None:
    probes = [
        probe(t / 4, f"n{n}", applied=t * 10 if n < 4 else 50, committed=t * 10) for t in range(40) for n in range(1, 6)
    ]
    found = tracks.tracks_of(probes, NODES)
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


def test_errors_are_counted_by_outcome() -> None:
    rows = [replace(ok(1, process=n, outcome="fail"), error=f"e{n % 2}") for n in range(5)]
    rows += [replace(ok(1, process=9, outcome="info"), error="e0"), ok(2, process=10)]
    assert figures.errors_of(from_operations(rows)) == [("fail", "e0", 3), ("fail", "e1", 2), ("info", "e0", 1)]
    assert figures.errors_of(from_operations([])) == []


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
    gone = {"saved": 0, "loaded": 0, "applied": -1, "error": "ECONNREFUSED"}
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
    found = snapshots.snapshots_of(tracks.tracks_of(rows, ("n1", "n2", "n3")))
    assert [(s.time, s.kind, s.times, s.applied) for s in found] == [
        (0.25, "saved", 2, 500),
        (0.75, "loaded", 1, 490),
        (1.0, "saved", 1, 900),
        (1.75, "installed", 1, 2000),
    ]
    assert snapshots.counts_of(found) == {"n1": {"saved": 3, "loaded": 1, "installed": 1}}


def test_what_faults_do_is_told_in_the_words_of_the_catalogue() -> None:
    assert dict(fault_words.SUMMARIES) == {name: fault.summary for name, fault in FAULTS.items()}
    assert [name for name, _ in fault_words.told(["bridge", "no such", "reset", "bridge"])] == ["bridge", "reset"]


def _log(files: RunFiles, node: str, lines: list[tuple[float, str]]) -> None:
    (files.nodes / node).mkdir(parents=True)
    text = "".join(f"2026-03-01 02:00:{at:06.3f} {rest}\n" for at, rest in lines)
    (files.nodes / node / "register.log").write_text(text)


def test_an_excerpt_is_centred_on_its_event_and_counts_what_it_leaves_out(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    letters = [f"{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(400)]
    _log(files, "n1", [(10 + n / 100, f"INFO line {letters[n]}") for n in range(400)])
    _log(files, "n2", [(10.5, "WARN [ChangeRoleToLeader] early"), (12.9, "WARN [TRUNCATE] late"), (12.1, "INFO x")])
    _log(files, "n3", [(12.0, "ERROR not asked for")])
    found = logs.around(files, "2026-03-01T02:00:00Z", (12.0, 12.0), ["n1", "n2", "n4", "n1"], (1.6, 1.0), 30)
    assert found.nodes == ("n1", "n2", "n4")
    assert found.silent == ("n4",)
    mine = [line for line in found.lines if line.node == "n1"]
    assert len(mine) == 10
    assert min(line.seconds for line in mine) < 12.0 < max(line.seconds for line in mine)
    assert max(abs(line.seconds - 12.0) for line in mine) <= 0.051
    assert [line.seconds for line in found.lines if line.node == "n2"] == pytest.approx([10.5, 12.1, 12.9])
    assert found.left_out == 261 - 10
    assert [line.seconds for line in found.lines] == sorted(line.seconds for line in found.lines)


def test_an_excerpt_keeps_the_occurrence_nearest_to_its_event_and_only_the_head_of_a_stack_trace(
    tmp_path: Path,
) -> None:
    files = RunFiles(tmp_path)
    trace = "ERROR java.io.IOException: full\n\tat a.b.C.d(C.java:1)\n\tat a.b.E.f(E.java:2)"
    _log(files, "n1", [(at, f"INFO append {round(at * 10)}") for at in (1.0, 1.9, 2.9)] + [(2.95, trace)])
    found = logs.around(files, "2026-03-01T02:00:00Z", (2.0, 2.0), ["n1"], (2.0, 1.0), 30)
    assert [(line.seconds, line.times) for line in found.lines] == [(pytest.approx(1.9), 3), (pytest.approx(2.95), 1)]
    assert found.left_out == 2
    nowhere = logs.around(files, "", (2.0, 2.0), ["n1"], (2.0, 1.0), 30)
    assert (nowhere.lines, nowhere.nodes) == ((), ())


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ({"command": "harness run --seed 1"}, [("run again", "harness run --seed 1")]),
        (
            {"command": "harness run --seed 1", "version": "0.4.0", "replay_command": "harness replay r"},
            [("run again", "harness run --seed 1 --dledger-version 0.4.0"), ("replay the faults", "harness replay r")],
        ),
        (
            {"command": "harness run --seed 1 --dledger-version 0.3.2", "version": "0.3.2", "schedule": [{"at_s": 1}]},
            [("same settings, other faults", "harness run --seed 1 --dledger-version 0.3.2")],
        ),
        (
            {"command": "harness run --schedule r/plan.json --dledger-version 0.3.2", "schedule": [{"at_s": 1}]},
            [("run again", "harness run --schedule r/plan.json --dledger-version 0.3.2")],
        ),
        ({}, []),
    ],
)
def test_a_command_says_what_it_repeats(plan: dict[str, object], told: list[tuple[str, str]]) -> None:
    assert commands_of(plan) == told


def test_charts_know_when_a_fault_stood_for_certain_and_when_it_was_installed_and_healed() -> None:
    operations = from_operations([ok(0.1 * n) for n in range(1, 130)])
    receipt = Receipt(3, "bridge", "installed", 5 * S, stood=6 * S, heal_started=8 * S, healed=9 * S, witness={"a": 1})
    unhealed = Receipt(4, "bridge", "indeterminate", 10 * S)
    run = SimpleNamespace(operations=operations, receipts=[receipt, unhealed], end=13 * S, fault_rows={}, nodes=NODES)
    drawn = [fault_data(window, 13.0) for window in faults.fault_windows(run, [])]  # type: ignore[arg-type]
    assert [[one[name] for name in ("start", "stood", "heal", "end")] for one in drawn] == [
        [5, 6, 8, 9],
        [10, None, None, 10],
    ]


def test_a_node_that_leads_again_in_its_term_is_told_unless_it_was_only_silent() -> None:
    roles = ["leader", "leader", "candidate", "leader", "leader"]
    probes = [probe(place / 4, "n1", role, 1) for place, role in enumerate(roles)]
    assert tracks.elections_of(tracks.tracks_of(probes, ("n1",))).again == (("n1", 1, 0.75),)
    silent = Probe(S // 2, "n1", error="no connection")
    paused = [*probes[:2], silent, *probes[3:]]
    assert tracks.elections_of(tracks.tracks_of(paused, ("n1",))).again == ()
    later = [*probes[:3], probe(0.75, "n1", "leader", 2)]
    assert tracks.elections_of(tracks.tracks_of(later, ("n1",))).again == ()


def test_a_last_word_has_its_own_moment() -> None:
    found = tracks.last_words(tracks.tracks_of([probe(1.0, "n1"), probe(1.25, "n2"), probe(1.5, "n1")], ("n1", "n2")))
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


def test_a_replica_that_stopped_is_told_with_when_under_what_and_whether_it_moved() -> None:
    cut = Receipt(0, "bridge", "installed", 8 * S, stood=8 * S, heal_started=16 * S, healed=16 * S, witness={"a": 1})
    run = SimpleNamespace(operations=from_operations([]), receipts=[cut], end=20 * S, fault_rows={}, nodes=("n1", "n2"))
    windows = faults.fault_windows(run, [])  # type: ignore[arg-type]

    def told(moves: dict[float, int]) -> list[str]:
        found = tracks.tracks_of(replica(moves), ("n1", "n2"))
        return [one.sentence() for one in stuck_of(found, windows)]

    still = "n2 has been behind since 8.0 s in #0 bridge, when it stood at 800; it "
    assert told({8.0: 800}) == [still + "has not moved since"]
    assert told({8.0: 800, 14.0: 900}) == [still + "moved once since, at 14.0 s"]
    assert told({8.0: 800, 14.0: 900, 14.25: 950, 17.0: 999}) == [
        still + "moved 2 times since, the last time at 17.0 s"
    ]
    assert told({8.0: 800, 19.0: 1900}) == []
    assert told({}) == []
    early = tracks.tracks_of(replica({2.0: 200}), ("n1", "n2"))
    assert stuck_of(early, windows)[0].faults == ()
    assert stuck_of([], []) == []


def test_the_table_of_faults_shows_sides_and_who_was_late(fresh: Maker) -> None:
    files = fresh("valid")
    results = json.loads(files.results.read_text())
    results["windows"][0]["caught_up"] = {"nodes": {"n1": 3.0, "n2": None, "n4": None}}
    files.results.write_text(json.dumps(results))
    run = read_run(files)
    assert late_of(run) == {0: "not caught up before the next: n2 n4"}
    reports.write_report(files)
    assert "not caught up before the next: n2 n4" in files.report.read_text()
