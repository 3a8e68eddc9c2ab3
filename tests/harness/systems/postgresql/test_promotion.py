"""The promotion of a standby, and how a client finds the primary, against fake servers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest

pytest.importorskip("psycopg", reason="needs the extra postgresql")

from harness.systems import Machine, Setup
from harness.systems.postgresql import SYSTEM, promotion, server
from harness.systems.postgresql.client import Client
from harness.systems.postgresql.promotion import promote
from nemesis.core.ports import StartError

NODES = tuple(Machine(f"n{i}", f"127.0.95.{i}") for i in (1, 2, 3))
_SSL, _GSS = 80877103, 80877104
#: A type as the protocol numbers it, and its text: int8, bool, numeric.
BOOL, INT8, NUMERIC = 16, 20, 1700


def setup_of(timeout: float = 4.0) -> Setup:
    options = {option.name: option.default for option in SYSTEM.options} | {"standbys": 2}
    return Setup(version="15", options=options, nodes=NODES, workload="list-append", client_timeout=timeout)


@dataclass
class Fake:
    """A standby whose log ends at ``end``.  ``mute`` is part of a statement that it never answers."""

    end: int
    mute: str = "nothing"
    welcomes: bool = True
    leads: bool = False
    obeys: bool = True
    asked: list[str] = field(default_factory=list)
    came: int = 0

    def say(self, query: str) -> tuple[int, str] | None:
        if "pg_is_in_recovery" in query:
            return BOOL, "f" if self.leads else "t"
        if "count(*)" in query:
            return INT8, "0"
        if "pg_last_wal_receive_lsn" in query:
            return NUMERIC, str(self.end)
        if "pg_promote" in query:
            self.leads = self.obeys
            return BOOL, "t" if self.obeys else "f"
        return None if query.startswith("ALTER") else (BOOL, "t")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.came += 1
        try:
            while int.from_bytes((await _body(reader))[:4], "big") in (_SSL, _GSS):
                writer.write(b"N")
            if self.welcomes:
                standby = b"off" if self.leads else b"on"
                told = {b"server_version": b"15.0", b"client_encoding": b"UTF8", b"in_hot_standby": standby,
                        b"default_transaction_read_only": b"off", b"standard_conforming_strings": b"on"}  # fmt: skip
                writer.write(_message(b"R", bytes(4)))
                writer.writelines(_message(b"S", name + b"\0" + value + b"\0") for name, value in told.items())
                writer.write(_message(b"Z", b"I"))
            while (kind := await reader.readexactly(1)) != b"X":
                query = (await _body(reader)).rstrip(b"\0").decode()
                assert kind == b"Q"
                self.asked.append(query)
                if not self.welcomes or self.mute in query:
                    await reader.read(-1)
                    break
                writer.write(_answer(self.say(query)))
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


async def _body(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big") - 4)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def _answer(value: tuple[int, str] | None) -> bytes:
    if value is None:
        return _message(b"C", b"OK\0") + _message(b"Z", b"I")
    type_, text = value
    column = b"v\0" + bytes(6) + type_.to_bytes(4, "big") + b"\xff\xff\xff\xff\xff\xff" + bytes(2)
    row = b"\0\1" + len(text).to_bytes(4, "big") + text.encode()
    parts = ((b"T", b"\0\1" + column), (b"D", row), (b"C", b"SELECT 1\0"), (b"Z", b"I"))
    return b"".join(_message(kind, body) for kind, body in parts)


@asynccontextmanager
async def standing(fakes: dict[str, Fake]) -> AsyncIterator[None]:
    """Let the servers listen, all at one port that was free."""
    async with AsyncExitStack() as stack:
        port = 0
        for node in NODES:
            if node.name in fakes:
                one = await asyncio.start_server(fakes[node.name].serve, node.address, port)
                port = (await stack.enter_async_context(one)).sockets[0].getsockname()[1]
        server.PORT = port  # type: ignore[misc]
        try:
            yield
        finally:
            # A connection that was closed at once is accepted and closed here, too.
            for _ in range(3):
                await asyncio.sleep(0.02)
                if serving := asyncio.all_tasks() - {asyncio.current_task()}:
                    await asyncio.wait(serving, timeout=0.2)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PORT", 0)
    monkeypatch.setattr(promotion, "_ANSWER_S", 1.0)
    monkeypatch.setattr(server, "_ANSWER_S", 1.0)
    monkeypatch.setattr(promotion, "_PROMOTE_S", 0)


def promoted(fakes: dict[str, Fake], work: Callable[[], str] = lambda: promote(setup_of(), "n1")) -> str:
    async def go() -> str:
        async with standing(fakes):
            return await asyncio.to_thread(work)

    return asyncio.run(go())


def test_the_standby_with_the_longest_log_is_promoted_when_none_receives_any_more() -> None:
    fakes = {"n2": Fake(400), "n3": Fake(500)}
    assert promoted(fakes) == "n3"
    assert [one.leads for one in fakes.values()] == [False, True]
    for one in fakes.values():
        said = [query for query in one.asked if query.startswith("ALTER")]
        assert said[0].endswith("''")
        assert all(node.address in said[-1] for node in NODES)
    assert promoted(fakes) == "n3", "it leads already"
    assert sum("pg_promote" in query for one in fakes.values() for query in one.asked) == 1


@pytest.mark.parametrize("mute", ["pg_is_in_recovery", "ALTER", "count(*)", "pg_last_wal_receive_lsn", "pg_promote"])
def test_a_standby_that_falls_silent_at_any_statement_ends_the_promotion_by_name(mute: str) -> None:
    began = time.monotonic()
    with pytest.raises(StartError, match="n3: it did not answer a statement within"):
        promoted({"n2": Fake(400), "n3": Fake(500, mute=mute)})
    assert time.monotonic() - began < 30


def test_a_standby_that_is_not_there_ends_the_promotion_by_name() -> None:
    with pytest.raises(StartError, match="n2: connection failed"):
        promoted({"n3": Fake(500)})


@pytest.mark.parametrize("error", [TimeoutError, OSError(113, "No route to host")])
def test_a_standby_out_of_reach_is_not_the_systems_failure(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    async def open_connection(*_: object) -> None:
        raise error

    monkeypatch.setattr(promotion, "reach", open_connection)
    with pytest.raises(OSError, match="n3: it did not answer"):
        promoted({"n2": Fake(400), "n3": Fake(500, mute="pg_is_in_recovery")})


def test_a_standby_that_refuses_to_lead_is_the_systems_failure() -> None:
    fakes = {"n2": Fake(400), "n3": Fake(500, obeys=False)}
    with pytest.raises(StartError) as caught:
        promoted(fakes)
    assert set(caught.value.reasons) == {"n3"}
    assert not any(one.leads for one in fakes.values())


@pytest.mark.parametrize("paused", [(), ("n1",), ("n1", "n3")])
def test_clients_reach_the_new_primary_whoever_hangs(paused: tuple[str, ...]) -> None:
    """A paused server accepts connections and says nothing.  Even a short client timeout must not hide the primary."""
    fakes = {node.name: Fake(400, welcomes=node.name not in paused, leads=node.name == "n2") for node in NODES}

    async def go() -> list[bool]:
        connected = []
        async with standing(fakes):
            client = Client(NODES[0], setup_of(1.0), "repeatable-read")
            for _ in NODES:
                await client.open()
                connected.append(client._connection is not None)
            await client.close()
        return connected

    assert asyncio.run(go()) == [not paused, True, True]
    assert fakes["n2"].came == 1


def test_clients_find_no_primary_where_none_leads() -> None:
    fakes = {node.name: Fake(400, welcomes=node.name != "n1") for node in NODES}

    async def go() -> bool:
        async with standing(fakes):
            client = Client(NODES[0], setup_of(1.0), "repeatable-read")
            for _ in NODES:
                await client.open()
        return client._connection is None

    assert asyncio.run(go())


@pytest.mark.parametrize("mute", ["nothing", "CREATE TABLE", "SELECT FROM elements"])
@pytest.mark.parametrize("who", ["n1", "n2"])
def test_nobody_leads_while_a_server_that_must_answer_is_silent(mute: str, who: str) -> None:
    """A standby is asked for the last table only."""
    fakes = {node.name: Fake(400, leads=node.name == "n1", mute=mute if node.name == who else "nothing")
             for node in NODES}  # fmt: skip
    silent = mute in {"n1": ("CREATE TABLE", "SELECT FROM elements"), "n2": ("SELECT FROM elements",)}[who]
    began = time.monotonic()
    found = promoted(fakes, lambda: server.leads(setup_of()) or "nobody")
    assert found == ("nobody" if silent else "n1")
    assert time.monotonic() - began < 30
