"""Any :class:`System` on its nodes: install, start, wait until ready, kill, wipe, collect.

On a node everything is below its home: ``programs/`` (artifacts, by their content), ``run/`` (process ids, by role),
``log/``, and the data of the roles.  A process is started in the control group of its role, by which it is found with
all its descendants (see ``nemesis.core.roles``).
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from harness.errors import HarnessError, NotReadyError, RemoteError, StoreError
from harness.systems.api import Artifact, Client, Machine, Prober, Role, Say, Setup, Surface, System
from harness.systems.artifacts import cached, folder, on_node
from harness.systems.node_scripts import ARRIVED, COLLECT, COPY, KILL, LAST_WORDS, PID, START, WIPE
from nemesis.core.ports import Command, Completed
from nemesis.core.roles import SIGNAL
from nemesis.faults.power import POWER

if TYPE_CHECKING:
    from harness.remote.node import Node

#: Seconds between checks whether a process that is being waited for has died.
LOOK_AGAIN_S: Final = 1.0


class RemoteNodes(Protocol):
    """The methods of nodes that this module needs; ``harness.remote.nodes.Remote`` has them."""

    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]: ...

    def upload(self, node: str, local: Path, remote: str) -> None: ...

    def download_tree(self, node: str, remote: str, local: Path) -> None: ...


@dataclass(frozen=True, slots=True)
class NodeShell:
    """A shell on one node; implements ``harness.systems.api.Shell``."""

    machine: Machine
    remote: RemoteNodes

    def run(self, command: Command) -> Completed:
        return self.remote.run({self.machine.name: command})[self.machine.name]


def machines(nodes: Iterable[Node]) -> tuple[Machine, ...]:
    """Return the nodes of a cluster as a system sees them."""
    return tuple(Machine(node.name, node.address, node.data_dir) for node in nodes)


def members_of(system: System, setup: Setup) -> tuple[str, ...]:
    """Return the nodes that run one of the surface's ``members`` roles, or any role if it names none.

    Raises HarnessError if none of these roles runs anywhere.
    """
    wanted = system.surface(setup).members
    having = {role.node for role in system.roles(setup) if not role.task and (not wanted or role.name in wanted)}
    if wanted and not having:
        raise HarnessError(f"{system.name} names {', '.join(wanted)} as members, but no such role runs on any node")
    return tuple(node.name for node in setup.nodes if node.name in having)


def fetch(system: System, setup: Setup, say: Say) -> dict[str, Path]:
    """Fetch artifacts that this machine lacks, and return the places of all by folder name.  Raises HarnessError."""
    return {folder(artifact): cached(artifact, say) for artifact in system.artifacts(setup)}


class Deployment:
    """One system on the nodes of one cluster.  All methods work on several nodes at once and may be repeated."""

    def __init__(
        self,
        system: System,
        setup: Setup,
        remote: RemoteNodes,
        clock: Callable[[], float],
        ready_timeout: float = 60.0,
        say: Say = lambda _line: None,
    ) -> None:
        """Make a deployment; ``clock`` reads seconds, and ``ready_timeout`` limits every wait (seconds)."""
        self.system = system
        self.setup = setup
        self.names = tuple(node.name for node in setup.nodes)
        self._remote = remote
        self._clock = clock
        self._ready_timeout = ready_timeout
        self._say = say
        self._environments: dict[str, Mapping[str, str]] = {}
        self._stages: list[list[Role]] | None = None
        self._done: set[tuple[str, str]] = set()
        #: The nodes on which a process ended during their last start.
        self.died_starting: set[str] = set()

    @property
    def stages(self) -> list[list[Role]]:
        """The roles, as one list for each stage, in order."""
        if self._stages is None:
            roles = sorted(self.system.roles(self.setup), key=lambda role: role.stage)
            self._stages = [list(same) for _, same in groupby(roles, key=lambda role: role.stage)]
        return self._stages

    @property
    def surface(self) -> Surface:
        """The properties that faults rely on.

        Power cuts are refused if a node has several processes, because one of them cannot lose power alone.
        """
        surface = self.system.surface(self.setup)
        several = next((name for name in self.names if len(self._processes(name)) > 1), None)
        if several is None:
            return surface
        why = f"a power cut ends all processes of a node, and {several} has {len(self._processes(several))} of them"
        return replace(surface, refused={**{fault.name: why for fault in POWER}, **surface.refused})

    def _processes(self, node: str) -> list[Role]:
        return [role for stage in self.stages for role in stage if role.node == node and not role.task]

    @property
    def serving(self) -> tuple[str, ...]:
        """The nodes on which something runs."""
        return tuple(name for name in self.names if self._processes(name))

    @property
    def members(self) -> tuple[str, ...]:
        """The nodes that store data or vote according to the surface, or else all nodes on which something runs."""
        return members_of(self.system, self.setup)

    @property
    def processes(self) -> dict[str, list[str]]:
        """The names of the roles that run on each node; a node may have none."""
        return {name: [role.name for role in self._processes(name)] for name in self.names}

    @property
    def hit(self) -> dict[str, Role]:
        """The role that faults hit on each node: the one that the surface names, or else the node's first."""
        wanted = self.system.surface(self.setup).role
        by_node = {name: sorted(self._processes(name), key=lambda role: role.name != wanted) for name in self.serving}
        return {name: roles[0] for name, roles in by_node.items()}

    def shell(self, node: str) -> NodeShell:
        return NodeShell(self.setup.node(node), self._remote)

    # -- programs --------------------------------------------------------------------------------------------------

    def install(self) -> None:
        """Copy the artifacts to every node that lacks them. Raises HarnessError."""
        self._run_all({name: _script("mkdir", 'mkdir -p "$1/log"', self._home(name)) for name in self.names})
        for artifact in self.system.artifacts(self.setup):
            self._install(artifact, cached(artifact, self._say))
        # Sync, because a power cut in the first seconds must not lose the program: that would be our failure.
        self._run_all({node.name: Command(("sync", "-f", node.data_dir)) for node in self.setup.nodes})

    def _install(self, artifact: Artifact, local: Path) -> None:
        places = {node.name: on_node(node, artifact) for node in self.setup.nodes}
        answers = self._run_all({name: _script("copy", COPY, str(local), at) for name, at in places.items()})
        missing = {name: at for name, at in places.items() if answers[name].stdout.strip()}
        files = sorted(path for path in local.rglob("*") if path.is_file())
        with ThreadPoolExecutor(max(1, len(missing))) as pool:
            list(pool.map(lambda place: self._upload(place[0], local, files, place[1]), missing.items()))
        self._run_all({name: _script("arrived", ARRIVED, at) for name, at in missing.items()})

    def _upload(self, node: str, local: Path, files: Sequence[Path], place: str) -> None:
        for path in files:
            self._remote.upload(node, path, f"{place}.part/{path.relative_to(local)}")

    # -- processes -------------------------------------------------------------------------------------------------

    def set_environments(self, environments: Mapping[str, Mapping[str, str]]) -> None:
        """Set additional environment variables for later starts of each node's processes."""
        self._environments = dict(environments)

    def start(self, nodes: Iterable[str]) -> None:
        """Start the processes that are not running, stage by stage, and return when all are ready.

        Raises NotReadyError with the last lines of the logs.
        """
        names = set(nodes)
        for stage in self.stages:
            roles = [role for role in stage if role.node in names]
            for role in (candidate for candidate in roles if candidate.task):
                self._perform(role)
            running = [role for role in roles if not role.task]
            for together in _one_a_node(running):
                self._write_files(together)
                self._run_all({role.node: self.start_command(role) for role in together})
            self._wait(running)
        self.died_starting -= names  # they are up now

    def start_command(self, role: Role) -> Command:
        """Return the command that starts a role in its own session and process group, unless it is running."""
        variables = {**role.environment, **self._environments.get(role.node, {})}
        words = (*(("env", *(f"{name}={value}" for name, value in variables.items())) if variables else ()),)
        return _script("start", START, self._home(role.node), mark_of(role), role.name, *words, *role.command)

    def _write_files(self, roles: Sequence[Role]) -> None:
        for role in roles:
            for below, text in role.files.items():
                script = 'mkdir -p "$(dirname "$1")" && cat > "$1.part" && mv "$1.part" "$1"'
                words = ("sh", "-c", script, "write", f"{self._home(role.node)}/{below}")
                self._run_all({role.node: Command(words, stdin=text)})

    def _perform(self, role: Role) -> None:
        """Run a task, unless it has run on its node since the last wipe.  Raises NotReadyError if it fails."""
        if (role.node, role.name) in self._done:
            return
        self._write_files([role])
        words = ("env", *(f"{name}={value}" for name, value in role.environment.items()), *role.command)
        script = f'mkdir -p "$1/log" && cd "$1" && {shlex.join(words)} > "log/{role.name}-console.log" 2>&1'
        command = Command(("sh", "-c", script, "task", self._home(role.node)), timeout=self._ready_timeout)
        if self._remote.run({role.node: command})[role.node].code != 0:
            raise NotReadyError(f"{role.name} failed on {role.node}; {self._last_words(role.node)}")
        self._done.add((role.node, role.name))

    def pids(self, nodes: Iterable[str]) -> dict[str, int | None]:
        """Return the pid, inside each node, of the role that faults hit, or None where it is not running."""
        by_node: dict[str, int | None] = dict.fromkeys(nodes)
        hit = self.hit
        commands = {name: self._pid_command(hit[name]) for name in by_node if name in hit}
        for name, answer in self._remote.run(commands).items() if commands else ():
            by_node[name] = int(answer.stdout) if answer.stdout.strip() else None
        return by_node

    def _pid_command(self, role: Role) -> Command:
        return _script("pid", PID, self._home(role.node), role.name)

    def kill(self, nodes: Iterable[str]) -> None:
        """Send SIGKILL to every process of a system on the nodes, and wait until they are gone."""
        self._run_all({name: _script("kill", KILL, self._home(name), SIGNAL) for name in nodes})

    def wipe(self) -> None:
        """Remove what earlier runs of any system left, except programs.  No process may be running."""
        self._done.clear()
        self._run_all({name: _script("wipe", WIPE, self._home(name)) for name in self.names})

    # -- readiness -------------------------------------------------------------------------------------------------

    def await_leader(self) -> str:
        """Wait until the cluster serves, then return the leader. Raises NotReadyError after the timeout."""
        leader: list[str] = []

        def served() -> bool:
            if (name := self.system.leads(self.setup)) is not None:
                leader.append(name)
            return bool(leader)

        roles = [role for stage in self.stages for role in stage if not role.task]
        self._until(served, lambda: roles, lambda: "the cluster did not begin to serve")
        return leader[0]

    def _wait(self, roles: Sequence[Role]) -> None:
        waiting = list(roles)

        def ready() -> bool:
            waiting[:] = [role for role in waiting if role.ready is not None and not role.ready(self.shell(role.node))]
            return not waiting

        self._until(ready, lambda: waiting, lambda: f"{', '.join(map(_name, waiting))} did not become ready")
        self._refuse_the_absent(roles)

    def _until(self, look: Callable[[], bool], waiting: Callable[[], Sequence[Role]], late: Callable[[], str]) -> None:
        deadline = self._clock() + self._ready_timeout
        next_look = self._clock() + LOOK_AGAIN_S
        while not look():
            if self._clock() > next_look:
                next_look = self._clock() + LOOK_AGAIN_S
                self._refuse_the_dead(waiting())
            if self._clock() > deadline:
                words = self._last_words(waiting()[0].node) if waiting() else ""
                raise NotReadyError(f"{late()} within {self._ready_timeout:g} s; {words}")
            time.sleep(0.05)

    def _refuse_the_dead(self, roles: Sequence[Role]) -> None:
        for role in self._dead(roles):
            self.died_starting.add(role.node)
            words = self._last_words(role.node)
            raise NotReadyError(f"the {role.name} on {role.node} exited while starting; {words}")

    def _refuse_the_absent(self, roles: Sequence[Role]) -> None:
        """Refuse a program that serves but is not the process that was started, because no fault could hit it."""
        deadline = self._clock() + LOOK_AGAIN_S  # the process may be about to write its pid file
        while dead := self._dead(roles):
            if self._clock() > deadline:
                raise NotReadyError(
                    f"the {dead[0].name} on {dead[0].node} is ready, but the process that its command started has "
                    f"exited: it must stay in the foreground; {self._last_words(dead[0].node)}"
                )
            time.sleep(0.05)

    def _dead(self, roles: Sequence[Role]) -> list[Role]:
        """Return the roles whose process is not running."""
        dead = []
        for together in _one_a_node(roles):
            answers = self._remote.run({role.node: self._pid_command(role) for role in together})
            dead += [role for role in together if not answers[role.node].stdout.strip()]
        return dead

    def ended(self) -> dict[str, list[str]]:
        """Return, by node, the names of the roles (except tasks) that should be running but are not."""
        missing: dict[str, list[str]] = {}
        for role in self._dead([role for stage in self.stages for role in stage if not role.task]):
            missing.setdefault(role.node, []).append(role.name)
        return missing

    def _last_words(self, name: str) -> str:
        answer = self._remote.run({name: _script("tail", LAST_WORDS, self._home(name))})[name]
        return f"the last lines of its log:\n{answer.stdout.rstrip() or '(the log is empty)'}"

    # -- clients, probes -------------------------------------------------------------------------------------------

    def clients(self, number: int) -> Sequence[Client]:
        return self.system.clients(self.setup, number)

    def probers(self) -> dict[str, Prober]:
        """Make a prober for each node on which something runs; empty for a system without probes."""
        prober = self.system.prober
        return {} if prober is None else {name: prober(self.setup, self.shell(name)) for name in self.serving}

    def describe(self) -> dict[str, Any]:
        """Return the facts about the system that the results record."""
        first = self.setup.nodes[0].name
        return dict(self.system.describe(self.setup, self.shell(first)))

    # -- evidence --------------------------------------------------------------------------------------------------

    def collect(self, into: Path) -> list[str]:
        """Collect logs, kept files and all data (packed, sparse) of every node into ``into/<node>/``.

        Returns a line for each failure.  Never raises.
        """
        with ThreadPoolExecutor(len(self.names)) as pool:
            missing = pool.map(lambda name: self._collect_node(name, into / name), self.names)
        return [line for line in missing if line]

    def _collect_node(self, name: str, target: Path) -> str | None:
        roles = [role for stage in self.stages for role in stage if role.node == name]
        data = dict.fromkeys(below for role in roles for below in role.data)
        kept = " ".join(dict.fromkeys(pattern for role in roles for pattern in role.keep))
        words = ("sh", "-c", COLLECT, "collect", self._home(name), kept, *data)
        try:
            self._remote.run({name: Command(words, timeout=30.0)})
            self._remote.download_tree(name, f"{self._home(name)}/log", target)
        except (RemoteError, StoreError, OSError) as error:
            return f"{name}: {error}"
        return None

    # -- names -----------------------------------------------------------------------------------------------------

    def _home(self, name: str) -> str:
        return self.setup.node(name).home

    def _run_all(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        if not commands:
            return {}
        answers = self._remote.run(commands)
        for name, answer in answers.items():
            if answer.code != 0:
                text = (answer.stderr or answer.stdout).strip()[-400:]
                argv = commands[name].argv
                raise RemoteError(name, f"{argv[3] if argv[0] == 'sh' else argv[0]} exited with {answer.code}: {text}")
        return answers


def _script(step: str, script: str, *arguments: str) -> Command:
    return Command(("sh", "-c", script, step, *arguments), timeout=30.0)


def mark_of(role: Role) -> str:
    return f"HARNESS_ROLE={role.node}/{role.name}"


def _name(role: Role) -> str:
    return role.node if role.name == "server" else f"{role.name} on {role.node}"


def _one_a_node(roles: Sequence[Role]) -> list[list[Role]]:
    """Split the roles into groups with at most one role per node, keeping their order."""
    groups: list[list[Role]] = []
    for role in roles:
        home = next((group for group in groups if all(member.node != role.node for member in group)), None)
        if home is None:
            groups.append([role])
        else:
            home.append(role)
    return groups
