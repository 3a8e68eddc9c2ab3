"""A MariaDB server on the first node, or a Galera cluster on all of them: processes, settings, files on disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pymysql

from harness.systems.api import Machine, Role, Setup, Shell, Surface
from harness.systems.ready import listening
from harness.systems.sql.statements import Dialect
from harness.systems.sql.store import MAKE_STORE, UNPRIVILEGED
from harness.systems.sql.workloads import TRANSACTIONS
from nemesis.core.ports import Command

VERSION: Final = "10.11"
PORT: Final = 3306
#: Galera's ports: messages of the group, write sets for a node that was away for a short time, and whole copies.
_GALERA_PORTS: Final = (4567, 4568, 4444)
_PROVIDER: Final = "/usr/lib/galera/libgalera_smm.so"
STORE: Final = "store"
#: How long the server may take to answer while it gets ready (s).
_ANSWER_S: Final = 10
_INSERT: Final = "INSERT INTO {} VALUES (%s, %s) ON DUPLICATE KEY UPDATE val ="
DIALECT: Final = Dialect(
    name="varchar(64)", text="mediumtext",
    append=f"{_INSERT} CONCAT(val, ',', VALUES(val))",
    put=f"{_INSERT} VALUES(val)",
    add=f"{_INSERT} val + VALUES(val)",
    create="INSERT IGNORE INTO {} VALUES (%s, %s)",
)  # fmt: skip
#: The rest is MariaDB's default.  Lock waits end before the client gives up, after 50 s by default.
_SETTINGS: Final = {
    "port": PORT, "skip_name_resolve": "ON", "skip_grant_tables": "ON", "max_connections": 200,
    "innodb_lock_wait_timeout": 2, "innodb_buffer_pool_size": "64M",
}  # fmt: skip
_MAKE: Final = f"""mariadbd --version | grep -F " {VERSION}." || {{
  echo "needs MariaDB {VERSION}: apt-get install mariadb-server"; exit 1; }}
{MAKE_STORE}
"""
_INITIALISE: Final = """set -e
mariadb-install-db --no-defaults --datadir="$0" --auth-root-authentication-method=normal
printf %s "$1" > "$0/grastate.dat"
"""
#: As mariadbd_safe starts a node of Galera: from the position that its storage engine has reached; a new cluster only
#: where it is safe.
_START: Final = """set -- --defaults-file=my.cnf
if grep -q '^wsrep_on' my.cnf && [ -s store/grastate.dat ]; then
  at=$(mariadbd "$@" --wsrep-recover 2>&1 | sed -n 's/.*Recovered position: *//p' | tail -n 1)
  [ -z "$at" ] || set -- "$@" --wsrep-start-position="$at"
  ! grep -q '^safe_to_bootstrap: 1' store/grastate.dat || set -- "$@" --wsrep-new-cluster
fi
exec mariadbd "$@"
"""
#: The state of a node that may found the cluster.
_FOUNDS: Final = """# GALERA saved state
version: 2.1
uuid:    00000000-0000-0000-0000-000000000000
seqno:   -1
safe_to_bootstrap: 1
"""


def galera(setup: Setup) -> bool:
    return setup.options["galera"] == "on"


def servers(setup: Setup) -> tuple[Machine, ...]:
    """Return the nodes on which a server runs."""
    return setup.nodes if galera(setup) else setup.nodes[:1]


def settings(node: Machine, setup: Setup) -> str:
    """Return the content of the server's ``my.cnf``."""
    chosen: dict[str, object] = {
        **_SETTINGS, "datadir": f"{node.home}/{STORE}", "socket": f"{node.home}/{STORE}/socket",
        "bind_address": node.address, "innodb_snapshot_isolation": setup.options["snapshot_isolation"],
    }  # fmt: skip
    if setup.options["binlog"] == "on":
        chosen |= {"log_bin": "binlog", "server_id": 1, "sync_binlog": 1}
    if galera(setup):
        group, transfer, _ = _GALERA_PORTS
        chosen |= {
            "wsrep_on": "ON", "wsrep_provider": _PROVIDER, "wsrep_sst_method": "rsync", "binlog_format": "ROW",
            "innodb_autoinc_lock_mode": 2, "wsrep_sync_wait": 1, "wsrep_node_address": node.address,
            "wsrep_node_name": node.name,
            "wsrep_cluster_address": f"gcomm://{','.join(other.address for other in setup.nodes)}",
            "wsrep_provider_options": f'"base_host={node.address};gmcast.listen_addr=tcp://{node.address}:{group};'
            f'ist.recv_addr={node.address}:{transfer}"',
        }  # fmt: skip
    return "".join(f"{line}\n" for line in ("[mariadbd]", *(f"{name} = {value}" for name, value in chosen.items())))


