"""Answers of the report server."""

from __future__ import annotations

import io
from typing import Any
from urllib.parse import unquote_to_bytes

from reports.site import serve


class Answer:
    def __init__(
        self, site: serve.Site, path: str, method: str = "GET", host: str = "127.0.0.1:8000", query: str = "",
        **more: str,
    ) -> None:  # fmt: skip
        raw = unquote_to_bytes(path).decode("latin-1")
        environ = {"REQUEST_METHOD": method, "PATH_INFO": raw, "HTTP_HOST": host, "wsgi.input": io.BytesIO()}
        environ |= {"QUERY_STRING": query, **more}
        self.status, self.headers = 0, dict[str, str]()
        body = site(environ, self._start)
        self.body = b"".join(body)
        getattr(body, "close", lambda: None)()

    def _start(self, status: str, headers: list[tuple[str, str]], *_: Any) -> None:
        self.status, self.headers = int(status.split()[0]), dict(headers)
