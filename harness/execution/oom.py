"""Processes that the kernel killed for lack of memory: a failure of the machine, not of the system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from nemesis.core.ports import Command, Nodes
from nemesis.faults.registry import takes_memory

#: The machine's boot id, how often its kernel killed a process, and the last one killed, if readable.
_LOOK: Final = """cat /proc/sys/kernel/random/boot_id
awk '$1 == "oom_kill" { print $2 }' /proc/vmstat
dmesg 2>/dev/null | grep -i 'killed process' | tail -n 1"""


@dataclass(frozen=True, slots=True)
class Count:
    """Kills counted by a machine's kernel since its start; ``nodes`` run on it, ``victim`` is the last one it named."""

    nodes: tuple[str, ...]
    kills: int
    victim: str


def count_kills(nodes: Nodes) -> dict[str, Count]:
    """The counts of all machines by boot id: several nodes may share one."""
    counts: dict[str, Count] = {}
    for node, answer in nodes.run(dict.fromkeys(nodes.names, Command(("sh", "-c", _LOOK)))).items():
        boot, kills, victim = [*answer.stdout.splitlines(), "", "", ""][:3]
        if kills.isdigit():  # there are kernels that do not count
            others = counts[boot].nodes if boot in counts else ()
            counts[boot] = Count((*others, node), int(kills), victim.strip())
    return counts


def describe(before: Mapping[str, Count], after: Mapping[str, Count], faults: Iterable[str]) -> tuple[str, bool] | None:
    """Describe kills between two counts, and whether a fault of ours may explain them; None without kills.

    ``faults`` are those that were tried: one that was only planned took no memory away.
    A machine that was restarted meanwhile counts from 0.
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
    return text, any(map(takes_memory, faults))
