"""What every toy server does all the time: it talks to its peers, computes, touches memory and writes.

It runs on a node, beside a toy's program, and needs only Python's own library.  A fault that the system does not feel
does not count as a fault, and without this load a toy would feel none.  Five of these processes use half a processor.
For tests of faults that limit neither processor nor memory nor disk, a file ``/run/toy-idle`` makes them only talk.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

PEERS = Path("/run/toy-peers")
IDLE = Path("/run/toy-idle")
PORT = 20911
HEARTBEAT = b"{}" + b" " * (16 << 10) + b"\n"
SYNCED = Path("/data/toy-life")


def begin(unsynced: Path | None = None) -> None:
    """``unsynced`` is a file that is written and never synced, if any."""
    threading.Thread(target=_talk, daemon=True).start()
    threading.Thread(target=_work, args=(unsynced,), daemon=True).start()


def pause(seconds: float) -> None:
    """Wait without ``time.sleep``, which waits for a point on the monotonic clock and so fails under libfaketime."""
    select.select((), (), (), seconds)


def _talk() -> None:
    while True:
        for peer in PEERS.read_text().split():
            with suppress(OSError, MemoryError), socket.create_connection((peer, PORT), 0.2) as link:
                link.sendall(HEARTBEAT)
        pause(0.1)


def _work(unsynced: Path | None) -> None:
    held = []
    while True:
        if IDLE.exists():
            pause(0.1)
            continue
        until = time.thread_time() + 0.01
        while time.thread_time() < until:
            pass
        with suppress(OSError, MemoryError):
            held.append(bytearray(4096))
            for _ in range(8):
                _write(SYNCED, sync=True)
            if unsynced is not None:
                _write(unsynced, sync=False)
        pause(0.1)


def _write(path: Path, *, sync: bool) -> None:
    with path.open("r+b" if path.exists() else "wb", buffering=0) as file:
        file.write(os.urandom(512))
        if sync:
            os.fsync(file.fileno())
