"""Apache ZooKeeper: znodes as registers, locks, a set, a sequence.  One server per node, clients through kazoo.

The checks follow ZooKeeper's promises: its writes are linearizable; a session sees its own writes and never goes back.
A plain read may be stale, and so may one after ``sync``, which a deposed leader answers alone if it does not know that
it was deposed.  So a ``read`` comes after a write of its own session (to a dummy znode), which goes through a quorum
and makes the read linearizable.  A ``peek`` is done as the ``peeks`` option says, and judged by the order within its
session.

A lock is a znode that outlives sessions.  It holds its holder's token, which is the version that the znode had then, or
null.  Only a set that names the version before changes it, so that no token recurs, and only a release ends a lock.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import cycle, islice
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadVersionError,
    ConnectionLoss,
    KazooException,
    NodeExistsError,
    NoNodeError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.exceptions import SessionExpiredError as Expired
from kazoo.handlers.threading import KazooTimeoutError

from harness.systems.api import Alarm, Machine, Option, Role, Setup, Surface, System, Workload
from harness.systems.jvm import OUT_OF_MEMORY
from harness.systems.law import LOST, NOT_SENT, Law, Outcome, Rule
from harness.systems.promise import Promise
from harness.systems.workloads import CAS_REGISTER, LOCK, REGISTER, SESSIONS, SET, one_object
from harness.systems.zookeeper_server import PEER_PORTS, PORT, SLF4J, STORE, server, server_jars
from harness.workloads import Invocation
from harness.workloads.transactions import last_transactions, mixed
from history.records.operations import NEW_SESSION, READ_ONLY, READ_STEPS, TXN

DOCS: Final = "https://zookeeper.apache.org/doc/r3.9.4"
INTERNALS: Final = "zookeeperInternals.html#sc_consistency"
ACTIVATION: Final = f"{DOCS}/zookeeperInternals.html#sc_leaderElection"
BROADCAST: Final = f"{DOCS}/zookeeperInternals.html#sc_guaranteesPropertiesDefinitions"
GUARANTEES: Final = f"{DOCS}/zookeeperProgrammers.html#ch_zkGuarantees"
ROOT: Final = "/harness"
BARRIER: Final = f"{ROOT}/barrier"
#: Znodes whose children are the elements of an object.
PARENTS: Final = (f"{ROOT}/set", f"{ROOT}/sequence")
SESSION_S: Final = 6.0
LAW: Final = Law(
    Rule("answered", "done, or a lock refused with the token of its holder", "ok"),
    Rule("no-node", "there is no such znode", "fail"),
    Rule("other-version", "the version, or the value, is different", "fail"),
    Rule("new-session", "never sent: the session of the previous operation is gone", "fail"),
    Rule("error", "any other error", "info", read="fail", peek="fail", list="fail"),
    reads=("read", "peek", "list"),
)
#: The case for each exception.
CASES: Final[Mapping[type[Exception], str]] = {
    BadVersionError: "other-version", NoNodeError: "no-node", TimeoutError: LOST, ConnectionLoss: LOST, Expired: LOST,
}  # fmt: skip


def roles(setup: Setup) -> list[Role]:
    commits = f"-Dzookeeper.commitLogCount={setup.options['commit_log']}"
    return [server(node, setup.version, setup.nodes, flags=(commits,)) for node in setup.nodes]


def session(addresses: str) -> KazooClient:
    quiet = logging.getLogger("kazoo.harness")
    quiet.setLevel(logging.CRITICAL)
    connect = {"max_tries": -1, "delay": 0.1, "backoff": 1, "max_jitter": 0.1}
    return KazooClient(addresses, SESSION_S, connection_retry=connect, command_retry={"max_tries": 0}, logger=quiet)


def end(zk: KazooClient) -> None:
    """Close a session, which may wait for its server and fail in many ways."""
    with suppress(Exception):
        zk.stop()
        zk.close()


def leads(setup: Setup) -> str | None:
    """Return a text once a quorum has created the parents of all other znodes, else None."""
    zk = session(",".join(f"{node.address}:{PORT}" for node in setup.nodes))
    try:
        zk.start(3.0)
        for path in (BARRIER, *PARENTS):
            zk.ensure_path(path)
    except (KazooException, KazooTimeoutError):
        return None
    finally:
        end(zk)
    return "the cluster"


def figures(srvr: str) -> dict[str, Any]:
    """Return the figures in an answer to ``srvr``.  Raises ValueError if the server does not serve.

    A server applies a transaction when it learns that it is committed, and reports no other index.
    """
    fields = dict(line.split(": ", 1) for line in srvr.splitlines() if ": " in line)
    if not {"Mode", "Zxid"} <= fields.keys():
        raise ValueError(srvr.strip()[:100] or "no answer")
    zxid, role = int(fields["Zxid"], 16), "follower" if fields["Mode"] == "follower" else "leader"
    return {"role": role, "term": zxid >> 32, "committed": zxid, "applied": zxid}


class Prober:
    """A prober that asks one server with a four-letter word.

    A server reports the epoch of its last transaction.  A leader whose new epoch has no transaction yet reports that
    epoch.  If it is killed then, the epoch that it reports goes back, although the one on its disk does not, so the
    highest epoch that it has reported counts.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._epoch = 0

    async def ask(self, timeout: float) -> Mapping[str, Any]:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(self._address, PORT)
            try:
                writer.write(b"srvr")
                fields = figures((await reader.read()).decode())
            finally:
                writer.close()
        self._epoch = max(self._epoch, fields["term"])
        return {**fields, "term": self._epoch}

    async def close(self) -> None:
        """Do nothing: every request has its own connection."""


