"""Count processes that the kernel killed for lack of memory, which is the machine's failure and not the system's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from nemesis.core.ports import Command, Nodes
from nemesis.faults.registry import takes_memory

#: Prints the machine's boot id, how many processes its kernel killed, and the last one killed, if readable.
_LOOK: Final = """cat /proc/sys/kernel/random/boot_id
awk '$1 == "oom_kill" { print $2 }' /proc/vmstat
dmesg 2>/dev/null | grep -i 'killed process' | tail -n 1"""


@dataclass(frozen=True, slots=True)
class Count:
    """The processes that a machine's kernel killed since it booted.

    ``nodes`` run on that machine.  ``victim`` is the kernel's message about the last process killed.
    """

    nodes: tuple[str, ...]
    kills: int
    victim: str


def count_kills(nodes: Nodes) -> dict[str, Count]:
    """Return the counts of all machines by boot id, since several nodes may share a machine."""
    counts: dict[str, Count] = {}
    for node, answer in nodes.run(dict.fromkeys(nodes.names, Command(("sh", "-c", _LOOK)))).items():
        boot, kills, victim = [*answer.stdout.splitlines(), "", "", ""][:3]
        if kills.isdigit():  # some kernels do not count
            others = counts[boot].nodes if boot in counts else ()
            counts[boot] = Count((*others, node), int(kills), victim.strip())
    return counts


def describe(before: Mapping[str, Count], after: Mapping[str, Count], faults: Iterable[str]) -> tuple[str, bool] | None:
    """Describe the kills between two counts and say whether an injected fault may explain them; None without kills.

    ``faults`` are those that were tried, because a fault that was only planned cannot have taken memory.  For a machine
    that was restarted in between, kills are counted from 0.
    """
    places = []
    for boot, count in after.items():
        earlier = before.get(boot, Count((), 0, ""))
        if count.kills > earlier.kills:
            victim = f" ({count.victim})" if count.victim != earlier.victim else ""
            places.append(f"{count.kills - earlier.kills} on the machine of {', '.join(count.nodes)}{victim}")
    if not places:
        return None
    text = f"the kernel's OOM killer killed processes during the run: {'; '.join(places)}"
    return text, any(map(takes_memory, faults))
