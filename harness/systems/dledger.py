"""The register on OpenMessaging DLedger: our Java server, one process a node.

On a node everything lives under ``<data_dir>/harness``: the jar (named by its hash), ``log/`` and the store in
``register/``.  The process carries ``-Dharness.node=<name>``, by which it is recognised: a pid alone proves nothing.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from harness.errors import NotReadyError, RemoteError, StoreError, UsageError
from harness.systems.base import StatusPort, SystemOnNodes
from nemesis.core.ports import Command, Completed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.plan import Plan
    from harness.remote.node import Node

RAFT_PORT: Final = 20911
CLIENT_PORT: Final = 20912
#: The store, below a node's data directory.
STORE: Final = "harness/register"
#: What the library reads again when it starts, by class, below the server's store.  Left out are the copies that it
#: writes and never reads (``currterm.bak``, ``checkpoint.bak``), and ``checkpoint``, which only saves it work.
STORE_FILES: Final = {
    "data": ("dledger-*/data/*",),
    "index": ("dledger-*/index/*",),
    "snapshot": ("dledger-*/snapshot/snapshot_*/*",),
    "term": ("dledger-*/currterm",),
}
#: In an installed package, and in a source tree.
PACKAGED_JARS: Final = Path(__file__).resolve().with_name("jars")
JAR_DIRECTORY: Final = Path(__file__).resolve().parents[2] / "dledger_register" / "dist"

#: Without the module opens a mapped file cannot be released and snapshots stop a healthy cluster; the memory figures
#: are those with which five nodes fit on a laptop.
JVM_FLAGS: Final = (
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "-Xms64m",
    "-Xmx192m",
    "-Xss512k",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:MaxDirectMemorySize=128m",
    "-XX:ActiveProcessorCount=2",
    "-XX:+ExitOnOutOfMemoryError",
)

#: (heartbeat, vote minimum, vote maximum) in milliseconds; "stock" are the library's own defaults.
TIMERS: Final = {"fast": (250, 100, 300), "stock": (2000, 300, 1000)}

#: Whether the process $p carries the mark $2: its pid may have been reused.
_IS_OURS: Final = 'grep -qaF -- "$2" "/proc/$p/cmdline" 2>/dev/null'


def find_jar(version: str) -> Path:
    """The server's jar on this machine.  Raises UsageError with the remedy when it was not built."""
    name = f"dledger-register-{version}.jar"
    for directory in (PACKAGED_JARS, JAR_DIRECTORY):
        if (path := directory / name).is_file():
            return path
    raise UsageError(f"{name} was not built; run scripts/bootstrap, or install a wheel that holds it")


class RemoteNodes(Protocol):
    """The methods of nodes that this module needs; ``harness.remote.nodes.Remote`` is one."""

    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]: ...

    def upload_all(self, local: Path, remote: str) -> None: ...

    def download_tree(self, node: str, remote: str, local: Path) -> None: ...


