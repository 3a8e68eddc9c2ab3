"""Wait until the leader sends a heartbeat on the network.

A system's timers count from its heartbeats.  A fault that begins right after one goes unnoticed for the longest time,
and for the same time in every run.
"""

from __future__ import annotations

from typing import Final

from history.records.probes import leader_now
from nemesis.core.errors import SkippedError
from nemesis.core.fault import Context, complaint
from nemesis.core.ports import Command

#: Longest wait for a heartbeat, in seconds.  All systems under test send them more often.
PATIENCE_S: Final = 5.0

#: Prints how many outgoing packets it looked at until one contained the text.
_WATCH: Final = """
import socket, sys, time
text, end, looked = sys.argv[1].encode(), time.monotonic() + float(sys.argv[2]), 0
watch = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
while (left := end - time.monotonic()) > 0:
    watch.settimeout(left)
    try:
        packet, source = watch.recvfrom(65536)
    except TimeoutError:
        break
    if source[2] == socket.PACKET_OUTGOING:
        looked += 1
        if text in packet:
            print("heartbeat after", looked, "packets")
            sys.exit(0)
print("no heartbeat among", looked, "packets")
"""


def await_heartbeat(ctx: Context) -> None:
    """Return as soon as the leader has sent a heartbeat.

    Raises SkippedError if there is no leader, or if none of its heartbeats is seen within :data:`PATIENCE_S`.
    """
    if (leader := leader_now(ctx.system.probes(), ctx.members)) is None:
        raise SkippedError("cannot wait for a heartbeat: no node leads")
    words = ("python3", "-", ctx.settings.heartbeat, f"{PATIENCE_S:g}")
    answer = ctx.nodes.run({leader: Command(words, stdin=_WATCH, timeout=PATIENCE_S + 10)})[leader]
    if not answer.stdout.startswith("heartbeat"):
        why = answer.stdout.strip() or complaint(answer.stderr)
        raise SkippedError(f"no heartbeat from {leader} within {PATIENCE_S:g} s: {why}")
