"""Delay, reorder or duplicate packets that a firewall rule queues.  This program runs on a node.

It speaks the kernel's nfnetlink_queue protocol (linux/netfilter/nfnetlink_queue.h) over a netlink socket, and needs
only Python's standard library, version 3.8 or later.

    queue_helper.py QUEUE READY_FILE DELAY_MS JITTER_MS REORDER_SHARE DUPLICATE_SHARE SEED

A packet is released after DELAY_MS +- JITTER_MS.  Packets keep their order, except for a share that may overtake
others.  A share is sent twice; the copy has the mark 0x77, which makes the rule ignore it.  On SIGUSR1 the program
writes its counts so far to a file next to READY_FILE.  On SIGTERM it releases all packets it holds and exits.  Without
the program, the kernel accepts packets by itself (--queue-bypass).
"""

from __future__ import annotations

import contextlib
import errno
import gc
import heapq
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import time
from pathlib import Path

# Constants of linux/netlink.h and linux/netfilter/nfnetlink_queue.h.
NETLINK_NETFILTER = 12
SUBSYSTEM = 3 << 8
PACKET, VERDICT, CONFIG = SUBSYSTEM | 0, SUBSYSTEM | 1, SUBSYSTEM | 2
CFG_CMD, CFG_PARAMS, CFG_MAXLEN = 1, 2, 3
BIND, COPY_META, COPY_PACKET = 1, 1, 2
PACKET_HDR, VERDICT_HDR, PAYLOAD = 1, 2, 10
ACCEPT = 1
REQUEST, ACK = 1, 4
MARK = 0x77
HELD_MOST = 20_000
SOL_NETLINK, NO_ENOBUFS = 270, 5


def attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def message(kind: int, flags: int, queue: int, *attributes: bytes) -> bytes:
    body = struct.pack("!BBH", 0, 0, queue) + b"".join(attributes)
    return struct.pack("=IHHII", 16 + len(body), kind, flags, 0, 0) + body


def verdict(queue: int, packet: int) -> bytes:
    return message(VERDICT, REQUEST, queue, attribute(VERDICT_HDR, struct.pack("!II", ACCEPT, packet)))


def packets(data: bytes) -> list[tuple[int, bytes]]:
    """Parse received data into (packet id, payload) for every packet message.

    Raises OSError for an error message, unless it says that a held packet no longer exists (ENOENT): the kernel drops
    all held packets when a chain of another fault is removed.
    """
    parsed, at = [], 0
    while at + 16 <= len(data):
        size, kind = struct.unpack_from("=IH", data, at)
        if size < 16:
            break
        if kind == 2 and (code := struct.unpack_from("=i", data, at + 16)[0]) not in (0, -errno.ENOENT):
            raise OSError(-code, os.strerror(-code))
        if kind == PACKET:
            parsed.append(_packet(data[at + 20 : at + size]))
        at += (size + 3) & ~3
    return parsed


def _packet(attributes: bytes) -> tuple[int, bytes]:
    number, payload, at = 0, b"", 0
    while at + 4 <= len(attributes):
        size, kind = struct.unpack_from("=HH", attributes, at)
        kind &= 0x3FFF
        if kind == PACKET_HDR:
            number = struct.unpack_from("!I", attributes, at + 4)[0]
        elif kind == PAYLOAD:
            payload = attributes[at + 4 : at + size]
        at += max(4, (size + 3) & ~3)
    return number, payload


class Timing:
    """Draws the time (in seconds) at which each packet is released.

    Packets keep their order, except those drawn to overtake.
    """

    def __init__(self, delay_s: float, jitter_s: float, reorder: float, rng: random.Random) -> None:
        self.delay_s, self.jitter_s, self.reorder, self.rng = delay_s, jitter_s, reorder, rng
        self.last = 0.0
        self.overtook = 0

    def due(self, now: float) -> float:
        if self.rng.random() < self.reorder:
            self.overtook += self.last > now
            return now
        self.last = max(self.last, now + self.delay_s + self.rng.uniform(-self.jitter_s, self.jitter_s))
        return self.last


