"""The servers of the register on DLedger: the jar, command lines, ports, files on disk."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.clients.wire import BlockingWire
from harness.errors import ArtifactError
from harness.systems.api import Role, Say, Setup, Shell, Surface
from harness.systems.artifacts import LocalFiles, on_node
from harness.systems.dledger.remoting import HEARTBEAT, transfer_leadership
from harness.systems.dledger.status import CLIENT_PORT, ask, listens
from nemesis.core.ports import Command

RAFT_PORT: Final = 20911
#: The servers' store, below a node's home.
STORE: Final = "register"
#: The files that the library reads at start-up, by class, below the server's store.  Left out are the copies that it
#: writes but never reads (``currterm.bak``, ``checkpoint.bak``), and ``checkpoint``, which only saves it work.
STORE_FILES: Final = {
    "data": ("dledger-*/data/*",),
    "index": ("dledger-*/index/*",),
    "snapshot": ("dledger-*/snapshot/snapshot_*/*",),
    "term": ("dledger-*/currterm",),
}
#: The jars' directory in an installed package, and in a source tree.
JAR_DIRECTORIES: Final = (
    Path(__file__).resolve().parents[1] / "jars",
    Path(__file__).resolve().parents[3] / "dledger_register" / "dist",
)

#: The digest of the libraries' code in the jar of each version.
LIBRARIES: Final = {
    "0.4.0": "4e8ad2819481d250542e2f45292ba6a64f7a3c3fa4d330cdc16b2f0dcf6f4071",
    "0.3.2": "c250504e360d266b5b40e7b076d95be705e5d03212633f650b81a368047e28f6",
}

_CODE: Final = re.compile(r"\.(class|so|jnilib|dll)$|^META-INF/services/.")

#: Without the module opens, a mapped file cannot be released, and snapshots stop a healthy cluster.  The memory limits
#: are chosen so that five nodes fit on a laptop.
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


@dataclass(frozen=True, slots=True)
class ServerJar(LocalFiles):
    """The server's jar, built here by Maven from our classes and the libraries that have the digest ``libraries``."""

    libraries: str

    def fetch(self, into: Path, say: Say) -> None:
        """Copy the jar. Raises ArtifactError if its libraries differ."""
        (path,) = self.paths
        if (digest := digest_of_libraries(path)) != self.libraries:
            raise ArtifactError(
                f"{path}: its libraries have the digest {digest}, not {self.libraries}: this release was not tested "
                f"with them; check the repository and Maven's settings"
            )
        LocalFiles.fetch(self, into, say)


def digest_of_libraries(jar: Path) -> str:
    """Return a hash of a jar's code and service files, without our own package.  Raises ArtifactError."""
    content = hashlib.sha256()
    try:
        with zipfile.ZipFile(jar) as opened:
            for name in sorted(opened.namelist()):
                if _CODE.search(name) and not name.startswith("register/"):
                    content.update(name.encode() + b"\0" + hashlib.sha256(opened.read(name)).digest())
    except zipfile.BadZipFile as error:
        raise ArtifactError(f"{jar} is damaged ({error}): remove it, and run scripts/bootstrap") from None
    return content.hexdigest()


def artifacts(setup: Setup) -> tuple[ServerJar, ...]:
    return (_jar(setup.version),)


def _jar(version: str) -> ServerJar:
    """Return the server's jar on this machine."""
    name = f"dledger-register-{version}.jar"
    paths = [path for directory in JAR_DIRECTORIES if (path := directory / name).is_file()]
    path = paths[0] if paths else JAR_DIRECTORIES[-1] / name
    missing = "was not built; run scripts/bootstrap, or install a wheel that holds it"
    return ServerJar("register", (path,), missing, LIBRARIES[version])


def roles(setup: Setup) -> list[Role]:
    """Return one server for each node."""
    return [
        Role(node=node.name, command=java_command(setup, node.name), data=(STORE,),
             keep=(f"{STORE}/*/currterm",), ready=listens)
        for node in setup.nodes
    ]  # fmt: skip


def java_command(setup: Setup, name: str) -> tuple[str, ...]:
    """Return the server's command line on a node."""
    node, options, jar = setup.node(name), setup.options, _jar(setup.version)
    heartbeat, vote_min, vote_max = TIMERS[str(options["timers"])]
    peers = ";".join(f"{node.name}-{node.address}:{RAFT_PORT}" for node in setup.nodes)
    return (
        "java", *JVM_FLAGS,
        "-jar", f"{on_node(node, jar)}/{jar.paths[0].name}",
        "--id", name, "--group", "harness", "--peers", peers,
        "--data-dir", f"{node.home}/{STORE}", "--client-port", str(CLIENT_PORT),
        "--snapshot" if options["snapshot"] else "--no-snapshot",
        "--snapshot-threshold", str(options["snapshot_threshold"]),
        "--heartbeat-ms", str(heartbeat), "--heartbeat-leak", "3",
        "--min-vote-ms", str(vote_min), "--max-vote-ms", str(vote_max),
        "--data-file-size", str(16 << 20), "--index-file-size", str(5 << 20), "--store", str(options["store_type"]),
        "--log-file", f"{node.home}/log/register.log",
        *(("--unsafe-test-mode", "--planted-bug", setup.planted_bug) if setup.planted_bug else ()),
    )  # fmt: skip


def leads(setup: Setup) -> str | None:
    """Return a node that serves a read through a quorum, or None."""
    for node in setup.nodes:
        answer = ask(node.address, {"op": "read", "key": "ready", "mode": "log"})
        if answer is not None and answer.get("ok") is True and answer.get("applied") is not False:
            return node.name
    return None


def surface(setup: Setup) -> Surface:
    """Return the properties that faults rely on."""

    def transfer(leader: str, to: str) -> None:
        """Transfer leadership with the library's own request, in the term of the leader's status."""
        address = setup.node(leader).address
        term = int(BlockingWire(address, CLIENT_PORT).ask({"op": "status"})["term"])
        transfer_leadership((address, RAFT_PORT), leader, to, term)

    no_snapshots = {"isolate-until-snapshot": "it needs --snapshot: without it the servers save no snapshots"}
    in_memory = "needs --store-type FILE: a log in memory is lost with its processes"
    return Surface(
        peer_ports=(RAFT_PORT,),
        client_port=CLIENT_PORT,
        store=STORE,
        store_files=STORE_FILES,
        snapshot_entries=int(setup.options["snapshot_threshold"]) if setup.options["snapshot"] else 0,
        clock=True,
        heartbeat=HEARTBEAT,
        notices_s=4.0 if setup.options["timers"] == "fast" else 10.0,
        transfer_leader=transfer,
        memory_only=in_memory if setup.options["store_type"] == "MEMORY" else "",
        refused={} if setup.options["snapshot"] else no_snapshots,
    )


def describe(setup: Setup, shell: Shell) -> Mapping[str, str]:
    """Return the jar's digest, the version of Java that runs it, and the timers."""
    java = shell.run(Command(("sh", "-c", "java -version 2>&1 | head -n 1"))).stdout.strip()
    jar = hashlib.sha256(_jar(setup.version).paths[0].read_bytes()).hexdigest()
    return {"jar_sha256": jar, "java": java, "timers": str(setup.options["timers"])}
