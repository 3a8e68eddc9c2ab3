"""Commands and files on all nodes, over SSH, in parallel.

A command is a value (``nemesis.core.ports.Command``).  Only this module turns it into a shell line.  Commands run as
root, through ``sudo -n`` for any other user.  Every line is wrapped in ``timeout``, so that a command also dies on the
node when its deadline has passed, even if the connection is gone by then.
"""

from __future__ import annotations

import hashlib
import shlex
import stat
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import IO, Final, Self, TypeVar

from harness.errors import RemoteError, RemoteTimeout, StoreError, UsageError
from harness.remote.node import Node
from harness.remote.ssh import CONNECT_S, Connection, Output
from nemesis.core.ports import Command, Completed

T = TypeVar("T")

#: Seconds between SIGTERM and SIGKILL on the node, and how much longer to wait here for the result.
KILL_AFTER_S: Final = 1
GRACE_S: Final = 2.0

OUTPUT_LIMIT: Final = 16 << 20
TREE_LIMIT: Final = 4 << 30
TRANSFER_S: Final = 300.0

#: The exit codes of a command that ``timeout`` ended: 124, or after SIGKILL 137, or its own death by that signal.
_TIMED_OUT: Final = (124, 137, -1)
_TAR_FILE_CHANGED: Final = 1

_RECEIVE: Final = """set -eu
mkdir -p -- "$(dirname -- "$1")"
part=$(mktemp -- "$1.XXXXXX")
trap 'rm -f -- "$part"' EXIT
cat >"$part"
sum=$(sha256sum <"$part")
[ "${sum%% *}" = "$2" ] || { echo "arrived as ${sum%% *}" >&2; exit 65; }
chmod -- "$3" "$part"
sync -- "$part"
mv -f -- "$part" "$1"
"""


def command_line(command: Command, user: str) -> str:
    """Return the quoted shell line for a command.  Raises ValueError if its timeout is not above 0."""
    if not command.timeout > 0:
        raise ValueError(f"a command's timeout must be above 0, not {command.timeout}")
    sudo = () if user == "root" else ("sudo", "-n", "--")
    return "exec " + shlex.join((*sudo, "timeout", "-k", f"{KILL_AFTER_S}", f"{command.timeout:.3f}", *command.argv))


