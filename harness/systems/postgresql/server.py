"""PostgreSQL servers: their processes, settings and files, and which of them is the primary."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

import psycopg

from harness.systems.api import Machine, Role, Setup, Shell, Surface
from harness.systems.postgresql.binaries import WITH_BACKUP, bin_directory, unpacking
from harness.systems.postgresql.deadline import finish
from harness.systems.ready import listening
from harness.systems.sql.statements import Dialect
from harness.systems.sql.store import MAKE_STORE, UNPRIVILEGED
from harness.systems.sql.workloads import TRANSACTIONS
from nemesis.core.ports import Command
from nemesis.faults.leadership import DEPOSED

PORT: Final = 5432
STORE: Final = "store"
#: How long a server may take to make the tables, or to show that it has them.
_ANSWER_S: Final = 10.0
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


#: Serves, but first a deposed primary drops its files and copies those of the new one.  If it cannot reach that one, it
#: gives up, because the run cannot heal the cut between them while it waits for this server.
_SERVE: Final = """for attempt in 1 2 3; do
  [ -e {deposed} ] || break
  rm -rf {store} && {copy} && rm {deposed} || sleep 1
done
[ ! -e {deposed} ] || exit 1
exec {serve}"""


def settings(node: Machine, setup: Setup) -> dict[str, str]:
    """Return the server's settings, which override those in its files.

    Commits wait for standbys by name: a ``*`` would also let a running ``pg_basebackup`` acknowledge them.
    """
    wait_for = int(setup.options["synchronous_standbys"])
    names = ", ".join(f'"{server.name}"' for server in servers(setup))
    # Before it recovers, the server syncs its thousand files one by one, which took up to 7 s on a busy disk.  From 14
    # on it can sync the file system instead, which is the node's own.
    once = {"recovery_init_sync_method": "syncfs"} if int(setup.version.partition(".")[0]) >= 14 else {}
    return {
        **_SETTINGS,
        **once,
        "listen_addresses": node.address,
        "port": str(PORT),
        "hba_file": f"{node.home}/pg_hba.conf",
        "synchronous_commit": str(setup.options["synchronous_commit"]),
        "fsync": "off" if setup.planted_bug == "no-fsync" else "on",
        "cluster_name": node.name,
        "synchronous_standby_names": f"ANY {wait_for} ({names})" if wait_for else "",
    }


def servers(setup: Setup) -> tuple[Machine, ...]:
    """Return the primary's node, then the nodes of its standbys."""
    return setup.nodes[: 1 + int(setup.options["standbys"])]


def roles(setup: Setup) -> list[Role]:
    """Return the roles: a primary on the first node, and on the next nodes standbys that copy and follow it."""
    return [role for stage, node in enumerate(servers(setup)) for role in _server(node, setup, stage)]


def _server(node: Machine, setup: Setup, stage: int) -> list[Role]:
    programs, store = bin_directory(node, setup.version), f"{node.home}/{STORE}"

    def making(program: str, *words: str) -> tuple[str, ...]:
        return ("sh", "-c", MAKE_STORE, store, *UNPRIVILEGED, f"{programs}/{program}", "-D", store, *words, "-N")

    make = making("initdb", "-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8")
    copy = making("pg_basebackup", "-d", primary_words(setup), "-R", "-c", "fast")
    chosen = [word for name, value in settings(node, setup).items() for word in ("-c", f"{name}={value}")]
    serve: tuple[str, ...] = (*UNPRIVILEGED, f"{programs}/postgres", "-D", store, *chosen)
    if setup.options["standbys"]:
        script = _SERVE.format(deposed=DEPOSED, store=STORE, copy=shlex.join(copy), serve=shlex.join(serve))
        serve = ("sh", "-c", script)
    return [
        Role(node=node.name, name="unpack", task=True, data=(), stage=stage, command=unpacking(node, setup.version)),
        Role(
            node=node.name, name="make-store", task=True, data=(), stage=stage,
            command=copy if stage else make,
        ),
        Role(
            node=node.name, data=(STORE,), ready=listening(PORT), files={"pg_hba.conf": _ACCESS}, stage=stage,
            command=serve,
        ),
    ]  # fmt: skip


def refuse(setup: Setup) -> str | None:
    """Return why the requested standbys are impossible, or None."""
    standbys, synchronous = (int(setup.options[name]) for name in ("standbys", "synchronous_standbys"))
    if synchronous > standbys:
        return f"-o synchronous_standbys={synchronous}: needs as many standbys: -o standbys={synchronous}"
    if not standbys:
        return None
    if setup.version not in WITH_BACKUP:
        return f"-o standbys: the binaries of {setup.version} have no pg_basebackup: use {' or '.join(WITH_BACKUP)}"
    if setup.options["isolation"] == "serializable":
        return "-o standbys: a standby refuses SERIALIZABLE: use -o isolation=repeatable-read"
    if setup.workload not in TRANSACTIONS:
        return f"-o standbys: a standby cannot run {setup.workload}: use {' or '.join(TRANSACTIONS)}"
    if setup.nodes and len(setup.nodes) <= standbys:
        return f"-o standbys={standbys}: needs {standbys + 1} nodes: --nodes {standbys + 1}"
    return None


def connection_words(node: Machine) -> dict[str, Any]:
    """Return the arguments with which psycopg connects to a node's server."""
    return {"host": node.address, "port": PORT, "user": "postgres", "dbname": "postgres", "connect_timeout": 3}


def primary_words(setup: Setup) -> str:
    """Return the connection string with which libpq finds the primary among the servers, whichever it is."""
    hosts = ",".join(node.address for node in servers(setup))
    return f"host={hosts} port={PORT} user=postgres dbname=postgres connect_timeout=3 target_session_attrs=read-write"


def leads(setup: Setup) -> str | None:
    """Make the tables on the primary and return its node, or None while a server lacks them or does not answer."""

    async def look() -> str | None:
        # Standbys may not be connected yet, and nobody waits for these commits.
        local = {"conninfo": primary_words(setup), "options": "-c synchronous_commit=local"}
        primary = await _execute(local, DIALECT.tables)
        for node in servers(setup):
            await _execute(connection_words(node), ["SELECT FROM elements"])  # the last of them
        return next(node.name for node in servers(setup) if node.address == primary)

    try:
        return asyncio.run(look())
    except psycopg.Error:
        return None


async def _execute(words: dict[str, Any], statements: Sequence[str]) -> str:
    """Execute statements on a server and return its address.  Raises psycopg.Error, also if they take too long."""
    async with await psycopg.AsyncConnection.connect(**words, autocommit=True) as connection:

        async def work() -> str:
            for statement in statements:
                await connection.execute(statement)
            return connection.info.host

        return await finish(work(), connection, _ANSWER_S)


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
