"""Faults, their targets, and the context they work in.

A fault is one small class without state.  A run calls its methods in this order:

1. ``precheck``: once, before anything starts, say whether the fault can work on this cluster.  It is cheap and changes
   nothing.
2. ``plan``: choose the targets, without touching the nodes.  The targets are recorded before ``inject`` is called.
3. ``inject``: do it.
4. ``witness``: prove that the fault is active, by evidence other than the exit code of its commands.  Without proof,
   raise FaultError.
5. ``heal``: undo the fault and prove that it is gone.  A run may call this repeatedly, after an ``inject`` that failed
   midway, and for single nodes (``Targets.only``) after healing all of them at once has failed (see ``healing``).

Everything that ``heal`` must know is in the targets, so it can be called after any failure.
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
from nemesis.core.ports import Command, Completed, Nodes, SystemControl

Family: TypeAlias = Literal["partition", "packet", "kill", "pause", "leadership", "disk", "clock", "resource"]
#: Families of faults of links between nodes.  All others are faults of nodes, and only one of those may hit a node at a
#: time.
LINK_FAMILIES: Final = frozenset({"partition", "packet"})
Witness: TypeAlias = dict[str, Any]
T = TypeVar("T")

POLL_S = 0.01
DATA_DIR = "/data"
#: Directory for all of the system's files, below a node's data directory.
HOME: Final = "harness"


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of a fault.

    ``grudge`` maps a node to the nodes whose packets it drops.  ``reserved`` are further nodes, one of which the fault
    may still hit, such as a successor that is still unknown.  ``detail`` is plain JSON for the fault's own use.
    """

    nodes: tuple[str, ...]
    grudge: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    detail: Mapping[str, Any] = field(default_factory=dict)
    reserved: tuple[str, ...] = ()

    def only(self, node: str) -> Targets:
        """Return the targets reduced to one node, with the same detail."""
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
        """Parse what :meth:`to_json` returned.  Raises KeyError or TypeError for anything else."""
        grudge = {node: tuple(peers) for node, peers in record.get("grudge", {}).items()}
        detail = {name: value for name, value in record.items() if name not in ("nodes", "grudge", "reserved")}
        return cls(tuple(record["nodes"]), grudge, detail, tuple(record.get("reserved", ())))


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the system and the plan that faults need.

    - ``members`` are the nodes that vote or hold the system's data; empty means all nodes.  See
      :attr:`Context.members`.
    - ``peer_ports`` are the ports at which nodes talk to each other.  Packets at these ports count as the system's own.
      Attempts to connect across a cut link use the first port (any answer counts, even a refusal).
    - ``roles`` maps a node to the role that faults hit there (default ``server``), and ``programs`` to the program that
      this role's command starts.
    - ``data_dirs`` maps a node to its data directory (default ``/data``), and ``store`` is the path of the system's
      files in it; use :meth:`data_dir` and :meth:`store_dir`.
    - ``store_files`` maps classes of files (data, index, snapshot, term) to glob patterns below the store, for files
      that the system reads when it starts.  Files that match no pattern are never damaged.
    - ``snapshots`` says whether the system saves snapshots, and ``faketime`` whether it was started under libfaketime
      (see ``clocks``).
    - ``beyond_quorum`` lets faults stop or damage a majority.
    - ``witness_s`` is the longest time (in seconds) that a fault waits for proof of its effect, and ``ready_s`` that a
      system has to start, or to promote a follower.
    - ``heartbeat`` is text that, among a leader's packets, only heartbeats contain; empty if none is known.
    - ``options`` are the values of the faults' options (see ``options``).
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
    ready_s: float = 60.0
    heartbeat: str = ""
    options: Mapping[str, float] = field(default_factory=dict)

    def data_dir(self, node: str) -> str:
        return self.data_dirs.get(node, DATA_DIR)

    def role(self, node: str) -> tuple[str, str]:
        """Return the home and name of the role that faults hit, by which its processes are found (see ``roles``)."""
        return f"{self.data_dir(node)}/{HOME}", self.roles.get(node, "server")

    def store_dir(self, node: str) -> str:
        return f"{self.data_dir(node)}/{self.store}"

    def option(self, name: str) -> float:
        """Return an option's value from the plan, or its default.  Raises KeyError for an unknown option."""
        return float(self.options.get(name, OPTIONS[name].default))


