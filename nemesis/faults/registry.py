"""Every fault by its name.  A new family adds its tuple to ``_FAMILIES``; that is all the registration there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from nemesis.core.errors import UnknownFaultError
from nemesis.core.fault import Context, Fault
from nemesis.faults.clocks import CLOCKS
from nemesis.faults.delay import SHAPING
from nemesis.faults.disks import DISKS
from nemesis.faults.leadership import SUCCESSIONS
from nemesis.faults.partitions import NETWORK
from nemesis.faults.power import POWER
from nemesis.faults.processes import PROCESSES
from nemesis.faults.resources import LIMITS
from nemesis.faults.targeted_partitions import LINKS
from nemesis.faults.traffic import TRAFFIC

_FAMILIES: Final[tuple[Iterable[Fault], ...]] = (
    NETWORK,
    LINKS,
    TRAFFIC,
    SHAPING,
    PROCESSES,
    SUCCESSIONS,
    POWER,
    DISKS,
    CLOCKS,
    LIMITS,
)

FAULTS: Final[Mapping[str, Fault]] = {fault.name: fault for family in _FAMILIES for fault in family}


def find(name: str) -> Fault:
    """Raises UnknownFaultError with the names that look like this one."""
    if name not in FAULTS:
        raise UnknownFaultError(name, FAULTS)
    return FAULTS[name]


def prechecks(ctx: Context, names: Iterable[str] = FAULTS) -> dict[str, str | None]:
    """For each name why it cannot work on this cluster, or None.  Raises UnknownFaultError."""
    return {name: find(name).precheck(ctx) for name in names}
