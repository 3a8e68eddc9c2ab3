"""An SSH server on loopback that runs commands on this machine, for tests that need neither nodes nor root."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import paramiko
from paramiko.common import AUTH_FAILED, AUTH_SUCCESSFUL, OPEN_SUCCEEDED

from harness.clusters.record import make_key
from harness.remote.node import Node


class ToySshd:
    """An SSH server that accepts one user's key. ``lines`` are the requested commands; ``drop`` cuts connections."""

    def __init__(self, directory: Path, name: str = "n1") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory, self.name = directory, name
        for key in ("host_key", "client_key"):
            make_key(directory / key)
        self.host_key = paramiko.Ed25519Key.from_private_key_file(str(directory / "host_key"))
        self.allowed = paramiko.Ed25519Key.from_private_key_file(str(directory / "client_key"))
        self.lines: list[str] = []
        self.connections = 0
        self.sessions = self.most_sessions = 0
        self.drop_on_exec = False
        self.lock = threading.Lock()
        self.transports: list[paramiko.Transport] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._threads[0].start()

    def node(self, **changes: object) -> Node:
        public = (self.directory / "host_key.pub").read_text().strip()
        values: dict[str, object] = {
            "name": self.name,
            "address": "127.0.0.1",
            "ssh_host": "127.0.0.1",
            "ssh_port": self._listener.getsockname()[1],
            "user": "root",
            "key_file": self.directory / "client_key",
            "host_key": public,
        }
        return Node(**{**values, **changes})  # type: ignore[arg-type]

    def drop(self) -> None:
        for transport in self.transports:
            transport.close()
            transport.sock.close()
        self.transports.clear()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop()
        for thread in self._threads:
            thread.join(5)

    def spawn(self, target: threading.Thread) -> None:
        target.start()
        self._threads.append(target)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            transport = paramiko.Transport(connection)
            transport.add_server_key(self.host_key)
            self.transports.append(transport)
            try:
                transport.start_server(event=threading.Event(), server=_Session(self))
            except (paramiko.SSHException, OSError, EOFError):
                connection.close()


class _Session(paramiko.ServerInterface):
    def __init__(self, server: ToySshd) -> None:
        self.server = server

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        known = key.asbytes() == self.server.allowed.asbytes()
        return AUTH_SUCCESSFUL if known else AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return OPEN_SUCCEEDED

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        self.server.lines.append(command.decode())
        if self.server.drop_on_exec:
            threading.Thread(target=self.server.drop, daemon=True).start()
            return True
        self.server.spawn(threading.Thread(target=self._run, args=(channel, command.decode()), daemon=True))
        return True

    def _run(self, channel: paramiko.Channel, line: str) -> None:
        with self.server.lock:
            self.server.sessions += 1
            self.server.most_sessions = max(self.server.most_sessions, self.server.sessions)
        try:
            self._converse(channel, line)
        except OSError:
            pass  # the client has gone
        finally:
            with self.server.lock:
                self.server.sessions -= 1
            channel.close()

    def _converse(self, channel: paramiko.Channel, line: str) -> None:
        pipe = subprocess.PIPE
        with subprocess.Popen(["sh", "-c", line], stdin=pipe, stdout=pipe, stderr=pipe) as process:
            assert process.stdin is not None
            threads = [
                threading.Thread(target=_pump, args=(process.stdout, channel.sendall), daemon=True),
                threading.Thread(target=_pump, args=(process.stderr, channel.sendall_stderr), daemon=True),
            ]
            for thread in threads:
                thread.start()
            try:
                while data := channel.recv(65536):
                    process.stdin.write(data)
                process.stdin.close()
            except OSError:
                pass  # it reads no more
            for thread in threads:
                thread.join()
            code = process.wait()
        # As sshd does: a signal ends without an exit status.
        if code >= 0:
            channel.send_exit_status(code)
        channel.shutdown_write()


def _pump(source: object, send: object) -> None:
    try:
        while data := source.read1(65536):  # type: ignore[attr-defined]
            send(data)  # type: ignore[operator]
    except OSError:
        pass  # the client has gone


@contextmanager
def toy_sshd(directory: Path, name: str = "n1") -> Iterator[ToySshd]:
    server = ToySshd(directory, name)
    try:
        yield server
    finally:
        server.close()
