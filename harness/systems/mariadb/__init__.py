"""MariaDB: transactions at a chosen isolation level, on one server or on a Galera cluster, and rows as objects.

================  =====================================================================================
``server``        the processes, their settings, files on disk
``client``        one connection, without retries
``outcomes``      the law of outcomes: what an answer proves
================  =====================================================================================
"""

from __future__ import annotations

from itertools import cycle, islice
from typing import Final

from harness.systems.api import Alarm, Option, System
from harness.systems.mariadb.client import Client
from harness.systems.mariadb.outcomes import LAW
from harness.systems.mariadb.server import VERSION, describe, leads, refuse, roles, servers, surface
from harness.systems.promise import Promise
from harness.systems.sql.workloads import LEVELS, WORKLOADS

_ISOLATION: Final = "https://mariadb.com/docs/server/reference/sql-statements/transactions/set-transaction"
_FLUSH: Final = "https://mariadb.com/docs/server/server-usage/storage-engines/innodb/innodb-system-variables"

SYSTEM: Final = System(
    name="mariadb",
    title="MariaDB",
    summary="MariaDB, alone or as a Galera cluster: transactions at a chosen isolation level; rows as objects",
    versions=(VERSION,),
    options=(
        Option(name="isolation", default="repeatable-read", choices=tuple(LEVELS), marks_runs=True,
               help="Isolation level of all transactions. Repeatable read is judged as snapshot isolation."),
        Option(name="snapshot_isolation", default="on", choices=("on", "off"), marks_runs=True,
               help="The server's innodb_snapshot_isolation. off, the server's own default before 11.6: a write may "
                    "change a row that its transaction's snapshot does not show."),
        Option(name="binlog", default="off", choices=("on", "off"), marks_runs=True,
               help="The server's log_bin, with sync_binlog=1. off, the default: a commit is visible before "
                    "it is on disk."),
        Option(name="galera", default="off", choices=("on", "off"), marks_runs=True,
               help="on: all nodes form a Galera cluster, and clients write to each of them."),
    ),
    roles=roles,
    leads=leads,
    surface=surface,
    refuse=refuse,
    clients=lambda setup, number: [Client(node, setup) for node in islice(cycle(servers(setup)), number)],
    describe=describe,
    law=LAW,
    every_node_serves=True,
    workloads=WORKLOADS,
    promises=(
        Promise("transactions satisfy the isolation level that they request", ("txn",), _ISOLATION),
        Promise("statements on one row take effect in one order, which respects real time",
                ("add", "write", "cas", "read", "transfer")),
        Promise("acknowledged transactions survive a crash", source=_FLUSH,
                checks=("acknowledged", "isolation", "linearizable", "elements"),
                kinds=("lost-append", "incompatible-order", "lost-element", "lost-write", "stale-read")),
    ),
    alarms=(
        Alarm(pattern="[FATAL] InnoDB", meaning="the storage engine found damage and stopped", follows="note"),
        Alarm(pattern="Inconsistency detected", meaning="a Galera node disagreed with the others and left",
              follows="note"),
    ),
    may_refuse=frozenset({"data", "term"}),
)  # fmt: skip
