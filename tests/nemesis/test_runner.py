from __future__ import annotations

import random
import threading
import time
from dataclasses import replace
from unittest import mock

import pytest

from harness.execution.fault_view import RunClock
from harness.testing import FakeNodes, Recorder, UnreachableError, world
from history import receipts_of
from nemesis.core.errors import NotYetError, UnknownFaultError
from nemesis.core.fault import Settings, Targets
from nemesis.faults.registry import FAULTS
from nemesis.schedule.runner import PATIENCE_S, Runner
from nemesis.schedule.steps import Step, cycle


def once(fault: str, start: float = 1.0, end: float = 5.0, number: int = 0) -> list[Step]:
    return [Step(start, "inject", fault, number), Step(end, "heal", fault, number)]


def go(steps, faults=FAULTS, seed=0, **quirks):
    ctx, nodes, system, clock = world(**quirks)
    record = Recorder(clock, nodes)
    runner = Runner(ctx, steps, record, random.Random(seed), faults=faults)
    return runner, record, nodes, system


def standing(nodes: FakeNodes) -> bool:
    return any(nodes.rules.values()) or "T" in nodes.states.values()


def nodes_of(record: Recorder) -> tuple[str, ...]:
    return receipts_of(record.events)[0].nodes


def test_one_fault_leaves_one_receipt_with_its_witness():
    runner, record, nodes, _ = go(once("partition-majorities-ring"))
    runner.run(threading.Event())
    (receipt,) = receipts_of(record.events)
    assert receipt.state == "installed"
    assert receipt.leader == "n1"
    assert (receipt.family, receipt.summary) == ("partition", FAULTS[receipt.fault].summary)
    assert receipt.nodes == ("n1", "n2", "n3", "n4", "n5")
    assert set(receipt.targets["grudge"]) == set(receipt.nodes)
    assert receipt.witness["packets_counted"] > 0
    assert receipt.witness["stood_ms"] > 0
    assert receipt.witness["healed_ms"] > 0
    assert receipt.stood is not None
    assert receipt.heal_started is not None
    assert receipt.healed is not None
    assert receipt.started < receipt.stood < receipt.heal_started < receipt.healed
    assert receipt.healed - receipt.stood >= 3.9e9
    assert not standing(nodes)


