"""RocketMQ's frames: what is sent, what is made of an answer, what a lost connection proves."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from harness.clients.wire import LostError, NotSentError
from harness.systems.remoting import Connection, frame, parse
from tests.support.harness.controller_socket import HANG_UP, SILENCE, ControllerSocket, answer, listening, packed


def test_what_is_in_a_header_travels_as_text() -> None:
    sent = frame(1002, None, 3, {"brokerId": 1, "designateElect": True, "name": "b"})
    header = (
        b'{"code":1002,"extFields":{"brokerId":"1","designateElect":"true","name":"b"},"flag":0,"language":"PYTHON",'
        b'"opaque":3,"serializeTypeCurrentRPC":"JSON","version":0}'
    )
    assert sent == struct.pack(">II", 4 + len(header), len(header)) + header


def test_an_answer() -> None:
    found = parse(packed(answer(7, {"a": "1"}, '{"b":2}', "words"), 5)[4:])
    assert (found.code, found.ext, found.json(), found.remark, found.opaque) == (7, {"a": "1"}, {"b": 2}, "words", 5)


@pytest.mark.parametrize(
    "rest", [b"", b"\0\0\0\2{}", b"\0\0\0\2[]", b'\0\0\0\x0a{"code":""', b"\0\0\0\1{", b"\0\0\0\1\xff"]
)
def test_a_malformed_answer(rest: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(rest)


def talk(server: Any, words: Callable[[Connection], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with listening(server) as address:
            connection = Connection(address)
            try:
                return await words(connection)
            finally:
                connection.close()

    return asyncio.run(run())


def test_requests_share_a_connection_until_one_is_lost() -> None:
    controller = ControllerSocket({1: [answer(0), SILENCE, answer(5)], 2: [HANG_UP]})

    async def words(connection: Connection) -> list[int]:
        first = await connection.ask(1, timeout=1.0)
        with pytest.raises(LostError, match="no answer within"):
            await connection.ask(1, timeout=0.05)
        with pytest.raises(LostError, match="connection lost"):
            await connection.ask(2, timeout=1.0)
        return [first.code, (await connection.ask(1, timeout=1.0)).code]

    assert talk(controller.serve, words) == [0, 5]
    assert controller.connections == 3


def test_an_answer_to_something_else_is_passed_over() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(packed(answer(3), 99) + packed(answer(4), 1))
        await reader.read(1000)

    async def words(connection: Connection) -> int:
        return (await connection.ask(1, timeout=1.0)).code

    assert talk(serve, words) == 4


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", b"\0\0\0\x08\0\0\0\4nope"])
def test_garbage_proves_nothing(data: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(data)
        await reader.read(1000)

    async def words(connection: Connection) -> None:
        with pytest.raises(LostError):
            await connection.ask(1, timeout=1.0)

    talk(serve, words)


def test_no_server_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = taken.getsockname()
    with pytest.raises(NotSentError):
        asyncio.run(Connection(address).ask(1, timeout=1.0))
