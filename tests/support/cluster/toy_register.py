"""A register that is correct by simplicity, its broken twins, and clients that record what they saw.

The first node holds the data: every write is in its log, synced, before it is answered.  The other nodes pass requests
on.  It runs on a node, as a program, with only Python's own library:

    toy_register.py HOLDER_ADDRESS|self BUG

Bugs: ``none``; ``unlogged`` (writes are acknowledged before they reach the log's file), ``unsynced`` (the log is
written and not synced), ``stale`` (when the holder cannot be reached, reads are answered from what was last seen),
``retried`` (a request that takes long is sent again, and the holder carries both out).
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from pathlib import Path

PORT, LOG = 20911, Path("/data/store/log")


class Holder:
    def __init__(self, bug: str) -> None:
        self.bug, self.lock, self.data = bug, threading.Lock(), {}
        LOG.parent.mkdir(parents=True, exist_ok=True)
        whole = LOG.read_bytes() if LOG.exists() else b""
        whole = whole[: whole.rfind(b"\n") + 1]
        for line in whole.splitlines():
            key, value = json.loads(line)
            self.data[key] = value
        LOG.write_bytes(whole)
        self.log = LOG.open("ab", buffering=1 << 20 if bug == "unlogged" else 0)
        os.fsync(self.log.fileno())
        os.fsync(os.open(LOG.parent, os.O_RDONLY))

    def answer(self, request: dict) -> dict:
        with self.lock:
            if request["op"] == "write":
                self.log.write((json.dumps([request["key"], request["value"]]) + "\n").encode())
                if self.bug not in ("unlogged", "unsynced"):
                    os.fsync(self.log.fileno())
                self.data[request["key"]] = request["value"]
            return {"ok": True, "value": self.data.get(request["key"])}


class Passer:
    def __init__(self, holder: str, bug: str) -> None:
        self.holder, self.bug = holder, bug
        self.last: dict[str, object] = {}

    def answer(self, request: dict) -> dict:
        for attempt in range(4 if self.bug == "retried" else 1):
            answer = self.ask(request, 0.1 if self.bug == "retried" and attempt < 3 else 2.5)
            if answer["ok"]:
                self.last[request["key"]] = answer["value"]
                return answer
        if self.bug == "stale" and request["op"] == "read" and request["key"] in self.last:
            return {"ok": True, "value": self.last[request["key"]]}
        return answer

    def ask(self, request: dict, timeout: float) -> dict:
        try:
            link = socket.create_connection((self.holder, PORT), timeout)
        except OSError as error:
            return {"ok": False, "certain": True, "error": str(error)}
        with link:
            try:
                link.settimeout(timeout)
                link.sendall(json.dumps(request).encode() + b"\n")
                return json.loads(link.makefile().readline() or "x")
            except (OSError, ValueError) as error:
                return {"ok": False, "certain": False, "error": str(error)}


def serve(link: socket.socket, role: Holder | Passer) -> None:
    try:
        for line in link.makefile():
            request = json.loads(line)
            if not request:  # a peer's heartbeat
                continue
            told = {"ok": True, "value": time.time()} if request["op"] == "clock" else role.answer(request)
            link.sendall(json.dumps(told).encode() + b"\n")
    except OSError:
        if isinstance(role, Holder) and not os.access(LOG, os.W_OK):
            os._exit(1)  # a log that cannot be written is no place to go on from


def main() -> None:
    import toy_life  # beside this program, on the node

    holder, bug = sys.argv[1:3]
    role = Holder(bug) if holder == "self" else Passer(holder, bug)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", PORT))
    listener.listen(128)
    toy_life.begin(LOG.with_name("life"))
    while True:
        try:
            threading.Thread(target=serve, args=(listener.accept()[0], role), daemon=True).start()
        except (OSError, RuntimeError, MemoryError):  # no memory for a connection, or for a thread: later, perhaps
            time.sleep(0.05)


if __name__ == "__main__":
    main()


class Clients:
    """One thread a client, each at a node of its own; operations as the checker takes them."""

    def __init__(self, addresses: list[str], keys: int = 3) -> None:
        self.addresses, self.keys = addresses, keys
        self.operations: list = []
        self.stop = threading.Event()
        self._lock = threading.Lock()
        self._index = self._processes = self._value = 0
        self._threads = [threading.Thread(target=self._work, args=(n,)) for n in range(2 * len(addresses))]

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join()

    def _next(self, name: str) -> int:
        with self._lock:
            value = getattr(self, name)
            setattr(self, name, value + 1)
            return value

    def _work(self, number: int) -> None:
        import random

        rng, link, process = random.Random(number), None, self._next("_processes")
        while not self.stop.is_set():
            f = "write" if rng.random() < 0.5 else "read"
            key, value = f"k{rng.randrange(self.keys)}", self._next("_value") if f == "write" else None
            invoked, index = time.monotonic_ns(), self._next("_index")
            link, answer = self._ask(
                link, self.addresses[number % len(self.addresses)], {"op": f, "key": key, "value": value}
            )
            outcome = "ok" if answer["ok"] else "fail" if answer.get("certain") or f == "read" else "info"
            self._keep(process, f, key, value, answer, outcome, invoked, index)
            if outcome == "info":
                process = self._next("_processes")
            self.stop.wait(0.02 if answer["ok"] else 0.1)
        if link:
            link.close()

    def _keep(self, process, f, key, value, answer, outcome, invoked, index) -> None:
        from history import Operation

        result = answer.get("value") if f == "read" and outcome == "ok" else value
        back = None if outcome == "info" else self._next("_index")
        done = None if outcome == "info" else time.monotonic_ns()
        with self._lock:
            self.operations.append(Operation(process, f, key, value, result, outcome, invoked, done, index, back))

    def _ask(self, link, address: str, request: dict):
        try:
            link = link or socket.create_connection((address, PORT), 1.0)
        except OSError as error:
            return None, {"ok": False, "certain": True, "error": str(error)}
        try:
            link.settimeout(3.0)
            link.sendall(json.dumps(request).encode() + b"\n")
            line = b""
            while not line.endswith(b"\n"):
                if not (data := link.recv(4096)):
                    raise OSError("closed")
                line += data
            return link, json.loads(line)
        except (OSError, ValueError) as error:
            link.close()
            return None, {"ok": False, "certain": False, "error": str(error)}
