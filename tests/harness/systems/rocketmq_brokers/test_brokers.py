"""RocketMQ's brokers: their configuration, their topics, what runs where, and when they serve."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.systems import Machine, Setup
from harness.systems.api import Role, System
from harness.systems.remoting import Answer
from harness.systems.rocketmq_brokers import DLEDGER, HA, brokers

NODES = tuple(Machine(f"n{number}", f"10.0.0.{number}") for number in (1, 2, 3))


def setup(system: System, **options: Any) -> Setup:
    chosen = {option.name: option.default for option in system.options}
    return Setup(version="5.3.3", options={**chosen, "queues": 3, **options}, nodes=NODES)


def lines(role: Role, file: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in role.files[file].splitlines())


def test_a_broker_on_dledger_names_all_peers_and_lets_slaves_be_read() -> None:
    second = lines(DLEDGER.roles(setup(DLEDGER))[1], "broker.conf")
    assert second["dLegerPeers"] == "n1-10.0.0.1:40911;n2-10.0.0.2:40911;n3-10.0.0.3:40911"
    assert (second["dLegerSelfId"], second["brokerIP1"]) == ("n2", "10.0.0.2")
    assert second["slaveReadEnable"] == second["offsetCheckInSlave"] == "true"


@pytest.mark.parametrize(("controllers", "nodes"), [("all", ["n1", "n2", "n3"]), ("one", ["n1"])])
def test_controllers_and_the_name_server_are_there_before_the_brokers(controllers: str, nodes: list[str]) -> None:
    roles = HA.roles(setup(HA, controllers=controllers))
    stages = {name: {role.stage for role in roles if role.name == name} for name in ("namesrv", "controller", "broker")}
    assert stages == {"namesrv": {0}, "controller": {0}, "broker": {1}}
    assert [role.node for role in roles if role.name == "controller"] == nodes
    assert [role.node for role in roles if role.name == "namesrv"] == ["n1"]
    for role in roles:
        if role.name == "broker":
            conf = lines(role, "broker.conf")
            assert conf["controllerAddr"] == ";".join(f"10.0.0.{node[1:]}:9878" for node in nodes)
            assert conf["namesrvAddr"] == "10.0.0.1:9876"


@pytest.mark.parametrize("victims", ["broker", "controller"])
def test_process_faults_hit_brokers_or_controllers(victims: str) -> None:
    surface, roles = HA.surface(setup(HA, victims=victims)), HA.roles(setup(HA))
    assert surface.role == victims
    assert {role.data for role in roles if role.name == victims} == {(surface.store,)}


@pytest.mark.parametrize(("all_ack", "text"), [(True, "true"), (False, "false")])
def test_all_ack(all_ack: bool, text: str) -> None:
    roles = [role for role in HA.roles(setup(HA, all_ack=all_ack)) if role.name == "broker"]
    assert {lines(role, "broker.conf")["allAckInSyncStateSet"] for role in roles} == {text}


@pytest.mark.parametrize("system", [DLEDGER, HA])
def test_every_broker_knows_the_topics_from_the_start(system: System) -> None:
    roles = [role for role in system.roles(setup(system)) if role.name == "broker"]
    assert [role.node for role in roles] == ["n1", "n2", "n3"]
    for role in roles:
        table = json.loads(role.files["store/config/topics.json"])["topicConfigTable"]
        assert {name: topic["writeQueueNums"] for name, topic in table.items()} == {"harness": 3, "ready": 1}


@pytest.mark.parametrize("system", [DLEDGER, HA])
def test_each_version_has_jars_of_its_own(system: System) -> None:
    made = {artifact.key for version in system.versions for artifact in system.artifacts(Setup(version=version))}
    assert len(made) == len(system.versions)


@pytest.mark.parametrize(("taking", "leader"), [("10.0.0.2", "n2"), (None, None)])
def test_brokers_serve_when_one_takes_a_message(
    monkeypatch: pytest.MonkeyPatch, taking: str | None, leader: str | None
) -> None:
    def ask(address: tuple[str, int], *_: object) -> Answer:
        if address[0] == "10.0.0.1":
            raise ConnectionRefusedError
        return Answer(0 if address[0] == taking else 2, "", {}, b"", 1)

    monkeypatch.setattr(brokers, "ask", ask)
    assert brokers.leads(setup(DLEDGER)) == leader
