"""PostgreSQL: transactions at a chosen isolation level, and rows as registers, sets and counters.

================  =====================================================================================
``binaries``      the server's programs of each version
``server``        the processes, their settings, files on disk
``prober``        the state of a server: its role, its timeline, and where its log ends
``deadline``      statements with a time limit
``promotion``     a standby that takes the place of a dead primary
``client``        one connection, without retries
``outcomes``      the law of outcomes: what an answer proves
================  =====================================================================================
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from typing import Final

from harness.systems.api import Alarm, Option, PlantedBug, Setup, Surface, System
from harness.systems.postgresql.binaries import VERSIONS, artifacts
from harness.systems.postgresql.client import Client
from harness.systems.postgresql.outcomes import LAW
from harness.systems.postgresql.prober import Prober
from harness.systems.postgresql.promotion import promote
from harness.systems.postgresql.server import describe, leads, refuse, roles, servers, surface
from harness.systems.promise import Promise
from harness.systems.sql.workloads import LEVELS, WORKLOADS

_ISOLATION: Final = "https://www.postgresql.org/docs/18/transaction-iso.html"
_WAL: Final = "https://www.postgresql.org/docs/18/wal-reliability.html"


def _surface(setup: Setup) -> Surface:
    return replace(surface(setup), promote=partial(promote, setup) if setup.options["standbys"] else None)


SYSTEM: Final = System(
    name="postgresql",
    title="PostgreSQL",
    summary="PostgreSQL: transactions at a chosen isolation level; rows as registers, sets, counters, accounts",
    versions=VERSIONS,
    options=(
        Option(name="isolation", default="serializable", choices=tuple(LEVELS), marks_runs=True,
               help="Isolation level that all transactions request and are judged by. PostgreSQL's repeatable read "
                    "is snapshot isolation."),
        Option(name="synchronous_commit", default="on", choices=("on", "off"), marks_runs=True,
               help="off: a commit is acknowledged before it is on disk, and a crash may lose it."),
        Option(name="standbys", default=0, least=0, most=8, marks_runs=True,
               help="Number of hot standbys, on the nodes after the first. Their clients only read."),
        Option(name="synchronous_standbys", default=0, least=0, most=8, marks_runs=True,
               help="A commit is acknowledged only when this many standbys have it on disk. 0: a promotion may lose "
                    "acknowledged commits."),
    ),
    planted_bugs=(
        PlantedBug(name="no-fsync", help="nothing is synced: a power cut loses acknowledged commits or the database",
               found_by=("acknowledged", "isolation", "linearizable", "elements", "leader-complete", "recovery")),
    ),
    artifacts=lambda setup: artifacts(setup.version),
    roles=roles,
    leads=leads,
    surface=_surface,
    refuse=refuse,
    clients=lambda setup, number: [
        Client(node, setup, str(setup.options["isolation"])) for node in islice(cycle(servers(setup)), number)
    ],
    describe=describe,
    prober=lambda setup, shell: Prober(shell.machine, int(setup.options["synchronous_standbys"])),
    law=LAW,
    every_node_serves=True,
    workloads=WORKLOADS,
    index_unit="bytes",
    promises=(
        Promise("transactions satisfy the isolation level that they request", ("txn",), _ISOLATION),
        Promise("statements on one row take effect in one order, which respects real time",
                ("add", "write", "cas", "read", "transfer")),
        Promise("acknowledged transactions survive a crash, unless synchronous_commit is off; and the promotion of a "
                "standby, if commits wait for standbys", source=_WAL,
                checks=("acknowledged", "isolation", "linearizable", "elements"),
                kinds=("lost-append", "incompatible-order", "lost-element", "lost-write", "stale-read")),
        Promise("the log keeps everything that was flushed to disk", source=_WAL, checks=("leader-complete",)),
    ),
    alarms=(
        Alarm(pattern="PANIC:", meaning="the server crashed and restarts", follows="note"),
        Alarm(pattern="could not map", meaning="no shared memory", follows="harness"),
    ),
    may_refuse=frozenset({"data", "index", "term"}),
)  # fmt: skip
