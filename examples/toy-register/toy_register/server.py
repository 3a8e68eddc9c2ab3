"""A register that is correct by simplicity, and its broken twins.

The first node holds the data: every write is in its log, synced, before it is answered.  The other nodes pass requests
on.  It runs on a node, as a program, with only Python's own library:

    server.py HOLDER_ADDRESS|self BUG LOG

Bugs: ``none``; ``unlogged`` (writes are acknowledged before they reach the log's file), ``unsynced`` (the log is
written and not synced), ``stale`` (when the holder cannot be reached, reads are answered from what was last seen),
``retried`` (a request that takes long is sent again, and the holder carries both out).
"""

import json
import os
import socket
import sys
import threading
import time
from pathlib import Path

PORT = 20911


class Holder:
    def __init__(self, bug, log):
        self.bug, self.lock, self.data, self.path = bug, threading.Lock(), {}, log
        log.parent.mkdir(parents=True, exist_ok=True)
        whole = log.read_bytes() if log.exists() else b""
        whole = whole[: whole.rfind(b"\n") + 1]
        self.count = 0
        for line in whole.splitlines():
            key, value = json.loads(line)
            self.data[key] = value
            self.count += 1
        log.write_bytes(whole)
        self.log = log.open("ab", buffering=1 << 20 if bug == "unlogged" else 0)
        os.fsync(self.log.fileno())
        os.fsync(os.open(log.parent, os.O_RDONLY))

    def answer(self, request):
        with self.lock:
            if request["op"] == "status":
                return {"ok": True, "value": self.status("leader")}
            if request["op"] == "write":
                self.log.write((json.dumps([request["key"], request["value"]]) + "\n").encode())
                if self.bug not in ("unlogged", "unsynced"):
                    os.fsync(self.log.fileno())
                self.data[request["key"]] = request["value"]
                self.count += 1
            return {"ok": True, "value": self.data.get(request["key"])}

    def status(self, role):
        return {"role": role, "term": 1, "log_end": self.count, "committed": self.count, "applied": self.count}

    def went_wrong(self):
        if not os.access(self.path, os.W_OK):
            os._exit(1)  # nothing can be acknowledged without a log


class Passer:
    def __init__(self, holder, bug):
        self.holder, self.bug = holder, bug
        self.last = {}

    def answer(self, request):
        if request["op"] == "status":
            answer = self.ask(request, 0.5)
            return {**answer, "value": {**answer["value"], "role": "follower"}} if answer["ok"] else answer
        for attempt in range(4 if self.bug == "retried" else 1):
            answer = self.ask(request, 0.1 if self.bug == "retried" and attempt < 3 else 2.5)
            if answer["ok"]:
                self.last[request["key"]] = answer["value"]
                return answer
        if self.bug == "stale" and request["op"] == "read" and request["key"] in self.last:
            return {"ok": True, "value": self.last[request["key"]]}
        return answer

    def ask(self, request, timeout):
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

    def went_wrong(self):
        pass


def serve(link, role):
    try:
        for line in link.makefile():
            request = json.loads(line)
            if not request:  # a peer's heartbeat
                continue
            answer = {"ok": True, "value": time.time()} if request["op"] == "clock" else role.answer(request)
            link.sendall(json.dumps({**answer, "id": request.get("id")}).encode() + b"\n")
    except OSError:
        role.went_wrong()


def main():
    holder, bug, log = sys.argv[1:4]
    role = Holder(bug, Path(log)) if holder == "self" else Passer(holder, bug)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", PORT))
    listener.listen(128)
    print(f"{bug}: listening at {PORT}, data at {holder}", flush=True)
    while True:
        try:
            threading.Thread(target=serve, args=(listener.accept()[0], role), daemon=True).start()
        except (OSError, RuntimeError, MemoryError):  # no memory for a connection or a thread: it may work later
            time.sleep(0.05)


if __name__ == "__main__":
    main()
