"""The interface between the harness and what it tests: a :class:`System`, defined in one place and found by its name.

A system is a value: declarations (versions, options, planted bugs, workloads, promises, alarms) and a few functions of
a :class:`Setup`, which holds the plan's choices and the machines::

    SYSTEM = System(
        name="toy", summary="a register that one node holds", versions=("1",),
        roles=lambda setup: [Role(node=one.name, command=("toyd",), ready=listening(7000)) for one in setup.nodes],
        clients=lambda setup, number: [ToyClient(setup, worker) for worker in range(number)],
        workloads=(REGISTER,),
    )

Parts that are left out are not used: a system without probes has no charts or checks of terms, and one without a
function to transfer leadership refuses the fault that needs it.  A package announces its system with an entry point of
the group ``harness.systems`` (``toy = "my_package.toy:SYSTEM"``); nothing else in the harness knows it.

=====================  =================================================================================================
declarations           :class:`Option`, :class:`PlantedBug`, :class:`Alarm`, :class:`Surface` (what faults may rely on)
what runs              :class:`Artifact` (files, fetched once), :class:`Role` (one process on one node), :data:`Ready`
what clients see       :class:`Client`, :class:`Outcome`, :class:`Law` (which answer proves what), :class:`Workload`
what nodes report      :class:`Prober`; :data:`FIGURES` and :data:`COUNTS` are the names that everything understands
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
    """An option of a system: ``-o name=value``, a key in plans and suites, and ``--name value`` if the name is free.

    Its type is that of ``default``.  ``choices`` are all possible values of a text option; ``least`` and ``most`` are
    the bounds of a number, and ``reason`` is why no run can use more.

    With ``marks_runs``, any value but the default effectively makes another system: runs are named, grouped and
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
    """A bug that can be switched on in the system, to show whether the harness finds it.

    ``found_by`` are the checks that must find it, the most certain first.  The bug has no effect unless ``options``
    are set.
    """

    name: str
    help: str
    found_by: tuple[str, ...] = ("linearizable",)
    options: Mapping[str, OptionValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """A phrase in a node's log, its meaning, and what follows.  Lines that also contain ``unless`` do not count.

    A ``violation``: no healthy system writes it.  A ``note``: worth knowing, but proves nothing.  ``harness``: the
    set-up is wrong, which is a harness failure.  On nodes that were struck by a fault named in
    ``wanted_by``, that is only a note, because the fault meant to cause it.
    """

    pattern: str
    meaning: str
    follows: Literal["violation", "note", "harness"]
    unless: str | None = None
    wanted_by: tuple[str, ...] = ()


# -- the setting ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Machine:
    """A node: its name, the address at which the other nodes reach it, and the directory of its data filesystem."""

    name: str
    address: str
    data_dir: str = "/data"

    @property
    def home(self) -> str:
        """The directory of all the system's files.

        Relative paths of a :class:`Role` are below it, and logs are in ``<home>/log``.  For the place of an artifact,
        see ``harness.systems.artifacts.on_node``.
        """
        return f"{self.data_dir}/{HOME}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The choices for a run: version, all options, planted bug (empty if none), machines and workload name.

    ``nodes`` is empty if a plan is only read or validated.  ``client_timeout`` is in seconds, for one operation.
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
    """Files that a version needs on every node; see ``harness.systems.artifacts`` for local files and Maven.

    They are fetched when first needed and kept under ``key``, so the same key must mean the same bytes.
    """

    @property
    def name(self) -> str: ...

    @property
    def key(self) -> str:
        """The identity of the content, such as ``maven:org.example:server:1.2``, or a hash of local files."""
        ...

    def fetch(self, into: Path, say: Say) -> None:
        """Put the files into an empty directory.  Raises HarnessError that says how to fix the problem."""
        ...


class Shell(Protocol):
    """A way to run commands on one machine, for readiness checks and probes; calls may block."""

    @property
    def machine(self) -> Machine: ...

    def run(self, command: Command) -> Completed:
        """Run a command on the machine as root.

        A non-zero exit code is a result, not an error.  Raises HarnessError if the machine cannot be reached.
        """
        ...


#: Returns whether a process is ready, without raising if it is not.  It is called repeatedly until the plan's
#: ``ready_timeout``.  ``harness.systems.ready`` has functions for ports, commands and log lines.
Ready: TypeAlias = Callable[[Shell], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One process on one node.

    ``name`` is unique on the node.  Process faults hit the first role of a node, or the one that :class:`Surface`
    names.

    ``command`` runs in the node's home, in its own session, with its output in ``log/<name>-console.log``.  The process
    and its descendants are found by the control group in which it was started, and are killed with SIGKILL.

    ``files`` are written before each start, by their paths below the home.  At the end of a run, everything in ``log/``
    is collected, ``data`` (directories below the home) is packed, and files that match ``keep`` (patterns of small
    files below the home) are copied.  Roles start in the order of ``stage``, each stage when the one before is ready.
    A ``task`` is a command that ends, such as formatting a store; it runs once, before the processes of its stage.
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
    """The properties of a system that faults rely on.  Prechecks refuse faults that need a missing one, with a reason.

    - ``peer_ports``: all TCP ports at which nodes talk to each other; every node listens on the first.
    - ``client_port``: the port for clients.
    - ``role``: the role whose processes are killed and paused; on nodes that lack it, the first role is used.  A power
      cut ends all processes of a node, and is refused if there are several.
    - ``members``: the roles that store data or vote.  Faults choose from the nodes on which one of them runs, and count
      majorities of these.  If it is empty, all nodes with any role count.
    - ``store``: the directory of ``role`` below a node's home.
    - ``store_files``: classes (``data``, ``index``, ``snapshot``, ``term``) of the files that the role reads there at
      start-up, each with patterns below the store.  Files that match no pattern are never damaged.
    - ``snapshot_entries``: the number of entries that trigger a snapshot, 0 if there are none.
    - ``clock``: the role may run under libfaketime, and its probes report ``clock_ms``.
    - ``transfer_leader``: asks the first node to transfer leadership to the second; it raises OSError or ValueError if
      that is refused.
    - ``promote``: instead, promotes the follower with the longest log in place of the dead leader that it gets, lets
      the others follow it, and returns it; if one leads already, it returns that one.  It raises OSError or ValueError
      if a follower does not answer.  While the file ``deposed`` is in a node's home, its role must start as a follower,
      without anything that the new leader lacks, and then remove the file.
    - ``memory_only``: why nothing survives the end of all processes, and how to fix that.
    - ``heartbeat``: text that, among the packets of a leader, only heartbeats contain.
    - ``notices_s``: how long an election takes, until clients have found the new leader (seconds); the gates demand
      nothing of shorter faults.
    - ``refused``: faults that the system cannot take, each with the reason.
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
    promote: Callable[[str], str] | None = None
    memory_only: str = ""
    heartbeat: str = ""
    notices_s: float = 4.0
    refused: Mapping[str, str] = field(default_factory=dict)


# -- what clients see -------------------------------------------------------------------------------------------------


class Client(Protocol):
    """One worker's connection to the system, for one operation at a time, in one event loop.

    ``home`` says in the history where it sends requests: a node, a gateway, or anything else.
    """

    @property
    def home(self) -> str: ...

    async def open(self) -> None:
        """Connect, if the client connects ahead.  May be called again.  It is not an error if the system is down."""
        ...

    async def perform(self, invocation: Invocation) -> Outcome:
        """Send one request to the system, and return within the setup's ``client_timeout``.

        Never raises for anything that the system or the network does: the system's law turns it into an outcome.  A
        request that may have had an effect is never sent again.  With ``invocation.final`` the cluster is whole: any
        node may be asked, in the strongest mode.
        """
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The sizes that a workload is built for: the plan's number of ``keys`` and of workers, and the system's setup.

    ``used`` are the keys that have had operations, in the order of their first one.
    """

    keys: int
    workers: int
    setup: Setup
    used: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The operations of clients, and the checks that judge them.

    - ``generator``: makes the operations of the warm-up and the main phase.
    - ``final``: makes the reads that close a run (marked ``final``).  For each node, a worker repeats each of them
      until a node that has applied it answers.
    - ``model``: the name of a model of the checker, or a function that checks the evidence; ``checks`` are applied in
      addition.
    - ``level``: returns the isolation level for a model of transactions, given the setup.
    - ``kinds``, ``reads``: the ``f`` for which the gates demand completions, and those that show what others did.
    - ``written_once``: no value is written twice to a register, so that ``--stop-on-violation`` can follow the run.
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
        """Return the name of the model, with its level if it has one, or None for a workload with its own check."""
        if not isinstance(self.model, str) or self.level is None:
            return self.model if isinstance(self.model, str) else None
        return f"{self.model}:{self.level(setup)}"


# -- what nodes say ---------------------------------------------------------------------------------------------------

#: The figures of a probe that everything understands, with their meaning.  Whatever else a prober returns, except
#: :data:`COUNTS`, belongs to the system: numbers, which are plotted, and texts.  Conditions of scripts and checks use
#: both by name.
FIGURES: Final[Mapping[str, str]] = {
    "role": "leader, follower, candidate or unknown",
    "term": "number of the term, epoch or ballot",
    "leader": "name of the node that it considers the leader; None if there is none",
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

#: Events that a node has counted since its process started.  The prefix separates them from a system's own counts: a
#: count that is just called ``undecodable`` means nothing to us.
COUNTS: Final[Mapping[str, str]] = {
    "count.snapshots_saved": "snapshots that it has written",
    "count.snapshots_loaded": "snapshots that it has installed from another node",
    "count.unapplied_oks": "acknowledgements of entries that were never applied there: a note",
    "count.apply_errors": "batches in which applying failed: a note",
    "count.reapplied": "returns to entries already applied: a note",
    "count.undecodable": "committed entries that it could not read: a violation, except after damage by our faults",
}


class Prober(Protocol):
    """A source of one node's figures, queried about four times a second."""

    async def ask(self, timeout: float) -> Mapping[str, Any]:
        """Return the node's figures by name.  Raises OSError or ValueError, with the reason, if there are none."""
        ...

    async def close(self) -> None: ...


# -- what must hold ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The record of a run, for checks.  Times are nanoseconds since the run's start.

    ``operations`` are all recorded operations, including those without effect.  ``moments`` are the starts of phases
    (``healed``, ``quiet``, ``final-reads``, ``restarting``, …).  ``recovered`` are the nodes that caught up after the
    last heal.  ``files`` is the directory of collected files, ``<node>/…``.
    """

    setup: Setup
    nodes: tuple[str, ...]
    operations: Sequence[Operation]
    probes: Sequence[Probe]
    receipts: Sequence[Receipt]
    moments: Mapping[str, int]
    recovered: tuple[str, ...] = ()
    files: Path | None = None


#: A check of the system, as a pure function of the recorded evidence.
Invariant: TypeAlias = Callable[[Evidence], Check]
#: Returns whether these nodes have caught up since this time (ns), by the probes so far; more are still coming in.
Recovered: TypeAlias = Callable[[Sequence[Probe], Sequence[str], int], bool]


# -- the system -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system under test.

    The first of ``versions`` and of ``workloads`` is the default.  ``refuse`` returns why a combination of version,
    options and planted bug cannot run, with the remedy, or None.  ``leads`` is called repeatedly after the start until
    it returns the leader, or another word that means "the cluster serves".  ``clients`` makes all clients of a run at
    once, so that they can share a process.  ``describe`` adds facts to the environment in the results.  ``recovered``
    decides whether nodes have caught up; without it, that depends on the nodes' ``committed`` and ``applied`` if probes
    report them, or else on whether operations succeed again.  A node may answer damage to files of the classes in
    ``may_refuse`` by not starting.

    ``every_node_serves``: clients of any node must be served once all faults are healed, by the node or through it.
    False: they need not be, for example if backups refuse requests.  None: this is unknown, so a run in which some
    clients are not served is unknown.

    ``promises`` are the system's claims.  ``epoch_bits`` is the number of lower bits of an index that count within an
    epoch; the upper bits are the epoch (0: no epochs).  ``index_unit`` is what an index counts if not entries, such as
    ``bytes``.  ``log_words`` say what lines of its logs mean.
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
    index_unit: str = ""
