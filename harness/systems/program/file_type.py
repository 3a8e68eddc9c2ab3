"""The type of the file that describes a system, such as ``kv.toml``::

    name = "kv"                                  # the file's name when left out
    files = ["server.py"]                        # put on every node, in {files}; relative to this file

    [[roles]]
    command = "python3 {files}/server.py --node {node} --peers {peers} --data {data} --replication {replication}"
    peer = "{node}={address}:7000"               # {peers} lists those of all nodes, separated by commas
    port = 7000

    [client]
    command = "python3 client.py {peers}"        # on this machine, where this file is

    [options.replication]
    default = "async"
    choices = ["async", "sync"]

The page docs/any-program.md explains each key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import asdict

from harness.errors import UsageError
from harness.systems.program.templates import check, words_of
from history.records.log_words import LogWords
from history.schema import convert, hint
from history.toml_file import read_toml

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Name: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^[a-z][a-z0-9-]*$(?!\n)",
        title="lowercase letters, digits and -, beginning with a letter, such as my-store",
    ),
]
Placeholder: TypeAlias = Annotated[
    str, Meta(pattern=r"^[a-z][a-z0-9_-]*$(?!\n)", title="lowercase letters, digits, _ and -, beginning with a letter")
]
Command: TypeAlias = Text | Annotated[tuple[str, ...], Meta(min_length=1)]
Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]
WorkloadName: TypeAlias = Literal[
    "register", "cas-register", "mixed-registers", "set", "counter", "lock", "bank", "append-log"
]
#: The checks that can find a bug of such a program.
CheckName: TypeAlias = Literal[
    "linearizable", "elements", "total", "recovery", "node-logs", "replicas-agree", "election-safety", "terms-kept",
    "leader-complete", "log-order", "committed-kept",
]  # fmt: skip
Value: TypeAlias = bool | int | float | str
#: The kinds of content that a file of a store may have.
FileClass: TypeAlias = Literal["data", "index", "snapshot", "term"]


class Ready(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How to tell that a process is ready: exactly one of these; by default, the role's port accepts connections."""

    port: Annotated[Port | None, Meta(description="it accepts connections")] = None
    command: Annotated[Command | None, Meta(description="a command on the node exits with 0")] = None
    log: Annotated[Text | None, Meta(description="an extended regular expression matches a line of its output")] = None


class RoleTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A process on every node, or on some."""

    command: Command
    name: Name = "server"
    nodes: Annotated[tuple[Text, ...], Meta(description="all by default")] = ()
    port: Annotated[Port | None, Meta(description="port on which peers and clients reach it")] = None
    peer: Annotated[Text, Meta(description="this process's element of {peers}")] = "{address}"
    ready: Ready | None = None
    environment: dict[str, str] = {}
    files: Annotated[
        dict[Text, str],
        Meta(
            description="files to write before each start: paths below {home} and contents, which may have placeholders"
        ),
    ] = {}
    keep: Annotated[tuple[Text, ...], Meta(description="patterns of small files below {home} to collect")] = ()
    stage: Annotated[int, Meta(ge=0, description="roles of lower stages are ready before it starts")] = 0
    task: Annotated[
        bool, Meta(description="a command that runs once, to its end, before the processes of its stage")
    ] = False


class ClientTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The client program, which runs on this machine."""

    command: Command
    processes: Annotated[Literal["worker", "one"], Meta(description="one per worker, or one for all workers")] = (
        "worker"
    )


class ProbeTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A program on this machine that reports a node's figures, one process per node."""

    command: Command


class OptionTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An option of the system, which is a placeholder in its commands."""

    default: Value
    help: str = ""
    choices: tuple[str, ...] = ()
    least: int | float | None = None
    most: int | float | None = None
    reason: Annotated[str, Meta(description="why no run can use a larger value")] = ""
    marks_runs: Annotated[
        bool, Meta(description="each value counts as a different system, and is part of the run's name")
    ] = False


class PlantedBugTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A bug that the program has when {planted_bug} in its command stands for this bug's name."""

    help: Text
    found_by: Annotated[tuple[CheckName, ...], Meta(min_length=1, description="checks that must find it")] = (
        "linearizable",
    )
    options: Annotated[dict[str, Value], Meta(description="options that it needs to have an effect")] = {}


class AlarmTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A phrase in a node's log, and what it means."""

    pattern: Text
    meaning: Text
    follows: Literal["violation", "note", "harness"]
    unless: Annotated[Text | None, Meta(description="ignore lines that also contain this text")] = None
    wanted_by: Annotated[
        tuple[Text, ...],
        Meta(description="faults that make it only a note, instead of a harness failure, on the nodes they hit"),
    ] = ()


class PromiseTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A claim of the system about some operations or some checks, or about everything if it names neither."""

    claim: Text
    of: Annotated[tuple[Text, ...], Meta(description="operations that it covers")] = ()
    source: Annotated[str, Meta(description="where the system claims it")] = ""
    checks: Annotated[tuple[CheckName, ...], Meta(description="checks whose violations break it")] = ()
    kinds: Annotated[tuple[Text, ...], Meta(description="kinds of violations that break it; all by default")] = ()


class LogWordsTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Regular expressions that classify lines of the system's logs."""

    noise: Annotated[str, Meta(description="lines to leave out of excerpts")] = ""
    milestones: Annotated[str, Meta(description="lines as important as a warning, such as elections")] = ""
    replication: Annotated[str, Meta(description="lines that show a leader changing how it feeds a follower")] = ""


class FaultsTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The properties that faults rely on.  Ports default to the first role's."""

    peer_ports: Annotated[
        tuple[Port, ...], Meta(description="ports between nodes; every node listens on the first")
    ] = ()
    client_port: Port | None = None
    role: Annotated[
        Name | None, Meta(description="role whose processes are killed and paused; the first by default")
    ] = None
    members: Annotated[
        tuple[Name, ...],
        Meta(description="roles that store data or vote, and so make up majorities; all by default"),
    ] = ()
    store_files: Annotated[
        dict[FileClass, tuple[Text, ...]],
        Meta(
            description="glob patterns, relative to {data}, of the files that it reads at startup, by class; "
            "by default all are data"
        ),
    ] = {}
    snapshot_entries: Annotated[
        int, Meta(ge=0, description="number of entries after which it saves a snapshot; 0: never")
    ] = 0
    clock: Annotated[
        bool, Meta(description="it can run under libfaketime (a static program cannot), and its probes report clock_ms")
    ] = False
    memory_only: Annotated[
        str, Meta(description="why its data does not survive the end of all processes; by default, it does")
    ] = ""
    heartbeat: Annotated[str, Meta(description="text that, among a leader's packets, only heartbeats contain")] = ""
    notices_s: Annotated[
        float, Meta(ge=0, description="seconds until a new leader is elected and clients have found it")
    ] = 4.0
    refused: Annotated[dict[str, str], Meta(description="faults that it cannot be tested with, and why")] = {}


