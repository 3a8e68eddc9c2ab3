"""What is on this machine, and commands on all nodes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.clusters.links import stem
from harness.clusters.netns import NetnsCluster
from harness.remote.nodes import Remote
from nemesis.core.ports import Command, Completed

HARNESS = Path(__file__).resolve().parents[3] / ".venv" / "bin" / "harness"

#: How long a command may take on a machine that is busy with other things, in seconds: no part of what is asserted.
PATIENCE_S = 900.0


MakeCluster = Callable[..., NetnsCluster]


@dataclass(frozen=True)
class Machine:
    """What a cluster could leave behind: everything on this machine but what is plainly another cluster's."""

    found: frozenset[str]

    @classmethod
    def look(cls, *ours: str) -> Machine:
        stems = tuple(map(stem, ours))
        lines = [
            *(f"link {path.name}" for path in Path("/sys/class/net").iterdir()),
            *(f"mount {line.split()[4]}" for line in Path("/proc/self/mountinfo").read_text().splitlines()),
            *(f"loop {line}" for line in said("losetup", "-a")),
            *(f"namespace {name} {' '.join(users)}" for name, users in network_namespaces().items()),
            *(f"process {line}" for line in said("ps", "axww", "-o", "stat=,args=") if "harness" in line),
        ]

        def is_foreign(line: str) -> bool:
            if any(start in line for start in stems) or any(f"{mark}{name}" in line for mark in ":/" for name in ours):
                return False
            if "/popen-" in line and f"/popen-{os.environ.get('PYTEST_XDIST_WORKER')}/" not in line:
                return True  # in the directory of a test that another worker runs
            marks = ("link hns", "harness-node:", "/etc/harness/", "harness/clusters/", "process ")
            return any(mark in line for mark in marks) or (line.startswith("loop") and "/nodes/" in line)

        return cls(frozenset(line for line in lines if not is_foreign(line)))


def network_namespaces() -> dict[str, list[str]]:
    """All but our own, each with the programs in it; a node shows by its keeper, and by its sshd."""
    found: dict[str, list[str]] = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError):
                name = str((process / "ns" / "net").readlink())
                found.setdefault(name, []).append((process / "cmdline").read_text(errors="replace").partition("\0")[0])
    home = str(Path("/proc/self/ns/net").readlink())
    return {name: sorted(set(users)) for name, users in found.items() if name != home}


def said(*words: str) -> list[str]:
    return subprocess.run(words, text=True, check=True, capture_output=True).stdout.splitlines()


def on_all(cluster: NetnsCluster, *argv: str) -> dict[str, Completed]:
    with Remote(cluster.nodes) as remote:
        return remote.run(dict.fromkeys(remote.names, Command(argv)))


def outputs(cluster: NetnsCluster, script: str) -> dict[str, str]:
    return {node: done.stdout.strip() for node, done in on_all(cluster, "sh", "-c", script).items()}
