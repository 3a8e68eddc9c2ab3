"""The machines of a Vagrantfile, read through ``vagrant ssh-config``.

Vagrant disables the check of host keys.  Here, the key that a machine shows at its first ``up`` is recorded next to
Vagrant's own files, and required from then on.
"""

from __future__ import annotations

import ipaddress
import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from harness.clusters.base import ClusterStatus, Say
from harness.clusters.machines import Machines, check_machines
from harness.errors import ClusterError, UsageError
from harness.remote.node import Node
from harness.remote.nodes import Remote
from harness.remote.ssh import shown_host_key
from history.json_object import read_object
from nemesis.core.ports import Command

#: The names of nodes.  Machines with other names, such as a control machine, are not nodes.
NODE: Final = re.compile(r"n[0-9]+")
#: The same names for vagrant, which otherwise refuses to list the nodes while any other machine is down.
NODES: Final = "/^n[0-9]+$/"
ASK_S: Final = 60.0
MAKE_S: Final = 3600.0


class VagrantCluster(Machines):
    """All machines n1, n2, … of the Vagrantfile in a directory."""

    def __init__(self, directory: Path, say: Say) -> None:
        super().__init__("vagrant", directory)
        if not (directory / "Vagrantfile").is_file():
            raise UsageError(f"--cluster vagrant:{directory}: it has no Vagrantfile")
        self._directory = directory
        self._say = say
        self._found: tuple[Node, ...] | None = None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The machines as nodes.  Raises ClusterError if they are not up."""
        if self._found is None:
            self._found = self._look()
        return self._found

    def up(self, *, passing: bool = False) -> bool:  # noqa: ARG002 (they are not taken down in passing)
        """Run ``vagrant up``, then check that we can log in to every machine.  Raises ClusterError or RemoteError.

        Returns True, because machines that take minutes to create are taken down only on request.
        """
        with self.lock():
            self._say(f"cluster {self.name}: vagrant up in {self._directory}; the first time takes minutes")
            self._vagrant("up", NODES, timeout=MAKE_S)
            self._found = None
            check_machines(self.nodes)
        return True

    def down(self) -> None:
        """Run ``vagrant destroy`` for the nodes, which removes the machines and their disks.  Raises ClusterError."""
        with self.lock():
            self._vagrant("destroy", "--force", NODES, timeout=MAKE_S)
            self._host_keys.unlink(missing_ok=True)
            self._found = None

    def status(self) -> ClusterStatus:
        try:
            return super().status()
        except ClusterError as error:
            return ClusterStatus(self.name, (), self._file_lock.holder(), (str(error),))

    @property
    def _host_keys(self) -> Path:
        return self._directory / ".vagrant" / "harness-host-keys.json"

    def _look(self) -> tuple[Node, ...]:
        nodes = self._with_host_keys(parse_ssh_config(self._vagrant("ssh-config", NODES, timeout=ASK_S)))
        if not any(ipaddress.ip_address(node.ssh_host).is_loopback for node in nodes):
            return nodes
        # With forwarded ports, our address for a machine differs from the one that other machines use.
        with Remote(nodes) as remote:
            answers = remote.run(dict.fromkeys(remote.names, Command(("hostname", "-I"))))
        addresses = peer_addresses({name: done.stdout.split() for name, done in answers.items()})
        return tuple(replace(node, address=addresses[node.name]) for node in nodes)

    def _with_host_keys(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        known: dict[str, str] = read_object(self._host_keys)
        known.update({node.name: shown_host_key(node) for node in nodes if node.name not in known})
        self._host_keys.parent.mkdir(exist_ok=True)
        self._host_keys.write_text(json.dumps(known, indent=2) + "\n")
        return tuple(replace(node, host_key=known[node.name]) for node in nodes)

    def _vagrant(self, *words: str, timeout: float) -> str:
        try:
            done = subprocess.run(
                ["vagrant", *words], cwd=self._directory, text=True, check=False, capture_output=True, timeout=timeout
            )
        except FileNotFoundError:
            raise ClusterError("vagrant is not installed; install it, or use --cluster netns") from None
        except subprocess.TimeoutExpired:
            raise ClusterError(f"`vagrant {' '.join(words)}` did not end within {timeout:g} s") from None
        if done.returncode != 0:
            lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise ClusterError(f"`vagrant {' '.join(words)}` failed: {lines[0] if lines else 'no output'}")
        return done.stdout


def parse_ssh_config(text: str) -> tuple[Node, ...]:
    """Return the nodes in the output of ``vagrant ssh-config``.

    Raises ClusterError if there is none, or if a machine's entry is incomplete.
    """
    hosts: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(" ")
        if key == "Host":
            current = hosts.setdefault(value.strip(), {})
        elif key:
            # The first of several identity files is the machine's own.
            current.setdefault(key, value.strip().strip('"'))
    nodes = tuple(_node(name, fields) for name, fields in hosts.items() if NODE.fullmatch(name))
    if not nodes:
        raise ClusterError("vagrant ssh-config names no machine n1, n2, …; are they up (vagrant status)?")
    return tuple(sorted(nodes, key=lambda node: int(node.name[1:])))


def peer_addresses(reported: Mapping[str, list[str]]) -> dict[str, str]:
    """Return an address of each machine that no other machine shares.  Behind NAT, all machines share one.

    Raises ClusterError if a machine has none.
    """
    everywhere = [address for addresses in reported.values() for address in addresses]
    own = {
        name: [address for address in addresses if everywhere.count(address) == 1 and ":" not in address]
        for name, addresses in reported.items()
    }
    if alone := [name for name, addresses in own.items() if not addresses]:
        raise ClusterError(f"{', '.join(alone)}: no address of its own; give the machines a private network")
    return {name: addresses[0] for name, addresses in own.items()}


def _node(name: str, fields: Mapping[str, str]) -> Node:
    try:
        return Node(
            name=name,
            address=fields["HostName"],
            ssh_host=fields["HostName"],
            ssh_port=int(fields["Port"]),
            user=fields["User"],
            key_file=Path(fields["IdentityFile"]),
            host_key=None,
        )
    except (KeyError, ValueError) as error:
        raise ClusterError(f"vagrant ssh-config: {name} has no valid {error}") from None
