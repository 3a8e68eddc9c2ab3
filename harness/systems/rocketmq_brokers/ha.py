"""Brokers with the same name whose master is elected by controllers: jars, configuration, ports, files on disk.

Only slaves need the name server: they learn from it at which address the master sends its log.
"""

from __future__ import annotations

from typing import Final

from harness.systems.api import Machine, Role, Setup, Surface
from harness.systems.artifacts import MavenJars
from harness.systems.ready import listening
from harness.systems.rocketmq.controllers import FILES as CONTROLLER_FILES
from harness.systems.rocketmq.controllers import LOGBACK
from harness.systems.rocketmq.controllers import STORE as CONTROLLER_STORE
from harness.systems.rocketmq.controllers import answers as controller_answers
from harness.systems.rocketmq.requests import PORT as CONTROLLER_PORT
from harness.systems.rocketmq_brokers.brokers import STORE, broker, java, logback, text_of
from harness.systems.rocketmq_brokers.messages import PORT

HA_PORT: Final = 10912
NAMES_PORT: Final = 9876
FILES: Final = {
    "data": ("commitlog/*",),
    "index": ("consumequeue/*/*/*",),
    "term": ("epochFileCheckpoint", "brokerIdentity"),
}
#: The digest of each version's jars.
JARS: Final[dict[str, str]] = {
    "5.5.0": "e1ad425955f3e0f55de85f02f9f1b1646725b366cd9c926d43e3cf1aefaff04d",
    "5.4.0": "e41d90790a5aa99d4ed4819cb48eb5835429cb9b50ac18b30ce96881cae7982a",
    "5.3.3": "9875981e5279b775b22d8581af4faf3f9ba4846db619878b9281d7f1da67eb78",
    "5.2.0": "4aa7dec98022d80ade59d61443124315b055874777a7f6b56cb5226733aef36d",
    "5.1.4": "b920f3c7ba654d4c92f5f4f2cfc6347cb904740421e383a897bdc0c59ad87dc2",
    "5.1.1": "2006bd71f70d78e6881a7fae54dde2a702e8d18c3ba91befbc40e27d60861931",
    "5.1.0": "278d84a71d8edecd987ce3dbaa568d50de59e99862d550823a9598c3bf6930e4",
}
_MB: Final = "-Xmx128m"


def jars(setup: Setup) -> MavenJars:
    names = ("rocketmq-broker", "rocketmq-controller", "rocketmq-namesrv")
    coordinates = tuple(f"org.apache.rocketmq:{name}:{setup.version}" for name in names)
    return MavenJars("rocketmq-ha", coordinates, JARS[setup.version])


def controllers(setup: Setup) -> tuple[Machine, ...]:
    """Return the nodes on which a controller runs."""
    return setup.nodes if setup.options["controllers"] == "all" else setup.nodes[:1]


def roles(setup: Setup) -> list[Role]:
    """Return the name server on the first node, the controllers, and a broker on each node."""
    first, files = setup.nodes[0], jars(setup)
    names = Role(
        node=first.name, name="namesrv", data=(), ready=listening(NAMES_PORT),
        files={"namesrv.conf": f"listenPort={NAMES_PORT}\n",
               logback("namesrv"): LOGBACK.format(file=f"{first.home}/log/namesrv.log")},
        command=java(first, files, "namesrv", "org.apache.rocketmq.namesrv.NamesrvStartup", _MB),
    )  # fmt: skip
    return [
        names,
        *(_controller(setup, node, files) for node in controllers(setup)),
        *(broker(setup, node, files, _lines(setup), stage=1) for node in setup.nodes),
    ]


def _controller(setup: Setup, node: Machine, files: MavenJars) -> Role:
    peers = ";".join(f"{peer.name}-{peer.address}:{CONTROLLER_PORT}" for peer in controllers(setup))
    lines = {
        "controllerStorePath": f"{node.home}/{CONTROLLER_STORE}",
        "mappedFileSize": 16 << 20,
        "enableElectUncleanMaster": "false",
        "notifyBrokerRoleChanged": "true",
        "scanNotActiveBrokerInterval": 1000,
        "scanInactiveMasterInterval": 1000,
        "controllerDLegerGroup": "harness",
        "controllerDLegerPeers": peers,
        "controllerDLegerSelfId": node.name,
    }
    return Role(
        node=node.name, name="controller", data=(CONTROLLER_STORE,), ready=controller_answers,
        files={"controller.conf": text_of(lines),
               logback("controller"): LOGBACK.format(file=f"{node.home}/log/controller.log")},
        command=java(node, files, "controller", "org.apache.rocketmq.controller.ControllerStartup", _MB),
    )  # fmt: skip


def _lines(setup: Setup) -> dict[str, object]:
    return {
        "enableControllerMode": "true",
        "controllerAddr": ";".join(f"{controller.address}:{CONTROLLER_PORT}" for controller in controllers(setup)),
        "namesrvAddr": f"{setup.nodes[0].address}:{NAMES_PORT}",
        "registerNameServerPeriod": 10_000,  # the lowest possible value
        "haListenPort": HA_PORT,
        "allAckInSyncStateSet": str(setup.options["all_ack"]).lower(),
        "haMaxTimeSlaveNotCatchup": 3000,
        "haSendHeartbeatInterval": 1000,
        "haHousekeepingInterval": 5000,
        "syncBrokerMetadataPeriod": 1000,
        "checkSyncStateSetPeriod": 1000,
        "syncControllerMetadataPeriod": 1000,
        "controllerHeartBeatTimeoutMills": 3000,
        "brokerHeartbeatInterval": 500,
    }


def surface(setup: Setup) -> Surface:
    """Return the properties that faults rely on."""
    role = str(setup.options["victims"])
    store, files = (STORE, FILES) if role == "broker" else (CONTROLLER_STORE, CONTROLLER_FILES["dledger"])
    return Surface(
        peer_ports=(HA_PORT, CONTROLLER_PORT, NAMES_PORT, PORT), client_port=PORT, role=role, members=("broker",),
        store=store, store_files=files, notices_s=8.0,
    )  # fmt: skip
