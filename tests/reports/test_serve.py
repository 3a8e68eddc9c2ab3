"""The server: what it serves, and above all what it does not."""

from __future__ import annotations

import os
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest

import reports
from history import RunFiles
from reports.site import serve
from tests.support.reports.answer import Answer
from tests.support.reports.runs import make
from tests.support.reports.served import served
from tests.support.reports.shapes import Shape

RUN = "/runs/register/20260301T020000.000Z-7"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("secret")
    store = outside / "store"
    files = make(store / "register" / "20260301T020000.000Z-7", Shape(operations=300, rate=60.0))
    reports.write_report(files)
    (files.root / "link.txt").symlink_to(outside / "secret.txt")
    (files.root / "up").symlink_to(outside)
    (files.root / ".hidden.txt").write_text("hidden")
    (files.nodes / "n1" / "evil.html").write_text("<script>alert(1)</script>")
    (files.nodes / "n1" / "evil.svg").write_text(
        "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    )
    (files.nodes / "n1" / "core.bin").write_bytes(b"\0\1")
    os.mkfifo(files.root / "pipe.txt")
    (store / "register" / "latest").symlink_to("20260301T020000.000Z-7")
    (store / "loose.txt").write_text("loose")
    return store


@pytest.fixture(scope="module")
def site(store: Path) -> serve.Site:
    return serve.Site(store)


def test_pages_and_files_are_served(site: serve.Site) -> None:
    assert b"20260301T020000.000Z-7" in Answer(site, "/").body
    assert Answer(site, "/trends.html").status == 200
    assert Answer(site, RUN).headers["Location"] == RUN + "/"
    assert b"history.jsonl" in Answer(site, RUN + "/").body
    report = Answer(site, RUN + "/report.html")
    assert report.headers["Content-Type"].startswith("text/html")
    assert "default-src 'none'" in report.headers["Content-Security-Policy"]
    assert Answer(site, RUN + "/nodes/n1/register.log").headers["Content-Type"].startswith("text/plain")


def test_nothing_but_the_report_is_active(site: serve.Site) -> None:
    assert Answer(site, RUN + "/nodes/n1/evil.html").headers["Content-Type"].startswith("text/plain")
    assert "sandbox" in Answer(site, RUN + "/nodes/n1/evil.svg").headers["Content-Security-Policy"]
    assert Answer(site, RUN + "/nodes/n1/core.bin").headers["Content-Disposition"] == "attachment"
    for path in ("/", RUN + "/", RUN + "/report.html", RUN + "/plan.json"):
        assert Answer(site, path).headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/runs/register/20260301T020000.000Z-7/../../../secret.txt",
        "/runs/register/20260301T020000.000Z-7/%2e%2e/%2e%2e/%2e%2e/secret.txt",
        "/runs/register/20260301T020000.000Z-7/..%2f..%2f..%2fsecret.txt",
        "/runs/register/20260301T020000.000Z-7/..%5c..%5csecret.txt",
        "/runs/../loose.txt",
        "/runs/register/..",
        "/runs/register/20260301T020000.000Z-7/link.txt",
        "/runs/register/20260301T020000.000Z-7/up/secret.txt",
        "/runs/register/20260301T020000.000Z-7/up/store/loose.txt",
        "/runs/register/20260301T020000.000Z-7/.hidden.txt",
        "/runs/register/20260301T020000.000Z-7/pipe.txt",
        "/runs/register/20260301T020000.000Z-7/nodes",
        "/runs/register/20260301T020000.000Z-7/nothing.txt",
        "/runs/register/latest/plan.json",
        "/runs/register/latest/",
        "/runs//etc/passwd",
        "/loose.txt",
        "/nemesis/nothing.html",
        "/.index.jsonl",
        "//etc/passwd",
        "/%00",
        "/runs/register/%ff/plan.json",
        "/runs/register/20260301T020000.000Z-7/" + "x" * 5000,
    ],
)
def test_nothing_outside_is_served(site: serve.Site, path: str) -> None:
    answer = Answer(site, path)
    assert answer.status == 404
    assert b"secret" not in answer.body.lower().replace(quote(path).encode(), b"")


