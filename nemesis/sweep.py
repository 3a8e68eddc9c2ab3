"""Healing without any memory: undo on every node whatever carries our tag, for the leftovers of a killed run."""

from __future__ import annotations

from typing import Final

from nemesis import clocks, disks, firewall, limits, power, shaping
from nemesis.errors import FaultError
from nemesis.view import Command, Nodes

_CONTINUE: Final = """for status in $(grep -ls '^State:.T' /proc/[0-9]*/status); do
  pid=${status#/proc/}; pid=${pid%/status}
  tr '\\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qE -- "$1" && kill -s CONT "$pid" && echo "continued pid $pid"
done"""

_SCRIPT: Final = "\n".join(
    [firewall.SWEEP, shaping.SWEEP, power.SWEEP, disks.SWEEP, clocks.SWEEP, limits.SWEEP, _CONTINUE, "exit 0"]
)


def sweep_command(process_pattern: str, data_dir: str = "/data") -> Command:
    """Remove every rule of ours, and continue every stopped process whose command line matches the extended regex."""
    return Command(("sh", "-c", _SCRIPT, "sweep", process_pattern, data_dir), timeout=30.0)


def heal_everything(nodes: Nodes, process_pattern: str, data_dir: str = "/data") -> dict[str, list[str]]:
    """Sweep all nodes; returns what was undone on each, a line a thing.

    Raises FaultError when a node could not carry it out, and what ``nodes.run`` raises.
    """
    done = nodes.run(dict.fromkeys(nodes.names, sweep_command(process_pattern, data_dir)))
    if wrong := [f"{one.node}: exit {one.code}: {one.stderr.strip()}" for one in done.values() if one.code]:
        raise FaultError("; ".join(wrong))
    return {node: done[node].stdout.splitlines() for node in nodes.names}
