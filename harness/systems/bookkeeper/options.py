"""Versions, options and planted bugs of BookKeeper, and the quorums that a cluster's size allows."""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.errors import UsageError
from harness.systems.api import Machine, Option, PlantedBug, Setup

VERSIONS: Final = ("4.17.3", "4.18.0")
#: Possible values of ensemble, write quorum and ack quorum.
QUORUMS: Final = ("3-3-2", "3-3-3", "3-2-2", "3-3-1", "3-2-1", "3-1-1", "2-2-2", "2-2-1", "5-3-2")


class Quorum(NamedTuple):
    """The numbers of bookies that hold a ledger, hold each entry, and must answer before an add is acknowledged."""

    ensemble: int
    write: int
    ack: int


OPTIONS: Final = (
    Option(name="quorum", default="3-3-2", choices=QUORUMS, marks_runs=True,
           help="Ensemble, write and ack quorum of each ledger (E-W-A)."),
    Option(name="hit", default="bookie", choices=("bookie", "gateway"),
           help="Processes that faults kill and pause; n1 runs the metadata server in place of a bookie."),
    Option(name="window", default=64, least=1, most=256, reason="no writer has more adds in flight",
           help="Maximum number of adds that a writer has in flight; each ledger draws its own."),
    Option(name="recoverers", default=3, least=1, most=3, reason="a ledger has five workers",
           help="Maximum number of clients that recover a ledger; each ledger draws its own."),
    Option(name="slow_bookies", default=0, least=0, most=98, reason="a cluster has no more nodes", marks_runs=True,
           help="Number of bookies that are slow to store an entry, a ledger's key or a fence: an injected fault."),
    Option(name="slow_ms", default=60, least=1, most=1000, reason="an add times out after 2 s", marks_runs=True,
           help="Longest delay of a slow bookie, in milliseconds; the shortest is a quarter of it."),
    Option(name="late_writers", default=0, least=0, most=3600, reason="no run lasts longer", marks_runs=True,
           help="Half of the writers pause before their ledger is recovered, and resume adding between this many "
                "seconds and three times as many after its end is known; 0: none."),
    Option(name="recovery_batch", default=3, least=1, most=64, reason="no recovery reads further ahead",
           help="Entries that a recovery reads at once (recoveryReadBatchSize)."),
)  # fmt: skip
PLANTED_BUGS: Final = (
    PlantedBug(
        name="wiped-bookies", found_by=("ledgers",), options={"quorum": "3-1-1"},
        help="a restarted bookie has lost its disk, including the cookie by which it would notice the loss",
    ),
    PlantedBug(
        name="replaced-bookies", found_by=("ledgers",), options={"quorum": "2-2-2", "late_writers": 20},
        help="a restarted bookie is a replacement with the same name, address and cookie but an empty disk, so it "
             "does not know about fences",
    ),
    PlantedBug(
        name="unjournaled", found_by=("ledgers",),
        help="journalWriteData=false: entries are acknowledged from memory",
    ),
)  # fmt: skip


def quorum(setup: Setup) -> Quorum:
    return Quorum(*map(int, str(setup.options["quorum"]).split("-")))


def bookies(setup: Setup) -> tuple[Machine, ...]:
    """Return the nodes that run bookies: all but the first, which has the metadata server.

    Raises UsageError unless there is a bookie more than an ensemble needs: otherwise the first dead bookie would end
    every add.
    """
    machines, ensemble = setup.nodes[1:], quorum(setup).ensemble
    if len(machines) <= ensemble:
        need = f"-o quorum={setup.options['quorum']} needs {ensemble + 1} bookies besides the metadata server"
        raise UsageError(f"{need}: use --nodes {ensemble + 2}, or another quorum")
    return machines
