"""Processes that the kernel ended for want of memory: the machine's doing, and never the system's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from nemesis.core.ports import Command, Nodes

#: Which machine it is, how often its kernel has done so, and whom it ended last, if we may know.
_LOOK: Final = """cat /proc/sys/kernel/random/boot_id
awk '$1 == "oom_kill" { print $2 }' /proc/vmstat
dmesg 2>/dev/null | grep -i 'killed process' | tail -n 1"""
#: Faults that take memory away, so that the kernel may act for a reason of ours.
MEMORY_FAULTS: Final = ("memory-pressure",)


@dataclass(frozen=True, slots=True)
class Count:
    """What a machine's kernel has counted since its start; ``nodes`` live on it, ``victim`` is whom it named last."""

    nodes: tuple[str, ...]
    kills: int
    victim: str


def count_kills(nodes: Nodes) -> dict[str, Count]:
    """The counts of all machines, by their boot: several nodes may live on one."""
    counts: dict[str, Count] = {}
    for node, answer in nodes.run(dict.fromkeys(nodes.names, Command(("sh", "-c", _LOOK)))).items():
        boot, kills, victim = [*answer.stdout.splitlines(), "", "", ""][:3]
        if kills.isdigit():  # there are kernels that do not count
            others = counts[boot].nodes if boot in counts else ()
            counts[boot] = Count((*others, node), int(kills), victim.strip())
    return counts


def describe(before: Mapping[str, Count], after: Mapping[str, Count], faults: Iterable[str]) -> tuple[str, bool] | None:
    """What to say of kills between two counts, and whether a fault of ours may explain them; None if there were none.

    A machine that was started anew meanwhile has begun to count anew.
    """
    places = []
    for boot, count in after.items():
        earlier = before.get(boot, Count((), 0, ""))
        if count.kills > earlier.kills:
            victim = f" ({count.victim})" if count.victim != earlier.victim else ""
            places.append(f"{count.kills - earlier.kills} on the machine of {', '.join(count.nodes)}{victim}")
    if not places:
        return None
    text = f"the kernel's OOM killer ended processes while the run went on: {'; '.join(places)}"
    return text, any(name in MEMORY_FAULTS for name in faults)