def open_queue(queue: int, *, with_payload: bool) -> socket.socket:
    """Return a netlink socket bound to the queue.  Raises OSError if another program uses the queue."""
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
    with contextlib.suppress(OSError):
        link.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
    link.setsockopt(SOL_NETLINK, NO_ENOBUFS, 1)
    link.bind((0, 0))
    mode = COPY_PACKET if with_payload else COPY_META
    for part in (
        attribute(CFG_CMD, struct.pack("!BBH", BIND, 0, socket.AF_INET)),
        attribute(CFG_PARAMS, struct.pack("!IB", 0xFFFF, mode)),
        attribute(CFG_MAXLEN, struct.pack("!I", HELD_MOST)),
    ):
        link.send(message(CONFIG, REQUEST | ACK, queue, part))
        packets(link.recv(1 << 17))
    link.settimeout(0.0)
    return link


class Helper:
    """Handles one queue until SIGTERM."""

    def __init__(self, queue: int, timing: Timing, duplicate: float) -> None:
        self.queue, self.timing, self.duplicate = queue, timing, duplicate
        self.link = open_queue(queue, with_payload=duplicate > 0)
        self.held: list[tuple[float, int, int, bytes]] = []
        self.seen = self.doubled = 0
        self.stopped = False
        self.raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) if duplicate > 0 else None
        if self.raw:
            self.raw.setsockopt(socket.SOL_SOCKET, 36, MARK)  # SO_MARK

    def counts(self) -> str:
        return json.dumps({"seen": self.seen, "doubled": self.doubled, "overtook": self.timing.overtook}) + "\n"

    def run(self) -> None:
        poll = select.poll()
        poll.register(self.link, select.POLLIN)
        while not self.stopped:
            wait_ms = 200.0 if not self.held else max(0.0, (self.held[0][0] - time.monotonic()) * 1000)
            # poll() waits whole milliseconds, so a short loop of empty polls waits for the rest.
            if poll.poll(min(200, int(wait_ms))):
                self.take_in()
            self.let_go(time.monotonic())
        self.let_go(float("inf"))

    def take_in(self) -> None:
        with contextlib.suppress(BlockingIOError):
            for _ in range(64):
                for number, payload in packets(self.link.recv(1 << 17)):
                    self.seen += 1
                    due = self.timing.due(time.monotonic())
                    heapq.heappush(self.held, (due, self.seen, number, payload))

    def let_go(self, now: float) -> None:
        batch = []
        while self.held and self.held[0][0] <= now:
            _, _, number, payload = heapq.heappop(self.held)
            batch.append(verdict(self.queue, number))
            if payload and self.timing.rng.random() < self.duplicate:
                self.send_again(payload)
        for at in range(0, len(batch), 500):
            self.link.send(b"".join(batch[at : at + 500]))

    def send_again(self, payload: bytes) -> None:
        if self.raw and payload[0] >> 4 == 4:
            with contextlib.suppress(OSError):
                self.raw.sendto(payload, (socket.inet_ntoa(payload[16:20]), 0))
                self.doubled += 1


def main(arguments: list[str]) -> None:
    queue, ready = int(arguments[0]), Path(arguments[1])
    delay_ms, jitter_ms, reorder, duplicate = map(float, arguments[2:6])
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    rng = random.Random(int(arguments[6]))
    helper = Helper(queue, Timing(delay_ms / 1000, jitter_ms / 1000, reorder, rng), duplicate)
    signal.signal(signal.SIGTERM, lambda *_: setattr(helper, "stopped", True))
    signal.signal(signal.SIGUSR1, lambda *_: write_counts(helper, ready))
    gc.disable()
    ready.write_text(f"{os.getpid()}\n")
    helper.run()
    ready.with_suffix(".done").write_text(helper.counts())
    ready.unlink()


def write_counts(helper: Helper, ready: Path) -> None:
    """Write the counts to a file and rename it into place, so that a reader never sees half a file."""
    part = ready.with_suffix(".part")
    part.write_text(helper.counts())
    part.replace(ready.with_suffix(".counts"))


if __name__ == "__main__":
    main(sys.argv[1:])
