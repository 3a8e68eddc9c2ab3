"""Making nodes of machines: one script, ``provision.sh``, for every kind of cluster.

An inventory's machines get it from ``harness cluster provision``, Vagrant's from the Vagrantfile too, and the machine
whose programs a cluster of namespaces shares from ``scripts/bootstrap`` as well.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.clusters.base import Say
from harness.errors import ClusterError
from harness.remote.node import Node
from harness.remote.nodes import Remote
from nemesis.core.ports import Command

SCRIPT: Final = Path(__file__).with_name("provision.sh")

#: A slow mirror and a JRE.
PROVISION_S: Final = 1800.0


def provision_command(node: Node) -> Command:
    """What turns one machine into a node; it goes through standard input, so nothing is left there."""
    return Command(("sh", "-s", "--", "--data", node.data_dir), stdin=SCRIPT.read_text(), timeout=PROVISION_S)


def provision(nodes: Sequence[Node], say: Say) -> None:
    """Run the script on all nodes at once; what it did is said a line at a time.  A second time, it finds all done.

    Raises ClusterError with a node's last words when one cannot be made ready, RemoteError when one is not reached.
    """
    with Remote(nodes) as remote:
        answers = remote.run({node.name: provision_command(node) for node in nodes})
    for name, done in answers.items():
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        if done.code != 0:
            raise ClusterError(f"{name} cannot be made a node (exit code {done.code}): {' / '.join(lines[-3:])}")
        for line in lines:
            if line.startswith("provision: "):
                say(f"{name}: {line.removeprefix('provision: ')}")


def provision_here() -> None:
    """Install on this machine what nodes need that share its programs; what apt says goes to standard error.

    Raises ClusterError.
    """
    done = subprocess.run(["sh", str(SCRIPT), "--no-data"], check=False)
    if done.returncode != 0:
        raise ClusterError(f"this machine cannot lend its programs to nodes (exit code {done.returncode}); see above")
