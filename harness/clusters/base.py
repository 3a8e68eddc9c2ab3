"""A cluster: where nodes come from, whatever provides them."""

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
    """One node as it is found now.  ``detail`` is a few words for people."""

    name: str
    address: str
    state: NodeState
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """``holder`` says who holds the lock, None when nobody does; ``notes`` are lines for people."""

    name: str
    nodes: tuple[NodeStatus, ...]
    holder: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_up(self) -> bool:
        """Whether there are nodes, and all of them can be used."""
        return bool(self.nodes) and all(node.state == "up" for node in self.nodes)


def netns_names(count: int) -> tuple[str, ...]:
    """What the nodes of a cluster of namespaces are called, whether they are up or not."""
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
        """Bring all nodes to answer over SSH.  Healthy nodes that are up already are kept.

        ``passing`` says that this process will take down what it makes: it is written down with the nodes, so that
        others know what to do with them should it be killed before.  Returns whether the nodes were there before.
        Raises ClusterError or RemoteError.
        """
        ...

    def orphaned(self) -> bool:
        """Whether a process that meant to take these nodes down has died and left them.

        Then they are whoever uses them next to take down.
        """
        ...

    def down(self) -> None:
        """Remove what ``up`` made, also what a killed run left half-made.  Idempotent.  Raises ClusterError."""
        ...

    def status(self) -> ClusterStatus:
        """What is there.  Takes no lock and changes nothing."""
        ...

    def lock(self) -> AbstractContextManager[None]:
        """Keep others away while the context lasts; may be entered again by its holder.  Raises ClusterBusyError."""
        ...
