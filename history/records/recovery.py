"""How a cluster came back after its last heal, as data: what its nodes reached and what its clients were served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

#: Something to be served: operations of a kind (or "changes", of any kind, or "reads on k3") with no node, or "reads"
#: or "changes" with the node whose own clients ask for them.
Want: TypeAlias = tuple[str, str | None]
CHANGES: Final = "changes"

#: What decides whether the nodes are back: the system's own rule, the nodes' indexes, or each node's own clients.
Rule: TypeAlias = Literal["own", "indexes", "operations"]
#: The event from which recovery is counted.
RecoveryEvent: TypeAlias = Literal["heal", "attempt", "load", "restart"]
#: Why nothing can be said about the nodes.
Undecidable: TypeAlias = Literal["nothing committed", "no answer", "rule failed"]
#: The reasons why something that clients did not get is not held against the system.
Reason: TypeAlias = Literal["unasked", "never", "undeclared", "damaged", "briefly"]
Unproven: TypeAlias = tuple[tuple[Reason, tuple[Want, ...]], ...]

#: A probe may show this much later (s) what a node reached within the limit.
SLACK_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Service:
    """How one kind of request fared after a given moment.

    ``waited`` is how long clients tried until one succeeded, and ``granted`` when that was (ns).  If ``granted`` is
    None, none succeeded in that time.
    """

    waited: int
    granted: int | None


@dataclass(frozen=True, slots=True)
class Recovery:
    """The progress of each node after a heal at ``healed_at`` (ns since the run's start).

    ``target`` is the commit index that the leader had at the heal.  If there was no leader, or it had none yet, it is
    the highest known one.  ``applied`` is the last applied index of each node since then (-1: it applied nothing; None:
    it did not answer).  ``reached`` is when the node passed the target (ns since the run's start, None: never).
    ``committed`` is the highest commit index that any node reported since the heal (-1: none did).  ``services`` says
    how each kind of request that must succeed fared since the heal, if clients made any.

    With a system's own rule, there is no target: ``reached`` is when the rule held for the node, ``together`` when it
    held for all nodes at once.  If operations decide, no node is followed, and ``services`` also has those of each
    node.  ``undecidable`` is why nothing can be said about the nodes (``error`` if their rule failed), and ``unproven``
    is what clients left open.

    ``logless`` are the nodes that keep no log, such as arbiters: they are back with their first answer.  ``silent`` are
    the nodes that had been silent before the heal and stayed so, with their last answer (ns, None: they never gave
    one).  ``event`` is what ended at ``healed_at``: in a run without faults there is no heal, and if a server did not
    start again, its fault was not healed.
    """

    healed_at: int
    target: int
    leader: str | None
    applied: dict[str, int | None]
    reached: dict[str, int | None]
    services: Mapping[Want, Service]
    rule: Rule = "indexes"
    together: int | None = None
    undecidable: Undecidable | None = None
    error: str = ""
    unproven: Unproven = ()
    committed: int = -1
    logless: tuple[str, ...] = ()
    silent: Mapping[str, int | None] = field(default_factory=dict)
    event: RecoveryEvent = "heal"
    epoch_bits: int = 0

    @property
    def late_nodes(self) -> tuple[str, ...]:
        """The nodes that never passed the target."""
        return tuple(node for node, moment in self.reached.items() if moment is None)

    @property
    def behind(self) -> tuple[str, ...]:
        """The nodes that never passed the target, or never again served their own clients."""
        return tuple(dict.fromkeys([*self.late_nodes, *(node for _, node in self.unserved if node is not None)]))

    @property
    def unserved(self) -> tuple[Want, ...]:
        """The kinds of requests that never succeeded although clients tried."""
        return tuple(want for want, service in self.services.items() if service.granted is None)

    @property
    def served_again(self) -> int | None:
        """The time at which every kind of operation had been served by some node; None if one never was."""
        kinds = [service.granted for (_, node), service in self.services.items() if node is None]
        granted = [moment for moment in kinds if moment is not None]
        return max(granted, default=None) if len(granted) == len(kinds) else None

    @property
    def nodes_back(self) -> bool:
        return self.together is not None if self.rule == "own" else not self.late_nodes

    @property
    def complete(self) -> bool:
        return self.finished_at is not None

    @property
    def failed(self) -> bool:
        """Whether anything that could be observed did not recover."""
        return bool(self.unserved) or not (self.nodes_back or self.undecidable)

    @property
    def open(self) -> bool:
        """Whether not everything could be observed."""
        return bool(self.undecidable or self.unproven)

    @property
    def finished_at(self) -> int | None:
        """The time at which the last condition was met (ns since the run's start); None if one never was."""
        if self.unserved or not self.nodes_back:
            return None
        met = [*(service.granted for service in self.services.values()), self.together, *self.reached.values()]
        return max((moment for moment in met if moment is not None), default=None)

    @property
    def seconds(self) -> float | None:
        """Seconds from the heal until the last condition was met; None if one never was."""
        return None if self.finished_at is None else (self.finished_at - self.healed_at) / 1e9

    @property
    def service_took(self) -> float:
        """The longest time (s) for which clients kept trying before they were served."""
        waits = (service.waited for service in self.services.values() if service.granted is not None)
        return max(waits, default=0) / 1e9

    @property
    def took(self) -> float:
        """Like ``seconds``, but without the time in which clients did not ask, for which the system is not responsible.

        If something was left open, recovery took at least this long.
        """
        moments = [] if self.undecidable else [self.together] if self.rule == "own" else self.reached.values()
        nodes = max((moment - self.healed_at for moment in moments if moment is not None), default=0) / 1e9
        return max(nodes, self.service_took)


@dataclass(frozen=True, slots=True)
class HarnessCause:
    """Why the harness may have missed a recovery.

    It probed nobody for ``seconds``, never probed ``nodes``, could not read the answers of ``nodes``, failed with
    ``failure``, had damaged files of ``nodes`` without which no quorum is left, or was awake for only ``seconds``.
    """

    kind: Literal["unseen", "unasked", "unreadable", "failed", "damaged", "stalled"]
    seconds: float = 0.0
    nodes: tuple[str, ...] = ()
    failure: str = ""
