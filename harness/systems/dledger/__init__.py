"""The register on OpenMessaging DLedger: our Java server, one process per node.

===============  =======================================================================================================
``options``      versions, options, planted bugs, and which of them go together
``processes``    the jar, the servers' command lines, ports and files
``outcomes``     the law: what an answer of the server proves
``objects``      requests and answers by the kind of object, which the key names
``client``       the register's client, which may follow the leader
``status``       what the server reports about itself, as probes
``remoting``     the library's own wire protocol, for a transfer of leadership
``alarms``       lines of the library's log that have a meaning
===============  =======================================================================================================
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from harness.systems.api import System
from harness.systems.dledger.alarms import ALARMS, LOG_WORDS
from harness.systems.dledger.client import clients
from harness.systems.dledger.options import OPTIONS, PLANTED_BUGS, VERSIONS, refuse
from harness.systems.dledger.outcomes import LAW
from harness.systems.dledger.processes import artifacts, describe, leads, roles, surface
from harness.systems.dledger.status import prober
from harness.systems.promise import RAFT, RAFT_PAPER, RAFT_PROMISES, Promise
from harness.systems.workloads import APPEND_LOG, BANK, CAS_REGISTER, COUNTER, LOCK, MIXED_REGISTERS, REGISTER, SET

#: Why Raft's properties are promises of DLedger.
README: Final = "DLedger's README: a raft-based library"

SYSTEM: Final = System(
    name="dledger",
    title="DLedger",
    summary="OpenMessaging DLedger, the Raft library of RocketMQ, with a register on top",
    versions=VERSIONS,
    options=OPTIONS,
    planted_bugs=PLANTED_BUGS,
    refuse=refuse,
    artifacts=artifacts,
    roles=roles,
    leads=leads,
    surface=surface,
    clients=clients,
    law=LAW,
    workloads=(REGISTER, CAS_REGISTER, MIXED_REGISTERS, SET, COUNTER, APPEND_LOG, LOCK, BANK),
    prober=prober,
    describe=describe,
    alarms=ALARMS,
    log_words=LOG_WORDS,
    every_node_serves=False,
    promises=(
        Promise(
            "reads, writes and compare-and-sets of a register are linearizable when reads go through the log; so are "
            "sets, counters, locks and transfers, which are made of registers: every entry is applied once",
            ("read", "write", "cas", "add", "acquire", "release", "transfer"),
            f"{README}; {RAFT}",
            ("elements", "total"),
        ),
        Promise(
            "an acknowledged append is in the log at the index in its answer; a get shows committed entries",
            ("append", "get", "list"),
            f"{README}; {RAFT}",
        ),
        Promise(
            "acknowledged changes survive the loss of any minority of disks, and of all processes at once",
            source=f"{README}; {RAFT_PAPER}, sections 5.3 and 5.4",
            checks=("linearizable", "elements"),
            kinds=("lost-append", "lost-element", "lost-write"),
        ),
        *(replace(promise, source=f"{README}; {promise.source}") for promise in RAFT_PROMISES),
    ),
    may_refuse=frozenset({"data", "index", "snapshot", "term"}),
)
