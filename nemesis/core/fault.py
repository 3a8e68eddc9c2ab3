"""Faults, their targets, and the context they work in.

A fault is one small class without state.  A run calls its methods in this order:

1. ``precheck``: once, before anything starts.  Can this work on this cluster?  Cheap, and changes nothing.
2. ``plan``: choose the targets.  Looks and draws, touches nothing; they are recorded before ``inject`` is called.
3. ``inject``: do it.
4. ``witness``: show that it stands, by something that is not the exit code of what was done.  No proof: FaultError.
5. ``heal``: undo it and show that it is gone.  Also after an ``inject`` that broke off, and repeatedly; and for one
   node alone (``Targets.only``), when healing all of them at once has failed (see ``healing``).

Whatever ``heal`` must know is in the targets, so that it can be called after any failure.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar

from nemesis.core.clock import Clock
from nemesis.core.errors import FaultError, SkippedError
from nemesis.core.facts import Facts
from nemesis.core.options import OPTIONS
from nemesis.core.ports import Command, Completed, Nodes, System

Family: TypeAlias = Literal["partition", "packet", "kill", "pause", "leadership", "disk", "clock", "resource"]
#: Families of faults between nodes; all others are faults of nodes, of which one at a time may hit a node.
LINK_FAMILIES: Final = frozenset({"partition", "packet"})
Witness: TypeAlias = dict[str, Any]
T = TypeVar("T")

POLL_S = 0.01
DATA_DIR = "/data"
#: Where everything of the system lies, below a node's data directory.
HOME: Final = "harness"


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of a fault.

    ``grudge`` maps a node to the nodes whose packets it drops.  ``reserved`` are nodes of which the fault may yet hit
    one (a successor that is not known yet).  ``detail`` is plain JSON, a fault's own.
    """

    nodes: tuple[str, ...]
    grudge: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    detail: Mapping[str, Any] = field(default_factory=dict)
    reserved: tuple[str, ...] = ()

    def only(self, node: str) -> Targets:
        """The part that concerns one node; the detail stays as it is."""
        return Targets(
            tuple(name for name in self.nodes if name == node),
            {name: peers for name, peers in self.grudge.items() if name == node},
            self.detail,
            tuple(name for name in self.reserved if name == node),
        )

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"nodes": list(self.nodes)}
        if self.grudge:
            record["grudge"] = {node: list(peers) for node, peers in self.grudge.items()}
        if self.reserved:
            record["reserved"] = list(self.reserved)
        return {**record, **self.detail}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Targets:
        """The inverse of :meth:`to_json`.  Raises KeyError or TypeError on anything else."""
        grudge = {node: tuple(peers) for node, peers in record.get("grudge", {}).items()}
        detail = {name: value for name, value in record.items() if name not in ("nodes", "grudge", "reserved")}
        return cls(tuple(record["nodes"]), grudge, detail, tuple(record.get("reserved", ())))


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the system and the plan that faults need.

    ``members`` are the nodes where the system keeps its data or that vote, all nodes when there are none: see
    :attr:`Context.members`.  ``peer_ports`` are those at which nodes talk to each other: packets of all of them are the
    system's own, and the first is tried by the probes of a cut link (any answer counts, also a refusal).  ``roles``
    maps a node to the name of the role that faults hit there (``server`` when it is not named), ``programs`` to the
    program that this role's command starts.  ``data_dirs`` maps a node to its data directory (``/data`` when it is not
    named), and ``store`` is the path of the system's files in it; use :meth:`data_dir` and :meth:`store_dir`.
    ``store_files`` sorts those that the system reads when it starts into classes (data, index, snapshot, term), each
    with the patterns of its files below the store; what no pattern matches is never damaged.  ``snapshots``: whether
    the system saves any; ``faketime``: whether it was started under libfaketime (see ``clocks``).  ``beyond_quorum``
    lets faults stop, or damage, a majority.  ``heartbeat`` is text that only heartbeats contain among the packets of a
    leader, empty where none is known.  ``options`` are the faults' own figures (see ``options``).
    """

    members: tuple[str, ...] = ()
    peer_ports: tuple[int, ...] = (7000,)
    roles: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    data_dirs: Mapping[str, str] = field(default_factory=dict)
    store: str = "harness/store"
    store_files: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"data": ("**",)})
    snapshots: bool = True
    snapshot_threshold: int = 1000
    clock_file: str = "/run/harness-clock"
    faketime: bool = False
    beyond_quorum: bool = False
    witness_s: float = 3.0
    heartbeat: str = ""
    options: Mapping[str, float] = field(default_factory=dict)

    def data_dir(self, node: str) -> str:
        return self.data_dirs.get(node, DATA_DIR)

    def role(self, node: str) -> tuple[str, str]:
        """Home and name of the role that faults hit: what its processes are found by (see ``roles``)."""
        return f"{self.data_dir(node)}/{HOME}", self.roles.get(node, "server")

    def store_dir(self, node: str) -> str:
        return f"{self.data_dir(node)}/{self.store}"

    def option(self, name: str) -> float:
        """The plan's figure or the default.  Raises KeyError for a name that is not in the table of options."""
        return float(self.options.get(name, OPTIONS[name].default))


