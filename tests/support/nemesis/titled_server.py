"""A server that hides like databases do: it rewrites its title, which empties its environment in /proc.

Its workers answer, in their own sessions.

    titled_server.py DIRECTORY [orphan]

Two workers answer their pid to every datagram that comes to ``DIRECTORY/socket``; with ``orphan`` the second one's
parent has ended.  ``DIRECTORY/pids`` has the pids of the first process and the workers once all of them serve.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path


def rewrite_title() -> None:
    """Overwrite arguments and environment in the memory in which the kernel finds them for /proc."""
    fields = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()
    for start, end in ((int(fields[45]), int(fields[46])), (int(fields[47]), int(fields[48]))):
        with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
            memory.seek(start)
            memory.write(bytes(end - start))


def work(serving: socket.socket, ready: int) -> None:
    os.setsid()
    os.write(ready, f"{os.getpid()}\n".encode())
    while True:
        _, asker = serving.recvfrom(99)
        serving.sendto(str(os.getpid()).encode(), asker)


def main(directory: str, *flags: str) -> None:
    rewrite_title()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as serving:
        place = Path(directory) / "socket"
        place.unlink(missing_ok=True)
        serving.bind(str(place))
        answers, ready = os.pipe()
        if os.fork() == 0:
            work(serving, ready)
        if (child := os.fork()) == 0:
            if "orphan" in flags and os.fork() != 0:
                os._exit(0)
            work(serving, ready)
        if "orphan" in flags:
            os.waitpid(child, 0)
        with os.fdopen(answers) as lines:
            pids = [os.getpid(), int(lines.readline()), int(lines.readline())]
        part = Path(directory) / "pids.part"
        part.write_text(" ".join(map(str, pids)))
        part.rename(Path(directory) / "pids")
        while True:
            os.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
