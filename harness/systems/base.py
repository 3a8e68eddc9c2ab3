"""The interface of a system under test."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from history.json_object import load_object


class SystemOnNodes(Protocol):
    """Install, start, kill and collect.  All methods work on several nodes at once and may be repeated."""

    def install(self) -> None:
        """Install the program on every node where it is missing.  Raises HarnessError."""

    def start(self, nodes: Iterable[str]) -> None:
        """Start it where it does not run; wait until each answers.  Raises NotReadyError with the log's last lines."""

    def pids(self, nodes: Iterable[str]) -> dict[str, int | None]:
        """The process ids inside the nodes, None where it is not running."""

    def kill(self, nodes: Iterable[str]) -> None:
        """SIGKILL, and wait until the processes are gone."""

    def collect(self, into: Path) -> list[str]:
        """Collect logs and state files into ``into/<node>/``.  Returns a line for each that failed; never raises."""


class StatusPort:
    """One blocking request to a server's client port, on a connection of its own."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)

    def ask(self, request: dict[str, Any], timeout: float = 1.0) -> dict[str, Any]:
        """Send the request and return the answer.  Raises OSError (a timeout too) or ValueError when there is none."""
        deadline = time.monotonic() + timeout
        with socket.create_connection(self._address, timeout=timeout) as connection:
            connection.sendall(json.dumps({"id": 1, **request}).encode() + b"\n")
            buffer = b""
            while not buffer.endswith(b"\n"):
                connection.settimeout(max(0.001, deadline - time.monotonic()))
                if not (more := connection.recv(65536)):
                    raise ConnectionResetError("closed without an answer")
                buffer += more
        return load_object(buffer)
