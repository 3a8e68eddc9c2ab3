"""A cluster of existing machines: what inventories and Vagrant have in common."""

from __future__ import annotations

import hashlib
import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from harness.clusters.base import ClusterStatus, NodeState, NodeStatus
from harness.clusters.locks import FileLock
from harness.errors import ClusterError, HostUnreachableError, RemoteError
from harness.remote.node import Node
from harness.remote.nodes import Remote
from nemesis.core.ports import Command

#: Names have no hyphens because some systems write a peer as NAME-ADDRESS:PORT.
NODE_NAME: Final = re.compile(r"[a-z][a-z0-9]{0,15}")


def check_machines(nodes: tuple[Node, ...]) -> None:
    """Check that we can log in to every machine as root and write its data directory, creating it if missing.

    Raises RemoteError or ClusterError.
    """
    commands = {
        node.name: Command(("sh", "-c", 'mkdir -p -- "$1" && test -w "$1"', "check", node.data_dir)) for node in nodes
    }
    with Remote(nodes) as remote:
        for name, done in remote.run(commands).items():
            if done.code != 0:
                reason = done.stderr.strip() or f"exit code {done.code}"
                raise ClusterError(f"{name} accepts the login, but root cannot create the data directory: {reason}")


def _status_of(node: Node) -> NodeStatus:
    state: NodeState
    try:
        with Remote((node,)) as remote:
            code = remote.run({node.name: Command(("true",), timeout=5.0)})[node.name].code
            problem = f"`true` as root exits with {code}; is sudo allowed?"
            state, detail = ("up", "") if code == 0 else ("unhealthy", problem)
    except HostUnreachableError as error:
        state, detail = "down", str(error)
    except RemoteError as error:
        state, detail = "unhealthy", str(error)
    return NodeStatus(node.name, node.address, state, detail)


class Machines:
    """The parts of a ``Cluster`` that do not depend on where its machines come from."""

    def __init__(self, name: str, place: Path) -> None:
        """Make a cluster defined by the file or directory ``place``.

        The lock belongs to this user on this machine.
        """
        self.name = name
        home = Path(os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser())
        mark = hashlib.sha256(str(place.resolve()).encode()).hexdigest()[:8]
        lock = home / "harness" / "locks" / f"{name}-{mark}.lock"
        self._file_lock = FileLock(lock, f"cluster {name} ({place})")

    @property
    def nodes(self) -> tuple[Node, ...]:
        raise NotImplementedError

    def lock(self) -> AbstractContextManager[None]:
        """Keep this user's other processes out.  Raises ClusterBusyError that names the holder."""
        return self._file_lock.held()

    def orphaned(self) -> bool:
        """Return False: existing machines, and those that take minutes to create, are taken down only on request."""
        return False

    def status(self) -> ClusterStatus:
        """Ask every machine for its state; a machine that does not answer is down."""
        nodes = self.nodes
        with ThreadPoolExecutor(max_workers=max(1, len(nodes)), thread_name_prefix="status") as pool:
            return ClusterStatus(self.name, tuple(pool.map(_status_of, nodes)), self._file_lock.holder())
