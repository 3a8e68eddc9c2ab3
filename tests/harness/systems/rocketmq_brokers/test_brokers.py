"""RocketMQ's brokers on DLedger: their configuration, their topics, and when the group serves."""

from __future__ import annotations

import json

import pytest

from harness.systems import Machine, Setup
from harness.systems.remoting import Answer
from harness.systems.rocketmq_brokers import DLEDGER, brokers

NODES = tuple(Machine(f"n{number}", f"10.0.0.{number}") for number in (1, 2, 3))
SETUP = Setup(version="5.3.3", options={"queues": 3}, nodes=NODES)


def test_the_configuration_names_all_peers_and_lets_slaves_be_read() -> None:
    lines = dict(line.split("=", 1) for line in brokers.configuration(SETUP, "n2").splitlines())
    assert lines["dLegerPeers"] == "n1-10.0.0.1:40911;n2-10.0.0.2:40911;n3-10.0.0.3:40911"
    assert (lines["dLegerSelfId"], lines["brokerIP1"], lines["slaveReadEnable"]) == ("n2", "10.0.0.2", "true")


def test_every_broker_knows_the_topics_from_the_start() -> None:
    roles = brokers.roles(SETUP)
    assert [role.node for role in roles] == ["n1", "n2", "n3"]
    for role in roles:
        table = json.loads(role.files["store/config/topics.json"])["topicConfigTable"]
        assert {name: topic["writeQueueNums"] for name, topic in table.items()} == {"harness": 3, "ready": 1}


def test_each_version_has_jars_of_its_own() -> None:
    made = {brokers.jars(Setup(version=version, nodes=NODES)).key for version in DLEDGER.versions}
    assert len(made) == len(DLEDGER.versions)


@pytest.mark.parametrize(("taking", "leader"), [("10.0.0.2", "n2"), (None, None)])
def test_a_group_serves_when_a_node_takes_a_message(
    monkeypatch: pytest.MonkeyPatch, taking: str | None, leader: str | None
) -> None:
    def ask(address: tuple[str, int], *_: object) -> Answer:
        if address[0] == "10.0.0.1":
            raise ConnectionRefusedError
        return Answer(0 if address[0] == taking else 2, "", {}, b"", 1)

    monkeypatch.setattr(brokers, "ask", ask)
    assert brokers.leads(SETUP) == leader
