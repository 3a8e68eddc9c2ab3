"""A PostgreSQL server on each node that has one: processes, settings, files on disk, who leads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import psycopg

from harness.systems.api import Machine, Role, Setup, Shell, Surface
from harness.systems.postgresql.binaries import bin_directory, unpacking
from harness.systems.postgresql.schema import TABLES
from harness.systems.ready import listening
from nemesis.core.ports import Command

PORT: Final = 5432
STORE: Final = "store"
#: The server refuses to run as root.
_UNPRIVILEGED: Final = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "env", "HOME=/tmp")
#: Makes the database, without syncing each file but all of them at the end.
_INIT: Final = 'install -d -m 700 -o nobody -g nogroup "$0" && "$@" && sync -f "$0"'
_ACCESS: Final = "host all all all trust\nhost replication all all trust\n"
#: Deadlocks of hot keys are found at once; without it they stop all clients for a second each.
_SETTINGS: Final = {
    "unix_socket_directories": "", "max_connections": "200", "deadlock_timeout": "20ms", "log_min_messages": "log",
    "max_pred_locks_per_transaction": "256", "shared_buffers": "64MB",
}  # fmt: skip


def settings(node: Machine, setup: Setup) -> dict[str, str]:
    """The server's settings, which win over those in its files."""
    return {
        **_SETTINGS,
        "listen_addresses": node.address,
        "port": str(PORT),
        "hba_file": f"{node.home}/pg_hba.conf",
        "synchronous_commit": str(setup.options["synchronous_commit"]),
        "fsync": "off" if setup.planted_bug == "no-fsync" else "on",
    }


def roles(setup: Setup) -> list[Role]:
    """A database on the first node."""
    node = setup.nodes[0]
    programs = bin_directory(node, setup.version)
    store = f"{node.home}/{STORE}"
    initdb = (f"{programs}/initdb", "-D", store, "-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8", "-N")
    chosen = [word for name, value in settings(node, setup).items() for word in ("-c", f"{name}={value}")]
    return [
        Role(
            node=node.name, name="unpack", task=True, data=(), command=unpacking(node, setup.version),
        ),
        Role(
            node=node.name, name="initdb", task=True, data=(),
            command=("sh", "-c", _INIT, store, *_UNPRIVILEGED, *initdb),
        ),
        Role(
            node=node.name, data=(STORE,), ready=listening(PORT), files={"pg_hba.conf": _ACCESS},
            command=(*_UNPRIVILEGED, f"{programs}/postgres", "-D", store, *chosen),
        ),
    ]  # fmt: skip


def connection_words(node: Machine) -> dict[str, Any]:
    """What it takes to connect to a node's server."""
    return {"host": node.address, "port": PORT, "user": "postgres", "dbname": "postgres", "connect_timeout": 3}


def leads(setup: Setup) -> str | None:
    """Make the tables; the node that has them."""
    node = setup.nodes[0]
    try:
        with psycopg.connect(**connection_words(node), autocommit=True) as connection:
            for table in TABLES:
                connection.execute(table)
    except psycopg.Error:
        return None
    return node.name


def surface(_setup: Setup) -> Surface:
    files = {
        "data": ("pg_wal/0*", "base/*/*", "pg_xact/*"), "index": ("global/pg_filenode.map", "base/*/pg_filenode.map"),
        "term": ("global/pg_control",),
    }  # fmt: skip
    return Surface(peer_ports=(PORT,), client_port=PORT, store=STORE, store_files=files)


def describe(setup: Setup, shell: Shell) -> Mapping[str, str]:
    """The exact version, which a package of the distribution does not promise."""
    program = f"{bin_directory(shell.machine, setup.version)}/postgres"
    return {"postgres": shell.run(Command((program, "--version"), timeout=10.0)).stdout.strip()}
