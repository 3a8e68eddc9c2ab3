"""Processes on the nodes: a metadata server on the first, a bookie on each of the others, a gateway on all."""

from __future__ import annotations

from typing import Any, Final

from harness.clients.wire import BlockingWire
from harness.systems.api import Machine, Role, Setup, Surface
from harness.systems.artifacts import MavenJars, on_node
from harness.systems.bookkeeper.gateway_jar import GatewayJar
from harness.systems.bookkeeper.options import bookies, quorum
from harness.systems.ready import listening
from harness.systems.zookeeper_server import PORT as ZOOKEEPER_PORT
from harness.systems.zookeeper_server import server, server_jars

BOOKIE_PORT: Final = 3181
GATEWAY_PORT: Final = 4181
#: The version of the metadata server.  BookKeeper 4.17 comes with ZooKeeper 3.9.3, which loses acknowledged writes
#: (ZOOKEEPER-4925).
ZOOKEEPER: Final = "3.9.4"
GATEWAY: Final = GatewayJar()
STORE: Final = "bookie"
#: Seconds to wait for an answer: on a busy machine, the first add of a new gateway takes long.
ASK_S: Final = 6.0

_FLAGS: Final = ("-Xms32m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError")
_BOOKIE_FLAGS: Final = ("-Xmx192m", "-XX:MaxDirectMemorySize=192m")
_GATEWAY_FLAGS: Final = ("-Xmx160m", "-XX:MaxDirectMemorySize=96m")

#: A bookie logs every add that it refuses, so the size of log files is limited.
_LOGGING: Final = """status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = log/{name}.log
appender.file.filePattern = log/{name}-%i.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %-5p [%t] %c{{1}} - %m %X%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 8MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""
_BOOKIE: Final = f"""bookiePort={BOOKIE_PORT}
journalDirectories={STORE}/journal
ledgerDirectories={STORE}/ledgers
journalMaxSizeMB=64
journalPreAllocSizeMB=4
logSizeLimit=67108864
skipListSizeLimit=8388608
minUsableSizeForIndexFileCreation=1048576
minUsableSizeForHighPriorityWrites=1048576
minUsableSizeForEntryLogCreation=1048576
entryLogFilePreallocationEnabled=false
numReadWorkerThreads=2
serverNumIOThreads=2
zkTimeout=4000
diskUsageThreshold=0.99
autoRecoveryDaemonEnabled=false
"""
_CLIENT: Final = """addEntryTimeoutSec=2
readEntryTimeoutSec=2
addEntryQuorumTimeoutSec=5
clientConnectTimeoutMillis=1000
zkTimeout=4000
"""
#: The planted bug ``wiped-bookies``: from its second start on, a bookie has lost its data, and nothing in the cluster
#: records that it had any.
_WIPED: Final = """if [ -e "$1/journal" ]; then
  rm -rf "$1"; shift
  java "$@" org.apache.bookkeeper.bookie.BookieShell -conf bookie.conf bookieformat \
    -nonInteractive -force -deleteCookie || exit 1
