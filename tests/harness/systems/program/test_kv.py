"""The tutorial's key-value server and its clients, on loopback."""

from __future__ import annotations

import io
import json
import runpy
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.harness.kv_servers import EXAMPLE, Servers, free_address, serving

pytestmark = pytest.mark.slow
CLIENTS = {"python": (sys.executable, str(EXAMPLE / "client.py")), "shell": (str(EXAMPLE / "client.sh"),)}


def answers(servers: Servers, language: str, *operations: tuple[str, str, Any, str]) -> list[dict[str, Any]]:
    requests = [
        {"id": number, "f": f, "key": key, "value": value, "node": node, "address": "", "worker": 0, "timeout": 8.0}
        for number, (f, key, value, node) in enumerate(operations)
    ]
    lines = "".join(json.dumps(request, separators=(",", ":")) + "\n" for request in requests)
    done = subprocess.run((*CLIENTS[language], servers.peers), input=lines, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one.pop("id") for one in found] == list(range(len(operations))), done.stderr
    return found


@pytest.mark.parametrize("language", CLIENTS)
@pytest.mark.parametrize("replication", ["sync", "async"])
def test_a_client_writes_and_reads_through_any_node(tmp_path: Path, language: str, replication: str) -> None:
    with serving(tmp_path, replication) as servers:
        servers.primary()
        assert answers(
            servers, language,
            ("read", "y", None, "n1"), ("write", "y", 3, "n2"), ("read", "y", None, "n3"), ("read", "z", None, "n1"),
        ) == [{"type": "ok", "value": value} for value in (None, None, 3, None)]  # fmt: skip


@pytest.mark.parametrize("language", CLIENTS)
def test_a_client_says_fail_only_of_what_was_never_sent(tmp_path: Path, language: str) -> None:
    with serving(tmp_path, "sync") as servers:
        primary = servers.primary()
        for name in servers.addresses:
            if name != primary:
                servers.kill(name)
        [doubt] = answers(servers, language, ("write", "y", 3, primary))
        assert doubt["type"] == "info"
        servers.kill(primary)
        [refused] = answers(servers, language, ("write", "y", 4, primary))
        assert refused["type"] == "fail"


def lost(servers: Servers) -> list[int]:
    """Which of the acknowledged writes are gone, when the primary is killed after the last of them."""
    primary = servers.primary()
    acknowledged = [number for number in range(60) if servers.ask(primary, f"set k{number} {number}") == "ok"]
    servers.kill(primary)
    after = servers.primary()
    assert len(acknowledged) > 30  # a busy machine may answer some too late
    return [number for number in acknowledged if servers.ask(after, f"get k{number}") != f"ok {number}"]


def test_a_primary_that_answers_before_it_copies_loses_what_it_acknowledged(tmp_path: Path) -> None:
    with serving(tmp_path, "async") as servers:
        assert lost(servers)


@pytest.mark.slow
def test_one_that_copies_first_loses_nothing_and_all_of_it_outlives_the_end_of_every_process(tmp_path: Path) -> None:
    with serving(tmp_path, "sync") as servers:
        assert lost(servers) == []
        for name in list(servers.processes):
            servers.kill(name)
        for name in servers.addresses:
            servers.start(name)
        after = servers.primary()
        assert [servers.ask(after, f"get k{number}") for number in range(60)] == [f"ok {n}" for n in range(60)]


def test_a_server_logs_its_start(tmp_path: Path) -> None:
    """`harness system check` misses the log of a node that says nothing."""
    servers = Servers(tmp_path, "sync", {name: free_address() for name in ("n1", "n2", "n3")})
    with (tmp_path / "n1.log").open("w+") as file:
        servers.start("n1", file)
        try:
            servers.await_answer("n1")
            assert (tmp_path / "n1.log").read_text() == f"n1 listens on {servers.addresses['n1']} and holds change 0\n"
        finally:
            servers.kill("n1")


def test_a_server_that_cannot_save_ends_even_where_it_cannot_say_so(tmp_path: Path) -> None:
    """Its log lies on the disk that fails as well: it went on with a view that it forgot when it was started again."""
    (tmp_path / "n1/copy.new").mkdir(parents=True)
    servers = Servers(tmp_path, "sync", {name: free_address() for name in ("n1", "n2", "n3")})
    with Path("/dev/full").open("w") as full:
        servers.start("n1", full)
        try:
            servers.await_answer("n1")
            with socket.create_connection(("127.0.0.1", int(servers.addresses["n1"].split(":")[1]))) as other:
                other.sendall(b'{"promised": 6}\n')
                with suppress(ConnectionError):
                    assert servers.ask("n1", "status") == ""
            assert servers.processes["n1"].wait(30) == 1
        finally:
            servers.kill("n1")


def test_the_client_answers_within_its_timeout_whatever_the_nodes_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every connection and every answer takes as long as it may, and every node names another."""
    now, others = [0.0], iter(["n2", "n3", "n1"])

    class Link:
        def settimeout(self, seconds: float) -> None:
            self.seconds = seconds

        def sendall(self, line: bytes) -> None: ...

        def makefile(self) -> Link:
            return self

        def readline(self) -> str:
            now[0] += self.seconds
            return f"no {next(others)}"

    def connect(_address: object, seconds: float) -> Link:
        now[0] += seconds / 2
        return Link()

    out = io.StringIO()
    request: dict[str, Any] = {"id": 1, "f": "read", "key": "x", "value": None, "node": "n1", "timeout": 8.0}
    monkeypatch.setattr("sys.argv", ["client.py", "n1=a:1,n2=b:2,n3=c:3"])
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(request) + "\n"))
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("socket.create_connection", connect)
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    runpy.run_path(str(EXAMPLE / "client.py"))
    assert json.loads(out.getvalue())["type"] == "fail"
    assert now[0] <= request["timeout"]
