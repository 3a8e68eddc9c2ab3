"""One SSH connection to one node, opened when first needed and reopened after it broke.

This module does three things that paramiko leaves to its users.  The socket gets TCP_NODELAY (a command takes 2 ms
instead of 45).  The ``exec`` request is sent without asking for a reply: waiting for one has no timeout in paramiko,
and hangs forever if the connection dies at that moment.  A refused request shows as a missing exit status instead. Both
outputs are read while the input is written, so that no window fills up.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import select
import shlex
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import paramiko
from paramiko.common import cMSG_CHANNEL_REQUEST

from harness.errors import (
    HostUnreachableError,
    RemoteError,
    RemoteTimeout,
)
from harness.remote.node import Node

#: sshd allows ten sessions per connection by default.
CHANNELS_PER_CONNECTION: Final = 6
#: A peer that acknowledges no data for this long is considered gone.
UNACKNOWLEDGED_MS: Final = 15_000
#: Seconds to wait for a connection.
CONNECT_S: Final = 5.0
#: Seconds between checks of a full send window while input is waiting: no event signals that it has room again.
FEED_S: Final = 0.005
#: Seconds after which a lost wake-up is noticed.  paramiko's OrPipe, which signals both outputs, takes no lock, so
#: emptying one of them while the other fills up can clear the other's signal.
LOST_WAKE_UP_S: Final = 0.05

_SSH_ERRORS: Final = (paramiko.SSHException, EOFError, OSError)


@dataclass(frozen=True, slots=True)
class Output:
    """The result of a command.  ``code`` is -1 after a signal.  ``stdout`` is empty if it went into a sink."""

    code: int
    stdout: bytes
    stderr: bytes


@dataclass(slots=True)
class Sink:
    """A collector of bytes up to a limit; it passes them to ``write`` instead, if there is one."""

    node: str
    what: str
    limit: int
    write: Callable[[bytes], object] | None = None
    size: int = 0
    parts: list[bytes] = field(default_factory=list)

    def __call__(self, data: bytes) -> None:
        self.size += len(data)
        if self.size > self.limit:
            raise RemoteError(self.node, f"`{self.what}` wrote more than {self.limit} bytes")
        if self.write is None:
            self.parts.append(data)
        else:
            self.write(data)


class Connection:
    """A connection for commands on one node, several at once.  Safe to use from many threads."""

    def __init__(self, node: Node, *, clock: Callable[[], float], connect_timeout: float = CONNECT_S) -> None:
        self.node = node
        self._clock = clock
        self._connect_timeout = connect_timeout
        self._slots = threading.Semaphore(CHANNELS_PER_CONNECTION)
        self._reconnecting = threading.Lock()
        self._transport: paramiko.Transport | None = None

    def execute(
        self,
        line: str,
        *,
        what: str,
        timeout: float,
        limit: int,
        stdin: bytes = b"",
        write: Callable[[bytes], object] | None = None,
    ) -> Output:
        """Run one shell line and return its result.  ``timeout`` starts when the line is sent.

        ``what`` is a short name of the line, for errors.  The line's output goes to ``write`` if there is one; more
        than ``limit`` bytes are refused.

        The line is sent once.  Only opening the channel is retried on a new connection, because nothing has been sent
        by then.  Raises RemoteError.
        """
        with self._slots, self._channel() as channel:
            talk = _Exchange(self.node.name, what, channel, self._clock() + timeout, self._clock)
            try:
                _request_exec(channel, line)
                return talk.run(stdin, Sink(self.node.name, what, limit, write))
            except _SSH_ERRORS as error:
                raise talk.dropped(str(error)) from None

    def close(self) -> None:
        """Close the connection.  A later command makes a new one."""
        with self._reconnecting:
            if self._transport is not None:
                _close(self._transport)
                self._transport = None

    # -- the connection --------------------------------------------------------------------------------------------

    @contextmanager
    def _channel(self) -> Iterator[paramiko.Channel]:
        channel = self._open_channel()
        try:
            yield channel
        finally:
            channel.close()

    def _open_channel(self) -> paramiko.Channel:
        """Open a session channel, on a new connection if the old one proves dead.  Raises RemoteError."""
        problem = ""
        for _ in range(2):
            transport = self._connected()
            try:
                return transport.open_session(timeout=self._connect_timeout)
            except paramiko.ChannelException as error:
                raise RemoteError(self.node.name, f"sshd refuses another session: {error}; raise MaxSessions") from None
            except _SSH_ERRORS as error:
                problem = str(error) or type(error).__name__
                self._forget(transport)
        raise HostUnreachableError(self.node.name, f"the SSH server does not open a session: {problem}")

    def _connected(self) -> paramiko.Transport:
        with self._reconnecting:
            if self._transport is None or not self._transport.is_active():
                if self._transport is not None:
                    _close(self._transport)
                self._transport = connect(self.node, self._connect_timeout)
            return self._transport

    def _forget(self, transport: paramiko.Transport) -> None:
        with self._reconnecting:
            if self._transport is transport:
                self._transport = None
        _close(transport)


# -- making a connection -------------------------------------------------------------------------------------------


def connect(node: Node, timeout: float) -> paramiko.Transport:
    """Make a connection that is authenticated in both directions.

    Raises HostUnreachableError, or another RemoteError that says how to fix the host key or our key.
    """
    known = known_host_keys(node)
    key = _load_key(node)
    transport = _transport(node, timeout)
    try:
        _shake_hands(node, transport, known, timeout)
        _authenticate(node, transport, key, timeout)
    except BaseException:
        _close(transport)
        raise
    return transport


def shown_host_key(node: Node) -> str:
    """Return the host key that the server shows, ``ssh-ed25519 AAAA…``, without trusting it.

    Raises HostUnreachableError.
    """
    transport = _transport(node, CONNECT_S)
    try:
        transport.start_client(timeout=CONNECT_S)
        key = transport.get_remote_server_key()
        return f"{key.get_name()} {key.get_base64()}"
    except _SSH_ERRORS as error:
        raise HostUnreachableError(node.name, f"{node.ssh_host} sent no host key ({error})") from None
    finally:
        _close(transport)


def known_host_keys(node: Node) -> dict[str, bytes]:
    """Return the node's known public keys by their types.

    They are the node's own if it names one, else those in the user's known-hosts file.  Raises RemoteError.
    """
    if node.host_key is not None:
        kind, _, rest = node.host_key.strip().partition(" ")
        try:
            return {kind: base64.b64decode(rest.split()[0], validate=True)}
        except (IndexError, ValueError):
            raise RemoteError(
                node.name, f"host_key is not of the form 'ssh-ed25519 AAAA…': {node.host_key!r}"
            ) from None
    host = node.ssh_host if node.ssh_port == 22 else f"[{node.ssh_host}]:{node.ssh_port}"
    file = Path("~/.ssh/known_hosts").expanduser()
    keys = paramiko.HostKeys(str(file)).lookup(host) if file.is_file() else None
    if not keys:
        raise RemoteError(
            node.name,
            f"no host key is known for {host}; name it with host_key, or check it and add it: "
            f"ssh-keyscan -p {node.ssh_port} -- {shlex.quote(node.ssh_host)} >> {shlex.quote(str(file))}",
        )
    return {kind: key.asbytes() for kind, key in keys.items()}


def _load_key(node: Node) -> paramiko.PKey:
    try:
        return paramiko.PKey.from_path(node.key_file)
    except paramiko.PasswordRequiredException:
        problem = "has a passphrase; name a key without one"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except (paramiko.SSHException, ValueError, TypeError) as error:
        problem = f"is not a usable private key: {error}"
    raise RemoteError(node.name, f"the key file {node.key_file} {problem}")


def _transport(node: Node, timeout: float) -> paramiko.Transport:
    """Open a connection on which nothing has been sent yet.  Raises HostUnreachableError."""
    # Silence paramiko, which would print to the terminal: we raise its problems as errors of our own.
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)
    return paramiko.Transport(_dial(node, timeout))


def _dial(node: Node, timeout: float) -> socket.socket:
    try:
        connection = socket.create_connection((node.ssh_host, node.ssh_port), timeout=timeout)
    except OSError as error:
        raise HostUnreachableError(
            node.name,
            f"{node.ssh_host} port {node.ssh_port} cannot be reached ({error.strerror or error}); "
            "is the node up (harness cluster status), and its address right?",
        ) from None
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS)
    return connection


def _shake_hands(node: Node, transport: paramiko.Transport, known: dict[str, bytes], timeout: float) -> None:
    transport.banner_timeout = transport.handshake_timeout = transport.auth_timeout = timeout
    # Offer only the key types that we know: otherwise the server might show another, which we cannot compare.
    offered = [kind for name in known for kind in (("rsa-sha2-512", "rsa-sha2-256") if name == "ssh-rsa" else (name,))]
    options = transport.get_security_options()
    options.key_types = tuple(kind for kind in offered if kind in options.key_types)
    try:
        transport.start_client(timeout=timeout)
        shown = transport.get_remote_server_key()
    except paramiko.ssh_exception.IncompatiblePeer:
        raise RemoteError(node.name, f"the server has no host key of a known type ({', '.join(known)})") from None
    except _SSH_ERRORS as error:
        raise HostUnreachableError(
            node.name,
            f"{node.ssh_host} port {node.ssh_port} answers, but not like an SSH server ({error or 'closed'})",
        ) from None
    if shown.asbytes() not in known.values():
        raise RemoteError(
            node.name,
            f"{node.ssh_host} shows the host key {_fingerprint(shown.asbytes())}, but on record is "
            f"{' or '.join(map(_fingerprint, known.values()))}; if the machine was rebuilt, record its new key",
        )


def _authenticate(node: Node, transport: paramiko.Transport, key: paramiko.PKey, timeout: float) -> None:
    try:
        transport.auth_publickey(node.user, key)
    except paramiko.AuthenticationException:
        raise RemoteError(
            node.name,
            f"{node.ssh_host} refuses the key {node.key_file} for user {node.user}; "
            f"add {node.key_file}.pub to the authorized_keys of {node.user} there, or name another key",
        ) from None
    except _SSH_ERRORS as error:
        raise HostUnreachableError(
            node.name, f"{node.ssh_host} hung up while logging in within {timeout:g} s ({error})"
        ) from None


def _fingerprint(key: bytes) -> str:
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


# -- one command ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Exchange:
    """One command's input and output until its end or its deadline."""

    node: str
    what: str
    channel: paramiko.Channel
    deadline: float
    clock: Callable[[], float]

    def run(self, stdin: bytes, out: Sink) -> Output:
        err = Sink(self.node, self.what, out.limit)
        poller = select.poll()
        poller.register(self.channel.fileno(), select.POLLIN)
        pending = memoryview(stdin)
        feeding = True
        while True:
            # Check for the end before draining, so that everything that came before the end is in the buffers.
            ended = self.channel.eof_received or self.channel.closed
            _drain(self.channel, out, err)
            if ended:
                break
            if feeding:
                pending = self._feed(pending)
                feeding = len(pending) > 0
            poller.poll(1000 * min(self._left(), FEED_S if feeding else LOST_WAKE_UP_S))
        return Output(self._exit_code(), b"".join(out.parts), b"".join(err.parts))

    def _feed(self, pending: memoryview) -> memoryview:
        """Send as much as the peer's window allows, then the end of input, and return what is left to send."""
        try:
            while len(pending) > 0 and self.channel.send_ready():
                pending = pending[self.channel.send(bytes(pending[: 1 << 15])) :]
            if not pending:
                self.channel.shutdown_write()
        except OSError:
            # It is not an error if the command ended without reading all of its input.
            if not self.channel.closed:
                raise
            return pending[:0]
        return pending

    def _left(self) -> float:
        left = self.deadline - self.clock()
        if left > 0:
            return left
        if self.channel.status_event.is_set():
            raise self._late(
                f"exited with code {self.channel.exit_status}, but a process that it started keeps its output open"
            )
        raise self._late("did not end within its deadline")

    def _exit_code(self) -> int:
        if not self.channel.status_event.wait(max(0.0, self.deadline - self.clock())):
            raise self._late("closed its output and did not end within its deadline")
        # A missing exit status means that the command was ended by a signal, or by the end of the connection.
        alive = self.channel.get_transport().is_active()
        if not self.channel.eof_received or (self.channel.exit_status < 0 and not alive):
            raise self.dropped("closed")
        return self.channel.exit_status

    def _late(self, how: str) -> RemoteTimeout:
        return RemoteTimeout(self.node, f"`{self.what}` {how}")

    def dropped(self, why: str) -> RemoteError:
        return RemoteError(
            self.node, f"the SSH connection broke ({why}) during `{self.what}`, which may or may not have run"
        )


def _request_exec(channel: paramiko.Channel, line: str) -> None:
    want_reply = False
    message = paramiko.Message()
    message.add_byte(cMSG_CHANNEL_REQUEST)
    message.add_int(channel.remote_chanid)
    message.add_string("exec")
    message.add_boolean(want_reply)
    message.add_string(line)
    channel.get_transport()._send_user_message(message)  # type: ignore[attr-defined]  # noqa: SLF001 - see above


def _drain(channel: paramiko.Channel, out: Sink, err: Sink) -> None:
    while channel.recv_ready():
        out(channel.recv(1 << 17))
    while channel.recv_stderr_ready():
        err(channel.recv_stderr(1 << 17))


def _close(transport: paramiko.Transport) -> None:
    transport.close()
    transport.sock.close()
