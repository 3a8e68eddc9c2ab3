from __future__ import annotations

import random
import threading

import pytest

from harness.testing import Recorder, world
from history import Probe, receipts_of
from nemesis.core.errors import ScheduleError
from nemesis.schedule.runner import Runner
from nemesis.schedule.script import read_script, replay
from nemesis.schedule.steps import Step, cycle, fault_names, turn_parts, turns_of

NAMES = ("n1", "n2", "n3", "n4", "n5")


def script(tmp_path, text, limit=60):
    path = tmp_path / "known-bug.toml"
    path.write_text(text)
    return read_script(path, limit, NAMES)


def test_a_script_becomes_steps(tmp_path):
    steps = script(
        tmp_path,
        """
        [[fault]]
        name = "bridge"
        at = 5.0
        for = 10.0
        [[fault]]
        name = "kill-leader"
        when = "lag(n4) > 10"
        within = 30
        targets = "leader/one"
        for = 2
        [[fault]]
        name = "packet-loss"
        at = 1
        """,
    )
    assert steps == [
        Step(0.0, "inject", "kill-leader", 1, {"choose": "leader/one"}, "lag(n4) > 10", 30.0, 2.0),
        Step(1.0, "inject", "packet-loss", 2),
        Step(5.0, "inject", "bridge", 0),
        Step(15.0, "heal", "bridge", 0),
    ]


def test_a_mark_of_the_byte_order_does_no_harm(tmp_path):
    assert script(tmp_path, '\ufeff[[fault]]\nname = "a"\nat = 1')


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = 1", r"there is no key 'x'; the choices are fault"),
        ("[[fault]\n", "not TOML"),
        ("", r"fault is missing: it must be a list of tables \(at least one\)"),
        (" \n", "fault is missing"),
        ('[[fault]]\nname = "a"', r"fault\[0\]: at \(the seconds after the start\) is missing"),
        ("[[fault]]\nat = 1", r"fault\[0\].name is missing: it must be a string that is not blank"),
        ('[[fault]]\nname = "a"\nat = -1', "at must be a number from 0 on, not -1"),
        ('[[fault]]\nname = "a"\nat = 70', "outside the time limit"),
        ('[[fault]]\nname = "a"\nat = 50\nfor = 20', "outside the time limit"),
        ('[[fault]]\nname = "a"\nwhen = "n1 leads"', "go together"),
        ('[[fault]]\nname = "a"\nwhen = "n1 flies"\nwithin = 1', "not a condition"),
        ('[[fault]]\nname = "a"\nwhen = "n1 leads"\nwithin = 61', "outside the time limit"),
        ('[[fault]]\nname = "a"\nat = 1\ntargets = "n7"', "does not choose nodes"),
        ('[[fault]]\nname = "a"\nwhere = "here"', r"fault\[0\]: there is no key 'where'; did you mean when"),
    ],
)
def test_scripts_that_cannot_be_are_refused(tmp_path, text, complaint):
    with pytest.raises(ScheduleError, match=complaint):
        script(tmp_path, text)


def run(steps, before=None, after=None, stop_at=None):
    """Runs steps; ``after`` is (second, function of the system) that changes the toy world on the way."""
    ctx, nodes, system, clock = world(stop_at=stop_at)
    record = Recorder(clock, nodes)
    if after:
        moment, change = after
        start, usual = clock.now(), system.probes

        def probes():
            if clock.now() >= start + moment * 1e9:
                change(system)
            return usual()

        system.probes = probes  # type: ignore[method-assign]
    Runner(ctx, steps, record, random.Random(0)).run(threading.Event())
    return receipts_of(record.events), clock


def test_a_condition_that_comes_true_starts_the_fault_and_for_ends_it():
    def n3_leads(system):
        system.leader = "n3"

    steps = [Step(2, "inject", "hammer-time", 0, {"choose": "leader"}, "n3 leads", 30, 4)]
    (receipt,), _ = run(steps, after=(7, n3_leads))
    assert receipt.state == "installed"
    assert receipt.nodes == ("n3",)
    assert receipt.started / 1e9 == pytest.approx(5 + 7, abs=0.2)
    assert (receipt.healed - receipt.stood) / 1e9 == pytest.approx(4, abs=0.2)


