"""A small replicated key-value server: one primary, and backups that hold a copy of everything.

    server.py --node n1 --peers n1=10.0.0.1:7000,n2=10.0.0.2:7000,… --data DIR [--replication async] [--bug=…]

Clients send lines.  The answer to ``get x`` is ``ok 3``, or ``ok`` if there is no x; to ``set x 3`` it is ``ok``.  ``no
n2`` means that nothing was done: ask n2.  ``unknown`` means that it may have been done.  ``status`` returns JSON.

The primary of view v is node number v modulo n.  It sends its copy to the others all the time.  A backup that no longer
hears from it asks all nodes for the next view that makes it the primary.  A node that agrees ignores older views from
then on, and sends its copy: the newest copy among a majority becomes the new primary's.

With ``--replication sync`` the primary answers when a majority holds the copy that the answer is from.  With ``async``
it answers at once and sends copies twice a second, which is quicker but can lose acknowledged writes.  With
``--bug=backup-reads`` backups answer reads from their own copies, a bug that a test must find.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import time
from pathlib import Path

COPY_S, LAZY_S, PEER_S, ELECT_S = 0.1, 0.5, 0.5, (1.0, 2.0)


def log(line):
    with contextlib.suppress(OSError):  # the log may be on the failing disk
        print(line, flush=True)


class Server:
    def __init__(self, name, peers, file, sync, bug=""):
        self.name, self.peers, self.file, self.sync, self.bug = name, peers, file, sync, bug
        self.names = sorted(peers)
        # ``promised`` is the newest view that this node knows; its copy is the one after change ``seq`` in ``view``.
        self.held = {"promised": 0, "view": 0, "seq": 0, "copy": {}}
        if file.exists():
            self.held = json.loads(file.read_text())
        self.saved = self.held
        self.leads, self.heard, self.copied = False, time.monotonic(), 0.0
        self.committed = 0  # the last change that a majority is known to hold
        self.requests, self.arrived = [], asyncio.Event()
        self.links, self.locks = {}, {name: asyncio.Lock() for name in peers}

    @property
    def primary(self):
        return self.names[self.held["promised"] % len(self.names)]

    def save(self, **changes):
        """Write the state to disk, or end the process if that fails."""
        self.held = self.saved = {**self.held, **changes}
        try:
            with self.file.with_suffix(".new").open("w") as file:
                file.write(json.dumps(self.held))
                file.flush()
                os.fsync(file.fileno())
            self.file.with_suffix(".new").rename(self.file)
            folder = os.open(self.file.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        except OSError as error:
            log(f"cannot save: {error}")
            os._exit(1)

    def hear(self, message):
        """Answer another server: a message with a copy is from the primary, one without it asks for a view."""
        view, held = message["promised"], self.held
        agreed = view >= held["promised"] if "copy" in message else view > held["promised"]
        if agreed:
            self.heard = time.monotonic()
            self.leads = self.leads and view == held["promised"]
            if "copy" in message and (view, message["seq"]) > (held["view"], held["seq"]):
                self.save(promised=view, view=view, seq=message["seq"], copy=message["copy"])
            elif view > held["promised"]:
                self.save(promised=view)
            if "copy" in message:
                self.committed = max(self.committed, min(message["committed"], self.held["seq"]))
        return {"agreed": agreed, **self.held}

    async def ask(self, name, message):
        """Return the answer of another server, or None."""
        try:
            return await asyncio.wait_for(self.exchange(name, message), PEER_S)
        except (OSError, ValueError, asyncio.TimeoutError):
            return None

    async def exchange(self, name, message):
        async with self.locks[name]:
            try:
                if name not in self.links:
                    self.links[name] = await asyncio.open_connection(*self.peers[name].split(":"), limit=1 << 24)
                reader, writer = self.links[name]
                writer.write(json.dumps(message).encode() + b"\n")
                return json.loads(await reader.readline())
            except BaseException:  # also after a timeout: a late answer would be taken for the next one
                if name in self.links:
                    self.links.pop(name)[1].transport.abort()
                raise

    async def majority(self, message):
        """Return the answers of a majority that agrees, including this node's; empty if there is no such majority."""
        agreed = [self.hear(message)]
        others = [self.ask(name, message) for name in self.names if name != self.name]
        for next_answer in asyncio.as_completed(others):
            answer = await next_answer
            if answer and answer["promised"] > self.held["promised"]:
                self.leads = False
                self.save(promised=answer["promised"])
            agreed += [answer] if answer and answer["agreed"] else []
            if 2 * len(agreed) > len(self.names):
                return agreed
        return []

    async def stand_for_election(self):
        while True:
            await asyncio.sleep(random.uniform(*ELECT_S))
            if not self.leads and time.monotonic() - self.heard > ELECT_S[0]:
                view = self.held["promised"] + 1
                view += (self.names.index(self.name) - view) % len(self.names)
                given = await self.majority({"promised": view})
                if given and self.held["promised"] == view:
                    newest = max(given, key=lambda one: (one["view"], one["seq"]))
                    self.save(view=view, seq=newest["seq"] + 1, copy=newest["copy"])
                    self.leads = True

    async def serve_requests(self):
        """Carry out all requests that have arrived, copy the result, and answer them."""
        while True:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.arrived.wait(), COPY_S)
            self.arrived.clear()
            batch, self.requests = self.requests, []
            answers = [self.do(*words) if self.serves(*words) else f"no {self.primary}" for words, _ in batch]
            if self.leads and (self.sync or time.monotonic() - self.copied > LAZY_S):
                self.copied = time.monotonic()
                if self.held is not self.saved:
                    self.save()
                message = {**self.held, "committed": self.committed}
                if await self.majority(message):
                    self.committed = max(self.committed, message["seq"])
                elif self.sync:
                    answers = ["unknown"] * len(batch)
            for (_, future), answer in zip(batch, answers, strict=True):
                future.set_result(answer)

    def serves(self, verb, *_):
        return self.leads or (verb == "get" and self.bug == "backup-reads")

    def do(self, verb, key, *value):
        if verb == "set":
            self.held = {**self.held, "seq": self.held["seq"] + 1, "copy": {**self.held["copy"], key: value[0]}}
            return "ok"
        return f"ok {self.held['copy'].get(key, '')}".strip()

    def status(self):
        """Return what the harness's probe asks for, by its names."""
        role, term = "leader" if self.leads else "follower", self.held["promised"]
        return {
            "role": role, "term": term, "log_end": self.held["seq"],
            "committed": self.committed, "applied": self.committed, "clock_ms": int(time.time() * 1000),
        }  # fmt: skip

    async def connected(self, reader, writer):
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                if line.startswith(b"{"):
                    answer = json.dumps(self.hear(json.loads(line)))
                elif line == b"status\n":
                    answer = json.dumps(self.status())
                else:
                    self.requests.append((line.decode().split(), future := asyncio.Future()))
                    self.arrived.set()
                    answer = await future
                writer.write(answer.encode() + b"\n")
        writer.transport.abort()


async def main():
    parser = argparse.ArgumentParser()
    for name in ("--node", "--peers", "--data"):
        parser.add_argument(name, required=True)
    parser.add_argument("--replication", choices=("sync", "async"), default="sync")
    parser.add_argument("--bug", choices=("", "backup-reads"), default="")
    args = parser.parse_args()
    peers = dict(peer.split("=") for peer in args.peers.split(","))
    Path(args.data).mkdir(parents=True, exist_ok=True)
    server = Server(args.node, peers, Path(args.data) / "copy.json", args.replication == "sync", args.bug)
    host, port = peers[args.node].split(":")
    listening = await asyncio.start_server(server.connected, host, port, limit=1 << 24)
    log(f"{args.node} listens on {peers[args.node]} and holds change {server.held['seq']}")
    await asyncio.gather(server.stand_for_election(), server.serve_requests(), listening.serve_forever())


if __name__ == "__main__":
    asyncio.run(main())
