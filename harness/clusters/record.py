"""Records of a cluster of namespaces, each written before what it describes is created.

::

    /var/lib/harness/clusters/
        default.lock             the holder of the cluster
        default/
            cluster.json         subnet, kind of root and of data filesystem, names of the nodes
            client_key           the harness' key on all nodes
            passing.json         the process that will take the nodes down: pid and start time; else missing
            known_hosts          every node's host key
            ssh_config           for people: ssh -F …/ssh_config n1
            nodes/n1/
                host_key, host_key.pub
                process.json     process 1 of the node: pid and start time
                data.img         the data filesystem
                upper/           what differs from the host's root (a tmpfs)
                console.log      output of the node while starting, and of its sshd since
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Literal, TypeAlias

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from harness.clusters.processes import Process
from harness.remote.node import Node
from history.json_object import read_object

RootKind: TypeAlias = Literal["overlay", "assembled"]
DataKind: TypeAlias = Literal["ext4", "xfs", "tmpfs"]

#: The number of the first node's address in the subnet.  The host has the subnet's first address.
FIRST_NODE_ADDRESS = 11


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """The content of ``cluster.json``.

    ``nodes`` are names in order; the n-th, counted from 0, has the subnet's address 11 + n.
    """

    name: str
    subnet: str
    root: RootKind
    data: DataKind
    nodes: tuple[str, ...]

    def address(self, node: str) -> str:
        return str(IPv4Network(self.subnet)[FIRST_NODE_ADDRESS + self.nodes.index(node)])

    def prefix_length(self) -> int:
        return IPv4Network(self.subnet).prefixlen


@dataclass(frozen=True, slots=True)
class StateDir:
    """One cluster's directory.  Its content is always checked against the actual state of the machine."""

    path: Path

    @property
    def client_key(self) -> Path:
        return self.path / "client_key"

    def node(self, name: str) -> Path:
        return self.path / "nodes" / name

    def write_record(self, record: ClusterRecord) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o700)
        write_whole(self.path / "cluster.json", json.dumps(asdict(record), indent=2) + "\n")

    def read_record(self) -> ClusterRecord | None:
        """Return the cluster's record, or None if there is no valid one."""
        try:
            record = read_object(self.path / "cluster.json")
            return ClusterRecord(**{**record, "nodes": tuple(record["nodes"])})
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write_process(self, node: str, process: Process) -> None:
        write_whole(self.node(node) / "process.json", json.dumps(asdict(process)) + "\n")

    def read_process(self, node: str) -> Process | None:
        """Return the recorded process 1 of a node, or None if there is no valid record."""
        return _process_in(self.node(node) / "process.json")

    def write_passing(self, process: Process | None) -> None:
        """Record the process that will take the nodes down, or None if they will stay."""
        path = self.path / "passing.json"
        if process is None:
            path.unlink(missing_ok=True)
        else:
            write_whole(path, json.dumps(asdict(process)) + "\n")

    def read_passing(self) -> Process | None:
        """Return the process that will take the nodes down, or None if there is no valid record."""
        return _process_in(self.path / "passing.json")

    def make_keys(self, record: ClusterRecord) -> None:
        """Create the client's key, every node's key, and the files in which ``ssh`` finds them."""
        make_key(self.client_key)
        for node in record.nodes:
            self.node(node).mkdir(parents=True, exist_ok=True)
            make_key(self.node(node) / "host_key")
        known = "".join(f"{record.address(node)} {self.host_key(node)}\n" for node in record.nodes)
        write_whole(self.path / "known_hosts", known)
        write_whole(self.path / "ssh_config", "\n".join(self._ssh_config(record)) + "\n")

    def host_key(self, node: str) -> str:
        return (self.node(node) / "host_key.pub").read_text().strip()

    def as_nodes(self, record: ClusterRecord) -> tuple[Node, ...]:
        return tuple(
            Node(
                name=node,
                address=record.address(node),
                ssh_host=record.address(node),
                ssh_port=22,
                user="root",
                key_file=self.client_key,
                host_key=self.host_key(node),
            )
            for node in record.nodes
        )

    def _ssh_config(self, record: ClusterRecord) -> list[str]:
        hosts = [line for node in record.nodes for line in (f"Host {node}", f"  HostName {record.address(node)}")]
        return [
            *hosts,
            "Host *",
            "  User root",
            f"  IdentityFile {self.client_key}",
            "  IdentitiesOnly yes",
            f"  UserKnownHostsFile {self.path / 'known_hosts'}",
            "  StrictHostKeyChecking yes",
        ]


def _process_in(path: Path) -> Process | None:
    try:
        return Process(**read_object(path))
    except (OSError, ValueError, TypeError):
        return None


def make_key(path: Path) -> None:
    """Create an ed25519 key in OpenSSH's format at ``path``, with its public half at ``path``.pub."""
    key = Ed25519PrivateKey.generate()
    write_whole(path, key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode(), mode=0o600)
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    write_whole(path.with_name(path.name + ".pub"), public + "\n")


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file atomically, so that readers see all of it or nothing."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    part.replace(path)