class DLedgerRegister(SystemOnNodes):
    """One cluster of register servers."""

    def __init__(self, plan: Plan, nodes: Sequence[Node], remote: RemoteNodes, clock: Callable[[], float]) -> None:
        self._plan = plan
        self._nodes = {node.name: node for node in nodes}
        self._remote = remote
        self._clock = clock
        self._environments: dict[str, Mapping[str, str]] = {}

    # -- the program -----------------------------------------------------------------------------------------------

    @cached_property
    def jar(self) -> Path:
        return find_jar(self._plan.version)

    @cached_property
    def jar_hash(self) -> str:
        return hashlib.sha256(self.jar.read_bytes()).hexdigest()

    @property
    def _jar_name(self) -> str:
        """The name on the nodes: another jar has another name."""
        return f"register-{self.jar_hash[:16]}.jar"

    def install(self) -> None:
        self._run_all(
            {name: Command(("sh", "-c", 'mkdir -p "$1"', "mkdir", self._path(name, "log"))) for name in self._nodes}
        )
        self._run_all({name: self.copy_command(name) for name in self._nodes})
        for directory in {node.data_dir for node in self._nodes.values()}:
            self._remote.upload_all(self.jar, f"{directory}/harness/{self._jar_name}")
        # A power cut in the first seconds must not lose the program: that would be our failure.
        self._run_all({name: Command(("sync", "-f", node.data_dir)) for name, node in self._nodes.items()})

    def copy_command(self, name: str) -> Command:
        """Copy the jar from its path on this machine, if the node sees the same file there.

        A namespace shares our disk, and copying takes a tenth of what sending to five nodes takes.  The result is
        checked by its hash like every upload.
        """
        script = (
            '[ -e "$2" ] || ! echo "$3  $1" | sha256sum -c --status 2>/dev/null || '
            '{ cp "$1" "$2.part" && mv "$2.part" "$2"; }'
        )
        target = self._path(name, self._jar_name)
        return Command(("sh", "-c", script, "copy", str(self.jar), target, self.jar_hash), timeout=30.0)

    def endpoints(self) -> dict[str, tuple[str, int]]:
        """The client addresses by node."""
        return {name: (node.address, CLIENT_PORT) for name, node in self._nodes.items()}

    # -- processes -------------------------------------------------------------------------------------------------

    def start(self, nodes: Iterable[str]) -> None:
        names = list(nodes)
        self._run_all({name: self.start_command(name) for name in names})
        self._wait(names, self._listening, "answer on the client port")

    def start_command(self, name: str) -> Command:
        """Start in a session and process group of its own, unless it is running."""
        script = (
            f'if p=$(cat "$1/pid" 2>/dev/null) && {_IS_OURS}; then exit 0; fi\n'
            'mkdir -p "$1/log"; pid_file=$1/pid; log=$1/log/console.log; shift 2\n'
            'setsid -f sh -c \'echo $$ > "$0"; log=$1; shift; exec "$@" >> "$log" 2>&1 < /dev/null\' '
            '"$pid_file" "$log" "$@"\n'
        )
        variables = tuple(f"{key}={value}" for key, value in self._environments.get(name, {}).items())
        program = (*(("env", *variables) if variables else ()), *self.java_command(name))
        return Command(("sh", "-c", script, "start", self._path(name), self._mark(name), *program))

    def set_environments(self, environments: Mapping[str, Mapping[str, str]]) -> None:
        """Set additional environment variables for later starts of each node's process."""
        self._environments = dict(environments)

    def java_command(self, name: str) -> tuple[str, ...]:
        """The server's own command line on a node."""
        plan = self._plan
        heartbeat, vote_min, vote_max = TIMERS[plan.timers]
        peers = ";".join(f"{node.name}-{node.address}:{RAFT_PORT}" for node in self._nodes.values())
        return (
            "java", *JVM_FLAGS, self._mark(name),
            "-jar", self._path(name, self._jar_name),
            "--id", name, "--group", "harness", "--peers", peers,
            "--data-dir", self._path(name, "register"), "--client-port", str(CLIENT_PORT),
            "--snapshot" if plan.snapshot else "--no-snapshot", "--snapshot-threshold", str(plan.snapshot_threshold),
            "--heartbeat-ms", str(heartbeat), "--heartbeat-leak", "3",
            "--min-vote-ms", str(vote_min), "--max-vote-ms", str(vote_max),
            "--data-file-size", str(16 << 20), "--index-file-size", str(5 << 20), "--store", plan.store,
            "--log-file", self._path(name, "log/register.log"),
            *(("--unsafe-test-mode", "--canary", plan.canary) if plan.canary else ()),
        )  # fmt: skip

    def pids(self, nodes: Iterable[str]) -> dict[str, int | None]:
        answers = self._remote.run({name: self._pid_command(name) for name in nodes})
        return {name: int(answer.stdout) if answer.stdout.strip() else None for name, answer in answers.items()}

    def kill(self, nodes: Iterable[str]) -> None:
        script = (
            'p=$(cat "$1/pid" 2>/dev/null) || exit 0\n'
            f"{_IS_OURS} || exit 0\n"
            'kill -KILL -- "-$p" 2>/dev/null || kill -KILL "$p"\n'
            f"i=0; while {_IS_OURS}; do\n"
            "  i=$((i+1)); [ $i -gt 500 ] && exit 1; sleep 0.01; done\n"
        )
        self._run_all({n: Command(("sh", "-c", script, "kill", self._path(n), self._mark(n))) for n in nodes})

    def wipe(self) -> None:
        """Remove store and logs of an earlier run; the jar stays.  The processes must be gone."""
        script = 'rm -rf "$1/register" "$1/log" "$1/pid"; mkdir -p "$1/log"'
        self._run_all({name: Command(("sh", "-c", script, "wipe", self._path(name))) for name in self._nodes})

    # -- readiness -------------------------------------------------------------------------------------------------

    def await_leader(self) -> str:
        """Wait until a leader answers a read that went through a quorum; return its name.

        Raises NotReadyError when there is none within the plan's ``ready_timeout``.
        """
        leader: list[str] = []

        def served(name: str) -> bool:
            answer = self._ask(name, {"op": "read", "key": "ready", "mode": "log"})
            if answer is not None and answer.get("ok") is True and answer.get("applied") is not False:
                leader.append(name)
            return bool(leader)

        self._wait(list(self._nodes), served, "lead and serve a read through a quorum", any_of=True)
        return leader[0]

    def _listening(self, name: str) -> bool:
        answer = self._ask(name, {"op": "status"})
        return answer is not None and answer.get("ok") is True

    def _ask(self, name: str, request: dict[str, object]) -> dict[str, object] | None:
        try:
            return StatusPort(self._nodes[name].address, CLIENT_PORT).ask(request, timeout=3.0)
        except (OSError, ValueError, TypeError):
            return None

    def _wait(self, names: list[str], predicate: Callable[[str], bool], what: str, *, any_of: bool = False) -> None:
        deadline = self._clock() + self._plan.ready_timeout
        waiting = list(names)
        next_look = self._clock() + 1.0
        while waiting:
            done = [name for name in waiting if predicate(name)]
            waiting = [name for name in waiting if name not in done]
            if not waiting or (any_of and done):
                return
            if self._clock() > next_look:
                next_look = self._clock() + 1.0
                self._refuse_the_dead(waiting)
            if self._clock() > deadline:
                late = f"{', '.join(waiting)} did not {what} within {self._plan.ready_timeout:g} s"
                raise NotReadyError(f"{late}; {self._last_words(waiting[0])}")
            time.sleep(0.05)

    def _refuse_the_dead(self, names: list[str]) -> None:
        for name, pid in self.pids(names).items():
            if pid is None:
                raise NotReadyError(f"the server on {name} ended while starting; {self._last_words(name)}")

    def _last_words(self, name: str) -> str:
        script = 'for f in "$1/log/console.log" "$1/log/register.log"; do [ -s "$f" ] && tail -n 12 "$f"; done; true'
        answer = self._remote.run({name: Command(("sh", "-c", script, "tail", self._path(name)))})[name]
        return f"the last lines of its log:\n{answer.stdout.rstrip() or '(the log is empty)'}"

    # -- evidence --------------------------------------------------------------------------------------------------

    def collect(self, into: Path) -> list[str]:
        """Collect logs, term file, snapshot metadata and the whole store (packed, sparse) of every node."""
        with ThreadPoolExecutor(len(self._nodes)) as pool:
            missing = pool.map(lambda name: self._collect_node(name, into / name), self._nodes)
        return [line for line in missing if line]

    def _collect_node(self, name: str, target: Path) -> str | None:
        script = (
            'cd "$1" || exit 1; ls -lR register > log/files.txt 2>&1\n'
            "cp register/*/currterm log/currterm 2>/dev/null\n"
            "tar --sparse -czf log/store.tar.gz register 2>/dev/null; true\n"
        )
        command = Command(("sh", "-c", script, "collect", self._path(name)), timeout=30.0)
        try:
            self._remote.run({name: command})
            self._remote.download_tree(name, self._path(name, "log"), target)
        except (RemoteError, StoreError, OSError) as error:
            return f"{name}: {error}"
        return None

    # -- names -----------------------------------------------------------------------------------------------------

    def _path(self, name: str, below: str = "") -> str:
        base = f"{self._nodes[name].data_dir}/harness"
        return f"{base}/{below}" if below else base

    @staticmethod
    def _mark(name: str) -> str:
        return f"-Dharness.node={name}"

    def _pid_command(self, name: str) -> Command:
        script = f'p=$(cat "$1/pid" 2>/dev/null) && {_IS_OURS} && echo "$p"; true'
        return Command(("sh", "-c", script, "pid", self._path(name), self._mark(name)))

    def _run_all(self, commands: Mapping[str, Command]) -> None:
        for name, answer in self._remote.run(commands).items():
            if answer.code != 0:
                text = (answer.stderr or answer.stdout).strip()[-400:]
                raise RemoteError(name, f"{commands[name].argv[3]} ended with {answer.code}: {text}")
