from __future__ import annotations

import random
from dataclasses import replace

import pytest

from harness.testing import FakeSystem, world
from history import Probe
from nemesis.core.errors import FaultError, NotYetError, SkippedError
from nemesis.core.guard import locked, objection
from nemesis.core.healing import UnhealedError, heal
from nemesis.core.ports import StartError
from nemesis.faults.registry import find
from tests.support.nemesis.elections import elect_after_kills


def test_the_successor_is_killed_after_the_leader():
    ctx, _nodes, system, clock = world()
    elect_after_kills(system)
    fault = find("kill-leader-then-successor")
    targets = fault.plan(ctx, random.Random(0))
    assert targets.nodes == ("n1",)
    assert targets.reserved == ("n2", "n3", "n4", "n5")
    began = clock.now()
    fault.inject(ctx, targets)
    system.said["n5"] = Probe(0, "n5", "follower", 2, "n2")  # it does not know yet
    assert clock.now() - began >= targets.detail["delay_s"] * 1e9
    witness = fault.witness(ctx, targets)
    assert witness["successor"] == "n2"
    assert set(witness["pids_gone"]) == {"n1", "n2"}
    assert witness["led"] == {"node": "n1", "term": 1}
    assert witness["successor_term"] == 2
    assert all(fault.heal(ctx, targets)["pids_now"].values())


@pytest.mark.parametrize("elects", [True, False])
def test_where_no_terms_are_reported_the_successor_is_another_leader(elects):
    ctx, _nodes, system, _clock = world()
    system.term = -1
    if elects:
        elect_after_kills(system, term=-1)
    fault = find("kill-leader-then-successor")
    targets = fault.plan(ctx, random.Random(0))
    if not elects:
        with pytest.raises(FaultError, match="no other node led"):
            fault.inject(ctx, targets)
        return
    fault.inject(ctx, targets)
    system.said["n5"] = Probe(0, "n5", "follower", -1, "n2")
    witness = fault.witness(ctx, targets)
    assert (witness["successor"], set(witness["pids_gone"])) == ("n2", {"n1", "n2"})
    assert "successor_term" not in witness
    assert witness["led"] == {"node": "n1"}


def test_where_terms_are_reported_another_leader_of_the_same_term_is_no_successor():
    ctx, _nodes, system, _clock = world()
    elect_after_kills(system, term=1)
    fault = find("kill-leader-then-successor")
    targets = fault.plan(ctx, random.Random(0))
    with pytest.raises(FaultError, match="no other node led"):
        fault.inject(ctx, targets)


def test_no_successor_is_doubt_and_everything_is_started_again():
    ctx, _, system, _ = world()
    fault = find("kill-leader-then-successor")
    targets = fault.plan(ctx, random.Random(0))
    with pytest.raises(FaultError, match="no other node led"):
        fault.inject(ctx, targets)
    assert all(fault.heal(ctx, targets)["pids_now"].values())
    assert all(system.pids(system.nodes.names).values())


def test_one_dead_node_is_no_succession():
    ctx, nodes, *_ = world()
    fault = find("kill-leader-then-successor")
    targets = fault.plan(ctx, random.Random(0))
    nodes.states["n1", targets.detail["pids"]["n1"]] = ""
    with pytest.raises(FaultError, match="not both gone"):
        fault.witness(ctx, targets)


def test_a_succession_needs_two_nodes_to_spare_and_locks_all_candidates():
    ctx, *_ = world()
    fault = find("kill-leader-then-successor")
    assert fault.precheck(world(3)[0]) is not None
    with pytest.raises(SkippedError, match="no majority"):
        fault.plan(replace(ctx, busy=frozenset({"n5"})), random.Random(0))
    targets = fault.plan(ctx, random.Random(0))
    assert locked([(fault, targets)]) == {"n1", "n2", "n3", "n4", "n5"}
    pause = find("hammer-time")
    reason = objection(ctx, {0: (fault, targets)}, pause, pause.plan(ctx, random.Random(0)))
    assert "under another fault" in (reason or "")


class Transferring(FakeSystem):
    """Refuses the first ``refusals`` requests; then takes them, and if it is not ``obedient`` does nothing."""

    obedient = True
    raises_term = True
    refusals = 0

    def transfer_leader(self, leader, to):
        if self.refusals:
            self.refusals -= 1
            raise FaultError(f"{leader} did not take the request: refused with code 418")
        if self.obedient:
            self.leader, self.term = to, self.term + self.raises_term


