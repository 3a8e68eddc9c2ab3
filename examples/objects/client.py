#!/usr/bin/env python3
"""A client of the servers beside it. It asks its own node, and then the node that this one names.

    client.py n1=10.0.0.1:7000,… [BUG]

With the BUG ``retried-add`` it resends an add that gets no answer within 30 ms. A test must find that.
"""

import json
import socket
import sys
import time

PEERS = dict(peer.split("=") for peer in sys.argv[1].split(","))
BUG = sys.argv[2] if len(sys.argv) > 2 else ""
PATIENCE_S = 0.03
LINKS = {}


def ask(node, line, until):
    """Return a node's answer to one line.  Raises OSError and ValueError."""
    LINKS[node].settimeout(max(until - time.monotonic(), 0.01))
    LINKS[node].sendall(line)
    return json.loads(LINKS[node].makefile().readline())


def outcome(request):
    asked = {name: request[name] for name in ("f", "key", "value") if name in request}
    line = b"status\n" if request["f"] == "probe" else f"op {json.dumps(asked)}\n".encode()
    node, until = request["node"], time.monotonic() + 0.9 * request["timeout"]
    again = BUG == "retried-add" and request["f"] == "add"
    hops, in_doubt = 0, False
    while hops < 3:
        try:
            if node not in LINKS:
                LINKS[node] = socket.create_connection(PEERS[node].split(":"), max(until - time.monotonic(), 0.01))
        except OSError as error:
            return {"type": "info" if in_doubt else "fail", "error": f"no connection to {node}: {error}"}
        try:
            answer = ask(node, line, min(until, time.monotonic() + PATIENCE_S) if again else until)
        except (OSError, ValueError) as error:
            LINKS.pop(node).close()
            if again:
                again, in_doubt, hops = False, True, hops + 1
                continue
            return {"type": "info", "error": f"no answer from {node}: {error}"}
        if request["f"] == "probe":
            return {"type": "ok", "value": answer}
        if "ask" not in answer:
            return answer
        node, hops = answer["ask"], hops + 1
    return {"type": "info" if in_doubt else "fail", "error": "no primary"}


for text in sys.stdin:
    request = json.loads(text)
    print(json.dumps({"id": request["id"], **outcome(request)}), flush=True)
