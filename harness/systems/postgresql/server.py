"""PostgreSQL servers: their processes, settings and files, and which of them is the primary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import psycopg

from harness.systems.api import Machine, Role, Setup, Shell, Surface
from harness.systems.postgresql.binaries import WITH_BACKUP, bin_directory, unpacking
from harness.systems.ready import listening
from harness.systems.sql.statements import Dialect
from harness.systems.sql.store import MAKE_STORE, UNPRIVILEGED
from harness.systems.sql.workloads import TRANSACTIONS
from nemesis.core.ports import Command

PORT: Final = 5432
STORE: Final = "store"
_INSERT: Final = "INSERT INTO {} AS t VALUES (%s, %s) ON CONFLICT"
DIALECT: Final = Dialect(
    name="text", text="text",
    append=f"{_INSERT} (id) DO UPDATE SET val = t.val || ',' || excluded.val",
    put=f"{_INSERT} (id) DO UPDATE SET val = excluded.val",
    add=f"{_INSERT} (id) DO UPDATE SET val = t.val + excluded.val",
    create=f"{_INSERT} DO NOTHING",
)  # fmt: skip
_ACCESS: Final = "host all all all trust\nhost replication all all trust\n"
#: With the default ``deadlock_timeout``, every deadlock on a hot key would stop all clients for a second.
_SETTINGS: Final = {
    "unix_socket_directories": "", "max_connections": "200", "deadlock_timeout": "20ms", "log_min_messages": "log",
    "max_pred_locks_per_transaction": "256", "shared_buffers": "64MB",
}  # fmt: skip


def settings(node: Machine, setup: Setup) -> dict[str, str]:
    """Return the server's settings, which override those in its files."""
    return {
        **_SETTINGS,
        "listen_addresses": node.address,
        "port": str(PORT),
        "hba_file": f"{node.home}/pg_hba.conf",
        "synchronous_commit": str(setup.options["synchronous_commit"]),
        "fsync": "off" if setup.planted_bug == "no-fsync" else "on",
    }


def servers(setup: Setup) -> tuple[Machine, ...]:
    """Return the primary's node, then the nodes of its standbys."""
    return setup.nodes[: 1 + int(setup.options["standbys"])]


def roles(setup: Setup) -> list[Role]:
    """Return the roles: a primary on the first node, and on the next nodes standbys that copy and follow it."""
    return [role for stage, node in enumerate(servers(setup)) for role in _server(node, setup, stage)]


def _server(node: Machine, setup: Setup, stage: int) -> list[Role]:
    programs, primary = bin_directory(node, setup.version), setup.nodes[0]
    store = f"{node.home}/{STORE}"
    make: tuple[str, ...] = ("initdb", "-D", store, "-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8", "-N")
    if node is not primary:
        make = ("pg_basebackup", "-D", store, "-h", primary.address, "-p", str(PORT), "-U", "postgres", "-R",
                "-c", "fast", "-N")  # fmt: skip
    chosen = [word for name, value in settings(node, setup).items() for word in ("-c", f"{name}={value}")]
    make = (f"{programs}/{make[0]}", *make[1:])
    return [
        Role(node=node.name, name="unpack", task=True, data=(), stage=stage, command=unpacking(node, setup.version)),
        Role(
            node=node.name, name="make-store", task=True, data=(), stage=stage,
            command=("sh", "-c", MAKE_STORE, store, *UNPRIVILEGED, *make),
        ),
        Role(
            node=node.name, data=(STORE,), ready=listening(PORT), files={"pg_hba.conf": _ACCESS}, stage=stage,
            command=(*UNPRIVILEGED, f"{programs}/postgres", "-D", store, *chosen),
        ),
    ]  # fmt: skip


def refuse(setup: Setup) -> str | None:
    """Return why the standbys that were asked for are impossible, or None."""
    standbys = int(setup.options["standbys"])
    if not standbys:
        return None
    if setup.version not in WITH_BACKUP:
        return f"-o standbys: the binaries of {setup.version} have no pg_basebackup: use {' or '.join(WITH_BACKUP)}"
    if setup.options["isolation"] == "serializable":
        return "-o standbys: a standby refuses SERIALIZABLE: use -o isolation=repeatable-read"
    if setup.workload not in TRANSACTIONS:
        return f"-o standbys: {setup.workload} can do more than a standby: use {' or '.join(TRANSACTIONS)}"
    if setup.nodes and len(setup.nodes) <= standbys:
        return f"-o standbys={standbys}: needs {standbys + 1} nodes: --nodes {standbys + 1}"
    return None


def connection_words(node: Machine) -> dict[str, Any]:
    """Return the arguments with which psycopg connects to a node's server."""
    return {"host": node.address, "port": PORT, "user": "postgres", "dbname": "postgres", "connect_timeout": 3}


def leads(setup: Setup) -> str | None:
    """Make the tables on the primary and return its node, or None while a server lacks them."""
    primary, *standbys = servers(setup)
    try:
        with psycopg.connect(**connection_words(primary), autocommit=True) as connection:
            for table in DIALECT.tables:
                connection.execute(table)
        for node in standbys:
            with psycopg.connect(**connection_words(node), autocommit=True) as connection:
                connection.execute("SELECT FROM elements")  # the last of them
    except psycopg.Error:
        return None
    return primary.name


def surface(_setup: Setup) -> Surface:
    files = {
        "data": ("pg_wal/0*", "base/*/*", "pg_xact/*"), "index": ("global/pg_filenode.map", "base/*/pg_filenode.map"),
        "term": ("global/pg_control",),
    }  # fmt: skip
    return Surface(peer_ports=(PORT,), client_port=PORT, store=STORE, store_files=files)


def describe(setup: Setup, shell: Shell) -> Mapping[str, str]:
    """Return the exact version of the server, because the distribution's package fixes only the major one."""
    program = f"{bin_directory(shell.machine, setup.version)}/postgres"
    return {"postgres": shell.run(Command((program, "--version"), timeout=10.0)).stdout.strip()}
