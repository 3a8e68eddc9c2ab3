"""The servers of the register on DLedger: what a plan chooses is on their command lines, and who leads is asked."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ArtifactError, UsageError
from harness.plan import Plan
from harness.systems import Machine, Setup
from harness.systems.deployment import fetch
from harness.systems.dledger import SYSTEM, processes, status
from harness.systems.dledger.processes import java_command, leads, surface
from nemesis.core.ports import Command, Completed

NODES = tuple(Machine(f"n{number}", f"10.0.0.1{number}") for number in (1, 2, 3))


@pytest.fixture(autouse=True)
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for version in ("0.4.0", "0.3.2"):
        (tmp_path / f"dledger-register-{version}.jar").write_bytes(b"jar")
    monkeypatch.setattr(processes, "JAR_DIRECTORIES", (tmp_path,))
    return tmp_path


def setup(**changes: Any) -> Setup:
    return Plan.of({"seed": 1, **changes}).setup(NODES)


def test_the_command_line_of_a_server() -> None:
    words = java_command(setup(), "n2")
    place = words.index("-jar")
    assert words[0] == "java"
    assert words[place + 1].startswith("/data/harness/programs/register-")
    assert words[place + 1].endswith("/dledger-register-0.4.0.jar")
    assert " ".join(words[place + 2 :]) == (
        "--id n2 --group harness "
        "--peers n1-10.0.0.11:20911;n2-10.0.0.12:20911;n3-10.0.0.13:20911 "
        "--data-dir /data/harness/register --client-port 20912 --no-snapshot --snapshot-threshold 1000 "
        "--heartbeat-ms 250 --heartbeat-leak 3 --min-vote-ms 100 --max-vote-ms 300 "
        "--data-file-size 16777216 --index-file-size 5242880 --store FILE --log-file /data/harness/log/register.log"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"timers": "stock"}, "--heartbeat-ms 2000 --heartbeat-leak 3 --min-vote-ms 300 --max-vote-ms 1000"),
        ({"snapshot": True, "snapshot_threshold": 50}, "--snapshot --snapshot-threshold 50"),
        ({"store_type": "MEMORY"}, "--store MEMORY"),
        ({"planted_bug": "stale-reads", "unsafe_test_mode": True}, "--unsafe-test-mode --planted-bug stale-reads"),
    ],
)
def test_the_plan_reaches_the_command_line(changes: dict[str, Any], words: str) -> None:
    assert f" {words} " in f" {' '.join(java_command(setup(**changes), 'n1'))} "


def test_each_node_has_its_own_data_directory() -> None:
    two = replace(setup(), nodes=(Machine("n1", "10.0.0.11", "/a"), Machine("n2", "10.0.0.12", "/b")))
    assert "/b/harness/register" in java_command(two, "n2")


def test_another_jar_has_another_place_on_the_nodes(jars: Path) -> None:
    before = java_command(setup(), "n1")
    (jars / "dledger-register-0.4.0.jar").write_bytes(b"another")
    assert before != java_command(setup(), "n1")


def test_a_jar_that_was_not_built_is_named_with_the_mend(jars: Path) -> None:
    (jars / "dledger-register-0.4.0.jar").unlink()
    with pytest.raises(UsageError, match=r"dledger-register-0\.4\.0\.jar was not built; run scripts/bootstrap"):
        fetch(SYSTEM, setup(), print)


def test_a_jar_with_other_libraries_is_refused(jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = jars / "dledger-register-0.4.0.jar"

    def build(library: bytes = b"tested", service: bytes = b"io.Tested", ours: bytes = b"a") -> str:
        with zipfile.ZipFile(path, "w") as jar:
            jar.writestr("io/openmessaging/Server.class", library)
            jar.writestr("META-INF/services/io.Service", service)
            jar.writestr("register/Main.class", ours)
            jar.writestr("META-INF/NOTICE", ours)
        return processes.digest_of_libraries(path)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(processes, "LIBRARIES", {"0.4.0": build()})
    build(ours=b"b")
    fetch(SYSTEM, setup(), print)
    for changed in ({"library": b"other"}, {"service": b"register.Other"}):
        other = build(**changed)
        with pytest.raises(ArtifactError, match=other):
            fetch(SYSTEM, setup(), print)
    path.write_bytes(b"cut off")
    with pytest.raises(ArtifactError, match="damaged"):
        fetch(SYSTEM, setup(), print)


def test_what_faults_may_rely_on_follows_the_options() -> None:
    assert surface(setup()).snapshot_entries == 0
    assert surface(setup(snapshot=True, snapshot_threshold=7)).snapshot_entries == 7
    assert surface(setup()).memory_only == ""
    assert "--store-type FILE" in surface(setup(store_type="MEMORY")).memory_only


class Answers:
    """Stands for ``BlockingWire``: what each address answers, None for no server there."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers, self.requests = answers, list[dict[str, Any]]()

    def __call__(self, host: str, port: int) -> Any:
        self.host = host
        return self

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        self.requests.append(request)
        answer = self.answers.get(self.host)
        if answer is None:
            raise ConnectionRefusedError
        return answer


def test_who_leads_serves_a_read_through_a_quorum(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers({"10.0.0.11": {"ok": False, "name": "NOT_LEADER"}, "10.0.0.12": {"ok": True, "value": None}})
    monkeypatch.setattr(status, "BlockingWire", answers)
    assert leads(setup()) == "n2"
    assert answers.requests[-1] == {"op": "read", "key": "ready", "mode": "log"}


@pytest.mark.parametrize("answer", [None, {"ok": False}, {"ok": True, "applied": False}])
def test_a_read_that_went_through_no_quorum_is_no_leader(answer: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "BlockingWire", Answers({"10.0.0.11": answer}))
    assert leads(setup()) is None


class Shell:
    machine = NODES[0]

    def run(self, command: Command) -> Completed:
        return Completed("n1", 0, 'openjdk version "21"\n', "", 0.0)


def test_the_results_say_jar_java_and_timers() -> None:
    facts = processes.describe(setup(), Shell())
    assert set(facts) == {"jar_sha256", "java", "timers"}
    assert facts["java"] == 'openjdk version "21"'


def test_a_server_is_ready_when_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "BlockingWire", Answers({"10.0.0.11": {"ok": True}}))
    assert status.listens(Shell())
    monkeypatch.setattr(status, "BlockingWire", Answers({}))
    assert not status.listens(Shell())


def test_what_is_declared_is_what_plans_take() -> None:
    assert {one.name: one.default for one in SYSTEM.options} == dict(Plan(seed=0).setup().options)
