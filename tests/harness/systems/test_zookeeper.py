"""ZooKeeper: which answer proves what, what is sent, what its servers are given, what they say."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("kazoo", reason="needs the extra zookeeper")

from kazoo.exceptions import (
    BadVersionError,
    ConnectionClosedError,
    ConnectionLoss,
    NodeExistsError,
    NoNodeError,
    OperationTimeoutError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
)

from harness.generators import Completion, Stream, simulate
from harness.judge.recorded import log_hits
from harness.systems import Machine, Setup
from harness.systems import zookeeper as zk
from harness.systems.api import Scale
from harness.systems.artifacts import MavenJars
from harness.systems.law import LOST, NOT_SENT, Outcome
from harness.systems.zookeeper_server import PORT, SLF4J
from harness.workloads import Invocation
from history.node_logs import seconds_of
from history.recording import Recording

NODES = tuple(Machine(f"n{number}", f"10.0.0.{number}") for number in (1, 2, 3))
SETUP = Setup(version="3.9.4", options={"peeks": "plain", "commit_log": 500}, nodes=NODES, client_timeout=0.3)
SILENCE = object()


class Asked:
    """A request of kazoo: answered at once, or never."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def rawlink(self, tell: Any) -> None:
        if self._answer is not SILENCE:
            tell(self)

    def get(self, *, block: bool) -> Any:
        assert not block
        if isinstance(self._answer, type):
            raise self._answer
        return self._answer


class Kazoo:
    """Answers requests in their order, and remembers them."""

    def __init__(self, answers: Sequence[Any] = (), *, connected: bool = True) -> None:
        self.answers = list(answers)
        self.connected = connected
        self.client_id: Any = (1, b"") if connected else None
        self.sent: list[tuple[Any, ...]] = []
        self.ended = False

    def start_async(self) -> None: ...

    def stop(self) -> None:
        self.ended = True

    def close(self) -> None: ...

    def transaction(self) -> Changes:
        return Changes(self)

    def __getattr__(self, name: str) -> Any:
        def ask(*arguments: Any, **_more: Any) -> Asked:
            self.sent.append((name, *arguments))
            return Asked(self.answers.pop(0))

        return ask


class Changes:
    """A multi: what it checks and sets is sent when it is committed."""

    def __init__(self, zk: Kazoo) -> None:
        self._zk, self._parts = zk, list[tuple[Any, ...]]()

    def check(self, path: str, version: int) -> None:
        self._parts.append(("check", path, version))

    def set_data(self, path: str, data: bytes) -> None:
        self._parts.append(("set", path, data))

    def commit_async(self) -> Asked:
        self._zk.sent.append(("commit", *self._parts))
        return Asked(self._zk.answers.pop(0))


