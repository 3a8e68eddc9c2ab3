"""RocketMQ's controller: the masters, sync state sets and epochs of sets of brokers, replicated by DLedger or jRaft.

===============  =======================================================================================================
``requests``     codes and headers, and the brokers in whose name requests are sent
``controllers``  jars, configuration, command lines, readiness, ports, files on disk
``brokers``      brokers that only send heartbeats
``client``       the client, the law of outcomes, probes
``workload``     alters, elects, registers and reads; checks of epochs
``words``        what these checks find, in words
===============  =======================================================================================================

Only controllers run on the nodes.  Real brokers would be a second role, on the same nodes or on others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from harness.systems.api import Alarm, Evidence, Option, System
from harness.systems.dledger.alarms import LOG_WORDS
from harness.systems.jvm import OUT_OF_MEMORY
from harness.systems.promise import RAFT, RAFT_PROMISES, Promise
from harness.systems.rocketmq.client import LAW, Prober, clients
from harness.systems.rocketmq.controllers import jars, leads, refuse, roles, surface
from harness.systems.rocketmq.words import NO_SNAPSHOTS, SNAPSHOTS, snapshots_text
from harness.systems.rocketmq.workload import CONTROLLER
from history import Check, Probe, Verdict
from history.records.finding import Finding, Skipped

#: What a controller in jRaft mode logs about snapshots.
SNAPSHOT_LINES: Final = {
    "saved": re.compile("Save snapshot, path="),
    "loaded": re.compile("Load snapshot from"),
    "installed on others": re.compile("received InstallSnapshotResponse .*success=true"),
}


def one_leader(probes: Sequence[Probe], nodes: Sequence[str], since: int) -> bool:
    """Return whether every node has answered since then, and they all named the same leader in their last answers."""
    last = {probe.node: probe for probe in probes if probe.time >= since}
    named = {last[node].leader if node in last and last[node].answered else None for node in nodes}
    return len(named) == 1 and None not in named


class Snapshots(Finding, frozen=True, kw_only=True):
    """The number of log lines about snapshots, by their meaning (:data:`SNAPSHOT_LINES`)."""

    check: str = "snapshots"
    kind: str = "snapshots"
    counts: dict[str, int]


def snapshots(evidence: Evidence) -> Check:
    """Count the snapshots in the logs.  In DLedger mode, RocketMQ makes none, and there is nothing to judge."""
    if evidence.setup.options["mode"] != "jraft":
        skipped = Skipped(check="snapshots", why=NO_SNAPSHOTS)
        return Check("snapshots", "check", "valid", SNAPSHOTS, NO_SNAPSHOTS, (skipped,))
    counts = dict.fromkeys(SNAPSHOT_LINES, 0)
    for log in sorted(evidence.files.glob("*/controller.log")) if evidence.files is not None else ():
        with log.open(errors="replace") as lines:
            for line in lines:
                for what, pattern in SNAPSHOT_LINES.items():
                    counts[what] += pattern.search(line) is not None
    verdict: Verdict = "valid" if counts["saved"] else "unknown"
    return Check(
        "snapshots", "check", verdict, SNAPSHOTS, snapshots_text(counts), (Snapshots(verdict=verdict, counts=counts),)
    )


#: RocketMQ's description of epochs and of its controller, which is a state machine on Raft.
DESIGN: Final = "https://github.com/apache/rocketmq/blob/rocketmq-all-5.3.3/docs/en/controller/design.md"
SYSTEM: Final = System(
    name="rocketmq-controller",
    title="RocketMQ's controller",
    summary="Apache RocketMQ's controller: masters, sync state sets and their epochs, in DLedger or in jRaft",
    versions=("5.3.3", "5.2.0", "5.1.4"),
    options=(
        Option(name="mode", default="dledger", choices=("dledger", "jraft"), marks_runs=True,
               help="Library that replicates the controller's state."),
        Option(name="reads", default="log", choices=("log", "local"), marks_runs=True,
               help="How DLedger mode reads: RocketMQ's own is local (processReadEvent=false), jRaft always the log."),
        Option(name="broker_sets", default=3, least=1, most=50, help="Number of broker sets, each of three brokers."),
        Option(name="snapshot_interval", default=10, least=1, help="Seconds between snapshots in jRaft mode."),
        Option(name="election_timeout", default=1000, least=200, marks_runs=True,
               help="Election timeout in jRaft mode (ms)."),
    ),
    refuse=refuse,
    artifacts=lambda setup: (jars(setup),),
    roles=roles,
    leads=leads,
    surface=surface,
    clients=clients,
    prober=lambda setup, shell: Prober(shell.machine, setup),
    law=LAW,
    workloads=(CONTROLLER,),
    recovered=one_leader,
    invariants=(snapshots,),
    every_node_serves=False,
    promises=(
        Promise("alters, elects, registers and reads through the log are linearizable for each broker set",
                ("alter", "elect", "register", "read"), RAFT),
        Promise("the controller decides epochs; they only grow, and each is granted once", checks=("epochs",),
                source=DESIGN),
        *RAFT_PROMISES,
    ),
    log_words=LOG_WORDS,
    alarms=(
        OUT_OF_MEMORY,
        Alarm(pattern="InaccessibleObjectException", meaning="Java forbids it to write a snapshot", follows="harness"),
        Alarm(pattern="raft may stop working since some error occurs", meaning="its Raft stopped", follows="note"),
    ),
    may_refuse=frozenset({"data", "index", "snapshot", "term"}),
)  # fmt: skip
