"""ZooKeeper's client with the real kazoo, against a server in a socket that answers as each test says."""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import pytest

pytest.importorskip("kazoo", reason="needs the extra zookeeper")

from harness.systems import Machine, Setup
from harness.systems import zookeeper as zk
from harness.systems.law import Outcome
from harness.workloads import Invocation
from history.records.operations import NEW_SESSION
from tests.support.harness.controller_socket import listening

#: A number that is not the request's ends kazoo's thread.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")

ADDRESS: Final = "127.0.79.1"
OPTIONS: Final[dict[str, Any]] = {"peeks": "plain", "commit_log": 500}
SETUP: Final = Setup(version="3.9.4", options=OPTIONS, nodes=(Machine("n1", ADDRESS),), client_timeout=5.0)
GET, SET = 4, 5
#: What a get answers: one byte, and the figures of a znode of version 7.
FIVE: Final = struct.pack(">i", 1) + b"5" + struct.pack(">qqqqiiiqiiq", 1, 1, 0, 0, 7, 0, 0, 0, 1, 0, 1)

#: The reply to the request with this number (counted from 1) in its connection: the number and body in it, None: none.
Reply = Callable[[int, int], tuple[int, bytes] | None]


class Server:
    """Makes a session of each connection, and remembers the kinds of what it was asked in each."""

    def __init__(self, replies: Iterator[Reply]) -> None:
        self._replies = replies
        self.asked: list[list[int]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await _frame(reader)
            asked: list[int] = []
            self.asked.append(asked)
            reply = next(self._replies)
            _send(writer, struct.pack(">iiqi16sB", 0, 6000, len(self.asked), 16, b"\1" * 16, 0))
            while True:
                number, kind = struct.unpack(">ii", (await _frame(reader))[:8])
                if number > 0:
                    asked.append(kind)
                    if (answer := reply(number, kind)) is not None:
                        _send(writer, struct.pack(">iqi", answer[0], 1, 0) + answer[1])


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(length)


def _send(writer: asyncio.StreamWriter, body: bytes) -> None:
    writer.write(struct.pack(">i", len(body)) + body)


def right(number: int, _kind: int) -> tuple[int, bytes]:
    return number, FIVE


def outcomes(monkeypatch: pytest.MonkeyPatch, first: Reply, *invocations: Invocation) -> tuple[list[Outcome], Server]:
    """What these end with, one after the other; all sessions but the first are answered rightly."""

    async def run() -> tuple[list[Outcome], Server]:
        server = Server(iter((first, *[right] * 9)))
        async with listening(server.serve, ADDRESS) as (_, port):
            monkeypatch.setattr(zk, "PORT", port)
            (client,) = zk.SYSTEM.clients(SETUP, 1)
            try:
                return [await client.perform(one) for one in invocations], server
            finally:
                await client.close()

    before = set(threading.enumerate())
    try:
        return asyncio.run(run())
    finally:
        for thread in set(threading.enumerate()) - before:  # else one might end with its error in another test
            thread.join(30.0)


PEEK, CAS = Invocation("peek", "k0"), Invocation("cas", "k0", [5, 6])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda number, _: (number + 1, FIVE),
        lambda number, _: (number, FIVE[:9]),
    ],
    ids=["the number of another request", "half of it"],
)
def test_an_answer_that_kazoo_cannot_take_is_none_and_its_session_is_given_up(
    monkeypatch: pytest.MonkeyPatch, wrong: Reply
) -> None:
    found, _ = outcomes(monkeypatch, wrong, PEEK, PEEK, PEEK)
    assert [one.type for one in found] == ["fail", "fail", "ok"]
    assert found[1].error == NEW_SESSION
    assert found[2].value == [5, 7]


def test_a_change_whose_answer_kazoo_cannot_take_is_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(number: int, kind: int) -> tuple[int, bytes]:
        return (number, FIVE) if kind == GET else (number + 1, b"")

    (found,), server = outcomes(monkeypatch, wrong, CAS)
    assert (found.type, found.value) == ("info", [5, 6])
    assert "unreadable answer" in str(found.error)
    assert server.asked == [[GET, SET]], "it was not sent again"
