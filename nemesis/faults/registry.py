"""All faults by name.  To register the faults of a new file, add its tuple to ``_GROUPS``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from nemesis.core.errors import UnknownFaultError
from nemesis.core.fault import Context, Fault
from nemesis.faults.clocks import CLOCKS
from nemesis.faults.delay import DELAY
from nemesis.faults.disks import DISKS
from nemesis.faults.leadership import LEADERSHIP
from nemesis.faults.partitions import PARTITIONS
from nemesis.faults.power import POWER
from nemesis.faults.processes import PROCESSES, all_nodes
from nemesis.faults.resources import RESOURCES
from nemesis.faults.rolling import ROLLING
from nemesis.faults.targeted_partitions import TARGETED_PARTITIONS
from nemesis.faults.traffic import TRAFFIC

_GROUPS: Final[tuple[Iterable[Fault], ...]] = (
    PARTITIONS,
    TARGETED_PARTITIONS,
    TRAFFIC,
    DELAY,
    PROCESSES,
    LEADERSHIP,
    ROLLING,
    POWER,
    DISKS,
    CLOCKS,
    RESOURCES,
)

FAULTS: Final[Mapping[str, Fault]] = {fault.name: fault for group in _GROUPS for fault in group}


def find(name: str) -> Fault:
    """Return the fault with this name.  Raises UnknownFaultError, which suggests similar names."""
    if name not in FAULTS:
        raise UnknownFaultError(name, FAULTS)
    return FAULTS[name]


def aim_refusal(name: str) -> str:
    """Return why a fault's targets cannot be chosen by words; empty if they can.  Raises UnknownFaultError."""
    return str(getattr(find(name), "unaimed", ""))


def one_at_a_time(name: str) -> bool:
    """Return whether a fault stops its nodes one after another, never all at once.  Raises UnknownFaultError."""
    return bool(getattr(find(name), "one_at_a_time", False))


def takes_memory(name: str) -> bool:
    """Return whether a fault takes memory, so that the kernel may kill processes.  Raises UnknownFaultError."""
    return bool(getattr(find(name), "takes_memory", False))


def may_end_processes(name: str) -> bool:
    """Return whether a fault may have ended a process; True for an unknown fault."""
    fault = FAULTS.get(name)
    return fault is None or fault.family in ("kill", "disk") or takes_memory(name)


def hits_all(name: str) -> bool:
    """Return whether a fault always hits every member that is under no other fault.  Raises UnknownFaultError."""
    return getattr(find(name), "choose", None) is all_nodes or one_at_a_time(name)


def prechecks(ctx: Context, names: Iterable[str] = FAULTS) -> dict[str, str | None]:
    """Map each fault's name to the reason why it cannot work on this cluster, or None.  Raises UnknownFaultError."""
    return {name: find(name).precheck(ctx) for name in names}
