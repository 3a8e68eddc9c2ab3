"""Find the processes of nodes by their command lines, and kill them without ever hitting another process.

A node is a process ``unshare`` (the keeper) and its only child, process 1 of the node, which starts as a shell and ends
as sshd.  All three show the cluster and the node in their command line.  While process 1 becomes another program, or
sshd changes its title, it is identified by its parent.  A pid alone proves nothing, because pids are reused: it is kept
together with the start time of the process.
"""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process.  ``started`` is in clock ticks since the machine's boot, as in /proc/PID/stat."""

    pid: int
    started: int


def tag(cluster: str, node: str) -> str:
    """Return the marker in the command line of a node's keeper."""
    return f"harness-node:{cluster}:{node}"


def node_of(arguments: list[str], cluster: str) -> str | None:
    """Return the node to which a command line belongs, or None if it does not belong to this cluster."""
    keeper = re.compile(rf"harness-node:{re.escape(cluster)}:(\w+)")
    # sshd changes its title a moment after it starts.
    server = re.compile(
        rf"(?:sshd: )?/usr/sbin/sshd -D -e -f /etc/harness/{re.escape(cluster)}/(\w+)/sshd_config( .*)?"
    )
    if arguments and (match := keeper.fullmatch(arguments[0]) or server.fullmatch(" ".join(arguments).strip())):
        return match[1]
    # The shell that later becomes sshd: sh node-init.sh TAG …
    if len(arguments) > 2 and arguments[1].endswith("/node-init.sh") and (match := keeper.fullmatch(arguments[2])):
        return match[1]
    return None


def arguments_of(pid: int) -> list[str]:
    """Return the command line of a process; empty if it is gone or a zombie."""
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return []


def started_at(pid: int) -> int | None:
    """Return the start time of a process, or None if it is gone or a zombie."""
    fields = _stat(pid)
    return None if not fields or fields[0] in "ZX" else int(fields[19])


def identify(pid: int) -> Process | None:
    """Return the process that currently has this pid, or None."""
    started = started_at(pid)
    return None if started is None else Process(pid, started)


def descends_from(pid: int, above: int) -> bool:
    """Return whether a process is the process ``above``, or one of its descendants."""
    while pid != above:
        fields = _stat(pid)
        if not fields or pid <= 1:
            return False
        pid = int(fields[1])
    return True


def is_node(process: Process, cluster: str, node: str) -> bool:
    """Return whether this process, and not a later one with its pid, is running and belongs to the node."""
    return started_at(process.pid) == process.started and _node_of_pid(process.pid, cluster) == node


def find(cluster: str) -> list[tuple[str, Process]]:
    """Find the keepers and first processes of all nodes of a cluster, using only the process table."""
    pairs = []
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        pid = int(entry.name)
        node = _node_of_pid(pid, cluster)
        if node is not None and (process := identify(pid)) is not None:
            pairs.append((node, process))
    return pairs


def kill(cluster: str, processes: Iterable[tuple[str, Process]], timeout: float) -> list[Process]:
    """SIGKILL the processes that still belong to their node, and wait.  Return those that did not end in time.

    A pidfd is opened before the check, so that the process that was checked is the one that is killed.
    """
    handles: dict[int, Process] = {}
    try:
        for node, process in processes:
            with suppress(ProcessLookupError):
                handle = os.pidfd_open(process.pid)
                handles[handle] = process
                if is_node(process, cluster, node):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                else:
                    del handles[handle]
                    os.close(handle)
        return _wait(handles, timeout)
    finally:
        for handle in handles:
            os.close(handle)


def _node_of_pid(pid: int, cluster: str) -> str | None:
    """Return the node of a process, from its own command line, or else from that of its parent if that is a keeper."""
    node = node_of(arguments_of(pid), cluster)
    if node is None and (fields := _stat(pid)):
        above = arguments_of(int(fields[1]))
        if above and above[0].startswith(tag(cluster, "")):
            node = node_of(above, cluster)
    return node


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; empty if the process is gone."""
    try:
        return (PROC / str(pid) / "stat").read_bytes().decode(errors="replace").rpartition(") ")[2].split()
    except OSError:
        return []


def _wait(handles: dict[int, Process], timeout: float) -> list[Process]:
    waiting = dict(handles)
    poller = select.poll()
    for handle in waiting:
        poller.register(handle, select.POLLIN)
    deadline = time.monotonic() + timeout
    while waiting and (left := deadline - time.monotonic()) > 0:
        for handle, _ in poller.poll(left * 1000):
            poller.unregister(handle)
            _reap(waiting.pop(handle).pid)
    return list(waiting.values())


def _reap(pid: int) -> None:
    """Reap one of our children.  Other processes' zombies are left to their parents."""
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)
