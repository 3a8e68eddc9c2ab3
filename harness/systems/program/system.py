"""The system that a file describes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from msgspec.structs import asdict

from harness.systems.api import Alarm, Machine, Option, PlantedBug, Prober, Ready, Role, Setup, Shell, Surface, System
from harness.systems.artifacts import LocalFiles, on_node
from harness.systems.program.child import LineProgram, Program
from harness.systems.program.client import LAW, ProgramClient
from harness.systems.program.file_type import Command, RoleTable, SystemFile, read_system_file, store_files
from harness.systems.program.file_type import Ready as ReadyTable
from harness.systems.program.templates import fill, words_of
from harness.systems.program.workloads import ANSWERS, WORKLOADS
from harness.systems.promise import Promise
from harness.systems.ready import listening, logged, succeeds
from history.records.log_words import LogWords

#: Seconds beyond its timeout that a probe may take before its program is killed, which leaves time to start.  It must
#: be less than the time after which a prober is given up, or a slow start would be cut off again and again.
PROBE_GRACE_S: Final = 5.0
#: Makes lines that a Python program prints arrive at once.
_ENVIRONMENT = (("PYTHONUNBUFFERED", "1"),)


def system_of(path: Path) -> System:
    """Return the system in a file.  Raises UsageError that names the file, the place in it, and what is wrong."""
    file = read_system_file(path)
    return _FromFile(file, file.name or path.stem, path.resolve().parent).system()


@dataclass(frozen=True, slots=True)
class _FromFile:
    file: SystemFile
    name: str
    directory: Path

    def system(self) -> System:
        file = self.file
        return System(
            name=self.name,
            title=file.title,
            summary=file.summary,
            versions=file.versions,
            options=tuple(Option(name=name, **asdict(option)) for name, option in file.options.items()),
            planted_bugs=tuple(PlantedBug(name=name, **asdict(bug)) for name, bug in file.planted_bugs.items()),
            refuse=self.refuse,
            roles=self.roles,
            artifacts=self.artifacts,
            surface=self.surface,
            clients=self.clients,
            law=LAW,
            workloads=tuple(WORKLOADS[name] for name in file.workloads),
            prober=self.prober if file.probe is not None else None,
            promises=tuple(claim if isinstance(claim, str) else Promise(**asdict(claim)) for claim in file.promises),
            every_node_serves=file.every_node_serves,
            alarms=tuple(Alarm(**asdict(alarm)) for alarm in file.alarms),
            log_words=LogWords(**asdict(file.log_words)),
            may_refuse=frozenset(file.may_refuse),
            epoch_bits=file.epoch_bits,
            index_unit=file.index_unit,
        )

    def refuse(self, setup: Setup) -> str | None:
        """Return which file or program this machine lacks, or which node the cluster lacks if it is known, or None."""
        for number, name in enumerate(self.file.files):
            if not (self.directory / name).is_file():
                return f"--system {self.name}: files[{number}]: there is no file {self.directory / name}"
        for role in self.file.roles if setup.nodes else ():
            names = [node.name for node in setup.nodes]
            if unknown := sorted(set(role.nodes) - set(names)):
                return (
                    f"--system {self.name}: the role {role.name} is for {unknown[0]}; the nodes are {' '.join(names)}"
                )
        probe = self.file.probe
        programs = {"client": self.file.client.command, **({"probe": probe.command} if probe is not None else {})}
        for name, command in programs.items():
            try:
                word = fill(words_of(command)[0], {**_options(setup), "version": setup.version, "planted_bug": ""})
            except KeyError:  # the program's name depends on the node
                continue
            path = str(self.directory / word) if "/" in word else word
            if shutil.which(path) is None:
                there = "cannot be executed" if Path(path).is_file() else "is not on this machine"
                return f"--system {self.name}: {name}.command: {path} {there}"
        return None

    # -- on the nodes ----------------------------------------------------------------------------------------------

    def artifacts(self, _setup: Setup) -> Sequence[LocalFiles]:
        paths = tuple(self.directory / name for name in self.file.files)
        return [LocalFiles(self.name, paths, "it is listed in files")] if paths else []

    def roles(self, setup: Setup) -> list[Role]:
        return [self._role(setup, role, node) for role in self.file.roles for node in _nodes_of(setup, role)]

    def _role(self, setup: Setup, role: RoleTable, node: Machine) -> Role:
        values = self._values(setup, role, node)
        return Role(
            node=node.name,
            name=role.name,
            command=_filled(role.command, values),
            environment={name: fill(text, values) for name, text in role.environment.items()},
            files={name: fill(text, values) for name, text in role.files.items()},
            data=(_data(role),),
            keep=role.keep,
            ready=None if role.task else _ready(role, values),
            stage=role.stage,
            task=role.task,
        )

    def surface(self, _setup: Setup) -> Surface:
        faults, first = self.file.faults, self.file.roles[0]
        port = first.port or 0
        hit = next((role for role in self.file.roles if role.name == faults.role), first)
        return Surface(
            peer_ports=faults.peer_ports or (port,),
            client_port=faults.client_port or port,
            role=hit.name,
            members=faults.members,
            store=_data(hit),
            store_files=cast(Mapping[str, tuple[str, ...]], store_files(self.file)),
            snapshot_entries=faults.snapshot_entries,
            clock=faults.clock,
            memory_only=faults.memory_only,
            heartbeat=faults.heartbeat,
            notices_s=faults.notices_s,
            refused=faults.refused,
        )

    # -- on this machine -------------------------------------------------------------------------------------------

    def clients(self, setup: Setup, number: int) -> list[ProgramClient]:
        """Make a client for each worker, spread evenly over the nodes."""
        homes = _nodes_of(setup, self.file.roles[0])
        each = self.file.client.processes == "worker"
        shared = None if each else LineProgram(self._program(setup, self.file.client.command))
        return [
            ProgramClient(
                shared or LineProgram(self._program(setup, self.file.client.command, home)), home, worker,
                timeout=setup.client_timeout, answers=ANSWERS.get(setup.workload, {}),
            )
            for worker, home in ((worker, homes[worker % len(homes)]) for worker in range(number))
        ]  # fmt: skip

    def prober(self, setup: Setup, shell: Shell) -> Prober:
        assert self.file.probe is not None
        return _Prober(LineProgram(self._program(setup, self.file.probe.command, shell.machine)), shell.machine)

    def _program(self, setup: Setup, command: Command, node: Machine | None = None) -> Program:
        values = _of_the_run(setup, self.file.roles[0])
        if node is not None:
            here = (nodes for role in self.file.roles if node in (nodes := _nodes_of(setup, role)))
            values |= _names(node, next(here))
        return Program(_filled(command, values), self.directory, _ENVIRONMENT)

    # -- placeholders ----------------------------------------------------------------------------------------------

    def _values(self, setup: Setup, role: RoleTable, node: Machine) -> dict[str, str]:
        artifacts = self.artifacts(setup)
        here = _names(node, _nodes_of(setup, role))
        return {
            **_of_the_run(setup, role),
            **here,
            "others": ",".join(peer for peer in _peers(setup, role) if peer != fill(role.peer, here)),
            "home": node.home,
            "data": f"{node.home}/{_data(role)}",
            "files": on_node(node, artifacts[0]) if artifacts else node.home,
        }


@dataclass(frozen=True, slots=True)
class _Prober:
    """A prober that asks the probe program about one node."""

    program: LineProgram
    node: Machine

    async def ask(self, timeout: float) -> Mapping[str, Any]:
        request = {"f": "probe", "node": self.node.name, "address": self.node.address, "timeout": timeout}
        answer = await self.program.ask(request, timeout + PROBE_GRACE_S)
        value = answer.get("value")
        if answer.get("type") != "ok" or not isinstance(value, dict):
            raise ValueError(str(answer.get("error") or "an answer without figures")[:200])
        return value

    async def close(self) -> None:
        self.program.close()


def _nodes_of(setup: Setup, role: RoleTable) -> list[Machine]:
    return [node for node in setup.nodes if not role.nodes or node.name in role.nodes]


def _names(node: Machine, among: Sequence[Machine]) -> dict[str, str]:
    return {"node": node.name, "index": str(among.index(node) + 1), "address": node.address}


def _peers(setup: Setup, role: RoleTable) -> list[str]:
    nodes = _nodes_of(setup, role)
    return [fill(role.peer, _names(node, nodes)) for node in nodes]


def _data(role: RoleTable) -> str:
    """Return the role's data directory below a node's home."""
    return f"data/{role.name}"


def _filled(command: Command, values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(fill(word, values) for word in words_of(command))


def _of_the_run(setup: Setup, role: RoleTable) -> dict[str, str]:
    """Return the values that are the same on every node."""
    peers = ",".join(_peers(setup, role))
    return {**_options(setup), "version": setup.version, "planted_bug": setup.planted_bug, "peers": peers}


def _options(setup: Setup) -> dict[str, str]:
    """Return the values of the options as words, with true and false as in TOML."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in setup.options.items()
    }


def _ready(role: RoleTable, values: Mapping[str, str]) -> Ready | None:
    ready = role.ready or ReadyTable()
    if ready.command is not None:
        return succeeds(*_filled(ready.command, values))
    if ready.log is not None:
        return logged(ready.log, f"log/{role.name}-console.log")
    port = ready.port or role.port
    return None if port is None else listening(port)