@dataclass(frozen=True, slots=True)
class Context:
    """The context that a fault works in.

    ``busy`` are the nodes that are under a fault of nodes (not of links).  ``damaged`` are the nodes whose data an
    earlier fault in this run may have destroyed.  ``wanted`` are targets that a script or a replay chose beforehand,
    which ``plan`` must use.  ``stop`` ends every wait early.
    """

    nodes: Nodes
    system: SystemControl
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

        The other nodes hold nothing that the system must keep.  They are on some side of every partition, and other
        faults hit them only by name.
        """
        chosen = self.settings.members or self.nodes.names
        return tuple(name for name in self.nodes.names if name in chosen)

    @property
    def others(self) -> tuple[str, ...]:
        """The nodes that are not members, in the cluster's order."""
        members = self.members
        return tuple(name for name in self.nodes.names if name not in members)

    @property
    def free(self) -> tuple[str, ...]:
        """The members that are not busy, in the cluster's order."""
        return tuple(name for name in self.members if name not in self.busy)

    def at_data(self, nodes: Iterable[str], script: str, *arguments: str, timeout: float = 10.0) -> dict[str, Command]:
        """Return a command for each of these nodes that runs a shell script with its data directory as ``$0``."""
        return {
            node: Command(("sh", "-c", script, self.settings.data_dir(node), *arguments), timeout=timeout)
            for node in nodes
        }

    def run_checked(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        """Run commands on their nodes.  Raises FaultError that names node and reason if one does not exit with 0."""
        done = self.nodes.run(commands)
        if failed := [result for result in done.values() if result.code != 0]:
            lines = (f"{result.node}: exit {result.code}: {complaint(result.stderr)}" for result in failed)
            raise FaultError("; ".join(lines))
        return done

    def until(self, look: Callable[[], T | None], within_s: float, every_s: float = POLL_S) -> T | None:
        """Poll ``look`` until it does not return None, and return its result; None at the deadline or on ``stop``."""
        # This is the run's clock and not the machine's, so a test with a fake clock waits for nothing.
        deadline = self.clock.now() + int(within_s * 1e9)
        while (result := look()) is None:
            if self.clock.now() >= deadline or self.clock.wait(every_s, self.stop):
                return None
        return result


class Fault(Protocol):
    """One kind of fault.

    ``family`` and ``summary`` (one line, no full stop) go into its receipts; reports colour faults by family. ``stops``
    means that targeted nodes do not serve while it is active, so the quorum guard counts them. ``beyond_quorum`` means
    that the fault is meant to stop a majority (kill-all), or that it preserves the quorum itself.

    A fault may have further attributes:

    - ``one_at_a_time``: it stops its nodes one after another, never all at once.
    - ``takes_memory``: it may cause the kernel to kill processes.
    - ``unaimed``: the reason why its targets cannot be chosen by words.
    - ``destroys``: its damage remains after healing, so the run remembers its targets.
    - ``queues``: it queues the packets that its targets receive, so no other such fault can get them.
    - ``passes``: it ends when its injection does.
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
        """Return the reason why this fault cannot work here; None if it can."""
        ...

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        """Choose the targets.  Raises SkippedError if there are none."""
        ...

    def inject(self, ctx: Context, targets: Targets) -> None:
        """Start the fault.  Raises FaultError if that fails, even in part."""
        ...

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        """Return proof that the fault is active, never empty.  Raises FaultError if there is none."""
        ...

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        """Undo the fault and return proof that it is gone.  Raises FaultError, or the system's StartError."""
        ...


def wanted_nodes(ctx: Context, default: Callable[[], Iterable[str]]) -> tuple[str, ...]:
    """Return the nodes in ``ctx.wanted``, or else the fault's own choice, in the cluster's order.

    Raises SkippedError if one of them is unknown or already under another fault, or if there are none.
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
    """Return the value with this name in the receipt of a replayed fault, or else ``drawn``."""
    return ctx.wanted.detail.get(name, drawn) if ctx.wanted else drawn


def complaint(text: str) -> str:
    """Return the line of an output that names the error: the first one with "error" in it, or else the last."""
    lines = text.strip().splitlines()
    naming = [line for line in lines if "error" in line.lower()] or lines[-1:]
    return naming[0][:300] if naming else "no message"
