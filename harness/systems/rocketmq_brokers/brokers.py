"""The brokers of one DLedger group: jars, configuration, command lines, readiness, ports, files on disk."""

from __future__ import annotations

import json
from typing import Final

from harness.systems.api import Role, Setup, Shell, Surface
from harness.systems.artifacts import MavenJars, on_node
from harness.systems.dledger.remoting import GROUP, HEARTBEAT
from harness.systems.remoting import ask
from harness.systems.rocketmq.controllers import FLAGS, LOGBACK
from harness.systems.rocketmq_brokers.client import RAFT_PORT
from harness.systems.rocketmq_brokers.messages import OK, PORT, READY_HEADER, READY_TOPIC, RUNTIME, SEND, TOPIC

STORE: Final = "store"
#: What is read again at the start, by class, below the store.  Consume queues are built from the log, and what a crash
#: left of them is read.
FILES: Final = {
    "data": ("dledger-*/data/*",),
    "index": ("dledger-*/index/*", "consumequeue/*/*/*"),
    "term": ("dledger-*/currterm",),
}
#: The digest of all jars of each version.
JARS: Final = {
    "5.5.0": "772049450a626133925efc68db0f2b2e3efefdc0ffc20fceac4a506869603afa",
    "5.4.0": "6333efbb74337ea13533824071d80245bd410251f56291e31f2420f4c44821a8",
    "5.3.3": "c3588a876984462ec8e2191e7fae6eba21711ff4f03b52c853befae367ab631a",
    "5.2.0": "127211915a0ac785babb7d1dd890e24a55bffe5fa0192562fe38c8cc05dec824",
    "5.1.4": "b1ee9801a385dc972dfde80b611c797e37125a5a8efcb49ae3bb75ee67113f0f",
}


def jars(setup: Setup) -> MavenJars:
    coordinates = (f"org.apache.rocketmq:rocketmq-broker:{setup.version}",)
    return MavenJars("rocketmq-broker", coordinates, JARS[setup.version])


def configuration(setup: Setup, name: str) -> str:
    """The text of ``broker.conf``."""
    node = setup.node(name)
    store = f"{node.home}/{STORE}"
    lines = {
        "brokerClusterName": "harness",
        "brokerName": "harness",
        "brokerIP1": node.address,
        "brokerIP2": node.address,
        "listenPort": PORT,
        "storePathRootDir": store,
        "storePathCommitLog": f"{store}/commitlog",
        "enableDLegerCommitLog": "true",
        "dLegerGroup": GROUP,
        "dLegerPeers": ";".join(f"{one.name}-{one.address}:{RAFT_PORT}" for one in setup.nodes),
        "dLegerSelfId": name,
        "sendMessageThreadPoolNums": 4,
        "slaveReadEnable": "true",
        "autoCreateTopicEnable": "false",
        # Small files, so that a run crosses their ends, and no clean-up by the fill of this machine's disk.
        "mappedFileSizeCommitLog": 16 << 20,
        "mappedFileSizeConsumeQueue": 60_000,
        "maxHashSlotNum": 1000,
        "maxIndexNum": 4000,
        "timerWheelEnable": "false",
        "diskMaxUsedSpaceRatio": 95,
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def topics(setup: Setup) -> str:
    """The text of ``topics.json``: brokers must know the topics from the start, as slaves copy them late."""
    queues = {TOPIC: int(setup.options["queues"]), READY_TOPIC: 1}
    table = {
        name: {"topicName": name, "readQueueNums": number, "writeQueueNums": number, "perm": 6, "topicSysFlag": 0,
               "topicFilterType": "SINGLE_TAG", "order": False}
        for name, number in queues.items()
    }  # fmt: skip
    return json.dumps({"dataVersion": {"counter": 1, "timestamp": 1}, "topicConfigTable": table})


def roles(setup: Setup) -> list[Role]:
    """One broker a node."""
    return [
        Role(
            node=node.name, name="broker", data=(STORE,), ready=answers,
            files={
                "broker.conf": configuration(setup, node.name),
                "logback.xml": LOGBACK.format(file=f"{node.home}/log/broker.log"),
                f"{STORE}/config/topics.json": topics(setup),
            },
            keep=(f"{STORE}/dledger-*/currterm",),
            command=("java", *FLAGS, "-Xmx256m", f"-Duser.home={node.home}/log", f"-Drocketmq.home.dir={node.home}",
                     f"-Drmq.logback.configurationFile={node.home}/logback.xml",
                     "-cp", f"{on_node(node, jars(setup))}/*",
                     "org.apache.rocketmq.broker.BrokerStartup", "-c", "broker.conf"),
        )
        for node in setup.nodes
    ]  # fmt: skip


def answers(shell: Shell) -> bool:
    """Whether the broker answers at its port."""
    try:
        return ask((shell.machine.address, PORT), RUNTIME).code == OK
    except (OSError, ValueError):
        return False


def leads(setup: Setup) -> str | None:
    """The node that takes a message and answers that it is committed."""
    for node in setup.nodes:
        try:
            if ask((node.address, PORT), SEND, b"ready", READY_HEADER).code == OK:
                return node.name
        except (OSError, ValueError):
            continue
    return None


def surface(setup: Setup) -> Surface:  # noqa: ARG001 (the same of all versions)
    """The properties that faults rely on."""
    return Surface(
        peer_ports=(RAFT_PORT,), client_port=PORT, store=STORE, store_files=FILES, heartbeat=HEARTBEAT, notices_s=10.0
    )