@pytest.fixture
def perform(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Perform operations one after the other on a client whose sessions are these."""

    def scene(sessions: Sequence[Kazoo], *invocations: Invocation, peeks: str = "plain") -> list[Outcome]:
        waiting = list(sessions)
        monkeypatch.setattr(zk, "session", lambda _addresses: waiting.pop(0))
        setup = Setup(version="3.9.4", options={"peeks": peeks, "commit_log": 500}, nodes=NODES, client_timeout=0.3)

        async def run() -> list[Outcome]:
            (client,) = zk.SYSTEM.clients(setup, 1)
            await client.open()
            return [await client.perform(invocation) for invocation in invocations]

        return asyncio.run(run())

    return scene


def znode(data: bytes, version: int = 3) -> tuple[bytes, SimpleNamespace]:
    return data, SimpleNamespace(version=version)


#: The answer to a set.
SET = SimpleNamespace(version=4)
ADD, WRITE, CAS = Invocation("add", "set", 5), Invocation("write", "k0", 5), Invocation("cas", "k0", [4, 5])
READ, LIST, PEEK = Invocation("read", "k0"), Invocation("list", "sequence"), Invocation("peek", "k0")
FIRST = Invocation("cas", "k0", [None, 5])
ACQUIRE, RELEASE = Invocation("acquire", "lock-0"), Invocation("release", "lock-0", 4)


# -- transactions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "answers", "sent", "done"),
    [
        ([["r", 1, None], ["w", 2, 5]], [znode(b"4", 7), znode(b"3", 1), [True, SET]],
         [("check", "/harness/1", 7), ("set", "/harness/2", b"5")], [["r", 1, 4], ["w", 2, 5]]),
        ([["w", 1, 5], ["r", 1, None], ["w", 1, 6]], [znode(b"4", 7), [SET]],
         [("set", "/harness/1", b"6")], [["w", 1, 5], ["r", 1, 5], ["w", 1, 6]]),
        ([["r", 1, None], ["w", 1, 5], ["r", 1, None]], [znode(b"4", 7), [True, SET]],
         [("check", "/harness/1", 7), ("set", "/harness/1", b"5")], [["r", 1, 4], ["w", 1, 5], ["r", 1, 5]]),
        ([["r", 1, None]], [NoNodeError, "/harness/1", [True]], [("check", "/harness/1", 0)], [["r", 1, None]]),
        ([["r", 1, None]], [NoNodeError, NodeExistsError, [True]], [("check", "/harness/1", 0)], [["r", 1, None]]),
    ],
)  # fmt: skip
def test_a_transaction_checks_what_it_read_and_sets_what_it_wrote(
    perform: Any, steps: Any, answers: Any, sent: Any, done: Any
) -> None:
    zk_session = Kazoo(answers)
    (outcome,) = perform([zk_session], Invocation("txn", None, steps))
    assert (outcome.type, outcome.value) == ("ok", done)
    assert zk_session.sent[-1] == ("commit", *sent)


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        ([RolledBackError(), BadVersionError(), RuntimeInconsistency()], "fail"),
        (ConnectionLoss, "info"),
        (SILENCE, "info"),
    ],
)
def test_a_transaction_failed_only_if_a_server_says_so(perform: Any, last: Any, outcome: str) -> None:
    steps = [["r", 1, None], ["r", 2, None], ["w", 3, 5]]
    sessions = [Kazoo([znode(b"4"), znode(b"4"), znode(b"4"), last]), Kazoo()]
    assert perform(sessions, Invocation("txn", None, steps))[0].type == outcome


# -- the law, row by row -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "invocation", "answers", "outcome"),
    [
        ("answered", ADD, ["/harness/set/5"], ("ok", 5)),
        ("answered", Invocation("append", "sequence", 7), ["/harness/sequence/7-0000000012"], ("ok", 12)),
        ("answered", WRITE, [None], ("ok", 5)),
        ("answered", WRITE, [NoNodeError, None], ("ok", 5)),
        ("answered", WRITE, [NoNodeError, NodeExistsError, None], ("ok", 5)),
        ("answered", CAS, [znode(b"4"), SET], ("ok", [4, 5])),
        ("answered", FIRST, [NoNodeError, None], ("ok", [None, 5])),
        ("answered", READ, [None, znode(b"4")], ("ok", 4)),
        ("answered", READ, [None, NoNodeError], ("ok", None)),
        ("answered", Invocation("read", "set"), [None, ["10", "9"]], ("ok", [9, 10])),
        ("answered", LIST, [None, ["9-0000000001", "11-0000000000"]], ("ok", [11, 9])),
        ("answered", PEEK, [znode(b"4", 2)], ("ok", [4, 2])),
        ("answered", PEEK, [NoNodeError], ("ok", None)),
        ("answered", ACQUIRE, [None, NoNodeError, "/harness/lock-0"], ("ok", ["acquired", 0])),
        ("answered", ACQUIRE, [None, znode(b"null", 3), SET], ("ok", ["acquired", 4])),
        ("answered", ACQUIRE, [None, znode(b"2", 2)], ("ok", ["held", 2])),
        ("answered", RELEASE, [None], ("ok", ["released", 4])),
        ("answered", RELEASE, [BadVersionError, None, znode(b"6", 6)], ("ok", ["held", 6])),
        ("answered", RELEASE, [BadVersionError, None, znode(b"null", 7)], ("ok", ["free", None])),
        ("answered", RELEASE, [NoNodeError, None, NoNodeError], ("ok", ["free", None])),  # which the model judges
        ("answered", Invocation("read", "lock-0"), [None, znode(b"4", 4)], ("ok", 4)),
        ("no-node", ADD, [NoNodeError], ("fail", 5)),
        ("other-version", CAS, [znode(b"3")], ("fail", [4, 5])),
        ("other-version", CAS, [znode(b"4"), BadVersionError], ("fail", [4, 5])),
        ("other-version", CAS, [NoNodeError], ("fail", [4, 5])),
        ("other-version", FIRST, [NoNodeError, NodeExistsError], ("fail", [None, 5])),
        ("other-version", ACQUIRE, [None, NoNodeError, NodeExistsError], ("fail", None)),
        ("other-version", ACQUIRE, [None, znode(b"null", 3), BadVersionError], ("fail", None)),
        ("error", ADD, [NodeExistsError], ("info", 5)),
        ("error", ADD, [OperationTimeoutError], ("info", 5)),
        ("error", READ, [OperationTimeoutError, znode(b"4")], ("fail", None)),
        ("error", PEEK, [OperationTimeoutError], ("fail", None)),
        ("error", LIST, [OperationTimeoutError, []], ("fail", None)),
        (LOST, ADD, [SILENCE], ("info", 5)),
        (LOST, WRITE, [ConnectionLoss], ("info", 5)),
        (LOST, WRITE, [NoNodeError, SILENCE], ("info", 5)),
        (LOST, CAS, [znode(b"4"), SessionExpiredError], ("info", [4, 5])),
        (LOST, ADD, [ConnectionClosedError], ("info", 5)),
        (LOST, ACQUIRE, [None, znode(b"null", 3), SILENCE], ("info", None)),
        (LOST, ACQUIRE, [None, NoNodeError, ConnectionLoss], ("info", None)),
        (LOST, RELEASE, [SILENCE], ("info", 4)),
        (LOST, RELEASE, [BadVersionError, None, ConnectionLoss], ("info", 4)),
        (LOST, READ, [None, SILENCE], ("fail", None)),
        (LOST, READ, [ConnectionLoss, ConnectionLoss], ("fail", None)),
    ],
)
def test_the_law(perform: Any, case: str, invocation: Invocation, answers: list[Any], outcome: tuple[str, Any]) -> None:
    kazoo = Kazoo(answers)
    (found,) = perform([kazoo], invocation)
    assert (found.type, found.value, found.node) == (*outcome, "n1")
    assert found.type == zk.LAW.type_of(case, invocation.f)
    assert not kazoo.answers, "everything was asked"


def test_what_has_no_connection_is_not_sent(perform: Any) -> None:
    kazoo = Kazoo(connected=False)
    (found,) = perform([kazoo], ADD)
    assert found.type == zk.LAW.type_of(NOT_SENT, "add") == "fail"
    assert not kazoo.sent


def test_a_session_that_owes_an_answer_is_given_up_and_the_next_one_is_reported(perform: Any) -> None:
    first, second = Kazoo([SILENCE]), Kazoo(["/harness/set/5"])
    second.client_id = (2, b"")
    lost, moved, added = perform([first, second], ADD, ADD, ADD)
    assert (lost.type, moved.type, added.type) == ("info", "fail", "ok")
    assert moved.error == "the session is a new one"
    assert second.sent == [("create_async", "/harness/set/5", b"")], "nothing was sent with the news"


class Late(Kazoo):
    """Another session comes to be after the first operation, and just after its id was asked for in vain."""

    ids: Any = None

    @property
    def client_id(self) -> Any:
        return next(self.ids)

    @client_id.setter
    def client_id(self, _: Any) -> None:
        self.ids = iter([(1, b""), None, (2, b""), (2, b"")])


def test_a_session_that_comes_to_be_while_it_is_looked_for_is_not_the_one_before(perform: Any) -> None:
    found = perform([Late([znode(b"4"), znode(b"4")])], *[PEEK] * 4)
    assert [one.type for one in found] == ["ok", "fail", "fail", "ok"]
    assert [one.error for one in found[1:3]] == [
        "ConnectionError no session with n1", "the session is a new one",
    ]  # fmt: skip


@pytest.mark.parametrize("data", [b"", b"{", b"\xff"])
def test_what_no_client_can_have_written_is_answered_and_ends_no_run(perform: Any, data: bytes) -> None:
    text = data.decode(errors="backslashreplace")
    found = perform([Kazoo([None, znode(data), znode(data), znode(data), None, znode(data)])], READ, PEEK, CAS, ACQUIRE)
    assert [(one.type, one.value) for one in found] == [
        ("ok", text), ("ok", [text, 3]), ("fail", [4, 5]), ("ok", ["held", text]),
    ]  # fmt: skip
    read, listed = Invocation("read", "set"), [None, ["x", "10", "9"]]
    assert perform([Kazoo(listed)], read)[0].value == [9, 10, "x"]
    assert perform([Kazoo([None, ["y-0000000001", "11-0000000000"]])], LIST)[0].value == [11, "y"]


def test_every_row_of_the_law_has_a_test() -> None:
    tested = {mark.args[1][number][0] for mark in test_the_law.pytestmark for number in range(len(mark.args[1]))}
    assert tested | {NOT_SENT, "new-session"} == set(zk.LAW.rules)


# -- what is sent ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("invocation", "peeks", "sent"),
    [
        (READ, "plain", [("set_async", "/harness/barrier", b""), ("get_async", "/harness/k0")]),
        (PEEK, "plain", [("get_async", "/harness/k0")]),
        (PEEK, "sync", [("sync_async", "/harness/k0"), ("get_async", "/harness/k0")]),
    ],
)
def test_what_comes_before_a_read(perform: Any, invocation: Invocation, peeks: str, sent: list[Any]) -> None:
    kazoo = Kazoo([*[None] * (len(sent) - 1), znode(b"4")])
    (found,) = perform([kazoo], invocation, peeks=peeks)
    assert found.type == "ok"
    assert kazoo.sent == sent


def test_a_compare_and_set_names_the_version_that_was_read(perform: Any) -> None:
    kazoo = Kazoo([znode(b"4", 8), SET])
    perform([kazoo], CAS)
    assert kazoo.sent[-1] == ("set_async", "/harness/k0", b"5", 8)


def test_a_lock_is_taken_and_given_back_by_its_version(perform: Any) -> None:
    """A set without one would take a lock that another has taken meanwhile, or end the next holder's."""
    kazoo = Kazoo([None, znode(b"null", 3), SET, SET])
    perform([kazoo], ACQUIRE, RELEASE)
    assert kazoo.sent == [
        ("set_async", "/harness/barrier", b""), ("get_async", "/harness/lock-0"),
        ("set_async", "/harness/lock-0", b"4", 3), ("set_async", "/harness/lock-0", b"null", 4),
    ]  # fmt: skip


def test_kazoo_repeats_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zk, "KazooClient", lambda *_addresses, **options: options)
    options: Any = zk.session("10.0.0.1:2181")
    assert options["command_retry"] == {"max_tries": 0}