def content(data: bytes) -> Any:
    """Return what a znode holds.

    Data that no client of ours can have written is returned as text, which the judge will find.
    """
    try:
        return json.loads(data)
    except ValueError:
        return data.decode(errors="backslashreplace")


def numbers(names: Iterable[str]) -> list[Any]:
    """Return the numbers among the names of znodes, in order, and then the names that are not numbers."""
    parsed = [int(name) if name.isascii() and name.isdigit() else name for name in names]
    return sorted(parsed, key=lambda label: (isinstance(label, str), label))


async def answer(request: Any) -> Any:
    """Await the answer to a request of kazoo, which another thread delivers.  Raises KazooException.

    An answer that kazoo cannot read, or that has the number of another request, counts as a lost connection.
    """
    answered: Future[Any] = Future()
    answered.set_running_or_notify_cancel()  # the waiter may give up, but the thread may still deliver
    request.rawlink(answered.set_result)
    await asyncio.wrap_future(answered)
    try:
        return request.get(block=False)
    except KazooException:
        raise
    except Exception as error:  # noqa: BLE001 (whatever its parser stumbles over)
        raise ConnectionLoss(f"unreadable answer: {error!r}") from None


class Client:
    """Sessions with one server.  No request is sent twice, or after its operation has ended.

    Kazoo queues requests while it reconnects, and sends them afterwards.  So no request is made without a connection,
    and a session with an unanswered request is abandoned.
    """

    def __init__(self, node: Machine, setup: Setup) -> None:
        self.home = node.name
        self._address, self._timeout = f"{node.address}:{PORT}", setup.client_timeout
        self._syncs = setup.options["peeks"] == "sync"
        self._zk: Any = None
        self._id: Any = None

    async def open(self) -> None:
        if self._zk is None:
            self._zk = session(self._address)
            self._zk.start_async()

    async def close(self) -> None:
        if self._zk is not None:
            threading.Thread(target=end, args=(self._zk,), daemon=True).start()
            self._zk = None

    async def perform(self, invocation: Invocation) -> Outcome:
        def outcome(case: str, error: Exception | None = None, **value: Any) -> Outcome:
            text = None if error is None else f"{type(error).__name__} {error}".strip()
            return LAW.outcome(case, invocation, self.home, text, **value)

        await self.open()
        for _ in range(10):
            if not self._zk.connected:
                await asyncio.sleep(0.02)
        # Read the id only once: a session that starts between two reads would be mistaken for the one before.
        now: Any = self._zk.client_id
        if now is None:
            return outcome(NOT_SENT, ConnectionError(f"no session with {self.home}"))
        before, self._id = self._id, now
        if before not in (None, now):
            return LAW.outcome("new-session", invocation, self.home, NEW_SESSION)
        try:
            async with asyncio.timeout(self._timeout):
                return outcome("answered", value=await self._ask(invocation))
        except (TimeoutError, KazooException) as error:
            case = next((case for kind, case in CASES.items() if isinstance(error, kind)), "error")
            if case == LOST:
                await self.close()
            return outcome(case, error)

    async def _ask(self, invocation: Invocation) -> Any:
        zk, f, value, path = self._zk, invocation.f, invocation.value, f"{ROOT}/{invocation.key}"
        if f == TXN:
            return await self._transact(value)
        if f in LAW.reads:
            return await self._read(f, path)
        if f == "append":
            return int((await answer(zk.create_async(f"{path}/{value}-", b"", sequence=True)))[-10:])
        if f == "acquire":
            return await self._acquire(path)
        if f == "release":
            return await self._release(path, value)
        if f == "add":
            await answer(zk.create_async(f"{path}/{value}", b""))
        elif f == "cas":
            await self._compare_and_set(path, *value)
        else:
            await self._write(path, json.dumps(value).encode())
        return value

    def _barrier(self) -> Any:
        return self._zk.set_async(BARRIER, b"")

    async def _found(self, path: str, before: Any = None) -> Any:
        """Return a znode's content with its figures, or the names of its children, or None if it does not exist.

        ``before`` is a request whose answer is awaited first.
        """
        request = self._zk.get_children_async(path) if path in PARENTS else self._zk.get_async(path)
        if before is not None:
            await answer(before)
        with suppress(NoNodeError):
            return await answer(request)
        return None

    async def _read(self, f: str, path: str) -> Any:
        weak = f == "peek"
        before = self._barrier() if not weak else self._zk.sync_async(path) if self._syncs else None
        znode = await self._found(path, before)
        if path in PARENTS:
            names = sorted(znode or (), key=lambda name: name[-10:])
            return [number for name in names for number in numbers([name[:-11]])] if f == "list" else numbers(names)
        if znode is None:
            return None
        value = content(znode[0])
        return [value, znode[1].version] if weak else value

    async def _write(self, path: str, data: bytes) -> None:
        """Set a znode, or create it.  Each further attempt is made only if the one before had no effect."""
        for ask in (self._zk.set_async, self._zk.create_async, self._zk.set_async):
            with suppress(NoNodeError, NodeExistsError):
                await answer(ask(path, data))
                return
        raise NoNodeError

    async def _replace(self, path: str, znode: Any, data: bytes) -> int:
        """Set a znode unless it changed since it was read, or create it if it did not exist, and return its version."""
        if znode is not None:
            return int((await answer(self._zk.set_async(path, data, znode[1].version))).version)
        with suppress(NodeExistsError):
            await answer(self._zk.create_async(path, data))
            return 0
        raise BadVersionError

    async def _compare_and_set(self, path: str, old: Any, new: Any) -> None:
        znode = await self._found(path)
        if (None if znode is None else content(znode[0])) != old:
            raise BadVersionError
        await self._replace(path, znode, json.dumps(new).encode())

    async def _transact(self, steps: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Write several znodes at once, if those that were read have not changed since.

        Only a znode that exists has a version, so one that is missing is created first; it holds null, as if it were
        absent.  A transaction that writes nothing goes through a quorum, too.
        """
        zk, paths = self._zk, {step[1]: f"{ROOT}/{step[1]}" for step in steps}
        contents, versions = dict[Any, Any](), dict[Any, int]()
        for key, request in {key: zk.get_async(path) for key, path in paths.items()}.items():
            with suppress(NoNodeError):
                data, state = await answer(request)
                contents[key], versions[key] = content(data), state.version
        for key in paths.keys() - versions.keys():
            with suppress(NodeExistsError):  # created by another client, with the same content and version
                await answer(zk.create_async(paths[key], b"null"))
            contents[key], versions[key] = None, 0
        changes, written, done = zk.transaction(), dict[Any, Any](), list[list[Any]]()
        for f, key, value in steps:
            if f in READ_STEPS:
                if key not in written:
                    changes.check(paths[key], versions[key])
                done.append([f, key, written.get(key, contents[key])])
            else:
                written[key] = value
                done.append([f, key, value])
        for key, value in written.items():
            changes.set_data(paths[key], json.dumps(value).encode())
        for result in await answer(changes.commit_async()):
            if isinstance(result, KazooException) and not isinstance(result, (RolledBackError, RuntimeInconsistency)):
                raise result
        return done

    async def _acquire(self, path: str) -> list[Any]:
        znode = await self._found(path, self._barrier())
        holder, version = (None, -1) if znode is None else (content(znode[0]), znode[1].version)
        if holder is not None:
            return ["held", holder]
        return ["acquired", await self._replace(path, znode, json.dumps(version + 1).encode())]

    async def _release(self, path: str, token: int) -> list[Any]:
        with suppress(BadVersionError, NoNodeError):
            await answer(self._zk.set_async(path, b"null", token))
            return ["released", token]
        holder = await self._read("read", path)
        return ["free" if holder is None else "held", holder]


SYSTEM: Final = System(
    name="zookeeper",
    title="ZooKeeper",
    epoch_bits=32,
    summary="Apache ZooKeeper: znodes as registers, locks, a set, a sequence",
    versions=tuple(SLF4J),
    options=(
        Option(name="peeks", default="plain", choices=("plain", "sync"),
               help="Whether a sync comes before each peek, the weak read of sessions. Nothing else changes: a read "
                    "always goes through a barrier, a write of its own session."),
        Option(name="commit_log", default=20_000, least=500,
               help="Number of transactions that a server keeps in memory for servers that fall behind. ZooKeeper's "
                    "default is 500."),
    ),
    artifacts=lambda setup: (server_jars(setup.version),),
    roles=roles,
    leads=leads,
    surface=lambda _: Surface(peer_ports=PEER_PORTS, client_port=PORT, store=STORE, store_files={
        "data": ("version-2/log.*",), "snapshot": ("version-2/snapshot.*",), "term": ("version-2/*Epoch",),
    }),
    clients=lambda setup, number: [Client(node, setup) for node in islice(cycle(setup.nodes), number)],
    prober=lambda _, shell: Prober(shell.machine.address),
    law=LAW,
    every_node_serves=True,
    workloads=(
        one_object("set", "znodes are created below a parent znode, which every node lists at the end", "set", "add",
                   "read", SET.checks),
        REGISTER,
        CAS_REGISTER,
        LOCK,
        one_object("sequence", "sequential znodes, each numbered by how many came before it", "log", "append", "list"),
        SESSIONS,
        Workload(
            name="rw-register", summary="atomic transactions of one to four reads and writes of registers",
            generator=lambda scale: mixed(scale.keys, "w"), final=lambda scale: last_transactions(scale.used),
            model="multi-register", kinds=(TXN,), reads=frozenset({READ_ONLY}),
        ),
    ),
    promises=(
        Promise("writes are linearizable: they take effect in one order, which respects real time",
                ("add", "append", "write", "cas", "acquire", "release", TXN), f"{DOCS}/{INTERNALS}"),
        Promise("requests of one session take effect in order; a read here first writes to a dummy znode in the same "
                "session, so it sees every write acknowledged before it began", ("read", "list"), GUARANTEES),
        Promise("a session sees its own writes and never goes back", ("peek",), GUARANTEES),
        Promise("acknowledged writes survive as long as a majority of disks does, and eventually reach every server",
                source=BROADCAST, checks=("elements",)),
        Promise("all servers apply the same transactions in the same order, so their trees are the same",
                source=BROADCAST, checks=("node-logs", "replicas-agree"), kinds=("log-alarm", "replicas-differ")),
        Promise("only one leader uses an epoch", source=BROADCAST, checks=("election-safety",)),
        Promise("a server follows no leader of an earlier epoch", source=ACTIVATION, checks=("terms-kept",)),
        Promise("every server eventually delivers a transaction that one server delivered; ZooKeeper does not promise "
                "how soon, so this harness sets a limit", source=BROADCAST, checks=("recovery",)),
    ),
    alarms=(
        # A server that receives a snapshot reapplies transactions that the snapshot may contain.  Until it is done, its
        # tree may differ.
        Alarm(pattern="First digest mismatch on txn", follows="violation", unless="[QuorumPeer[",
              meaning="the node's tree differs from the leader's, and either may be wrong"),
        Alarm(pattern="Unable to load database on disk", meaning="its server did not start", follows="note"),
        OUT_OF_MEMORY,
    ),
    may_refuse=frozenset({"data", "snapshot", "term"}),
)  # fmt: skip
