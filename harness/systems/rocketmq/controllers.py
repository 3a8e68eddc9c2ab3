"""The controllers: jars, configuration, command lines, readiness, ports, files on disk."""

from __future__ import annotations

from typing import Final

from harness.systems.api import Role, Setup, Shell, Surface
from harness.systems.artifacts import MavenJars, on_node
from harness.systems.dledger.remoting import HEARTBEAT
from harness.systems.remoting import Address, ask
from harness.systems.rocketmq.requests import APPLY_BROKER_ID, METADATA, OK, PORT, brokers_of

#: In jRaft mode, the controllers talk to each other at a separate port.
RAFT_PORT: Final = 9879
STORE: Final = "controller"
#: Longer than any run, so that only the harness's brokers decide what is alive, and no controller elects by itself.
NEVER_MS: Final = 1 << 30
#: The files that are read at start-up, by class, below the store.
FILES: Final = {
    "dledger": {"data": ("dledger-*/data/*",), "index": ("dledger-*/index/*",), "term": ("dledger-*/currterm",)},
    "jraft": {"data": ("log/*",), "snapshot": ("snapshot/snapshot_*/*",), "term": ("raft_meta/*",)},
}
#: Without the fourth option, a controller stops at its first snapshot: hessian reads the fields of an AtomicLong.
FLAGS: Final = (
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.util=ALL-UNNAMED",
    "-Xms48m", "-Xmx160m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:MaxDirectMemorySize=128m",
    "-XX:ActiveProcessorCount=2", "-XX:+ExitOnOutOfMemoryError", "-Dtls.server.mode=disabled",
)  # fmt: skip
#: One log with milliseconds in UTC, instead of five with whole seconds in another time zone.
LOGBACK: Final = """<configuration>
<appender name="file" class="ch.qos.logback.core.FileAppender"><file>{file}</file>
<encoder><pattern>%d{{yyyy-MM-dd HH:mm:ss.SSS,UTC}} %p %t - %m%n</pattern></encoder></appender>
<root level="INFO"><appender-ref ref="file"/></root>
</configuration>
"""


#: The digest of each version's jars.
_JARS: Final = {
    "5.3.3": "f80c2407cdfa8d240daf6ef9b759cb125b7a7896cc6f40967b13166cc4947e78",
    "5.2.0": "cb356bbf2ee09731d2a4c218111443446a2ebf148ef63c47fc05eded8e46d4b3",
    "5.1.4": "b833f156915297bf3d4886908ee1099aeb405708f426e4e9a442ba4fa9315fa5",
}


def jars(setup: Setup) -> MavenJars:
    coordinates = (f"org.apache.rocketmq:rocketmq-controller:{setup.version}",)
    return MavenJars("rocketmq-controller", coordinates, _JARS[setup.version])


def refuse(setup: Setup) -> str | None:
    if setup.options["mode"] == "jraft" and setup.version == "5.1.4":
        return "5.1.4 has no jRaft mode: choose 5.2.0 or a later one, or -o mode=dledger"
    return None


def configuration(setup: Setup, name: str) -> str:
    """Return the text of ``controller.conf``."""
    node, options = setup.node(name), setup.options
    lines = {
        "controllerStorePath": f"{node.home}/{STORE}",
        "mappedFileSize": 16 << 20,
        "enableElectUncleanMaster": "false",
        "notifyBrokerRoleChanged": "false",
        "processReadEvent": str(options["reads"] == "log").lower(),
        "scanNotActiveBrokerInterval": NEVER_MS,
        "scanInactiveMasterInterval": NEVER_MS,
    }
    if options["mode"] == "jraft":
        raft = [f"{peer.address}:{RAFT_PORT}" for peer in setup.nodes]
        lines |= {
            "controllerType": "jRaft",
            "jRaftGroupId": "harness",
            "jRaftServerId": f"{node.address}:{RAFT_PORT}",
            "jRaftInitConf": ",".join(raft),
            "jRaftControllerRPCAddr": ",".join(f"{peer.address}:{PORT}" for peer in setup.nodes),
            "jRaftSnapshotIntervalSecs": options["snapshot_interval"],
            "jRaftElectionTimeoutMs": options["election_timeout"],
        }
    else:
        lines |= {
            "controllerDLegerGroup": "harness",
            "controllerDLegerPeers": ";".join(f"{peer.name}-{peer.address}:{PORT}" for peer in setup.nodes),
            "controllerDLegerSelfId": name,
        }
        if setup.version != "5.1.4":
            lines["controllerType"] = "DLedger"
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def roles(setup: Setup) -> list[Role]:
    """Return one controller for each node."""
    return [
        Role(
            node=node.name, data=(STORE,), ready=answers,
            files={
                "controller.conf": configuration(setup, node.name),
                "logback.xml": LOGBACK.format(file=f"{node.home}/log/controller.log"),
            },
            command=("java", *FLAGS, f"-Duser.home={node.home}/log", f"-Drocketmq.home.dir={node.home}",
                     f"-Drmq.logback.configurationFile={node.home}/logback.xml",
                     "-cp", f"{on_node(node, jars(setup))}/*",
                     "org.apache.rocketmq.controller.ControllerStartup", "-c", "controller.conf"),
        )
        for node in setup.nodes
    ]  # fmt: skip


def answers(shell: Shell) -> bool:
    """Return whether the controller answers at its port."""
    try:
        return ask((shell.machine.address, PORT), METADATA).code == OK
    except (OSError, ValueError):
        return False


def leads(setup: Setup) -> str | None:
    """Return the node that leads and has accepted the harness's brokers, or None.

    A newly elected leader says that it leads before it takes requests.  Brokers may apply for their numbers repeatedly.
    """
    return next((node.name for node in setup.nodes if _serves((node.address, PORT), setup)), None)


def _serves(address: Address, setup: Setup) -> bool:
    try:
        if ask(address, METADATA).ext.get("isLeader") != "true":
            return False
        applications = [broker.application() for broker in brokers_of(setup)]
        return all(ask(address, APPLY_BROKER_ID, ext=ext, timeout=6.0).code == OK for ext in applications)
    except (OSError, ValueError):
        return False


def surface(setup: Setup) -> Surface:
    """Return the properties that faults rely on.

    In DLedger mode, peers and clients use the same port, and heartbeats have their own code; in jRaft mode they are
    appends without entries.
    """
    jraft = setup.options["mode"] == "jraft"
    return Surface(
        peer_ports=(RAFT_PORT if jraft else PORT,),
        client_port=PORT,
        store=STORE,
        store_files=FILES[str(setup.options["mode"])],
        heartbeat="" if jraft else HEARTBEAT,
        notices_s=4.0 if jraft else 10.0,
    )
