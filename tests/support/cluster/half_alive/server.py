"""A register that n1 holds; all other nodes pass requests on to n1. half_alive.toml says what is wrong with it."""

import asyncio
import json
import sys
from pathlib import Path

NODE, PEERS, DATA, BUG = sys.argv[1], dict(p.split("=") for p in sys.argv[2].split(",")), Path(sys.argv[3]), sys.argv[4]
LOG, STARTED = DATA / "log", DATA / "started"


async def done(request):
    if request["f"] == "write":
        if AGAIN and BUG == "reads-only-":
            return {"type": "fail", "error": "no more writes"}
        with LOG.open("a") as log:
            log.write(json.dumps([request["key"], request["value"]]) + "\n")
        HELD[request["key"]] = request["value"]
    return {"type": "ok", "value": HELD.get(request["key"])}


async def passed_on(line):
    writer = None
    try:
        async with asyncio.timeout(1.5):
            reader, writer = await asyncio.open_connection(PEERS["n1"], 7000)
            writer.write(line)
            return json.loads(await reader.readline())
    except (OSError, ValueError):
        return {"type": "info", "error": "n1 did not answer"}
    finally:
        if writer is not None:
            writer.close()


async def connected(reader, writer):
    while line := await reader.readline():
        if AGAIN and BUG == "mute-node-" and NODE == "n3":
            continue
        answer = await done(json.loads(line)) if NODE == "n1" else await passed_on(line)
        writer.write(json.dumps(answer).encode() + b"\n")
    writer.close()


async def main():
    server = await asyncio.start_server(connected, "0.0.0.0", 7000)
    print(NODE, "listens", flush=True)
    await server.serve_forever()


DATA.mkdir(parents=True, exist_ok=True)
AGAIN = STARTED.exists()
STARTED.touch()
HELD = dict(map(json.loads, LOG.read_text().splitlines())) if LOG.exists() else {}
asyncio.run(main())