def roles(setup: Setup) -> list[Role]:
    """Return a server on each node that has one.  The first node makes the database; in Galera the others copy it."""
    return [role for node in servers(setup) for role in _server(node, setup, first=node is setup.nodes[0])]


def _server(node: Machine, setup: Setup, *, first: bool) -> list[Role]:
    store, stage = f"{node.home}/{STORE}", 0 if first else 1
    make: tuple[str, ...] = ("true",)
    if first:
        make = (*UNPRIVILEGED, "sh", "-c", _INITIALISE, store, _FOUNDS if galera(setup) else "")
    return [
        Role(
            node=node.name, name="make-store", task=True, data=(), stage=stage,
            command=("sh", "-c", _MAKE, store, *make),
        ),
        Role(
            node=node.name, data=(STORE,), ready=listening(PORT), stage=stage,
            files={"my.cnf": settings(node, setup), "start.sh": _START}, command=(*UNPRIVILEGED, "sh", "start.sh"),
        ),
    ]  # fmt: skip


def refuse(setup: Setup) -> str | None:
    """Return why a Galera cluster cannot run the plan, or None."""
    if not galera(setup):
        return None
    if setup.options["isolation"] == "serializable":
        return "-o galera=on: Galera does not see reads; use -o isolation=repeatable-read"
    if setup.workload not in TRANSACTIONS:
        return f"-o galera=on: Galera does not promise linearizable rows: use {' or '.join(TRANSACTIONS)}"
    return None


def connection_words(node: Machine) -> dict[str, Any]:
    """Return the arguments with which a client connects to a node's server."""
    return {"host": node.address, "port": PORT, "user": "root", "db": "test", "autocommit": True, "connect_timeout": 3}


def leads(setup: Setup) -> str | None:
    """Create the tables on every server; return the first node, or None if some server does not have them yet."""
    try:
        for node in servers(setup):
            words = {**connection_words(node), "read_timeout": _ANSWER_S}  # a node without its cluster may not answer
            with pymysql.connect(**words) as connection, connection.cursor() as cursor:
                for table in DIALECT.tables:
                    cursor.execute(table if node is setup.nodes[0] else "SELECT 1 FROM elements")
    except pymysql.MySQLError:
        return None
    return setup.nodes[0].name


def surface(setup: Setup) -> Surface:
    files = {"data": ("ibdata*", "undo*", "*/*.ibd"), "term": ("grastate.dat", "gvwstate.dat")}
    # A node of Galera is given up after 15 s of silence at the latest (evs.inactive_timeout).
    ports, notices_s = (_GALERA_PORTS, 20.0) if galera(setup) else ((PORT,), 4.0)
    return Surface(peer_ports=ports, client_port=PORT, store=STORE, store_files=files, notices_s=notices_s)


def describe(_setup: Setup, shell: Shell) -> Mapping[str, str]:
    """Return the exact version of the server, because the distribution's package fixes only the first two numbers."""
    return {"mariadb": shell.run(Command(("mariadbd", "--version"), timeout=10.0)).stdout.strip()}
