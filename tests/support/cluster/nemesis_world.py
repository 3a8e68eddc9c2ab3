"""Five real nodes with a toy system on them, to test the nemesis alone: a TCP echo on the peer port, without a JVM.

Its processes talk to each other, compute and write all the time (``toy_life``), so that they feel faults.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from harness.clusters.netns import STATE_ROOT, NetnsCluster
from harness.execution.fault_view import RunClock
from harness.remote.nodes import Remote
from harness.systems.node_scripts import PID, START
from history import Probe
from history.records.probes import Role
from nemesis.core.facts import survey
from nemesis.core.fault import Context, Fault, Settings
from nemesis.core.ports import Command, StartError
from nemesis.core.roles import signal

PORT = 20911
PROGRAM = "/run/toy-system.py"
IDLE = "/run/toy-idle"
PYTHON = "/usr/bin/python3"
#: The first use of iptables makes its empty tables, which then stay.
IPTABLES_ONCE = """for t in iptables ip6tables; do
  for m in filter mangle; do $t -w -t $m -A INPUT -j ACCEPT; $t -w -t $m -D INPUT -j ACCEPT; done
done"""
HOME = "/data/harness"

LIFE = Path(__file__).with_name("toy_life.py").read_text()

_ECHO = """
import mmap, os, signal, socket, threading, time
import toy_life
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("", 20911))
listener.listen(64)

def synced_writes():
    began = time.monotonic()
    with open("/data/toy-writes", "wb") as file:
        for _ in range(10):
            file.write(bytes(4096)); file.flush(); os.fsync(file.fileno())
    return str(time.monotonic() - began).encode()

def touched_memory():
    try:
        held = mmap.mmap(-1, 64 << 20)
        for page in range(0, 64 << 20, 4096):
            held[page] = 1
        return b"64 MB"
    except OSError as error:
        return str(error).encode()

ANSWERS = {b"clock": lambda: str(time.time()).encode(), b"writes": synced_writes, b"memory": touched_memory}

def serve():
    # Threads that are there already: one that is started without memory may keep its starter waiting for ever.
    while True:
        try:
            with listener.accept()[0] as connection:
                while data := connection.recv(65536):
                    connection.sendall(ANSWERS.get(data, lambda: data)())
        except (OSError, MemoryError):
            toy_life.pause(0.05)

def begin(start):
    while True:
        try:
            return start()
        except (OSError, RuntimeError, MemoryError):  # a machine that has no thread left for us now has one later
            toy_life.pause(0.05)

for _ in range(8):
    begin(threading.Thread(target=serve, daemon=True).start)
begin(toy_life.begin)
while True:
    signal.pause()
"""

#: Every node says its name to all others for some seconds and collects what it hears.
_CHATTER = """
import socket, sys, time
seconds, name, peers = float(sys.argv[1]), sys.argv[2], sys.argv[3:]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7006)); s.settimeout(0.02)
heard, ends = set(), time.monotonic() + seconds
while time.monotonic() < ends:
    for peer in peers:
        try:
            s.sendto(name.encode(), (peer, 7006))
        except OSError:
            pass
    try:
        while True:
            heard.add(s.recv(99).decode())
    except OSError:
        pass
