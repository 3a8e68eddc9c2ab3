"""RocketMQ's brokers, whose queues can be read on every replica: on DLedger, or with masters elected by controllers.

===============  =====================================================================================================
``messages``     requests, stored messages, the bodies of our messages
``client``       the client, the law of outcomes
``probes``       what brokers and controllers report
``brokers``      one broker on each node: files, command line, readiness, which one takes messages
``dledger``      brokers whose commit log is DLedger
``ha``           brokers with the same name, controllers and a name server
``workload``     sends, and pulls from every replica
``queues``       the check: each queue is a log
``replication``  the check of epochs and of the sets of brokers in sync
``logs``         the check: all replicas have the same bytes
``words``        what these checks find, as data and in words
===============  =====================================================================================================
"""

from __future__ import annotations

from typing import Final

from harness.systems.api import Option, System
from harness.systems.dledger.alarms import LOG_WORDS
from harness.systems.jvm import OUT_OF_MEMORY
from harness.systems.promise import RAFT_PAPER, Promise
from harness.systems.rocketmq_brokers import dledger, ha
from harness.systems.rocketmq_brokers.brokers import leads
from harness.systems.rocketmq_brokers.client import LAW, clients
from harness.systems.rocketmq_brokers.logs import logs_of_ha, logs_on_dledger
from harness.systems.rocketmq_brokers.probes import DLedgerProber, HaProber, one_master
from harness.systems.rocketmq_brokers.replication import replication
from harness.systems.rocketmq_brokers.words import REPLICATION_KINDS
from harness.systems.rocketmq_brokers.workload import QUEUE_LOG

#: RocketMQ's description of a broker on DLedger, a Raft library that replicates the commit log.
DESIGN: Final = "https://github.com/apache/rocketmq/blob/rocketmq-all-5.3.3/docs/en/dledger/quick_start.md"
#: The design of the set of replicas in sync, confirmed offsets and epochs.
HA_DESIGN: Final = "https://github.com/apache/rocketmq/blob/rocketmq-all-5.3.3/docs/en/controller/design.md"
_QUEUES: Final = ("queues",)
QUEUES: Final = Option(name="queues", default=4, least=1, most=64, help="Number of queues in the topic.")

DLEDGER: Final = System(
    name="rocketmq-dledger",
    title="RocketMQ's broker on DLedger",
    summary="Apache RocketMQ's brokers whose commit log is DLedger: queues that every replica serves",
    versions=tuple(dledger.JARS),
    options=(QUEUES,),
    artifacts=lambda setup: (dledger.jars(setup),),
    roles=dledger.roles,
    leads=leads,
    surface=dledger.surface,
    clients=clients,
    prober=lambda _, shell: DLedgerProber(shell.machine),
    law=LAW,
    workloads=(QUEUE_LOG,),
    index_unit="bytes",
    # A client reads from its own node, but sends to whichever node leads: not every node serves changes.
    promises=(
        Promise("an acknowledged message is committed: it stays at its offset, on a majority of disks",
                ("send",), f"{DESIGN}; {RAFT_PAPER}, section 5.3", _QUEUES,
                ("lost-message", "log-overwrite", "duplicate", "failed-write-read", "never-written")),
        Promise("a message that a broker shows to readers is committed and stays", ("pull", "read"),
                f"{RAFT_PAPER}, section 5.3", _QUEUES, ("hole", "misplaced", "end-went-back")),
        Promise("the offsets of a queue have no gaps and follow the order of sends", checks=_QUEUES,
                kinds=("log-hole", "log-order", "future-read")),
        Promise("every replica receives the messages it lacks until it has them", source=f"{RAFT_PAPER}, section 5.3",
                checks=("recovery", "queues"), kinds=("no-recovery", "missing-on-replica")),
        Promise("Log Matching: committed entries are the same on all brokers", checks=("logs",),
                source=f"{RAFT_PAPER}, figure 3", kinds=("logs-differ",)),
    ),
    invariants=(logs_on_dledger,),
    log_words=LOG_WORDS,
    alarms=(OUT_OF_MEMORY,),
    may_refuse=frozenset({"data", "index", "term"}),
)  # fmt: skip
HA: Final = System(
    name="rocketmq-ha",
    title="RocketMQ's brokers with elected masters",
    summary="Apache RocketMQ's brokers, whose master is elected by controllers: queues that every replica serves",
    versions=tuple(ha.JARS),
    options=(
        QUEUES,
        Option(name="all_ack", default=True, marks_runs=True,
               help="Whether every in-sync replica must have a message before it is acknowledged. RocketMQ's own "
                    "default is false, which promises nothing at a failover."),
        Option(name="controllers", default="all", choices=("all", "one"),
               help="Whether a controller runs on every node, or only on the first."),
        Option(name="victims", default="broker", choices=("broker", "controller"),
               help="Which process of a node is killed or paused. The leader is the master's node either way."),
    ),
    artifacts=lambda setup: (ha.jars(setup),),
    roles=ha.roles,
    leads=leads,
    surface=ha.surface,
    clients=clients,
    prober=lambda setup, shell: HaProber(shell.machine, setup),
    law=LAW,
    workloads=(QUEUE_LOG,),
    index_unit="bytes",
    recovered=one_master,
    promises=(
        Promise("with all_ack, an acknowledged message is on every in-sync replica, one of which becomes the next "
                "master, so it stays at its offset", ("send",), HA_DESIGN, _QUEUES,
                ("lost-message", "log-overwrite", "duplicate", "failed-write-read", "never-written")),
        Promise("a message that a broker shows to readers is confirmed and stays", ("pull", "read"), HA_DESIGN, _QUEUES,
                ("hole", "misplaced", "end-went-back")),
        Promise("the offsets of a queue have no gaps and follow the order of sends", checks=_QUEUES,
                kinds=("log-hole", "log-order", "future-read")),
        Promise("every replica receives the messages it lacks until it has them", source=HA_DESIGN,
                checks=("recovery", "queues"), kinds=("no-recovery", "missing-on-replica")),
        Promise("a slave has the same log as its master", checks=("logs",), source=HA_DESIGN, kinds=("logs-differ",)),
        Promise("an epoch has one start; controllers grant each epoch once, with the master in its set; with all_ack, "
                "every broker of the set has what is acknowledged", checks=("replication",), source=HA_DESIGN,
                kinds=tuple(REPLICATION_KINDS)),
    ),
    invariants=(replication, logs_of_ha),
    alarms=(OUT_OF_MEMORY,),
    may_refuse=frozenset({"data", "index", "term"}),
)  # fmt: skip
