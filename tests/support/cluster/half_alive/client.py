"""A client that asks the worker's own node, with a new connection for each operation."""

import json
import socket
import sys

for line in sys.stdin:
    request = json.loads(line)
    answer = {"type": "fail", "error": "no connection"}
    try:
        with socket.create_connection((request["address"], 7000), 1.5) as link:
            answer = {"type": "info", "error": "no answer"}
            link.settimeout(0.6 * request["timeout"])
            link.sendall(line.encode())
            answer = json.loads(link.makefile().readline())
    except (OSError, ValueError):
        pass
    print(json.dumps({"id": request["id"], **answer}), flush=True)
