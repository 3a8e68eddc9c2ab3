from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from unittest import mock

import pytest

from harness.testing import world
from nemesis.core.errors import FaultError, SkippedError
from nemesis.core.fault import Settings, Targets
from nemesis.core.ports import Command
from nemesis.core.roles import STATES
from nemesis.core.targets import mostly_small
from nemesis.faults.registry import find

KILL, PAUSE, ONE = find("kill-random-processes"), find("hammer-time"), find("kill-one-process")


def test_sizes_follow_the_logarithmic_law():
    rng, n, draws = random.Random(1), 5, 40_000
    seen = Counter(mostly_small(n, rng) for _ in range(draws))
    assert set(seen) == {1, 2, 3, 4, 5}
    for k in range(1, n + 1):
        expected = math.log((k + 1) / k) / math.log(n + 1)
        assert seen[k] / draws == pytest.approx(expected, abs=0.01)


def test_a_kill_leaves_a_majority_unless_the_plan_says_otherwise():
    ctx, *_ = world()
    sizes = Counter(len(KILL.plan(ctx, random.Random(seed)).nodes) for seed in range(300))
    assert set(sizes) == {1, 2}
    free = replace(ctx, settings=Settings(beyond_quorum=True))
    assert {len(KILL.plan(free, random.Random(seed)).nodes) for seed in range(300)} == {1, 2, 3, 4, 5}


def test_busy_nodes_are_not_chosen_and_count_against_the_quorum():
    ctx, *_ = world()
    for seed in range(100):
        assert set(KILL.plan(replace(ctx, busy=frozenset({"n2"})), random.Random(seed)).nodes) <= {
            "n1",
            "n3",
            "n4",
            "n5",
        }
    with pytest.raises(SkippedError):
        KILL.plan(replace(ctx, busy=frozenset({"n1", "n2"})), random.Random(0))


def test_fewer_than_a_majority_is_none():
    """Of five nodes three are under other faults, such as wrong clocks: two paused ones would leave a quorum."""
    ctx, *_ = world()
    fault = find("pause-majority")
    assert len(fault.plan(replace(ctx, busy=frozenset({"n1", "n2"})), random.Random(0)).nodes) == 3
    with pytest.raises(SkippedError, match="2 of 5 nodes are free"):
        fault.plan(replace(ctx, busy=frozenset({"n1", "n2", "n3"})), random.Random(0))


def test_a_target_that_is_down_already_is_a_reason_to_skip():
    ctx, nodes, system, _ = world()
    nodes.states["n3", system.last["n3"]] = ""
    with pytest.raises(SkippedError, match="n3 is down already"):
        PAUSE.plan(replace(ctx, wanted=Targets(("n3",))), random.Random(0))


def test_an_explicit_target_is_kept_and_a_locked_or_unknown_one_refused():
    ctx, *_ = world()
    assert PAUSE.plan(replace(ctx, wanted=Targets(("n4",))), random.Random(0)).nodes == ("n4",)
    with pytest.raises(SkippedError, match="under another fault"):
        PAUSE.plan(replace(ctx, wanted=Targets(("n4",)), busy=frozenset({"n4"})), random.Random(0))
    with pytest.raises(SkippedError, match="no node is called n9"):
        PAUSE.plan(replace(ctx, wanted=Targets(("n9",))), random.Random(0))


def test_a_kill_is_witnessed_by_the_pid_that_is_gone_and_healed_by_a_new_one():
    ctx, _nodes, _system, _ = world()
    targets = KILL.plan(ctx, random.Random(0))
    old = targets.detail["pids"]
    KILL.inject(ctx, targets)
    assert KILL.witness(ctx, targets)["pids_gone"] == old
    now = KILL.heal(ctx, targets)["pids_now"]
    assert all(now[node] != pid for node, pid in old.items())
    assert KILL.heal(ctx, targets)["pids_now"] == now


def test_a_zombie_is_gone():
    ctx, nodes, system, _ = world(immortal={"n1"})
    targets = KILL.plan(replace(ctx, wanted=Targets(("n1",))), random.Random(0))
    nodes.states["n1", system.last["n1"]] = "Z"
    assert KILL.witness(ctx, targets)["pids_gone"]


def test_a_process_that_could_not_be_looked_at_is_not_gone():
    """A node that can start no process prints nothing, as it does of a pid that is gone."""
    ctx, nodes, *_ = world(immortal={"n1"})
    targets = KILL.plan(replace(ctx, wanted=Targets(("n1",))), random.Random(0))
    KILL.inject(ctx, targets)
    usual = nodes._one
    cannot = (254, "", "sh: cannot fork")
    look = mock.patch.object(nodes, "_one", lambda node, one: cannot if STATES in one.argv else usual(node, one))
    with look, pytest.raises(FaultError, match="exit 254: sh: cannot fork"):
        KILL.witness(ctx, targets)


def test_a_process_that_survives_the_kill_is_doubt():
    ctx, *_ = world(immortal={"n1"})
    targets = KILL.plan(replace(ctx, wanted=Targets(("n1",))), random.Random(0))
    KILL.inject(ctx, targets)
    with pytest.raises(FaultError, match=r"still there: n1 \(pid 101 in state S\)"):
        KILL.witness(ctx, targets)


