"""``harness serve``: the site over a store, for this machine's own browser.

The server is read-only and accepts only GET and HEAD. It serves nothing outside the store: a path is split into names,
none of which may be empty, hidden or ``..``, and neither directories nor the file may be symbolic links.  Only names of
this machine are accepted as Host, so that a foreign page cannot reach the site through its own name (DNS rebinding).
Listening on an address other than the loopback one lifts that restriction.

A report may come from a stranger, so its script runs in a sandbox with an origin of its own.  It can neither read other
pages of this site nor open windows, and it cannot reach the window that opened it.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any, BinaryIO, Final
from urllib.parse import parse_qs
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from history.safe_open import open_below, regular_files
from reports.analysis import trends
from reports.load.run_row import RunRow
from reports.load.store_index import StoreIndex
from reports.site import site
from reports.site.live import LiveRun, Watch
from reports.site.subjects import subjects_of

HEADERS: Final = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-cache"),
)
#: A report's script may run, but it can make no requests, and the rest of this site has another origin.
REPORT_POLICY: Final = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FILE_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
SHOWN: Final = {".json": "application/json", ".xml": "application/xml", ".png": "image/png", ".svg": "image/svg+xml"}
TEXTS: Final = frozenset({".txt", ".log", ".jsonl", ".toml", ".edn", ".html", ".properties"})
CHUNK: Final = 1 << 16
#: Seconds within which a client must have sent its request, and must accept each chunk of the answer.
REQUEST_S: Final = 10.0
CHUNK_S: Final = 60.0
#: Limit of simultaneous connections, each with its own thread; further ones are closed at once.
MOST_CONNECTIONS: Final = 200
_RANGE: Final = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")

StartResponse = Callable[..., Any]
#: Returns what watches the run in a directory for violations while it is under way, or None.
MakeWatch = Callable[[Path], Watch | None]


class NotServedError(Exception):
    """The path names no file, or one that may not be served."""


class Site:
    """WSGI application over one store; ``hosts`` are the names that a request's Host may have (empty: any)."""

    def __init__(
        self,
        store: Path,
        hosts: Iterable[str] = ("127.0.0.1", "localhost", "[::1]"),
        watch: MakeWatch = lambda _root: None,
    ) -> None:
        self._index = StoreIndex(store)
        self._store = store
        self._hosts = frozenset(hosts)
        self._lock = threading.Lock()
        self._watch = watch
        self._live: tuple[str, LiveRun] | None = None

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _plain(start_response, "405 Method Not Allowed", "Only GET and HEAD.", [("Allow", "GET, HEAD")])
        if self._hosts and _host(environ.get("HTTP_HOST", "")) not in self._hosts:
            return _plain(start_response, "403 Forbidden", "This site answers to names of this machine only.")
        try:
            body = self._answer(environ, start_response)
        except (NotServedError, OSError, ValueError):
            body = _plain(start_response, "404 Not Found", "Nothing here.")
        if environ["REQUEST_METHOD"] == "HEAD":
            close = getattr(body, "close", None)
            if close is not None:
                close()
            return []
        return body

    def rows(self) -> list[RunRow]:
        with self._lock:
            return self._index.rows()

    def _answer(self, environ: Mapping[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        path, query = environ.get("PATH_INFO", "/"), environ.get("QUERY_STRING", "")
        names = names_of(path)
        if names in ([], ["index.html"]):
            return _page(start_response, site.list_page(self.rows()))
        if names == ["coverage.html"]:
            return _page(start_response, site.coverage_page(self.rows()))
        if names == ["trends.html"]:
            rows = self.rows()
            return _page(start_response, site.trends_page(rows, trends.trends_of(self._store, rows)))
        if names == ["compare.html"]:
            return _page(start_response, self._compare(query))
        if names == ["live.html"]:
            return _page(start_response, self._live_page())
        if names == ["subjects.html"]:
            return _page(start_response, site.subjects_page(self.rows()))
        if names[0] in ("system", "fault", "defect") and len(names) == 2:
            return _page(start_response, self._subject(*names))
        if names[0] == "nemesis" and len(names) == 2:
            return _page(start_response, self._nemesis(names[1]))
        if names[0] == "runs" and len(names) >= 3:
            # Answer If-Range with the whole file, which is always allowed.
            wanted = environ.get("HTTP_RANGE", "") if "HTTP_IF_RANGE" not in environ else ""
            return self._run(names[1:], path.endswith("/"), wanted, start_response)
        raise NotServedError(path)

    def _compare(self, query: str) -> str:
        """Render the comparison of the two runs in the query, by default the newest ones."""
        params = parse_qs(query, errors="surrogateescape", max_num_fields=8)
        wanted = {place for letter in ("a", "b") for place in params.get(letter, [])[:1]}
        rows = self.rows()
        chosen = [row for row in rows if row.place in wanted]
        if len(chosen) < len(wanted):
            raise NotServedError(query)
        others = [row for row in rows if row.place not in wanted]
        return site.compare_page(self._store, [*chosen, *others[: 2 - len(chosen)]], choices=rows)

    def _nemesis(self, name: str) -> str:
        rows = self.rows()
        for nemesis, members in site.by_nemesis(rows).items():
            if name == f"{site.slug(nemesis)}.html":
                return site.nemesis_page(members, trends.trends_of(self._store, rows), nemesis)
        raise NotServedError(name)

    def _live_page(self) -> str:
        """Render the newest run that is under way, and remember what was read of it."""
        rows = self.rows()
        row = next((row for row in rows if row.kind == "under way"), None)
        if row is None:
            return site.live_page(None, rows[0] if rows else None)
        with self._lock:
            if self._live is None or self._live[0] != row.place:
                root = self._store / row.test / row.run
                self._live = row.place, LiveRun(root, self._watch(root))
            live = self._live[1]
        return site.live_page(live.look(), None)

    def _subject(self, kind: str, name: str) -> str:
        for subject in subjects_of(self.rows()):
            if (subject.kind, f"{site.slug(subject.name)}.html") == (kind, name):
                return site.subject_page(subject)
        raise NotServedError(name)

    def _run(self, names: list[str], folder: bool, wanted: str, start_response: StartResponse) -> Iterable[bytes]:
        test, run, *inside = names
        row = next((row for row in self.rows() if (row.test, row.run) == (test, run)), None)
        if row is None:
            raise NotServedError(run)
        if not inside or inside == ["index.html"]:
            if not folder and not inside:
                start_response("302 Found", [("Location", site.href(row.place, "/") + "/"), *HEADERS])
                return []
            return _page(start_response, site.folder_page(row, regular_files(self._store / test / run), "../../../"))
        return _file(open_below(self._store, self._store.joinpath(*names)), inside, wanted, start_response)


def names_of(path: str) -> list[str]:
    """Split a request's path into names.  Raises NotServedError for anything that could lead elsewhere.

    WSGI passes the path as bytes that are already unquoted and decoded as Latin-1.
    """
    raw = path.encode("latin-1")
    if b"\0" in raw or b"\\" in raw:
        raise NotServedError(path)
    names = [name for name in os.fsdecode(raw).strip("/").split("/") if name] if raw.strip(b"/") else []
    if any(name.startswith(".") for name in names):
        raise NotServedError(path)
    return names


def _host(header: str) -> str:
    return header.rpartition(":")[0] if header.rpartition(":")[2].isdigit() and ":" in header else header


def _page(start_response: StartResponse, text: str) -> Iterable[bytes]:
    body = text.encode("utf-8", "replace")
    start_response(
        "200 OK", [("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(body))), *HEADERS]
    )
    return [body]


def _plain(
    start_response: StartResponse, status: str, text: str, more: Iterable[tuple[str, str]] = ()
) -> Iterable[bytes]:
    body = text.encode() + b"\n"
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body))), *more, *HEADERS]
    start_response(status, headers)
    return [body]


