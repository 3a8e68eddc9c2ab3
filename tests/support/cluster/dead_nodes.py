"""Nodes of a cluster of namespaces that are killed, and started again on the same root, data and keys."""

from __future__ import annotations

from harness.clusters import links, mounts, processes
from harness.clusters.netns import END_S, START_S, STATE_ROOT, NetnsCluster
from harness.clusters.node_start import NodeStart
from harness.clusters.record import StateDir


def kill_node(cluster: NetnsCluster, name: str) -> None:
    """Kill a node at once, with everything that runs on it. Its disks stay."""
    with cluster.lock():
        victims = [(node, process) for node, process in processes.find(cluster.name) if node == name]
        assert not processes.kill(cluster.name, victims, END_S)


def start_node(cluster: NetnsCluster, name: str) -> None:
    """Start a killed node again."""
    state = StateDir(STATE_ROOT / cluster.name)
    record = state.read_record()
    assert record is not None
    with cluster.lock():
        links.remove([links.cable(cluster.name, 1 + record.nodes.index(name))])
        mounts.release_loops(state.path, END_S, name)
        NodeStart(state, record, name, STATE_ROOT).start(START_S)
