"""The promises of a system: of which operations, and by which source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Where it is said that a state machine on Raft is linearizable to its clients.
RAFT: Final = "Ongaro, Ousterhout: In Search of an Understandable Consensus Algorithm, 2014, section 8"


@dataclass(frozen=True, slots=True)
class Promise:
    """What a system claims, ``of`` which operations (none named: of all), and the ``source`` that says so, if any."""

    claim: str
    of: tuple[str, ...] = ()
    source: str = ""

    def __str__(self) -> str:
        return self.claim