def test_a_condition_that_never_comes_true_is_a_skipped_fault():
    steps = [Step(2, "inject", "hammer-time", 0, None, "n3 leads", 10, 4)]
    (receipt,), clock = run(steps)
    assert receipt.state == "skipped"
    assert receipt.reason == "condition not met within 10 s: n3 leads"
    assert clock.now() / 1e9 == pytest.approx(5 + 12, abs=0.2)


def test_a_conditional_fault_without_an_end_stands_until_the_end_of_the_run():
    steps = [
        Step(0, "inject", "hammer-time", 0, None, "a leader", 5),
        Step(9, "inject", "bridge", 1),
        Step(10, "heal", "bridge", 1),
    ]
    (first, second), _ = run(steps)
    assert first.heal_started >= second.healed


def test_a_replay_repeats_faults_targets_and_moments():
    steps = cycle(["partition-random-halves", "kill-random-processes"], 10, 90, random.Random(3))
    first, _ = run(steps)
    again, _ = run(replay(first, 5_000_000_000))
    assert [(r.fault, r.nodes, r.targets.get("grudge")) for r in first] == [
        (r.fault, r.nodes, r.targets.get("grudge")) for r in again
    ]
    for one, other in zip(first, again, strict=True):
        assert other.started == pytest.approx(one.started, abs=2e6)
        assert other.heal_started == pytest.approx(one.heal_started, abs=2e6)


def test_a_replay_leaves_out_what_touched_nothing():
    receipts, _ = run([Step(1, "inject", "hammer-time", 0, {"choose": "n9"}), Step(2, "heal", "hammer-time", 0)])
    assert receipts[0].state == "skipped"
    assert replay(receipts, 0) == []


def test_turns_are_taken_apart():
    assert turn_parts("a@leader/one + b") == [("a", "leader/one"), ("b", None)]
    assert fault_names(["a@leader+b", "b", "c"]) == ("a", "b", "c")
    assert turns_of("a, all ,b+c", ["b", "a"]) == ("a", "b", "b+c")
    for wrong in ("a++b", "@leader", "a@", "a+"):
        with pytest.raises(ScheduleError):
            turn_parts(wrong)


def test_an_aimed_turn_hits_whom_it_names():
    receipts, _ = run(cycle(["hammer-time@n4"], 10, 30, random.Random(0)))
    assert {receipt.nodes for receipt in receipts} == {("n4",)}


def test_weights_decide_how_often_a_turn_comes():
    steps = cycle(["a", "b"], 1, 2000, random.Random(0), weights={"a": 9, "b": 1})
    names = [step.fault for step in steps if step.action == "inject"]
    assert 0.85 < names.count("a") / len(names) < 0.95
    with pytest.raises(ScheduleError, match="weights"):
        cycle(["a"], 10, 60, random.Random(0), weights={"a": 0})


def test_tracks_run_side_by_side_with_ids_of_their_own():
    steps = cycle(["a", "b", "c"], 10, 60, random.Random(0), tracks=3)
    injected = [step for step in steps if step.action == "inject"]
    assert len({step.id for step in injected}) == len(injected) >= 9
    assert {step.fault for step in injected} == {"a", "b", "c"}
    standing = [sum(s.action == "inject" for s in steps[:k]) * 2 - k for k in range(len(steps))]
    assert max(standing) > 1


def test_a_probe_without_answer_names_no_node():
    (receipt,), _ = run(
        [Step(0, "inject", "hammer-time", 0, None, "lag(n2) > 5", 3)],
        after=(1, lambda system: system.said.update(n2=Probe(0, "n2", error="timeout"))),
    )
    assert receipt.state == "skipped"