# -- servers -----------------------------------------------------------------------------------------------------------


def test_every_server_knows_all_and_its_own_number() -> None:
    roles = zk.roles(SETUP)
    assert [role.files["zookeeper/myid"] for role in roles] == ["1\n", "2\n", "3\n"]
    config = roles[1].files["zoo.cfg"].splitlines()
    assert "server.3=10.0.0.3:2888:3888" in config
    assert "clientPortAddress=10.0.0.2" in config
    assert "4lw.commands.whitelist=srvr" in config
    assert "-Dzookeeper.commitLogCount=500" in roles[1].command


@pytest.mark.parametrize("version", zk.SYSTEM.versions)
def test_each_version_comes_with_the_logging_that_it_speaks(version: str) -> None:
    (jars,) = zk.SYSTEM.artifacts(Setup(version=version))
    assert isinstance(jars, MavenJars)
    assert f"org.slf4j:slf4j-simple:{SLF4J[version]}" in jars.coordinates
    assert f"org.apache.zookeeper:zookeeper:{version}" in jars.coordinates


BROADCAST = (
    "5401 [CommitProcessor:4] ERROR org.apache.zookeeper.server.DataTree - First digest mismatch on txn: 1,2,3,4,5"
)
SYNC = BROADCAST.replace("CommitProcessor:4", "QuorumPeer[myid=4](plain=10.0.0.4:2181)(secure=disabled)")


