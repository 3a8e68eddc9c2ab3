"""The blocking question to a server: one request, one answer, one deadline."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from harness.clients.wire import BlockingWire


@pytest.fixture
def answering() -> Iterator[Callable[[list[bytes]], BlockingWire]]:
    """A server that takes one connection, reads a line and sends the given pieces, 20 ms apart."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(pieces: list[bytes]) -> None:
        connection, _ = listener.accept()
        with connection:
            assert json.loads(connection.makefile().readline())["op"] == "status"
            for piece in pieces:
                try:
                    connection.sendall(piece)
                except OSError:
                    return
                time.sleep(0.02)

    def scene(pieces: list[bytes]) -> BlockingWire:
        threads.append(threading.Thread(target=serve, args=(pieces,)))
        threads[-1].start()
        return BlockingWire(*listener.getsockname())

    yield scene
    for thread in threads:
        thread.join()
    listener.close()


def test_an_answer_in_pieces(answering: Callable[[list[bytes]], BlockingWire]) -> None:
    assert answering([b'{"ok":', b"true}", b"\n"]).ask({"op": "status"}) == {"ok": True}


@pytest.mark.parametrize(
    ("pieces", "error"), [([b'{"ok":'], OSError), ([], OSError), ([b"what\n"], ValueError), ([b"[1]\n"], ValueError)]
)
def test_no_answer(
    answering: Callable[[list[bytes]], BlockingWire], pieces: list[bytes], error: type[Exception]
) -> None:
    with pytest.raises(error):
        answering(pieces).ask({"op": "status"})


def test_an_answer_that_drips_does_not_outlive_the_timeout(answering: Callable[[list[bytes]], BlockingWire]) -> None:
    began = time.monotonic()
    with pytest.raises(OSError, match="timed out"):
        answering([b"x"] * 1000).ask({"op": "status"}, timeout=0.1)
    assert time.monotonic() - began < 10