def _file(source: BinaryIO, inside: list[str], wanted: str, start_response: StartResponse) -> Iterable[bytes]:
    """Serve a file of a run: the report as a page, text and pictures inline, anything else as a download.

    ``wanted`` is the Range header.  A request for several ranges gets the whole file.
    """
    size = os.fstat(source.fileno()).st_size
    begin, end = range_of(wanted, size) or (0, size)
    if wanted and begin >= end:
        source.close()
        return _plain(
            start_response, "416 Range Not Satisfiable", "No such bytes.", [("Content-Range", f"bytes */{size}")]
        )
    suffix = Path(inside[-1]).suffix.lower()
    headers = [("Content-Length", str(end - begin)), ("Accept-Ranges", "bytes"), *HEADERS]
    if inside == ["report.html"]:
        headers += [("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", REPORT_POLICY)]
    elif suffix in TEXTS:
        headers.append(("Content-Type", "text/plain; charset=utf-8"))
    else:
        known = SHOWN.get(suffix)
        headers += [("Content-Type", known or "application/octet-stream"), ("Content-Security-Policy", FILE_POLICY)]
        if known is None:
            headers.append(("Content-Disposition", "attachment"))
    if (begin, end) == (0, size):
        start_response("200 OK", headers)
    else:
        start_response("206 Partial Content", [("Content-Range", f"bytes {begin}-{end - 1}/{size}"), *headers])
    source.seek(begin)
    return Chunks(source, end - begin)