def test_a_report_has_an_origin_of_its_own(site: serve.Site) -> None:
    policy = Answer(site, RUN + "/report.html").headers["Content-Security-Policy"]
    assert "sandbox allow-scripts;" in policy
    for path in ("/", RUN + "/", RUN + "/report.html", RUN + "/plan.json"):
        assert Answer(site, path).headers["Cross-Origin-Opener-Policy"] == "same-origin"


@pytest.mark.parametrize(
    ("wanted", "status", "part"),
    [
        ("bytes=0-0", 206, slice(0, 1)),
        ("bytes=5-9", 206, slice(5, 10)),
        ("bytes=7-", 206, slice(7, None)),
        ("bytes=-4", 206, slice(-4, None)),
        ("bytes=5-99999999999", 206, slice(5, None)),
        ("bytes=0-", 200, slice(None)),
        ("bytes=-99999999999", 200, slice(None)),
        ("bytes=9-5", 200, slice(None)),
        ("bytes=0-1,3-4", 200, slice(None)),
        ("bytes=-", 200, slice(None)),
        ("lines=1-2", 200, slice(None)),
        ("bytes=99999999999-", 416, None),
        ("bytes=-0", 416, None),
    ],
)
def test_a_range_of_a_file_is_served(site: serve.Site, store: Path, wanted: str, status: int, part: slice) -> None:
    whole = (store / "register" / "20260301T020000.000Z-7" / "history.jsonl").read_bytes()
    # What is asked for under a condition that is not known to hold is the whole.
    assert Answer(site, RUN + "/history.jsonl", HTTP_RANGE=wanted, HTTP_IF_RANGE="x").body == whole
    answer = Answer(site, RUN + "/history.jsonl", HTTP_RANGE=wanted)
    assert answer.status == status
    if status == 416:
        assert answer.headers["Content-Range"] == f"bytes */{len(whole)}"
        return
    assert answer.body == whole[part]
    assert answer.headers["Content-Length"] == str(len(answer.body))
    begin, end, _ = part.indices(len(whole))
    assert answer.headers.get("Content-Range") == (f"bytes {begin}-{end - 1}/{len(whole)}" if status == 206 else None)


def test_only_reading_and_only_from_here(site: serve.Site) -> None:
    assert Answer(site, "/", method="POST").status == 405
    assert Answer(site, "/", method="HEAD").body == b""
    assert Answer(site, RUN + "/plan.json", method="HEAD").status == 200
    assert Answer(site, "/", host="evil.example").status == 403
    assert Answer(site, "/", host="127.0.0.1.evil.example:80").status == 403
    for host in ("localhost:8000", "[::1]:8000", "127.0.0.1"):
        assert Answer(site, "/", host=host).status == 200


@pytest.fixture
def address(store: Path) -> Iterator[str]:
    with served(store) as found:
        yield found


def test_a_real_server_answers_on_the_loopback_address_only(address: str, store: Path) -> None:
    with urllib.request.urlopen(address + RUN + "/report.html") as answer:
        assert answer.read() == RunFiles(store / "register" / "20260301T020000.000Z-7").report.read_bytes()
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(b"GET /runs/register/../../../secret.txt HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert b" 404 " in raw.makefile("rb").readline()


def connected(address: str) -> socket.socket:
    host, port = address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=20)


def ends(one: socket.socket) -> bool:
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_connection_without_a_whole_request_ends(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle, half a request, and one that goes on a byte at a time; a client that is quick is answered meanwhile."""
    monkeypatch.setattr(serve, "REQUEST_S", 0.3)
    with served(store) as address, connected(address) as idle, connected(address) as half, connected(address) as slow:
        half.sendall(b"GET / HTTP/1.0\r\nHost: local")
        with suppress(OSError):  # the end of this is what is waited for
            while True:
                slow.sendall(b"G")
                time.sleep(0.01)
        assert ends(idle)
        assert ends(half)
        with urllib.request.urlopen(address) as answer:
            assert answer.status == 200


def test_there_are_only_so_many_connections(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "MOST_CONNECTIONS", 3)
    with served(store) as address:
        held = [connected(address) for _ in range(4)]
        assert ends(held[3])
        for one in held:
            one.close()


def test_no_store_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="not a run store"):
        serve.make(tmp_path / "none")
