"""What the nodes say is wrong with themselves: which of it is a violation, a note, a doubt, or our own set-up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.judge.damage import damages_of
from harness.judge.judge import judge
from harness.judge.node_alarms import setup_failures
from harness.judge.recorded import Recorded, early_hits, log_hits
from harness.systems.api import Alarm
from harness.systems.dledger.alarms import ALARMS
from history import Check, KeyVerdict, Probe, Receipt
from history.recording import Recording
from history.records.finding import Alarms
from tests.support.harness.findings import only
from tests.support.harness.good_run import NODES, S, good, receipt

GAVE_UP = "DLedger gave up: Fail to recover state machine LOAD_SNAPSHOT_ERROR"


def probe(at: float, node: str = "n2", **rest: Any) -> Probe:
    return Probe(round(at * S), node, "follower", 1, log_end=9, committed=9, applied=9, **{"pid": 77, **rest})


def with_probes(*probes: Probe, **changes: Any) -> Recorded:
    return replace(good(), probes=probes, **changes)


def check_of(recorded: Recorded) -> Check:
    results = judge(recorded, (KeyVerdict("k0", "valid", "zones", 5, 0.1),), [], {})
    return next(check for check in results.checks if check.name == "node-logs")


def damaged(node: str, at: float) -> Receipt:
    witness = {"damaged": {node: {"file": "f", "class": "data"}}}
    return receipt("file-bitflip", id=1, nodes=(node,), started=round(at * S), stood=round(at * S), witness=witness)


def test_a_healthy_cluster_has_no_alarm() -> None:
    check = check_of(with_probes(probe(1), probe(2)))
    assert (check.verdict, check.seen) == ("valid", "3 logs read")


def test_a_committed_entry_that_cannot_be_read_is_a_violation() -> None:
    check = check_of(with_probes(probe(1), probe(2, undecodable=1), probe(3, undecodable=2)))
    assert (check.verdict, check.findings[0].kind, list(only(check, Alarms).nodes)) == (
        "invalid",
        "undecodable-entry",
        ["n2"],
    )
    assert check.seen == "n2 could not read 2 committed entries"
    assert check_of(with_probes(probe(1), probe(2, undecodable=-1))).verdict == "valid", "a usual word for unknown"


def test_an_entry_that_our_own_fault_made_unreadable_is_a_note() -> None:
    answers = (probe(1), probe(30, undecodable=2))
    check = check_of(with_probes(*answers, receipts=(receipt(), damaged("n2", 20))))
    assert (check.verdict, list(only(check, Alarms).notes)) == (
        "valid", ["n2 could not read 2 committed entries after an injected fault had damaged its files"],
    )  # fmt: skip
    for other in (damaged("n1", 20), damaged("n2", 40)):
        assert check_of(with_probes(*answers, receipts=(receipt(), other))).verdict == "invalid"


ONE = {
    "unapplied_oks": "1 acknowledgement of entries that were never applied there (1 on n2)",
    "apply_errors": "1 batch in which applying failed (1 on n2)",
    "reapplied": "1 step back to entries already applied (1 on n2)",
}


@pytest.mark.parametrize(
    ("count", "words"),
    [
        ("unapplied_oks", "7 acknowledgements of entries that were never applied there (7 on n2)"),
        ("apply_errors", "7 batches in which applying failed (7 on n2)"),
        ("reapplied", "7 steps back to entries already applied (7 on n2)"),
    ],
)
def test_what_the_library_did_to_the_state_machine_is_noted(count: str, words: str) -> None:
    """Of each process the highest count: 4 of one that was restarted, and 3 of the next."""
    counts: list[dict[str, Any]] = [{count: 2}, {count: 4}, {count: 3}]
    reported = [probe(1, **counts[0]), probe(2, **counts[1]), probe(25, pid=78, **counts[2])]
    struck = receipt(nodes=("n2",), started=3 * S, stood=3 * S, heal_started=20 * S, healed=24 * S)
    check = check_of(with_probes(*reported, receipts=(struck,)))
    assert (check.verdict, list(only(check, Alarms).notes)) == ("valid", [words])
    assert check.seen.endswith(words)
    assert "no alarm" not in check.asked
    single: dict[str, Any] = {count: 1}
    once = check_of(with_probes(probe(1, **single)))
    assert list(only(once, Alarms).notes) == [ONE[count]]


def test_the_first_fault_of_a_process_is_noted_in_its_own_words() -> None:
    text = "snapshot not saved to /data/x: No space left on device"
    check = check_of(with_probes(probe(1, fault=text), probe(2, fault=text)))
    assert (check.verdict, list(only(check, Alarms).notes)) == ("valid", [f"n2 says: {text}"])


def test_a_fault_that_says_what_no_log_may_say_is_the_same_violation() -> None:
    """Also where the log that held the line is gone."""
    check = check_of(with_probes(probe(1, fault=GAVE_UP)))
    assert (check.verdict, check.findings[0].kind, list(only(check, Alarms).nodes)) == ("invalid", "log-alarm", ["n2"])
    (pattern,) = only(check, Alarms).patterns
    assert pattern.pattern in GAVE_UP
    assert pattern.nodes == ("n2",)
    excused = check_of(with_probes(probe(1, fault=GAVE_UP), receipts=(receipt(), damaged("n2", 0.5))))
    assert excused.verdict == "valid"
    assert "after an injected fault had damaged its files" in excused.seen


def test_a_fault_of_our_set_up_is_a_failure_of_ours() -> None:
    reported = [probe(1, fault="java.lang.OutOfMemoryError: Java heap space")]
    assert setup_failures(replace(with_probes(*reported), log_hits={})) == [
        "'OutOfMemoryError' once on n2 (the server exceeded the memory that the harness allows it)"
    ]
    assert check_of(with_probes(*reported)).verdict == "valid"


def test_a_server_without_memory_under_memory_pressure_is_no_failure_of_ours() -> None:
    reported = with_probes(probe(1, fault="java.lang.OutOfMemoryError: unable to create native thread"))
    pressed = [replace(receipt(), fault="memory-pressure", nodes=(node,)) for node in ("n2", "n3")]
    squeezed = replace(reported, log_hits={"n1": {}, "n2": {}, "n3": {}}, receipts=pressed[:1])
    assert setup_failures(squeezed) == []
    check = check_of(squeezed)
    assert check.verdict == "valid"
    assert "'OutOfMemoryError' once on n2 (the server exceeded the memory" in check.seen
    assert "under an injected fault that is meant to cause it" in check.seen
    for receipts in (pressed[1:], [replace(pressed[0], state="skipped")]):
        (failure,) = setup_failures(replace(squeezed, receipts=receipts))
        assert failure.startswith("'OutOfMemoryError' once on n2")


def test_a_server_that_became_another_process_without_a_fault_is_a_doubt_and_accuses_no_node() -> None:
    check = check_of(with_probes(probe(5), probe(6, pid=78)))
    assert check.verdict == "unknown"
    assert check.seen == "n2's server became a new process between 5.0 and 6.0 s, but no fault there ends processes"


@pytest.mark.parametrize(
    "changes",
    [{"nodes": ("n2",)}, {"nodes": ("n1",), "targets": {"reserved": ["n2", "n3"]}}, {"nodes": ("n2",), "healed": None}],
    ids=["a fault at the node", "a fault that may hit it", "one that was never healed"],
)
def test_a_fault_explains_another_process(changes: dict[str, Any]) -> None:
    struck = receipt(**changes)
    recorded = with_probes(probe(15), probe(35, pid=78), receipts=(struck,))
    assert check_of(recorded).verdict == "valid"
    assert check_of(replace(recorded, receipts=(replace(struck, state="skipped", witness={}),))).verdict == "unknown"


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        ("cpu-starve", "unknown"), ("disk-slow", "unknown"), ("partition-random-node", "unknown"),
        ("hammer-time", "unknown"), ("memory-pressure", "valid"), ("disk-full", "valid"), ("kill-leader", "valid"),
        ("restart-rolling", "valid"), ("file-bitflip", "valid"), ("of another release", "valid"),
    ],
)  # fmt: skip
def test_only_a_fault_that_ends_processes_explains_one_that_ended(fault: str, verdict: str) -> None:
    struck = receipt(fault, nodes=("n2",))
    check = check_of(with_probes(probe(15), probe(35, pid=78), receipts=(receipt(), struck)))
    assert check.verdict == verdict


def test_a_process_that_a_healing_found_gone_is_a_doubt_of_a_system_without_probes_too() -> None:
    slowed = receipt("cpu-starve", nodes=("n2", "n3"), witness={"inside": 1, "ended": ["n2"]})
    text = "n2's process exited while cpu-starve was active (20.0 to 30.0 s), which does not end processes"
    for probes in ((), (probe(15), probe(30.5, pid=78))):
        check = check_of(with_probes(*probes, receipts=(slowed,)))
        assert (check.verdict, check.seen) == ("unknown", text)
    assert check_of(with_probes(receipts=(replace(slowed, witness={"inside": 1}),))).verdict == "valid"


def test_a_process_that_does_not_run_at_the_end_is_a_doubt_unless_a_fault_left_it_so() -> None:
    def ended(*receipts: Receipt, probes: tuple[Probe, ...] = (), **changes: Any) -> Check:
        state = replace(good().state, ended_roles={"n2": ["server"]}, **changes)
        return check_of(with_probes(*probes, receipts=receipts or (receipt(),), state=state))

    check = ended()
    assert check.verdict == "unknown"
    assert check.seen == "the server of n2 was no longer running at the end, and no fault explains it"
    assert "(its last answer was at 24.1 s)" in ended(probes=(probe(24.1),)).seen
    assert ended(receipt("cpu-starve", nodes=("n2",), healed=None)).verdict == "unknown"
    assert ended(receipt("kill-leader", nodes=("n2",))).verdict == "unknown", "it was started again since"
    assert ended(receipt("kill-leader", nodes=("n2",), healed=None)).verdict == "valid"
    assert ended(restart_failed="n2 did not start").verdict == "valid", "recovery says so"


def test_the_restart_at_the_end_explains_another_process() -> None:
    state = replace(good().state, moments={**good().state.moments, "restarting": 65 * S})
    assert check_of(with_probes(probe(64.9), probe(65.5, pid=78), state=state)).verdict == "valid"


def test_only_a_node_on_which_something_runs_owes_logs() -> None:
    lacking = with_probes(probe(1), log_hits={node: {} for node in NODES if node != "n3"})
    roles = {"n1": ["server"], "n2": ["server"], "n3": []}
    assert check_of(lacking).seen == "no logs were collected of n3"
    without = replace(lacking.state, environment={"roles": roles})
    assert check_of(replace(lacking, state=without)).verdict == "valid"
    with_one = replace(lacking.state, environment={"roles": {**roles, "n3": ["server"]}})
    assert check_of(replace(lacking, state=with_one)).verdict == "unknown"


# -- what was collected ------------------------------------------------------------------------------------------------


def test_a_line_of_the_excusing_kind_is_no_alarm(tmp_path: Path) -> None:
    alarm = Alarm(pattern="mismatch", meaning="differs", follows="violation", unless="[sync]")
    (tmp_path / "nodes" / "n1").mkdir(parents=True)
    (tmp_path / "nodes" / "n1" / "server.log").write_text("1 [sync] mismatch\n2 [apply] mismatch\n3 [apply] match\n")
    assert log_hits(Recording(tmp_path), ("n1",), (alarm,)) == {"n1": {"mismatch": 1}}


def test_the_servers_own_counts_stand_where_their_logs_were_cut(tmp_path: Path) -> None:
    for node in NODES:
        (tmp_path / "nodes" / node).mkdir(parents=True)
    n1, n2 = tmp_path / "nodes" / "n1", tmp_path / "nodes" / "n2"
    (n1 / "register.log").write_text("x [BUG] y\n" * 2)
    (n1 / "alarms-77.json").write_text(json.dumps({"pid": 77, "alarms": {"[BUG]": 3, "Apply task exception": 5}}))
    (n1 / "alarms-91.json").write_text(json.dumps({"pid": 91, "alarms": {"[BUG]": 4}}))
    (n2 / "register.log").write_text("x [BUG] y\n" * 9)
    (n2 / "alarms-77.json").write_text(json.dumps({"pid": 77, "alarms": {"[BUG]": 3}}))
    (n2 / "alarms-78.json").write_text('{"pid":78,"al')
    assert log_hits(Recording(tmp_path), NODES, ALARMS) == {
        "n1": {"[BUG]": 7, "Apply task exception": 5},
        "n2": {"[BUG]": 9},
    }


# -- damage that came later -------------------------------------------------------------------------------------------

DESTROYED = "truncate for data file error"
STARTED = "2026-11-25T10:00:00+00:00"


def test_a_violation_that_stood_in_the_log_before_our_damage_is_not_excused_by_it(tmp_path: Path) -> None:
    lines = [f"2026-11-25 10:00:{second:02d},000 ERROR {DESTROYED}\n" for second in (5, 19, 21)]
    (tmp_path / "nodes" / "n2").mkdir(parents=True)
    (tmp_path / "nodes" / "n2" / "register.log").write_text("".join([*lines, f"{DESTROYED}, without a date\n"]))
    run = replace(with_probes(probe(1)), receipts=(receipt(), damaged("n2", 20)))
    damages = damages_of(run.receipts, run.plan)
    hits = {**log_hits(Recording(tmp_path), ("n2",), run.alarms), "n1": {}, "n3": {}}
    early = early_hits(Recording(tmp_path), damages, run.alarms, STARTED)
    assert (hits["n2"], early) == ({DESTROYED: 4}, {"n2": {DESTROYED: 2}})
    check = check_of(replace(run, log_hits=hits, early_hits=early))
    assert (check.verdict, list(only(check, Alarms).nodes)) == ("invalid", ["n2"])
    assert check.seen == f"{DESTROYED!r} 2 times on n2 (a data file was destroyed while truncating)"
    assert only(check, Alarms).notes[0].startswith(f"{DESTROYED!r} 2 times on n2")
    assert check_of(replace(run, log_hits=hits)).verdict == "valid", "all of it may be of the damage"


@pytest.mark.parametrize(("node", "healed", "early"), [("n2", 30, 0), ("n2", None, 0), ("n2", 15, 2), ("n1", 30, 2)])
def test_dates_by_a_clock_that_we_set_do_not_show_that_a_line_stood_before_our_damage(
    tmp_path: Path, node: str, healed: int | None, early: int
) -> None:
    lines = [f"2026-11-25 10:00:{second:02d},000 ERROR {DESTROYED}\n" for second in (5, 19, 21)]
    (tmp_path / "nodes" / "n2").mkdir(parents=True)
    (tmp_path / "nodes" / "n2" / "register.log").write_text("".join(lines))
    run = replace(with_probes(probe(1)), receipts=(receipt(), damaged("n2", 20)))
    clock = receipt("clock-skew", nodes=(node,), healed=healed and healed * S)
    found = early_hits(Recording(tmp_path), damages_of(run.receipts, run.plan), run.alarms, STARTED, [clock])
    assert found == {"n2": {DESTROYED: early} if early else {}}
