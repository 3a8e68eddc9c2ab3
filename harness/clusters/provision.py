"""Turn machines into nodes with one script, ``provision.sh``, for every kind of cluster.

An inventory's machines get it from ``harness cluster provision``, Vagrant's also from the Vagrantfile.  A machine that
hosts a cluster of namespaces, and so shares its programs with it, also gets it from ``scripts/bootstrap``.
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

#: Seconds; enough to download a JRE from a slow mirror.
PROVISION_S: Final = 1800.0


def provision_command(node: Node) -> Command:
    """Return the command that turns a machine into a node.

    The script goes through standard input, and leaves no file on the node.
    """
    return Command(("sh", "-s", "--", "--data", node.data_dir), stdin=SCRIPT.read_text(), timeout=PROVISION_S)


def package_versions(remote: Remote) -> dict[str, str]:
    """Return the versions of the packages that provide the nodes' programs.

    If nodes differ, the text lists every version with its nodes. Empty without dpkg.  Raises RemoteError.
    """
    ask = Command(("sh", "-s", "--", "--versions"), stdin=SCRIPT.read_text())
    packages: dict[str, dict[str, list[str]]] = {}
    for node, done in remote.run(dict.fromkeys(remote.names, ask)).items():
        for package, _, version in (line.partition(" ") for line in done.stdout.splitlines()):
            packages.setdefault(package, {}).setdefault(version, []).append(node)
    everywhere = len(remote.names)
    return {
        package: ", ".join(
            version if len(nodes) == everywhere else f"{version} ({' '.join(nodes)})"
            for version, nodes in versions.items()
        )
        for package, versions in sorted(packages.items())
    }


def provision(nodes: Sequence[Node], say: Say) -> None:
    """Run the script on all nodes in parallel, and report line by line what it did.  Idempotent.

    Raises ClusterError with the last output of a node that failed, RemoteError if a node cannot be reached.
    """
    with Remote(nodes) as remote:
        answers = remote.run({node.name: provision_command(node) for node in nodes})
    for name, done in answers.items():
        lines = done.stderr.strip().splitlines() or ["no output"]
        if done.code != 0:
            raise ClusterError(f"cannot set up {name} as a node (exit code {done.code}): {' / '.join(lines[-3:])}")
        for line in lines:
            if line.startswith("provision: "):
                say(f"{name}: {line.removeprefix('provision: ')}")


def provision_here() -> None:
    """Install the packages that nodes use from this machine.  apt's output goes to standard error.

    Raises ClusterError.
    """
    done = subprocess.run(["sh", str(SCRIPT), "--no-data"], check=False)
    if done.returncode != 0:
        raise ClusterError(
            f"this machine cannot share its programs with the nodes (exit code {done.returncode}); see above"
        )
