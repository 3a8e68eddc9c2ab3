"""The library's own wire protocol: the bytes of a request, and what is made of an answer."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from harness.systems.dledger.remoting import metadata, transfer_leadership
from harness.systems.remoting import Address, frame

Answer = Callable[[bytes], Address]


def test_the_bytes_of_a_request() -> None:
    header = b'{"code":50000,"flag":0,"language":"PYTHON","opaque":7,"serializeTypeCurrentRPC":"JSON","version":0}'
    body = b'{"group":"harness","remoteId":"n1"}'
    whole = frame(50000, {"group": "harness", "remoteId": "n1"}, opaque=7)
    assert whole == struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body


def answered(body: bytes, header: bytes = b'{"code":200,"flag":1,"opaque":1}') -> bytes:
    return struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body


@pytest.fixture
def answer() -> Iterator[Answer]:
    """A server that reads one request, sends these bytes, a few at a time, and closes."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(data: bytes) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            for at in range(0, len(data), 7):
                connection.sendall(data[at : at + 7])

    def begin(data: bytes) -> Address:
        threads.append(threading.Thread(target=serve, args=(data,)))
        threads[-1].start()
        host, port = listener.getsockname()
        return host, port

    yield begin
    for thread in threads:
        thread.join()
    listener.close()


def test_metadata(answer: Answer) -> None:
    body = {"code": 200, "leaderId": "n2", "peers": {"n1": "10.0.0.1:20911"}}
    assert metadata(answer(answered(json.dumps(body).encode())), "n1") == body


def test_a_transfer_that_is_taken(answer: Answer) -> None:
    transfer_leadership(answer(answered(b'{"code":200,"term":3}')), "n1", "n2", 3)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (answered(b'{"code":404}'), ValueError, "refused with code 404"),
        (answered(b"", b'{"code":1,"remark":"it broke"}'), ValueError, "code 1: it broke"),
        (answered(b"{")[:-1], OSError, "closed without an answer"),
        (struct.pack(">I", 1 << 30), ValueError, "a frame of 1073741824 bytes; expected"),
        (b"", OSError, "closed without an answer"),
    ],
)
def test_a_transfer_that_is_not(answer: Answer, data: bytes, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        transfer_leadership(answer(data), "n1", "n2", 3)


def test_no_server_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address: Address = taken.getsockname()
    with pytest.raises(ConnectionRefusedError):
        transfer_leadership(address, "n1", "n2", 3)


def test_a_leader_that_steps_down_may_owe_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr("harness.systems.dledger.remoting.ask", silent)
    transfer_leadership(("127.0.0.1", 1), "n1", "n2", 3)