class Remote:
    """All nodes of a cluster.  Implements ``nemesis.core.ports.Nodes``.  Safe to use from many threads.

    Connections are made when first needed.  Every method raises RemoteError; if several nodes failed, the first one's
    error names the others as well.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        *,
        connect_timeout: float = CONNECT_S,
        output_limit: int = OUTPUT_LIMIT,
    ) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._output_limit = output_limit
        self._connections = {
            node.name: Connection(node, clock=time.monotonic, connect_timeout=connect_timeout) for node in nodes
        }
        self._pool = ThreadPoolExecutor(max_workers=max(4, 4 * len(nodes)), thread_name_prefix="ssh")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._nodes)

    def address(self, node: str) -> str:
        """Return the IP address at which the other nodes reach this one."""
        return self._nodes[node].address

    @property
    def data_dirs(self) -> dict[str, str]:
        """The directory on each node in which the system keeps its data."""
        return {node.name: node.data_dir for node in self._nodes.values()}

    def close(self) -> None:
        """Close all connections and threads.  Commands that are still running continue until their own deadlines."""
        for connection in self._connections.values():
            connection.close()
        self._pool.shutdown(wait=True, cancel_futures=True)

    # -- commands --------------------------------------------------------------------------------------------------

    def run(self, commands: Mapping[str, Command]) -> dict[str, Completed]:
        """Run one command per node, all nodes in parallel, and return when all have ended."""
        return self._on_each({node: partial(self._run_one, node, command) for node, command in commands.items()})

    def _run_one(self, node: str, command: Command) -> Completed:
        started = time.monotonic()
        output = self._execute(node, command)
        seconds = time.monotonic() - started
        if seconds >= command.timeout and output.code in _TIMED_OUT:
            raise RemoteTimeout(node, f"`{_short(command)}` did not end within {command.timeout:g} s and was killed")
        return Completed(
            node, output.code, output.stdout.decode(errors="replace"), output.stderr.decode(errors="replace"), seconds
        )

    def _execute(
        self,
        node: str,
        command: Command,
        *,
        stdin: bytes | None = None,
        write: Callable[[bytes], object] | None = None,
        limit: int | None = None,
    ) -> Output:
        return self._connections[node].execute(
            command_line(command, self._nodes[node].user),
            what=_short(command),
            timeout=command.timeout + KILL_AFTER_S + GRACE_S,
            limit=limit or self._output_limit,
            stdin=command.stdin.encode() if stdin is None else stdin,
            write=write,
        )

    def _on_each(self, work: Mapping[str, Callable[[], T]]) -> dict[str, T]:
        if len(work) == 1:
            return {node: call() for node, call in work.items()}
        futures = {node: self._pool.submit(call) for node, call in work.items()}
        _raise_first([error for future in futures.values() if (error := future.exception()) is not None])
        return {node: future.result() for node, future in futures.items()}

    # -- files -----------------------------------------------------------------------------------------------------

    def upload(self, node: str, local: Path, remote: str) -> None:
        """Upload a file to a node, unless the node already has it (same SHA-256).

        The file appears under its name only when it is complete, verified and on the node's disk.  Missing
        directories are created.  Raises UsageError if ``local`` cannot be read.
        """
        try:
            content, mode = local.read_bytes(), f"{stat.S_IMODE(local.stat().st_mode):o}"
        except OSError as error:
            raise UsageError(f"{local} cannot be read: {error.strerror}") from None
        wanted = hashlib.sha256(content).hexdigest()
        there = self._execute(node, Command(("sha256sum", "--", remote), timeout=60.0))
        if there.code == 0 and there.stdout.split()[0].lstrip(b"\\").decode() == wanted:
            return
        command = Command(("sh", "-c", _RECEIVE, "receive", remote, wanted, mode), timeout=TRANSFER_S)
        done = self._execute(node, command, stdin=content)
        if done.code != 0:
            raise RemoteError(node, f"{remote} was not written (exit code {done.code}): {_last_line(done.stderr)}")

    def download_tree(self, node: str, remote: str, local: Path) -> None:
        """Download everything below a node's directory into the directory ``local``.  Sparse files stay sparse.

        Only plain files and directories are downloaded, and none that would land outside ``local``.  Files that change
        in the meantime arrive as they were when read.  Raises RemoteError, or StoreError if ``local`` cannot be
        written.
        """
        with _storing(local):
            local.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=local) as file:
                tar = Command(("tar", "-C", remote, "--sparse", "-cf", "-", "."), timeout=TRANSFER_S)
                done = self._execute(node, tar, write=file.write, limit=TREE_LIMIT)
                if done.code not in (0, _TAR_FILE_CHANGED):
                    raise RemoteError(node, f"{remote} cannot be read: {_last_line(done.stderr)}")
                file.seek(0)
                _unpack(file, local)


# -- parallel work -------------------------------------------------------------------------------------------------


def _raise_first(errors: Sequence[BaseException]) -> None:
    """Raise the first error, if any.  If several nodes failed, its message also names the others."""
    if not errors:
        return
    others = [error.node for error in errors[1:] if isinstance(error, RemoteError)]
    if others and isinstance(errors[0], RemoteError):
        errors[0].args = (f"{errors[0]} (also failed: {', '.join(others)})",)
    raise errors[0]


def _short(command: Command) -> str:
    text = " ".join(shlex.join(command.argv).split())
    return text if len(text) <= 100 else text[:99] + "…"


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "no output"


# -- local files ---------------------------------------------------------------------------------------------------


@contextmanager
def _storing(local: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{local} cannot be written: {error.strerror or error}") from None


def _unpack(file: IO[bytes], into: Path) -> None:
    """Unpack plain files and directories of an archive.

    The filter is our own because Python 3.11.2 lacks ``filter="data"``; releases that have it warn if none is set.
    """
    with tarfile.open(fileobj=file, mode="r:") as archive:
        archive.extraction_filter = lambda member, _: member
        for member in archive:
            path = PurePosixPath(member.name)
            if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
                continue
            member.mode |= 0o700 if member.isdir() else 0o600
            archive.extract(member, into, set_attrs=False)
