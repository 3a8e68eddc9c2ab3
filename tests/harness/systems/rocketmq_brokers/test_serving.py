"""Who must serve after the last heal: the leader takes sends, and every replica is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from harness.judge.recorded import Recorded
from harness.plan import Plan
from harness.systems.rocketmq_brokers import DLEDGER, HA
from harness.systems.rocketmq_brokers.probes import ACKNOWLEDGED, END, EPOCH
from harness.systems.rocketmq_brokers.queues import BOOTED
from history import Operation, Probe
from history.columns.operations import from_operations
from tests.support.harness.good_run import MOMENTS, NODES, S, check_named, good, judged

LEADER = "n2"
#: The cluster is read from 125 s on.
LATE = {**MOMENTS, "final-reads": 125 * S, "end": 130 * S}
ALL = {"first": 0, "payloads": [1, 2], "end": 2}


def operation(at: int, f: str, node: str, value: Any, result: Any, outcome: Any = "ok") -> Operation:
    phase: Any = "main" if at < 61 else "final"
    return Operation(at, f, "queue-0", value, result, outcome, at * S, at * S + S // 10, 2 * at, 2 * at + 1, node,
                     phase=phase)  # fmt: skip


def sends(times: Iterable[int], taken: bool = True) -> list[Operation]:
    return [operation(at, "send", LEADER, at, at if taken else None, "ok" if taken else "fail") for at in times]


def reads(nodes: Iterable[str], f: str, at: int) -> list[Operation]:
    return [operation(at + place, f, node, 0 if f == "pull" else None, ALL) for place, node in enumerate(nodes)]


def recorded(system: str, operations: Iterable[Operation]) -> Recorded:
    """Return a run whose first leader was n1, and whose second one is n2; all nodes catch up."""
    probes = [
        Probe(at * S, node, role="leader" if node == LEADER else "follower", leader=LEADER, committed=90, applied=90,
              own={END: 90, EPOCH: 1, BOOTED: 5, **{f"{ACKNOWLEDGED}{slave}": 90 for slave in NODES}})
        for at in range(20, 130) for node in NODES
    ]  # fmt: skip
    plan = Plan(seed=1, nemesis=("kill-leader",), rate=0.05, system=system, version="5.3.3", workload="queue-log")
    state = replace(good().state, moments=LATE)
    before = operation(5, "send", "n1", 5, 0)
    return replace(
        good(), plan=plan, operations=from_operations([before, *operations]), probes=tuple(probes), state=state
    )  # fmt: skip


def verdicts(system: str, operations: Iterable[Operation]) -> tuple[str, str]:
    results = judged(recorded(system, operations))
    recovery, final = (check_named(name, results).verdict for name in ("recovery", "final-reads"))
    return recovery, final


SYSTEMS = pytest.mark.parametrize("system", [DLEDGER.name, HA.name])
TAKEN, PULLED = sends((62, 70, 110)), [*reads(NODES, "pull", 64), *reads(NODES, "pull", 112)]
READ = reads(NODES, "read", 126)


@SYSTEMS
def test_no_node_but_the_leader_need_take_sends(system: str) -> None:
    assert verdicts(system, [*TAKEN, *PULLED, *READ]) == ("valid", "valid")


@SYSTEMS
def test_a_cluster_that_takes_no_send_has_not_recovered(system: str) -> None:
    refused = sends(range(62, 124), taken=False)
    assert verdicts(system, [*refused, *PULLED, *READ]) == ("invalid", "valid")


@SYSTEMS
def test_every_replica_must_be_read_at_the_end(system: str) -> None:
    silent = [replace(one, outcome="fail", result=None) if one.node == "n3" else one for one in READ]
    assert verdicts(system, [*TAKEN, *PULLED, *silent]) == ("valid", "unknown")


@SYSTEMS
def test_as_nodes_that_all_serve_the_brokers_would_be_accused(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clients of n1 sent before the leader changed, and no client sends there afterwards."""
    run = recorded(system, [*TAKEN, *PULLED, *READ])
    declared = replace(run.plan.under_test, every_node_serves=True)
    monkeypatch.setattr(type(run.plan), "under_test", property(lambda _plan: declared))
    assert check_named("recovery", judged(run)).verdict == "unknown"
