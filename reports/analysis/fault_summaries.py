"""What each kind of fault does, in one line; a test holds that these are the catalogue's own summaries.

They are told here because reports import nothing of ``nemesis``, and because runs of earlier versions, whose results do
not hold them, are drawn too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

SUMMARIES: Final[Mapping[str, str]] = {
    "partition-random-node": "one random node hears nobody and nobody hears it",
    "partition-random-halves": "two random halves; one of them keeps a quorum",
    "bridge": "two halves that only meet in one node of the larger",
    "partition-majorities-ring": "every node sees a majority, and no two nodes see the same one",
    "partition-leader-minority": "the leader ends up on the side without a quorum",
    "partition-leader-majority": "the leader keeps a bare majority, the rest is cut off",
    "partition-one-way": "the leader is heard but hears nobody, or the reverse",
    "swizzle": "links between two halves cut one by one, restored in another order",
    "reset": "two halves refuse each other's connections with a TCP reset",
    "isolate-until-snapshot": "one follower is cut off until it can only return by a snapshot",
    "packet-loss": "a share of the packets between two halves is lost",
    "slow-link": "the links between two halves carry few kilobytes a second",
    "packet-delay": "packets between two halves come 50 ms later, give or take 10",
    "packet-reorder": "a share of the packets between two halves overtakes the others",
    "packet-duplicate": "a share of the packets between two halves comes twice",
    "kill-random-processes": "SIGKILL to a random subset, mostly small, that leaves a majority",
    "kill-leader": "SIGKILL to the leader",
    "kill-followers": "SIGKILL to as many followers as leave a majority",
    "kill-all": "SIGKILL to every process at once",
    "hammer-time": "SIGSTOP to one random node's process, later SIGCONT",
    "pause-leader": "SIGSTOP to the leader, later SIGCONT",
    "pause-majority": "SIGSTOP to a random majority, later SIGCONT",
    "kill-leader-then-successor": "SIGKILL to the leader, and to the next one up to 2 s after it leads",
    "restart-rolling": "one node after another is killed and started, each after the last one answers",
    "leader-transfer": "the leader is asked to hand over to a random follower",
    "crash-random-nodes": "a power cut: random nodes lose every byte that was not synced",
    "crash-all": "a power cut of all nodes at once",
    "disk-error": "every write to the disks of random nodes is answered with an I/O error",
    "disk-full": "the data filesystem of random nodes is filled to the last block",
    "file-truncate": "the last bytes of a file of one node's store are gone",
    "file-bitflip": "bits of a file of one node's store are flipped",
    "clock-skew": "clocks of a random minority are wrong by up to 5 s",
    "clock-jump": "clocks of a random minority jump every second, by up to 10 minutes, both ways",
    "clock-strobe": "clocks of a random minority go wrong and right ten times a second",
    "cpu-starve": "the processes of a random minority get 5 % of one processor",
    "memory-pressure": "the processes of a random minority get no more memory than they touch in a second (16 MB)",
    "disk-slow": "the disks of a random minority take 20 writes a second",
}


def describe(names: Iterable[str]) -> list[tuple[str, str]]:
    """(name, what it does) of the kinds that are known, each once, in the order of ``names``."""
    return [(name, SUMMARIES[name]) for name in dict.fromkeys(names) if name in SUMMARIES]
