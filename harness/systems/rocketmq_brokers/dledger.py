"""The brokers of one DLedger group: jars, configuration, ports, files on disk."""

from __future__ import annotations

from typing import Final

from harness.systems.api import Role, Setup, Surface
from harness.systems.artifacts import MavenJars
from harness.systems.dledger.remoting import GROUP, HEARTBEAT
from harness.systems.rocketmq_brokers.brokers import STORE, broker
from harness.systems.rocketmq_brokers.messages import PORT
from harness.systems.rocketmq_brokers.probes import RAFT_PORT

#: The files that are read at start-up, by class, below the store.  Consume queues are built from the log, but what a
#: crash left of them is read as well.
FILES: Final = {
    "data": ("dledger-*/data/*",),
    "index": ("dledger-*/index/*", "consumequeue/*/*/*"),
    "term": ("dledger-*/currterm",),
}
#: The digest of each version's jars.
JARS: Final = {
    "5.5.0": "772049450a626133925efc68db0f2b2e3efefdc0ffc20fceac4a506869603afa",
    "5.4.0": "6333efbb74337ea13533824071d80245bd410251f56291e31f2420f4c44821a8",
    "5.3.3": "c3588a876984462ec8e2191e7fae6eba21711ff4f03b52c853befae367ab631a",
    "5.2.0": "127211915a0ac785babb7d1dd890e24a55bffe5fa0192562fe38c8cc05dec824",
    "5.1.4": "b1ee9801a385dc972dfde80b611c797e37125a5a8efcb49ae3bb75ee67113f0f",
    "5.1.1": "f04a76d5270739dc5d1906df22660ed26be6558713c9a36f321f8305943f54d8",
    "5.1.0": "84ae00d168683dfac3f9f3bbdfd6799683f432a5062d7d8bc70bbb868311d996",
    "4.9.7": "ef7263c1699f8402ef7a56dc566972c318c6da10eaf4c122715d121f08729f8f",
}


def jars(setup: Setup) -> MavenJars:
    coordinates = (f"org.apache.rocketmq:rocketmq-broker:{setup.version}",)
    return MavenJars("rocketmq-broker", coordinates, JARS[setup.version])


def roles(setup: Setup) -> list[Role]:
    """Return one broker for each node."""
    peers = ";".join(f"{node.name}-{node.address}:{RAFT_PORT}" for node in setup.nodes)
    group = {
        "enableDLegerCommitLog": "true",
        "dLegerGroup": GROUP,
        "dLegerPeers": peers,
        "sendMessageThreadPoolNums": 4,
    }
    return [broker(setup, node, jars(setup), {**group, "dLegerSelfId": node.name}) for node in setup.nodes]


def surface(setup: Setup) -> Surface:  # noqa: ARG001 (the same of all versions)
    """Return the properties that faults rely on."""
    return Surface(
        peer_ports=(RAFT_PORT,), client_port=PORT, store=STORE, store_files=FILES, heartbeat=HEARTBEAT, notices_s=10.0
    )
