"""Clients of the toy register (``examples/toy-register``) that record what they saw, for tests of the nemesis alone."""

from __future__ import annotations

import json
import socket
import threading
import time

PORT = 20911


class Clients:
    """Clients with one thread each, each at its own node; they record operations as the checker takes them."""

    def __init__(self, addresses: list[str], keys: int = 3) -> None:
        self.addresses, self.keys = addresses, keys
        self.operations: list = []
        self.stop = threading.Event()
        self.only_reads = threading.Event()
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

    def await_ok(self, f: str, count: int = 20, *, within_s: float = 60.0) -> None:
        """Wait until this many of these operations that began after the call are ok, and one on every key.

        A busy machine may serve none in a time in which a quiet one serves hundreds.
        """
        began, deadline = time.monotonic_ns(), time.monotonic() + within_s
        while True:
            with self._lock:
                done = [one for one in self.operations if (one.f, one.outcome) == (f, "ok") and one.invoked > began]
            keys = [one.key for one in done]
            if len(keys) >= count and len(set(keys)) == self.keys:
                return
            assert time.monotonic() < deadline, f"{len(keys)} of {f} on {sorted(set(keys))} in {within_s:g} s"
            self.stop.wait(0.05)

    def _next(self, name: str) -> int:
        with self._lock:
            value = getattr(self, name)
            setattr(self, name, value + 1)
            return value

    def _work(self, number: int) -> None:
        import random

        rng, link, process = random.Random(number), None, self._next("_processes")
        while not self.stop.is_set():
            f = "write" if rng.random() < 0.5 and not self.only_reads.is_set() else "read"
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
