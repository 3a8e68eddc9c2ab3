"""What RocketMQ's brokers say of themselves, and when those with elected masters have caught up."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from harness.systems import Machine, Setup
from harness.systems.remoting import Answer
from harness.systems.rocketmq_brokers.probes import (
    ACKNOWLEDGED,
    END,
    DLedgerProber,
    HaProber,
    of_controller,
    of_ha,
    on_dledger,
    one_master,
)
from history import Probe

FIGURES = {"commitLogMaxOffset": "819", "dispatchBehindBytes": "19", "bootTimestamp": "5"}
RUNTIME = Answer(0, "", {}, json.dumps({"table": FIGURES}).encode(), 1)


def said(content: Any, code: int = 0) -> Answer:
    return Answer(code, "", {}, json.dumps(content).encode(), 1)


@pytest.mark.parametrize(
    ("leader", "role"), [({"leaderId": "n1"}, "leader"), ({"leaderId": "n2"}, "follower"), ({}, "unknown")]
)
def test_a_broker_on_dledger(leader: dict[str, str], role: str) -> None:
    stated = on_dledger("n1", said({"code": 200, **leader}), RUNTIME)
    assert stated == {"role": role, "leader": leader.get("leaderId"), "committed": 819, "applied": 800, "booted": 5}


NAMES = {"10.0.0.2": "n2", "10.0.0.3": "n3"}


def test_a_master_and_a_slave() -> None:
    started = [{"epoch": 4, "startOffset": 90}, {"epoch": 1, "startOffset": 0}]
    epochs = said({"epochList": started, "maxOffset": 819, "brokerId": 2})
    slaves = [{"addr": "10.0.0.2:4711", "slaveAckOffset": 800}, {"addr": "10.9.9.9:4711", "slaveAckOffset": 7}]
    status = {"master": True, "inSyncSlaveNums": 2, "haConnectionInfo": slaves}
    stated = of_ha(said(status), epochs, RUNTIME, NAMES)
    figures = {"applied": 800, "log_bytes": 819, "booted": 5}
    assert stated == {**figures, "role": "leader", "epoch": 4, "broker_id": 2, "epoch_starts": "1:0 4:90",
                      "in_sync_slaves": 2, "acknowledged_by_n2": 800}  # fmt: skip
    stated = of_ha(said({"master": False, "inSyncSlaveNums": 0}), said({"epochList": []}), RUNTIME, NAMES)
    assert stated == {**figures, "role": "follower", "epoch": -1, "broker_id": None, "epoch_starts": None}


def test_a_controller_that_leads_and_one_that_does_not() -> None:
    ext = {"masterBrokerId": "2", "masterEpoch": "4", "masterAddress": "10.0.0.3:10911"}
    body = b'{"syncStateSet":[3,2],"syncStateSetEpoch":9}'
    stated = of_controller(Answer(0, "", ext, body, 1), NAMES)
    figures = {"set": "2 3", "set_slaves": 1, "set_epoch": 9}
    assert stated == {**figures, "set_master": 2, "master_node": "n3", "master_epoch": 4}
    stated = of_controller(Answer(0, "", {}, body, 1), NAMES)
    assert stated == {**figures, "set_master": None, "master_node": None, "master_epoch": None}
    assert of_controller(Answer(2007, "not the leader", {}, b"", 1), NAMES) == {}
    with pytest.raises(ValueError, match="without a set"):
        of_controller(Answer(0, "", ext, b"", 1), NAMES)


def test_a_controller_that_knows_brokers_by_their_addresses() -> None:
    ext = {"masterAddress": "10.0.0.3:10911", "masterEpoch": "4", "brokerId": "-1"}
    body = b'{"syncStateSet":["10.0.0.3:10911","10.0.0.2:10911"],"syncStateSetEpoch":9}'
    figures = {"set": "n2 n3", "set_slaves": 1, "set_epoch": 9, "master_epoch": 4}
    assert of_controller(Answer(0, "", ext, body, 1), NAMES) == {**figures, "set_master": "n3", "master_node": "n3"}
    nobody = Answer(0, "", {**ext, "masterAddress": ""}, body, 1)
    assert of_controller(nobody, NAMES) == {**figures, "set_master": None, "master_node": None}
    with pytest.raises(ValueError, match="int"):
        of_controller(Answer(0, "", {}, body, 1), NAMES)
    elsewhere = Answer(0, "", ext, body.replace(b"10.0.0.2", b"10.9.9.9"), 1)
    assert of_controller(elsewhere, NAMES)["set"] == "10.9.9.9 n3"


@pytest.mark.parametrize(
    ("metadata", "table"),
    [({"code": 404}, {"table": {}}), ({"code": 200}, {}), ({"code": 200}, {"table": {}}), ([], {})],
)
def test_one_that_says_nothing(metadata: Any, table: Any) -> None:
    with pytest.raises(ValueError, match=r"code|int"):
        on_dledger("n1", said(metadata), said(table))
    with pytest.raises(ValueError, match=r"code|int"):
        of_ha(said(metadata), said({}), said(table), NAMES)


DOWN = Machine("n1", "127.0.79.9")
SETUP = Setup(version="5.3.3", options={"controllers": "all"}, nodes=(DOWN,))


@pytest.mark.parametrize("prober", [DLedgerProber, lambda node: HaProber(node, SETUP)])
def test_one_that_is_down(prober: Any) -> None:
    async def probe() -> Any:
        made = prober(DOWN)
        try:
            return await made.ask(0.5)
        finally:
            await made.close()

    with pytest.raises(OSError, match="connection"):
        asyncio.run(probe())


BOTH = ("n1", "n2")


def probes(*answers: tuple[int, str, int, str], acknowledged: int = 99) -> list[Probe]:
    """Return reports; a leader's also say what both nodes acknowledged."""
    slaves = {f"{ACKNOWLEDGED}{node}": acknowledged for node in BOTH}
    return [
        Probe(time, node, role="leader", applied=end, own={END: end, **slaves})
        if role == "leader"
        else Probe(time, node, role="follower", applied=end, own={END: end})
        for time, node, end, role in answers
    ]


