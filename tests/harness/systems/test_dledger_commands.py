"""The register's life on a node: command lines as values, and their scripts run for real, here, in a directory."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from harness.errors import NotReadyError, RemoteError, UsageError
from harness.plan import Plan
from harness.remote.node import Node
from harness.systems import DLedgerRegister, StatusPort
from harness.systems import dledger as dledger_module
from nemesis.core.ports import Command, Completed

JAR_HASH = "0163f1eea7894350"  # of b"jar"

# Stays what it is when it runs, with its arguments on its command line, as a JVM does.
FAKE_JAVA = """#!/bin/sh
echo "serving as $*"
while :; do sleep 0.2; done
"""


@dataclass
class LocalNodes:
    """Runs every command on this machine; ``path`` is where it looks for programs first."""

    path: Path
    sent: list[tuple[str, Command]] = field(default_factory=list)
    uploads: list[str] = field(default_factory=list)

    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        self.sent += commands.items()
        return {node: self._run_one(node, command) for node, command in commands.items()}

    def _run_one(self, node: str, command: Command) -> Completed:
        environment = {**os.environ, "PATH": f"{self.path}:{os.environ['PATH']}"}
        done = subprocess.run(
            command.argv, input=command.stdin, capture_output=True, text=True, timeout=command.timeout, env=environment
        )
        return Completed(node, done.returncode, done.stdout, done.stderr, 0.0)

    def upload_all(self, local: Path, remote: str) -> None:
        self.uploads.append(remote)

    def download_tree(self, node: str, remote: str, local: Path) -> None:
        shutil.copytree(remote, local, dirs_exist_ok=True)


def node(name: str, data_dir: str = "/data") -> Node:
    number = int(name[1:])
    return Node(name, f"10.0.0.{10 + number}", "127.0.0.1", 22, "root", Path("key"), None, data_dir)


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "dist"
    directory.mkdir()
    for version in ("0.4.0", "0.3.2"):
        (directory / f"dledger-register-{version}.jar").write_bytes(b"jar")
    monkeypatch.setattr(dledger_module, "JAR_DIRECTORY", directory)
    return directory


@dataclass
class Scene:
    system: DLedgerRegister
    nodes: LocalNodes
    home: Path

    def pid(self) -> int | None:
        return self.system.pids(["n1"])["n1"]

    def eventually(self, look: Callable[[], object]) -> None:
        deadline = time.monotonic() + 3
        while not look():
            assert time.monotonic() < deadline, look
            time.sleep(0.01)


@pytest.fixture
def scene(tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A system of one node whose data directory is below ``tmp_path`` and whose JVM is a shell script."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "java").write_text(FAKE_JAVA)
    (programs / "java").chmod(0o755)
    nodes = LocalNodes(programs)
    system = DLedgerRegister(Plan(seed=1), [node("n1", str(tmp_path / "data"))], nodes, time.monotonic)
    monkeypatch.setattr(system, "_listening", lambda name: True)
    system.install()
    scene = Scene(system, nodes, tmp_path / "data" / "harness")
    yield scene
    scene.system.kill(["n1"])


# -- command lines ---------------------------------------------------------------------------------------------------


def test_the_command_line_of_a_server(jars: Path) -> None:
    system = DLedgerRegister(Plan(seed=1), [node("n1"), node("n2"), node("n3")], LocalNodes(jars), time.monotonic)
    words = system.java_command("n2")
    place = words.index("-jar")
    assert words[0] == "java"
    assert words[place - 1] == "-Dharness.node=n2"
    assert " ".join(words[place:]) == (
        f"-jar /data/harness/register-{JAR_HASH}.jar --id n2 --group harness "
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
        ({"store": "MEMORY"}, "--store MEMORY"),
        ({"canary": "stale-reads", "unsafe_test_mode": True}, "--unsafe-test-mode --canary stale-reads"),
    ],
)
def test_the_plan_reaches_the_command_line(jars: Path, changes: dict[str, Any], words: str) -> None:
    plan = replace(Plan(seed=1), **changes)
    system = DLedgerRegister(plan, [node("n1")], LocalNodes(jars), time.monotonic)
    assert f" {words} " in f" {' '.join(system.java_command('n1'))} "


def test_each_node_has_its_own_data_directory_and_the_jar_goes_to_all_of_them(jars: Path) -> None:
    nodes = LocalNodes(jars)
    system = DLedgerRegister(Plan(seed=1), [node("n1", "/a"), node("n2", "/b")], nodes, time.monotonic)
    assert "/b/harness/register" in system.java_command("n2")
    assert system.endpoints() == {"n1": ("10.0.0.11", 20912), "n2": ("10.0.0.12", 20912)}
    nodes.run = lambda commands: {name: Completed(name, 0, "", "", 0.0) for name in commands}  # type: ignore[method-assign]
    system.install()
    assert sorted(nodes.uploads) == [f"/{place}/harness/register-{JAR_HASH}.jar" for place in "ab"]


def test_a_jar_that_was_not_built_is_named_with_the_mend(jars: Path) -> None:
    (jars / "dledger-register-0.4.0.jar").unlink()
    system = DLedgerRegister(Plan(seed=1), [node("n1")], LocalNodes(jars), time.monotonic)
    with pytest.raises(UsageError, match=r"dledger-register-0\.4\.0\.jar was not built; run scripts/bootstrap"):
        system.install()


# -- the life of a process -------------------------------------------------------------------------------------------


def test_start_is_seen_and_repeated_without_effect_and_kill_ends_it(scene: Scene) -> None:
    assert scene.pid() is None
    scene.system.start(["n1"])
    scene.eventually(scene.pid)
    first = scene.pid()
    assert first is not None
    assert b"-Dharness.node=n1" in Path(f"/proc/{first}/cmdline").read_bytes()
    scene.system.start(["n1"])
    time.sleep(0.05)
    assert scene.pid() == first
    scene.system.kill(["n1"])
    assert not Path(f"/proc/{first}/cmdline").exists() or not Path(f"/proc/{first}/cmdline").read_bytes()
    assert scene.pid() is None
    scene.system.kill(["n1"])


def test_the_process_leads_a_group_and_a_session_of_its_own(scene: Scene) -> None:
    """A signal to our own group must never reach it, and its children must die with it."""
    scene.system.start(["n1"])
    scene.eventually(scene.pid)
    pid = scene.pid()
    assert pid is not None
    assert (os.getpgid(pid), os.getsid(pid)) == (pid, pid)


def test_the_process_and_nothing_else_gets_the_environment_it_is_given(scene: Scene) -> None:
    """What libfaketime needs reaches the server, also when it is started again; the shells before it go without."""

    def variables() -> str:
        pid = scene.pid()
        return Path(f"/proc/{pid}/environ").read_text().replace("\0", "\n") if pid else ""

    scene.system.start(["n1"])
    scene.eventually(lambda: "PATH=" in variables())
    assert "HARNESS_TEST" not in variables()
    scene.system.kill(["n1"])
    scene.system.set_environments({"n1": {"HARNESS_TEST": "a b"}})
    for _ in range(2):
        scene.system.start(["n1"])
        scene.eventually(lambda: "\nHARNESS_TEST=a b\n" in "\n" + variables())
        scene.system.kill(["n1"])
    assert "HARNESS_TEST" not in scene.system.java_command("n1")


def test_what_it_prints_is_in_its_console_log(scene: Scene) -> None:
    scene.system.start(["n1"])
    scene.eventually(lambda: "serving as" in (scene.home / "log" / "console.log").read_text())


def test_a_pid_that_belongs_to_somebody_else_now_is_left_alone(scene: Scene) -> None:
    other = subprocess.Popen(["sleep", "30"])
    try:
        (scene.home / "pid").write_text(f"{other.pid}\n")
        assert scene.pid() is None
        scene.system.kill(["n1"])
        assert other.poll() is None
        scene.system.start(["n1"])
        scene.eventually(scene.pid)
        assert scene.pid() != other.pid
    finally:
        other.kill()
        other.wait()


def test_wipe_removes_store_and_logs_and_keeps_the_jar(scene: Scene) -> None:
    for below in ("register/data", "log/register.log", "pid", f"register-{JAR_HASH}.jar"):
        (scene.home / below).parent.mkdir(parents=True, exist_ok=True)
        (scene.home / below).touch()
    scene.system.wipe()
    assert sorted(path.name for path in scene.home.iterdir()) == ["log", f"register-{JAR_HASH}.jar"]
    assert list((scene.home / "log").iterdir()) == []


def test_a_command_that_fails_names_node_and_step(scene: Scene) -> None:
    shutil.rmtree(scene.home)
    scene.home.touch()
    with pytest.raises(RemoteError, match=r"n1: mkdir ended with 1: .*mkdir"):
        scene.system.install()


def test_collected_are_logs_the_list_of_files_the_term_and_the_store(scene: Scene, tmp_path: Path) -> None:
    store = scene.home / "register" / "dledger-n1"
    store.mkdir(parents=True)
    (store / "currterm").write_text("term 4")
    (scene.home / "log" / "register.log").write_text("a line")
    assert scene.system.collect(tmp_path / "evidence") == []
    found = {path.name: path for path in (tmp_path / "evidence" / "n1").iterdir()}
    assert set(found) >= {"register.log", "files.txt", "currterm", "store.tar.gz"}
    assert found["register.log"].read_text() == "a line"
    assert found["currterm"].read_text() == "term 4"
    assert "currterm" in found["files.txt"].read_text()
    listed = subprocess.run(["tar", "-tzf", found["store.tar.gz"]], capture_output=True, text=True, check=True)
    assert "register/dledger-n1/currterm" in listed.stdout


def test_what_cannot_be_collected_is_told_and_never_raised(scene: Scene, tmp_path: Path) -> None:
    def gone(*_: object) -> None:
        raise RemoteError("n1", "no SSH server answered")

    scene.nodes.download_tree = gone  # type: ignore[method-assign,assignment]
    (line,) = scene.system.collect(tmp_path / "evidence")
    assert "no SSH server answered" in line


# -- readiness -------------------------------------------------------------------------------------------------------


class Answers:
    """Stands for ``StatusPort``: what each address answers, None for nobody there."""

    def __init__(self, answers: dict[str, Any]) -> None:
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


def ready_system(jars: Path, alive: bool = True, **plan: Any) -> DLedgerRegister:
    nodes = LocalNodes(jars)
    ticks = count(0.0, 0.5)
    pid = "17\n" if alive else ""
    nodes.run = lambda commands: {  # type: ignore[method-assign]
        name: Completed(name, 0, "Exception: boom\n" if command.argv[3] == "tail" else pid, "", 0.0)
        for name, command in commands.items()
    }
    return DLedgerRegister(Plan(seed=1, **plan), [node("n1"), node("n2")], nodes, lambda: next(ticks))


def test_ready_is_a_node_that_serves_a_read_through_a_quorum(jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers({"10.0.0.11": {"ok": False, "name": "NOT_LEADER"}, "10.0.0.12": {"ok": True, "value": None}})
    monkeypatch.setattr(dledger_module, "StatusPort", answers)
    assert ready_system(jars).await_leader() == "n2"
    assert answers.requests[-1] == {"op": "read", "key": "ready", "mode": "log"}


def test_no_leader_in_time_is_not_ready(jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dledger_module, "StatusPort", Answers({"10.0.0.11": {"ok": False}}))
    with pytest.raises(NotReadyError) as caught:
        ready_system(jars, ready_timeout=3.0).await_leader()
    assert "did not lead and serve a read through a quorum within 3 s" in str(caught.value)
    assert "Exception: boom" in str(caught.value)


def test_a_server_that_dies_at_start_shows_the_end_of_its_log(jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dledger_module, "StatusPort", Answers({"10.0.0.11": {"ok": True}}))
    with pytest.raises(NotReadyError, match=r"the server on n2 ended while starting; (?s:.*)Exception: boom"):
        ready_system(jars, alive=False).start(["n1", "n2"])


def test_start_returns_when_every_node_answers(jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers({"10.0.0.11": {"ok": True}, "10.0.0.12": {"ok": True}})
    monkeypatch.setattr(dledger_module, "StatusPort", answers)
    ready_system(jars).start(["n1", "n2"])
    assert answers.requests == [{"op": "status"}] * 2


# -- the blocking question ---------------------------------------------------------------------------------------------


@pytest.fixture
def answering() -> Iterator[Callable[[list[bytes]], StatusPort]]:
    """A server that takes one connection, reads a line and sends the given pieces, 20 ms apart."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(pieces: list[bytes]) -> None:
        connection, _ = listener.accept()
        with connection:
            assert json.loads(connection.makefile().readline())["op"] == "status"
            for piece in pieces:
                try:
                    connection.sendall(piece)
                except OSError:
                    return
                time.sleep(0.02)

    def scene(pieces: list[bytes]) -> StatusPort:
        threads.append(threading.Thread(target=serve, args=(pieces,)))
        threads[-1].start()
        return StatusPort(*listener.getsockname())

    yield scene
    for thread in threads:
        thread.join()
    listener.close()


def test_an_answer_in_pieces(answering: Callable[[list[bytes]], StatusPort]) -> None:
    assert answering([b'{"ok":', b"true}", b"\n"]).ask({"op": "status"}) == {"ok": True}


@pytest.mark.parametrize(
    ("pieces", "error"), [([b'{"ok":'], OSError), ([], OSError), ([b"what\n"], ValueError), ([b"[1]\n"], ValueError)]
)
def test_no_answer(answering: Callable[[list[bytes]], StatusPort], pieces: list[bytes], error: type[Exception]) -> None:
    with pytest.raises(error):
        answering(pieces).ask({"op": "status"})


def test_an_answer_that_drips_does_not_outlive_the_timeout(answering: Callable[[list[bytes]], StatusPort]) -> None:
    began = time.monotonic()
    with pytest.raises(OSError, match="timed out"):
        answering([b"x"] * 1000).ask({"op": "status"}, timeout=0.1)
    assert time.monotonic() - began < 10