else shift; fi
exec java "$@" org.apache.bookkeeper.server.Main -c bookie.conf"""
#: The planted bug ``replaced-bookies``: the same, but the cookie stays.  Running another program to delete the cookie
#: would, on a busy machine, keep the bookie away for longer than late writers wait.
_REPLACED: Final = """[ ! -e "$1" ] || find "$1" -type f ! -name VERSION -delete; shift
exec java "$@" org.apache.bookkeeper.server.Main -c bookie.conf"""
_EMPTIED: Final = {"wiped-bookies": _WIPED, "replaced-bookies": _REPLACED}


#: The digest of each version's jars.
_JARS: Final = {
    "4.17.3": "4e02e3f0442818303f02e8f3271ae4db859515bb9f5023573c5cbf451fffc878",
    "4.18.0": "807a07fe4817653b8a618414ad3d70b5f23e9751ae8c68cd1f5c7192c1869ffb",
}


def jars(setup: Setup) -> MavenJars:
    coordinates = (f"org.apache.bookkeeper:bookkeeper-server:{setup.version}",)
    return MavenJars("bookkeeper", coordinates, _JARS[setup.version])


def artifacts(setup: Setup) -> tuple[MavenJars, MavenJars, GatewayJar]:
    return server_jars(ZOOKEEPER), jars(setup), GATEWAY


def roles(setup: Setup) -> list[Role]:
    """Return the roles: the metadata server, a task that formats it, the bookies and the gateways."""
    first = setup.nodes[0]
    slow = {node.name for node in bookies(setup)[: int(setup.options["slow_bookies"])]}
    format_metadata = ("java", *_java(setup, first, "format", _GATEWAY_FLAGS),
                       "org.apache.bookkeeper.bookie.BookieShell", "-conf", "format.conf",
                       "metaformat", "-nonInteractive", "-force")  # fmt: skip
    return [
        server(first, ZOOKEEPER, name="metadata"),
        Role(
            node=first.name, name="format", stage=1, task=True, data=(), command=format_metadata,
            files={"format.conf": _uri(setup), "format.properties": _LOGGING.format(name="format")},
        ),
        *(_bookie(setup, node, slow=node.name in slow) for node in bookies(setup)),
        *(_gateway(setup, node) for node in setup.nodes),
    ]  # fmt: skip


def _bookie(setup: Setup, node: Machine, *, slow: bool) -> Role:
    storage = "gateway.SlowStorage" if slow else "org.apache.bookkeeper.bookie.SortedLedgerStorage"
    conf = (_uri(setup), _BOOKIE, f"bookieId={node.name}\n", f"advertisedAddress={node.address}\n",
            f"ledgerStorageClass={storage}\n",
            f"journalWriteData={'false' if setup.planted_bug == 'unjournaled' else 'true'}\n")  # fmt: skip
    words = _java(setup, node, "bookie", (*_BOOKIE_FLAGS, *([f"-Dslow.ms={setup.options['slow_ms']}"] if slow else [])))
    usual = ("java", *words, "org.apache.bookkeeper.server.Main", "-c", "bookie.conf")
    emptied = _EMPTIED.get(setup.planted_bug)
    return Role(
        node=node.name, name="bookie", stage=2, data=(STORE,), ready=listening(BOOKIE_PORT),
        files={"bookie.conf": "".join(conf), "bookie.properties": _LOGGING.format(name="bookie")},
        command=("sh", "-c", emptied, "bookie", STORE, *words) if emptied else usual,
    )  # fmt: skip


def _gateway(setup: Setup, node: Machine) -> Role:
    conf = f"{_uri(setup)}{_CLIENT}recoveryReadBatchSize={setup.options['recovery_batch']}\n"
    return Role(
        node=node.name, name="gateway", stage=3, data=(), ready=listening(GATEWAY_PORT),
        files={"client.conf": conf, "gateway.properties": _LOGGING.format(name="gateway")},
        command=("java", *_java(setup, node, "gateway", _GATEWAY_FLAGS), "gateway.Main",
                 node.address, str(GATEWAY_PORT), "client.conf"),
    )  # fmt: skip


def _java(setup: Setup, node: Machine, name: str, flags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words between ``java`` and the main class."""
    path = f"{on_node(node, GATEWAY)}/*:{on_node(node, jars(setup))}/*"
    return (*_FLAGS, *flags, f"-Dlog4j2.configurationFile={name}.properties", "-cp", path)


def _uri(setup: Setup) -> str:
    return f"metadataServiceUri=zk+hierarchical://{setup.nodes[0].address}:{ZOOKEEPER_PORT}/ledgers\n"


def leads(setup: Setup) -> str | None:
    """Return a text once every gateway sees every bookie and has added an entry to a temporary ledger, else None."""
    wanted = len(bookies(setup))
    served = all((ask(node, {"op": "status"}) or {}).get("writable_bookies") == wanted for node in setup.nodes)
    return "the cluster" if served and all(_adds(setup, node) for node in setup.nodes) else None


def _adds(setup: Setup, node: Machine) -> bool:
    ensemble, write, ack = quorum(setup)
    made = ask(node, {"op": "create", "ensemble": ensemble, "write": write, "ack": ack})
    if made is None:
        return False
    added = ask(node, {"op": "add", "handle": made["handle"], "first": 0, "count": 1})
    closed = ask(node, {"op": "close", "handle": made["handle"]})
    return added is not None and added["ids"] == [0] and closed is not None


def ask(node: Machine, request: dict[str, Any], timeout: float = ASK_S) -> dict[str, Any] | None:
    """Send the gateway one request, blocking, and return its value, or None if there is none."""
    try:
        answer = BlockingWire(node.address, GATEWAY_PORT).ask({"timeout_ms": round(timeout * 1000), **request}, timeout)
    except (OSError, ValueError):
        return None
    return answer["value"] if answer["ok"] else None


def surface(setup: Setup) -> Surface:
    """Return the properties that faults rely on."""
    digests = "what a damaged bookie lacks comes back by autorecovery, which does not run here"
    return Surface(
        peer_ports=(BOOKIE_PORT, ZOOKEEPER_PORT),
        client_port=GATEWAY_PORT,
        members=("bookie",),
        role="gateway" if setup.options["hit"] == "gateway" else "",
        store=STORE,
        notices_s=6.0,
        refused={"file-truncate": digests, "file-bitflip": digests},
    )
