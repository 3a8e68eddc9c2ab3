"""Undo everything with our tag on every node, to clean up after a killed run.

Failures are always reported: a node fails if anything of the harness remains after the sweep.  A node that fails or
cannot be reached does not prevent sweeping the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from nemesis.core import firewall
from nemesis.core.fault import DATA_DIR, HOME, complaint
from nemesis.core.ports import Command, Nodes, run_each
from nemesis.core.roles import FIND
from nemesis.faults import clocks, delay, disks, power, resources

#: The lease of the dead man's timer (see ``deadman``), and its report of what it lifted.
LEASE: Final = "/run/harness-lease"
LIFTED: Final = f"{LEASE}.lifted"

#: The script excludes its own process by this name, because its command line contains the text it searches for.
_NAME: Final = "harness-sweep"

#: ``ours REGEX`` prints the pids of processes whose command line matches; ``wrong WORDS`` reports what remains.
_TOOLS: Final = f"""{FIND}
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"
failed=0
wrong() {{ echo "error: $*" >&2; failed=1; }}
ours() {{
  for line in $(grep -lasE -e "$1" /proc/[0-9]*/cmdline); do
    pid=${{line#/proc/}}; pid=${{pid%/cmdline}}
    grep -qasF {_NAME} "$line" || echo "$pid"
  done
}}
end() {{
  kill -s KILL "$1" 2>/dev/null || return 0
  i=0
  while [ -e "/proc/$1" ] && ! grep -qs '^State:.Z' "/proc/$1/status"; do
    i=$((i + 1)); [ $i -lt 250 ] || {{ wrong "pid $1 does not end"; return 1; }}
    sleep 0.02
  done
}}"""

#: Commands of a killed run may still be running, and one that fills a disk would fill it again.
_WRITERS: Final = (
    r"""for pid in $(ours '[.]harness-'); do end "$pid" && echo "ended pid $pid, which wrote for us"; done"""
)

_CONTINUE: Final = """for pid in $(members "$1" ""); do
  grep -qs '^State:.T' "/proc/$pid/status" || continue
  kill -s CONT "$pid" && echo "continued pid $pid" || wrong "pid $pid stays stopped"
done"""

_TIMER: Final = f"""rm -f {LEASE} {LEASE}.new {LEASE}.pid
if [ -s {LIFTED} ]; then sed 's/^/the node itself: /' {LIFTED}; fi
rm -f {LIFTED}"""

_SCRIPT: Final = "\n".join(
    [
        _TOOLS,
        _TIMER,
        firewall.SWEEP,
        delay.SWEEP,
        _WRITERS,
        power.SWEEP,
        disks.SWEEP,
        clocks.SWEEP,
        resources.SWEEP,
        _CONTINUE,
        "exit $failed",
    ]
)


@dataclass(frozen=True, slots=True)
class Swept:
    """Result of a sweep.

    ``undone`` maps nodes to lines that say what was undone.  ``failed`` maps nodes that failed to the reason.
    """

    undone: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        return [f"{node}: {line}" for node, things in self.undone.items() for line in things]


def sweep_commands(nodes: Nodes, data_dirs: Mapping[str, str]) -> dict[str, Command]:
    """Return a command for each node that undoes all our faults, and exits with 0 if nothing of the harness is left.

    It continues stopped processes of the system under test.  If the data filesystem was shut down, it ends these
    processes, because they keep it busy, and mounts the filesystem again.
    """
    places = {node: data_dirs.get(node, DATA_DIR) for node in nodes.names}
    return {
        node: Command(("sh", "-c", _SCRIPT, _NAME, f"{data}/{HOME}", data), timeout=60.0)
        for node, data in places.items()
    }


def heal_everything(nodes: Nodes, data_dirs: Mapping[str, str] | None = None) -> Swept:
    """Sweep all nodes.  ``data_dirs`` maps nodes to data directories that differ from the default."""
    done, errors = run_each(nodes, sweep_commands(nodes, data_dirs or {}))
    failed = {node: str(error) for node, error in errors.items()}
    failed |= {n: f"exit {answer.code}: {complaint(answer.stderr)}" for n, answer in done.items() if answer.code}
    return Swept({node: tuple(answer.stdout.splitlines()) for node, answer in done.items()}, failed)
