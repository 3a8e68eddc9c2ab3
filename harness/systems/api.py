"""The seam between the harness and what it tests: one :class:`System`, in one place, found by its name.

A system is a value: declarations (versions, options, planted bugs, workloads, promises, alarms) and a few functions of
a :class:`Setup`, which is what a plan chose of them and the machines it runs on::

    SYSTEM = System(
        name="toy", summary="a register that one node holds", versions=("1",),
        roles=lambda setup: [Role(node=one.name, command=("toyd",), ready=listening(7000)) for one in setup.nodes],
        clients=lambda setup, number: [ToyClient(setup, worker) for worker in range(number)],
        workloads=(REGISTER,),
    )

What is left out is not asked for: a system without probes has no charts or checks of terms, one without a transfer
request refuses the fault that needs it.  A package announces such a value by an entry point of the group
``harness.systems`` (``toy = "my_package.toy:SYSTEM"``); nothing else in the harness knows it.

=====================  =================================================================================================
declarations           :class:`Option`, :class:`PlantedBug`, :class:`Alarm`, :class:`Surface` (what faults may rely on)
what runs              :class:`Artifact` (files, fetched once), :class:`Role` (one process on one node), :data:`Ready`
what clients see       :class:`Client`, :class:`Outcome`, :class:`Law` (which answer proves what), :class:`Workload`
what nodes say         :class:`Prober`; :data:`FIGURES` and :data:`COUNTS` are the names that everything understands
what must hold         :class:`Evidence`, :data:`Invariant`, :data:`Recovered`
=====================  =================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

from harness.generators import Generator, Invocation
from harness.systems.law import Law, Outcome
from harness.systems.promise import Promise
from history import Check, Operation, Probe, Receipt
from history.records.log_words import NO_WORDS, LogWords
from nemesis.core.fault import HOME
from nemesis.core.ports import Command, Completed

OptionValue: TypeAlias = bool | int | float | str
Say: TypeAlias = Callable[[str], None]


# -- declarations -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of a system: ``-o name=value``, ``--name value`` where the name is free, a key in plans and suites.

    Its type is that of ``default``.  ``choices`` are all values, of a text only; ``least`` and ``most`` are bounds of a
    figure, ``reason`` why no run can make use of more.
    With ``marks_runs`` a value other than the default makes another system of it: runs with it are named, grouped and
    compared by it.
    """

    name: str
    default: OptionValue
    help: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    reason: str = ""
    marks_runs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedBug:
    """A bug that the system can be ordered to have, so that a harness that finds nothing is found out itself.

    ``found_by`` are the checks that must find it, the surest first; without ``options`` it does nothing.
    """

    name: str
    help: str
    found_by: tuple[str, ...] = ("linearizable",)
    options: Mapping[str, OptionValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """A text in a node's log, its meaning, and what follows: a line that has the text ``unless`` too is none.

    A ``violation``: no healthy system writes it.  A ``note``: worth knowing, no proof of anything.  A failure of the
    ``harness``: the set-up is wrong; but a note on nodes that a fault named in ``wanted_by`` struck: it was for that.
    """

    pattern: str
    meaning: str
    follows: Literal["violation", "note", "harness"]
    unless: str | None = None
    wanted_by: tuple[str, ...] = ()


# -- the setting ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Machine:
    """A node: its name, the address at which the others reach it, and the directory of its data filesystem."""

    name: str
    address: str
    data_dir: str = "/data"

    @property
    def home(self) -> str:
        """The directory below which everything of the system lies.

        Relative paths of a :class:`Role` are below it, and logs in ``<home>/log``.  The place of an artifact is given
        by ``harness.systems.artifacts.on_node``.
        """
        return f"{self.data_dir}/{HOME}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The choices for a run: version, options (all of them), planted bug (empty: none), machines, name of the workload.

    ``nodes`` is empty where a plan is only read or validated.  ``client_timeout`` is in seconds, for one operation.
    """

    version: str
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    planted_bug: str = ""
    nodes: tuple[Machine, ...] = ()
    client_timeout: float = 4.0
    workload: str = ""

    def node(self, name: str) -> Machine:
        """Find a node by its name.  Raises KeyError."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)


# -- what runs --------------------------------------------------------------------------------------------------------


class Artifact(Protocol):
    """Files that a version needs on every node; see ``harness.systems.artifacts`` for files and Maven.

    They are fetched when they are first needed and kept by ``key``: the same key means the same bytes.
    """

    @property
    def name(self) -> str: ...

    @property
    def key(self) -> str:
        """The identity of the content, such as ``maven:org.example:server:1.2``, or a hash of local files."""
        ...

    def fetch(self, into: Path, say: Say) -> None:
        """Put the files into an empty directory.  Raises HarnessError with the mend."""
        ...


class Shell(Protocol):
    """One machine, where something is to be found out by a command; blocks, as readiness and probes may do."""

    @property
    def machine(self) -> Machine: ...

    def run(self, command: Command) -> Completed:
        """Run it there as root.  An exit code is a result; raises HarnessError when the machine cannot be reached."""
        ...


#: Whether a process answers by now, asked again and again until the plan's ``ready_timeout``; no exception for "not
#: yet".  ``harness.systems.ready`` has those by port, command and log line.
Ready: TypeAlias = Callable[[Shell], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One process on one node.  ``name`` is unique there.  Faults of processes hit the first role of a node,
    or the one that :class:`Surface` names.

    ``command`` runs in the node's home, in a session of its own, its output in ``log/<name>-console.log``.  It is
    found, with all that it started, by the control group that it was started in, and ends by SIGKILL.
    ``files`` are written before each start, by their paths below the home.  Of a run's end everything in ``log/`` is
    collected, ``data`` (directories below the home) packed, and ``keep`` (patterns of small files below the home) as
    they are.  Roles start in the order of ``stage``, each stage when the one before is ready.  A ``task`` is a command
    that ends, run once before its stage's processes (formatting a store).
    """

    node: str
    command: tuple[str, ...]
    name: str = "server"
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    data: tuple[str, ...] = ("store",)
    keep: tuple[str, ...] = ()
    ready: Ready | None = None
    stage: int = 0
    task: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """The properties that faults rely on.  Prechecks refuse faults that need what is left out, with the reason.

    ``peer_ports`` are all TCP ports at which nodes talk to each other, the first of which every node listens on;
    ``client_port`` is that of clients.  ``role`` names the role whose processes are killed and paused, on nodes that
    lack it the first; a power cut, which ends all of a node's processes, is refused where there are several.
    ``members`` names the roles that store data or vote: faults draw from the nodes on which one of them runs, and count
    majorities over these; without any, from all on which something runs.  ``store`` is the directory of ``role`` below
    a node's home, and ``store_files`` sorts what it reads there when it starts into classes (``data``, ``index``,
    ``snapshot``, ``term``), each with patterns below the store; what no pattern matches is never damaged.
    ``snapshot_entries``: how many entries make a snapshot, 0 where none is made.  ``clock``: it may run under
    libfaketime, and its probes report ``clock_ms``.  ``transfer_leader`` asks the first node to hand over to the
    second; it raises OSError or ValueError when that is refused.  ``memory_only`` is why nothing outlives the end of
    all processes, with the mend.  ``heartbeat`` is text that only heartbeats contain among the packets of a leader.
    ``notices_s``: an election, and clients that find the new leader, take so long (seconds); of a shorter fault the
    gates ask nothing.  ``refused`` maps faults that it cannot take to the reason.
    """

    peer_ports: tuple[int, ...]
    client_port: int
    role: str = ""
    members: tuple[str, ...] = ()
    store: str = "store"
    store_files: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"data": ("**",)})
    snapshot_entries: int = 0
    clock: bool = False
    transfer_leader: Callable[[str, str], None] | None = None
    memory_only: str = ""
    heartbeat: str = ""
    notices_s: float = 4.0
    refused: Mapping[str, str] = field(default_factory=dict)


# -- what clients see -------------------------------------------------------------------------------------------------


class Client(Protocol):
    """One worker's way to the system; one operation at a time, in one event loop.

    ``home`` is where it sends to, for the history: a node, a gateway, or anything else.
    """

    @property
    def home(self) -> str: ...

    async def open(self) -> None:
        """Connect, if that is done ahead; may be called again.  A system that is down is no error here."""
        ...

    async def perform(self, invocation: Invocation) -> Outcome:
        """Ask the system once, and return by the setup's ``client_timeout``.

        Never raises for anything that the system or the network does: that is an outcome, by the system's law.  Nothing
        that may have had an effect is sent twice.  With ``invocation.final`` the cluster is whole: any node may be
        asked, in the strongest mode.
        """
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The sizes that a workload is made for: the plan's number of ``keys`` and of workers, and the system's setup.

    ``used`` are the keys that have had operations, in the order of their first.
    """

    keys: int
    workers: int
    setup: Setup
    used: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The operations of clients, and the checks that judge them.

    ``generator`` makes the operations of warm-up and main phase, ``final`` the reads that close a run (marked
    ``final``), each repeated by a worker of each node until it was answered by one that had applied it.  ``model`` is
    the name of a model of the checker, or a check of its own, from the evidence; ``checks`` come on top of it.
    ``level`` is the isolation level that a model of transactions is asked for, by what the setup chose.
    ``kinds`` are the ``f`` of which the gates ask for completions, ``reads`` those that show what others did.
    ``written_once``: no value is written twice to a register, so that ``--stop-on-violation`` can follow.
    """

    name: str
    summary: str
    generator: Callable[[Scale], Generator]
    final: Callable[[Scale], Sequence[Invocation]]
    model: str | Invariant
    level: Callable[[Setup], str] | None = None
    kinds: tuple[str, ...] = ("read", "write")
    reads: frozenset[str] = frozenset({"read"})
    written_once: bool = False
    checks: tuple[Invariant, ...] = ()

    def model_of(self, setup: Setup) -> str | None:
        """The name of the model, with its level if it has one; None for a check of its own."""
        if not isinstance(self.model, str) or self.level is None:
            return self.model if isinstance(self.model, str) else None
        return f"{self.model}:{self.level(setup)}"


# -- what nodes say ---------------------------------------------------------------------------------------------------

#: The figures of a probe that everything understands, with their units.  Everything else that a prober returns, but for
#: :data:`COUNTS`, is the system's own: numbers, of which there is a plot, and texts; conditions of scripts and checks
#: ask for both by name.
FIGURES: Final[Mapping[str, str]] = {
    "role": "leader, follower, candidate or unknown",
    "term": "number of the term, epoch or ballot",
    "leader": "name of the node that it takes for the leader, None without one",
    "log_begin": "index of the first entry in its log",
    "log_end": "index of the last entry in its log, -1 without one",
    "committed": "index of the last entry that it knows to be committed",
    "applied": "index of the last entry that its state machine has applied",
    "state_index": "index of the furthest entry in the state that the digest is of",
    "digest": "hash of the whole state machine: equal at equal state_index",
    "clock_ms": "its own wall clock, milliseconds since 1970",
    "pid": "process id inside the node",
    "fault": "the first thing that went wrong in it, in words",
}

#: What a node has counted since its process began.  The prefix keeps a system's own counts apart: one that is called
#: ``undecodable`` means nothing to us.
COUNTS: Final[Mapping[str, str]] = {
    "count.snapshots_saved": "snapshots that it has written",
    "count.snapshots_loaded": "snapshots that it has installed from another node",
    "count.unapplied_oks": "acknowledgements of entries that were never applied there: a note",
    "count.apply_errors": "batches in which applying failed: a note",
    "count.reapplied": "returns to entries that had been applied before: a note",
    "count.undecodable": "committed entries that it could not read: a violation, but after damage of ours",
}


class Prober(Protocol):
    """Asks one node about itself, about four times a second."""

    async def ask(self, timeout: float) -> Mapping[str, Any]:
        """The node's figures by name.  Raises OSError or ValueError, with the reason, when there are none."""
        ...

    async def close(self) -> None: ...


# -- what must hold ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The record of a run, for checks.  Times are nanoseconds since the run's start.

    ``operations`` are all that were recorded, also those without any effect.
    ``moments`` are when phases began (``healed``, ``quiet``, ``final-reads``, ``restarting``, …).  ``recovered`` are
    the nodes that caught up after the last heal.  ``files`` is the directory of what was collected, ``<node>/…``.
    """

    setup: Setup
    nodes: tuple[str, ...]
    operations: Sequence[Operation]
    probes: Sequence[Probe]
    receipts: Sequence[Receipt]
    moments: Mapping[str, int]
    recovered: tuple[str, ...] = ()
    files: Path | None = None


#: A check of the system, as a pure function of what was recorded.
Invariant: TypeAlias = Callable[[Evidence], Check]
#: Whether these nodes have caught up since this time (ns) by these probes, which are still coming in.
Recovered: TypeAlias = Callable[[Sequence[Probe], Sequence[str], int], bool]


# -- the system -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system under test.

    The first of ``versions`` and of ``workloads`` is the default.  ``refuse`` returns why a combination of version,
    options and planted bug cannot be run, with the mend, or None.  ``leads`` is asked again and again after the start
    until it returns who leads, or another word for "the cluster serves".  ``clients`` makes all clients of a run at
    once, so that they can share a process.  ``describe`` adds facts to what the results record of the environment.
    Without ``recovered`` the nodes' ``committed`` and ``applied`` decide where probes report them, else that
    operations succeed again. A node may answer damage to files of the classes in ``may_refuse`` by not starting.
    ``every_node_serves``: clients of any node must be served once all faults are healed, by it or through it. False:
    they need not be, as where a backup refuses. None: it is not known, so a run in which some are not is unknown.
    ``promises``: what it claims.  ``epoch_bits``: so many lower bits of an index count within an epoch, which the
    upper ones are (0: no epochs).  ``log_words`` say what lines of its logs mean.
    """

    name: str
    summary: str
    versions: tuple[str, ...]
    roles: Callable[[Setup], Sequence[Role]]
    clients: Callable[[Setup, int], Sequence[Client]]
    workloads: tuple[Workload, ...]
    surface: Callable[[Setup], Surface]
    law: Law
    options: tuple[Option, ...] = ()
    planted_bugs: tuple[PlantedBug, ...] = ()
    refuse: Callable[[Setup], str | None] = lambda _setup: None
    artifacts: Callable[[Setup], Sequence[Artifact]] = lambda _setup: ()
    leads: Callable[[Setup], str | None] = lambda _setup: "the cluster"
    prober: Callable[[Setup, Shell], Prober] | None = None
    describe: Callable[[Setup, Shell], Mapping[str, str]] = lambda _setup, _shell: {}
    promises: tuple[str | Promise, ...] = ()
    recovered: Recovered | None = None
    invariants: tuple[Invariant, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    log_words: LogWords = NO_WORDS
    may_refuse: frozenset[str] = frozenset()
    every_node_serves: bool | None = None
    title: str = ""
    epoch_bits: int = 0