print(*sorted(heard))
"""


@dataclass
class ToySystem:
    """A toy system; ``environment`` precedes the program's name in its command, and :meth:`work` sets ``works``."""

    remote: Remote
    leader: str = "n1"
    term: int = 1
    environment: tuple[str, ...] = ()
    said: dict[str, Probe] = field(default_factory=dict)
    works: bool = True

    def work(self, *faults: Fault) -> None:
        """Compute and write all the time if some of these faults are felt only then; otherwise only talk."""
        wanted = any(one.family in ("disk", "resource") or one.name.startswith("crash") for one in faults)
        if wanted != self.works:
            words = ("rm", "-f", IDLE) if wanted else ("touch", IDLE)
            self.remote.run(dict.fromkeys(self.remote.names, Command(words)))
            self.works = wanted

    def install(self) -> None:
        names = self.remote.names
        self.remote.run(dict.fromkeys(names, Command(("tee", PROGRAM), stdin=_ECHO)))
        self.remote.run(dict.fromkeys(names, Command(("tee", "/run/toy_life.py"), stdin=LIFE)))
        peers = {node: [self.remote.address(other) for other in names if other != node] for node in names}
        self.remote.run({n: Command(("tee", "/run/toy-peers"), stdin="\n".join(peers[n])) for n in names})
        self.start(names)

    def pids(self, nodes: Iterable[str]) -> dict[str, int | None]:
        done = self.remote.run(dict.fromkeys(nodes, Command(("sh", "-c", PID, "pid", HOME, "server"))))
        return {node: int(answer.stdout) if answer.stdout.strip() else None for node, answer in done.items()}

    def launch(self, commands: Mapping[str, tuple[str, ...]]) -> None:
        """Start a program as the system's process, as a deployment does."""
        words = ("sh", "-c", START, "start", HOME, "HARNESS_ROLE=toy/server", "server", "env", *self.environment)
        self.remote.run({node: Command((*words, *command)) for node, command in commands.items()})

    def end(self, nodes: Iterable[str]) -> None:
        self.remote.run(dict.fromkeys(nodes, signal(HOME, "server", "KILL")))

    def start(self, nodes: Iterable[str]) -> None:
        down = [node for node, pid in self.pids(nodes).items() if pid is None]
        self.launch(dict.fromkeys(down, (PYTHON, PROGRAM)))
        look = Command(("bash", "--norc", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{PORT}"))
        deadline = time.monotonic() + 120
        while any(answer.code for answer in self.remote.run(dict.fromkeys(down, look)).values()):
            if time.monotonic() > deadline:
                said = self.remote.run(
                    dict.fromkeys(down, Command(("tail", "-n", "3", f"{HOME}/log/server-console.log")))
                )
                raise StartError({n: f"does not answer; it printed {a.stdout!r}" for n, a in said.items()})

    def probes(self) -> Mapping[str, Probe]:
        up = self.pids(self.remote.names)
        return {name: self._probe(name, up[name]) for name in self.remote.names}

    def _probe(self, name: str, pid: int | None) -> Probe:
        if pid is None:
            return Probe(0, name, error="connection refused")
        role: Role = "leader" if name == self.leader else "follower"
        return self.said.get(name) or Probe(0, name, role, self.term, self.leader)


@dataclass
class World:
    ctx: Context
    remote: Remote
    system: ToySystem
    cluster: NetnsCluster

    def sh(self, node: str, script: str, *arguments: str, timeout: float = 60.0) -> str:
        """Return what a shell on the node prints; fail the test if it exits with a code other than 0."""
        done = self.remote.run({node: Command(("sh", "-c", script, "test", *arguments), timeout=timeout)})[node]
        assert done.code == 0, done
        return done.stdout

    def python(self, node: str, program: str, *arguments: str, timeout: float = 60.0) -> str:
        done = self.remote.run({node: Command((PYTHON, "-c", program, *arguments), timeout=timeout)})[node]
        assert done.code == 0, done
        return done.stdout

    def on_all(self, script: str) -> dict[str, str]:
        """Return what a shell prints on each node, run in parallel; fail the test if one does not exit with 0."""
        done = self.remote.run(dict.fromkeys(self.remote.names, Command(("sh", "-c", script), timeout=60.0)))
        assert not any(one.code for one in done.values()), done
        return {node: one.stdout for node, one in done.items()}

    @contextmanager
    def beside(self, node: str, program: str) -> Iterator[Path]:
        """Run a Python program on a node; yield the file of its output once its first line, ``ready``, is there.

        Two programs that are started at the same time would meet only if both start quickly.
        """
        file = "/run/beside"
        start = f'rm -f {file}; setsid {PYTHON} -c "$1" >{file} 2>&1 </dev/null & echo $!'
        pid = self.sh(node, start, program).strip()
        try:
            self.await_lines(node, file, 1)
            yield Path(file)
        finally:
            self.sh(node, f"kill -9 {pid} 2>/dev/null || true")

    def await_lines(self, node: str, file: str | Path, count: int) -> list[str]:
        """Return the lines of a file once there are this many."""
        wait = f"for i in $(seq 1500); do [ $(wc -l <{file}) -ge {count} ] && break; sleep 0.02; done; cat {file}"
        lines = self.sh(node, wait).splitlines()
        assert len(lines) >= count, lines
        return lines

    def hearing(self, seconds: float = 0.7) -> dict[str, set[str]]:
        """Return who hears whom, tested with datagrams between our own processes that live for this many seconds."""
        names = self.remote.names
        talk = {
            node: Command((PYTHON, "-c", _CHATTER, str(seconds), node, *map(self.remote.address, set(names) - {node})))
            for node in names
        }
        return {node: set(done.stdout.split()) for node, done in self.remote.run(talk).items()}

    def assert_hearing(self, deaf_to: Mapping[str, Iterable[str]]) -> None:
        """Check that every node hears every other one, except those named.

        On a busy machine, one process may begin when another has already ended.  So they get more time, and a node that
        was heard once counts as heard.
        """
        names = set(self.remote.names)
        wanted = {node: names - {node} - set(deaf_to.get(node, ())) for node in names}
        heard: dict[str, set[str]] = {node: set() for node in names}
        for seconds in (0.7, 1.4, 2.8, 5.6):
            for node, voices in self.hearing(seconds).items():
                heard[node] |= voices
            assert all(heard[node] <= wanted[node] for node in names), (heard, wanted)
            if heard == wanted:
                return
        raise AssertionError(f"heard {heard}, should hear {wanted}")

    def ask(self, node: str, question: str) -> str:
        """Return what the toy system's own process answers; empty if it hangs up instead."""
        program = (
            'import socket, sys; s = socket.create_connection(("127.0.0.1", 20911)); s.sendall(sys.argv[1].encode())\n'
            "try: print(s.recv(99).decode())\n"
            "except OSError: pass"
        )
        return self.python(node, program, question).strip()

    def with_settings(self, **changes: Any) -> Context:
        return replace(self.ctx, settings=replace(self.ctx.settings, **changes))


@contextmanager
def real_cluster(name: str, nodes: int = 5) -> Iterator[NetnsCluster]:
    """Make a cluster for this test, and remove it at the end."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    cluster = NetnsCluster(f"{name}-{os.getpid()}", nodes=nodes)
    cluster.up()
    try:
        yield cluster
    finally:
        cluster.down()
        (STATE_ROOT / f"{cluster.name}.lock").unlink(missing_ok=True)  # no other process knows this name


@contextmanager
def real_world(name: str) -> Iterator[World]:
    """Make a cluster for this test with the toy system on it."""
    with real_cluster(name) as cluster, Remote(cluster.nodes) as remote:
        system = ToySystem(remote)
        system.install()
        settings = Settings(peer_ports=(PORT,), store="store")
        ctx = Context(remote, system, RunClock(time.monotonic_ns), survey(remote), settings)
        yield World(ctx, remote, system, cluster)