@pytest.mark.parametrize(
    ("targets", "more"),
    [
        (None, ""),
        ({"choose": "followers"}, "here aimed at followers; by default: "),
        ({"nodes": ["n2"]}, "here at its recorded targets; by default: "),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_a_receipt_says_what_its_fault_was_aimed_at_where_that_was_not_left_to_it(targets, more, late):
    """pause-majority stops a random majority, but not where a user chose the followers; also where it was skipped."""
    steps = [Step(1.0, "inject", "pause-majority", 0, targets), Step(5.0, "heal", "pause-majority", 0)]
    if late:
        steps = [Step(0.5, "inject", "pause-majority", 0, targets, when="n3 leads", within_s=1.0)]
    runner, record, _, _ = go(steps)
    runner.run(threading.Event())
    (receipt,) = receipts_of(record.events)
    assert receipt.state == ("skipped" if late else "installed")
    assert receipt.summary == more + FAULTS["pause-majority"].summary


def test_the_targets_are_written_before_the_first_command_goes_out():
    runner, record, nodes, _ = go(once("bridge"))
    runner.run(threading.Event())
    assert record.events[0].type == "invoke"
    assert record.sent_before[0] == 0
    assert nodes.sent


@pytest.mark.parametrize("quirk", ["deaf_rules", "uncounted"])
def test_rules_without_effect_are_indeterminate_and_healed(quirk):
    runner, record, nodes, _ = go(once("bridge"), **{quirk: True})
    runner.run(threading.Event())
    (receipt,) = receipts_of(record.events)
    assert receipt.state == "indeterminate"
    assert "the system did not notice" in (receipt.reason or "")
    assert receipt.healed is not None
    assert not standing(nodes)


def test_a_half_failed_injection_is_healed_at_once_on_all_nodes():
    runner, record, nodes, _ = go(once("partition-majorities-ring"), refuse={"n3"})
    runner.run(threading.Event())
    (receipt,) = receipts_of(record.events)
    assert receipt.state == "indeterminate"
    assert receipt.reason == "n3: exit 1: Error: Operation not permitted"
    assert receipt.healed is not None
    assert receipt.healed < receipt.started + 1e9
    assert [event.type for event in record.events] == ["invoke", "info", "invoke", "ok"]
    assert not standing(nodes)


def test_a_failure_of_the_harness_is_recorded_healed_where_possible_and_raised():
    runner, record, nodes, _ = go(once("partition-majorities-ring"), unreachable={"n3"})
    with pytest.raises(UnreachableError):
        runner.run(threading.Event())
    (receipt,) = receipts_of(record.events)
    assert receipt.state == "indeterminate"
    assert "UnreachableError: no route" in (receipt.reason or "")
    assert receipt.healed is None
    assert not standing(nodes)
    assert list(runner.active) == [0]
    nodes.unreachable.clear()
    assert runner.heal_all() == ()
    assert not runner.active
    assert receipts_of(record.events)[0].healed is not None


def test_a_broken_record_stops_the_run_before_anything_is_touched():
    runner, record, nodes, _ = go(once("bridge"))
    record.broken = True
    with pytest.raises(OSError, match="No space"):
        runner.run(threading.Event())
    assert not nodes.sent


def test_a_record_that_breaks_while_a_fault_stands_does_not_keep_it_standing():
    runner, record, nodes, _ = go(once("bridge"))

    def break_after_injection(kind, f, value, /):
        record(kind, f, value)
        record.broken = kind == "ok"

    runner._record = break_after_injection
    with pytest.raises(OSError, match="No space"):
        runner.run(threading.Event())
    assert not standing(nodes)


def test_a_heal_that_fails_is_tried_again_at_the_end():
    runner, record, nodes, _ = go(once("bridge"), refuse_heal={"n1", "n2", "n3", "n4", "n5"})
    runner.run(threading.Event())
    assert [event.type for event in record.events] == ["invoke", "ok", "invoke", "info", "invoke", "info"]
    (left,) = runner.heal_all()
    assert (left.fault, left.id, left.nodes, left.by_system) == ("bridge", 0, nodes_of(record), False)
    assert "Device or resource busy" in left.reason
    nodes.refuse_heal.clear()
    assert runner.heal_all() == ()


def test_a_node_that_does_not_come_back_is_reported_and_is_no_failure_of_the_harness():
    runner, record, _, system = go(once("kill-random-processes"))
    system.dead_on_start.update(system.nodes.names)
    runner.run(threading.Event())
    (receipt,) = receipts_of(record.events)
    assert receipt.state == "installed"
    assert receipt.healed is None
    assert "it died at once" in record.events[-1].value["reason"]
    assert [left.by_system for left in runner.heal_all()] == [True]


def test_a_server_that_answers_and_dies_before_the_look_at_its_process_is_the_systems(monkeypatch):
    runner, record, _, system = go(once("kill-random-processes"))
    monkeypatch.setattr(system, "start", lambda nodes: None)  # it answered, so the start was fine
    runner.run(threading.Event())
    assert "died after answering" in record.events[-1].value["reason"]
    assert [left.by_system for left in runner.heal_all()] == [True]


def test_a_node_that_cannot_be_reached_for_its_healing_is_ours_and_reported_beside_the_failure():
    runner, *_ = go(once("partition-majorities-ring"), unreachable={"n3"})
    with pytest.raises(UnreachableError):
        runner.run(threading.Event())
    (left,) = runner.heal_all(final=True)
    assert (left.fault, left.by_system) == ("partition-majorities-ring", False)
    assert left.reason == "no route to ['n3']"


def test_nothing_is_injected_after_the_final_heal():
    """Also not by a schedule that could not be waited for any longer."""
    runner, record, nodes, _ = go([*once("bridge", 1, 2, 0), *once("hammer-time", 3, 4, 1)])
    wait = record.clock.wait

    def close_later(seconds, stop):
        ended = wait(seconds, stop)
        if record.clock.now() > 7e9:
            runner.heal_all(final=True)
        return ended

    record.clock.wait = close_later
    runner.run(threading.Event())
    assert {event.f for event in record.events} == {"bridge"}
    assert not standing(nodes)


def test_skipped_faults_say_why_and_touch_nothing():
    steps = [*once("hammer-time", 1, 9, 0), *once("hammer-time", 2, 8, 1)]
    runner, record, _nodes, _ = go(steps)
    runner.run(threading.Event())
    first, second = receipts_of(record.events)
    assert (first.state, second.state) == ("installed", "skipped")
    assert second.reason is not None
    assert second.reason.startswith("hammer-time ")
    assert second.healed is None


def test_the_quorum_guard_holds_over_different_faults():
    steps = [*once("kill-random-processes", 1, 9, 0), *once("hammer-time", 2, 8, 1)]
    for seed in range(30):
        runner, record, *_ = go(steps, seed=seed)
        runner.run(threading.Event())
        killed, paused = receipts_of(record.events)
        assert not set(killed.nodes) & set(paused.nodes)
        assert len(killed.nodes) + len(paused.nodes) <= 2
        assert (paused.state == "skipped") == (len(killed.nodes) == 2)


class NeverReady:
    name, family, summary, stops, beyond_quorum = "never", "partition", "", False, False

    def precheck(self, ctx):
        return None

    def plan(self, ctx, rng):
        raise NotYetError("no node claims to lead")

    inject = witness = heal = None


def test_a_fault_without_a_node_to_aim_at_waits_a_while_and_is_skipped():
    runner, record, *_ = go(once("never"), faults={"never": NeverReady()})
    runner.run(threading.Event())
    (receipt,) = receipts_of(record.events)
    assert receipt.state == "skipped"
    assert receipt.reason == "no node claims to lead"
    assert receipt.started >= 5e9 + (1 + PATIENCE_S) * 1e9


def test_a_fault_does_not_stand_before_its_last_command_however_long_its_record_took():
    """A disk of the control node that stalls: operations of that time are not under the fault."""
    runner, record, _, system = go(once("kill-leader"))
    clock, written, killed = record.clock, runner._record, []

    def record_slowly(kind, f, value):
        written(kind, f, value)
        if (kind, value["action"]) == ("invoke", "inject"):
            clock.wait(2.0, threading.Event())

    usual = system.nodes._signal

    def signal(*hit):
        killed.append(clock.now())
        usual(*hit)

    runner._record = record_slowly
    with mock.patch.object(system.nodes, "_signal", signal):
        runner.run(threading.Event())
    (receipt,) = receipts_of(record.events)
    assert receipt.state == "installed"
    assert receipt.stood >= killed[0] >= receipt.started + 2e9


@pytest.mark.parametrize(("fault", "from_the_first_step"), [("restart-rolling", True), ("kill-followers", False)])
def test_what_is_over_when_it_is_injected_stands_from_its_first_step_on(fault, from_the_first_step):
    """Or no operation could ever be said to have been answered under a rolling restart."""
    runner, record, _, system = go(once(fault))
    usual, clock = system.pids, record.clock
    # Every look at the pids takes a while.
    system.pids = lambda nodes: (clock.wait(0.2, threading.Event()), usual(nodes))[1]
    runner.run(threading.Event())
    (receipt,) = receipts_of(record.events)
    assert receipt.state == "installed"
    assert (receipt.stood == receipt.started) == from_the_first_step
    assert ("lasted_ms" in receipt.witness) == from_the_first_step
    assert receipt.heal_started is not None
    assert receipt.heal_started - receipt.started >= 1e9


def test_a_fault_whose_time_passed_while_another_one_lasted_is_skipped():
    """It would come when the run is over, or right after the other, without a calm."""
    steps = [*once("restart-rolling", 1, 2), *once("hammer-time", 3, 4, number=1)]
    runner, record, _, system = go(steps)
    usual, clock = system.start, record.clock
    system.start = lambda nodes: (clock.wait(1.0, threading.Event()), usual(nodes))[1]
    runner.run(threading.Event())
    long, late = receipts_of(record.events)
    assert (long.state, late.state) == ("installed", "skipped")
    assert late.reason == "earlier faults lasted beyond its scheduled time"
    assert late.targets == {}


def test_stop_in_the_middle_of_a_fault_heals_it():
    runner, record, nodes, _ = go(once("hammer-time", 1, 50), stop_at=3)
    runner.run(threading.Event())
    (receipt,) = receipts_of(record.events)
    assert receipt.state == "installed"
    assert receipt.healed == pytest.approx(8e9, abs=1e8)
    assert not standing(nodes)


def test_stop_is_prompt_on_a_real_clock():
    from dataclasses import replace

    ctx, nodes, _, clock = world()
    record = Recorder(clock)
    runner = Runner(
        replace(ctx, clock=RunClock(time.monotonic_ns)), once("hammer-time", 0.0, 3600.0), record, random.Random(0)
    )
    stop = threading.Event()
    thread = threading.Thread(target=runner.run, args=(stop,))
    thread.start()
    deadline = time.monotonic() + 60
    while len(record.events) < 2 and time.monotonic() < deadline:
        time.sleep(0.005)
    stop.set()
    thread.join(60)  # of the hour that the fault would stand
    assert not thread.is_alive()
    assert [event.type for event in record.events] == ["invoke", "ok", "invoke", "ok"]
    assert not standing(nodes)


def test_the_same_seed_hits_the_same_nodes():
    def targets(seed: int) -> list:
        steps = cycle(["bridge", "kill-random-processes", "partition-random-node"], 10, 120, random.Random(seed))
        runner, record, *_ = go(steps, seed=seed)
        runner.run(threading.Event())
        return [(receipt.fault, receipt.targets) for receipt in receipts_of(record.events)]

    assert targets(4) == targets(4)
    assert targets(4) != targets(5)


def test_recorded_targets_are_used_again():
    wish = {"nodes": ["n1", "n2"], "grudge": {"n1": ["n2"], "n2": ["n1"]}}
    runner, record, *_ = go([Step(1, "inject", "bridge", 0, wish), Step(2, "heal", "bridge", 0)])
    runner.run(threading.Event())
    assert receipts_of(record.events)[0].targets == wish
    assert Targets.from_json(wish).to_json() == wish


def test_links_are_healed_before_processes_are_started_again():
    steps = [Step(1, "inject", "kill-leader", 0), Step(2, "inject", "bridge", 1)]
    runner, record, *_ = go(steps)
    runner.run(threading.Event())
    heals = [event.f for event in record.events if event.value["action"] == "heal" and event.type == "ok"]
    assert heals == ["bridge", "kill-leader"]


def test_two_claimants_are_reported():
    from history import Probe

    runner, record, _, system = go(once("partition-leader-minority"))
    system.said["n3"] = Probe(0, "n3", "leader", 7, "n3")
    runner.run(threading.Event())
    assert record.events[0].value["leader"] == "n3"
    assert record.events[0].value["claimants"] == ["n3", "n1"]


def test_an_unknown_fault_is_refused_before_anything_starts():
    with pytest.raises(UnknownFaultError, match="did you mean partition-majorities-ring"):
        go(once("partition-majority-ring"))


def beaten(answer: str):
    """A run of one fault that waits for a heartbeat, of which the leader's machine says this."""
    step = Step(1.0, "inject", "bridge", 0, when="after a heartbeat", within_s=3.0, for_s=2.0)
    runner, record, nodes, _ = go([step], answers={'"beat"': lambda node, command: answer})
    runner._ctx = replace(runner._ctx, settings=Settings(heartbeat='"beat"'))
    runner.run(threading.Event())
    (receipt,) = receipts_of(record.events)
    return receipt, [node for node, command in nodes.sent if command.argv[0] == "python3"]


def test_a_fault_after_a_heartbeat_waits_for_one_on_the_leader():
    receipt, asked = beaten("heartbeat after 3 packets\n")
    assert (receipt.state, receipt.leader, asked) == ("installed", "n1", ["n1"])


def test_it_is_skipped_with_the_reason_where_none_is_seen():
    receipt, asked = beaten("no heartbeat among 17 packets\n")
    assert (receipt.state, asked) == ("skipped", ["n1"])
    assert receipt.reason == "no heartbeat from n1 within 5 s: no heartbeat among 17 packets"