def transferring(**how):
    ctx, nodes, _, _ = world()
    system = Transferring(nodes)
    for name, value in how.items():
        setattr(system, name, value)
    return replace(ctx, system=system), find("leader-transfer")


@pytest.mark.parametrize("refusals", [0, 3])
def test_a_transfer_is_asked_for_until_the_other_node_leads_and_witnessed_by_its_term(refusals):
    ctx, fault = transferring(refusals=refusals)
    assert fault.precheck(ctx) is None
    targets = fault.plan(ctx, random.Random(0))
    fault.inject(ctx, targets)
    assert fault.witness(ctx, targets) == {"leader": targets.nodes[0], "term": 2}
    assert fault.heal(ctx, targets) == {"leader_now": targets.nodes[0]}


@pytest.mark.parametrize(("how", "why"), [({"obedient": False}, "15 s$"), ({"refusals": 999}, "refused with code 418")])
def test_a_transfer_that_is_not_carried_out_is_doubt(how, why):
    ctx, fault = transferring(**how)
    targets = fault.plan(ctx, random.Random(0))
    with pytest.raises(FaultError, match=f"did not become leader.*{why}"):
        fault.inject(ctx, targets)


def test_a_node_that_was_elected_while_all_requests_were_refused_was_handed_nothing():
    ctx, fault = transferring(refusals=999)
    targets = fault.plan(ctx, random.Random(0))
    usual = ctx.system.transfer_leader

    def refuse_and_elect(leader, to):
        ctx.system.leader, ctx.system.term = to, 2
        usual(leader, to)

    ctx.system.transfer_leader = refuse_and_elect
    with pytest.raises(FaultError, match="leads, but no node was seen to accept a request to hand over to it"):
        fault.inject(ctx, targets)


def test_a_leader_that_was_deposed_again_is_doubt():
    ctx, fault = transferring()
    targets = fault.plan(ctx, random.Random(0))
    fault.inject(ctx, targets)
    ctx.system.leader = targets.detail["from"]
    with pytest.raises(FaultError, match="no longer leads"):
        fault.witness(ctx, targets)


@pytest.mark.parametrize("obedient", [True, False])
def test_a_transfer_without_terms_is_witnessed_by_the_other_leader(obedient):
    ctx, fault = transferring(obedient=obedient, term=-1, raises_term=False)
    targets = fault.plan(ctx, random.Random(0))
    if obedient:
        fault.inject(ctx, targets)
        assert fault.witness(ctx, targets) == {"leader": targets.nodes[0]}
    else:
        with pytest.raises(FaultError, match="did not become leader"):
            fault.inject(ctx, targets)


def test_a_system_without_transfer_refuses_the_fault():
    assert "cannot transfer" in (find("leader-transfer").precheck(world()[0]) or "")


class Promoting(FakeSystem):
    """Followers do not elect: the operator promotes n3.

    ``away``: a follower cannot be reached so many times.  ``silent``: it is reached and does not answer so many times.
    ``refuses``: n3 is promoted and does not lead.
    """

    away = 0
    silent = 0
    refuses = False
    raises_term = True
    barred: frozenset[str] = frozenset()

    def promote(self, dead):
        assert self.nodes.running(dead) == {}, "a leader that lives would be a second one"
        assert dead in self.barred, "a leader that can come back would be a second one"
        if self.away:
            self.away -= 1
            raise FaultError("no follower was promoted: n2 cannot be reached")
        if self.silent:
            self.silent -= 1
            raise StartError({"n2": "it does not answer"})
        if self.refuses:
            raise StartError({"n3": "it did not lead"})
        if self.leader == dead:
            self.leader, self.term = "n3", self.term + self.raises_term
        return self.leader

    def start(self, nodes):
        self.barred -= {*nodes}  # as its role removes the file
        super().start(nodes)


def promoting(**how):
    ctx, nodes, _, _ = world(3)
    system = Promoting(nodes)

    def depose(node, _):
        system.barred |= {node}
        return ""

    nodes.answers["depose"] = depose
    nodes.answers["deposed"] = lambda node, _: "deposed\n" if node in system.barred else ""
    for name, value in how.items():
        setattr(system, name, value)
    return replace(ctx, system=system), find("promote-follower")


