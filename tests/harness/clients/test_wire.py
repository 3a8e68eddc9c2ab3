"""The wire against a real server on loopback: what counts as never sent, and what as lost."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Awaitable, Callable

import pytest

from harness.clients.wire import LostError, NotSentError, Wire
from tests.support.harness.toy_server import Request, Script, ToyServer, closed_port, send, serving

PATIENCE_S = 0.08


async def echo(request: Request, writer: asyncio.StreamWriter) -> None:
    send(writer, {**request, "ok": True})


async def silence(request: Request, writer: asyncio.StreamWriter) -> None:
    pass


async def hang_up(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def reset(request: Request, writer: asyncio.StreamWriter) -> None:
    raw: socket.socket = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def against(script: Script, talk: Callable[[Wire, ToyServer], Awaitable[None]]) -> None:
    async def scene() -> None:
        async with serving(script) as toy:
            wire = Wire(toy.host, toy.port)
            try:
                await talk(wire, toy)
            finally:
                wire.close()

    asyncio.run(scene())


def test_requests_share_a_connection_and_have_numbers() -> None:
    async def talk(wire: Wire, toy: ToyServer) -> None:
        assert await wire.ask({"op": "status"}, 1.0) == {"id": 1, "op": "status", "ok": True}
        assert (await wire.ask({"op": "read", "key": "k"}, 1.0))["id"] == 2
        assert toy.connections == 1

    against(echo, talk)


def test_a_refused_connection_is_not_sent() -> None:
    with pytest.raises(NotSentError, match="no connection: "):
        asyncio.run(Wire("127.0.0.1", closed_port()).ask({"op": "read"}, 1.0))


def test_a_connection_that_is_never_accepted_is_not_sent() -> None:
    async def scene(port: int) -> None:
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:  # the queue of a listener that accepts no connection is full after these
            filler.settimeout(0)
            filler.connect_ex(("127.0.0.1", port))
        try:
            with pytest.raises(NotSentError, match="no connection within"):
                await Wire("127.0.0.1", port).ask({"op": "read"}, PATIENCE_S)
        finally:
            for filler in fillers:
                filler.close()

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        asyncio.run(scene(listener.getsockname()[1]))


@pytest.mark.parametrize("script", [hang_up, reset])
def test_a_connection_closed_after_the_request_is_lost(script: Script) -> None:
    async def talk(wire: Wire, toy: ToyServer) -> None:
        with pytest.raises(LostError, match="connection lost"):
            await wire.ask({"op": "write"}, 1.0)
        assert len(toy.requests) == 1

    against(script, talk)


def test_no_answer_in_time_is_lost() -> None:
    async def talk(wire: Wire, toy: ToyServer) -> None:
        began = time.monotonic()
        with pytest.raises(LostError, match=r"no answer within 0\.08 s"):
            await wire.ask({"op": "write"}, PATIENCE_S)
        assert PATIENCE_S * 0.9 <= time.monotonic() - began < 10

    against(silence, talk)


def test_after_a_loss_the_next_request_gets_a_connection_of_its_own() -> None:
    """Otherwise the late answer to the lost request would be waiting there for the next request."""

    async def first_is_lost(request: Request, writer: asyncio.StreamWriter) -> None:
        if request["op"] != "lost":
            send(writer, {"id": request["id"], "ok": True})

    async def talk(wire: Wire, toy: ToyServer) -> None:
        with pytest.raises(LostError):
            await wire.ask({"op": "lost"}, PATIENCE_S)
        assert (await wire.ask({"op": "read"}, 1.0))["ok"] is True
        assert toy.connections == 2

    against(first_is_lost, talk)


def test_answers_out_of_order_and_to_others_are_passed_over() -> None:
    async def shuffled(request: Request, writer: asyncio.StreamWriter) -> None:
        number = request["id"]
        send(writer, {"id": number + 1, "ok": False}, {"ok": False}, {"id": str(number)}, 5, None, [number])
        send(writer, {"id": number, "ok": True})

    async def talk(wire: Wire, toy: ToyServer) -> None:
        for number in (1, 2):
            assert await wire.ask({"op": "read"}, 1.0) == {"id": number, "ok": True}

    against(shuffled, talk)


@pytest.mark.parametrize(
    "garbage",
    [b"HTTP/1.1 400 Bad Request\r\n", b"\n", b"\xff\xfe\n", b"[" * 200_000 + b"\n", b"x" * (1 << 20) + b"xxx\n"],
    ids=["other protocol", "empty line", "no UTF-8", "too deep", "too long"],
)
def test_garbage_is_lost_and_never_an_answer(garbage: bytes) -> None:
    async def babble(request: Request, writer: asyncio.StreamWriter) -> None:
        send(writer, garbage)

    async def talk(wire: Wire, toy: ToyServer) -> None:
        with pytest.raises(LostError, match="connection lost"):
            await wire.ask({"op": "write"}, 1.0)

    against(babble, talk)


def test_half_an_answer_is_lost() -> None:
    async def half(request: Request, writer: asyncio.StreamWriter) -> None:
        send(writer, b'{"id":1,"ok":true}')
        writer.close()

    async def talk(wire: Wire, toy: ToyServer) -> None:
        with pytest.raises(LostError, match="closed by the server"):
            await wire.ask({"op": "write"}, 1.0)

    against(half, talk)


@pytest.mark.parametrize("ending", [hang_up, reset])
def test_a_connection_that_went_away_between_requests_costs_nothing(ending: Script) -> None:
    """Nothing was under way: the next request is not lost, it goes out on a new connection."""

    async def answer_then_end(request: Request, writer: asyncio.StreamWriter) -> None:
        send(writer, {"id": request["id"], "ok": True})
        await writer.drain()
        await asyncio.sleep(0.01)  # a reset overtakes what was not read yet
        await ending(request, writer)

    async def talk(wire: Wire, toy: ToyServer) -> None:
        for _ in range(2):
            assert (await wire.ask({"op": "write"}, 1.0))["ok"] is True
            async with asyncio.timeout(30):
                while not wire.ended:
                    await asyncio.sleep(0.005)
        assert toy.connections == 2

    against(answer_then_end, talk)


def test_a_cancelled_request_closes_its_connection() -> None:
    async def talk(wire: Wire, toy: ToyServer) -> None:
        asking = asyncio.create_task(wire.ask({"op": "write"}, 5.0))
        while not toy.requests:
            await asyncio.sleep(0.005)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert wire._streams is None

    against(silence, talk)


def test_closing_twice_and_without_a_connection_is_fine() -> None:
    wire = Wire("127.0.0.1", closed_port())
    wire.close()
    wire.close()
