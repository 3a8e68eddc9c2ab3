"""``harness serve``: the site over a store, for this machine's own browser.

Read-only, GET and HEAD only.  Nothing outside the store is served: a path is taken apart into its names, none of which
may be empty, hidden or ``..``, no symbolic link on the way is followed, and the file is opened without following one.
Only names of this machine are accepted as Host, so that a foreign page cannot reach the site through a name of its own
(DNS rebinding); listening on another address than the loopback one lifts that.
"""

from __future__ import annotations

import ipaddress
import os
import threading
from collections.abc import Callable, Iterable, Iterator
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

HEADERS: Final = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cache-Control", "no-cache"),
)
#: The header around a report's own policy, which names its script: a file named report.html can make no request.
REPORT_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
FILE_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
SHOWN: Final = {".json": "application/json", ".xml": "application/xml", ".png": "image/png", ".svg": "image/svg+xml"}
TEXTS: Final = frozenset({".txt", ".log", ".jsonl", ".toml", ".edn", ".html", ".properties"})
CHUNK: Final = 1 << 16

StartResponse = Callable[..., Any]


class NotServedError(Exception):
    """There is no file at that path, or none that may be served."""


class Site:
    """A WSGI application over one store.  ``hosts``: the names that a request's Host may have; empty: any."""

    def __init__(self, store: Path, hosts: Iterable[str] = ("127.0.0.1", "localhost", "[::1]")) -> None:
        self._index = StoreIndex(store)
        self._store = store
        self._hosts = frozenset(hosts)
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _plain(start_response, "405 Method Not Allowed", "Only GET and HEAD.", [("Allow", "GET, HEAD")])
        if self._hosts and _host(environ.get("HTTP_HOST", "")) not in self._hosts:
            return _plain(start_response, "403 Forbidden", "This site answers to names of this machine only.")
        try:
            body = self._answer(environ.get("PATH_INFO", "/"), environ.get("QUERY_STRING", ""), start_response)
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

    def _answer(self, path: str, query: str, start_response: StartResponse) -> Iterable[bytes]:
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
        if names[0] == "nemesis" and len(names) == 2:
            return _page(start_response, self._nemesis(names[1]))
        if names[0] == "runs" and len(names) >= 3:
            return self._run(names[1:], path.endswith("/"), start_response)
        raise NotServedError(path)

    def _compare(self, query: str) -> str:
        """Render the comparison of the two runs in the query, by default the newest ones."""
        asked = parse_qs(query, errors="surrogateescape", max_num_fields=8)
        wanted = {place for letter in ("a", "b") for place in asked.get(letter, [])[:1]}
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

    def _run(self, names: list[str], folder: bool, start_response: StartResponse) -> Iterable[bytes]:
        test, run, *inside = names
        row = next((row for row in self.rows() if (row.test, row.run) == (test, run)), None)
        if row is None:
            raise NotServedError(run)
        if not inside or inside == ["index.html"]:
            if not folder and not inside:
                start_response("302 Found", [("Location", site.href(row.place, "/") + "/"), *HEADERS])
                return []
            return _page(start_response, site.folder_page(row, regular_files(self._store / test / run), "../../../"))
        return _file(open_below(self._store, self._store.joinpath(*names)), inside, start_response)


def names_of(path: str) -> list[str]:
    """Split a request's path into names.  Raises NotServedError for anything that could lead elsewhere.

    WSGI hands the path over as already unquoted bytes, read as Latin-1.
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


def _file(source: BinaryIO, inside: list[str], start_response: StartResponse) -> Iterable[bytes]:
    """Serve a file of a run: the report as a page, text and pictures as such, anything else as a download."""
    suffix = Path(inside[-1]).suffix.lower()
    headers = [("Content-Length", str(os.fstat(source.fileno()).st_size)), *HEADERS]
    if inside == ["report.html"]:
        headers += [("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", REPORT_POLICY)]
    elif suffix in TEXTS:
        headers.append(("Content-Type", "text/plain; charset=utf-8"))
    else:
        known = SHOWN.get(suffix)
        headers += [("Content-Type", known or "application/octet-stream"), ("Content-Security-Policy", FILE_POLICY)]
        if known is None:
            headers.append(("Content-Disposition", "attachment"))
    start_response("200 OK", headers)
    return Chunks(source)


class Chunks:
    """Iterator over a file's bytes; closed by the server."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self._source.read(CHUNK):
            yield chunk

    def close(self) -> None:
        self._source.close()


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class's name)
        """Log nothing: the terminal belongs to the command."""


def make(store: Path, host: str = "127.0.0.1", port: int = 0) -> WSGIServer:
    """Create a server that listens but does not answer yet; call ``serve_forever``.  ``port`` 0: any free one.

    Raises OSError when the address cannot be taken or the store is no directory.
    """
    if not store.is_dir():
        raise NotADirectoryError(20, "there is no run store", str(store))
    local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    application = Site(store, ("127.0.0.1", "localhost", "[::1]", host)) if local else Site(store, ())
    return make_server(host, port, application, server_class=_Server, handler_class=_Quiet)
