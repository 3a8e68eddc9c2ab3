"""The tutorial's replicated server with more kinds of objects, and with bugs that a test must find.

    objects.py --node n1 --peers n1=10.0.0.1:7000,… --data DIR [--arbiter n5] [--bug=…]

An arbiter votes.  It keeps the number of the newest copy, but no copy.  The server does not start from a damaged file.

A client sends ``op {"f": "add", "key": "s", "value": 3}``.  The answer is a line of JSON: the type and value of the
outcome, or ``{"ask": "n2"}`` if this node did nothing and n2 leads.  objects.toml describes each bug.
"""

import argparse
import asyncio
import contextlib
import json
import time
import zlib
from pathlib import Path

from server import COPY_S, Server

LEASE_S, EXPIRY_S, DIRTY_S, DEPOSED_S, OLD_S = 0.8, 0.3, 0.005, 0.05, 5.0
READS = ("read", "get", "list")
REFUSED = {"type": "fail", "error": "refused"}


class Objects(Server):
    """Registers, sets, counters, locks and a log; the copy maps each key to its object."""

    def __init__(self, name, peers, file, bug, arbiter=False):
        self.again, self.arbiter = file.exists(), arbiter
        super().__init__(name, peers, file, sync=True, bug=bug)
        if self.again and self.held.pop("sum") != self.checksum():
            raise SystemExit(f"{file} is damaged")
        self.lease, self.connections = 0.0, 0
        # ``agreed`` is the last copy that a majority held while this node led.
        self.dirty, self.agreed, self.deposed, self.old = {}, {}, 0.0, ({}, 0.0)

    def do(self, _, text):
        request = json.loads(text)
        changed, answer = self.done(request["f"], request["key"], request["value"])
        if changed is not None:
            copy = {**self.held["copy"], request["key"]: changed}
            self.held = {**self.held, "seq": self.held["seq"] + 1, "copy": copy}
        return json.dumps(answer)

    def done(self, f, key, value):
        """Return the new state of the object (None: unchanged) and the answer."""
        held = self.held["copy"].get(key)
        if f == "write":
            return value, {"type": "ok"}
        if f == "add" and key.startswith("set"):
            return [*(held or []), value], {"type": "ok"}
        if f == "add":
            return (held or 0) + value, {"type": "ok"}
        if f == "append":
            return self.appended(held or [], value)
        if f == "acquire":
            return self.acquired(held or {"holder": None, "last": 0, "since": 0})
        if f == "release":
            return self.released(held or {"holder": None, "last": 0, "since": 0}, value)
        return None, self.read(f, key, value, self.held["copy"])

    def read(self, f, key, value, copy):
        held = copy.get(key)
        if f == "get":
            return {"type": "ok", "value": held[value] if held and value < len(held) else None}
        if f == "list":
            return {"type": "ok", "value": list(enumerate(held or []))}
        if key.startswith("set"):
            held = held or []
            twice = self.bug == "duplicated-element" and len(held) > 50
            return {"type": "ok", "value": [*held, held[-1]] if twice else held}
        if key.startswith("counter"):
            return {"type": "ok", "value": held or 0}
        if key.startswith("lock"):
            return {"type": "ok", "value": held and held["holder"]}
        return {"type": "ok", "value": held}

    def appended(self, log, value):
        if self.bug == "reordered-log" and len(log) % 200 == 100:
            log = [*log[:-2], log[-1], log[-2]]
        return [*log, value], {"type": "ok", "value": len(log)}

    def acquired(self, lock):
        expired = self.bug == "expired-lock" and time.time() - lock["since"] > EXPIRY_S
        if lock["holder"] is not None and not expired:
            return None, {"type": "ok", "value": ["held", lock["holder"]]}
        token = lock["last"] + 1
        return {"holder": token, "last": token, "since": time.time()}, {"type": "ok", "value": ["acquired", token]}

    def released(self, lock, token):
        if lock["holder"] is None:
            return None, {"type": "ok", "value": ["free", None]}
        if lock["holder"] != token:
            return None, {"type": "ok", "value": ["held", lock["holder"]]}
        return {**lock, "holder": None}, {"type": "ok", "value": ["released", token]}

    def hear(self, message):
        leads = self.leads
        if self.arbiter and "copy" in message:
            message = {**message, "copy": None}
        answer = super().hear(message)
        if leads and not self.leads:
            self.deposed = time.monotonic()
        return answer

    async def majority(self, message):
        leads = self.leads
        agreed = await super().majority(message)
        if agreed and self.leads:
            self.lease, self.agreed = LEASE_S, message["copy"]
        if leads and not self.leads:
            self.deposed = time.monotonic()
        if "copy" not in message and agreed:  # an election: somebody must have sent the newest copy
            newest = max(agreed, key=lambda one: (one["view"], one["seq"], one["copy"] is not None))
            return [newest] if newest["copy"] is not None else []
        return agreed

    def save(self, **changes):
        if "view" in changes and "promised" not in changes:  # it was elected
            changes["copy"] = {} if self.bug == "loses-everything" else changes["copy"]
        self.held = {**self.held, **changes}
        super().save(sum=self.checksum())
        self.held.pop("sum")

    def checksum(self):
        return zlib.crc32(json.dumps(self.held).encode())

    def status(self):
        """Report the role and the term; an arbiter has no log to report."""
        status = super().status()
        return {"role": "follower", "term": status["term"]} if self.arbiter else status

    async def tick(self):
        """Let the lease run out, by a clock that stops while the process is paused."""
        while True:
            await asyncio.sleep(COPY_S / 2)
            self.lease -= COPY_S / 2

    async def at_once(self, request, connection):
        """Return the answer that a bug gives without asking a majority, or None."""
        f, key, value = request["f"], request["key"], request["value"]
        if self.bug == "dirty-reads" and self.leads and f == "write" and value % 20 == 0:
            self.dirty[key] = value
            await asyncio.sleep(DIRTY_S)
            self.dirty.pop(key, None)
            return REFUSED
        if f not in READS:
            refuses = self.again and self.leads
            return REFUSED if self.bug == "refused-writes" and refuses else None
        if key in self.dirty:
            return {"type": "ok", "value": self.dirty[key]}
        if self.bug == "old-snapshot" and self.name == "n2" and connection % 2:
            if time.monotonic() - self.old[1] > OLD_S:
                self.old = self.held["copy"], time.monotonic()
            return self.read(f, key, value, self.old[0])
        if self.bug == "paused-lease" and self.lease > 0:
            return self.read(f, key, value, self.agreed)
        if self.bug == "deposed-reads" and time.monotonic() - self.deposed < DEPOSED_S:
            return self.read(f, key, value, self.agreed)
        return None

    async def connected(self, reader, writer):
        self.connections += 1
        connection = self.connections
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                if (answer := await self.answered(line, connection)) is not None:
                    writer.write(answer.encode() + b"\n")
        writer.transport.abort()

    async def answered(self, line, connection):
        if line.startswith(b"{"):
            return json.dumps(self.hear(json.loads(line)))
        if self.bug == "mute-node" and self.again and self.name == "n3":
            return None
        if line == b"status\n":
            return json.dumps(self.status())
        request = json.loads(line.split(maxsplit=1)[1])
        if self.bug == "unanswered-writes" and self.again and request["f"] not in READS:
            return None
        if (answer := await self.at_once(request, connection)) is not None:
            return json.dumps(answer)
        self.requests.append((("op", json.dumps(request)), future := asyncio.Future()))
        self.arrived.set()
        answer = await future
        if answer.startswith("no "):
            return json.dumps({"ask": answer.split()[1]})
        if answer != "unknown":
            return answer
        if self.bug == "deposed-reads" and request["f"] in READS and not self.leads:
            return json.dumps(self.read(request["f"], request["key"], request["value"], self.agreed))
        return json.dumps({"type": "info", "error": "not copied to a majority"})


async def main():
    parser = argparse.ArgumentParser()
    for name in ("--node", "--peers", "--data"):
        parser.add_argument(name, required=True)
    parser.add_argument("--arbiter", metavar="NODE", default="")
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    peers = dict(peer.split("=") for peer in args.peers.split(","))
    Path(args.data).mkdir(parents=True, exist_ok=True)
    server = Objects(args.node, peers, Path(args.data) / "copy.json", args.bug, args.node == args.arbiter)
    host, port = peers[args.node].split(":")
    listening = await asyncio.start_server(server.connected, host, port, limit=1 << 24)
    print(f"{args.node} listens on {peers[args.node]} and holds change {server.held['seq']}", flush=True)
    tasks = [server.serve_requests(), server.tick(), listening.serve_forever()]
    await asyncio.gather(*tasks, *([] if server.arbiter else [server.stand_for_election()]))


asyncio.run(main())
