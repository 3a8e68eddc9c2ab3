#!/usr/bin/env python3
"""A client of the key-value server, for the harness: an operation a line in, its outcome a line out.

    client.py n1=10.0.0.1:7000,n2=10.0.0.2:7000,…

What decides whether the verdict is worth anything stands in ``outcome``: ``fail`` only if it certainly did nothing.
It is the probe as well, which returns what a node says of itself.
"""

import json
import socket
import sys
import time

PEERS = dict(peer.split("=") for peer in sys.argv[1].split(","))
LINKS = {}


def left(until):
    return max(until - time.monotonic(), 0.01)


def outcome(request):
    words = {"read": "get {key}", "write": "set {key} {value}", "probe": "status"}[request["f"]].format(**request)
    node = request["node"]
    until = time.monotonic() + 0.9 * request["timeout"]  # of all hops together
    for _ in range(3):
        try:
            if node not in LINKS:
                LINKS[node] = socket.create_connection(PEERS[node].split(":"), left(until))
        except OSError as error:
            return {"type": "fail", "error": f"no connection to {node}: {error}"}
        try:
            LINKS[node].settimeout(left(until))
            LINKS[node].sendall(words.encode() + b"\n")
            line = LINKS[node].makefile().readline()
            if request["f"] == "probe":
                return {"type": "ok", "value": json.loads(line)}
            verb, *rest = line.split()
        except (OSError, ValueError) as error:
            LINKS.pop(node).close()
            return {"type": "info", "error": f"no answer from {node}: {error}"}
        if verb == "ok":
            return {"type": "ok", "value": int(rest[0]) if rest else None}
        if verb == "unknown":
            return {"type": "info", "error": "not copied to a majority"}
        node = rest[0]  # no: it did nothing, and names the primary
    return {"type": "fail", "error": "no primary"}


for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], **outcome(request)}), flush=True)