@dataclass(frozen=True, slots=True)
class Context:
    """The context of a fault.  ``busy`` are the nodes that stand under a fault of nodes (not of links).

    ``damaged`` are the nodes whose data an earlier fault of this run may have destroyed.
    ``wanted`` are targets chosen beforehand (by a script or a replay): ``plan`` then uses these.
    ``stop`` ends every wait early.
    """

    nodes: Nodes
    system: System
    clock: Clock
    facts: Facts
    settings: Settings = Settings()
    busy: frozenset[str] = frozenset()
    damaged: frozenset[str] = frozenset()
    wanted: Targets | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def members(self) -> tuple[str, ...]:
        """The nodes that faults draw from and count majorities over, in the cluster's order.

        The others hold nothing that the system must keep.  They stand on some side of a partition, and are hit only
        where they are named.
        """
        chosen = self.settings.members or self.nodes.names
        return tuple(name for name in self.nodes.names if name in chosen)

    @property
    def others(self) -> tuple[str, ...]:
        """The nodes that are no members."""
        members = self.members
        return tuple(name for name in self.nodes.names if name not in members)

    @property
    def free(self) -> tuple[str, ...]:
        """The members that are not busy, in the cluster's order."""
        return tuple(name for name in self.members if name not in self.busy)

    def at_data(self, nodes: Iterable[str], script: str, *arguments: str, timeout: float = 10.0) -> dict[str, Command]:
        """A shell script for each of these nodes, with the node's data directory as ``$0``."""
        return {
            node: Command(("sh", "-c", script, self.settings.data_dir(node), *arguments), timeout=timeout)
            for node in nodes
        }

    def run_checked(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        """Run them all.  Raises FaultError, naming node and reason, when one of them does not exit with 0."""
        done = self.nodes.run(commands)
        if wrong := [one for one in done.values() if one.code != 0]:
            raise FaultError("; ".join(f"{one.node}: exit {one.code}: {complaint(one.stderr)}" for one in wrong))
        return done

    def until(self, look: Callable[[], T | None], within_s: float, every_s: float = POLL_S) -> T | None:
        """Poll ``look`` until it returns something else than None; None when the deadline or ``stop`` comes first."""
        deadline = self.clock.now() + int(within_s * 1e9)
        while (seen := look()) is None:
            if self.clock.now() >= deadline or self.clock.wait(every_s, self.stop):
                return None
        return seen


class Fault(Protocol):
    """One kind of fault.

    ``family`` and ``summary`` (one line, no full stop) go into its receipts; reports colour faults by family.
    ``stops``: the targeted nodes do not serve while it stands, and the quorum guard counts them.
    ``beyond_quorum``: stopping a majority is the purpose of the fault (kill-all), or it keeps the
    quorum itself.
    A fault may have more attributes: ``one_at_a_time``, it stops its nodes one after another, never all at once;
    ``takes_memory``, it may be why a kernel kills processes; ``unaimed``, why its targets cannot be chosen by words;
    ``destroys``, its damage stays when it is healed, and the run remembers its targets; ``queues``, packets that its
    targets receive are queued, so that no other such fault gets them; ``passes``, it is over when its injection is.
    """

    @property
    def name(self) -> str: ...
    @property
    def family(self) -> Family: ...
    @property
    def summary(self) -> str: ...
    @property
    def stops(self) -> bool: ...
    @property
    def beyond_quorum(self) -> bool: ...

    def precheck(self, ctx: Context) -> str | None:
        """The reason why this fault cannot work here, or None."""
        ...

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        """Choose the targets.  Raises SkippedError when there are none."""
        ...

    def inject(self, ctx: Context, targets: Targets) -> None:
        """Start the fault.  Raises FaultError when that failed, wholly or in part."""
        ...

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        """The proof that it stands, never empty.  Raises FaultError when there is none."""
        ...

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        """Undo it, and the proof that it is gone.  Raises FaultError, or StartError of the system."""
        ...


def wanted_nodes(ctx: Context, default: Callable[[], Iterable[str]]) -> tuple[str, ...]:
    """The nodes in ``wanted``, or else the fault's own choice, in the cluster's order.

    Raises SkippedError when one of them is under another fault already, or when there is none.
    """
    chosen = set(ctx.wanted.nodes if ctx.wanted else default())
    if unknown := chosen - set(ctx.nodes.names):
        raise SkippedError(f"no node is called {' or '.join(sorted(unknown))}")
    if locked := chosen & ctx.busy:
        raise SkippedError(f"{', '.join(sorted(locked))} is under another fault")
    if not chosen:
        raise SkippedError("no node is left to hit")
    return tuple(name for name in ctx.nodes.names if name in chosen)


def as_recorded(ctx: Context, name: str, drawn: T) -> T:
    """The value of this name in a replayed fault's receipt, or else the one drawn now."""
    return ctx.wanted.detail.get(name, drawn) if ctx.wanted else drawn


def complaint(text: str) -> str:
    """The line of an output that names the error: the first with "error" in it, or else the last."""
    lines = text.strip().splitlines()
    naming = [line for line in lines if "error" in line.lower()] or lines[-1:]
    return naming[0][:300] if naming else "no message"
