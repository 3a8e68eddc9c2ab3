"""The key-value server of the examples, as processes on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/kv"


@dataclass
class Servers:
    """Three servers; ``peers`` is the argument of the clients."""

    directory: Path
    replication: str
    addresses: dict[str, str]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def peers(self) -> str:
        return ",".join(f"{name}={address}" for name, address in self.addresses.items())

    def start(self, name: str, stdout: IO[str] | None = None) -> None:
        words = (sys.executable, str(EXAMPLE / "server.py"), "--node", name, "--peers", self.peers)
        more = ("--data", str(self.directory / name), "--replication", self.replication)
        self.processes[name] = subprocess.Popen((*words, *more), stdout=stdout)

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes.pop(name).wait()

    def ask(self, name: str, line: str) -> str:
        host, port = self.addresses[name].split(":")
        with socket.create_connection((host, int(port)), 5) as link:
            link.sendall(line.encode() + b"\n")
            return link.makefile().readline().strip()

    def await_answer(self, name: str) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                self.ask(name, "status")
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError(f"{name} does not answer")

    def primary(self) -> str:
        """Return the node that leads and serves; wait until there is one."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            for name in self.processes:
                try:
                    if json.loads(self.ask(name, "status"))["role"] == "leader" and self.ask(name, "get x")[:2] == "ok":
                        return name
                except (OSError, ValueError):
                    pass
            time.sleep(0.05)
        raise AssertionError("no node leads")


def free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@contextmanager
def serving(directory: Path, replication: str) -> Iterator[Servers]:
    servers = Servers(directory, replication, {name: free_address() for name in ("n1", "n2", "n3")})
    try:
        for name in servers.addresses:
            servers.start(name)
        for name in servers.addresses:
            servers.await_answer(name)
        yield servers
    finally:
        for name in list(servers.processes):
            servers.kill(name)