class SystemFile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A system under test, which can be any program."""

    roles: Annotated[tuple[RoleTable, ...], Meta(min_length=1)]
    client: ClientTable
    name: Name | None = None
    title: Annotated[str, Meta(description="its name in reports; by default, the name")] = ""
    summary: str = ""
    versions: Annotated[tuple[Text, ...], Meta(min_length=1)] = ("local",)
    files: tuple[Text, ...] = ()
    workloads: Annotated[tuple[WorkloadName, ...], Meta(min_length=1)] = ("register",)
    options: dict[Placeholder, OptionTable] = {}
    planted_bugs: dict[Placeholder, PlantedBugTable] = {}
    probe: ProbeTable | None = None
    faults: FaultsTable = FaultsTable()
    alarms: tuple[AlarmTable, ...] = ()
    log_words: LogWordsTable = LogWordsTable()
    promises: tuple[Text | PromiseTable, ...] = ()
    every_node_serves: Annotated[
        bool | None,
        Meta(description="once all faults are healed, every node serves its clients, itself or through another node"),
    ] = None
    may_refuse: Annotated[
        tuple[FileClass, ...], Meta(description="classes of files whose damage may keep a node from starting")
    ] = ()
    epoch_bits: Annotated[
        int, Meta(ge=0, le=62, description="number of low bits of an index that count within an epoch")
    ] = 0
    index_unit: Annotated[str, Meta(description="what an index counts, such as bytes; by default, entries")] = ""


def store_files(file: SystemFile) -> dict[FileClass, tuple[str, ...]]:
    """Return the patterns of the files in its store by class; by default all files are data."""
    return file.faults.store_files or {"data": ("**",)}


#: The placeholders in a role's command, besides the options.
OF_A_NODE: Final = ("node", "index", "address", "peers", "others", "files", "data", "home", "version", "planted_bug")
#: The placeholders in the client's and the probe's command.  With one process per worker or node, those of its node are
#: allowed as well.
OF_A_CLIENT: Final = ("peers", "version", "planted_bug")
OF_A_PEER: Final = ("node", "index", "address")


def read_system_file(path: Path) -> SystemFile:
    """Read the file of a system.  Raises UsageError that names the file, the place in it, and what is wrong."""
    try:
        file = convert(read_toml(path), SystemFile)
        _check(file)
    except OSError as error:
        raise UsageError(f"--system {path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"--system {path}: {error}") from None
    return file


def _check(file: SystemFile) -> None:
    options = set(file.options)
    if taken := options & set(OF_A_NODE):
        raise ValueError(f"options.{min(taken)} has the name of a placeholder: choose another")
    for number, role in enumerate(file.roles):
        _check_role(f"roles[{number}]", role, {*OF_A_NODE, *options})
    if file.roles[0].task:
        raise ValueError("roles[0] is a task: list the serving role first")
    names = [role.name for role in file.roles]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"more than one of the roles has the name {min(twice)}: give each its own")
    _check_faults(file, names)
    own = OF_A_PEER if file.client.processes == "worker" else ()
    _check_command("client.command", file.client.command, {*OF_A_CLIENT, *own, *options})
    if file.probe is not None:
        _check_command("probe.command", file.probe.command, {*OF_A_CLIENT, *OF_A_PEER, *options})
    _check_files(file.files)
    with _at("log_words"):
        LogWords(**asdict(file.log_words))
    if undeclared := set(file.may_refuse) - set(store_files(file)):
        raise ValueError(
            f"may_refuse: faults.store_files lists no files of the class {min(undeclared)!r}: add them there"
        )


def _check_faults(file: SystemFile, roles: list[str]) -> None:
    if unknown := set(file.faults.members) - set(roles):
        raise ValueError(f"faults.members: there is no role {min(unknown)!r}; {hint(min(unknown), roles)}")
    if (role := file.faults.role) is not None and role not in roles:
        raise ValueError(f"faults.role: there is no role {role!r}; {hint(role, roles)}")
    if file.roles[0].port is None and not (file.faults.peer_ports and file.faults.client_port):
        raise ValueError(
            "roles[0].port is missing: without it, or faults.peer_ports and client_port, links cannot be cut"
        )
    if file.faults.clock and file.probe is None:
        raise ValueError("faults.clock: only a probe that reports clock_ms can show that a clock is wrong: add probe")
    named = {"faults.refused": [*file.faults.refused]}
    named |= {f"alarms[{number}].wanted_by": [*alarm.wanted_by] for number, alarm in enumerate(file.alarms)}
    if any(named.values()):
        from nemesis.faults.registry import FAULTS  # here, because no other file pays for what it imports

        for place, names in named.items():
            if strange := set(names) - set(FAULTS):
                raise ValueError(f"{place}: there is no nemesis {min(strange)!r}; {hint(min(strange), FAULTS)}")


def _check_files(files: tuple[str, ...]) -> None:
    there: dict[str, str] = {}
    for number, name in enumerate(files):
        if (other := there.setdefault(Path(name).name, name)) is not name:
            raise ValueError(f"files[{number}]: {name} and {other} would be the same file on the nodes: rename one")


def _check_role(place: str, role: RoleTable, known: set[str]) -> None:
    _check_command(f"{place}.command", role.command, known)
    with _at(f"{place}.peer"):
        check(role.peer, OF_A_PEER)
    texts = {f"environment.{name}": text for name, text in role.environment.items()}
    texts |= {f"files.{name}": text for name, text in role.files.items()}
    for name, text in texts.items():
        with _at(f"{place}.{name}"):
            check(text, known)
    if outside := [name for name in (*role.files, *role.keep) if name.startswith("/") or ".." in name.split("/")]:
        raise ValueError(f"{place}: {outside[0]!r} must be a path below {{home}}")
    if role.ready is None:
        return
    if role.task:
        raise ValueError(f"{place}.ready: a task is done when its command ends: leave it out")
    given = [name for name in ("port", "command", "log") if getattr(role.ready, name) is not None]
    if len(given) != 1:
        raise ValueError(f"{place}.ready must be one of port, command and log, not {' and '.join(given) or 'empty'}")
    if role.ready.command is not None:
        _check_command(f"{place}.ready.command", role.ready.command, known)


def _check_command(place: str, command: Command, known: set[str]) -> None:
    with _at(place):
        for word in words_of(command):
            check(word, known)


@contextmanager
def _at(place: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
