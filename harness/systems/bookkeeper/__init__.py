"""Apache BookKeeper: ledgers, each with one writer until a recovery ends it.

================== =====================================================================================================
``options``        versions, options, planted bugs, and how many bookies a quorum needs
``gateway_jar``    the gateway, a client of BookKeeper that speaks JSON lines, built from ``bookkeeper_gateway/``
``processes``      what runs on which node: jars, command lines, configuration, ports
``outcomes``       the law: what an answer of a gateway proves
``client``         a worker's connection to its gateway
``workload``       the workload: ledgers that are fenced while adds are in flight
``late_writers``   writers that add again long after the end of their ledger
``fenced_ledgers`` checks of ledgers with one writer that a recovery ends, by comparing recorded operations
``promises``       what BookKeeper promises, judged by ``fenced_ledgers``
================== =====================================================================================================
"""

from __future__ import annotations

from typing import Final

from harness.generators import Generator
from harness.systems.api import Scale, System, Workload
from harness.systems.bookkeeper.client import Prober, clients
from harness.systems.bookkeeper.options import OPTIONS, PLANTED_BUGS, VERSIONS
from harness.systems.bookkeeper.outcomes import LAW
from harness.systems.bookkeeper.processes import artifacts, leads, roles, surface
from harness.systems.bookkeeper.promises import PROMISES, ledgers_keep_their_promises
from harness.systems.bookkeeper.workload import ledger_workload
from harness.systems.jvm import OUT_OF_MEMORY
from harness.workloads import last_reads


def _ledgers(scale: Scale) -> Generator:
    chosen = ("window", "recoverers", "late_writers")
    return ledger_workload(scale.workers, *(int(scale.setup.options[name]) for name in chosen))


SYSTEM: Final = System(
    name="bookkeeper",
    title="BookKeeper",
    summary="Apache BookKeeper: ledgers that are fenced and recovered during adds",
    versions=VERSIONS,
    options=OPTIONS,
    planted_bugs=PLANTED_BUGS,
    artifacts=artifacts,
    roles=roles,
    leads=leads,
    surface=surface,
    clients=clients,
    prober=lambda _, shell: Prober(shell.machine),
    law=LAW,
    workloads=(
        Workload(
            name="ledger",
            summary="several ledgers a second, each with a writer, a reader that follows, and clients that "
            "recover and end it",
            generator=_ledgers,
            final=lambda scale: last_reads(scale.used),
            model=ledgers_keep_their_promises,
            kinds=("window", "tail", "recover"),
            reads=frozenset({"tail", "read"}),
        ),
    ),
    every_node_serves=True,  # through its gateway, which uses whichever bookies are up
    promises=PROMISES,
    alarms=(OUT_OF_MEMORY,),
)