def several(*, survives: bool = False):
    """A world whose first node has three processes; killing one of them works, or not."""
    ctx, nodes, system, _ = world()
    nodes.states |= {("n1", 7): "S", ("n1", 8): "S"}

    def kill(node: str, command: Command) -> str:
        if not survives:
            nodes.states[node, int(command.argv[-1])] = ""
        return ""

    nodes.answers["kill"] = kill
    return replace(ctx, wanted=Targets(("n1",))), nodes, system


def test_one_process_of_several_is_killed_and_never_the_first():
    ctx, nodes, system = several()
    first = system.last["n1"]
    victims = {ONE.plan(ctx, random.Random(seed)).detail["pids"]["n1"] for seed in range(20)}
    assert victims == {7, 8}
    targets = ONE.plan(ctx, random.Random(0))
    ONE.inject(ctx, targets)
    assert ONE.witness(ctx, targets) == {"pids_gone": targets.detail["pids"], "processes_left": {"n1": 2}}
    assert ONE.heal(ctx, targets) == {"pids_now": {"n1": first}}
    assert nodes.states["n1", first] == "S"


def test_one_process_that_survives_is_doubt():
    ctx, *_ = several(survives=True)
    targets = ONE.plan(ctx, random.Random(0))
    ONE.inject(ctx, targets)
    with pytest.raises(FaultError, match="still there"):
        ONE.witness(ctx, targets)


def test_a_server_of_one_process_has_none_to_spare():
    ctx, *_ = world()
    with pytest.raises(SkippedError, match="n1 is one process"):
        ONE.plan(replace(ctx, wanted=Targets(("n1",))), random.Random(0))


def test_a_pause_is_witnessed_by_the_state_and_healed_until_it_is_another():
    ctx, _nodes, *_ = world()
    targets = PAUSE.plan(ctx, random.Random(0))
    (node,) = targets.nodes
    PAUSE.inject(ctx, targets)
    assert PAUSE.witness(ctx, targets)["state"] == {node: "T"}
    assert PAUSE.heal(ctx, targets) == {"state_now": {node: "S"}}
    with pytest.raises(FaultError, match="not stopped"):
        PAUSE.witness(ctx, targets)


def test_a_pause_that_cannot_be_ended_is_doubt_and_one_of_a_dead_process_is_healed():
    ctx, nodes, *_ = world()
    targets = PAUSE.plan(ctx, random.Random(0))
    (node,) = targets.nodes
    PAUSE.inject(ctx, targets)
    nodes.immortal.add(node)
    with pytest.raises(FaultError, match="still stopped"):
        PAUSE.heal(ctx, targets)
    nodes.states[node, targets.detail["pids"][node]] = ""
    assert PAUSE.heal(ctx, targets) == {"state_now": {node: "gone"}}


def test_a_pause_stands_when_every_process_of_the_role_is_stopped():
    ctx, nodes, *_ = world()
    targets = PAUSE.plan(replace(ctx, wanted=Targets(("n2",))), random.Random(0))
    nodes.states["n2", 900] = "S"  # a worker
    PAUSE.inject(ctx, targets)
    assert PAUSE.witness(ctx, targets)["processes"] == {"n2": 2}
    nodes.states["n2", 900] = "R"
    with pytest.raises(FaultError, match=r"not stopped: n2 .*pid 900 in state R"):
        PAUSE.witness(ctx, targets)


def test_a_pause_of_which_a_process_runs_again_before_it_is_healed_has_lapsed():
    ctx, nodes, system, _ = world()
    targets = PAUSE.plan(replace(ctx, wanted=Targets(("n2",))), random.Random(0))
    PAUSE.inject(ctx, targets)
    assert PAUSE.witness(ctx, targets)
    nodes.states["n2", system.last["n2"]] = "R"
    assert "n2 (pid 102 in state R)" in PAUSE.heal(ctx, targets)["lapsed"]


@pytest.mark.parametrize("name", ["kill-leader", "pause-leader"])
def test_the_victim_led_by_its_last_probe_and_the_receipt_says_in_which_term(name):
    ctx, _, system, _ = world()
    system.term = 7
    fault = find(name)
    targets = fault.plan(ctx, random.Random(0))
    assert targets.detail["last_probe"]["n1"]["role"] == "leader"
    fault.inject(ctx, targets)
    system.leader, system.term = "n2", 8  # what is so by the time of the witness is another matter
    assert fault.witness(ctx, targets)["led"] == {"node": "n1", "term": 7}


@pytest.mark.parametrize("name", ["kill-leader", "pause-leader"])
def test_a_victim_that_did_not_lead_is_doubt(name):
    """As when a replay hits the node of then, or the plan aims elsewhere."""
    ctx, *_ = world()
    fault = find(name)
    targets = fault.plan(replace(ctx, wanted=Targets(("n3",))), random.Random(0))
    fault.inject(ctx, targets)
    with pytest.raises(FaultError, match="according to the last probes, no target led: n3 was follower in term 1"):
        fault.witness(ctx, targets)


def test_the_leader_and_one_other_may_be_aimed_at():
    ctx, *_ = world()
    targets = find("pause-leader").plan(replace(ctx, wanted=Targets(("n1", "n4"))), random.Random(0))
    find("pause-leader").inject(ctx, targets)
    assert find("pause-leader").witness(ctx, targets)["led"] == {"node": "n1", "term": 1}
