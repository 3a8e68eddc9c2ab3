"""RocketMQ's brokers: the commit log on DLedger, and the queues that are built from it.

============  ========================================================================================================
``messages``  requests, stored messages, the bodies of ours
``client``    the client, the law of outcomes, probes
``brokers``   jars, configuration, command lines, readiness, ports, files on disk
``workload``  sends, and pulls from every replica
``queues``    what is judged: each queue is a log
============  ========================================================================================================
"""

from __future__ import annotations

from typing import Final

from harness.systems.api import Option, System
from harness.systems.dledger.alarms import LOG_WORDS
from harness.systems.jvm import OUT_OF_MEMORY
from harness.systems.promise import RAFT_PAPER, Promise
from harness.systems.rocketmq_brokers.brokers import JARS, jars, leads, roles, surface
from harness.systems.rocketmq_brokers.client import LAW, Prober, clients
from harness.systems.rocketmq_brokers.workload import QUEUE_LOG

#: What RocketMQ says of a broker on DLedger: the commit log is DLedger's, which is a Raft library.
DESIGN: Final = "https://github.com/apache/rocketmq/blob/rocketmq-all-5.3.3/docs/en/dledger/quick_start.md"
_QUEUES: Final = ("queues",)

DLEDGER: Final = System(
    name="rocketmq-dledger",
    title="RocketMQ's broker on DLedger",
    summary="Apache RocketMQ's brokers whose commit log is DLedger: queues that every replica serves",
    versions=tuple(JARS),
    options=(
        Option(name="queues", default=4, least=1, most=64, help="How many queues the topic has."),
    ),
    artifacts=lambda setup: (jars(setup),),
    roles=roles,
    leads=leads,
    surface=surface,
    clients=clients,
    prober=lambda _, shell: Prober(shell.machine),
    law=LAW,
    workloads=(QUEUE_LOG,),
    every_node_serves=True,  # its own client reads the node, and sends through it or past it
    promises=(
        Promise("a send that was acknowledged is committed: its message stays at its offset, on a majority of disks",
                ("send",), f"{DESIGN}; {RAFT_PAPER}, section 5.3", _QUEUES,
                ("lost-message", "log-overwrite", "duplicate", "failed-write-read", "never-written")),
        Promise("what a broker shows to readers is committed, and stays", ("pull", "read"),
                f"{RAFT_PAPER}, section 5.3", _QUEUES, ("read-inversion", "hole", "misplaced", "end-went-back")),
        Promise("offsets of a queue are dense, and rise in the order of sends", checks=_QUEUES,
                kinds=("log-hole", "log-order", "future-read")),
        Promise("every replica is sent what it lacks until it has it", source=f"{RAFT_PAPER}, section 5.3",
                checks=("recovery", "queues"), kinds=("no-recovery", "missing-on-replica")),
    ),
    log_words=LOG_WORDS,
    alarms=(OUT_OF_MEMORY,),
    may_refuse=frozenset({"data", "index", "term"}),
)  # fmt: skip
