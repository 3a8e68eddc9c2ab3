"""Nodes as namespaces of this machine, which start in under a second and need only a few packages.

Every node has its own network, process, mount, host name and IPC namespaces, a root that is an overlay on the host's,
an sshd, and a data filesystem of its own on a loop device.  The nodes outlive the process that started them, so that a
cluster can be kept between runs, and a killed harness does not destroy the evidence.  Everything is found again by its
name (see ``processes`` and ``links``), with or without the records of ``record``; ``down`` relies on the machine, never
on the records alone.

When a node's process 1 is killed, the kernel ends the node's other processes, and removes its mounts, its loop device
and its network card.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from harness.clusters import capabilities, control_groups, links, mounts, processes
from harness.clusters.base import ClusterStatus, NodeStatus, Say, netns_names
from harness.clusters.locks import FileLock
from harness.clusters.node_start import NodeStart, greets
from harness.clusters.processes import Process
from harness.clusters.record import ClusterRecord, StateDir
from harness.errors import ClusterBusyError, ClusterError, RemoteError
from harness.remote.node import Node
from harness.remote.nodes import Remote
from nemesis.core.ports import Command

STATE_ROOT: Final = Path("/var/lib/harness/clusters")

#: Seconds; many times what a busy machine needs.
START_S: Final = 30.0
END_S: Final = 10.0
TRAFFIC_S: Final = 10.0

_log = logging.getLogger(__name__)


class NetnsCluster:
    """A ``Cluster`` of namespaces.  ``say`` receives a line when something is kept, cleaned up or replaced."""

    def __init__(self, name: str = "default", *, nodes: int = 5, say: Say = _log.info) -> None:
        self.name = name
        self._count = nodes
        self._state = StateDir(STATE_ROOT / name)
        self._say = say
        self._lock = FileLock(STATE_ROOT / f"{name}.lock", f"cluster {name}")

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of the cluster.  Raises ClusterError if it is not up."""
        record = self._state.read_record()
        if record is None:
            raise ClusterError(f"cluster {self.name} is not up; run: harness cluster up --cluster netns:{self.name}")
        return self._state.as_nodes(record)

    def lock(self) -> AbstractContextManager[None]:
        """Keep other processes out while the context lasts.

        Raises UsageError without root, and ClusterBusyError, which names the holder, when the context is entered.
        """
        capabilities.require_root()
        return self._lock.held()

    # -- up --------------------------------------------------------------------------------------------------------

    def up(self, *, passing: bool = False) -> bool:
        """Keep the nodes if all of them exist and are healthy, or else start all of them from scratch.

        Returns whether they were kept.  Raises UsageError, ClusterBusyError or ClusterError.
        """
        with self.lock():
            capabilities.require_programs()
            self._require_not_in_a_suite()
            owner = processes.identify(os.getpid()) if passing else None
            if self._keep():
                if self.orphaned():
                    self._say(f"cluster {self.name} was left behind by a process that was killed")
                    self._state.write_passing(owner)
                return True
            self._clear_leftovers()
            try:
                self._build(owner)
            except BaseException:
                self._remove()
                raise
            return False

    def orphaned(self) -> bool:
        """Return whether the process that should have taken the nodes down has died."""
        maker = self._state.read_passing()
        return maker is not None and processes.started_at(maker.pid) != maker.started

    def _require_not_in_a_suite(self) -> None:
        """Check that the nodes do not belong to a running suite, unless that suite started this process.

        A suite does not lock its nodes between two runs, so the lock alone cannot tell.  Raises ClusterBusyError.
        """
        maker = self._state.read_passing()
        if maker is None or self.orphaned() or processes.descends_from(os.getpid(), maker.pid):
            return
        words = shlex.join(processes.arguments_of(maker.pid))
        raise ClusterBusyError(
            f"cluster {self.name} was brought up by pid {maker.pid} (`{words}`), which takes it down when it ends; "
            f"wait for that, or use another: --cluster netns:{'other' if self.name != 'other' else 'more'}"
        )

    def _keep(self) -> bool:
        record = self._state.read_record()
        if record is None or len(record.nodes) != self._count:
            return False
        if not all(self._init_of(node) for node in record.nodes) or not self._answers():
            return False
        self._say(f"cluster {self.name} is already up and healthy: {len(record.nodes)} nodes kept")
        return True

    def _answers(self) -> bool:
        """Return whether we can log in to every node and write its data."""
        probe = Command(("sh", "-c", "touch /data/.alive && rm /data/.alive"), timeout=2.0)
        try:
            with Remote(self.nodes, connect_timeout=1.0) as remote:
                return all(done.code == 0 for done in remote.run(dict.fromkeys(remote.names, probe)).values())
        except (RemoteError, OSError):
            return False

    def _clear_leftovers(self) -> None:
        running = {node for node, _ in processes.find(self.name)}
        if self._state.path.exists() or running or links.existing(self.name):
            alive = f"{len(running)} of {self._count} nodes alive" if running else "no node alive"
            self._say(f"cluster {self.name}: removing the leftovers of an earlier run ({alive}, not healthy)")
            self._remove()

    def _build(self, owner: Process | None) -> None:
        STATE_ROOT.mkdir(parents=True, exist_ok=True)
        capabilities.require_disk(STATE_ROOT, self._count)
        provision = capabilities.provide()
        for note in provision.notes:
            self._say(f"cluster {self.name}: {note}")
        names = netns_names(self._count)
        with self._choosing_subnet():
            subnet = links.choose_subnet(self.name, links.taken_networks())
            record = ClusterRecord(self.name, str(subnet), provision.root, provision.data, names)
            self._state.write_record(record)
            self._state.write_passing(owner)
            links.add_bridge(self.name, subnet)
        self._state.make_keys(record)
        self._on_all(names, lambda node: self._start(record, node))
        self._require_traffic(record)

    def _start(self, record: ClusterRecord, node: str) -> None:
        start = NodeStart(self._state, record, node, STATE_ROOT)
        start.prepare()
        start.start(START_S)

    @contextmanager
    def _choosing_subnet(self) -> Iterator[None]:
        """Hold a lock, so that clusters that come up together do not choose the same subnet."""
        descriptor = os.open(STATE_ROOT / ".subnets.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _require_traffic(self, record: ClusterRecord) -> None:
        """Check that the kernel does not filter packets on our bridge, as Docker and others configure it to do.

        Raises ClusterError.
        """
        switch = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
        if len(record.nodes) < 2 or not switch.exists() or switch.read_text().strip() == "0":
            return
        first, second = record.nodes[:2]
        inside = ["nsenter", "--target", str(self.init_of(first)), "--net", "timeout", f"{TRAFFIC_S:g}"]
        probe = [*inside, "bash", "-c", f"exec 3<>/dev/tcp/{record.address(second)}/22"]
        if subprocess.run(probe, check=False, capture_output=True).returncode != 0:
            bridge = links.bridge(self.name)
            raise ClusterError(
                "this machine's firewall drops packets between the nodes; allow it: "
                f"iptables -I FORWARD -i {bridge} -o {bridge} -j ACCEPT, or "
                "sysctl -w net.bridge.bridge-nf-call-iptables=0"
            )

    # -- down ------------------------------------------------------------------------------------------------------

    def down(self) -> None:
        """Remove everything but the lock file, whatever state the cluster is in."""
        with self.lock():
            self._remove()

    def _remove(self) -> None:
        running = processes.find(self.name)
        namespaces = {control_groups.namespace_of(process.pid) for _, process in running}
        left = processes.kill(self.name, running, END_S)
        if left:
            raise ClusterError(
                f"cluster {self.name}: these processes cannot be ended: {[process.pid for process in left]}"
            )
        control_groups.remove_orphans(namespaces)
        links.remove(links.existing(self.name))
        mounts.release_loops(self._state.path, END_S)
        mounts.unmount_below(self._state.path)
        shutil.rmtree(self._state.path, ignore_errors=True)
        if self._state.path.exists():
            raise ClusterError(f"cannot remove {self._state.path}; see what uses it: findmnt | grep {self._state.path}")

    # -- single nodes ----------------------------------------------------------------------------------------------

    def init_of(self, node: str) -> int:
        """Return the pid, on the host, of a node's process 1.  Raises ClusterError if the node is down."""
        process = self._init_of(node)
        if process is None:
            raise ClusterError(f"cluster {self.name}: node {node} is down")
        return process.pid

    def _init_of(self, node: str) -> Process | None:
        process = self._state.read_process(node)
        return process if process is not None and processes.is_node(process, self.name, node) else None

    # -- status ----------------------------------------------------------------------------------------------------

    def status(self) -> ClusterStatus:
        """Return the state of the cluster, from its records and what this machine shows."""
        capabilities.require_root()
        record = self._state.read_record()
        running = {node for node, _ in processes.find(self.name)}
        if record is None:
            lost = ("leftovers without a record; remove them: harness cluster down",) if running else ()
            return ClusterStatus(self.name, (), self._lock.holder(), lost)
        notes = [f"subnet {record.subnet}, root {record.root}, data {record.data}, {self._state.path}/ssh_config"]
        if self.orphaned():
            notes.append(
                "left behind by a process that was killed; the next run, or `harness cluster down`, takes it down"
            )
        nodes = tuple(self._status_of(record, node) for node in record.nodes)
        return ClusterStatus(self.name, nodes, self._lock.holder(), tuple(notes))

    def _status_of(self, record: ClusterRecord, node: str) -> NodeStatus:
        process = self._init_of(node)
        address = record.address(node)
        if process is None:
            return NodeStatus(node, address, "down")
        if not greets(address, timeout=2.0):
            return NodeStatus(node, address, "unhealthy", f"pid {process.pid} is running, but its sshd does not answer")
        return NodeStatus(node, address, "up", f"pid {process.pid}")

    def _on_all(self, names: tuple[str, ...], work: Callable[[str], None]) -> None:
        """Call ``work`` for all nodes in parallel.  Raises the first error after all calls have ended."""
        with ThreadPoolExecutor(max_workers=max(1, len(names)), thread_name_prefix="cluster") as pool:
            for future in [pool.submit(work, node) for node in names]:
                future.result()