def test_a_follower_is_promoted_once_the_leader_is_dead_and_barred():
    ctx, fault = promoting()
    assert fault.precheck(ctx) is None
    targets = fault.plan(ctx, random.Random(0))
    assert (targets.nodes, targets.reserved) == (("n1",), ("n2", "n3"))
    fault.inject(ctx, targets)
    witness = fault.witness(ctx, targets)
    assert witness["led"] == {"node": "n1", "term": 1}
    assert witness["promoted"] == {"node": "n3", "term": 2}
    assert set(witness["pids_gone"]) == {"n1"}
    for _ in range(2):
        healed = fault.heal(ctx, targets)
        assert healed["leader_now"] == "n3"
        assert healed["pids_now"]["n1"]
        assert ctx.system.barred == frozenset()


def test_a_follower_that_leads_in_the_same_term_was_not_promoted():
    ctx, fault = promoting(raises_term=False)
    targets = fault.plan(ctx, random.Random(0))
    fault.inject(ctx, targets)
    with pytest.raises(FaultError, match="no follower claims to lead in a later term"):
        fault.witness(ctx, targets)


def test_a_promotion_that_failed_is_made_good_before_the_old_leader_starts():
    ctx, fault = promoting(away=2)
    targets = fault.plan(ctx, random.Random(0))
    with pytest.raises(FaultError, match="n2 cannot be reached"):
        fault.inject(ctx, targets)
    with pytest.raises(FaultError, match="n2 cannot be reached"):
        fault.heal(ctx, targets)
    assert ctx.system.pids(["n1"]) == {"n1": None}
    assert fault.heal(ctx, targets)["leader_now"] == "n3"


def test_a_follower_may_take_its_time_to_answer():
    ctx, fault = promoting(silent=9)
    targets = fault.plan(ctx, random.Random(0))
    with pytest.raises(StartError, match="n2: it does not answer"):
        fault.inject(ctx, targets)
    healed = fault.heal(ctx, targets)
    assert (healed["leader_now"], bool(healed["pids_now"]["n1"])) == ("n3", True)


@pytest.mark.parametrize(
    ("failed", "damaged", "by_system"),
    [
        ("n3 refuses", [], True),
        ("n3 refuses", ["n1"], True),
        ("n3 refuses", ["n3"], False),
        ("n2 died", [], True),
        ("n2 died", ["n2"], False),
        ("n2 is silent", [], True),
        ("n2 is silent", ["n2"], False),
        ("n2 is away", [], False),
    ],
)
def test_a_promotion_that_fails_without_a_fault_of_ours_is_the_systems_failure(failed, damaged, by_system):
    """The old leader is started all the same.  A follower that is out of our reach is no failure of the system."""
    ctx, fault = promoting()
    ctx = replace(ctx, damaged=frozenset(damaged))
    targets = fault.plan(ctx, random.Random(0))
    ctx.system.refuses = failed == "n3 refuses"
    ctx.system.silent, ctx.system.away = (10**6 * (failed == what) for what in ("n2 is silent", "n2 is away"))
    if failed == "n2 died":
        ctx.system.silent = 10**6
    with pytest.raises((FaultError, StartError)):
        fault.inject(ctx, targets)
    if failed == "n2 died":
        ctx.nodes.states["n2", ctx.system.pids(["n2"])["n2"]] = ""
    with pytest.raises(UnhealedError, match=failed.partition(" ")[0]) as caught:
        heal(fault, ctx, targets)
    assert caught.value.by_system == by_system
    assert (ctx.system.pids(["n1"])["n1"] is not None) == by_system
    ctx.system.start(["n2"])
    ctx.system.refuses, ctx.system.silent, ctx.system.away = False, 0, 0
    assert heal(fault, ctx, targets)["pids_now"]["n1"]


def test_a_leader_that_survived_stays_the_leader():
    ctx, fault = promoting()
    ctx.nodes.immortal.add("n1")
    targets = fault.plan(ctx, random.Random(0))
    with pytest.raises(FaultError, match="still there: n1"):
        fault.inject(ctx, targets)
    fault.heal(ctx, targets)
    assert (ctx.system.leader, ctx.system.barred) == ("n1", frozenset())


@pytest.mark.parametrize("lacking", ["busy", "silent"])
def test_nobody_is_promoted_while_a_follower_may_be_ahead_unseen(lacking):
    ctx, fault = promoting()
    if lacking == "busy":
        ctx = replace(ctx, busy=frozenset({"n2"}))
    else:
        ctx.system.said["n2"] = Probe(0, "n2", error="no answer")
    with pytest.raises(NotYetError, match="n2 may have the longest log"):
        fault.plan(ctx, random.Random(0))


def test_a_system_without_promotion_refuses_the_fault():
    assert "can be promoted" in (find("promote-follower").precheck(world()[0]) or "")
