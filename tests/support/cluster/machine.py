"""Inspect this machine, and run commands on all nodes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from harness.clusters.links import stem
from harness.clusters.netns import NetnsCluster
from harness.remote.nodes import Remote
from nemesis.core.ports import Command, Completed

HARNESS = Path(__file__).resolve().parents[3] / ".venv" / "bin" / "harness"

#: How long a command may take on a machine that is busy with other things, in seconds: no part of what is asserted.
PATIENCE_S = 900.0


MakeCluster = Callable[..., NetnsCluster]


def left_of(*names: str) -> list[str]:
    """Return what exists on this machine of the clusters with these names, by the marks that all of it carries.

    What other programs do meanwhile, such as starting a container, does not count.
    """
    stems = tuple(map(stem, names))
    marks = [
        mark for name in names for mark in (f"harness-node:{name}:", f"/etc/harness/{name}/", f"/clusters/{name}/")
    ]
    marked = [
        *(f"mount {line}" for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        *(f"loop {line}" for line in said("losetup", "-a")),
        *(f"process {line}" for line in said("ps", "axww", "-o", "stat=,args=")),
    ]
    return [
        *(f"link {path.name}" for path in Path("/sys/class/net").iterdir() if path.name.startswith(stems)),
        *(line for line in marked if any(mark in line for mark in marks)),
    ]


def await_nothing_left(*names: str) -> None:
    """Wait until nothing of these clusters is left. A node's last mounts are released after its processes end."""
    deadline = time.monotonic() + 60
    while left := left_of(*names):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def said(*words: str) -> list[str]:
    return subprocess.run(words, text=True, check=True, capture_output=True).stdout.splitlines()


def on_all(cluster: NetnsCluster, *argv: str) -> dict[str, Completed]:
    with Remote(cluster.nodes) as remote:
        return remote.run(dict.fromkeys(remote.names, Command(argv)))


def outputs(cluster: NetnsCluster, script: str) -> dict[str, str]:
    return {node: done.stdout.strip() for node, done in on_all(cluster, "sh", "-c", script).items()}
