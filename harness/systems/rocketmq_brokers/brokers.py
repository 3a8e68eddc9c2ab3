"""One broker on each node, for both systems: files, command lines, readiness, and which one takes messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from harness.systems.api import Machine, Role, Setup, Shell
from harness.systems.artifacts import MavenJars, on_node
from harness.systems.remoting import ask
from harness.systems.rocketmq.controllers import FLAGS, LOGBACK
from harness.systems.rocketmq_brokers.messages import OK, PORT, READY_HEADER, READY_TOPIC, RUNTIME, SEND, TOPIC

STORE: Final = "store"
#: The name of the brokers, which is the same for all of them.
NAME: Final = "harness"


def broker(setup: Setup, node: Machine, jars: MavenJars, lines: Mapping[str, object], stage: int = 0) -> Role:
    """Return the broker of a node; ``lines`` are added to the configuration that all brokers have."""
    return Role(
        node=node.name, name="broker", stage=stage, data=(STORE,), ready=answers,
        files={
            "broker.conf": text_of({**_lines(node), **lines}),
            logback("broker"): LOGBACK.format(file=f"{node.home}/log/broker.log"),
            f"{STORE}/config/topics.json": topics(setup),
        },
        keep=(f"{STORE}/dledger-*/currterm", f"{STORE}/epochFileCheckpoint"),
        command=java(node, jars, "broker", "org.apache.rocketmq.broker.BrokerStartup", "-Xmx256m"),
    )  # fmt: skip


def java(node: Machine, jars: MavenJars, name: str, main: str, *flags: str) -> tuple[str, ...]:
    """Return the command line of one of RocketMQ's programs, whose files begin with ``name``."""
    return ("java", *FLAGS, *flags, f"-Duser.home={node.home}/log/{name}", f"-Drocketmq.home.dir={node.home}",
            f"-Drmq.logback.configurationFile={node.home}/{logback(name)}",
            "-cp", f"{on_node(node, jars)}/*", main, "-c", f"{name}.conf")  # fmt: skip


def logback(name: str) -> str:
    """Return the path of a program's logging configuration: 4.9 looks there by itself, and 5 is told to."""
    return f"conf/logback_{name}.xml"


def text_of(lines: Mapping[str, object]) -> str:
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def _lines(node: Machine) -> dict[str, object]:
    store = f"{node.home}/{STORE}"
    return {
        "brokerClusterName": "harness",
        "brokerName": NAME,
        "brokerIP1": node.address,
        "brokerIP2": node.address,
        "listenPort": PORT,
        "storePathRootDir": store,
        "storePathCommitLog": f"{store}/commitlog",
        "slaveReadEnable": "true",
        "offsetCheckInSlave": "true",  # else a slave answers "ask again" for a place beyond the end or before the start
        "autoCreateTopicEnable": "false",
        # Small files, so that a run crosses their ends, and no clean-up when this machine's disk is nearly full.
        "mappedFileSizeCommitLog": 16 << 20,
        "mappedFileSizeConsumeQueue": 60_000,
        "maxHashSlotNum": 1000,
        "maxIndexNum": 4000,
        "timerWheelEnable": "false",
        "diskMaxUsedSpaceRatio": 95,
        "cleanFileForciblyEnable": "false",
    }


def topics(setup: Setup) -> str:
    """Return the text of ``topics.json``.

    Brokers must know the topics from the start, because slaves copy them late.
    """
    queues = {TOPIC: int(setup.options["queues"]), READY_TOPIC: 1}
    table = {
        name: {"topicName": name, "readQueueNums": number, "writeQueueNums": number, "perm": 6, "topicSysFlag": 0,
               "topicFilterType": "SINGLE_TAG", "order": False}
        for name, number in queues.items()
    }  # fmt: skip
    return json.dumps({"dataVersion": {"counter": 1, "timestamp": 1}, "topicConfigTable": table})


def answers(shell: Shell) -> bool:
    """Return whether the broker answers at its port."""
    try:
        return ask((shell.machine.address, PORT), RUNTIME).code == OK
    except (OSError, ValueError):
        return False


def leads(setup: Setup) -> str | None:
    """Return the node that takes a message and answers that it is committed, or None."""
    for node in setup.nodes:
        try:
            if ask((node.address, PORT), SEND, b"ready", READY_HEADER).code == OK:
                return node.name
        except (OSError, ValueError):
            continue
    return None