def test_a_digest_that_differs_while_a_snapshot_is_taken_in_proves_nothing(tmp_path: Path) -> None:
    for node, line in (("n1", BROADCAST), ("n2", SYNC), ("n3", BROADCAST.replace("CommitProcessor:4", "main"))):
        (tmp_path / "nodes" / node).mkdir(parents=True)
        (tmp_path / "nodes" / node / "server-console.log").write_text(line + "\n")
    hits = log_hits(Recording(tmp_path), ("n1", "n2", "n3"), zk.SYSTEM.alarms)
    assert {node: sum(found.values()) for node, found in hits.items()} == {"n1": 1, "n2": 0, "n3": 1}


SRVR = "Zookeeper version: 3.9.4\nLatency min/avg/max: 0/0.0/0\nZxid: 0x30000002a\nMode: {}\nNode count: 9\n"


@pytest.mark.parametrize(("mode", "role"), [("leader", "leader"), ("standalone", "leader"), ("follower", "follower")])
def test_the_epoch_is_the_upper_half_of_a_transaction(mode: str, role: str) -> None:
    index = (3 << 32) + 42
    assert zk.figures(SRVR.format(mode)) == {"role": role, "term": 3, "committed": index, "applied": index}


@pytest.mark.parametrize("text", ["This ZooKeeper instance is not currently serving requests\n", ""])
def test_a_server_that_does_not_serve_has_no_figures(text: str) -> None:
    with pytest.raises(ValueError, match=r"not currently serving|no answer"):
        zk.figures(text)


