"""Start one node: its files, namespaces, network card and sshd."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from harness.clusters import links, processes
from harness.clusters.capabilities import SYSTEM_PATH, which
from harness.clusters.mounts import make_filesystem, mount_tmpfs, mounted_below
from harness.clusters.processes import Process
from harness.clusters.record import ClusterRecord, StateDir
from harness.errors import ClusterError

INIT: Final = Path(__file__).with_name("node-init.sh")

GREETING_S: Final = 5.0

#: Limits, not reservations: a tmpfs and a sparse file only take the space of their content.
UPPER_SIZE: Final = "1g"
DATA_SIZE: Final = 2 << 30

_SSHD_CONFIG: Final = """\
Port 22
ListenAddress 0.0.0.0
HostKey {etc}/host_key
AuthorizedKeysFile {etc}/authorized_keys
PidFile none
UsePAM no
UseDNS no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
PrintLastLog no
MaxSessions 100
MaxStartups 100:30:200
LogLevel ERROR
Subsystem sftp internal-sftp
"""

#: From this version on, sshd penalises addresses that connect and hang up, as our check that it is up does.
_PENALTIES_SINCE: Final = (9, 8)


@dataclass(frozen=True, slots=True)
class NodeStart:
    """Starts one node of a recorded cluster."""

    state: StateDir
    record: ClusterRecord
    node: str
    state_root: Path

    @property
    def directory(self) -> Path:
        return self.state.node(self.node)

    def prepare(self) -> None:
        """Create an empty root and an empty data filesystem.  Raises ClusterError."""
        (self.directory / "root").mkdir(parents=True, exist_ok=True)
        if self.record.data != "tmpfs":
            make_filesystem(self.directory / "data.img", DATA_SIZE, self.record.data)
        upper = self.directory / "upper"
        if not mounted_below(upper):
            mount_tmpfs(upper, processes.tag(self.record.name, self.node), UPPER_SIZE)
        (upper / "work").mkdir(exist_ok=True)
        self._write_etc(upper / "root")

    def start(self, timeout: float) -> Process:
        """Start the node on its existing root and data, and return its process 1 once its sshd answers.

        Raises ClusterError with the last lines of the node's console if the node does not come up in time.
        """
        deadline = time.monotonic() + timeout
        with self._keeper() as (answers, orders):
            pid = int(self._await_line(answers, deadline))
            process = processes.identify(pid)
            if process is None:
                raise self._failed()
            self.state.write_process(self.node, process)
            links.add_cable(self.record.name, 1 + self.record.nodes.index(self.node), pid)
            os.write(orders, b"go\n")
            self._await_line(answers, deadline)
        self._await_greeting(process, deadline)
        return process

    def _write_etc(self, root: Path) -> None:
        """Write the files that differ from the host's: names, users, keys."""
        etc = root / "etc"
        ours = etc / "harness" / self.record.name / self.node
        ours.mkdir(parents=True, exist_ok=True)
        (etc / "hostname").write_text(self.node + "\n")
        hosts = [f"{self.record.address(node)} {node}" for node in self.record.nodes]
        (etc / "hosts").write_text("\n".join(("127.0.0.1 localhost", *hosts)) + "\n")
        # sh reads no start-up files here; those of another shell could cost 100 ms per command.
        edit_root(Path("/etc/passwd"), etc / "passwd", {6: "/bin/sh"}, 0o644)
        # sshd without PAM rejects a locked root ("!").  "*" allows no password either, but is not locked.
        edit_root(Path("/etc/shadow"), etc / "shadow", {1: "*"}, 0o600)
        (ours / "sshd_config").write_text(sshd_config(f"/etc/harness/{self.record.name}/{self.node}"))
        (ours / "authorized_keys").write_text(self.state.client_key.with_suffix(".pub").read_text())
        host_key = ours / "host_key"
        host_key.touch(mode=0o600)
        host_key.write_text((self.directory / "host_key").read_text())

    @contextmanager
    def _keeper(self) -> Iterator[tuple[int, int]]:
        """Start the node's keeper and process 1, and yield the pipes for its answers and its orders.

        The keeper outlives this process.  If we die before we send the order to go, it reads the end of the pipe and
        exits.
        """
        orders_in, orders = os.pipe()
        answers, answers_out = os.pipe()
        console = os.open(self.directory / "console.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            self._spawn(orders_in, console, answers_out)
            os.close(answers_out)
            answers_out = -1
            yield answers, orders
        finally:
            for descriptor in (orders_in, orders, answers, answers_out, console):
                if descriptor >= 0:
                    os.close(descriptor)

    def _spawn(self, orders_in: int, console: int, answers_out: int) -> None:
        tag = processes.tag(self.record.name, self.node)
        address = f"{self.record.address(self.node)}/{self.record.prefix_length()}"
        kinds = (self.record.root, self.record.data)
        init = ("/bin/sh", str(INIT), tag, self.record.name, self.node, str(self.directory), address, *kinds)
        os.posix_spawn(
            which("unshare") or "unshare",
            [tag, "--net", "--pid", "--mount", "--uts", "--ipc", "--fork", "--kill-child", *init, str(self.state_root)],
            {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8"},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, orders_in, 0),
                (os.POSIX_SPAWN_DUP2, console, 1),
                (os.POSIX_SPAWN_DUP2, console, 2),
                (os.POSIX_SPAWN_DUP2, answers_out, 3),
                *((os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in inherited()),
            ],
            # Ctrl-C must reach only the harness, which still needs the nodes in order to heal and collect.
            setsid=True,
            # Python ignores some signals, and children inherit that.
            setsigdef=(signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM),
        )

    def _await_line(self, answers: int, deadline: float) -> str:
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([answers], [], [], max(0.0, deadline - time.monotonic()))
            more = os.read(answers, 1) if ready else b""
            if not more:
                raise self._failed()
            line += more
        return line.decode().strip()

    def _await_greeting(self, process: Process, deadline: float) -> None:
        # A refusal comes at once.  A greeting may take long on a busy machine, so wait for it rather than reconnect.
        while not greets(self.record.address(self.node), timeout=GREETING_S):
            if processes.identify(process.pid) != process:
                raise self._failed()
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"node {self.node} is running, but its sshd at {self.record.address(self.node)} does not answer"
                )
            time.sleep(0.005)

    def _failed(self) -> ClusterError:
        console = self.directory / "console.log"
        lines = console.read_text(errors="replace").strip().splitlines()
        output = "; ".join(lines[-3:]) or "no output"
        return ClusterError(f"node {self.node} did not come up: {output}")


def inherited() -> list[int]:
    """Return the descriptors that a child would inherit, except the four that a node gets.

    A node outlives us.  If it kept these open, a reader of our pipe, or a process waiting for our caller's lock, would
    have to wait until the node ends.
    """
    descriptors = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the descriptor of this directory itself is closed by now
            if int(entry.name) > 3 and os.get_inheritable(int(entry.name)):
                descriptors.append(int(entry.name))
    return descriptors


def greets(host: str, timeout: float) -> bool:
    """Return whether an SSH server answers at a host's port 22."""
    with suppress(OSError), socket.create_connection((host, 22), timeout=timeout) as connection:
        return connection.recv(4) == b"SSH-"
    return False


def sshd_config(etc: str) -> str:
    penalties = "PerSourcePenalties no\n" if sshd_version() >= _PENALTIES_SINCE else ""
    return _SSHD_CONFIG.format(etc=etc) + penalties


@cache
def sshd_version() -> tuple[int, int]:
    """Return the version of the installed sshd, or (0, 0) if unknown."""
    # Before 9.2, sshd has no -V, but prints its version in the error message.
    done = subprocess.run([which("sshd") or "sshd", "-V"], text=True, check=False, capture_output=True)
    match = re.search(r"OpenSSH_(\d+)\.(\d+)", done.stderr + done.stdout)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def edit_root(source: Path, target: Path, fields: dict[int, str], mode: int) -> None:
    """Copy a file of colon-separated records with some fields of root's record replaced."""
    rows = [row.split(":") for row in source.read_text().splitlines()]
    for row in rows:
        if row[0] == "root":
            for index, value in fields.items():
                row[index] = value
    target.touch(mode=mode)
    target.write_text("".join(":".join(row) + "\n" for row in rows))
