"""The interface of a cluster, whatever provides its nodes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from harness.remote.node import Node

NodeState: TypeAlias = Literal["up", "down", "unhealthy"]
Say: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """The current state of one node.  ``detail`` is free text."""

    name: str
    address: str
    state: NodeState
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """The state of a cluster.  ``holder`` describes the lock's holder, if there is one; ``notes`` are free text."""

    name: str
    nodes: tuple[NodeStatus, ...]
    holder: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_up(self) -> bool:
        """Whether there are nodes, and all of them can be used."""
        return bool(self.nodes) and all(node.state == "up" for node in self.nodes)


def netns_names(count: int) -> tuple[str, ...]:
    """Return the names of the nodes in a cluster of namespaces, which need not be up."""
    return tuple(f"n{number}" for number in range(1, count + 1))


class Cluster(Protocol):
    """Nodes from one provider."""

    @property
    def name(self) -> str: ...

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes in order.  Raises ClusterError if the cluster is not up."""
        ...

    def up(self, *, passing: bool = False) -> bool:
        """Bring up all nodes until they answer over SSH, keeping healthy nodes that are up already.

        ``passing`` means that this process will take down the nodes it creates.  This is recorded with the nodes, so
        that other processes can take them down if this one is killed first.  Returns whether the nodes were up before.
        Raises ClusterError or RemoteError.
        """
        ...

    def orphaned(self) -> bool:
        """Return whether the process that should have taken these nodes down has died.

        The next user of the cluster then takes them down.
        """
        ...

    def down(self) -> None:
        """Remove what ``up`` created, including what a killed run left half-made.  Idempotent.  Raises ClusterError."""
        ...

    def status(self) -> ClusterStatus:
        """Return the state of the cluster.  Takes no lock and changes nothing."""
        ...

    def lock(self) -> AbstractContextManager[None]:
        """Keep others out of the cluster while the context lasts.  Reentrant.  Raises ClusterBusyError."""
        ...
