"""RocketMQ's controllers: their configuration, and when they are taken to serve."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.systems import Machine, Setup
from harness.systems.api import Evidence
from harness.systems.remoting import Answer
from harness.systems.rocketmq import SYSTEM, controllers, one_leader, requests
from history import Probe
from history.records.violations import state_of

NODES = tuple(Machine(f"n{number}", f"10.0.0.{number}") for number in (1, 2, 3))
OPTIONS: dict[str, Any] = {option.name: option.default for option in SYSTEM.options}


def setup(version: str = "5.3.3", **options: Any) -> Setup:
    return Setup(version=version, options={**OPTIONS, **options}, nodes=NODES)


def settings(found: Setup, node: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in controllers.configuration(found, node).splitlines())


def test_the_configuration_of_dledger_mode() -> None:
    lines = settings(setup(), "n2")
    assert lines["controllerDLegerPeers"] == "n1-10.0.0.1:9878;n2-10.0.0.2:9878;n3-10.0.0.3:9878"
    assert (lines["controllerDLegerSelfId"], lines["processReadEvent"]) == ("n2", "true")
    assert settings(setup(reads="local"), "n2")["processReadEvent"] == "false"
    assert "controllerType" not in settings(setup("5.1.4"), "n1"), "5.1.4 does not know it"


def test_the_configuration_of_jraft_mode() -> None:
    lines = settings(setup(mode="jraft", snapshot_interval=5, election_timeout=20000), "n2")
    assert lines["jRaftServerId"] == "10.0.0.2:9879"
    assert lines["jRaftInitConf"] == "10.0.0.1:9879,10.0.0.2:9879,10.0.0.3:9879"
    assert lines["jRaftControllerRPCAddr"] == "10.0.0.1:9878,10.0.0.2:9878,10.0.0.3:9878"
    assert (lines["jRaftSnapshotIntervalSecs"], lines["jRaftElectionTimeoutMs"]) == ("5", "20000")


@pytest.mark.parametrize("mode", ["dledger", "jraft"])
def test_no_controller_elects_or_calls_a_broker_by_itself(mode: str) -> None:
    lines = settings(setup(mode=mode), "n1")
    assert lines["notifyBrokerRoleChanged"] == lines["enableElectUncleanMaster"] == "false"
    assert min(int(lines["scanNotActiveBrokerInterval"]), int(lines["scanInactiveMasterInterval"])) > 86_400_000


def test_one_log_a_node_with_milliseconds() -> None:
    role = SYSTEM.roles(setup())[0]
    assert "<file>/data/harness/log/controller.log</file>" in role.files["logback.xml"]
    assert "SSS,UTC" in role.files["logback.xml"]
    assert "-Drmq.logback.configurationFile=/data/harness/logback.xml" in role.command


def test_5_1_4_has_no_jraft() -> None:
    assert "5.2.0" in str(SYSTEM.refuse(setup("5.1.4", mode="jraft")))
    assert SYSTEM.refuse(setup("5.1.4")) is SYSTEM.refuse(setup("5.2.0", mode="jraft")) is None


@pytest.mark.parametrize(("mode", "port"), [("dledger", 9878), ("jraft", 9879)])
def test_where_the_controllers_talk_to_each_other(mode: str, port: int) -> None:
    surface = SYSTEM.surface(setup(mode=mode))
    assert (surface.peer_ports, surface.client_port) == ((port,), 9878)
    assert ("snapshot" in surface.store_files) == (mode == "jraft")


def metadata(code: int, leads: bool = False) -> Answer:
    return Answer(code, "", {"isLeader": str(leads).lower()}, b"", 1)


@pytest.mark.parametrize(
    ("answers", "leader"),
    [
        ([metadata(0), metadata(0, leads=True), *[metadata(0)] * 9], "n2"),
        ([metadata(0), metadata(0, leads=True), metadata(requests.NOT_LEADER), metadata(0)], None),
        ([metadata(0), metadata(0, leads=True), metadata(1), metadata(0)], None),
        ([metadata(0), metadata(0), metadata(0)], None),
        ([ConnectionRefusedError(), metadata(0, leads=True), *[metadata(0)] * 9], "n2"),
    ],
)  # fmt: skip
def test_the_leader_is_the_one_that_takes_the_brokers(
    monkeypatch: pytest.MonkeyPatch, answers: Sequence[Any], leader: str | None
) -> None:
    waiting = list(answers)

    def ask(*_: Any, **__: Any) -> Answer:
        found = waiting.pop(0)
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, Answer)
        return found

    monkeypatch.setattr(controllers, "ask", ask)
    assert SYSTEM.leads(setup()) == leader


def probe(time: int, node: str, leader: str | None, **more: Any) -> Probe:
    return Probe(time, node, role="follower", leader=leader, **more)


@pytest.mark.parametrize(
    ("probes", "recovered"),
    [
        ([probe(6, "n1", "n2"), probe(7, "n2", "n2")], True),
        ([probe(6, "n1", "n2"), probe(7, "n2", "n1")], False),
        ([probe(6, "n1", "n2"), probe(7, "n2", None)], False),
        ([probe(4, "n1", "n2"), probe(7, "n2", "n2")], False),
        ([probe(6, "n1", "n1"), probe(7, "n2", "n2"), probe(8, "n1", "n2")], True),
    ],
)
def test_it_has_recovered_when_all_name_one_leader(probes: list[Probe], recovered: bool) -> None:
    assert one_leader(probes, ("n1", "n2"), 5) == recovered


LOG = """05:11:50.578 INFO JRaft-Closure-Executor-0 - Save snapshot, path=/data/harness/controller/snapshot/temp
05:11:50.578 INFO JRaft-FSMCaller-Disruptor-0 - Load snapshot from /data/harness/controller/snapshot/snapshot_9
05:11:50.578 INFO JRaft-RPC-Processor-16 - Node harness:1 received InstallSnapshotResponse from 2 success=true
05:11:55.677 INFO JRaft-RPC-Processor-7 - Node harness:1 received InstallSnapshotResponse from 2 error:Status[]
"""


@pytest.mark.parametrize(
    ("mode", "log", "verdict", "seen"),
    [
        ("jraft", LOG, "valid", "saved 1, loaded 1, installed on others 1"),
        ("jraft", "", "unknown", "saved 0, loaded 0, installed on others 0"),
        ("dledger", "", "skipped", "DLedger mode makes none"),
    ],
)
def test_snapshots_are_witnessed(tmp_path: Path, mode: str, log: str, verdict: str, seen: str) -> None:
    (tmp_path / "n1").mkdir()
    (tmp_path / "n1" / "controller.log").write_text(log)
    (check,) = SYSTEM.invariants
    found = check(
        Evidence(setup=setup(mode=mode), nodes=("n1",), operations=(), probes=(), receipts=(), moments={},
                 files=tmp_path)
    )  # fmt: skip
    assert (found.name, state_of(found.to_json()), found.seen) == ("snapshots", verdict, seen)