def range_of(wanted: str, size: int) -> tuple[int, int] | None:
    """Return the start and end of the byte range that a header names; None to send the whole file."""
    match = _RANGE.fullmatch(wanted)
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        return max(size - int(last), 0), size
    end = min(int(last) + 1, size) if last else size
    return None if last and int(last) < int(first) else (int(first), end)


class Chunks:
    """Iterator over the next ``left`` bytes of a file; the server closes it."""

    def __init__(self, source: BinaryIO, left: int) -> None:
        self._source = source
        self._left = left

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self._source.read(min(CHUNK, self._left)):
            self._left -= len(chunk)
            yield chunk

    def close(self) -> None:
        self._source.close()


class _Server(ThreadingMixIn, WSGIServer):
    """Server that closes connections whose request is not complete in time, however slowly they keep sending."""

    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        #: Connections whose request has not been read yet, with their deadlines.
        self.due: dict[socket.socket, float] = {}
        self._open: set[socket.socket] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        if len(self._open) >= MOST_CONNECTIONS:
            self.shutdown_request(request)
            return
        request.settimeout(CHUNK_S)
        self._open.add(request)
        self.due[request] = time.monotonic() + REQUEST_S
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.due.pop(request, None)
        self._open.discard(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Close connections that take too long; called twice a second."""
        super().service_actions()
        for request, due in list(self.due.items()):
            if due < time.monotonic():
                with suppress(OSError):  # it closed meanwhile
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnected; report anything else, which is a bug."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Quiet(WSGIRequestHandler):
    def parse_request(self) -> bool:
        assert isinstance(self.server, _Server)
        read = super().parse_request()
        self.server.due.pop(self.connection, None)
        return read

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class's name)
        """Log nothing: the terminal belongs to the command."""


def make(store: Path, host: str = "127.0.0.1", port: int = 0, watch: MakeWatch = lambda _root: None) -> WSGIServer:
    """Create a server that listens but does not answer yet; call ``serve_forever``.  ``port`` 0 means any free port.

    Raises OSError if the address cannot be taken or the store is not a directory.
    """
    if not store.is_dir():
        raise NotADirectoryError(20, "not a run store", str(store))
    local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    hosts = ("127.0.0.1", "localhost", "[::1]", host) if local else ()
    application = Site(store, hosts, watch)
    return make_server(host, port, application, server_class=_Server, handler_class=_Quiet)
