"""Clusters of nodes: namespaces of this machine, an inventory of machines, or Vagrant's.

============  ============================================================
module        subject
============  ============================================================
``base``      ``Node``, and the ``Cluster`` that every provider implements
``netns``     nodes as namespaces (its parts: ``node_start``, ``processes``, ``links``, ``mounts``, ``record``,
              ``control_groups``, ``capabilities``, and ``node-init.sh``, which becomes a node's process 1)
``inventory`` existing machines, listed in a TOML file
``vagrant``   the machines of a Vagrantfile
``machines``  what the last two have in common
``locks``     the lock that keeps a cluster to one run at a time
``provision`` installing what a machine needs to be a node
============  ============================================================
"""

from __future__ import annotations

import logging
import re
from pathlib import Path

from harness.clusters.base import Cluster, ClusterStatus, NodeStatus, Say, netns_names
from harness.errors import UsageError
from harness.plan import CLUSTER_SPECS
from harness.remote.node import Node

__all__ = [
    "Cluster",
    "ClusterStatus",
    "Node",
    "NodeStatus",
    "is_netns",
    "netns_names",
    "open_cluster",
    "require_usable",
]

_log = logging.getLogger(__name__)


def is_netns(spec: str) -> bool:
    """Return whether ``--cluster`` means namespaces of this machine, whose node names are known before it is up."""
    return spec.partition(":")[0] == "netns"


def require_usable(spec: str) -> None:
    """Check that this user may use such a cluster, before anything is written.  Raises UsageError."""
    from harness.clusters.capabilities import require_root

    if is_netns(spec):
        require_root()


def open_cluster(spec: str, *, nodes: int = 5, say: Say = _log.info) -> Cluster:
    """Return the cluster that ``--cluster`` names, without touching anything yet.

    ``nodes`` is the number of nodes for a cluster of namespaces; other clusters have a fixed number.  ``say`` receives
    progress messages, one line each.  Raises UsageError that names the option.
    """
    kind, colon, rest = spec.partition(":")
    if colon and not rest:
        raise UsageError(f"--cluster {spec}: the part after the colon is missing; expected {CLUSTER_SPECS}")
    if is_netns(spec):
        return _netns(rest or "default", nodes, say)
    if kind == "inventory" and rest:
        from harness.clusters.inventory import read_inventory

        return read_inventory(Path(rest), say)
    if kind == "vagrant":
        from harness.clusters.vagrant import VagrantCluster

        return VagrantCluster(Path(rest or "vagrant"), say)
    raise UsageError(f"--cluster {spec}: expected {CLUSTER_SPECS}")


def _netns(name: str, nodes: int, say: Say) -> Cluster:
    from harness.clusters.netns import NetnsCluster

    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,30}", name):
        raise UsageError(
            f"--cluster netns:{name}: a name may contain only lowercase letters, digits and hyphens, at most 31 in all"
        )
    if not 1 <= nodes <= 99:
        raise UsageError(f"--nodes must be between 1 and 99, not {nodes}")
    return NetnsCluster(name, nodes=nodes, say=say)
