"""The promises of a system: which operations they cover, which checks show one broken, where they are stated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

RAFT_PAPER: Final = "Ongaro, Ousterhout: In Search of an Understandable Consensus Algorithm, 2014"
#: The source for the claim that a state machine on Raft is linearizable to its clients.
RAFT: Final = f"{RAFT_PAPER}, section 8"


@dataclass(frozen=True, slots=True)
class Promise:
    """A claim of a system, and the ``source`` that states it, if any.

    ``of`` are the operations that the claim covers.  ``checks`` are the checks that fail if it is broken, in addition
    to the check of what clients saw of these operations.  ``kinds`` are the only kinds of violation in those checks
    that break it; if empty, all do.  A promise that names neither operations nor checks covers everything.
    """

    claim: str
    of: tuple[str, ...] = ()
    source: str = ""
    checks: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.claim


#: Raft's promises about the nodes.  The properties have the names of the paper's figure 3.
RAFT_PROMISES: Final = (
    Promise(
        "Election Safety: at most one leader is elected in a term",
        checks=("election-safety",),
        source=f"{RAFT_PAPER}, figure 3",
    ),
    Promise(
        "a node never goes back to an earlier term: it saves its term to stable storage before it answers",
        checks=("terms-kept",),
        source=f"{RAFT_PAPER}, figure 2",
    ),
    Promise(
        "Leader Completeness: a committed entry is in the logs of the leaders of all later terms",
        checks=("leader-complete",),
        source=f"{RAFT_PAPER}, figure 3",
    ),
    Promise(
        "Leader Completeness and Log Matching: a node removes only entries that conflict with its leader's log, which "
        "has every committed entry, so it never removes a committed entry",
        checks=("committed-kept",),
        source=f"{RAFT_PAPER}, figure 3 and section 5.3",
    ),
    Promise(
        "a node commits only entries in its log, and applies only committed entries",
        checks=("log-order",),
        source=f"{RAFT_PAPER}, figure 2",
    ),
    Promise(
        "State Machine Safety: no two nodes apply different entries at one index",
        checks=("replicas-agree",),
        source=f"{RAFT_PAPER}, figure 3",
    ),
    Promise(
        "a cluster in which a majority can communicate serves again, and every node receives the entries it lacks; "
        "Raft does not promise how soon, so this harness sets a limit",
        checks=("recovery",),
        source=f"{RAFT_PAPER}, sections 2 and 5.3",
    ),
)