def test_a_leader_that_dies_before_its_first_transaction_does_not_go_back() -> None:
    """It restarts with the last transaction of the epoch before; the epoch itself is on its disk, and not reported."""
    reported = [
        f"Zxid: 0x{epoch}0000002a\nMode: {mode}\n" for epoch, mode in ((3, "follower"), (4, "leader"), (3, "follower"))
    ]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(4) == b"srvr"
        writer.write(reported.pop(0).encode())
        writer.close()

    async def run() -> list[Any]:
        async with await asyncio.start_server(serve, "127.0.0.1", PORT):
            prober = zk.Prober("127.0.0.1")
            return [(await prober.ask(5.0))["term"] for _ in range(3)]

    assert asyncio.run(run()) == [3, 4, 4]


# -- workloads ---------------------------------------------------------------------------------------------------------


def granted(invocation: Invocation, stream: Stream) -> tuple[Completion, Stream]:
    """Everything is done; no lock is ever found held."""
    words = {"acquire": ["acquired", 1], "release": ["released", 1]}
    return Completion(0.01, value=words.get(invocation.f, invocation.value)), stream


@pytest.mark.parametrize(
    "workload", [one for one in zk.SYSTEM.workloads if one.kinds != ("txn",)], ids=lambda workload: workload.name
)
def test_a_workload_issues_the_kinds_that_the_gates_ask_for(workload: Any) -> None:
    scale = Scale(keys=3, workers=5, setup=SETUP)
    issued = simulate(workload.generator(scale), workers=5, answers=granted, seed=1, most=500).issued
    final = workload.final(scale)
    assert {one.f for one in issued} == set(workload.kinds)
    assert {one.f for one in final} <= zk.LAW.reads - {"peek"}
    assert all(one.final for one in final)
    assert {one.key for one in issued} == {one.key for one in final}


def test_lines_of_its_log_have_dates_that_the_page_reads() -> None:
    """Without a format its logger writes milliseconds since the process began, which no page can place."""
    (role, *_) = zk.roles(Setup(version="3.9.4", options={"commit_log": 500}, nodes=(Machine("n1", "10.0.0.1"),)))
    form = next(word.partition("=")[2] for word in role.command if "simpleLogger.dateTimeFormat=" in word)
    assert form == "yyyy-MM-dd HH:mm:ss.SSSZ"
    written = "2026-03-01 02:00:07.500+0000 [main] ERROR QuorumPeer - Unable to load database on disk"
    assert seconds_of(written, "2026-03-01T02:00:00Z") == pytest.approx(7.5)
    assert seconds_of("10229 [main] ERROR QuorumPeer - Unable to load", "2026-03-01T02:00:00Z") is None
