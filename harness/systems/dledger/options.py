"""The choices of the register on DLedger: versions, options, planted bugs."""

from __future__ import annotations

from typing import Final

from harness.systems.api import Option, PlantedBug, Setup

VERSIONS: Final = ("0.4.0", "0.3.2")

OPTIONS: Final = (
    Option(name="snapshot", default=False, help="DLedger's snapshot mode.", marks_runs=True),
    Option(
        name="snapshot_threshold", default=1000, help="Number of entries between snapshots.", least=1, most=2**31 - 1,
        reason="the server takes a 32-bit number",
    ),
    Option(
        name="timers", default="fast", choices=("fast", "stock"),
        help="Raft timers. fast: a heartbeat every 250 ms; stock: the library's default, every 2 s.",
    ),
    Option(
        name="store_type", default="FILE", choices=("FILE", "MEMORY"), help="Where the servers keep the log.",
    ),
    Option(
        name="read_mode", default="log", choices=("log", "unsafe"),
        help="log: reads go through the Raft log; unsafe: each node answers from its own state, which may be stale.",
    ),
    Option(
        name="client_follows", default="leader", choices=("leader", "node"),
        help="leader: a client goes on to the leader that its node names; node: it asks only its own node.",
    ),
)  # fmt: skip

_IN_SNAPSHOTS: Final = {"snapshot": True}
PLANTED_BUGS: Final = (
    PlantedBug(name="stale-reads", help="log reads are answered from the node's own memory, on any node"),
    PlantedBug(
        name="ack-before-commit",
        help="changes of the state are acknowledged as soon as the leader has appended them",
    ),
    PlantedBug(
        name="apply-twice",
        help="one write, add, transfer or acquire in fifty is applied again, thirty entries later, on every node",
        found_by=("linearizable", "elements"),
    ),
    PlantedBug(
        name="skip-entry",
        help="the node with the last name skips one write, add, transfer or acquire in twenty",
        found_by=("replicas-agree", "linearizable"),
    ),
    PlantedBug(
        name="lose-write",
        help="on every node, one write, add, transfer or acquire in a thousand is acknowledged but not applied",
    ),
    PlantedBug(
        name="forget-in-snapshot",
        help="a snapshot lacks the least recently written register",
        found_by=("replicas-agree", "linearizable"),
        options=_IN_SNAPSHOTS,
    ),
    PlantedBug(
        name="snapshot-wrong-index",
        help="a snapshot's state lacks the last twenty changes before its index",
        found_by=("replicas-agree", "linearizable"),
        options=_IN_SNAPSHOTS,
    ),
    PlantedBug(
        name="vote-twice",
        help="a node forgets its vote within a millisecond, even on disk, and votes again in that term",
        found_by=("election-safety",),
    ),
    PlantedBug(name="deposed-reads", help="a node that has once led answers log reads from its own memory"),
)


def refuse(setup: Setup) -> str | None:
    """Return why this combination cannot run, with the remedy, or None."""
    if setup.options["snapshot"] and setup.version == "0.3.2":
        return "--snapshot needs --dledger-version 0.4.0: 0.3.2 runs only without snapshots"
    return None