@pytest.mark.parametrize(
    ("answers", "recovered"),
    [
        (probes((1, "n1", 90, "leader"), (1, "n2", 80, ""), (2, "n1", 95, "leader"), (2, "n2", 90, "")), True),
        (probes((1, "n1", 90, "leader"), (1, "n2", 80, ""), (2, "n1", 95, "leader"), (2, "n2", 89, "")), False),
        (probes((1, "n1", 90, "leader"), (1, "n2", 90, "leader")), False),
        (probes((1, "n1", 90, ""), (1, "n2", 90, "")), False),
        (probes((1, "n1", 90, "leader")), False),
        (probes((0, "n2", 90, ""), (1, "n1", 90, "leader")), False),
        ([*probes((1, "n1", 90, "leader")), Probe(1, "n2", error="down")], False),
        (probes((1, "n2", 99, "leader"), (2, "n1", 90, "leader"), (3, "n2", 90, "")), True),
        ([], False),
    ],
    ids=["caught up", "behind", "two masters", "no master", "one is silent", "only before", "down",
         "a longer log was cut", "nothing"],
)  # fmt: skip
def test_when_brokers_with_an_elected_master_have_caught_up(answers: list[Probe], recovered: bool) -> None:
    assert one_master(answers, BOTH, 1) == recovered


def test_each_node_is_asked_for_by_itself_too() -> None:
    answers = probes((1, "n1", 90, "leader"), (1, "n2", 80, ""), (2, "n1", 95, "leader"), (2, "n2", 89, ""))
    assert one_master(answers, ["n1"], 1)
    assert not one_master(answers, ["n2"], 1)
    assert one_master([*answers, *probes((3, "n2", 90, ""))], ["n2"], 1)


def test_queues_that_are_not_built_have_not_caught_up() -> None:
    late = Probe(1, "n2", role="follower", applied=50, own={END: 90})
    assert not one_master([*probes((1, "n1", 90, "leader")), late], BOTH, 1)


def test_a_slave_that_has_not_acknowledged_to_the_master_has_not_caught_up() -> None:
    """A deposed leader's log may be longer, and lacks what the new leader acknowledged."""
    deposed = Probe(1, "n2", role="follower", applied=99, own={END: 99})
    assert not one_master([*probes((1, "n1", 90, "leader"), acknowledged=89), deposed], BOTH, 1)
    assert one_master([*probes((1, "n1", 90, "leader"), acknowledged=90), deposed], BOTH, 1)
    unconnected = Probe(1, "n1", role="leader", applied=90, own={END: 90})
    assert not one_master([unconnected, deposed], BOTH, 1)
    assert not one_master([unconnected, deposed, replace(deposed, time=2)], BOTH, 1)
    assert one_master([unconnected, deposed, replace(deposed, time=2, own={END: 100})], BOTH, 1), "from another slave"
    assert not one_master([unconnected, deposed, replace(deposed, time=2, own={END: 100}, applied=89)], BOTH, 1)
