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
    """The present state of one node.  ``detail`` is free text."""

    name: str
    address: str
    state: NodeState
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """The state of a cluster.  ``holder`` describes the holder of the lock, or None; ``notes`` are free text."""

    name: str
    nodes: tuple[NodeStatus, ...]
    holder: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_up(self) -> bool:
        """Whether there are nodes, and all of them can be used."""
        return bool(self.nodes) and all(node.state == "up" for node in self.nodes)


def netns_names(count: int) -> tuple[str, ...]:
    """The names of the nodes of a cluster of namespaces, up or not."""
    return tuple(f"n{number}" for number in range(1, count + 1))


class Cluster(Protocol):
    """Nodes from one provider."""

    @property
    def name(self) -> str: ...

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes in their order.  Raises ClusterError when the cluster is not up."""
        ...

    def up(self, *, passing: bool = False) -> bool:
        """Bring up all nodes until they answer over SSH.  Healthy nodes that are up already are kept.

        ``passing``: this process will take down what it makes.  That is recorded with the nodes, so that
        other processes can take them down if this one is killed before.  Returns whether the nodes were there before.
        Raises ClusterError or RemoteError.
        """
        ...

    def orphaned(self) -> bool:
        """Whether a process that meant to take these nodes down has died and left them.

        The next user of the cluster then takes them down.
        """
        ...

    def down(self) -> None:
        """Remove what ``up`` made, also what a killed run left half-made.  Idempotent.  Raises ClusterError."""
        ...

    def status(self) -> ClusterStatus:
        """The state of the cluster.  Takes no lock and changes nothing."""
        ...

    def lock(self) -> AbstractContextManager[None]:
        """Keep others away while the context lasts; reentrant.  Raises ClusterBusyError."""
        ...
