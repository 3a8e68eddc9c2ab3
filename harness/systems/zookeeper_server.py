"""A ZooKeeper server as a role, for ZooKeeper itself and for systems that keep their metadata in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.systems.api import Machine, Role
from harness.systems.artifacts import MavenJars, on_node
from harness.systems.ready import listening

PORT: Final = 2181
#: The port for leader elections, on which every server listens, and the port at which followers reach the leader.
PEER_PORTS: Final = (3888, 2888)
STORE: Final = "zookeeper"
#: The releases, each with its version of slf4j.  The plain jars contain no binding for it, and so would log nothing.
SLF4J: Final = {"3.9.3": "1.7.30", "3.9.4": "2.0.13", "3.9.5": "2.0.13"}

_FLAGS: Final = (
    "-Xms32m", "-Xmx128m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError",
    "-Dzookeeper.preAllocSize=1024", "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSSZ",
)  # fmt: skip
_SETTINGS: Final = f"""tickTime=500
initLimit=40
syncLimit=6
dataDir={STORE}
clientPort={PORT}
admin.enableServer=false
4lw.commands.whitelist=srvr
"""


#: The digest of each version's jars.
_JARS: Final = {
    "3.9.3": "df900633732ed8ffbbea4ddf28194ee27b2e9fe6cefc32197c7990b6a0b6a58d",
    "3.9.4": "c67ff3aa3e9341a44807a11b5badb5c3d10632c4e7ed323d4e45ffc98637dab6",
    "3.9.5": "0ead6b54cb8b588d3f02e6e9415b07122b06d4b5e1d148f501c0a25dc48dca9c",
}


def server_jars(version: str) -> MavenJars:
    more = ("io.dropwizard.metrics:metrics-core:4.1.12.1", "org.xerial.snappy:snappy-java:1.1.10.5")
    binding = f"org.slf4j:slf4j-simple:{SLF4J[version]}"
    return MavenJars("zookeeper", (f"org.apache.zookeeper:zookeeper:{version}", *more, binding), _JARS[version])


def server(
    node: Machine, version: str, ensemble: Sequence[Machine] = (), *, name: str = "server", flags: Sequence[str] = ()
) -> Role:
    """Return one server of an ensemble, or a standalone one; ``flags`` are more options for Java."""
    elect, follow = PEER_PORTS
    peers = [f"server.{number}={peer.address}:{follow}:{elect}\n" for number, peer in enumerate(ensemble, 1)]
    own = {f"{STORE}/myid": f"{number}\n" for number, peer in enumerate(ensemble, 1) if peer.name == node.name}
    return Role(
        node=node.name, name=name, data=(STORE,), ready=listening(PORT),
        files={"zoo.cfg": "".join((_SETTINGS, *peers, f"clientPortAddress={node.address}\n")), **own},
        command=("java", *_FLAGS, *flags, "-cp", f"{on_node(node, server_jars(version))}/*",
                 "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg"),
    )  # fmt: skip
